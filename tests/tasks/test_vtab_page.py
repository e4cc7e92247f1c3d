"""The page that walks through the VTAB analysis shows what its script prints."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "doc" / "user_guide" / "vtab_end_to_end.rst"
SCRIPT = ROOT / "examples" / "plot_vtab_end_to_end.py"


def blocks(text):
    """Bodies of the text blocks of a page."""
    pattern = r"^\.\. code-block:: text\n\n((?:   .*\n|\n)+)"
    return [textwrap.dedent(m).strip("\n") for m in re.findall(pattern, text, re.MULTILINE)]


def without_trailing_spaces(text):
    return "\n".join(line.rstrip() for line in text.splitlines())


def test_code_of_the_page_is_in_the_script():
    script = SCRIPT.read_text()
    starts = re.findall(r":start-at: (.*)", PAGE.read_text())
    assert len(starts) == 5
    assert all(script.count(f"\n{start}") == 1 for start in starts)


@pytest.mark.slow
def test_output_of_the_page_is_that_of_the_script():
    """Runs the example: ten seconds."""
    process = subprocess.run(
        [sys.executable, str(SCRIPT)],
        env=os.environ | {"MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    printed = without_trailing_spaces(process.stdout)
    shown = blocks(PAGE.read_text())
    assert len(shown) == 4
    for block in shown:
        assert without_trailing_spaces(block) in printed
