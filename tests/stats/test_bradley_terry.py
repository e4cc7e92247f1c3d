"""Bradley-Terry's ratings: a slow implementation, statsmodels, closed forms, and what is infinite."""

import numpy as np
import pytest
from reference import bradley_terry as reference

from skbench.stats.ranking.bradley_terry import (
    Votes,
    count_votes,
    fit_ratings,
    outcome_chances,
    outcome_variance,
    standing,
)


def make_votes(n_models=5, n=100, ties=0.0, n_features=0, n_clusters=None, weighted=False, seed=0):
    rng = np.random.default_rng(seed)
    first = rng.integers(n_models, size=n)
    second = (first + rng.integers(1, n_models, size=n)) % n_models
    features = rng.normal(size=(n, n_features))
    d = (first - second) / n_models + features.sum(axis=1) / 2
    outcome = (rng.random(n) < 1 / (1 + np.exp(-d))) * 1.0
    outcome[rng.random(n) < ties] = 0.5
    weight = rng.uniform(0.5, 2, n) if weighted else np.ones(n)
    cluster = None if n_clusters is None else rng.integers(n_clusters, size=n)
    return Votes(first, second, outcome, np.ones(n), weight, features, cluster)


CASES = [
    ({}, False),
    ({"ties": 0.3}, True),
    ({"n_features": 2, "weighted": True, "ties": 0.1}, False),
    ({"n_features": 1, "weighted": True, "ties": 0.3, "n_clusters": 12}, True),
    ({"n_clusters": 12}, False),
]


@pytest.mark.parametrize(("settings", "davidson"), CASES)
def test_fit_and_covariance_are_those_of_a_slow_implementation(settings, davidson):
    votes = make_votes(**settings)
    found = fit_ratings(votes, 5, davidson)
    slow = reference.fit(votes, 5, davidson)
    contrast = np.eye(len(found.coefficients))[1:]
    contrast[:4, 0] = -1
    assert contrast @ found.coefficients == pytest.approx(slow, abs=1e-6)
    assert found.coefficients[:5].sum() == pytest.approx(0, abs=1e-9)
    scale = np.sqrt(found.n_effective / (found.n_effective - 1))
    covariance = contrast @ (found.covariance / np.outer(scale, scale)) @ contrast.T
    expected = reference.sandwich(votes, 5, slow, davidson)
    assert covariance == pytest.approx(expected, rel=1e-4, abs=1e-6)  # differences err by 1e-6


def test_fit_and_clusters_are_those_of_statsmodels():
    api = pytest.importorskip("statsmodels.api")
    votes = make_votes(n_features=1, n_clusters=15)
    design = np.zeros((100, 6))
    design[np.arange(100), votes.first] += 1
    design[np.arange(100), votes.second] -= 1
    design[:, 5] = votes.features[:, 0]
    theirs = api.Logit(votes.outcome, design[:, 1:]).fit(
        disp=0,
        tol=1e-12,
        cov_type="cluster",
        cov_kwds={"groups": votes.cluster, "use_correction": False},
    )
    found = fit_ratings(votes, 5)
    ratings = np.append(0, theirs.params[:4])
    assert found.coefficients[:5] == pytest.approx(ratings - ratings.mean(), abs=1e-6)
    assert found.coefficients[5] == pytest.approx(theirs.params[4], abs=1e-6)
    ours = found.covariance[5, 5] * (1 - 1 / found.n_effective[5])
    assert ours == pytest.approx(theirs.cov_params()[4, 4], rel=1e-5)


@pytest.mark.parametrize("davidson", [False, True])
def test_counts_are_votes_added_up(davidson):
    votes = make_votes(n=400, ties=0.2)
    counts = count_votes(votes.first, votes.second, votes.outcome, 5)
    assert len(counts.first) < 80 and counts.count.sum() == 400
    one, other = fit_ratings(votes, 5, davidson), fit_ratings(counts, 5, davidson)
    for name in one._fields:
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-8)
    alone = votes._replace(cluster=np.arange(400))  # clusters of one vote change nothing
    assert fit_ratings(alone, 5, davidson).covariance == pytest.approx(one.covariance, abs=1e-10)


