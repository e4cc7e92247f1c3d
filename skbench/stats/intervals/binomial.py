"""Confidence intervals and sampling variances of proportions of correct answers."""

import numpy as np
from scipy.special import betaincinv, ndtri

from skbench.stats._arrays import floats
from skbench.stats.intervals.moments import divided


def wilson_interval(k, n, confidence_level=0.95):
    """Wilson score interval of a proportion.

    It contains the accuracies that the score test does not reject. Coverage is close to nominal on
    average over accuracies, but not at each accuracy.

    Parameters
    ----------
    k : array-like of shape (n_groups,)
        Number of correct answers, 0 to `n`.
    n : array-like of shape (n_groups,)
        Number of items, at least 1. Broadcasts against `k`.
    confidence_level : float, default=0.95
        Nominal coverage.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)
        Ends of the interval, between 0 and 1.

    Notes
    -----
    ``(k + c^2/2 -+ c sqrt(k (n - k)/n + c^2/4)) / (n + c^2)`` with `c` the normal quantile (Wilson
    1927, JASA 22, 209-212). Measured by enumeration at level .95 (test_wilson_covers_on_average):
    the mean coverage over accuracies between 0 and 1 is .957, .957, .955, .954 and .952 at n = 1,
    2, 5, 10 and 50; the lowest coverage, always near 0 or 1, is .793, .820, .832, .835 and .838.

    **When not to use it.** If every accuracy must be covered, use `clopper_pearson_interval`.

    Examples
    --------
    >>> low, high = wilson_interval(7, 10)
    >>> print(f"{low:.4f} {high:.4f}")
    0.3968 0.8922
    """
    k, n = floats(k, n)
    c = ndtri((1 + confidence_level) / 2)
    return _score_low(k, n, c), 1 - _score_low(n - k, n, c)


def wilson_interval_of_mean(value, variance, n, confidence_level=0.95):
    """Wilson interval of a mean of proportions, with the effective number of items.

    Parameters
    ----------
    value : array-like of shape (n_means,)
        Means of proportions, 0 to 1.
    variance : array-like of shape (n_means,)
        Unbiased sampling variances of the means; 0 if all answers of each part are alike.
    n : array-like of shape (n_means,)
        Total number of items of all parts.
    confidence_level : float, default=0.95
        Nominal coverage.

    Returns
    -------
    low, high : ndarray of shape (n_means,)
        Ends of the interval, between 0 and 1.

    Notes
    -----
    Wilson's interval with the effective number of items ``value (1 - value) / variance + 1`` (Dean
    and Pagano 2015, Journal of Survey Statistics and Methodology 3), or `n` if the variance is 0.
    In simulations at level .95 (test_wilson_interval_of_a_mean_covers), it covered .95 to .97 for 4
    to 57 parts of 10 or 20 items around .9; t intervals covered .89 to .93.

    Examples
    --------
    >>> low, high = wilson_interval_of_mean(0.7, 0.3 * 0.7 / 9, 10)
    >>> print(f"{low:.4f} {high:.4f}")
    0.3968 0.8922
    """
    value, variance = floats(value, variance)
    effective = np.where(variance == 0, n, divided(value * (1 - value), variance) + 1)
    return wilson_interval(value * effective, effective, confidence_level)


def clopper_pearson_interval(k, n, confidence_level=0.95):
    """Clopper-Pearson ("exact") interval of a proportion.

    It covers every accuracy with at least the confidence level and is wider than other intervals.

    Parameters
    ----------
    k, n, confidence_level
        As in `wilson_interval`; coverage is at least the level.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)
        Ends of the interval, between 0 and 1. `low` is 0 if ``k = 0``, and `high` is 1 if ``k =
        n``.

    Notes
    -----
    Quantiles of Beta(k, n - k + 1) and Beta(k + 1, n - k) (Clopper and Pearson 1934, Biometrika 26,
    404-413): the accuracies that neither one-sided binomial test of level ``alpha / 2`` rejects.

    Examples
    --------
    >>> low, high = clopper_pearson_interval(7, 10)
    >>> print(f"{low:.4f} {high:.4f}")
    0.3475 0.9333
    """
    k, n = floats(k, n)
    alpha = 1 - confidence_level
    return _exact_low(k, n, alpha), 1 - _exact_low(n - k, n, alpha)


def jeffreys_interval(k, n, confidence_level=0.95):
    """Equal-tailed posterior interval of a proportion under the Jeffreys prior.

    Parameters
    ----------
    k, n, confidence_level
        As in `wilson_interval`; the level is a posterior probability.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)
        Ends of the interval, strictly between 0 and 1.

    Notes
    -----
    Quantiles of Beta(k + 1/2, n - k + 1/2) (Brown, Cai and DasGupta 2001, Statistical Science 16,
    101-133), at every k: the convention of setting `low` to 0 at ``k = 0`` and `high` to 1 at
    ``k = n`` is not applied.

    Examples
    --------
    >>> low, high = jeffreys_interval(7, 10)
    >>> print(f"{low:.4f} {high:.4f}")
    0.3942 0.9073
    """
    k, n = floats(k, n)
    alpha = 1 - confidence_level
    correct, incorrect = k + 0.5, n - k + 0.5
    return betaincinv(correct, incorrect, alpha / 2), 1 - betaincinv(incorrect, correct, alpha / 2)


