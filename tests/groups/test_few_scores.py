"""A few scores that are not binary, or clusters, per group: variances are noise themselves."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from scipy.stats import binom
from sklearn.base import clone
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import FunctionTransformer
from walks import one_in

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    FayHerriot,
    GroupSummary,
    IntervalPipeline,
    JamesStein,
    MixedModel,
    RepeatedSamplingStudy,
    Sampling,
    summarize_items,
)
from skbench.assessment import Candidate
from skbench.stats.intervals.moderated import VarianceNoise, moderated_variance

BY = ["model", "topic"]
EB = EmpiricalBayes(RidgeCV(), random_state=0)


def of_one_spread(rng, mean, n):
    return mean[:, None] + 0.2 * rng.normal(size=(len(mean), n))


def near_one_end(rng, mean, n):
    """Scores between 0 and 1 with a mean near 1: F1, win probabilities."""
    return rng.beta(3 * mean[:, None], 3 * (1 - mean[:, None]), size=(len(mean), n))


def skewed(rng, mean, n):
    return mean[:, None] * np.exp(0.8 * rng.normal(size=(len(mean), n)) - 0.32)


def mostly_zero(rng, mean, n):
    wins = rng.random((len(mean), n)) < mean[:, None]
    return np.where(wins, rng.beta(2, 2, size=(len(mean), n)), 0) * 2


def of_many_spreads(rng, mean, n):
    spread = 0.2 * np.exp(0.5 * rng.normal(size=len(mean)))
    return mean[:, None] + spread[:, None] * rng.normal(size=(len(mean), n))


def table(distribution, n, seed, n_models=4, n_topics=25):
    """Summary of the scores of models on topics, and the true means."""
    rng = np.random.default_rng(seed)
    models = pd.MultiIndex.from_product(
        [[f"m{i}" for i in range(n_models)], [f"t{i:02d}" for i in range(n_topics)]], names=BY
    )
    effects = rng.normal(size=n_topics) + 0.5 * rng.normal(size=(n_models, 1))
    interaction = 0.3 * rng.normal(size=(n_models, n_topics))
    mean = expit((2 if distribution is near_one_end else 0) + effects + interaction).ravel()
    scores = distribution(rng, mean, n)
    items = models.repeat(n).to_frame(index=False).assign(score=scores.ravel())
    return summarize_items(items.assign(item=np.arange(len(items))), BY), mean


DISTRIBUTIONS = skewed, of_one_spread, near_one_end, mostly_zero, of_many_spreads


@pytest.mark.slow
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("n", [2, 5, 10])
@pytest.mark.parametrize("estimator", [EB, MixedModel()], ids=lambda e: type(e).__name__)
def test_intervals_cover_on_average(estimator, distribution, n):
    """Level .95, and .02 for the shape of the distribution and the dependence of groups."""
    hits = []
    for seed in range(10):
        g, mean = table(distribution, n, seed)
        e = clone(estimator).fit(**g.fit_args).estimate()
        hits.extend((e.low <= mean) & (mean <= e.high))
    print(f"{type(estimator).__name__} {distribution.__name__} {n}: {np.mean(hits):.3f}")
    assert sum(hits) >= binom.ppf(0.0005, len(hits), 0.93)


def clustered_table(seed, n_clusters=5, n_models=4, n_topics=25):
    """Answers to three questions on each of a few texts, and the true accuracies."""
    rng = np.random.default_rng(seed)
    effects = 1 + rng.normal(size=n_topics) + 0.5 * rng.normal(size=(n_models, 1))
    log_odds = effects + 0.3 * rng.normal(size=(n_models, n_topics))
    texts, weights = np.polynomial.hermite_e.hermegauss(40)
    mean = expit(log_odds[..., None] + texts) @ weights / weights.sum()
    shape = n_models, n_topics, n_clusters, 3
    p = expit(log_odds[..., None, None] + rng.normal(size=(*shape[:3], 1)))
    model, topic, text, _ = np.indices(shape).reshape(4, -1)
    items = pd.DataFrame({"model": model, "topic": topic, "text": text})
    items["score"] = (rng.random(shape) < p).ravel() * 1
    items["text"] += n_clusters * (items["topic"] + n_topics * items["model"])
    items["item"] = np.arange(len(items))
    return summarize_items(items, BY, cluster="text"), mean.ravel()


def believed_as_they_are(g):
    """The sampling of a summary, as if its variances were known."""
    return replace(g.sampling, variance_noise=None)


@pytest.mark.parametrize("estimator", [pytest.param(EB, marks=pytest.mark.slow), MixedModel()])
def test_few_clusters_cover_and_err_less_than_by_own_variances(estimator):
    hits, ours, theirs = [], 0, 0
    for seed in range(8):
        g, mean = clustered_table(seed)
        e = clone(estimator).fit(**g.fit_args).estimate()
        hits.extend((e.low <= mean) & (mean <= e.high))
        ours += np.mean((e.value - mean) ** 2)
        believed = (
            clone(estimator).fit(**g.fit_args | {"sampling": believed_as_they_are(g)}).estimate()
        )
        theirs += np.mean((believed.value - mean) ** 2)
    print(f"{np.mean(hits):.3f}, error {ours / theirs:.2f} of that by own variances")
    assert sum(hits) >= binom.ppf(0.0005, len(hits), 0.93)
    assert ours < 0.95 * theirs


@pytest.mark.parametrize("distribution", one_in(len(DISTRIBUTIONS), DISTRIBUTIONS))
def test_errors_are_smaller_than_by_own_variances(distribution):
    ours, theirs = 0, 0
    for seed in range(4):
        g, mean = table(distribution, 5, seed)
        fitted = MixedModel().fit(**g.fit_args)
        ours += np.mean((fitted.estimate().value - mean) ** 2)
        fitted.fit(**g.fit_args | {"sampling": believed_as_they_are(g)})
        theirs += np.mean((fitted.estimate().value - mean) ** 2)
    assert ours < theirs * (1.03 if distribution is of_many_spreads else 0.92)


@pytest.mark.parametrize("estimator", [EB, MixedModel(), FayHerriot(), JamesStein()])
def test_variances_are_moderated_according_to_sampling(estimator):
    g, _ = table(skewed, 5, 0)
    pooled = g.sampling.variance_noise.pooled_share * np.mean(g.n * g.sigma2)
    expected = moderated_variance(g.sigma2, g.n, pooled, g.sampling.variance_noise.borrowed_freedom)
    assert np.ptp(expected) < 0.5 * np.ptp(g.sigma2)
    args = g.fit_args | {"X": g.X[["model"]]}
    moderated = clone(estimator).fit(**args)
    assert_allclose(moderated.sigma2_, expected, rtol=1e-12)
    plain = {"sampling": believed_as_they_are(g)}
    assert_array_equal(clone(estimator).fit(**args | plain).sigma2_, g.sigma2)
    as_given = clone(estimator).fit(**args | plain | {"sigma2": expected})
    assert_array_equal(as_given.estimate().value, moderated.estimate().value)


@pytest.mark.parametrize("estimator", [EB, MixedModel(), FayHerriot(), JamesStein()])
def test_warns_if_noise_of_variances_is_unknown(estimator):
    g, _ = table(skewed, 5, 0)
    args = g.fit_args | {"X": g.X[["model"]], "sampling": None, "groups": None}
    with pytest.warns(UserWarning, match="sigma2.*known"):
        assert_array_equal(clone(estimator).fit(**args).sigma2_, g.sigma2)
    with pytest.warns(UserWarning, match="^n "):
        clone(estimator).fit(**args | {"sampling": g.sampling, "n": None})


def test_new_groups_are_drawn_to_the_fitted_ones():
    g, _ = table(skewed, 5, 0)
    args = g.fit_args
    fitted = clone(EB).fit(**args)
    some = slice(3, 5)
    new = {"X": args["X"][some], "z": g.z[some], "n": g.n[some]}
    plain = clone(EB).fit(**args | {"sigma2": fitted.sigma2_, "sampling": believed_as_they_are(g)})
    of_summary = fitted.predict(**new, sigma2=g.sigma2[some])
    assert_allclose(of_summary, plain.predict(**new, sigma2=fitted.sigma2_[some]), rtol=1e-12)


def test_a_pipeline_passes_the_spread_on():
    g, _ = table(skewed, 5, 0)
    steps = [("numbers", FunctionTransformer(lambda X: np.ones((len(X), 1)))), ("eb", EB)]
    piped = IntervalPipeline(steps).fit(**g.fit_args | {"groups": None})
    assert_allclose(piped[-1].sigma2_, clone(EB).fit(**g.fit_args).sigma2_, rtol=1e-12)


@pytest.mark.parametrize(
    "estimator", [DirectEstimator(), clone(EB).set_params(interval="fab")], ids=["direct", "fab"]
)
def test_intervals_of_each_group_go_by_its_own_scores(estimator):
    g, _ = table(skewed, 5, 0)
    args = g.fit_args
    new = {"X": args["X"], "z": g.z, "n": g.n}
    fitted = [
        clone(estimator).fit(**args | {"sampling": s})
        for s in (g.sampling, believed_as_they_are(g))
    ]
    noisy, plain = (e.estimate() for e in fitted)
    assert noisy.guarantee.startswith("each group")
    assert_array_equal(noisy.low, plain.low)
    noisy, plain = (e.predict_interval(**new, sigma2=g.sigma2) for e in fitted)
    assert_array_equal(noisy, plain)


def test_variance_by_name():
    items = pd.DataFrame({"group": np.repeat(np.arange(30), 5)})
    items["score"] = skewed(np.random.default_rng(0), np.ones(30), 5).ravel()
    fitted = {
        name: JamesStein().fit(**summarize_items(items, "group", variance=name).fit_args).sigma2_
        for name in ("smoothed", "plug-in", "pooled")
    }
    own = items.groupby("group")["score"].var() / 5
    assert_allclose(fitted["plug-in"], own)
    assert_allclose(fitted["pooled"], own.mean())
    assert own.std() > np.std(fitted["smoothed"])


def test_studies_keep_the_sampling():
    items = pd.DataFrame({"group": np.repeat(np.arange(12), 30)})
    items["score"] = skewed(np.random.default_rng(0), np.ones(12), 30).ravel()
    both = {"ours": JamesStein(), "believed": Candidate(JamesStein(), variance="plug-in")}
    rows = RepeatedSamplingStudy(both, 5, 2, random_state=0).run(items, by="group").results_
    ours, believed = (rows.loc[rows["estimator"] == name, "estimate"].to_numpy() for name in both)
    assert not np.allclose(ours, believed)


def test_a_summary_without_it_takes_variances_as_they_are():
    g = GroupSummary([0.5, 0.7, 0.6], [0.1, 0.2, 0.1], [5, 5, 5], list("abc"))
    assert isinstance(g.fit_args["sigma2"], np.ndarray)
    sampling = Sampling("continuous", variance_noise=VarianceNoise(np.inf, 0.5))
    noisy = GroupSummary(g.z, g.sigma2, g.n, g.labels, sampling=sampling)
    sigma2 = JamesStein().fit(**noisy.fit_args | {"X": np.ones((3, 1))}).sigma2_
    assert_allclose(sigma2, 0.5 * 0.4 / 3)
