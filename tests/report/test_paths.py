"""No command writes over what it reads, nor two outputs to one file."""

import os
from importlib import import_module
from pathlib import Path

import commands
import pytest

from skbench.report import page


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Files and a folder to read, and other names of one of the files."""
    commands.write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    for suffix in (".csv", ".html", ".png"):
        os.symlink("r.csv", f"symbolic{suffix}")
        os.link("r.csv", f"hard{suffix}")
    os.mkdir("logs")
    for name in ("old.csv", "same.csv"):
        os.link(name, f"logs/{name}")


def check_refused(call, words):
    """Run a command, which must be refused with these words and change nothing."""
    before = {path: path.read_bytes() for path in Path().rglob("*.*")}
    name, *arguments = call.split()
    result = commands.run(getattr(import_module(f"skbench.report.{name}"), name), *arguments)
    assert result.exit_code == 1 and words in result.stderr, (result.output, result.exception)
    assert before == {path: path.read_bytes() for path in Path().rglob("*.*")}
    return result.stderr.splitlines()


@pytest.mark.parametrize("name", ["symbolic", "hard"])
@pytest.mark.parametrize(
    "call",
    [
        "report r.csv --html {}.html",
        "report past.csv --past r.csv --html {}.html",
        "report old.csv r.csv --summary {}.csv",
        "leaderboard r.csv --plot {}.png",
        "estimate past.csv --plot {}.png --features r.csv",
        "leaderboard past.csv --bank r.csv --plot {}.png",
        "plan --past past.csv --past r.csv --choose 2 --output ./r.csv",
        "gate same.csv r.csv --margin 0.1 --save-baseline {}.csv",
        "gate old.csv --margin 0.1 --save-baseline {}.csv r.csv",
        "sequential r.csv model-0 model-1 --state {}.csv",
    ],
)
def test_an_output_that_is_read(call, name):
    assert len(check_refused(call.format(name), "read as ")) == 1


@pytest.mark.parametrize(
    "call",
    [
        "report logs --summary logs/old.csv",
        "report logs --summary old.csv",
        "report logs/.. --summary logs/new.csv",
        "plan --past logs --choose 2 --output logs/items.csv",
        "gate r.csv logs --margin 0.1 --save-baseline logs/base.csv",
    ],
)
def test_an_output_that_is_read_with_its_folder(call):
    assert len(check_refused(call, " with folder ")) == 1


@pytest.mark.parametrize("second", ["o.html", "./o.html", "link"])
def test_two_outputs_to_one_file(second):
    os.symlink("o.html", "link")
    check_refused(f"report r.csv --html o.html --summary {second}", "by --html")


def test_what_is_written_beside_a_page(monkeypatch):
    monkeypatch.setattr(page, "_MOST_ROWS", (2,))
    os.link("r.csv", "p.groups.csv")
    check_refused("report p.groups.csv --html p.html", "p.groups.csv")
    check_refused("report logs --html logs/p.html", "p.groups.csv")


def test_what_is_appended_or_not_read_is_no_conflict():
    call = "logs --html logs/p.html --summary logs/s.md".split()
    runs = [commands.run(import_module("skbench.report.report").report, *call) for _ in range(2)]
    assert [run.exit_code for run in runs] == [0, 0], runs[1].output
    assert Path("logs/s.md").read_text().count("## Conclusion") == 2
    call = "logs model-0 same --state logs/state.json".split()
    for _ in range(2):
        run = commands.run(import_module("skbench.report.sequential").sequential, *call)
        assert run.exit_code in (0, 4), run.output
