"""The script that sets the papers' tables beside ours, at its smallest."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import reproduce

SMALLEST = {
    "l24": ["--draws", "1000"],
    "h24": ["--trials", "40", "--seeds", "2"],
    "euroeval": ["--trials", "2"],
    "bank": ["--splits", "1"],
    "f24": ["--repetitions", "2"],
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", reproduce.PAPERS)
def test_tables_are_made_of_quoted_cells(name, data_folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["reproduce.py", name, *SMALLEST.get(name, [])])
    reproduce.main()
    heads = [line for line in capsys.readouterr().out.splitlines() if line.split()[:1] == ["paper"]]
    assert len(heads) > 1
    assert all(head.split() == ["paper", "here", "difference", "why"] for head in heads)
