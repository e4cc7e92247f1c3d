"""Model-assisted means: predictions of all items, corrected by the observed residuals."""

from typing import NamedTuple

import numpy as np

_FREE = 4.0  # squared standardized difference up to which the model-based estimate is kept


class AssistedMean(NamedTuple):
    """Means over all items with sampling variances; arrays of shape (n_groups,)."""

    value: np.ndarray
    variance: np.ndarray


def assisted_mean(residual, weight, group, predicted_mean, size, residual_variance=None):
    """Difference estimator: mean prediction plus mean residual.

    Parameters
    ----------
    residual : ndarray of shape (n_items,)
        Score minus prediction for each answered item. The prediction must not use the item's own
        score.
    weight : ndarray of shape (n_items,)
        Inverse inclusion probabilities.
    group : ndarray of int of shape (n_items,)
        Group of each item.
    predicted_mean : ndarray of shape (n_groups,)
        Mean prediction over all items of each group.
    size : ndarray of shape (n_groups,)
        Number of all items of each group.
    residual_variance : ndarray of shape (n_groups,), default=None
        Variance of a residual. None stands for the sample variance within each group.

    Returns
    -------
    AssistedMean
        Estimates, which are nan for a group without an answered item.

    Notes
    -----
    The estimate is ``mean f + sum w r / sum w``, with variance ``sum w^2 v / (sum w)^2 (1 - n /
    N)``. It is the difference estimator of survey sampling [1]_, or AIPW [2]_. If the answered
    items are a random sample, it is unbiased even if the predictions are poor.

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
    """Combine a model-based estimate with a model-assisted one if the two disagree.

    Parameters
    ----------
    value, variance : float or ndarray
        Posterior mean and variance of the model.
    assisted, assisted_variance : float or ndarray
        The model-assisted estimate and its sampling variance.

    Returns
    -------
    value, variance, share
        Combined estimate, its variance, and the weight of the model-assisted estimate.

    Notes
    -----
    If the model is correct, the difference of the estimates has variance ``assisted_variance -
    variance`` (Hausman). Let `q` be the squared difference divided by this variance. The
    model-assisted estimate gets the weight ``1 - min(1, 4 / q)``, and the variance is that of a
    mixture. If all items were answered or all residuals are equal, the model-based estimate is
    returned.

    Examples
    --------
    >>> [round(float(x), 4) for x in combined(0.5, 0.0004, 0.62, 0.0009)]
    [0.6033, 0.0026, 0.8611]
    """
    gap = (assisted - value) ** 2
    expected = np.maximum(assisted_variance - variance, 0.25 * assisted_variance)
    with np.errstate(invalid="ignore", divide="ignore"):
        disagree = (gap > _FREE * expected) & (expected > 0)
        share = np.where(disagree, 1 - _FREE * expected / gap, 0.0)
    share = np.where(np.isfinite(assisted), share, 0.0)
    other = np.where(share > 0, assisted, value)
    other_variance = np.where(share > 0, assisted_variance, variance)
    mixed = (1 - share) * variance + share * other_variance
    mixed = mixed + share * (1 - share) * (other - value) ** 2
    return value + share * (other - value), mixed, share
