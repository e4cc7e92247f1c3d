"""F1 and AUC of groups: against scikit-learn, brute force, and the variance in simulation."""

import numpy as np
import pytest
from scipy.stats import binom, norm
from sklearn.metrics import roc_auc_score

from skbench.stats.intervals.classification import (
    equality_p_value,
    f1_score,
    f1_variance,
    grouped_auc,
)
from skbench.stats.intervals.worst_case import worst_case_interval


def delong(score, positive, pseudo=2):
    """Moderated variance of the AUC of one group, by the matrix of all pairs."""
    ones, zeros = score[positive], score[~positive]
    psi = (ones[:, None] > zeros) + 0.5 * (ones[:, None] == zeros)
    auc, m = psi.mean(), min(psi.shape)
    a = (m * auc + 1) / (m + 2)
    usual = np.mean([a / (2 - a) - a**2, 2 * a**2 / (1 + a) - a**2])
    parts = [
        (((placement - auc) ** 2).sum() + pseudo * usual) / (len(placement) - 1 + pseudo) / len(placement)
        for placement in (psi.mean(axis=1), psi.mean(axis=0))
    ]  # fmt: skip
    return sum(parts)


def test_auc_of_every_group():
    rng = np.random.default_rng(0)
    code, positive = rng.integers(40, size=1500), rng.random(1500) < 0.3
    score = np.round(rng.normal(size=1500) + positive, 1)  # ties
    value, variance, _ = found = grouped_auc(score, positive, code, 40)
    for g in range(40):
        own = code == g
        assert value[g] == pytest.approx(roc_auc_score(positive[own], score[own]), abs=1e-12)
        assert variance[g] == pytest.approx(delong(score[own], positive[own]), rel=1e-10)
    order = rng.permutation(1500)
    again = grouped_auc(score[order], positive[order], code[order], 40)
    np.testing.assert_allclose(again, found, rtol=1e-12)
    np.testing.assert_allclose(grouped_auc(-score, ~positive, code, 40), found, rtol=1e-12)


def test_many_rows_have_the_variance_of_delong():
    rng = np.random.default_rng(1)
    positive = rng.random(4000) < 0.4
    score = rng.normal(size=4000) + positive
    _, variance, freedom = grouped_auc(score, positive, np.zeros(4000, dtype=int), 1)
    assert variance[0] == pytest.approx(delong(score, positive, pseudo=0), rel=0.002)
    assert freedom[0] > 2000


def test_separated_single_and_missing_classes():
    score = np.array([1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 1.0, 2.0])
    positive = np.array([0, 0, 1, 1, 1, 0, 1, 1], dtype=bool)
    value, variance, _ = grouped_auc(score, positive, np.array([0, 0, 0, 0, 1, 1, 2, 2]), 4)
    np.testing.assert_array_equal(value, [1, 0, np.nan, np.nan])
    assert (variance[:2] > 0.01).all() and np.isnan(variance[2:]).all()


@pytest.mark.slow
@pytest.mark.parametrize("n", [15, 30, 60, 120])
@pytest.mark.parametrize(("share", "shift"), [(0.5, 1), (0.3, 1.5), (0.1, 1), (0.2, 3.5), (0.5, 0)])
def test_auc_intervals_cover(n, share, shift):
    rng, trials = np.random.default_rng(n), 3000
    code, positive = np.repeat(np.arange(trials), n), rng.random(trials * n) < share
    score = rng.normal(size=trials * n) + shift * positive
    found = np.array(grouped_auc(score, positive, code, trials))
    value, variance, freedom = found[:, ~np.isnan(found[0])]
    independent = np.floor(freedom) + 1
    low, high = worst_case_interval(value, variance, independent, independent - 1)
    truth = norm.cdf(shift / np.sqrt(2))
    covered = np.mean((low <= truth) & (truth <= high))
    assert covered >= 0.95 - 3.09 * np.sqrt(0.95 * 0.05 / len(value))


@pytest.mark.parametrize("n", [15, 30, 60, 120])
@pytest.mark.parametrize(
    ("share", "tpr", "fpr"), [(0.5, 0.8, 0.2), (0.3, 0.7, 0.1), (0.5, 0.4, 0.3), (0.2, 0.95, 0.01)]
)
def test_f1_variance_is_honest(n, share, tpr, fpr):
    cells = [share * tpr, (1 - share) * fpr, share * (1 - tpr), (1 - share) * (1 - fpr)]
    counts = np.random.default_rng(n).multinomial(n, cells, 20_000)
    counts = counts[counts[:, :3].sum(axis=1) > 0]
    k, size = counts[:, 0], counts[:, :3].sum(axis=1)
    ratio = f1_variance(k, size).mean() / f1_score(k, size).var()
    assert 0.8 < ratio < 2.2  # of the true variance; 1.0 where rows are many


def test_f1_variance_without_errors_or_hits():
    assert (f1_variance([0, 1, 5, 5], [1, 1, 5, 500]) > 0).all()
    assert f1_variance(500, 1000) == pytest.approx(4 * 0.25 / 1.5**4 / 1000, rel=0.01)


@pytest.mark.parametrize(("n_groups", "most", "p"), [(5, 60, 0.8), (20, 15, 0.95)])
def test_equal_groups_are_rejected_at_the_level(n_groups, most, p):
    rng, found = np.random.default_rng(0), []
    for _ in range(500):
        n = rng.integers(1, most + 1, n_groups)
        found.append(equality_p_value(rng.binomial(n, p) / n, n, rng, n_draws=400))
    low, high = binom.ppf([0.0005, 0.9995], 500, 0.05) / 500
    assert low <= np.mean(np.array(found) <= 0.05) <= high


def test_equal_areas_are_not_rejected_too_often():
    rng, n, code, found = np.random.default_rng(1), np.full(8, 40), np.repeat(np.arange(8), 40), []
    for _ in range(300):
        positive = rng.random(320) < 0.3
        value, variance, _ = grouped_auc(rng.normal(size=320) + positive, positive, code, 8)
        found.append(equality_p_value(value, n, rng, variance, n_draws=400))
    assert np.mean(np.array(found) <= 0.05) <= binom.ppf(0.9995, 300, 0.05) / 300


def test_unequal_groups_are_distinguished():
    rng, z, n = np.random.default_rng(2), np.array([0.9, 0.5, 0.9]), np.array([40, 40, 40])
    assert equality_p_value(z, n, rng) < 0.001
    assert equality_p_value(z, n, rng, sigma2=np.full(3, 0.002)) < 0.001
    assert equality_p_value(np.ones(3), n, rng) == 1
