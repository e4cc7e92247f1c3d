"""Quadrature, chains and confusion matrices of the hierarchical count models."""

import numpy as np
import pytest
from reference.beta_binomial_slow import slow_posterior
from scipy import stats
from scipy.special import betaln
from scipy.stats import beta, norm

from skbench.stats.resampling import beta_binomial
from skbench.stats.resampling._beta_draws import GridDistribution, LogLinear
from skbench.stats.resampling.beta_binomial import (
    draw_accuracies,
    draw_means,
    log_marginal_likelihood,
    posterior_accuracy,
    posterior_grid,
)
from skbench.stats.resampling.confusion import (
    confusion_log_draws,
    confusion_metric,
    confusion_metric_of_logs,
)
from skbench.stats.resampling.dirichlet_multinomial import gibbs
from skbench.stats.resampling.markov_chains import effective_sample_size, r_hat, slice_step

WIDE = (1e-12, 1e6)


def exponential(mean):
    """Log prior of (a, b), both exponential."""
    return lambda a, b: -2 * np.log(mean) - (a + b) / mean


def one_model(k, n):
    return np.array([k], dtype=float), np.array([n], dtype=float)


CASES = {
    "ordinary": ([9, 12, 30], [20, 30, 50]),
    "all right": ([10, 20, 30], [10, 20, 30]),
    "all wrong": ([0, 0], [5, 9]),
    "right and wrong": ([10, 0], [10, 20]),
    "one item": ([1], [1]),
    "far apart": ([1, 99, 50, 3], [100, 100, 100, 4]),
    "equal": ([50, 500, 2500], [100, 1000, 5000]),
}


# The marginal likelihood


def test_marginal_likelihood_is_that_of_the_beta_binomial():
    k, n = one_model([3, 0, 7], [10, 4, 7])
    a, b = np.array([[0.4, 2.0, 700.0]]), np.array([[1.5, 2.0, 900.0]])
    law = sum(
        stats.betabinom.logpmf(kj, nj, a, b) - stats.binom(nj, 0.5).logpmf(kj) + nj * np.log(0.5)
        for kj, nj in zip(k[0], n[0], strict=True)
    )
    # binom.logpmf at 1/2 is log binom(n, k) - n log 2: this removes the number of orders.
    np.testing.assert_allclose(log_marginal_likelihood(k, n, a, b), law, rtol=1e-10)


def test_huge_counts_give_the_binomial_likelihood():
    k, n = one_model([30_000], [73_728])
    a, b = np.array([[0.4e13]]), np.array([[0.6e13]])
    limit = 30_000 * np.log(0.4) + 43_728 * np.log(0.6)
    # The remaining effect of the variance is n^2 / (a + b) = 5e-4; betaln has errors above 0.01.
    assert log_marginal_likelihood(k, n, a, b).item() == pytest.approx(limit, abs=1e-3)


def test_stirling_joins_on():
    x = np.array([[999.999, 1000.001]])
    k, n = one_model([37], [90])
    either_side = log_marginal_likelihood(k, n, x, x)[0]
    expected = betaln(x + 37, x + 53) - betaln(x, x)
    # Near 1000 betaln loses 12 of 16 digits of numbers around 1400.
    np.testing.assert_allclose(either_side, expected[0], atol=2e-11)


# The grid


@pytest.mark.parametrize(
    "case", sorted(set(CASES) - {"equal"})
)  # the ridge is too narrow for a plain grid
@pytest.mark.parametrize("mean", [10.0, pytest.param(1000.0, marks=pytest.mark.slow)])
def test_grid_against_a_plain_one(case, mean):
    k, n = one_model(*CASES[case])
    grid = posterior_grid(k, n, exponential(mean), WIDE, WIDE)
    log_prior = stats.expon(scale=mean).logpdf
    # Start at exp(-40), because the density decreases slowly there; the spacing is 0.08.
    slow = slow_posterior(k[0], n[0], log_prior, log_prior, (-40, 11), 640)
    assert grid.log_evidence[0] == pytest.approx(slow[0], abs=1e-4)
    np.testing.assert_allclose(posterior_accuracy(k, n, grid)[0], slow[1], atol=1e-5)
    mean_a, mean_b = ((grid.weight * x).sum() for x in (grid.a, grid.b))
    np.testing.assert_allclose([mean_a, mean_b], slow[2], rtol=1e-3)


