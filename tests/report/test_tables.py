"""Tables for people: the same numbers, nothing clipped, the guarantee in words."""

import io

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from skbench._numbers import decimals_for
from skbench.containers import GUARANTEES, Estimate, GroupSummary
from skbench.report import tables
from skbench.report.writers import as_rich


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
    return tables.group_rows(*groups, ["model", "topic"])


def test_rows_come_by_topic_then_model(table):
    assert list(zip(table["topic"], table["model"], strict=True)) == [
        ("art", "ada"),
        ("art", "bob"),
        ("law", "ada"),
        ("law", "bob"),
    ]
    assert table["direct"].tolist() == [0.5, 0.75, 0.25, 1.0]
    assert table["value"].tolist() == [0.25, 0.375, 0.125, 0.5]


def test_topics_of_several_columns_are_joined():
    labels = pd.MultiIndex.from_tuples([("fog", 10), ("fog", 9)], names=["fault", "severity"])
    one = np.ones(2)
    e = Estimate(one, one, one, one, 0.95, labels, "direct", "each group")
    summary = GroupSummary(z=one, sigma2=one, n=[1, 1], labels=labels)
    table = tables.group_rows(summary, e, e, ["fault", "severity"])
    # Sorted as numbers, not as text.
    assert table["topic"].tolist() == ["fog / 9", "fog / 10"]
    assert table["model"].isna().all()


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_every_guarantee_is_put_into_words(guarantee):
    words = tables.promise(Estimate([1], [1], [1], [1], 0.9, pd.Index(["a"]), "m", guarantee))
    assert words.startswith(f"90% intervals ({guarantee})")
    assert "{" not in words


def test_rich_table_shows_every_number_and_what_is_not_known(table):
    console = Console(width=200, file=io.StringIO())
    console.print(as_rich(tables.group_table(table, [*tables.DIRECT, *tables.ESTIMATES])))
    text = console.file.getvalue()
    for row in table.itertuples():
        assert f"{row.value:.3f}" in text
    assert text.count("unknown") == 2


def test_columns_without_values_are_left_out(table):
    shown = tables.group_table(table.assign(model=None))
    assert [column.heading for column in shown.columns][:2] == ["topic", "n"]


@pytest.mark.parametrize(
    "largest, decimals",
    [(1, 3), (0.9, 3), (100, 1), (95.3, 1), (10, 2), (0.05, 4), (1e6, 1), (0, 3)],
)
def test_three_figures_of_the_largest_score(largest, decimals):
    assert decimals_for([largest, largest / 3, np.nan]) == decimals
