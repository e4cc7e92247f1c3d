import numpy as np
import pytest
from reference.risk_slow import exact_risk, jackknife, leave_one_out
from scipy.stats import binom, hypergeom
from scipy.stats import t as student_t

from skbench.stats import shrinkage
from skbench.stats.intervals import binomial
from skbench.stats.shrinkage import risk, sample_size

SLOW = pytest.mark.slow  # two fits per group and draw
N_ERRORS = 4  # a mean is beyond so many standard errors once in 16,000 times


@pytest.fixture
def normal_groups():
    """400 groups, 50 draws each, with sampling variances that differ."""
    rng = np.random.default_rng(0)
    sigma2 = rng.uniform(0.005, 0.04, 400)
    mu = 0.5 + 0.1 * rng.normal(size=400)
    z = mu + np.sqrt(sigma2) * rng.normal(size=(50, 400))
    return mu, sigma2, z


def is_zero(differences):
    """Whether independent differences have mean 0, within their standard error."""
    return abs(np.mean(differences)) < N_ERRORS * np.std(differences) / np.sqrt(len(differences))


def rule_slope(rule, z, sigma2):
    """Derivative of each estimate by its own `z`: central differences."""
    slope = np.empty(len(z))
    for g, step in enumerate(1e-4 * np.sqrt(sigma2)):
        moved = step * (np.arange(len(z)) == g)
        slope[g] = (rule(z + moved)[g] - rule(z - moved)[g]) / (2 * step)
    return slope


@pytest.mark.parametrize("center", ["mean", 0.5])
@pytest.mark.parametrize("spread", [0.02, 0.3])  # w is cut at 0 for the first
def test_james_stein_slope_is_the_derivative(center, spread):
    rng = np.random.default_rng(1)
    sigma2 = rng.uniform(0.01, 0.05, 12)
    z = 0.5 + spread * rng.normal(size=12)

    def rule(z):
        fit = shrinkage.james_stein(z, sigma2, center)
        return fit.center + fit.shrinkage_factor * (z - fit.center)

    slope = rule_slope(rule, z, sigma2)
    # Central differences with steps of 1e-4 standard errors.
    assert np.allclose(risk.james_stein_slope(z, sigma2, center), slope, rtol=0, atol=1e-7)


def test_too_few_groups_for_james_stein_have_slope_one():
    assert risk.james_stein_slope(np.array([0.1, 0.5]), np.full(2, 0.01)).tolist() == [1, 1]


def test_empirical_bayes_slope_is_the_derivative():
    rng = np.random.default_rng(2)
    sigma2 = rng.uniform(0.01, 0.05, 15)
    f = np.full(15, 0.4)
    z = f + 0.3 * rng.normal(size=15)

    def rule(z):
        return shrinkage.posterior_mean(
            z, f, sigma2, shrinkage.prior_variance(z - f, sigma2, "moments")
        )

    A = shrinkage.prior_variance(z - f, sigma2, "moments")
    slope = risk.empirical_bayes_slope(z - f, sigma2, A)
    assert np.allclose(slope, rule_slope(rule, z, sigma2), rtol=0, atol=1e-7)


def test_noiseless_groups_keep_slope_one():
    slope = risk.empirical_bayes_slope(np.array([0.0, 0.1]), np.zeros(2), 0.0)
    assert slope.tolist() == [1, 1]


@pytest.mark.parametrize(
    "method", ["moments", *(pytest.param(m, marks=SLOW) for m in ("paule-mandel", "reml"))]
)
def test_stein_is_unbiased_for_empirical_bayes(normal_groups, method):
    mu, sigma2, draws = (part[..., :20] for part in normal_groups)
    differences = []
    for z in draws:

        def rule(z):
            A = shrinkage.prior_variance(z - 0.5, sigma2, method)
            return shrinkage.posterior_mean(z, 0.5, sigma2, A)

        slope = rule_slope(rule, z, sigma2)
        loss = risk.stein_loss(rule(z), z, sigma2, slope)
        differences.append(np.mean(loss - (rule(z) - mu) ** 2))
    assert is_zero(differences)


def test_stein_is_unbiased_for_james_stein(normal_groups):
    mu, sigma2, draws = normal_groups
    differences, without_slope = [], []
    for z in draws[:, :20]:
        fit = shrinkage.james_stein(z, sigma2[:20])
        estimate = fit.center + fit.shrinkage_factor * (z - fit.center)
        for found, slope in (
            (differences, risk.james_stein_slope(z, sigma2[:20])),
            (without_slope, fit.shrinkage_factor),
        ):
            loss = risk.stein_loss(estimate, z, sigma2[:20], slope)
            found.append(np.mean(loss - (estimate - mu[:20]) ** 2))
    assert is_zero(differences)
    assert np.mean(without_slope) < np.mean(differences)  # what estimating costs is missing


