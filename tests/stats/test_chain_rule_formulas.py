import json
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference.chain_rule_slow import chain_cdf_slow
from scipy.stats import beta

from skbench.stats.ppi.chain_rule import chain_draws, chain_interval, chain_moments


def labels(k, n):
    """Counts of label 1 and label 0 of one group by verdict."""
    k, n = np.array(k), np.array(n)
    return np.stack([k, n - k], axis=1)[None].astype(float)


@pytest.fixture(scope="module")
def gold(request):
    folder = request.getfixturevalue("gold_folder")
    return json.loads((folder / "ppi_chain.json").read_text())


@pytest.mark.parametrize("case", range(6))
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_binary_gold(gold, case, level):
    row = gold["binary"][case]
    unlabeled = [[row["A1_unlab"], row["N"] - row["A1_unlab"]]]
    counts = labels([row["k1"], row["k0"]], [row["n1"], row["n0"]])
    interval = chain_interval(unlabeled, counts, [1, 0], level)
    # The gold values violate the symmetry of the fifth case by 2.6e-6.
    assert_allclose(np.ravel(interval), row[f"ci{100 * level:.0f}"], rtol=0, atol=3e-6)


def test_abstaining_gold(gold):
    case = gold["abstaining"]
    rows = case["counts"].values()
    unlabeled = [[row["N"] for row in rows]]
    counts = labels([row["k"] for row in rows], [row["n"] for row in rows])
    moments = chain_moments(unlabeled, counts, [1, 0])
    assert_allclose(moments.mean, case["mean"], rtol=1e-12)
    assert_allclose(moments.unlabeled_variance + moments.labeled_variance, case["var"], rtol=1e-12)
    # 4e6 draws: an end has a standard error of 2.7e-5, three of them 8e-5.
    interval = chain_interval(unlabeled, counts, [1, 0])
    assert_allclose(np.ravel(interval), case["chain_ci95_mc4e6"], rtol=0, atol=8e-5)


SLOW_CASES = [
    # unlabeled, labels 1, labels, tolerance
    ([500, 500], [5, 0], [5, 5], 3e-6),
    ([900, 100], [29, 0], [30, 3], 2e-5),
    ([0, 300], [0, 7], [0, 10], 2e-6),
    ([20, 10], [3, 2], [5, 5], 5e-5),
    ([200, 90], [3, 4], [5, 5], 3e-5),
    ([2000, 1500], [170, 30], [180, 120], 2e-6),
    ([60, 50], [80, 4], [84, 90], 2e-6),  # Fourier
    ([170, 120], [9, 0], [9, 1], 5e-5),
]


@pytest.mark.slow
@pytest.mark.parametrize(("unlabeled", "k", "n", "tolerance"), SLOW_CASES)
def test_binary_against_slow_quadrature(unlabeled, k, n, tolerance):
    low, high = chain_interval([unlabeled], labels(k, n), [1, 0])
    for end, probability in ((low[0], 0.025), (high[0], 0.975)):
        step = 1e-4
        at, above = (chain_cdf_slow(t, unlabeled, k, n) for t in (end, end + step))
        # One Newton step of the slow distribution function is the error of the end.
        error = abs((at - probability) / ((above - at) / step))
        print(f"{unlabeled} {k} of {n}: end {end:.6f}, error {error:.1e}")
        assert error < tolerance


@pytest.mark.parametrize(
    ("unlabeled", "counts", "values"),
    [
        pytest.param([0, 0], [[0, 1, 1, 2], [0, 2, 0, 1]], [10, 2, 1, 0], marks=pytest.mark.slow),
        ([0, 1, 0], [[3, 0], [0, 4], [2, 1]], [1, 0]),
        ([1, 1], [[5, 2], [0, 6]], [1, 0]),
    ],
)
def test_hardly_any_unlabeled_row(unlabeled, counts, values):
    draws = chain_draws([unlabeled], [counts], values, 300_000, np.random.default_rng(1))[:, 0]
    low, high = chain_interval([unlabeled], [counts], values)
    assert (low, high) == chain_interval([unlabeled], [counts], values)
    # A tail of .025 has a standard error of 4e-4 in both sets of draws.
    assert_allclose([np.mean(draws <= low), np.mean(draws >= high)], 0.025, rtol=0, atol=0.002)
    groups = chain_interval([unlabeled, [500] * len(unlabeled)], [counts] * 2, values)
    assert_allclose([groups[0][0], groups[1][0]], np.ravel([low, high]))
    alone = chain_interval([[500] * len(unlabeled)], [counts], values)
    assert_allclose([groups[0][1], groups[1][1]], np.ravel(alone))


