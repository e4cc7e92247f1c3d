"""Topics that are the total of the others, and counts that cannot be."""

import itertools

import numpy as np
import pandas as pd
import pytest

from skbench.readers import read_items, read_with_notes

TOPICS = ("law", "math", "bio")


def counts(models, seed=0):
    """Counts of models in three topics of 20 items."""
    rng = np.random.default_rng(seed)
    rows = [(m, t, rng.integers(1, 20), 20) for m in models for t in TOPICS]
    return pd.DataFrame(rows, columns=["model", "topic", "correct", "total"])


def with_total(table, name):
    """The same table with the sum of each model's topics as one more topic."""
    sums = table.groupby("model", sort=False)[["correct", "total"]].sum().reset_index()
    return pd.concat([table, sums.assign(topic=name)], ignore_index=True)


def items(models, seed=0):
    """Item rows of models in three topics of 10 items."""
    rng = np.random.default_rng(seed)
    rows = [
        (m, t, f"{t}{i}", rng.integers(0, 2))
        for m, t, i in itertools.product(models, TOPICS, range(10))
    ]
    return pd.DataFrame(rows, columns=["model", "topic", "item", "score"])


@pytest.fixture
def read(tmp_path):
    """Read a table as from a file, with what was noted."""

    def read(table, **names):
        table.to_csv(tmp_path / "results.csv", index=False)
        return read_with_notes(tmp_path / "results.csv", **names)

    return read


@pytest.mark.parametrize(("models", "name"), [("abc", "x"), ("a", "overall"), ("ab", "All topics")])
def test_counts_that_are_the_sum_of_the_others_are_refused(read, models, name):
    table = with_total(counts(models), name)
    k = table.loc[table["topic"] == name, "correct"].iloc[0]
    with pytest.raises(ValueError, match=f"Topic '{name}' is the total of the others") as error:
        read(table)
    assert f"it has 60 answers of a with scores that add up to {k}, and so" in str(error.value)
    assert "leave out its rows" in str(error.value)
    assert len(read(counts(models)).items) == 3 * len(models)


def test_sum_by_chance_is_told(read):
    found = read(with_total(counts("ab"), "x"))
    assert len(found.items) == 8
    assert found.doubts[0].startswith("topic 'x' has as many answers, and scores as high, as all")
    assert found.doubts[0] in found.notes


def test_topics_that_are_no_total_are_taken(read):
    """One model's numbers alone differ; two topics that are alike; models that all fail."""
    table = with_total(counts("abc"), "overall")
    table.loc[table.index[-1], "correct"] -= 1
    assert not read(table).doubts
    twins = counts("abc").query("topic != 'bio'").assign(correct=7)
    assert not read(twins).doubts
    failed = with_total(counts("abcd").assign(correct=0), "hard")
    assert len(read(failed).items) == 16


@pytest.mark.parametrize("restarts", [False, True])
def test_items_that_are_all_others_are_refused(read, restarts):
    table = items("a")
    again = table.assign(topic="every")
    if restarts:  # under ids of their own, only the sums tell
        table, again = items("abc"), items("abc").assign(topic="every")
        again["item"] = "e" + again["item"]
    both = pd.concat([table, again])
    with pytest.raises(ValueError, match="Topic 'every' is the total of the others: it has 30"):
        read(both)
    assert len(read(table).items) == len(table)


def test_wide_files_and_several_topic_columns_have_totals_too(read):
    table = items("abc")
    wide = table.pivot(index=["topic", "item"], columns="model", values="score").reset_index()
    with pytest.raises(ValueError, match="Topic 'every' is the total"):
        read(pd.concat([wide, wide.assign(topic="every")]))
    levels = pd.concat([table.assign(level=1), items("abc", 1).assign(level=2)])
    both = pd.concat([levels, levels.assign(topic="every")])
    assert len(read(levels, topic=["topic", "level"]).items) == 180
    with pytest.raises(ValueError, match="Topic 'every' is the total"):
        read(both, topic=["topic", "level"])


def test_more_right_than_there_are_in_every_row_is_refused(read, tmp_path):
    table = counts("abc").assign(correct=lambda t: t["correct"] + 20)
    with pytest.raises(ValueError, match="look like counts, but row 1 has .* right of 20"):
        read(table)
    named = read_items(tmp_path / "results.csv", score="correct")
    assert named["score"].tolist() == table["correct"].tolist()
