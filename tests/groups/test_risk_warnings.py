"""Warnings of estimates that seem worse than the direct ones: by two standard errors, seldom false."""

import warnings

import numpy as np
import pytest
from skbench.stats.binomial import sampling_variance

from skbench import EmpiricalBayes, FayHerriot
from skbench.containers import Sampling


def warned(estimator, z, sigma2, n, truth, sampling):
    """The estimate, whether it warns of its risk, and its true squared error over direct's."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(np.zeros((len(z), 1)), z, sigma2, n, sampling=sampling)
        e = estimator.estimate()
    reported = any("squared error" in str(w.message) for w in caught)
    return e, reported, np.sum((e.value - truth) ** 2) / np.sum((z - truth) ** 2)


def of_counts(rng, p, n):
    k = rng.binomial(n, p)
    data = k / n, sampling_variance(k, n), np.full(len(p), n), p, Sampling("binomial")
    return warned(EmpiricalBayes(random_state=0), *data)[1:]


def test_warns_from_two_standard_errors_on():
    """Precise groups around 0, and twelve noisy ones more or less far off."""
    sigma2, excess, reported, ratio = np.repeat([1.0, 0.01], [12, 28]), [], [], []
    for seed in range(32):
        rng = np.random.default_rng(seed)
        truth = np.repeat([1 + seed % 4 / 2, 0.0], [12, 28])
        z = truth + rng.normal(size=40) * np.sqrt(sigma2)
        found = warned(FayHerriot(), z, sigma2, None, truth, Sampling("continuous"))
        e = found[0]
        # Stein's estimate of the squared error, less that of the direct estimate.
        lost = (e.value - z) ** 2 - 2 * sigma2 + 2 * e.standard_error**2
        excess.append(np.mean(lost) / np.std(lost) * np.sqrt(40))
        reported.append(found[1])
        ratio.append(found[2])
    excess, reported, ratio = map(np.array, (excess, reported, ratio))
    np.testing.assert_array_equal(reported, excess > 2)
    # The sets would tell one standard error, or none, or three, from two.
    assert all(np.sum((low < excess) & (excess < low + 1)) >= 3 for low in (0, 1, 2))
    assert np.mean(ratio[reported] > 1) > 0.8


@pytest.mark.slow
def test_seldom_near_the_end_where_shrinking_helps():
    rng = np.random.default_rng(0)
    sets = [of_counts(rng, np.clip(rng.normal(0.02, 0.03, 40), 0, 1), 20) for _ in range(8)]
    reported, ratio = np.array(sets, dtype=float).T
    assert np.median(ratio) < 0.7
    assert reported.mean() <= 0.25


@pytest.mark.slow
def test_warns_if_a_few_groups_are_outliers():
    rng = np.random.default_rng(1)
    p = np.full(200, 0.995)
    p[::10] = 0.3
    reported, ratio = np.array([of_counts(rng, p, 50) for _ in range(3)], dtype=float).T
    assert reported.all() and np.median(ratio) > 1
