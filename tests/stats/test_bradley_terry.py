"""Bradley-Terry's ratings: a slow implementation, statsmodels, closed forms, and what is infinite."""

import numpy as np
import pytest
from reference import bradley_terry as reference

from skbench.stats.ranking.bradley_terry import (
    Votes,
    count_votes,
    fit_ratings,
    standing,
)


def make_votes(n=100, ties=0.0, n_features=0, n_clusters=None):
    rng = np.random.default_rng(0)
    first = rng.integers(5, size=n)
    second = (first + rng.integers(1, 5, size=n)) % 5
    features = rng.normal(size=(n, n_features))
    d = (first - second) / 5 + features.sum(axis=1) / 2
    outcome = (rng.random(n) < 1 / (1 + np.exp(-d))) * 1.0
    outcome[rng.random(n) < ties] = 0.5
    cluster = np.arange(n) if n_clusters is None else rng.integers(n_clusters, size=n)
    return Votes(first, second, outcome, features, cluster, np.ones(n))


@pytest.mark.parametrize(
    ("settings", "davidson"),
    [
        ({"n_features": 2, "ties": 0.1}, False),
        ({"n_features": 1, "ties": 0.3, "n_clusters": 12}, True),
    ],
)
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


def with_judge(votes, share=0.4, seed=1):
    """People decide some votes, and a judge all of them."""
    rng = np.random.default_rng(seed)
    judge = np.where(rng.random(len(votes.outcome)) < 0.7, votes.outcome, 1 - votes.outcome)
    outcome = np.where(rng.random(len(judge)) < share, votes.outcome, np.nan)
    return votes._replace(outcome=outcome, judge=judge)


@pytest.mark.parametrize(
    ("settings", "power"),
    [({}, 1.0), ({"ties": 0.2, "n_clusters": 20}, 0.3), ({"n_features": 1}, None)],
)
def test_fit_with_a_judge_is_that_of_a_slow_implementation(settings, power):
    votes = with_judge(make_votes(n=250, **settings))
    found = fit_ratings(votes, 5, power=power)
    assert power in (None, found.power) and found.power > 0
    slow = reference.fit_with_judge(votes, 5, found.power)
    contrast = np.eye(len(found.coefficients))[1:]
    contrast[:4, 0] = -1
    assert contrast @ found.coefficients == pytest.approx(slow, abs=1e-8)
    scale = np.sqrt(found.n_effective / (found.n_effective - 1))
    covariance = contrast @ (found.covariance / np.outer(scale, scale)) @ contrast.T
    expected = reference.sandwich_with_judge(votes, 5, slow, found.power)
    assert covariance == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_a_judge_of_no_power_leaves_people_alone():
    votes = with_judge(make_votes(n=250))
    alone = fit_ratings(votes.at(~np.isnan(votes.outcome))._replace(judge=None), 5)
    found = fit_ratings(votes, 5, power=0.0)
    counted = fit_ratings(count_votes(*votes[:3], 5, votes.judge), 5, power=0.0)
    for name in ("coefficients", "covariance", "n_effective"):
        assert getattr(found, name) == pytest.approx(getattr(alone, name), abs=1e-10)
        assert getattr(counted, name) == pytest.approx(getattr(alone, name), abs=1e-8)


def test_the_power_of_a_judge_is_that_of_least_variance():
    """Nearly: it is found at the ratings of people alone. Counts are votes added up, here too."""
    votes = with_judge(make_votes(n=3000))
    found = fit_ratings(votes, 5)
    counted = fit_ratings(count_votes(*votes[:3], 5, votes.judge), 5)
    assert counted.covariance == pytest.approx(found.covariance, rel=1e-6)
    powers = found.power + np.array([-0.1, 0, 0.1])
    alone = np.diag(fit_ratings(votes, 5, power=0.0).covariance)
    variances = [np.diag(fit_ratings(votes, 5, power=x).covariance) for x in powers]
    ratios = np.mean(variances / alone, axis=1)
    assert 0.1 < found.power < 0.9 and np.argmin(ratios) == 1
    assert found.gain == pytest.approx(1 / ratios[1]) and found.gain > 1.05


@pytest.mark.parametrize("seen", [0, 2, 4])
def test_a_judge_beyond_what_votes_can_hold_loses_power(seen):
    """People saw a model win 9 of 10, the judge fewer of these, but all others: more than all."""
    zeros = np.zeros(40, int)
    outcome = np.r_[np.ones(9), 0, np.full(30, np.nan)]
    judge = np.r_[np.ones(seen), np.zeros(10 - seen), np.ones(30)]
    found = fit_ratings(count_votes(zeros, zeros + 1, outcome, 2, judge), 2)
    assert 0 <= found.power < 0.2 and found.gain >= 1 and found.coefficients[0] < 3


