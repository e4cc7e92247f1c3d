import joblib
import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal, assert_series_equal
from scipy.stats import binom
from sklearn.datasets import load_digits

from skbench.datasets import load_digits_c, sample_items


@pytest.fixture(scope="module", params=[pytest.param("digits", marks=pytest.mark.slow)])
def data():
    return load_digits_c()


@pytest.fixture(scope="module")
def accuracy(data):
    """Truth with its topic's corruption and severity, one row per group."""
    return data.truth.reset_index().merge(data.features.reset_index(), on="topic")


def test_shape(data):
    items = data.items
    assert list(items.columns) == [
        "model",
        "topic",
        "corruption",
        "severity",
        "item",
        "score",
        "confidence",
    ]
    assert len(items) == 5 * 50 * 899
    assert items["model"].nunique() == 5
    assert items["corruption"].nunique() == 10
    assert sorted(items["severity"].unique()) == [1, 2, 3, 4, 5]
    assert set(items["score"].unique()) == {0, 1}
    # The highest of ten probabilities is at least a tenth.
    assert items["confidence"].between(0.1 - 1e-12, 1 + 1e-12).all()
    assert not items.duplicated(["model", "item"]).any()


def test_topic_and_item_names_agree_with_their_parts(data):
    items = data.items.drop_duplicates(["topic", "item"])
    parts = items["corruption"] + "-" + items["severity"].astype(str)
    assert (items["topic"] == parts).all()
    assert (items["item"].str.rsplit("/", n=1).str[0] == items["topic"]).all()
    by_topic = items.drop_duplicates("topic").set_index("topic")
    assert_frame_equal(by_topic[["corruption", "severity"]], data.features, check_dtype=False)


def test_models_share_all_items(data):
    n_models = data.items.groupby("item")["model"].nunique()
    assert len(n_models) == 50 * 899
    assert (n_models == 5).all()


def test_truth_is_the_mean_of_all_items(data):
    items = data.items
    for model, topic in [("naive Bayes", "blur-3"), ("random forest", "salt and pepper-5")]:
        rows = (items["model"] == model) & (items["topic"] == topic)
        k = sum(items.loc[rows, "score"])
        assert data.truth[model, topic] == pytest.approx(k / 899, abs=1e-12)
    assert len(data.truth) == 250


def test_accuracy_falls_from_nearly_one_to_near_chance(accuracy):
    by_severity = accuracy.pivot_table(index="corruption", columns="severity", values="truth")
    assert (by_severity.diff(axis=1).iloc[:, 1:] < 0).all(axis=None)
    assert by_severity[1].min() > 0.75
    assert by_severity[5].max() < 0.35
    assert accuracy["truth"].max() > 0.95
    assert accuracy["truth"].min() < 0.12


def test_models_differ(accuracy):
    by_model = accuracy.groupby("model")["truth"].mean().sort_values()
    assert by_model.iloc[-1] - by_model.iloc[0] > 0.15
    # More than a common scale: no model is best at everything.
    best = accuracy.loc[accuracy.groupby("topic")["truth"].idxmax(), "model"]
    assert best.nunique() >= 3


def test_a_confident_answer_is_more_often_right(data):
    for _, rows in data.items.groupby("model"):
        assert rows["score"].corr(rows["confidence"]) > 0.05


@pytest.mark.slow
def test_neither_workers_nor_order_of_work_change_the_result(data):
    with joblib.parallel_config(backend="threading"):
        again = load_digits_c(n_jobs=2, random_state=np.random.default_rng(0))
    # Probabilities may differ in the last digits with the threads of the linear algebra.
    assert_frame_equal(again.items, data.items, rtol=1e-9)
    assert_series_equal(again.truth, data.truth)