PRIORS = {
    "wide": exponential(10_000.0),
    "narrow": lambda a, b: stats.norm(2000, 10).logpdf(a) + stats.norm(1900, 10).logpdf(b),
    "at odds": lambda a, b: stats.norm(2000, 10).logpdf(a) + stats.norm(100, 1).logpdf(b),
    "heavy": lambda a, b: stats.halfcauchy(scale=5).logpdf(a) + stats.halfcauchy().logpdf(b),
    "at zero": lambda a, b: stats.gamma(0.1).logpdf(a) + stats.gamma(0.1).logpdf(b),
}


@pytest.mark.slow
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("case", CASES)
def test_refining_the_grid(case, prior):
    k, n = one_model(*CASES[case])
    grid = posterior_grid(k, n, PRIORS[prior], WIDE, WIDE)
    fine = posterior_grid(k, n, PRIORS[prior], WIDE, WIDE, refine=3)
    moved = posterior_accuracy(k, n, grid) - posterior_accuracy(k, n, fine)
    # Measured: 2e-6 for the accuracies, 1e-5 for the evidence.
    assert np.abs(moved).max() < 1e-4
    assert abs(grid.log_evidence - fine.log_evidence).item() < 1e-4
    assert max(grid.edge_mass.item(), fine.edge_mass.item()) < 1e-6
    assert grid.weight.sum() == pytest.approx(1)


def test_the_long_ridge_of_three_tasks():
    # Sizes range from below 1 to above 100,000, and the range of the logit mean shrinks 50 times.
    k, n = one_model([100, 5000, 10_000], [200, 10_000, 20_000])
    grid = posterior_grid(k, n, exponential(10_000.0), WIDE, WIDE)
    size = grid.a + grid.b
    assert size.min() < 1 and size.max() > 2e5
    assert grid.edge_mass.item() < 1e-6
    order = np.argsort(size[0])
    cumulative = np.cumsum(grid.weight[0][order])
    low, high = size[0][order][np.searchsorted(cumulative, [0.005, 0.995])]
    assert high / low > 25


@pytest.mark.parametrize("end", [5, 2000])
def test_priors_with_jumps_still_give_accuracies(end):
    jump = stats.uniform(end, 0.01 * end)
    k, n = one_model([100, 5000], [200, 10_000])
    box = (end, 1.01 * end)

    def log_prior(a, b):
        return jump.logpdf(a) + stats.expon(scale=10).logpdf(b)

    grid = posterior_grid(k, n, log_prior, box, WIDE)
    fine = posterior_grid(k, n, log_prior, box, WIDE, refine=3)
    # The error is proportional to the spacing. b = 2000 is 200 prior means away.
    assert (grid.weight * grid.b).sum() == pytest.approx((fine.weight * fine.b).sum(), rel=1e-2)
    moved = posterior_accuracy(k, n, grid) - posterior_accuracy(k, n, fine)
    assert np.abs(moved).max() < 1e-4


def test_the_start_does_not_matter():
    k, n = one_model([30, 40, 20], [50, 50, 50])
    results = [
        posterior_grid(k, n, exponential(100.0), box, box).log_evidence.item()
        for box in [WIDE, (1e-3, 1e-2), (1e3, 1e4), (1, 10)]
    ]
    np.testing.assert_allclose(results, results[0], atol=1e-5)


def test_draws_have_the_moments_of_the_grid():
    k, n = one_model([9, 12, 30], [20, 30, 50])
    grid = posterior_grid(k, n, exponential(50.0), WIDE, WIDE)
    rng = np.random.default_rng(0)
    draws = draw_accuracies(k[0], n[0], grid._replace(n_sizes=1).distributions()[0], 100_000, rng)
    p, size = (grid.a[..., None] + k)[0], (grid.a + grid.b)[0][:, None] + n
    mean = posterior_accuracy(k, n, grid)[0]
    second = grid.weight[0] @ (p * (p + 1) / size / (size + 1))
    error = np.sqrt(second - mean**2) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - mean) < 4.5 * error)
    # The standard error of a second moment is below twice that of the mean, for p < 1.
    assert np.all(np.abs((draws**2).mean(axis=0) - second) < 9 * error)


