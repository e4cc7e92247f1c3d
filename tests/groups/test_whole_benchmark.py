"""Scores of whole benchmarks: what is refused, and what the intervals cover."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, hypergeom
from sklearn.preprocessing import FunctionTransformer

from skbench import (
    DirectEstimator,
    IntervalPipeline,
    MixedModel,
    make_items,
    summarize_items,
)
from skbench.summaries import estimate_of_population

DATA = make_items(n_models=2, n_topics=5, n_items=10, random_state=0)
SUMMARY = summarize_items(DATA.items, by=["model", "topic"])
TOPICS = SUMMARY.labels.get_level_values("topic")


@pytest.fixture(scope="module")
def direct():
    return DirectEstimator().fit(**SUMMARY.fit_args)


def test_method_and_guarantee(direct):
    whole = direct.estimate(0.9, population=40)
    assert whole.method == "direct (Wilson), whole benchmark"
    assert (whole.guarantee, whole.confidence_level) == (
        "each group, on average over accuracies",
        0.9,
    )
    assert whole.labels.equals(SUMMARY.labels)


def test_sizes_of_each_group(direct):
    given = np.array([20, 30] * 5)
    whole = direct.estimate(population=given)
    alone = [direct.estimate(population=n).low[i] for i, n in enumerate(given)]
    np.testing.assert_array_equal(whole.low, alone)


def test_intervals_stay_where_the_score_can_be(direct):
    whole = direct.estimate(population=11)
    assert np.all(whole.low >= SUMMARY.z * 10 / 11)
    assert np.all(whole.high <= (SUMMARY.z * 10 + 1) / 11 + 1e-12)


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (9, r"'model-0', 'topic-0'.* 10 .* 9"),
        (np.nan, r"'model-0', 'topic-0'.* nan"),
        ([20, 30], "shape"),
        (
            pd.Series({"topic-0": 20}).rename_axis("topic"),
            "'topic-1'.* nan",
        ),
        (
            pd.Series([20, 30], pd.Index(["topic-0", "topic-0"], name="topic")),
            "'topic-0'",
        ),
        (
            pd.Series({"topic-0": 20, "topic-1": 30}),
            r"model, topic.*rename_axis\('topic'\)",
        ),
    ],
)
def test_bad_sizes_are_refused(direct, size, words):
    with pytest.raises(ValueError, match=words):
        direct.estimate(population=size)


def test_other_groups_are_refused(direct):
    other = summarize_items(DATA.items, by="topic", cluster="item")
    with pytest.raises(ValueError):
        estimate_of_population(direct, other, 0.9, 40)


@pytest.mark.parametrize(
    ("n", "size", "least"), [(10, 20, 0.930), (10, 40, 0.935), (20, 80, 0.943)]
)
def test_exact_intervals_stay_nearly_exact(n, size, least):
    """By enumeration: every result, weighted by its hypergeometric probability."""
    k = np.arange(n + 1)
    results = pd.DataFrame({"topic": np.repeat(k, n), "score": np.tile(np.arange(n), n + 1)})
    g = summarize_items(results.assign(score=lambda r: (r["score"] < r["topic"]) * 1), by="topic")
    exact = DirectEstimator(interval="clopper-pearson").fit(**g.fit_args)
    whole = exact.estimate(population=size)
    right = np.arange(size + 1)[:, None]
    inside = (whole.low <= right / size + 1e-12) & (right / size - 1e-12 <= whole.high)
    coverage = np.sum(hypergeom.pmf(k, size, right, n) * inside, axis=1)
    assert coverage.min() == pytest.approx(least, abs=5e-4)
    assert 0.97 <= coverage.mean() <= 0.985


def continuous(rng):
    """Scores of 300 topics of 40 items, and the sampling variance of the mean of ten."""
    return 0.3 + 0.2 * rng.normal(size=(300, 1)) + 0.5 * rng.normal(size=(300, 40)), 0.025


def test_the_whole_benchmark_is_covered():
    """Of 12 x 300 intervals .95 cover the mean over all items, and estimates are nearer to it.

    Where the number of all items is not known, the intervals for answers cover .90.
    """
    hits, errors, plain_errors = [], [], []
    for seed in range(12):
        scores, sigma2 = continuous(np.random.default_rng(seed))
        truth = scores.mean(axis=1)
        items = pd.DataFrame(scores[:, :10]).rename_axis("topic").stack().rename("score")
        g = summarize_items(items.reset_index(), by="topic")
        g = replace(g, sigma2=np.full(300, sigma2))
        fitted = MixedModel().fit(**g.fit_args)
        plain, whole = fitted.estimate(), fitted.estimate(population=40)
        hits.append((whole.low <= truth) & (truth <= whole.high))
        errors.append((whole.value - truth) ** 2)
        plain_errors.append((plain.value - truth) ** 2)
    low, high = binom.ppf([0.0005, 0.9995], 12 * 300, 0.95) / (12 * 300)
    assert low <= np.mean(hits) <= high
    assert np.mean(errors) < np.mean(plain_errors)


@pytest.fixture(scope="module")
def mixed():
    return MixedModel(random_state=0).fit(**SUMMARY.fit_args)


def test_totals_do_not_depend_on_the_order_of_the_rows(mixed):
    order = np.random.default_rng(1).permutation(len(SUMMARY.z))
    args = SUMMARY.fit_args
    rows = {name: args[name][order] for name in ("y", "sigma2", "n", "groups")}
    rows |= {"X": args["X"].iloc[order], "sampling": args["sampling"]}
    shuffled = MixedModel(random_state=0).fit(**rows).estimate(population=30)
    expected = mixed.estimate(population=30)
    for name in ("value", "low", "high", "standard_error"):
        found = getattr(shuffled, name)
        np.testing.assert_allclose(found, getattr(expected, name)[order], rtol=1e-9)


def test_totals_that_can_be(mixed):
    whole, plain = mixed.estimate(0.9, population=17), mixed.estimate(0.9)
    right, low, high = SUMMARY.z * 10, 17 * whole.low, 17 * whole.high
    assert ((right - 1e-9 <= low) & (high <= right + 7 + 1e-9)).all()
    inside = (whole.low < whole.value) & (whole.value < whole.high)
    np.testing.assert_allclose(low[inside], np.round(low[inside]), atol=1e-9)
    np.testing.assert_allclose(high[inside], np.round(high[inside]), atol=1e-9)
    np.testing.assert_allclose(whole.value, (right + 7 * plain.value) / 17)
    assert whole.method == "mixed model, whole benchmark"
    assert (whole.guarantee, whole.confidence_level) == (plain.guarantee, 0.9)
    np.testing.assert_array_equal(whole.low, mixed.estimate(0.9, population=17).low)


def test_nothing_is_unknown_where_all_items_were_asked(mixed):
    whole = mixed.estimate(population=10)
    for end in (whole.value, whole.low, whole.high):
        np.testing.assert_allclose(end, SUMMARY.z)
    np.testing.assert_allclose(whole.standard_error, 0, atol=1e-12)
    some = mixed.estimate(population=np.where(TOPICS == "topic-0", 10, 40))
    known = some.high - some.low < 1e-12
    np.testing.assert_array_equal(known, TOPICS == "topic-0")


def test_many_items_are_the_expected_score(mixed):
    whole, plain = mixed.estimate(population=10_000_000), mixed.estimate()
    np.testing.assert_allclose(whole.value, plain.value, atol=1e-5)
    for end in ("low", "high"):
        # Quantiles of 2,000 draws; ends of groups whose answers are all alike are exact.
        np.testing.assert_allclose(getattr(whole, end), getattr(plain, end), atol=0.03)


@pytest.mark.parametrize("estimator", [DirectEstimator(), MixedModel(random_state=0)])
def test_populations_by_topic_label_or_row(estimator):
    fitted = estimator.fit(**SUMMARY.fit_args)
    by_topic = pd.Series([20, 30, 40, 50, 60], pd.Index(sorted(set(TOPICS)), name="topic"))
    each = by_topic.loc[TOPICS].to_numpy()
    expected = fitted.estimate(population=each)
    by_label = pd.Series(each, SUMMARY.labels)[::-1]
    for given in (by_topic, by_label):
        np.testing.assert_array_equal(fitted.estimate(population=given).low, expected.low)
    with pytest.raises(ValueError):
        fitted.estimate(population=9)
    with pytest.raises(ValueError):
        fitted.estimate(population=by_topic.iloc[1:])
    with pytest.raises(ValueError):
        fitted.estimate(population=[20, 30])


def test_populations_need_numbers_of_items():
    without = SUMMARY.fit_args | {"n": None, "sampling": None}
    with pytest.warns(UserWarning, match="^sampling "):
        fitted = MixedModel().fit(**without)
    with pytest.raises(ValueError):
        fitted.estimate(population=40)


@pytest.mark.slow
@pytest.mark.parametrize("size", [20, 40])
def test_totals_are_covered(size):
    """Items of 3 models on 50 topics, drawn without replacement from finite benchmarks."""
    hits, errors, plain_errors = [], [], []
    for seed in range(12):
        data = make_items(3, 50, size, random_state=seed)
        key = ["model", "topic"]
        truth = data.items.groupby(key)["score"].mean()
        asked = data.items[data.items.groupby(key).cumcount() < 10]
        g = summarize_items(asked, key)
        fitted = MixedModel(random_state=seed).fit(**g.fit_args)
        whole, right = fitted.estimate(population=size), truth.loc[g.labels].to_numpy()
        hits.append(np.mean((whole.low <= right + 1e-9) & (right - 1e-9 <= whole.high)))
        errors.append(np.mean((whole.value - right) ** 2))
        plain_errors.append(np.mean((fitted.estimate().value - right) ** 2))
    print(f"{size} items: {np.mean(hits):.3f} covered")
    # Totals are whole numbers, so intervals cover too much rather than too little; groups of a
    # topic are dependent, so sets are the units.
    assert np.mean(hits) > 0.95 - 3.3 * np.std(hits, ddof=1) / np.sqrt(12)
    assert np.mean(hits) < 0.985
    assert np.mean(errors) < np.mean(plain_errors)


def test_a_pipeline_matches_the_labels_of_populations():
    by_topic = pd.Series([20, 30, 40, 50, 60], pd.Index(sorted(set(TOPICS)), name="topic"))
    steps = [("rename", FunctionTransformer(lambda X: X.reset_index(drop=True)))]
    pipeline = IntervalPipeline([*steps, ("direct", DirectEstimator())]).fit(**SUMMARY.fit_args)
    expected = DirectEstimator().fit(**SUMMARY.fit_args).estimate(population=by_topic)
    np.testing.assert_array_equal(pipeline.estimate(population=by_topic).high, expected.high)