@pytest.mark.slow
def test_another_seed_is_the_same_benchmark_with_other_images_and_models(data):
    other = load_digits_c(random_state=1)
    assert set(other.items["item"]) != set(data.items["item"])
    # Two test halves of 899 images differ with a standard error of at most .024.
    # Single groups move by up to .3, because faint images fall to whatever digit
    # a training half happened to put there: so the median, not the maximum.
    difference = (other.truth - data.truth).abs()
    assert difference.median() < 2 * np.sqrt(2 * 0.25 / 899)
    assert difference.max() > 0


def test_description_and_repr(data):
    assert "899 images" in data.DESCR
    assert "salt and pepper" in data.DESCR
    assert repr(data).startswith("ItemData: digits-C")


def test_topics_are_of_the_same_half_of_the_images(data):
    items = data.items[data.items["model"] == "naive Bayes"]
    numbers = items["item"].str.rsplit("/", n=1).str[1].astype(int)
    half = numbers.groupby(items["topic"]).unique()
    assert all(np.array_equal(half.iloc[0], one) for one in half)
    # Stratified: the half has as many of every digit as the other, to rounding.
    n_all, n_half = (np.bincount(load_digits().target[of]) for of in (slice(None), half.iloc[0]))
    assert np.abs(2 * n_half - n_all).max() <= 1


@pytest.fixture
def items():
    """Two models on topics of 4 and 7 items."""
    ids = [("a", i) for i in range(4)] + [("b", i) for i in range(7)]
    return pd.DataFrame(
        [(model, topic, item) for model in ["m", "n"] for topic, item in ids],
        columns=["model", "topic", "item"],
    )


def test_sample_has_the_same_items_for_all_models(data):
    sample = sample_items(data.items, 10, random_state=0)
    assert len(sample) == 5 * 50 * 10
    per_topic = sample.groupby("topic")["item"].nunique()
    assert (per_topic == 10).all()
    per_item = sample.groupby(["topic", "item"])["model"].nunique()
    assert (per_item == 5).all()
    assert_frame_equal(sample, data.items.loc[sample.index])


def test_topics_are_sampled_separately(data):
    sample = sample_items(data.items, 10, random_state=0)
    numbers = sample.groupby("topic")["item"].agg(
        lambda ids: frozenset(ids.str.rsplit("/", n=1).str[1])
    )
    assert numbers.nunique() == 50


def test_every_item_is_as_likely_as_the_next(items):
    """In 1,000 topics of 4 and as many of 7 items, each of which is a draw of its own."""
    n_draws = 1000
    one = items[items["model"] == "m"]
    many = pd.concat([one] * n_draws, ignore_index=True)
    many["kind"] = many["topic"]
    many["topic"] += (np.arange(len(many)) // len(one)).astype(str)
    counts = sample_items(many, 2, random_state=0).groupby(["kind", "item"]).size()
    for kind, size in [("a", 4), ("b", 7)]:
        low, high = binom.ppf([0.0005, 0.9995], n_draws, 2 / size)
        assert len(counts[kind]) == size
        assert counts[kind].between(low, high).all()


def test_all_items_of_the_smallest_topic_can_be_drawn(items):
    sample = sample_items(items, 4, random_state=0)
    assert set(sample.loc[sample["topic"] == "a", "item"]) == {0, 1, 2, 3}


def test_other_column_names(items):
    renamed = items.rename(columns={"topic": "task", "item": "question"})
    sample = sample_items(renamed, 2, topic="task", item="question", random_state=5)
    assert sample.index.equals(sample_items(items, 2, random_state=5).index)


def test_a_missing_answer_takes_no_one_elses(items):
    """A model without one of the drawn answers has a row less, others none."""
    sample = sample_items(items, 4, random_state=0)
    lost = items.drop(index=items.index[0])
    assert_frame_equal(sample_items(lost, 4, random_state=0), sample.drop(index=items.index[0]))


def test_sample_errors(items):
    with pytest.raises(ValueError):
        sample_items(items, 5)
    blank = items.assign(item=items["item"].where(items.index != 3))
    for wrong in (items.rename(columns={"topic": "task"}), blank, items.iloc[:0]):
        with pytest.raises(ValueError):
            sample_items(wrong, 2)