@pytest.mark.parametrize(
    "right", [[9, 7, 8, 9], pytest.param([3, 5, 4, 6], marks=pytest.mark.slow)]
)
def test_quantiles_between_the_points(right):
    """4 tasks of 10 items under Exp(1/10,000), compared with a grid of 16 times as many points."""
    k, n = one_model(right, [10] * 4)
    grid = posterior_grid(k, n, exponential(10_000.0), WIDE, WIDE)
    dense = posterior_grid(k, n, exponential(10_000.0), WIDE, WIDE, refine=4)
    heavy = dense.weight[0] > 1e-12
    a, b, weight = (x[0][heavy] for x in (dense.a, dense.b, dense.weight))
    off = {}
    for n_sizes in (1, grid.n_sizes):
        draws = draw_accuracies(
            k[0],
            n[0],
            grid._replace(n_sizes=n_sizes).distributions()[0],
            400_000,
            np.random.default_rng(0),
        )
        worst = 0.0
        for task in range(2):
            for level in (0.025, 0.25, 0.5, 0.75, 0.975):
                end, step = np.quantile(draws[:, task], level), 0.02 * draws[:, task].std()
                p = [
                    weight @ beta.cdf(end + move, a + k[0, task], b + (n - k)[0, task])
                    for move in (-step, 0, step)
                ]
                # Distance to the exact quantile, by the slope of the distribution function.
                worst = max(worst, 0.04 * abs(p[1] - level) / (p[2] - p[0]))
        off[n_sizes] = worst
    print(right, off)
    # The error of quantiles of 400,000 draws is .004 posterior standard deviations.
    assert off[grid.n_sizes] < 0.02


@pytest.mark.parametrize("again", [False, True])
def test_moments_of_drawn_means(again):
    """Given (a, b): moments of sums of beta variables, or of proportions in new test sets."""
    n = 5.0 + np.arange(100)
    k, shares = np.floor(0.9 * n), np.zeros((100, 2))
    shares[:60, 0], shares[60:, 1] = np.linspace(0, 2 / 60, 60), 1 / 40
    laws = [stats.betabinom(m, 3 + r, 1 + m - r) if again else stats.beta(3 + r, 1 + m - r)
            for r, m in zip(k, n, strict=True)]  # fmt: skip
    mean, variance, skewness = np.array([law.stats("mvs") for law in laws]).T
    scale = n if again else np.ones(100)
    mean, variance = mean / scale, variance / scale**2
    expected = [mean @ shares, variance @ shares**2, (skewness * variance**1.5) @ shares**3]
    point = np.array([[3.0], [1.0], [1.0]])
    rng = np.random.default_rng(0)
    draws, found = draw_means(k, n, shares, GridDistribution(*point), 200_000, rng, new=again / n)
    expected[2] /= expected[1] ** 1.5
    np.testing.assert_allclose(found[0], expected[2], rtol=1e-9)
    moments = [draws.mean(axis=0), draws.var(axis=0), stats.skew(draws)]
    # 4 standard errors of 200,000 normal draws.
    assert np.all(np.abs(moments[0] - expected[0]) < 0.009 * np.sqrt(expected[1]))
    np.testing.assert_allclose(moments[1], expected[1], rtol=0.013)
    np.testing.assert_allclose(moments[2], expected[2], atol=0.022)
    assert np.all(expected[2] < -0.06) and abs(np.corrcoef(draws.T)[0, 1]) < 0.009


def test_log_linear_approximation_of_a_normal():
    """Half a standard deviation between points: moments to four digits."""
    x = np.linspace(-8, 8, 33)
    cell, place = LogLinear(norm.pdf(x)[None]).quantiles(0, (np.arange(100_000) + 0.5) / 100_000)
    values = x[cell] + place * (x[1] - x[0])
    np.testing.assert_allclose([values.mean(), values.std()], [0, 1], atol=2e-4)
    levels = [0.025, 0.2, 0.5, 0.9, 0.975]
    np.testing.assert_allclose(np.quantile(values, levels), norm.ppf(levels), atol=0.005)


def test_draws_survive_tiny_counts():
    tiny = np.array([1e-300])
    draws = draw_accuracies(
        np.array([0.0, 3.0]), np.array([3.0, 3.0]), GridDistribution(tiny, tiny, np.ones(1)), 100,
        np.random.default_rng(0),
    )  # fmt: skip
    assert np.all(draws[:, 0] == 0) and np.all(draws[:, 1] == 1)


def test_no_prior_density_is_not_hidden():
    k, n = one_model([3], [10])
    grid = posterior_grid(k, n, lambda a, b: np.full(a.shape, -np.inf), WIDE, WIDE)
    assert not grid.edge_mass.item() < 1e-6


# The sampler


def test_slice_sampler_has_the_right_distribution():
    rng = np.random.default_rng(0)
    x = np.full(4000, 5.0)
    for _ in range(60):
        # A gamma variable of shape 2 on the log scale is skewed, and the start is 10 steps away.
        x = slice_step(lambda u: 2 * u - np.exp(u), x, rng, width=0.5)
    assert stats.kstest(np.exp(x), stats.gamma(2).cdf).pvalue > 1e-3


