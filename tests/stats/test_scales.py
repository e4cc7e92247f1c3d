import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import binom, norm

from skbench.stats.intervals.binomial import sampling_variance
from skbench.stats.scales._transforms import (
    _effective_size,
    from_scale,
    from_scale_mean,
    from_scale_variance,
    scale_derivative,
    to_scale,
)

SCALES = ["identity", "arcsine", "logit"]


def every_count(n):
    k = np.arange(n + 1)
    return k / n, sampling_variance(k, n), np.full(n + 1, n)


@pytest.mark.parametrize("n", [1, 2, 5, 10, 500])
def test_smoothed_variances_have_closed_forms(n):
    z, sigma2, sizes = every_count(n)
    p = (z * n + 1) / (n + 2)
    _, variances = to_scale(z, sigma2, sizes, "arcsine")
    assert_allclose(variances, 1 / (4 * n), rtol=1e-12)
    values, variances = to_scale(z, sigma2, sizes, "logit")
    assert_allclose(values, np.log((z * n + 0.5) / (n - z * n + 0.5)), rtol=1e-12, atol=1e-14)
    assert_allclose(variances, 1 / (n * p * (1 - p)), rtol=1e-12)


def test_identity_changes_nothing():
    z, sigma2 = np.array([0.0, 0.3, 1.0]), np.array([0.0, 0.02, 0.0])
    assert_array_equal(to_scale(z, sigma2, None, "identity"), [z, sigma2])
    assert_array_equal(from_scale(z, "identity"), z)
    assert_array_equal(from_scale_mean(z, sigma2, "identity"), z)
    assert_array_equal(scale_derivative(z, "identity"), 1)


@pytest.mark.parametrize("scale", ["arcsine", "logit"])
def test_plug_in_zero_is_replaced_by_the_smoothed_variance(scale):
    z, smoothed, n = every_count(10)
    plug_in = sampling_variance(z * 10, 10, "plug-in")
    ends = [0, 10]
    given = to_scale(z, plug_in, n, scale)[1][ends]
    assert_allclose(given, to_scale(z, smoothed, n, scale)[1][ends], rtol=1e-12)
    # Between the ends a variance of 0 means a known proportion.
    assert to_scale([0.5], [0.0], [10], scale)[1][0] == 0


@pytest.mark.parametrize("scale", SCALES)
def test_round_trip(scale):
    z = np.linspace(0, 1, 21)
    values, _ = to_scale(z, np.full(21, 1e-9), np.full(21, 1e15), scale)
    # Half an answer of 1e15; the root and the sine lose half the digits at the ends.
    assert_allclose(from_scale(values, scale), z, rtol=0, atol=1e-14)


@pytest.mark.parametrize("scale", ["arcsine", "logit"])
def test_right_and_wrong_mirror_each_other(scale):
    z, sigma2, n = every_count(10)
    values, variances = to_scale(z, sigma2, n, scale)
    middle = from_centre = {"arcsine": np.pi / 2, "logit": 0.0}[scale]
    assert_allclose(values + values[::-1], middle, rtol=0, atol=1e-14)
    assert_allclose(variances, variances[::-1], rtol=1e-12)
    means = from_scale_mean(values, variances, scale)
    assert_allclose(means + from_scale_mean(from_centre - values, variances, scale), 1, rtol=1e-12)


@pytest.mark.parametrize("scale", SCALES)
def test_back_transform_keeps_order_and_bounds(scale):
    values = np.linspace(-0.5 if scale == "arcsine" else -40, 4, 500)
    ends = from_scale(values, scale)
    assert np.all(np.diff(ends) >= 0)
    assert scale == "identity" or np.all((ends >= 0) & (ends <= 1))


@pytest.mark.parametrize("scale", SCALES)
def test_derivative_is_that_of_the_back_transform(scale):
    values, step = np.linspace(0.05, 1.5, 20), 1e-5
    slope = (from_scale(values + step, scale) - from_scale(values - step, scale)) / (2 * step)
    assert_allclose(scale_derivative(values, scale), slope, rtol=1e-8)  # error step^2


@pytest.mark.parametrize("scale", SCALES)
def test_no_variance_no_correction(scale):
    values = np.linspace(0.05, 1.5, 20)
    means = from_scale_mean(values, np.zeros(20), scale)
    assert_allclose(means, from_scale(values, scale), rtol=1e-12)


def expectation(transform, mean, variance):
    def weighted(x):
        return transform(mean + np.sqrt(variance) * x) * norm.pdf(x)

    return quad(weighted, -12, 12, epsabs=1e-12, limit=200)[0]


