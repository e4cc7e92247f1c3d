"""The `skbench` command itself."""

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
