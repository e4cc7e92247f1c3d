from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.linear_model import LinearRegression, Ridge

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    FayHerriot,
    GroupSummary,
    IntervalPipeline,
    JamesStein,
    MixedModel,
    Sampling,
    estimated_risk,
    make_items,
    summarize_items,
)
from skbench.assessment import sample_size_ratio
from skbench.stats.intervals.binomial import unbiased_variance


def counts(mu, n, rng, X=None):
    k = rng.binomial(n, mu)
    p = (k + 1) / (n + 2)
    labels = pd.RangeIndex(len(mu))
    return GroupSummary(k / n, p * (1 - p) / n, np.broadcast_to(n, len(mu)), labels, X)


def topics(rng):
    """80 groups, a feature with a correlation of about .9 with the log odds."""
    x = rng.normal(size=80)
    mu = 1 / (1 + np.exp(-0.6 * x - 0.3 * rng.normal(size=80)))
    return mu, pd.DataFrame({"x": x})


def estimator_of(name):
    return JamesStein() if name == "js" else EmpiricalBayes(LinearRegression(), random_state=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_truths", "n_draws"),
    [("js", 10, 100), ("eb", 8, 25)],
)
def test_intervals_cover_the_true_ratio(name, n_truths, n_draws):
    """For given topics, over draws of their items; draws of one truth share its ratio."""
    rng = np.random.default_rng(0)
    hits, below, errors = [], [], []
    for _ in range(n_truths):
        mu, X = topics(rng)
        direct, shrunk, ratios = [], [], []
        for _ in range(n_draws):
            g = counts(mu, 12, rng, X)
            fitted = estimator_of(name).fit(**g.fit_args)
            direct.append(np.mean((g.z - mu) ** 2))
            shrunk.append(np.mean((fitted.estimate().value - mu) ** 2))
            ratios.append(sample_size_ratio(fitted, g))
        truth = np.mean(direct) / np.mean(shrunk)
        value, low, high = np.array(ratios).T
        hits += list((low <= truth) & (truth <= high))
        below += list(low > truth)
        errors.append(np.median(value) / truth - 1)
    n_trials = n_truths * n_draws
    assert np.mean(hits) >= binom.ppf(0.001, n_trials, 0.95) / n_trials
    # Seldom too good, which is what users would be hurt by.
    assert np.mean(below) <= binom.ppf(0.999, n_trials, 0.025) / n_trials
    assert abs(np.mean(errors)) < 0.1


def test_agrees_with_split_items():
    """Both are unbiased for the same risk, here from the same items."""
    rng = np.random.default_rng(1)
    closed, split = [], []
    for seed in range(12):
        mu, X = topics(rng)
        g = counts(mu, 10, rng, X)
        closed.append(1 / sample_size_ratio(JamesStein().fit(**g.fit_args), g).value)
        found = estimated_risk({"js": JamesStein()}, g, random_state=seed)
        split.append(1 / found.sample_size_ratio("js").value)
    assert np.corrcoef(closed, split)[0, 1] > 0.9
    assert abs(np.mean(closed) - np.mean(split)) < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("variance", ["plug-in", "smoothed", "pooled"])
def test_variances_of_the_summary_count(variance):
    """With plug-in variances, groups with all answers right are not shrunk at all."""
    estimated, true = [], []
    for seed in range(12):
        data = make_items(3, 50, 8, shared_items=False, topic_std=0.8, random_state=seed)
        g = summarize_items(data.items, ["model", "topic"], variance=variance)
        mu = data.truth.loc[list(g.labels)].to_numpy()
        X = pd.DataFrame({"constant": np.ones(len(g))})
        eb = EmpiricalBayes(LinearRegression(), random_state=0).fit(X, g.z, g.sigma2, g.n)
        estimated.append(1 / sample_size_ratio(eb, g).value)
        true.append(np.mean((eb.estimate().value - mu) ** 2) / np.mean((g.z - mu) ** 2))
    assert np.mean(estimated) == pytest.approx(np.mean(true), rel=0.12)


