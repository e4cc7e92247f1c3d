"""What all commands share: help, notes, rows, percentages, names, zeros without a sign."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import crossed

from skbench._numbers import number
from skbench.report.cli import main


@pytest.fixture
def old_and_new(written):
    rows = {"item": range(400), "score": np.arange(400) % 3 > 0}
    return [
        str(written(pd.DataFrame({"model": name} | rows), f"{name}.csv")) for name in ("old", "new")
    ]


def run(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return stopped.value.code


def test_quiet_keeps_the_results_and_the_errors(old_and_new, capsys):
    assert run("report", old_and_new[0]) == 0
    loud = capsys.readouterr()
    assert run("report", old_and_new[0], "-q") == 0
    quiet = capsys.readouterr()
    assert quiet.out == loud.out
    assert "contents: 1 model" in loud.err and quiet.err == ""
    assert run("report", "nothing.csv", "-q") == 1
    assert "'nothing.csv'" in capsys.readouterr().err


def test_three_lines_of_notes_the_doubtful_first(written, capsys):
    table = crossed(lambda m, t, i: (i + m) % 2, model=range(2), task="ab", id=range(8))
    path = written(table[table["id"] < 8 - 2 * table["model"]].assign(length=1))
    assert run("compare", str(path)) == 0
    few = capsys.readouterr().err.splitlines()
    assert run("compare", str(path), "-v") == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if line[:7] != "warning"]
    first, second, last = (line for line in few if line[:7] != "warning")
    assert first.startswith("item ids") and second.startswith("missing: 12.5%")
    assert last.startswith(f"{len(notes) - 2} more notes ") and "-v" in last
    assert any("column 'model'" in note for note in notes)
    assert "not used: length (--features)" not in few
    assert sum(line.startswith("warning: ") for line in few) == 1
    assert run("compare", str(path), "-q") == 0
    assert all(line.startswith("warning: ") for line in capsys.readouterr().err.splitlines())


def test_tables_print_the_first_rows_and_files_have_all(written, capsys):
    rng = np.random.default_rng(0)
    names = [f"m{i}" for i in range(8)]
    path = written(crossed(lambda *cell: rng.integers(2), model=names, item=range(6)))
    for asked, printed in (([], 20), (["--rows", "5"], 5), (["--rows", "all"], 28)):
        assert run("compare", str(path), *asked) == 0
        lines = capsys.readouterr().out.splitlines()
        assert sum(line.startswith("m") for line in lines if " tied" in line) == printed
        assert any(line.startswith(f"{28 - printed} more rows ") for line in lines) == (
            printed < 28
        )
    for form, lines in (("--csv", 29), ("--markdown", 30)):
        assert run("compare", str(path), form, "--rows", "5") == 0
        assert capsys.readouterr().out.count("\n") >= lines
    assert run("compare", str(path), "--rows", "few") == 2


def test_margins_may_be_percentages_and_equal_results_pass(old_and_new, capsys):
    assert run("gate", *old_and_new, "--margin", "5%") == 0
    percent = capsys.readouterr().out
    assert run("gate", *old_and_new, "--margin", "0.05") == 0
    assert capsys.readouterr().out == percent
    assert "PASS: new - old = 0" in percent
    assert run("gate", *old_and_new, "--margin", "much") == 2


@pytest.mark.parametrize(
    ("asked", "share"),
    [
        (["plan", "--effect", "X", "--accuracy", "X"], "30%"),
        (["plan", "--effect", "0.1", "--accuracy", "0.5", "--power", "X"], "90%"),
        (["plan", "--effect", "0.1", "--accuracy", "0.5", "--confidence-level", "X"], "90%"),
        (["sequential", "old.csv", "old", "--target", "X"], "50%"),
        (["sequential", "old.csv", "old", "--width", "X"], "40%"),
        (["sequential", "both.csv", "old", "new", "--margin", "X"], "40%"),
        (["report", "old.csv", "--fail-under", "X"], "90%"),
        (["estimate", "old.csv", "--by", "model", "--bounds", "0%", "X"], "100%"),
        (["gate", "old.csv", "new.csv", "--margin", "X", "--relative"], "5%"),
    ],
)
def test_shares_may_be_written_in_percent(old_and_new, monkeypatch, capsys, asked, share):
    monkeypatch.chdir(Path(old_and_new[0]).parent)
    pd.concat(map(pd.read_csv, old_and_new)).to_csv("both.csv", index=False)
    printed = []
    for written in (share, str(float(share[:-1]) / 100)):
        assert run(*[written if word == "X" else word for word in asked]) in (0, 3, 4)
        printed.append(capsys.readouterr().out.partition("\nNext:\n")[0])  # options as typed
    assert printed[0] == printed[1]


def test_a_percentage_of_scores_from_0_to_100_is_in_points(tmp_path, capsys):
    paths = []
    for name, loss in (("old", 0), ("new", 3)):
        paths.append(str(tmp_path / f"{name}.csv"))
        score = 100 * (np.arange(300) % 3 > 0) - loss * (np.arange(300) % 2)
        rows = {"model": name, "item": range(300), "accuracy": score.clip(0)}
        pd.DataFrame(rows).to_csv(paths[-1], index=False)
    printed = []
    for margin in ("5%", "5"):
        assert run("gate", *paths, "--margin", margin, "--fail", "margin") == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] and "loss of 5." in printed[0]


@pytest.mark.parametrize(
    "arguments",
    [
        ["compare", "both.csv", "olld", "new"],
        ["compare", "both.csv", "new", "olld"],
        ["gate", "both.csv", "new.csv", "--baseline", "olld", "--margin", "5%"],
        ["gate", "new.csv", "both.csv", "--candidate", "olld", "--margin", "5%"],
        ["passk", "both.csv", "-k", "1", "--compare", "olld,new"],
        ["plan", "both.csv", "olld", "new", "--effect", "3%"],
        ["sequential", "both.csv", "olld", "--target", "50%"],
        ["report", "both.csv", "--fail-if-worse-than", "olld"],
        ["leaderboard", "both.csv", "--rename", "olld=x"],
    ],
    ids=" ".join,
)
def test_a_model_of_a_similar_name_is_proposed(old_and_new, monkeypatch, capsys, arguments):
    monkeypatch.chdir(Path(old_and_new[0]).parent)
    pd.concat(map(pd.read_csv, old_and_new)).to_csv("both.csv", index=False)
    assert run(*arguments) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("skbench: ") and "'olld'" in error
    assert error.endswith("'old'?")


OUTPUTS = [
    ["estimate", "old.csv", "--by", "model", "--plot"],
    ["leaderboard", "old.csv", "--plot"],
    ["report", "old.csv", "--html"],
    ["report", "old.csv", "--summary"],
    ["gate", "old.csv", "new.csv", "--margin", "5%", "--save-baseline"],
    ["sequential", "old.csv", "old", "--target", "50%", "--state"],
    ["plan", "--past", "old.csv", "--choose", "3", "--output"],
    ["arena", "old.csv", "--plot"],
    ["metrics", "old.csv", "--plot"],
]


@pytest.mark.parametrize("arguments", OUTPUTS, ids=lambda words: f"{words[0]} {words[-1]}")
def test_outputs_are_checked_before_anything_is_computed(
    old_and_new, monkeypatch, capsys, arguments
):
    folder = Path(old_and_new[0]).parent
    monkeypatch.chdir(folder)
    for path in old_and_new:
        Path(path).unlink()  # reading would fail first
    (folder / "taken.csv").mkdir()
    errors = []
    for path in ("none/x.csv", "taken.csv", "x.csv"):
        if path == "x.csv":
            monkeypatch.setattr("os.access", lambda path, mode: False)
        assert run(*arguments, path) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"skbench: {arguments[-1]} {path}: ")
        errors.append(line)
    assert repr(str(folder / "none")) in errors[0] and "folder" in errors[1]
    assert repr(str(folder)) in errors[2]


@pytest.mark.parametrize("form", [".3f", "+.3f", ".2g", ".1%"])
def test_nothing_is_minus_zero(form):
    assert number(-1e-9, ".3f") == "0.000"
    assert not number(-0.0, form).startswith("-")
    assert number(-0.5, ".1f") == "-0.5"
    assert (number(-np.inf, form), number(np.inf, form)) == ("-infinite", "infinite")
