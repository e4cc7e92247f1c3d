"""Run the commands that the pages show, and write their output into the pages.

    python doc/make_transcripts.py

A page marks such a block with a class. Lines that start with ``$`` are commands, and lines
that start with ``>`` continue them. All other lines are output, which this script replaces:

    .. code-block:: console
       :class: transcript

       $ skbench doctor digits_c_sample.csv

A code block with a caption holds the file of that name. The commands of a page run in one
shell, in a new folder. Pages other than the tutorial find the results of ``skbench demo``
there. Needs bash.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent, indent

DOC = Path(__file__).resolve().parent
TUTORIAL = DOC / "tutorial.rst"
MARK = ".. code-block:: console\n   :class: transcript\n"
LINES = r"(?:   .*\n|\n(?=\n*   ))+"
STEP = re.compile(
    rf"{re.escape(MARK)}\n(?P<block>{LINES})\n*"
    rf"|\.\. code-block:: \w+\n   :caption: (?P<file>\S+)\n\n(?P<content>{LINES})"
)
PROGRESS = re.compile(r"[\w -]+: (.*, )?(\d+ of \d+|step \d+)$")  # only on slow machines
SEPARATOR = "\x1e"
DEMO = """
from pathlib import Path
from skbench import load_digits_c, sample_items
Path("skbench-demo").mkdir()
sample = sample_items(load_digits_c().items, 10, random_state=0)
sample.to_csv("skbench-demo/digits_c_sample.csv", index=False)
"""  # the file of `skbench demo`, without its estimates
FAILED = {1, 2, 126, 127}  # a gate that fails exits with 3 or 4


def pages():
    """Pages with at least one marked block."""
    return [page for page in sorted(DOC.rglob("*.rst")) if MARK in page.read_text("utf-8")]


def commands(body):
    """Commands of a block, each with its continuation lines."""
    found = []
    for line in dedent(body).splitlines():
        if line.startswith("$ "):
            found.append(line[2:])
        elif line.startswith("> ") and found and found[-1].endswith("\\"):
            found[-1] += "\n" + line[2:]
    return found


def environment(scratch):
    """Variables for a shell in which ``skbench`` and ``python`` are those of this process."""
    folder = scratch / "bin"
    folder.mkdir()
    for name, call in {"skbench": "-m skbench ", "python": ""}.items():
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {call}"$@"\n')
        (folder / name).chmod(0o755)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB_", "FORCE_COLOR"))}
    searched = (str(DOC.parent), os.environ.get("PYTHONPATH"))
    return kept | {
        "PATH": os.pathsep.join([str(folder), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join(filter(None, searched)),
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "LC_ALL": "C.UTF-8",
        "PYTHONUTF8": "1",
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": "1",
    }


def outputs(lines, folder, variables):
    """What each command prints, on both streams, in one shell."""
    after = "; s=$?; printf '\\036%d\\036' $s; (exit $s)\n"
    script = "exec 2>&1\n" + "".join(f"{{ {line}\n}}{after}" for line in lines)
    run = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=variables, stdout=subprocess.PIPE, encoding="utf-8"
    )
    parts = run.stdout.split(SEPARATOR)
    printed, codes = parts[:-1:2], [int(code) for code in parts[1::2]]
    for line, text, code in zip(lines, printed, codes, strict=True):
        if code in FAILED:
            raise RuntimeError(f"{line!r} exited with {code}:\n{text}")
        for place in (folder, folder.parent, DOC.parent, Path.home()):
            if str(place) in text:
                raise RuntimeError(f"{line!r} prints a path of this machine:\n{text}")
    kept = [[line.rstrip() for line in t.splitlines() if not PROGRESS.match(line)] for t in printed]
    return ["\n".join(lines).rstrip() for lines in kept]


def rewritten(page, folder, variables):
    """The text of a page with new output."""
    text = page.read_text("utf-8")
    lines = []
    for match in STEP.finditer(text):
        if match["file"]:
            lines.append(
                f"cat > {match['file']} <<'END_OF_FILE'\n{dedent(match['content'])}END_OF_FILE"
            )
        else:
            lines += commands(match["block"])
    printed = zip(lines, outputs(lines, folder, variables), strict=True)
    printed = iter([output for line, output in printed if not line.startswith("cat > ")])

    def block(match):
        if match["file"]:
            return match[0]
        shown = [
            ("$ " + command.replace("\n", "\n> ") + f"\n{next(printed)}").rstrip()
            for command in commands(match["block"])
        ]
        return f"{MARK}\n" + indent("\n".join(shown), "   ") + "\n\n"

    return STEP.sub(block, text).rstrip("\n") + "\n"


def texts():
    """New texts of all pages, by path."""
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        scratch = Path(name).resolve()
        variables = environment(scratch)
        demo = scratch / "skbench-demo"

        def of_page(page):
            folder = scratch / page.relative_to(DOC).with_suffix("").as_posix().replace("/", "-")
            if page == TUTORIAL:
                folder.mkdir()
            else:
                shutil.copytree(demo, folder)
            return page, rewritten(page, folder, variables)

        first = [pool.submit(of_page, page) for page in pages() if page == TUTORIAL]
        outputs([f"python -c '{DEMO}'"], scratch, variables)
        others = pool.map(of_page, [page for page in pages() if page != TUTORIAL])
        return dict([*(job.result() for job in first), *others])


if __name__ == "__main__":
    for path, text in texts().items():
        path.write_text(text, "utf-8")
