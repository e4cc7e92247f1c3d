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


def test_help_lists_all_commands_and_loads_no_tables():
    code = (
        "import sys; from skbench.report.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print(sorted({'pandas', 'sklearn', 'scipy'} & set(sys.modules)))"
    )
    lines = run("-c", code).stdout.splitlines()
    assert lines[-1] == "[]"
    assert [line.split()[0] for line in lines if line[:2] == "  "][-len(COMMANDS) :] == [*COMMANDS]


def test_a_mistyped_command_is_named():
    done = run("-m", "skbench", "estimat")
    assert done.returncode == 2
    assert "No such command 'estimat'" in done.stderr


def test_files_are_whole_where_nobody_reads_on(tmp_path):
    """As after ``| head -1``: the page is there, the exit code is what it would have been."""
    rows = [f"{m},{i},{(i * m) % 3 % 2}" for m in (1, 2) for i in range(30)]
    (tmp_path / "r.csv").write_text("\n".join(["model,item,score", *rows]))
    page = tmp_path / "page.html"
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "skbench", "report", tmp_path / "r.csv", "--html", page]
    done = subprocess.run([*command, "--fail-under", "1"], stdout=writing, stderr=writing)
    assert done.returncode == 3
    assert page.read_text().rstrip().endswith("</html>")