@pytest.mark.parametrize("mean", [0.0, 0.4, np.pi / 2])
@pytest.mark.parametrize("variance", [1e-3, 0.025, 0.25])
def test_arcsine_mean_against_quadrature(mean, variance):
    expected = expectation(lambda t: np.sin(t) ** 2, mean, variance)
    assert_allclose(from_scale_mean(mean, variance, "arcsine"), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("mean", [-6.0, -1.0, 0.0, 2.5])
@pytest.mark.parametrize(("variance", "accuracy"), [(0.1, 1e-11), (2.0, 1e-7), (4.0, 1e-5)])
def test_logit_mean_against_quadrature(mean, variance, accuracy):
    expected = expectation(lambda t: 1 / (1 + np.exp(-t)), mean, variance)
    assert_allclose(from_scale_mean(mean, variance, "logit"), expected, rtol=0, atol=accuracy)


def test_means_broadcast_over_groups():
    means = from_scale_mean(np.zeros((3, 4)), 1.0, "logit")
    assert_allclose(means, np.full((3, 4), 0.5), rtol=1e-14)


@pytest.mark.parametrize("accuracy", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("scale", ["arcsine", "logit"])
def test_variances_are_those_of_large_samples(accuracy, scale):
    n = 1000
    z, sigma2, sizes = every_count(n)
    values, variances = to_scale(z, sigma2, sizes, scale)
    probability = binom.pmf(np.arange(n + 1), n, accuracy)
    true = probability @ values**2 - (probability @ values) ** 2
    assert_allclose(probability @ variances, true, rtol=0.02)  # the next order is 10 / n


@pytest.mark.parametrize(
    ("n", "excess"), [(1, 0.1), (2, 0.05), (4, 0.02), (10, 0.004), (100, 5e-5)]
)
def test_effective_size(n, excess):
    z, sigma2, _ = every_count(n)
    ratio = _effective_size(z, sigma2) / n
    assert np.all((ratio >= 1 - 1e-12) & (ratio <= 1 + excess))


@pytest.mark.parametrize("scale", ["arcsine", "logit"])
def test_size_can_be_left_out(scale):
    z, sigma2, n = every_count(10)
    values, variances = to_scale(z, sigma2, n, scale)
    guessed_values, guessed_variances = to_scale(z, sigma2, None, scale)
    # The guessed size is 0.4 % off, the logit of all right moves by as much.
    assert_allclose(guessed_values, values, rtol=0, atol=0.005)
    assert_allclose(guessed_variances, variances, rtol=0.01)


def test_a_guessed_size_is_at_least_one():
    values, variances = to_scale([0.9], [3.0], None, "logit")
    assert_allclose(values, np.log(0.7 / 0.3), rtol=1e-12)  # (.9 + 1/2) / 2
    assert_allclose(variances, 3.0 / (1.9 / 3 * 1.1 / 3) ** 2, rtol=1e-12)


@pytest.mark.parametrize("scale", ["arcsine", "logit"])
def test_neither_size_nor_variance(scale):
    values, variances = to_scale([0.0, 0.5, 1.0], [0.0, 0.0, 0.0], None, scale)
    assert_array_equal(variances, [np.nan, 0, np.nan])
    assert_allclose(values[1], {"arcsine": np.pi / 4, "logit": 0.0}[scale], rtol=1e-14)


@pytest.mark.parametrize(
    "call",
    [
        lambda: to_scale([0.5], [0.1], [3], "probit"),
        lambda: from_scale([0.5], "probit"),
        lambda: from_scale_mean([0.5], [0.1], "probit"),
        lambda: scale_derivative([0.5], "probit"),
    ],
)
def test_unknown_scale_is_named(call):
    with pytest.raises(ValueError, match="scale must be one of .* got 'probit'"):
        call()


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("mean, variance", [(0.3, 0.02), (0.9, 0.2), (1.4, 0.05), (0.8, 0.0)])
def test_variance_on_the_way_back_against_quadrature(scale, mean, variance):
    back = {"identity": lambda t: t, "arcsine": lambda t: np.sin(t) ** 2}.get(
        scale, lambda t: 1 / (1 + np.exp(-t))
    )
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    values = back(mean + np.sqrt(variance) * nodes)
    weights = weights / weights.sum()
    expected = weights @ (values - weights @ values) ** 2
    # The quadrature for "logit" has 20 points.
    assert_allclose(from_scale_variance(mean, variance, scale), expected, rtol=1e-6, atol=1e-15)
