import numpy as np
import pandas as pd
import pytest
from reference.cva_slow import cva_slow, miss, noncoverage_bounds, noncoverage_slow
from scipy.optimize import brentq
from scipy.stats import binom, norm, truncnorm

from skbench.stats.shrinkage import robust_eb
from skbench.stats.shrinkage.robust_eb import cva, noncoverage, prior_moments

KURTOSES = [1, 1 + 1e-9, 1.001, 1.1, 1.5, 3, 10, 100, 1e4, 1e8, np.inf]
LEVELS = [0.5, 0.8, 0.9, 0.95, 0.99, 0.9999]


def spread_m2(size, low, high, seed=0):
    return np.exp(np.random.default_rng(seed).uniform(np.log(low), np.log(high), size))


@pytest.fixture(scope="module")
def zones(gold_folder):
    """Gold rows and gold parameters of the commuting zones, by specification."""
    rows = pd.read_csv(gold_folder / "ebci_cz_rows.csv")
    params = pd.read_csv(gold_folder / "ebci_cz_params.csv").set_index("spec")
    return {spec: (part, params.loc[spec]) for spec, part in rows.groupby("spec")}


SPECIFICATIONS = ["stayer_PMT", "stayer_FPLIB", "stayer_none", "mean_PMT", "zero_PMT"]


# --- critical values -------------------------------------------------------------------


def test_gold_critical_values(gold_folder):
    gold = pd.read_csv(gold_folder / "ebci_cva_exact.csv")
    # Gold has 19 digits; ours is solved to rounding.
    np.testing.assert_allclose(cva(gold["m2"], gold["kappa"]), gold["cva"], rtol=1e-12)


@pytest.mark.slow
def test_critical_values_against_slow_solve():
    rng = np.random.default_rng(1)
    for m2 in spread_m2(6, 1e-3, 400):
        kurtosis, level = rng.choice([1, 1.01, 1.2, 2, 3, 8, 30, 300, np.inf]), rng.choice(LEVELS)
        # The reference optimises to 1e-9 in the position of the worst point.
        slow = cva_slow(m2, kurtosis, level)
        np.testing.assert_allclose(cva(m2, kurtosis, level), slow, rtol=1e-8)


@pytest.mark.slow
def test_worst_case_is_certified_by_a_linear_program():
    rng = np.random.default_rng(2)
    for m2 in spread_m2(16, 1e-3, 300, seed=2):
        kurtosis, level = rng.choice([1.02, 1.5, 3, 20, 500, np.inf]), rng.choice(LEVELS[:5])
        chi = cva(m2, kurtosis, level) * np.exp(rng.normal(0, 0.3))
        low, high = noncoverage_bounds(chi, m2, kurtosis)
        # The program is solved to 1e-10, the certificate checked in steps of 1e-3, which
        # may overlook 1e-7; the grid of the law costs up to 2e-5.
        assert low - 1e-9 <= noncoverage(chi, m2, kurtosis) <= high + 1e-7
        assert high - low < 5e-5


@pytest.mark.slow
def test_noncoverage_against_slow_optimum():
    chi = np.linspace(0.3, 12, 8)
    for m2, kurtosis in [(0.3, 1.3), (2.0, 3.0), (20.0, 5.0), (0.01, 400.0), (5.0, np.inf)]:
        slow = [noncoverage_slow(c, m2, kurtosis) for c in chi]
        np.testing.assert_allclose(noncoverage(chi, m2, kurtosis), slow, rtol=1e-8)


def test_printed_critical_values():
    printed = [1.959964, 4.619513, 7.216351]  # to 6 decimals
    np.testing.assert_allclose(cva([0, 4, 4], [7, 3, np.inf]), printed, atol=5e-7)


@pytest.mark.parametrize("level", LEVELS)
def test_no_bias_gives_the_normal_quantile(level):
    quantile = norm.ppf((1 + level) / 2)
    np.testing.assert_allclose(cva(0, KURTOSES, level), quantile, rtol=1e-12)
    # The first effect of a small bias is of the order of m2.
    np.testing.assert_allclose(cva(1e-14, KURTOSES, level), quantile, rtol=1e-11)


@pytest.mark.parametrize("level", LEVELS)
def test_kurtosis_one_is_a_fixed_bias(level):
    for m2 in (0.01, 1.0, 30.0, 1e4):
        exact = brentq(lambda chi, t=m2: miss(t, chi) - (1 - level), 0, np.sqrt(m2) + 9, xtol=1e-13)
        np.testing.assert_allclose(cva(m2, 1, level), exact, rtol=1e-11)