def agresti_coull_interval(k, n, confidence_level=0.95):
    """Agresti-Coull interval of a proportion: Wald after adding pseudo-answers.

    Parameters
    ----------
    k, n, confidence_level
        As in `wilson_interval`.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)
        Ends of the interval, clipped to 0 and 1.

    Notes
    -----
    ``p -+ c sqrt(p (1 - p) / m)`` with ``m = n + c^2`` and ``p = (k + c^2/2) / m`` (Agresti and
    Coull 1998, The American Statistician 52, 119-126); it has the center of the Wilson interval and
    contains it.

    Examples
    --------
    >>> low, high = agresti_coull_interval(7, 10)
    >>> print(f"{low:.4f} {high:.4f}")
    0.3923 0.8967
    """
    k, n = floats(k, n)
    c = ndtri((1 + confidence_level) / 2)
    size = n + c**2
    p = (k + c**2 / 2) / size
    half_width = c * np.sqrt(p * (1 - p) / size)
    return np.clip(p - half_width, 0, 1), np.clip(p + half_width, 0, 1)


def wald_interval(k, n, confidence_level=0.95):
    """Wald interval of a proportion: plus or minus normal standard errors.

    Parameters
    ----------
    k, n, confidence_level
        As in `wilson_interval`.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)
        Ends of the interval, clipped to 0 and 1.

    Notes
    -----
    ``p -+ c sqrt(p (1 - p) / n)`` with ``p = k / n``.

    Examples
    --------
    >>> low, high = wald_interval([7, 10], 10)
    >>> print(low.round(3), high.round(3))
    [0.416 1.   ] [0.984 1.   ]
    """
    k, n = floats(k, n)
    p = k / n
    half_width = ndtri((1 + confidence_level) / 2) * np.sqrt(p * (1 - p) / n)
    return np.clip(p - half_width, 0, 1), np.clip(p + half_width, 0, 1)


def sampling_variance(k, n, method="smoothed", prior_mean=None):
    """Sampling variance of a proportion of correct answers.

    The variance is ``p (1 - p) / n``; the methods differ in the accuracy `p`.

    Parameters
    ----------
    k, n
        As in `wilson_interval`.
    method : {"smoothed", "plug-in", "agresti", "pooled", "model"}, default="smoothed"
        - "smoothed": ``p = (k + 1) / (n + 2)``, never 0;
        - "plug-in": ``p = k / n``, which gives 0 at ``k = 0`` and ``k = n``;
        - "agresti": ``p = (k + 2) / (n + 4)``;
        - "pooled": ``p = sum(k) / sum(n)``, one accuracy for all groups;
        - "model": ``p = prior_mean``, the prediction of a regression.
    prior_mean : array-like of shape (n_groups,), default=None
        Predicted accuracies; used by "model" only.

    Returns
    -------
    ndarray of shape (n_groups,)
        Variance of ``k / n``, score units squared.

    Notes
    -----
    "agresti" uses the center of the 95% Agresti-Coull interval with its quantile rounded to 2.
    "model" clips predictions to ``1 / (2 n + 2)`` and one minus that. "pooled" is 0 if all answers
    of all groups are alike.

    **When not to use it.** Do not shrink with "plug-in": a group with variance 0 is never shrunk.

    Examples
    --------
    >>> sampling_variance([7, 10], 10).round(4)
    array([0.0222, 0.0076])
    >>> sampling_variance([7, 10], 10, method="plug-in").round(4)
    array([0.021, 0.   ])
    """
    k, n = floats(k, n)
    if method == "smoothed":
        p = (k + 1) / (n + 2)
    elif method == "plug-in":
        p = k / n
    elif method == "agresti":
        p = (k + 2) / (n + 4)
    elif method == "pooled":
        p = k.sum() / n.sum()
    elif method == "model":
        edge = 1 / (2 * n + 2)
        p = np.clip(prior_mean, edge, 1 - edge)
    else:
        raise ValueError(
            f"method must be 'smoothed', 'plug-in', 'agresti', 'pooled' or 'model', got {method!r}."
        )
    return p * (1 - p) / n


def unbiased_variance(k, n):
    """Unbiased estimate of the sampling variance of a proportion.

    Parameters
    ----------
    k, n : array-like of shape (n_groups,)
        Successes and trials.

    Returns
    -------
    ndarray of shape (n_groups,)
        ``z (1 - z) / (n - 1)`` with ``z = k / n``; nan if ``n = 1``.

    Notes
    -----
    Its expectation is ``p (1 - p) / n`` for any `p`, so its means over groups can be subtracted
    from mean squares. It is 0 if all trials agree; `sampling_variance` is never 0 by default.

    Examples
    --------
    >>> unbiased_variance([5, 10], [10, 10]).round(4)
    array([0.0278, 0.    ])
    """
    k, n = floats(k, n)
    variance = np.full(n.shape, np.nan)
    return np.divide(k * (n - k), n**2 * (n - 1), out=variance, where=n > 1)


def _score_low(k, n, c):
    """Lower Wilson end; the upper one is its mirror image."""
    # c * c has the exact root c (c**2 may not), so the ends are exactly 0 at k = 0 and 1 at k = n.
    square = c * c
    return (k + square / 2 - c / 2 * np.sqrt(4 * k * (1 - k / n) + square)) / (n + square)


def _exact_low(k, n, alpha):
    """Lower Clopper-Pearson end; the upper one is its mirror image."""
    some = np.where(k > 0, k, 1)  # the beta distribution does not exist at k = 0
    return np.where(k > 0, betaincinv(some, n - some + 1, alpha / 2), 0.0)


# By the names in the estimators' parameters.
INTERVALS = {
    "wilson": wilson_interval,
    "clopper-pearson": clopper_pearson_interval,
    "jeffreys": jeffreys_interval,
    "agresti-coull": agresti_coull_interval,
    "wald": wald_interval,
}