def test_slice_sampler_refuses_a_start_without_density():
    with pytest.raises(RuntimeError, match="log_density"):
        slice_step(
            lambda x: np.where(x > 0, -x, -np.inf), np.array([-1.0]), np.random.default_rng()
        )


def test_effective_sample_size_of_an_autoregression():
    rng, rho = np.random.default_rng(0), 0.9
    x = np.zeros((20_000, 4))
    for t in range(1, len(x)):
        x[t] = rho * x[t - 1] + rng.normal(size=4)
    expected = x.size * (1 - rho) / (1 + rho)
    # The estimated autocorrelation time has a relative error of about 5%.
    assert effective_sample_size(x) == pytest.approx(expected, rel=0.15)
    assert r_hat(x) < 1.01


def test_drift_within_chains_is_seen():
    drift = np.linspace(0, 3, 1000)[:, None] + np.random.default_rng(0).normal(size=(1000, 4))
    assert r_hat(drift) > 1.2
    assert effective_sample_size(drift) < 100


def test_constant_chains_are_not_known():
    assert np.isnan(r_hat(np.ones((100, 4)))) and np.isnan(effective_sample_size(np.ones((100, 4))))


@pytest.mark.slow
def test_gibbs_of_known_concentrations_is_the_dirichlet():
    counts = np.array([[[5, 2, 1, 9]]])

    def log_prior(c, x, rest):
        """Lognormal about 2, narrow."""
        return -0.5 * (np.log(x / 2) / 0.01) ** 2 - np.log(x)

    chains = gibbs(
        counts, log_prior, np.full((4, 1, 4), 2.0), 250, 10,
        np.random.default_rng(0),
    )  # fmt: skip
    law = stats.dirichlet(counts[0, 0] + 2)
    drawn = np.exp(chains.log_proportions[:, :, 0, 0]).reshape(-1, 4)
    error = np.sqrt(law.var() / len(drawn))
    assert np.all(np.abs(drawn.mean(axis=0) - law.mean()) < 4.5 * error)


# Confusion matrices


def test_dirichlet_draws_do_not_underflow():
    rng = np.random.default_rng(0)
    logs = confusion_log_draws(np.zeros(2), 2000, rng, prior=1e-4)
    assert np.all(np.isfinite(logs))
    # One of the two proportions is nearly 1, each with probability 1/2.
    low, high = stats.binom.ppf([0.0005, 0.9995], 2000, 0.5)
    assert low <= (logs[:, 0] > np.log(0.5)).sum() <= high


def test_recall_and_precision_are_beta():
    # Recall has the posterior Beta(tp + 1/2, fn + 1/2).
    draws = confusion_log_draws([12, 3, 6, 20], 20_000, np.random.default_rng(0))
    recall = confusion_metric_of_logs(draws, "recall")
    assert stats.kstest(recall, stats.beta(12.5, 6.5).cdf).pvalue > 1e-3
    precision = confusion_metric_of_logs(draws, "precision")
    assert stats.kstest(precision, stats.beta(12.5, 3.5).cdf).pvalue > 1e-3


def test_metrics_against_scikit_learn():
    from sklearn import metrics

    counts = np.array([12, 3, 6, 20])
    true = np.repeat([1, 0, 1, 0], counts)
    predicted = np.repeat([1, 1, 0, 0], counts)
    expected = {
        "accuracy": metrics.accuracy_score,
        "precision": metrics.precision_score,
        "recall": metrics.recall_score,
        "specificity": lambda t, s: metrics.recall_score(t, s, pos_label=0),
        "f1": metrics.f1_score,
        "balanced accuracy": metrics.balanced_accuracy_score,
        "matthews": metrics.matthews_corrcoef,
    }
    for name, score in expected.items():
        assert confusion_metric(counts, name) == pytest.approx(score(true, predicted), rel=1e-12)
        assert confusion_metric(counts / 41, name) == pytest.approx(
            score(true, predicted), rel=1e-12
        )


def test_a_metric_that_is_not_defined_is_nan():
    assert np.isnan(confusion_metric([0, 0, 3, 5], "precision"))
    with pytest.raises(ValueError):
        confusion_metric([1, 1, 1, 1], "f2")


def test_the_peak_is_found_between_coarse_points(monkeypatch):
    # A search with other points must find the same posterior.
    k, n = one_model([100, 5000, 10_000], [200, 10_000, 20_000])
    prior = PRIORS["narrow"]
    expected = posterior_grid(k, n, prior, WIDE, WIDE).log_evidence
    monkeypatch.setattr(beta_binomial, "_COARSE", 23)
    assert posterior_grid(k, n, prior, WIDE, WIDE).log_evidence == pytest.approx(expected, abs=1e-4)
