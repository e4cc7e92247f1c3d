from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference.two_way_dense import dense_contrast, dense_pair

from skbench.stats.clusters.clustered import cluster_robust_variance
from skbench.stats.clusters.shared_items import (
    contrast_errors,
    pair_errors,
    pair_skewness,
    shared_item_scores,
)


def table(seed, n_items=36, n_models=5, n_clusters=7, gaps=0.0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_items, n_models)) + rng.normal(size=(n_items, 1))
    scores[rng.random(scores.shape) < gaps] = np.nan
    clusters = np.unique(rng.integers(0, n_clusters, n_items), return_inverse=True)[1]
    return scores, clusters


def pairs_of(scores, clusters):
    fit = shared_item_scores(scores, clusters)
    return fit, pair_errors(scores, clusters, fit)


@pytest.mark.parametrize("n_clusters", [2, 7, 36])
def test_complete_tables_are_means_and_cr2(n_clusters):
    scores, clusters = table(0, n_clusters=n_clusters)
    fit, errors = pairs_of(scores, clusters)
    assert_allclose(fit.mean, scores.mean(axis=0), rtol=1e-12)
    sums = [np.bincount(clusters, x) for x in scores.T]
    sizes, one = np.bincount(clusters), np.zeros(clusters.max() + 1, dtype=int)
    own = cluster_robust_variance(sums, sizes, one, 1)
    assert_allclose(fit.variance, own.variance[:, 0], rtol=1e-10)
    assert_allclose(fit.df, own.df[0], rtol=1e-10)
    for a, b in combinations(range(5), 2):
        pair = cluster_robust_variance(sums[a] - sums[b], sizes, one, 1)
        assert_allclose(errors.difference[a, b], pair.mean[0], rtol=1e-10)
        assert_allclose(errors.variance[a, b], pair.variance[0], rtol=1e-10)
        assert_allclose(errors.df[a, b], pair.df[0], rtol=1e-10)


@pytest.mark.parametrize("seed, n_clusters", [(1, 4), (2, 9), (3, 30)])
def test_gaps_are_least_squares_with_cr2(seed, n_clusters):
    scores, clusters = table(seed, n_clusters=n_clusters, gaps=0.35)
    _, errors = pairs_of(scores, clusters)
    for a, b in combinations(range(5), 2):
        difference, variance, df = dense_pair(scores, clusters, a, b)
        assert_allclose(errors.difference[a, b], difference, rtol=1e-9)
        assert_allclose(errors.variance[a, b], variance, rtol=1e-8)
        # With clusters the degrees of freedom are approximate.
        assert_allclose(errors.df[a, b], df, rtol=0.01)


@pytest.mark.parametrize("n_clusters", [2, 7, 36])
def test_contrasts_are_cr2_of_the_contrasts_of_items(n_clusters):
    scores, clusters = table(0, n_clusters=n_clusters)
    slope = np.arange(5) - 2.0
    found, _ = contrast_errors(scores, clusters, shared_item_scores(scores, clusters), [slope])
    sizes, one = np.bincount(clusters), np.zeros(clusters.max() + 1, dtype=int)
    own = cluster_robust_variance(np.bincount(clusters, scores @ slope), sizes, one, 1)
    expected = own.mean, own.variance, own.df
    assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("seed, n_clusters", [(1, 4), (2, 9), (3, 30)])
def test_contrasts_with_gaps_are_least_squares_with_cr2(seed, n_clusters):
    scores, clusters = table(seed, n_clusters=n_clusters, gaps=0.35)
    contrasts = np.array([[-2, -1, 0, 1, 2], [-1, 0, 0, 0, 1]])
    fit = shared_item_scores(scores, clusters)
    found, skewness = contrast_errors(scores, clusters, fit, contrasts)
    expected = np.array([dense_contrast(scores, clusters, c) for c in contrasts]).T
    assert_allclose(found[:2], expected[:2], rtol=1e-8)
    assert_allclose(found.df, expected[2], rtol=0.01)  # as for pairs
    pairs = pair_errors(scores, clusters, fit)
    assert_allclose([x[1] for x in found], [x[4, 0] for x in pairs], rtol=1e-8)
    assert_allclose(skewness[1], pair_skewness(fit, pairs.variance)[4, 0], rtol=1e-8)


