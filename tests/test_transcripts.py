"""The pages show what the commands print now. Write them with ``python doc/make_transcripts.py``."""

import runpy
import shutil
from pathlib import Path

import pytest

DOC = Path(__file__).parents[1] / "doc"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="the commands run in bash")
def test_pages_show_what_the_commands_print():
    texts = runpy.run_path(DOC / "make_transcripts.py")["texts"]()
    assert DOC / "tutorial.rst" in texts
    outdated = [path.name for path, text in texts.items() if path.read_text("utf-8") != text]
    assert outdated == []


def test_every_command_line_of_a_how_to_is_run():
    make = runpy.run_path(DOC / "make_transcripts.py")
    for page in [DOC / "tutorial.rst", *(DOC / "how_to").glob("[!i]*.rst")]:
        text = page.read_text("utf-8")
        blocks = [match["block"] or "" for match in make["STEP"].finditer(text)]
        run = [command for block in blocks for command in make["commands"](block)]
        shown = [line for line in text.splitlines() if line.startswith("   $ ")]
        assert len(run) == len(shown) > 0, page.name