def test_large_bias_without_kurtosis_is_chebyshev():
    # P(|b| > chi) <= m2 / chi^2 is attained; the noise adds 1e-4 of chi here.
    np.testing.assert_allclose(cva(1e8, np.inf) / 1e4, 1 / np.sqrt(0.05), rtol=2e-4)


def test_huge_m2():
    np.testing.assert_allclose(cva(1e17, 3) / cva(1e15, 3), 10, rtol=1e-7)
    np.testing.assert_allclose(cva(1e300, 3) / cva(1e200, 3), 1e50, rtol=1e-12)
    assert cva(np.inf, 3) == np.inf


def test_nan_stays_where_it_is():
    np.testing.assert_array_equal(
        np.isnan(cva([1, np.nan, 1, np.inf], [3, 3, np.nan, np.nan])), [False, True, True, True]
    )
    np.testing.assert_array_equal(
        noncoverage([0, np.inf, np.inf, 1, np.nan], [1, 1, np.inf, np.inf, 1], 3),
        [1, 0, np.nan, 1, np.nan],
    )


@pytest.mark.parametrize("level", LEVELS)
def test_critical_value_attains_its_level(level):
    m2 = spread_m2(300, 1e-12, 1e8)
    for kurtosis in KURTOSES:
        chi = cva(m2, kurtosis, level)
        # Non-coverage falls through the level within 1e-10 of chi.
        below, above = (noncoverage(chi * (1 + step), m2, kurtosis) for step in (-1e-10, 1e-10))
        assert np.all(below >= 1 - level) and np.all(above <= 1 - level)


def test_monotone():
    m2 = np.sort(spread_m2(60, 1e-6, 1e5))
    values = np.array([[cva(m2, k, level) for k in KURTOSES] for level in LEVELS])
    for axis in range(3):
        # Rounding is all that may turn the order; kurtosis need not matter at all.
        steps = np.diff(np.log(values), axis=axis)
        assert np.all(steps > -1e-11)
        assert axis == 1 or np.all(steps.sum(axis=axis) > 1e-3)