def test_a_gap_changes_the_path_not_the_numbers():
    scores, clusters = table(4)
    fit, errors = pairs_of(scores, clusters)
    extra = np.vstack([scores, [1.0, *[np.nan] * 4]])  # only one model answered it
    found, others = pairs_of(extra, np.append(clusters, clusters.max()))
    assert not found.used[-1]
    for a, b in zip(fit[:4], found[:4], strict=True):
        assert_allclose(b, a, rtol=1e-9, atol=1e-12)
    assert_allclose(others.variance, errors.variance, rtol=1e-9, atol=1e-12)
    upper = np.triu_indices(5, 1)
    assert_allclose(others.df[upper], errors.df[upper], rtol=1e-9)


def test_two_models_are_compared_on_what_both_answered():
    scores, clusters = table(5, n_models=2, gaps=0.3)
    both = np.isfinite(scores).all(axis=1)
    _, errors = pairs_of(scores, clusters)
    codes = np.unique(clusters[both], return_inverse=True)[1]
    fit, expected = pairs_of(scores[both], codes)
    assert_allclose(errors.difference, expected.difference, rtol=1e-10)
    assert_allclose(errors.variance, expected.variance, rtol=1e-10)
    assert_allclose(errors.df[0, 1], fit.df[0], rtol=1e-10)


def test_components_are_apart_and_one_link_is_not_enough():
    rng = np.random.default_rng(7)
    scores = np.full((40, 5), np.nan)
    scores[:20, :2] = rng.normal(size=(20, 2))
    scores[20:, 2:] = rng.normal(size=(20, 3))
    clusters = np.arange(40)
    fit, errors = pairs_of(scores, clusters)
    assert_array_equal(fit.component, [0, 0, 1, 1, 1])
    # With different items the variances add, with Welch's degrees of freedom.
    alone = scores[:20, 0]
    assert_allclose(fit.variance[0], alone.var(ddof=1) / 20, rtol=1e-10)
    assert_allclose(errors.variance[0, 3], fit.variance[0] + fit.variance[3], rtol=1e-10)
    scores[0, 2] = 0.3  # one item links the two, so the error is unknown
    _, linked = pairs_of(scores, clusters)
    assert np.isnan(linked.variance[:2, 2:]).all()
    assert np.isfinite(linked.variance[:2, :2]).all()
    scores[1, 2] = 0.1
    _, twice = pairs_of(scores, clusters)
    assert np.isfinite(twice.variance).all()
    assert twice.df[0, 3] < 2 < errors.df[0, 3]


def test_missing_hard_items_do_not_help():
    """Missing hard items increase the mean of model 1 but not its score."""
    rng = np.random.default_rng(8)
    hard = np.repeat([0.0, -2.0], 200)[:, None]
    scores = hard + rng.normal(size=(400, 4))
    full = shared_item_scores(scores, np.arange(400)).mean
    scores[210:, 1] = np.nan
    gapped = shared_item_scores(scores, np.arange(400)).mean
    assert np.nanmean(scores[:, 1]) - full[1] > 0.7
    assert_allclose(gapped[1], full[1], atol=0.2)
    assert_allclose(gapped[[0, 2, 3]], full[[0, 2, 3]], atol=1e-9)  # they answered all items


def test_degrees_of_freedom_of_one_cluster_are_unknown():
    scores, _ = table(9)
    fit, errors = pairs_of(scores, np.zeros(36, dtype=int))
    assert np.isnan(fit.variance).all()
    assert np.isnan(errors.variance[np.triu_indices(5, 1)]).all()
