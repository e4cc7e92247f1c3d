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


@pytest.mark.parametrize("name", ["combined gas law", "sum of squares", "mean value theorem"])
def test_a_topic_of_one_model_may_have_the_sum_of_the_others_by_chance(read, name):
    """A name that contains such a word is not that of a total: a note, not an error."""
    rows = [("a", "x", 5, 5), ("a", "y", 5, 5), ("a", name, 10, 10)]
    table = pd.DataFrame(rows, columns=["model", "topic", "correct", "total"])
    assert any(repr(name) in doubt for doubt in read(table).doubts)


def test_means_of_a_total_are_seen_through_their_rounding(read):
    table = with_total(counts("ab"), "overall")
    means = table.assign(acc=(table["correct"] / table["total"]).round(3), acc_stderr=0.05)
    with pytest.raises(ValueError, match="total"):
        read(means.drop(columns="correct").rename(columns={"total": "n"}))


def test_few_right_of_many_are_counts(read):
    rows = [("a", "x", 10, 0), ("a", "y", 12, 1), ("b", "x", 10, 1), ("b", "y", 12, 0)]
    found = read(pd.DataFrame(rows, columns=["model", "topic", "n", "correct"]))
    assert found.groups["k"].tolist() == [0, 1, 1, 0]
    # Answers of two items each, with a size beside them.
    single = pd.DataFrame(
        [row for row in rows for _ in range(2)], columns=["m", "t", "n", "correct"]
    )
    assert read(single).groups is None


@pytest.mark.parametrize(("models", "name"), [("abc", "x"), ("a", "overall"), ("ab", "All topics")])
def test_counts_that_are_the_sum_of_the_others_are_refused(read, models, name):
    table = with_total(counts(models), name)
    k = table.loc[table["topic"] == name, "correct"].iloc[0]
    with pytest.raises(ValueError) as error:
        read(table)
    assert f"{name!r}" in str(error.value) and " 60 answers" in str(error.value)
    assert f" {k}" in str(error.value)
    assert len(read(counts(models)).items) == 3 * len(models)


def test_sum_by_chance_has_a_note(read):
    found = read(with_total(counts("ab"), "x"))
    assert len(found.items) == 8
    assert found.doubts[0].startswith("topic 'x'")
    assert found.doubts[0] in found.notes


def test_topics_that_are_no_total_are_taken(read):
    """One model's numbers alone differ; two topics that are alike; models that all fail."""
    table = with_total(counts("abc"), "overall")
    table.loc[table.index[-1], "correct"] -= 1
    assert not read(table).doubts
    assert not read(counts("abc").query("topic != 'bio'").assign(correct=7)).doubts
    assert len(read(with_total(counts("abcd").assign(correct=0), "hard")).items) == 16


@pytest.mark.parametrize("restarts", [False, True])
def test_items_that_are_all_others_are_refused(read, restarts):
    table = items("a")
    again = table.assign(topic="every")
    if restarts:  # under ids of their own, only the sums tell
        table, again = items("abc"), items("abc").assign(topic="every")
        again["item"] = "e" + again["item"]
    both = pd.concat([table, again])
    with pytest.raises(ValueError):
        read(both)
    assert len(read(table).items) == len(table)


def test_wide_files_and_several_topic_columns_have_totals_too(read):
    table = items("abc")
    wide = table.pivot(index=["topic", "item"], columns="model", values="score").reset_index()
    with pytest.raises(ValueError):
        read(pd.concat([wide, wide.assign(topic="every")]))
    levels = pd.concat([table.assign(level=1), items("abc", 1).assign(level=2)])
    both = pd.concat([levels, levels.assign(topic="every")])
    assert len(read(levels, topic=["topic", "level"]).items) == 180
    with pytest.raises(ValueError):
        read(both, topic=["topic", "level"])


def test_more_right_than_there_are_in_every_row_is_refused(read, tmp_path):
    table = counts("abc").assign(correct=lambda t: t["correct"] + 20)
    with pytest.raises(ValueError):
        read(table)
    named = read_items(tmp_path / "results.csv", score="correct")
    assert named["score"].tolist() == table["correct"].tolist()