def one_by_one(function, x, kurtosis):
    """In calls of 500, too few for a table."""
    return np.concatenate([function(part, kurtosis) for part in np.split(x, len(x) // 500)])


@pytest.mark.slow
@pytest.mark.parametrize("kurtosis", [1.0, 3.0, np.inf])
def test_table_and_direct_solve_agree(kurtosis):
    # Many between .05 and 50, where the worst law turns from two points to one.
    m2 = np.r_[spread_m2(3000, 0.05, 50), 0, spread_m2(2999, 1e-10, 1e6)]
    np.testing.assert_allclose(cva(m2, kurtosis), one_by_one(cva, m2, kurtosis), rtol=2e-11)
    signal = spread_m2(2500, 1e-3, 1e3)
    w = robust_eb.shrinkage_length_optimal(signal, kurtosis)
    alone = one_by_one(robust_eb.shrinkage_length_optimal, signal[:500], kurtosis)
    np.testing.assert_allclose(w[:500], alone, atol=1e-9)


def test_several_kurtoses_in_one_call():
    m2 = spread_m2(5000, 1e-2, 1e2)
    kurtosis = np.repeat([2.0, 7.0, 9.0], [2200, 2200, 600])
    together = cva(m2, kurtosis)
    alone = np.concatenate([cva(m2[kurtosis == k], k) for k in (2, 7, 9)])
    np.testing.assert_allclose(together, alone, rtol=1e-11)


def test_shapes_and_order():
    assert np.ndim(cva(1.0, 3.0)) == 0
    assert cva(np.ones((4, 1)), np.array([1.0, 3.0])).shape == (4, 2)
    assert cva([], 3.0).shape == (0,)
    m2 = spread_m2(50, 1e-2, 1e2)
    np.testing.assert_array_equal(cva(m2[::-1], 3), cva(m2, 3)[::-1])


# --- moments ---------------------------------------------------------------------------


@pytest.mark.parametrize("spec", SPECIFICATIONS)
def test_commuting_zones_from_the_data(data_folder, zones, spec):
    rows, gold = zones[spec]
    table = pd.read_csv(data_folder / "cz_chetty_hendren.csv.gz")
    table.index += 1
    table = table.dropna(subset=["theta25", "se25", "stayer25"])
    z, sigma2 = table["theta25"].to_numpy(), table["se25"].to_numpy() ** 2
    features = {"stayer": [np.ones_like(z), table["stayer25"]], "mean": [np.ones_like(z)]}
    design, correction = spec.split("_")
    prior_mean = np.zeros_like(z)
    if design != "zero":
        X = np.column_stack(features[design])
        beta = np.linalg.lstsq(X / np.sqrt(sigma2)[:, None], z / np.sqrt(sigma2))[0]
        np.testing.assert_allclose(beta, gold[["delta0", "delta1"]][: len(beta)], rtol=1e-10)
        prior_mean = X @ beta

    found = prior_moments(z - prior_mean, sigma2, 1 / sigma2, correction.lower())
    expected = gold[["mu2", "kappa"]].astype(float)
    np.testing.assert_allclose(found, expected, rtol=1e-10)  # printed to 15 digits
    uncorrected = prior_moments(z - prior_mean, sigma2, 1 / sigma2, "none")
    expected = gold[["mu2_unc", "kappa_unc"]].astype(float)
    np.testing.assert_allclose(uncorrected, expected, rtol=1e-10)

    w = found.prior_variance / (found.prior_variance + sigma2)
    value = pd.Series(prior_mean + w * (z - prior_mean), index=table.index)
    half_width = robust_eb.robust_half_width(found.prior_variance, sigma2, found.kurtosis, 0.9)
    np.testing.assert_allclose(value[rows["row"]], rows["th_eb"], rtol=1e-8)  # 10 digits
    np.testing.assert_allclose(half_width.mean(), gold["mean_len_eb"], rtol=1e-10)


def worst_miss_of_parametric(A, sigma2, kurtosis, level=0.95):
    """Share of groups that the normal prior's interval misses over the worst law."""
    chi = norm.ppf((1 + level) / 2) / np.sqrt(A / (A + sigma2))
    return robust_eb.noncoverage(chi, sigma2 / A, kurtosis)


@pytest.mark.parametrize("spec", SPECIFICATIONS)
def test_commuting_zones_intervals(zones, spec):
    rows, gold = zones[spec]
    A, kurtosis, sigma2 = gold["mu2"], gold["kappa"], rows["se"].to_numpy() ** 2
    found = {
        "w_eb": A / (A + sigma2),
        "len_eb": robust_eb.robust_half_width(A, sigma2, kurtosis, 0.9),
        "len_pa": robust_eb.parametric_half_width(A, sigma2, 0.9),
        "ncov_pa": worst_miss_of_parametric(A, sigma2, kurtosis, 0.9),
    }
    for name, values in found.items():
        np.testing.assert_allclose(values, rows[name], rtol=1e-8)  # printed to 10 digits


def test_moments_by_hand():
    # e^2 = 4, 1, 0, 9 and sigma2 = 1: A = 3.5 - 1, m4 = 24.5 - 6 * 3.5 + 3 = 6.5.
    residuals, sigma2 = np.array([2.0, -1, 0, 3]), np.ones(4)
    none = prior_moments(residuals, sigma2, correction="none")
    np.testing.assert_allclose(none, [2.5, 6.5 / 6.25])
    # Floors: 2 / 4 for A, 1 + 32 / (4 * 6.25) for the kurtosis.
    pmt = prior_moments(residuals, sigma2)
    np.testing.assert_allclose(pmt, [2.5, 1 + 32 / 25])
    small = prior_moments(residuals / 10, sigma2)
    np.testing.assert_allclose(small, [0.5, 1 + 32 / (4 * 0.25)])


def test_moments_fplib_is_a_truncated_normal_mean():
    residuals, sigma2 = np.array([2.0, -1, 0, 3, 1, -2]), np.array([1.0, 2, 1, 3, 1, 2])
    second = residuals**2 - sigma2
    scale = second.std(ddof=1) / np.sqrt(6)
    expected = truncnorm.mean(-second.mean() / scale, np.inf, loc=second.mean(), scale=scale)
    found = prior_moments(residuals, sigma2, correction="fplib").prior_variance
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_moments_fplib_with_weights():
    rng = np.random.default_rng(4)
    residuals, sigma2, omega = rng.normal(0, 2, 12), rng.uniform(0.5, 2, 12), rng.uniform(1, 3, 12)
    second = residuals**2 - sigma2
    fourth = residuals**4 - 6 * sigma2 * residuals**2 + 3 * sigma2**2

    def positive_mean(mean, values):
        center, total = np.average(values, weights=omega), np.sum(omega)
        spread = np.sum(omega**2 * (values**2 - center**2)) / (total**2 - np.sum(omega**2))
        scale = np.sqrt(spread)
        return truncnorm.mean(-mean / scale, np.inf, loc=mean, scale=scale)

    m2, m4 = np.average(second, weights=omega), np.average(fourth, weights=omega)
    A = positive_mean(m2, second)
    kurtosis = 1 + positive_mean(m4 - m2**2, fourth - 2 * A * second) / A**2
    found = prior_moments(residuals, sigma2, omega, "fplib")
    np.testing.assert_allclose(found, [A, kurtosis], rtol=1e-10)


@pytest.mark.parametrize("z", [-20.0, -999.0, -1001.0, -1e5, -1e12])
def test_fplib_is_accurate_far_below_0(z):
    """Residuals so equal, and so small, that their mean square is far below the noise."""
    residuals = np.sqrt(np.array([0.0, 2.0]))
    sigma2 = np.full(2, 1 - z)  # squared residuals less noise: mean z, variance of the mean 1
    found = prior_moments(residuals, sigma2, correction="fplib").prior_variance
    # Mills' ratio by its continued fraction, which converges fast out here.
    tail = 0.0
    for k in range(60, 0, -1):
        tail = k / (-z + tail)
    np.testing.assert_allclose(found, tail, rtol=1e-8)


def test_fplib_is_0_only_where_residuals_are_equal():
    equal = prior_moments(np.zeros(48), np.ones(48), correction="fplib")
    assert equal.prior_variance == 0
    nearly = 1e-4 * np.random.default_rng(0).normal(size=20)
    assert prior_moments(nearly, np.ones(20), correction="fplib").prior_variance > 0


def test_moments_are_consistent():
    rng = np.random.default_rng(4)
    sigma2 = rng.uniform(0.2, 1, 400_000)
    # Values of mu - f are 0 or +-2: A = .4, kurtosis = 1.6 / .16 = 10.
    truth = rng.choice([0, 2, -2], sigma2.size, p=[0.9, 0.05, 0.05])
    residuals = truth + rng.normal(0, np.sqrt(sigma2))
    for correction in ("none", "pmt", "fplib"):
        found = prior_moments(residuals, sigma2, correction=correction)
        # Four standard errors, which are .0027 and .12 (60 other samples).
        assert abs(found.prior_variance - 0.4) < 0.011
        assert abs(found.kurtosis - 10) < 0.47


def test_nothing_varies():
    residuals, sigma2 = np.full(5, 0.1), np.ones(5)
    none = prior_moments(residuals, sigma2, correction="none")
    assert none.prior_variance == 0 and np.isnan(none.kurtosis)
    pmt = prior_moments(residuals, sigma2)
    assert pmt.prior_variance == pytest.approx(0.4)
    assert np.isnan(prior_moments(np.zeros(5), np.zeros(5)).kurtosis)
    assert np.isnan(prior_moments(np.ones(1), np.ones(1), correction="fplib").prior_variance)


# --- intervals -------------------------------------------------------------------------


def test_half_widths_at_the_edges():
    sigma2 = np.array([0.0, 0.0, 1.0, 1.0])
    A = np.array([0.0, 0.2, 0.0, 0.2])
    kurtosis = np.array([np.nan, 3.0, np.nan, 3.0])
    _, shortest = robust_eb.length_optimal(A, sigma2, kurtosis)
    for width in (
        robust_eb.robust_half_width(A, sigma2, kurtosis),
        robust_eb.parametric_half_width(A, sigma2),
        shortest,
    ):
        np.testing.assert_array_equal(width[:3], 0)
        assert width[3] > 0
    # No jump at 0: the width falls as the root of A.
    tiny = robust_eb.robust_half_width(np.array([1e-10, 1e-14, 1e-30]), 1.0, 3.0)
    np.testing.assert_allclose(tiny / np.sqrt([1e-10, 1e-14, 1e-30]), 2.6766, rtol=1e-4)


def test_robust_interval_is_between_parametric_and_infinite_kurtosis():
    sigma2 = spread_m2(100, 1e-3, 1e3)
    parametric = robust_eb.parametric_half_width(1.0, sigma2)
    widths = [robust_eb.robust_half_width(1.0, sigma2, k) for k in (3, 10, np.inf)]
    assert np.all(np.diff([parametric, *widths], axis=0) > -1e-12)
    # A normal law has kurtosis 3 and misses .05: the worst law at 3 is not better.
    assert np.all(worst_miss_of_parametric(1.0, sigma2, 3) >= 0.05)


@pytest.mark.parametrize("kurtosis", [1.3, 3.0, 12.0, np.inf])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_length_optimal_shrinkage_by_brute_force(kurtosis, level):
    signal = np.array([0.01, 0.1, 0.5, 1.0, 3.0, 20.0])
    w = robust_eb.shrinkage_length_optimal(signal, kurtosis, level)

    def length(w):
        return w * cva((1 / w - 1) ** 2 * signal, kurtosis, level)

    grid = np.linspace(0.002, 0.9995, 500)[:, None]
    lengths = length(np.broadcast_to(grid, (500, 6)))
    assert np.all(length(w) <= lengths.min(axis=0) * (1 + 1e-12))
    # The length is flat: the grid finds the place to its own step.
    np.testing.assert_allclose(w, grid[lengths.argmin(axis=0), 0], atol=0.002)


def test_length_optimal_shrinkage_at_the_edges():
    w = robust_eb.shrinkage_length_optimal([0, 1e-300, 1e300, np.inf, np.nan], 3.0)
    np.testing.assert_allclose(w, [0, 0, 1, 1, np.nan], atol=1e-100)
    assert np.isnan(robust_eb.shrinkage_length_optimal(1.0, np.nan))
    assert robust_eb.shrinkage_length_optimal(1.0, 1.0) < 1e-4  # |mu - f| is known
    # With much signal the optimum approaches the usual factor.
    w = robust_eb.shrinkage_length_optimal(1e4, 3.0)
    np.testing.assert_allclose(1 - w, 1 / (1 + 1e4), rtol=1e-3)


def test_length_optimal_interval():
    sigma2 = spread_m2(200, 1e-2, 1e2)
    w, half_width = robust_eb.length_optimal(0.5, sigma2, 4.0)
    critical = cva((1 / w - 1) ** 2 * 0.5 / sigma2, 4.0)
    np.testing.assert_allclose(half_width, w * critical * np.sqrt(sigma2), rtol=1e-12)
    assert np.all(half_width <= robust_eb.robust_half_width(0.5, sigma2, 4.0) * (1 + 1e-12))


def misses(half_width, w, sigma2, truth, rng):
    """One miss per group: the posterior mean around a prior mean of 0."""
    z = truth + rng.normal(0, np.sqrt(sigma2), truth.size)
    return np.abs(w * z - truth) > half_width


def band(n, rate):
    return binom.ppf([0.0005, 0.9995], n, rate) / n


def test_coverage_under_a_heavy_law():
    rng = np.random.default_rng(5)
    n, A, kurtosis, sigma2 = 100_000, 0.4, 10, 1.0
    truth = rng.choice([0, 2, -2], n, p=[0.9, 0.05, 0.05])
    w = A / (A + sigma2)
    parametric = misses(robust_eb.parametric_half_width(A, sigma2), w, sigma2, truth, rng).mean()
    robust = misses(robust_eb.robust_half_width(A, sigma2, kurtosis), w, sigma2, truth, rng).mean()
    best_w, width = robust_eb.length_optimal(A, sigma2, kurtosis)
    best = misses(width, best_w, sigma2, truth, rng).mean()
    worst = worst_miss_of_parametric(A, sigma2, kurtosis)
    allowed = band(n, 0.05)[1]
    assert robust <= allowed and best <= allowed
    assert allowed < parametric <= band(n, worst)[1]


def test_normal_prior_gives_parametric_coverage():
    rng = np.random.default_rng(7)
    n, A, sigma2 = 100_000, 0.5, 1.0
    truth = rng.normal(0, np.sqrt(A), n)
    rate = misses(
        robust_eb.parametric_half_width(A, sigma2), A / (A + sigma2), sigma2, truth, rng
    ).mean()
    least, most = band(n, 0.05)
    assert least <= rate <= most


def test_plausible_prior_variances_broadcast_and_can_be_written():
    A, sigma2 = np.array([[0.01], [0.2]]), np.array([[0.1, 0.02, 0.03], [0.2, 0.1, 0.4]])
    together = robust_eb.plausible_prior_variances(A, sigma2, 2)
    apart = [robust_eb.plausible_prior_variances(*row, 2) for row in zip(A, sigma2, strict=True)]
    np.testing.assert_allclose(together, np.stack(apart, axis=1))
    assert together.flags.writeable
    one = robust_eb.plausible_prior_variances(A[:, 0], 0.1, 2)
    np.testing.assert_array_equal(one, robust_eb.plausible_prior_variances(A[:, 0], [0.1, 0.1], 2))