def test_held_out_and_split_loss_are_unbiased(normal_groups):
    mu, sigma2, draws = normal_groups
    rng = np.random.default_rng(3)
    differences = {"held out": [], "split": []}
    for z in draws:
        estimate = 0.5 + 0.4 * (z - 0.5)
        z_out = mu + 3 * np.sqrt(sigma2) * rng.normal(size=400)
        truth = (estimate - mu) ** 2
        held_out = risk.held_out_loss(estimate, z_out, 9 * sigma2)
        differences["held out"].append(np.mean(held_out - truth))
        differences["split"].append(np.mean(risk.split_loss(estimate, z, z_out, sigma2) - truth))
    assert is_zero(differences["held out"]) and is_zero(differences["split"])


def test_second_term_removes_noise(normal_groups):
    mu, sigma2, draws = normal_groups
    z, rng = draws[0], np.random.default_rng(4)
    estimate = 0.5 + 0.5 * (z - 0.5)
    z_out = mu + 3 * np.sqrt(sigma2) * rng.normal(size=(50, 400))  # a tenth of the items
    spread = [
        np.std(loss.mean(axis=1))
        for loss in (
            risk.held_out_loss(estimate, z_out, 9 * sigma2),
            risk.split_loss(estimate, z, z_out, sigma2),
        )
    ]
    assert spread[1] < 0.5 * spread[0]


def eb_rule(z, sigma2):
    return shrinkage.posterior_mean(z, 0.6, sigma2, 0.015)


@pytest.mark.parametrize("variance", ["smoothed", "plug-in", "agresti"])
def test_leave_one_out_is_the_mean_over_items(variance):
    k, n = np.array([0, 1, 3, 9, 7, 2]), np.array([4, 2, 5, 9, 8, 3])
    loss, sigma2 = risk.leave_one_out_loss(eb_rule, k, n, variance)
    assert np.allclose(loss, leave_one_out(eb_rule, k, n, variance), rtol=0, atol=1e-14)
    assert np.allclose(sigma2, binomial.unbiased_variance(k, n) * n / (n - 1))


@pytest.mark.parametrize("n", [2, 5, 10, 40])
@pytest.mark.parametrize("p", [0.0, 0.03, 0.5, 0.9, 1.0])
def test_leave_one_out_is_exactly_unbiased_for_one_item_less(n, p):
    k = np.arange(n + 1)
    loss, sigma2 = risk.leave_one_out_loss(eb_rule, k, np.full(n + 1, n))
    weights = binom.pmf(k, n, p)
    assert np.sum(weights * loss) == pytest.approx(exact_risk(eb_rule, p, n - 1), abs=1e-13)
    assert np.sum(weights * sigma2) == pytest.approx(p * (1 - p) / (n - 1), abs=1e-13)


def test_stein_misses_what_the_variance_does():
    # Exact expectations: the smoothed variance moves with z, and Stein's formula with a
    # fixed weight does not know it.
    n, k = 10, np.arange(11)
    z, sigma2 = k / n, binomial.sampling_variance(k, n)
    w = shrinkage.shrinkage_factor(0.015, sigma2)
    stein = risk.stein_loss(eb_rule(z, sigma2), z, binomial.unbiased_variance(k, n), w)
    shares = []
    for p in (0.2, 0.3, 0.85):
        weights = binom.pmf(k, n, p)
        shares.append(np.sum(weights * stein) / exact_risk(eb_rule, p, n))
    assert 0.65 < min(shares) and max(shares) < 0.85


def test_split_counts_add_up_and_follow_the_hypergeometric_law():
    rng = np.random.default_rng(5)
    k, n = np.array([6, 0, 3, 1]), np.array([10, 7, 3, 1])
    right, size = risk.split_counts(k, n, 3, 4000, rng)
    assert right.shape == size.shape == (4000, 3, 4)
    assert np.all(right.sum(axis=1) == k) and np.all(size.sum(axis=1) == n)
    assert np.all(np.ptp(size, axis=1) <= 1)
    assert np.all((right >= 0) & (right <= size))
    for fold in range(3):
        threes = right[:, fold, 0][size[:, fold, 0] == 3]
        for found in range(4):
            probability = hypergeom.pmf(found, 10, 6, 3)
            low, high = binom.ppf([0.0001, 0.9999], len(threes), probability)
            assert low <= np.sum(threes == found) <= high
    # The fold with one item more is any of the three.
    low, high = binom.ppf([0.0001, 0.9999], 4000, 1 / 3)
    assert all(low <= np.sum(size[:, fold, 0] == 4) <= high for fold in range(3))