def test_two_models_have_closed_forms():
    votes = count_votes(np.zeros(20, int), np.ones(20, int), np.repeat([1.0, 0.0], [15, 5]), 2)
    found = fit_ratings(votes, 2)
    assert found.coefficients == pytest.approx([np.log(3) / 2, -np.log(3) / 2], abs=1e-10)
    difference = found.covariance[0, 0] + found.covariance[1, 1] - 2 * found.covariance[0, 1]
    assert difference == pytest.approx(1 / (19 * 0.75 * 0.25))  # 1 / (n p q), with n - 1
    assert found.n_effective == pytest.approx([20, 20])


def test_two_clusters_have_cr2_and_one_degree_of_freedom_less():
    outcome = np.repeat([1.0, 0.0, 1.0, 0.0], [10, 4, 3, 5])
    cluster = np.repeat([0, 1], [14, 8])
    ones = np.ones(22)
    first = np.zeros(22, int)
    votes = Votes(first, first + 1, outcome, ones, ones, np.empty((22, 0)), cluster)
    found = fit_ratings(votes, 2)
    p, share = outcome.mean(), 14 / 22
    residuals = np.bincount(cluster, outcome - p)
    cr2 = np.sum(residuals**2 / (1 - np.array([share, 1 - share]))) / (22 * p * (1 - p)) ** 2
    assert 4 * found.covariance[0, 0] == pytest.approx(cr2)


def test_davidson_reproduces_the_share_of_ties():
    votes = make_votes(n=500, ties=0.3)
    found = fit_ratings(votes, 5, davidson=True).coefficients
    d = found[votes.first] - found[votes.second]
    lost, tie, won = outcome_chances(d, found[-1])
    assert tie.sum() == pytest.approx(np.sum(votes.outcome == 0.5), rel=1e-8)
    y = np.array([[0.0], [0.5], [1.0]])
    chances = np.array([lost, tie, won])
    mean = np.sum(chances * y, axis=0)
    assert outcome_variance(chances) == pytest.approx(np.sum(chances * (y - mean) ** 2, axis=0))


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([(0, 1), (1, 0)], [0, 0]),
        ([(0, 1), (1, 0), (2, 0), (1, 3)], [0, 0, np.inf, -np.inf]),
        ([(0, 1), (1, 2), (2, 0), (3, 4), (4, 3)], [0, 0, 0, np.nan, np.nan]),
        ([(0, 1), (1, 0), (2, 0), (2, 3)], [0, 0, np.inf, np.nan]),
    ],
)
def test_standing(pairs, expected):
    first, second = np.array(pairs).T
    assert standing(first, second, np.ones(len(first)), len(expected)) == pytest.approx(
        expected, nan_ok=True
    )


def test_a_tie_connects_both_ways():
    assert np.all(standing(np.array([0, 1]), np.array([1, 2]), np.array([0.5, 0.5]), 3) == 0)


@pytest.mark.parametrize("kind", ["a model's own", "twice the same", "decides every vote"])
def test_features_that_cannot_be_fitted(kind):
    votes = make_votes(n_features=2)
    features = votes.features.copy()
    if kind == "a model's own":
        features[:, 0] = votes.first == 2
        features[:, 0] -= votes.second == 2
    elif kind == "twice the same":
        features[:, 1] = 3 * features[:, 0]
    else:
        features[:, 0] = votes.outcome - 0.5
    with pytest.raises(ValueError, match="covariates"):
        fit_ratings(votes._replace(features=features), 5)


def test_a_very_uneven_pair_converges():
    votes = Votes(
        np.array([0, 0, 1]), np.array([1, 1, 2]), np.array([1.0, 0.0, 0.5]),
        np.array([1e6, 1.0, 10.0]), np.ones(3), np.empty((3, 0)), None,
    )  # fmt: skip
    found = fit_ratings(votes, 3).coefficients
    assert found[0] - found[1] == pytest.approx(np.log(1e6), abs=1e-6)
