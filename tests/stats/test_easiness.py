"""Easiness and components of items."""

import numpy as np
from scipy.special import expit

from skbench.stats.item_response import easiness as formulas


def simulated(n_items=400, n_models=30, seed=0):
    rng = np.random.default_rng(seed)
    d, a = rng.normal(0, 1.5, n_items), rng.normal(0, 1, n_models)
    return rng.binomial(1, expit(d[:, None] + a)).astype(float), d, a, rng


def test_rasch_finds_easiness_through_gaps():
    scores, d, a, rng = simulated()
    # Strong models answer the first half only: right answers alone mislead.
    gaps = (np.arange(len(d))[:, None] >= len(d) // 2) & (a > np.median(a))
    gaps |= rng.random(scores.shape) < 0.2
    scores = np.where(gaps, np.nan, scores)
    fit = formulas.rasch_easiness(scores)
    share = np.nanmean(scores, axis=1)
    found = np.corrcoef(fit.easiness, d)[0, 1]
    # 24 and 10 answers per item: noise of .2 and .5 beside a variance of 2.25, a correlation of .92.
    assert found > 0.9 and found > np.corrcoef(share, d)[0, 1] + 0.02
    assert np.corrcoef(fit.ability, a)[0, 1] > 0.97
    half = np.arange(len(d)) < len(d) // 2
    shift = (fit.easiness - d)[half].mean() - (fit.easiness - d)[~half].mean()
    assert abs(shift) < 0.3


def test_rasch_without_gaps_orders_items_by_right_answers():
    scores = simulated(n_items=60)[0]
    fit = formulas.rasch_easiness(scores)
    k = scores.sum(axis=1)
    order = np.argsort(k, kind="stable")
    assert np.all(np.diff(fit.easiness[order]) >= -1e-6)


def test_components_find_a_hidden_dimension():
    rng = np.random.default_rng(1)
    hidden, loading = rng.normal(size=500), rng.normal(size=40)
    scores = rng.binomial(1, expit(np.outer(hidden, loading) * 1.5)).astype(float)
    found = formulas.residual_components(
        scores,
        lambda rows: np.full(scores[rows].shape, 0.5),
        lambda mean: np.full(mean.shape, 0.5),
        8,
        None,
    )
    assert abs(np.corrcoef(found[:, 0], hidden)[0, 1]) > 0.9
    assert np.isclose(np.mean(np.sum(found**2, axis=1)), 1)
