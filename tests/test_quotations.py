"""What the papers print, and where each of their rows is in the project."""

import csv
import json
import re
import sys
from importlib import import_module
from inspect import isclass, isfunction, ismodule
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import reproduced
from reproduced import NOT_PRINTED, QUOTED, ROOT, Row, quotations, quoted

TEXTS = {
    "F24": "fogliato2024_precise_benchmarking_empirical_bayes.txt",
    "L24": "longjohn2024_uncertainty_aggregate_metrics.txt",
    "H24": "hofer2024_bayesian_ppi.txt",
    "CSE": "clustered_standard_errors.txt",
    "EuroEval": "euroeval_methodology.txt",
}
# Their texts are not at hand.
OTHERS = {
    "EuroEval function",
    "EuroEval leaderboards",
    "tinyBenchmarks",
    "Zhang, Dorner and Hardt",
    "metabench",
    "FAQ",
}
KINDS = {"method", "formula", "default", "table", "figure", "recommendation"}
ROLE = re.compile(r":(\w+):`~?([^`]+)`")
IS = {"class": isclass, "func": isfunction, "meth": callable, "mod": ismodule}
FILE = re.compile(r"``(?:python )?((?:tests|benchmarks|examples|skbench|doc)/[\w./]+)(?:::(\w+))?")


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def places_in(line, values):
    """Whether the values stand in a line, one after the other, each in full."""
    line = re.sub(r"(\.\d+)(?=0\.\d)", r"\1 ", line)  # one text has 0.7880.099 in a table
    at = 0
    for value in values:
        end = "" if value.endswith("%") else r"(?!\d|\.\d|\\?%)"
        found = re.compile(rf"(?<![\d.]){re.escape(value)}{end}").search(line, at)
        if not found:
            return False
        at = found.end()
    return True


def test_every_quotation_stands_in_the_text(data_folder):
    folder = data_folder.parent / "papers"
    if not folder.is_dir():
        pytest.skip("no folder with the papers")
    lines = {name: (folder / file).read_text().split("\n") for name, file in TEXTS.items()}
    rows = [row for row in rows_of(QUOTED) if row["line"]]
    wrong = [
        (*key, *values)
        for key, cells in groupby(rows, itemgetter("paper", "place", "row", "line"))
        for values in [[cell["value"] for cell in cells]]
        if not places_in(lines[key[0]][int(key[3]) - 1], values)
    ]
    assert not wrong


def test_a_cell_is_quoted_once_and_by_name():
    rows = rows_of(QUOTED)
    assert len(quotations()) == len(rows)
    assert {row["paper"] for row in rows} == TEXTS.keys() | OTHERS
    assert all(bool(row["line"]) == (row["paper"] in TEXTS) for row in rows)
    key = next(iter(quotations()))
    assert quoted(*key) == quotations()[key]
    with pytest.raises(KeyError):
        quoted("F24", "Table 99", "n = 10", "MSE")


def test_the_papers_cell_cannot_be_typed():
    with pytest.raises(TypeError, match="quoted"):
        Row("ratio", "0.81", "0.80")


@pytest.mark.parametrize(
    ("paper", "here", "difference"),
    [
        ("0.81", "0.75", "-0.06"),
        ("0.62 (0.14)", "0.78 (0.02)", "+0.16"),
        ("-1.1 (-2.1, 0.0)", "-1.2 (-2.0, -0.2)", "-0.1, +0.1, -0.2"),
        ("5,000", "5000", "0"),
        ("95.2%", "two of three", ""),
    ],
)
def test_difference_of_the_numbers_in_two_cells(paper, here, difference):
    assert Row("", reproduced.Quotation(paper), here).cells[3] == difference
    assert Row("", NOT_PRINTED, here).cells[3] == ""


@pytest.mark.parametrize("name", ["f24", "l24", "h24", "cse", "euroeval"])
def test_every_row_of_a_paper_has_a_place_or_a_reason(name):
    rows = rows_of(ROOT / "doc" / "papers" / f"{name}.csv")
    assert rows
    wrong = [
        row
        for row in rows
        if len(row) != 5  # a comma that is not quoted makes a sixth cell
        or not (row["where"] and row["kind"] in KINDS and row["what"])
        or not (ROLE.search(row["place"]) or FILE.search(row["place"]) or row["remark"])
        or not all(stands(*named) for named in ROLE.findall(row["place"] + row["remark"]))
        or not all(has(*named) for named in FILE.findall(row["place"] + row["remark"]))
    ]
    assert not wrong


def stands(role, name):
    """Whether a page, or a name of the package as the documentation calls it, exists."""
    name = re.sub(r".*<(.+)>", r"\1", name).lstrip("~")
    if role == "doc":
        return (ROOT / "doc" / f"{name.lstrip('/')}.rst").is_file()
    found, parts = import_module("skbench"), name.removeprefix("skbench.").split(".")
    if len(parts) > 1 and parts[1] in found.__all__ and not ismodule(getattr(found, parts[1])):
        return False  # the documentation has it without the room
    for part in parts:
        if not hasattr(found, part):
            try:
                import_module(f"{found.__name__}.{part}")
            except (ImportError, AttributeError):
                return False
        found = getattr(found, part)
    return IS[role](found)


def has(path, function):
    """Whether a file exists, with this function."""
    file = ROOT / path
    return file.exists() and (not function or f"def {function}(" in file.read_text())


def quoted_of(paper, place):
    return {
        (row["row"], row["column"]): row["value"]
        for row in rows_of(QUOTED)
        if (row["paper"], row["place"]) == (paper, place)
    }


def test_rank_scores_are_quoted_from_what_euroeval_computed(gold_folder):
    gold = json.loads((gold_folder / "euroeval_mean_rank_score.json").read_text())["expected"]
    overall = {(name, "overall"): f"{score['all']['overall']:.4f}" for name, score in gold.items()}
    assert quoted_of("EuroEval function", "mean rank score") == overall


def test_leaderboards_are_quoted_as_published(data_folder):
    ranks = pd.read_csv(data_folder / "euroeval_ranks.csv.gz")
    for name, board in ranks.groupby("leaderboard"):
        published = board.set_index("model")["rank"]
        cells = quoted_of("EuroEval leaderboards", name)
        assert cells == {(model, "rank"): f"{published[model]:.2f}" for model, _ in cells}
        assert len(cells) == 5
    raw = pd.read_csv(data_folder / "scandeval_raw_2023.csv.gz")
    raw.index = raw["model"] + " on " + raw["dataset"] + " (" + raw["metric"] + ")"
    columns = {"mean": "total", "half-width": "total_ci"}
    cells = quoted_of("EuroEval leaderboards", "ScandEval 2023")
    assert cells == {(r, c): f"{raw.loc[r, columns[c]]:.4f}" for r, c in cells}
    assert cells
