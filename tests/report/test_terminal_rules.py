"""What all commands share: help, notes, rows, percentages, names, zeros without a sign."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from skbench.report.cli import COMMANDS, main
from skbench.report.table import number


@pytest.fixture
def old_and_new(tmp_path):
    paths = []
    for name in ("old", "new"):
        paths.append(str(tmp_path / f"{name}.csv"))
        rows = {"model": name, "item": range(400), "score": np.arange(400) % 3 > 0}
        pd.DataFrame(rows).to_csv(paths[-1], index=False)
    return paths


def run(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return stopped.value.code


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_may_be_quiet(command, capsys):
    assert run(command, "--help") == 0
    assert "--quiet" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["-h"], ["report", "-h"]])
def test_help_is_short(arguments):
    """In a process of its own: click keeps the names of the first call."""
    done = subprocess.run([sys.executable, "-m", "skbench", *arguments], capture_output=True)
    assert done.returncode == 0 and b"--help" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_loads_nothing_heavy(command):
    arguments = [sys.executable, "-X", "importtime", "-m", "skbench", command, "--help"]
    done = subprocess.run(arguments, capture_output=True, text=True)
    loaded = {line.rpartition("|")[2].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert done.returncode == 0 and "click" in loaded
    assert not loaded & {"numpy", "pandas", "scipy", "sklearn", "narwhals", "matplotlib"}


def test_quiet_keeps_the_results_and_the_errors(old_and_new, capsys):
    assert run("report", old_and_new[0]) == 0
    loud = capsys.readouterr()
    assert run("report", old_and_new[0], "-q") == 0
    quiet = capsys.readouterr()
    assert quiet.out == loud.out
    assert "score: column 'score'" in loud.err and "score: column 'score'" not in quiet.err
    assert run("report", "nothing.csv", "-q") == 1
    assert "There is no file 'nothing.csv'" in capsys.readouterr().err


def test_margins_may_be_percentages_and_equal_results_pass(old_and_new, capsys):
    assert run("gate", *old_and_new, "--margin", "5%") == 0
    percent = capsys.readouterr().out
    assert run("gate", *old_and_new, "--margin", "0.05") == 0
    assert capsys.readouterr().out == percent
    assert "PASS: new - old = 0" in percent
    assert run("gate", *old_and_new, "--margin", "much") == 2


@pytest.mark.parametrize("form", [".3f", "+.3f", ".2g", ".1%"])
def test_nothing_is_minus_zero(form):
    assert number(-1e-9, ".3f") == "0.000"
    assert not number(-0.0, form).startswith("-")
    assert number(-0.5, ".1f") == "-0.5"