def test_no_shrinkage_is_worth_nothing():
    rng = np.random.default_rng(2)
    mu = rng.choice([0.02, 0.98], 200)
    g = counts(mu, 50, rng)
    ratio = sample_size_ratio(JamesStein().fit(**g.fit_args), g)
    assert ratio.low < 1.02 and ratio.value == pytest.approx(1, abs=0.02)


def test_shared_items_make_topics_the_units():
    data = make_items(6, 25, 10, random_state=0)
    shared = summarize_items(data.items, ["model", "topic"], features=data.features)
    apart = GroupSummary(shared.z, shared.sigma2, shared.n, shared.labels, shared.X)
    eb = EmpiricalBayes(Ridge(), random_state=0).fit(**shared.fit_args)
    by_topic, by_group = sample_size_ratio(eb, shared), sample_size_ratio(eb, apart)
    assert by_topic.value == by_group.value
    assert by_topic.high - by_topic.low != by_group.high - by_group.low


def test_single_items_do_not_count():
    rng = np.random.default_rng(3)
    mu, X = topics(rng)
    n = np.where(np.arange(80) < 20, 1, 12)
    g = counts(mu, n, rng, X)
    for name in ("js", "eb"):
        ratio = sample_size_ratio(estimator_of(name).fit(**g.fit_args), g)
        assert not np.isnan(ratio).any() and 1 < ratio.low <= ratio.value


def test_level_widens_the_interval():
    rng = np.random.default_rng(4)
    mu, X = topics(rng)
    g = counts(mu, 12, rng, X)
    js = JamesStein().fit(**g.fit_args)
    narrow, wide = (sample_size_ratio(js, g, level) for level in (0.8, 0.99))
    assert wide.low < narrow.low < narrow.value == wide.value < narrow.high < wide.high


def test_unknown_where_there_is_no_formula():
    rng = np.random.default_rng(5)
    mu, X = topics(rng)
    g = counts(mu, 12, rng, X)
    for estimator in (
        DirectEstimator(),
        FayHerriot(),
        IntervalPipeline([("js", JamesStein())]),
    ):
        assert sample_size_ratio(estimator.fit(**g.fit_args), g) is None
    continuous = GroupSummary(g.z, g.sigma2, g.n, g.labels, X, sampling=Sampling("continuous"))
    assert sample_size_ratio(JamesStein().fit(**continuous.fit_args), continuous) is None


def test_other_groups_are_refused():
    rng = np.random.default_rng(6)
    first, second = (counts(np.full(20, 0.5), 12, rng) for _ in range(2))
    with pytest.raises(ValueError):
        sample_size_ratio(JamesStein().fit(**first.fit_args), second)


def test_estimates_that_borrow_need_correlations_of_errors():
    data = make_items(4, 12, 10, random_state=0)
    g = summarize_items(data.items, ["model", "topic"], features=data.features)
    mixed = MixedModel().fit(**g.fit_args)
    ratio = sample_size_ratio(mixed, g)
    noise = unbiased_variance(np.round(g.z * g.n), g.n)
    assert ratio.value == pytest.approx(noise.sum() / mixed.squared_error_.sum())
    unknown = replace(g, sampling=replace(g.sampling, item_correlation=None))
    assert sample_size_ratio(mixed, unknown) is None


def test_estimates_carry_the_ratio():
    rng = np.random.default_rng(7)
    mu, X = topics(rng)
    g = counts(mu, 12, rng, X)
    js = JamesStein().fit(**g.fit_args)
    plain = js.estimate()
    ratio = sample_size_ratio(js, g)
    with_ratio = replace(plain, sample_size_ratio=ratio)
    assert plain.sample_size_ratio is None and "times" not in repr(plain)
    assert str(ratio) in repr(with_ratio).splitlines()[0]
    pd.testing.assert_frame_equal(with_ratio.to_frame(), plain.to_frame())
    assert (with_ratio - plain).sample_size_ratio is None
