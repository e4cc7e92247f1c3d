"""Tables for people, JSON and CSV: the same numbers, nothing clipped, the promise in words."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from skbench.containers import GUARANTEES, Estimate, GroupSummary
from skbench.report import tables


@pytest.fixture
def groups():
    """Two topics by two models, in label order; one interval is not known."""
    labels = pd.MultiIndex.from_product([["ada", "bob"], ["art", "law"]], names=["model", "topic"])
    z = np.array([0.5, 0.25, 0.75, 1.0])
    summary = GroupSummary(z=z, sigma2=np.full(4, 0.02), n=[4, 4, 4, 1], labels=labels)
    unknown = [0.1, 0.1, 0.1, np.nan]
    direct = Estimate(z, z - unknown, z + unknown, unknown, 0.9, labels, "direct", "each group")
    shrunk = Estimate(z / 2, z / 4, z, z / 8, 0.9, labels, "empirical Bayes", "average over groups")
    return summary, direct, shrunk


@pytest.fixture
def table(groups):
    return tables.group_table(*groups, ["model", "topic"])


def test_rows_come_by_topic_then_model(table):
    assert list(zip(table["topic"], table["model"], strict=True)) == [
        ("art", "ada"),
        ("art", "bob"),
        ("law", "ada"),
        ("law", "bob"),
    ]
    assert table["direct"].tolist() == [0.5, 0.75, 0.25, 1.0]
    assert table["estimate"].tolist() == [0.25, 0.375, 0.125, 0.5]


def test_topics_of_several_columns_are_joined():
    labels = pd.MultiIndex.from_tuples([("fog", 10), ("fog", 9)], names=["fault", "severity"])
    one = np.ones(2)
    e = Estimate(one, one, one, one, 0.95, labels, "direct", "each group")
    summary = GroupSummary(z=one, sigma2=one, n=[1, 1], labels=labels)
    table = tables.group_table(summary, e, e, ["fault", "severity"])
    # Sorted as numbers, not as text.
    assert table["topic"].tolist() == ["fog / 9", "fog / 10"]
    assert table["model"].isna().all()


def test_json_is_the_documented_object(table, groups):
    head = {"score": "correct", "sample_size_ratio": tables.ratio_for_json(groups[2])}
    document = json.loads(tables.records_json(groups[2], head, "groups", table))
    assert list(document) == [
        "version",
        "method",
        "guarantee",
        "confidence_level",
        "score",
        "sample_size_ratio",
        "groups",
    ]
    assert document["guarantee"] == "average over groups"
    assert document["confidence_level"] == 0.9
    assert document["groups"][-1] == {
        "model": "bob",
        "topic": "law",
        "n": 1,
        "direct": 1.0,
        "direct_low": None,
        "direct_high": None,
        "estimate": 0.5,
        "low": 0.25,
        "high": 1.0,
        "standard_error": 0.125,
        "unlike_peers": None,
    }


def test_csv_reads_back(table, groups):
    read = pd.read_csv(io.StringIO(tables.as_csv(table, groups[2])))
    pd.testing.assert_frame_equal(read[table.columns], table, check_dtype=False)
    assert (read["guarantee"] == "average over groups").all()
    assert (read["method"] == "empirical Bayes").all()


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_every_guarantee_is_put_into_words(guarantee):
    e = Estimate([1], [1], [1], [1], 0.9, pd.Index(["a"]), "m", guarantee)
    words = tables.promise(e)
    assert words.startswith(f"90 % intervals, {guarantee}")
    assert "{" not in words


def test_average_coverage_is_said_not_to_be_that_of_each_group(groups):
    assert tables.promise(groups[2]) == (
        "90 % intervals, average over groups: about 90 of 100 groups are covered, not each one"
    )


def test_rich_table_shows_every_number_and_what_is_not_known(table):
    console = Console(width=200, file=io.StringIO())
    console.print(tables.plain_table(*tables.group_cells(table, 3)))
    text = console.file.getvalue()
    for row in table.itertuples():
        assert f"{row.estimate:.3f}" in text
    assert text.count("unknown") == 2


def test_columns_without_values_are_left_out(table):
    shown = tables.plain_table(*tables.group_cells(table.assign(model=None), 3))
    assert [str(column.header) for column in shown.columns][:2] == ["topic", "n"]


@pytest.mark.parametrize(
    "largest, decimals",
    [(1, 3), (0.9, 3), (100, 1), (95.3, 1), (10, 2), (0.05, 4), (1e6, 1), (0, 3)],
)
def test_three_figures_of_the_largest_score(largest, decimals):
    assert tables.decimals_for([largest, largest / 3, np.nan]) == decimals