@pytest.mark.parametrize(
    ("unlabeled", "counts", "values", "level", "atol"),
    [
        # Near the edge the characteristic function decays too slowly.
        ([1788, 2091, 1121], [[83, 0, 0], [1340, 4, 3], [565, 2, 3]], [1, 0, 0.5], 0.95, 0.01),
        ([4, 26, 11, 59], [[621, 3], [1200, 8], [39, 0], [129, 0]], [1, 0], 0.95, 0.02),
        # With few rows the characteristic function has a long tail.
        ([1, 2], [[1740, 53], [110, 97]], [1, 0], 0.95, 0.0015),
        ([7, 78, 13, 2], [[0, 0], [1, 0], [0, 0], [0, 2]], [1, 0], 0.999, 0.0003),
    ],
)
def test_ends_where_the_inversion_is_hard(unlabeled, counts, values, level, atol):
    draws = chain_draws([unlabeled], [counts], values, 100_000, np.random.default_rng(1))[:, 0]
    low, high = chain_interval([unlabeled], [counts], values, level)
    found = [np.mean(draws <= low), np.mean(draws >= high)]
    assert_allclose(found, (1 - level) / 2, rtol=0, atol=atol)


def test_one_value_of_the_autorater_is_jeffreys():
    low, high = chain_interval([[500], [0]], [[[7, 3]], [[0, 4]]], [1, 0], 0.9)
    assert_allclose(low, beta([7.5, 0.5], [3.5, 4.5]).ppf(0.05), rtol=1e-10)
    assert_allclose(high, beta([7.5, 0.5], [3.5, 4.5]).ppf(0.95), rtol=1e-10)


def test_values_that_never_differ_add_nothing():
    # A rare third verdict with the same posterior has a small effect on the ends.
    two = chain_interval([[6000, 4000]], labels([40, 10], [50, 50]), [1, 0])
    three = chain_interval([[6000, 4000, 0]], labels([40, 10, 1], [50, 50, 2]), [1, 0])
    assert_allclose(np.ravel(two), np.ravel(three), rtol=0, atol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("n_labels", [2, 3, 4])
@pytest.mark.parametrize("n_values", [1, 2, 3])
def test_moments_and_ends_against_draws(n_values, n_labels):
    rng = np.random.default_rng(10 * n_values + n_labels)
    unlabeled = rng.integers(20, 200, (2, n_values))
    counts = rng.integers(0, 12, (2, n_values, n_labels))
    values = np.sort(rng.normal(size=n_labels))[::-1]
    draws = chain_draws(unlabeled, counts, values, 100_000, rng)
    mean, unlabeled_variance, labeled_variance = chain_moments(unlabeled, counts, values)
    spread = np.sqrt(unlabeled_variance + labeled_variance)
    error = spread / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - mean) < 4 * error)
    assert_allclose(draws.std(axis=0), spread, rtol=0.01)  # four standard errors
    # The number of draws beyond an end is binomial; allow four standard deviations.
    low, high = chain_interval(unlabeled, counts, values)
    tail = 4 * np.sqrt(0.025 * 0.975 / len(draws))
    assert_allclose(np.mean(draws < low, axis=0), 0.025, rtol=0, atol=tail)
    assert_allclose(np.mean(draws > high, axis=0), 0.025, rtol=0, atol=tail)


def test_unlabeled_variance_is_what_certain_labels_leave():
    many = 10**9
    moments = chain_moments([[60, 40]], labels([many, 0], [many, many]), [1, 0])
    p = 60.5 / 101
    assert_allclose(moments.unlabeled_variance, p * (1 - p) / 102, rtol=1e-6)
    assert moments.labeled_variance[0] < 1e-9


def test_scale_and_order_of_values():
    rng = np.random.default_rng(4)
    unlabeled, counts = rng.integers(10, 90, (3, 3)), rng.integers(0, 9, (3, 3, 3))
    low, high = chain_interval(unlabeled, counts, [1, 0, -1])
    scaled = chain_interval(unlabeled, counts, [7, 5, 3])
    assert_allclose(scaled, (2 * low + 5, 2 * high + 5), rtol=0, atol=1e-7)
    order = [2, 0, 1]
    turned = chain_interval(unlabeled[:, order], counts[:, order][:, :, order], [-1, 1, 0])
    assert_allclose(turned, (low, high), rtol=0, atol=1e-6)
    mirrored = chain_interval(unlabeled, counts, [-1, 0, 1])
    assert_allclose(mirrored, (-high, -low), rtol=0, atol=1e-6)


def test_groups_do_not_meet():
    rng = np.random.default_rng(5)
    unlabeled, counts = rng.integers(0, 300, (20, 2)), rng.integers(0, 20, (20, 2, 2))
    together = chain_interval(unlabeled, counts, [1, 0])
    apart = [
        chain_interval(u[None], c[None], [1, 0]) for u, c in zip(unlabeled, counts, strict=True)
    ]
    assert_allclose(np.transpose(together), np.squeeze(apart), rtol=0, atol=1e-9)


def test_ends_are_in_range_and_ordered_at_every_level():
    groups = [
        (u, k, n)
        for u in ([0, 5], [5, 5], [300, 0])
        for n in ([0, 0], [1, 0], [5, 5])
        for k in product((0, n[0]), (0, n[1]))
    ]
    unlabeled = np.array([u for u, _, _ in groups])
    counts = np.concatenate([labels(k, n) for _, k, n in groups])
    widths = []
    for level in (0.5, 0.9, 0.99):
        low, high = chain_interval(unlabeled, counts, [1, 0], level)
        assert np.all((low >= 0) & (low < high) & (high <= 1))
        widths.append(high - low)
    assert np.all(np.diff(widths, axis=0) > 0)