def test_fit_and_clusters_are_those_of_statsmodels():
    api = pytest.importorskip("statsmodels.api")
    votes = make_votes(n_features=1, n_clusters=15)
    design = np.hstack([np.eye(5)[votes.first] - np.eye(5)[votes.second], votes.features])
    clusters = {"groups": votes.cluster, "use_correction": False}
    theirs = api.Logit(votes.outcome, design[:, 1:]).fit(
        disp=0, tol=1e-12, cov_type="cluster", cov_kwds=clusters
    )
    found = fit_ratings(votes, 5)
    ratings = np.append(0, theirs.params[:4])
    expected = np.append(ratings - ratings.mean(), theirs.params[4])
    assert found.coefficients == pytest.approx(expected, abs=1e-6)
    ours = found.covariance[5, 5] * (1 - 1 / found.n_effective[5])
    assert ours == pytest.approx(theirs.cov_params()[4, 4], rel=1e-5)


@pytest.mark.parametrize("davidson", [False, True])
def test_counts_are_votes_added_up(davidson):
    votes = make_votes(n=400, ties=0.2)
    counts = count_votes(*votes[:3], 5)
    assert len(counts.first) < 80 and counts.count.sum() == 400
    one, other = fit_ratings(votes, 5, davidson), fit_ratings(counts, 5, davidson)
    for name in one._fields:
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-8)


def test_two_models_have_closed_forms():
    votes = count_votes(np.zeros(20, int), np.ones(20, int), np.repeat([1.0, 0.0], [15, 5]), 2)
    found = fit_ratings(votes, 2)
    assert found.coefficients == pytest.approx([np.log(3) / 2, -np.log(3) / 2], abs=1e-10)
    # 1 / (n p q), with n - 1, is the variance of the difference: twice the first rating.
    assert 4 * found.covariance[0, 0] == pytest.approx(1 / (19 * 0.75 * 0.25))
    assert found.n_effective == pytest.approx([20, 20])


def test_two_clusters_have_cr2():
    outcome = np.repeat([1.0, 0.0, 1.0, 0.0], [10, 4, 3, 5])
    cluster, first = np.repeat([0, 1], [14, 8]), np.zeros(22, int)
    found = fit_ratings(Votes(first, first + 1, outcome, np.empty((22, 0)), cluster, first + 1), 2)
    p, share = outcome.mean(), 14 / 22
    residuals = np.bincount(cluster, outcome - p)
    cr2 = np.sum(residuals**2 / (1 - np.array([share, 1 - share]))) / (22 * p * (1 - p)) ** 2
    assert 4 * found.covariance[0, 0] == pytest.approx(cr2)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([(0, 1), (1, 0), (2, 0), (1, 3)], [0, 0, np.inf, -np.inf]),
        ([(0, 1), (1, 2), (2, 0), (3, 4), (4, 3)], [0, 0, 0, np.nan, np.nan]),
        ([(0, 1), (1, 0), (2, 0), (2, 3)], [0, 0, np.inf, np.nan]),
    ],
)
def test_standing(pairs, expected):
    wins = np.zeros((len(expected),) * 2)
    wins[tuple(np.transpose(pairs))] = 1
    assert standing(wins) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("kind", ["a model's own", "twice the same", "none", "decides every vote"])
def test_features_that_cannot_be_fitted(kind):
    votes = make_votes(n_features=2)
    columns = {
        "a model's own": (votes.first == 2) * 1 - (votes.second == 2),
        "twice the same": 3 * votes.features[:, 1],
        "none": 0.0,
        "decides every vote": votes.outcome - 0.5,
    }
    votes.features[:, 0] = columns[kind]
    with pytest.raises(ValueError, match="covariates"):
        fit_ratings(votes, 5)


def test_a_very_uneven_pair_converges():
    first, second = np.array([0, 0, 1]), np.array([1, 1, 2])
    count = np.array([1e6, 1.0, 10.0])
    votes = Votes(first, second, np.array([1.0, 0, 0.5]), np.empty((3, 0)), np.arange(3), count)
    found = fit_ratings(votes, 3).coefficients
    assert found[0] - found[1] == pytest.approx(np.log(1e6), abs=1e-6)
