"""The `skbench` command itself."""

import os
import subprocess
import sys
from importlib import import_module

from skbench.report.cli import COMMANDS


def run(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True)


def test_every_command_is_in_the_file_of_its_name():
    for name in COMMANDS:
        assert getattr(import_module(f"skbench.report.{name}"), name).name == name


HELP = """
import sys
from skbench.report.cli import COMMANDS, main
heavy = {"numpy", "pandas", "scipy", "sklearn", "narwhals", "matplotlib", "xgboost"}
short = ["--version"], ["-h"], ["report", "-h"], ["--help"]
for arguments in (*short, *([name, "--help"] for name in COMMANDS)):
    try:
        main(arguments)
    except SystemExit as end:
        print(end.code, *arguments, *sorted(heavy & set(sys.modules)), file=sys.stderr)
"""


def test_help_lists_all_commands_and_loads_nothing_heavy():
    done = run("-c", HELP)
    version, *_, top = done.stdout.split("Usage: ")[: -len(COMMANDS)]
    pages = done.stdout.split("Usage: ")[-len(COMMANDS) :]
    assert version == "skbench, version 0.1.0\n"
    listed = [line.split()[0] for line in top.splitlines() if line[:2] == "  "]
    assert listed[-len(COMMANDS) :] == [*COMMANDS]
    assert all("--quiet" in page for page in pages)
    helps = ["0 --version", "0 -h", "0 report -h", "0 --help"]
    assert done.stderr.splitlines() == [*helps, *(f"0 {name} --help" for name in COMMANDS)]


def test_files_are_complete_if_stdout_is_closed(tmp_path):
    """If the reader closes stdout, the page is written and the exit code is the same."""
    rows = [f"{m},{i},{(i * m) % 3 % 2}" for m in (1, 2) for i in range(30)]
    (tmp_path / "r.csv").write_text("\n".join(["model,item,score", *rows]))
    page = tmp_path / "page.html"
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "skbench", "report", tmp_path / "r.csv", "--html", page]
    done = subprocess.run([*command, "--fail-under", "1"], stdout=writing, stderr=writing)
    assert done.returncode == 3
    assert page.read_text().rstrip().endswith("</html>")
