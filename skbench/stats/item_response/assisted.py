"""Assisted means: predictions of all items, corrected by the items that were asked."""

from typing import NamedTuple

import numpy as np

_FREE = 4.0  # squared standardized difference up to which the model rules


class AssistedMean(NamedTuple):
    """Means over all items with sampling variances; arrays of shape (n_groups,)."""

    value: np.ndarray
    variance: np.ndarray


def assisted_mean(residual, weight, group, predicted_mean, size, residual_variance=None):
    """Difference estimator: mean prediction plus mean residual.

    Parameters
    ----------
    residual : ndarray of shape (n_items,)
        Score less prediction of the items asked, predicted without their own score.
    weight : ndarray of shape (n_items,)
        Inverse of the chance of being asked.
    group : ndarray of int of shape (n_items,)
        Group of each item.
    predicted_mean : ndarray of shape (n_groups,)
        Mean prediction of all items of each group.
    size : ndarray of shape (n_groups,)
        Number of all items of each group.
    residual_variance : ndarray of shape (n_groups,), default=None
        Variance of a residual; None for the sample variance within each group.

    Returns
    -------
    AssistedMean
        nan for a group without an item asked.

    Notes
    -----
    ``mean f + sum w r / sum w``, with variance ``sum w^2 v / (sum w)^2 (1 - n / N)``: the
    difference estimator of survey sampling [1]_, or AIPW [2]_. Without bias whatever the
    predictions are worth, if the items asked are a random sample.

    References
    ----------
    .. [1] Saerndal, Swensson and Wretman (1992). Model Assisted Survey Sampling. Springer.
    .. [2] Zhang and Hardt (2025). How benchmark prediction from fewer data misses the mark.

    Examples
    --------
    >>> residual = np.array([0.1, -0.1, 0.3])
    >>> one = np.array([0.5]), np.array([30])
    >>> mean = assisted_mean(residual, np.ones(3), np.zeros(3, int), *one)
    >>> mean.value.round(2), mean.variance.round(4)
    (array([0.6]), array([0.012]))
    """
    k = len(size)
    total = np.bincount(group, weight, k)
    n = np.bincount(group, minlength=k)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = weight / total[group]
        mean = np.bincount(group, share * residual, k)
        if residual_variance is None:
            away = np.bincount(group, share * (residual - mean[group]) ** 2, k)
            residual_variance = away * n / (n - 1)
        variance = np.bincount(group, share**2, k) * residual_variance * (1 - n / size)
    nothing = n == 0
    return AssistedMean(
        np.where(nothing, np.nan, predicted_mean + mean), np.where(nothing, np.nan, variance)
    )


def combined(value, variance, assisted, assisted_variance):
    """A model's estimate, and the assisted one as far as the two disagree.

    Parameters
    ----------
    value, variance : float or ndarray
        Posterior mean and variance of the model.
    assisted, assisted_variance : float or ndarray
        The assisted estimate and its sampling variance.

    Returns
    -------
    value, variance, share
        Combination, its variance, and the weight of the assisted estimate.

    Notes
    -----
    If the model is right the two differ by a variance of ``assisted_variance - variance``
    (Hausman). With `q` the squared difference over that, the assisted estimate has the weight
    ``1 - min(1, 4 / q)``. The variance is that of a mixture. Where nothing is left to ask, or all
    residuals are alike, the model's estimate stands.

    Examples
    --------
    >>> [round(float(x), 4) for x in combined(0.5, 0.0004, 0.62, 0.0009)]
    [0.6033, 0.0026, 0.8611]
    """
    gap = (assisted - value) ** 2
    expected = np.maximum(assisted_variance - variance, 0.25 * assisted_variance)
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = (gap > _FREE * expected) & (expected > 0)
        share = np.where(apart, 1 - _FREE * expected / gap, 0.0)
    share = np.where(np.isfinite(assisted), share, 0.0)
    other = np.where(share > 0, assisted, value)
    other_variance = np.where(share > 0, assisted_variance, variance)
    mixed = (1 - share) * variance + share * other_variance
    mixed = mixed + share * (1 - share) * (other - value) ** 2
    return value + share * (other - value), mixed, share
