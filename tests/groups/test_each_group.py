"""Intervals that cover each group: EmpiricalBayes(interval="fab")."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from skbench import EmpiricalBayes, make_items, summarize_items
from skbench.stats.intervals.binomial import sampling_variance
from skbench.stats.shrinkage import fab


def fab_estimator(**options):
    return EmpiricalBayes(Ridge(), interval="fab", random_state=0, **options)


@pytest.fixture(scope="module")
def g():
    data = make_items(n_models=4, n_topics=16, n_items=10, random_state=3)
    return summarize_items(data.items, ["model", "topic"], features=data.features)


@pytest.mark.slow
def test_own_topic_does_not_affect_the_prior(g):
    first = fab_estimator().fit(**g.fit_args)
    own = g.groups == g.groups[0]
    k = np.round(g.z * g.n)
    k[own] = g.n[own] - k[own]
    changed = g.fit_args | {"y": k / g.n, "sigma2": sampling_variance(k, g.n)}
    second = fab_estimator().fit(**changed)
    for name in ("prior_mean_", "_outside_variances"):
        # To rounding: rows of the other topics may be summed in another order.
        assert_allclose(getattr(first, name)[own], getattr(second, name)[own], rtol=1e-12)
    assert np.any(first._outside_variances[~own] != second._outside_variances[~own])


def test_interval_is_that_of_stats(g):
    eb = fab_estimator().fit(**g.fit_args)
    prior = fab.beta_prior(eb.prior_mean_, eb._outside_variances)
    low, high = fab.fab_binomial_interval(np.round(g.z * g.n), g.n, *prior, 0.9)
    estimate = eb.estimate(0.9)
    assert_allclose(estimate.low, low)
    assert_allclose(estimate.high, high)
    assert estimate.guarantee == "each group"
    assert_array_equal(
        estimate.value, EmpiricalBayes(Ridge(), random_state=0).fit_predict(**g.fit_args)
    )


@pytest.mark.slow
def test_fab_covers_every_group():
    """One odd group among alike ones: shrinkage intervals lose it, these do not."""
    rng = np.random.default_rng(0)
    truth = np.full(40, 0.7)
    truth[0] = 0.2
    X, n = rng.normal(size=(40, 1)), np.full(40, 15)
    hits = {"fab": 0, "robust": 0}
    for _ in range(150):
        k = rng.binomial(n, truth)
        for interval in hits:
            eb = EmpiricalBayes(Ridge(), cv=KFold(2), interval=interval)
            e = eb.fit(X, k / n, sampling_variance(k, n), n).estimate()
            hits[interval] += e.low[0] <= 0.2 <= e.high[0]
    assert hits["fab"] >= binom.ppf(1e-3, 150, 0.95)
    assert hits["robust"] < binom.ppf(1e-3, 150, 0.95)


def test_new_groups_and_too_few_topics(g):
    eb = fab_estimator().fit(**g.fit_args)
    X = g.fit_args["X"].iloc[:5]
    new = eb.predict_interval(X, z=g.z[:5], sigma2=g.sigma2[:5], n=g.n[:5])
    prior = fab.beta_prior(eb.predict(X), eb.prior_variance_)
    expected = fab.fab_binomial_interval(np.round(g.z[:5] * g.n[:5]), g.n[:5], *prior)
    assert_allclose(new, np.column_stack(expected))
    assert np.isnan(eb.predict_interval(X)).all()
    two = np.isin(g.groups, np.unique(g.groups)[:2])
    few = {name: part if name == "sampling" else part[two] for name, part in g.fit_args.items()}
    flat = fab_estimator().fit(**few).estimate()
    low, high = fab.fab_binomial_interval(np.round(g.z[two] * 10), 10, 1, 1)
    assert_allclose(flat.low, low)
    assert_allclose(flat.high, high)


def test_own_standard_error_does_not_affect_where_the_interval_is_short():
    rng = np.random.default_rng(2)
    z, sigma2, n = rng.normal(size=6), rng.uniform(0.5, 2, 6), rng.integers(5, 30, 6)
    X = rng.normal(size=(6, 1))
    eb = fab_estimator(cv=2).fit(rng.normal(size=(30, 1)), rng.normal(size=30), 0.5)
    found = eb.predict_interval(X, z, sigma2, n, 0.9)
    prior_mean, A = eb.predict(X), eb.prior_variance_
    for g in range(6):
        others = np.delete(n * sigma2, g).mean() / n[g]
        own = z[g], sigma2[g] ** 0.5, prior_mean[g], A, 0.9, n[g] - 1, others
        assert_allclose(found[g], fab.fab_normal_interval(*own))


@pytest.mark.parametrize("sizes", [True, False])
def test_other_scores(sizes):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 1))
    z = X[:, 0] + 0.3 * rng.normal(size=60)
    n = np.full(60, 9) if sizes else None
    e = fab_estimator(cv=2).fit(X, z, np.full(60, 0.02), n).estimate()
    assert ((e.low < z) & (z < e.high)).all()
    assert e.guarantee == "each group, unless skewed"
