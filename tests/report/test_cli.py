"""The `skbench` command itself."""

import os
import subprocess
import sys
from importlib import import_module

import pytest

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


@pytest.mark.parametrize("full", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_files_are_whole_where_nobody_reads_on(tmp_path, full):
    """As after ``| head -1``, or on a full disk: the page is there, the exit code is kept."""
    rows = [f"{m},{i},{(i * m) % 3 % 2}" for m in (1, 2) for i in range(30)]
    (tmp_path / "r.csv").write_text("\n".join(["model,item,score", *rows]))
    page = tmp_path / "page.html"
    reading, writing = os.pipe()
    os.close(reading)
    cases = [({"stdout": writing, "stderr": writing}, ["--fail-under", "1"], 3)]
    if full:
        disk = os.open("/dev/full", os.O_WRONLY)
        cases = [({"stdout": disk, "stderr": subprocess.PIPE}, [], 1)]
    for streams, options, code in cases:
        command = [sys.executable, "-m", "skbench", "report", tmp_path / "r.csv", "--html", page]
        done = subprocess.run([*command, *options], text=True, **streams)
        assert done.returncode == code
        assert page.read_text().rstrip().endswith("</html>")
        assert "Traceback" not in (done.stderr or "")