def test_count_folds_are_independent_given_the_accuracy():
    rng = np.random.default_rng(6)
    k = rng.binomial(10, 0.3, 40_000)
    right, _ = risk.split_counts(k, np.full(40_000, 10), 5, 1, rng)
    correlation = np.corrcoef(right[0])
    off_diagonal = correlation[~np.eye(5, dtype=bool)]
    assert np.abs(off_diagonal).max() < N_ERRORS / np.sqrt(40_000)


def test_normal_parts_average_to_z_and_are_independent():
    rng = np.random.default_rng(7)
    sigma2 = np.full(40_000, 0.04)
    z = 0.2 * rng.normal(size=40_000)
    parts = risk.split_normal(z, sigma2, 4, 1, rng)[0]
    assert np.allclose(parts.mean(axis=0), z, rtol=0, atol=1e-14)
    covariance = np.cov(parts)
    # Standard error of a variance of 0.16 from 40,000 draws: 0.0011.
    assert np.allclose(covariance, 0.16 * np.eye(4), rtol=0, atol=N_ERRORS * 0.0012)


def test_jackknife_of_single_groups_is_the_textbook_covariance():
    values = np.random.default_rng(8).normal(size=(30, 3))
    mean, covariance = sample_size.jackknife_mean(values, np.arange(30))
    assert np.allclose(mean, values.mean(axis=0))
    assert np.allclose(covariance, np.cov(values.T) / 30)


def test_jackknife_leaves_out_whole_clusters():
    rng = np.random.default_rng(9)
    values, clusters = rng.normal(size=(40, 2)), rng.integers(0, 7, 40)
    _, covariance = sample_size.jackknife_mean(values, clusters)
    expected = jackknife(lambda rows: rows.mean(axis=0), values, clusters)
    assert np.allclose(np.sqrt(np.diag(covariance)), expected)


def test_one_cluster_has_no_standard_error():
    assert np.isnan(sample_size.jackknife_mean(np.ones((3, 2)), np.zeros(3, int))[1]).all()
    assert np.isnan(sample_size.sample_size_ratio(np.ones(3), np.ones(3), np.zeros(3, int))).all()


def test_sample_size_ratio_by_brute_force():
    rng = np.random.default_rng(10)
    losses, sigma2 = rng.uniform(0, 0.02, 50), rng.uniform(0.01, 0.03, 50)
    clusters = np.repeat(np.arange(10), 5)
    rows = np.column_stack([losses, sigma2])
    error = jackknife(lambda rows: rows[:, 0].sum() / rows[:, 1].sum(), rows, clusters)
    share = losses.sum() / sigma2.sum()
    half_width = student_t.ppf(0.95, 9) * error
    ratio = sample_size.sample_size_ratio(losses, sigma2, clusters, 0.9)
    assert ratio == pytest.approx((1 / share, 1 / (share + half_width), 1 / (share - half_width)))


def test_sample_size_ratio_at_the_edges():
    sigma2, each = np.full(6, 0.02), np.arange(6)
    assert sample_size.sample_size_ratio(sigma2, sigma2, each) == (1, 1, 1)
    assert sample_size.sample_size_ratio(3 * sigma2, sigma2, each).value == pytest.approx(1 / 3)
    noisy = np.array([0.1, -0.1, 0.05, -0.04, 0.0, -0.02])
    ratio = sample_size.sample_size_ratio(noisy, sigma2, each)
    assert ratio.value == ratio.high == np.inf and 0 < ratio.low < 1
    assert np.isnan(sample_size.sample_size_ratio(sigma2, 0 * sigma2, each)).all()
    assert np.isnan(sample_size.sample_size_ratio(np.nan * sigma2, sigma2, each)).all()


def test_ratio_carried_over():
    # Known prior: the ratio is 1 + sigma2 / A, and sigma2 is inversely proportional to n.
    measured = sample_size.SampleSizeRatio(1 + 0.02 / 0.9 / 0.01, 0.8, np.inf)
    carried = sample_size.ratio_with_more_items(measured, 0.9)
    assert carried.value == pytest.approx(1 + 0.02 / 0.01)
    assert carried[1:] == (0.8, np.inf)


def test_ratio_reads_as_a_sentence():
    assert str(sample_size.SampleSizeRatio(2.04, 1.5, np.inf)).endswith(
        "2 times the items (1.5 or more)"
    )
    assert "unknown" in str(sample_size.SampleSizeRatio(np.nan, np.nan, np.nan))
