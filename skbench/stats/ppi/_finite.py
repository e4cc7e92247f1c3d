"""Prediction-powered means of the very rows of a table."""

import numpy as np

from skbench.stats.intervals.moments import divided
from skbench.stats.ppi._difference import (
    _PSEUDO_LABELS,
    _quadratic,
    _smoothed,
    difference_estimate,
)


def finite_difference_estimate(labeled, unlabeled, power, bounds=None, ddof=1):
    """As `difference_estimate`, of the mean label of these very rows.

    Parameters
    ----------
    labeled, unlabeled, power, bounds, ddof
        As in `difference_estimate`.

    Returns
    -------
    DifferenceEstimate
        `unlabeled_variance` is negative: what the variance falls short of that without a finite
        population.

    Notes
    -----
    The regression estimator of survey sampling (Cochran 1977, Sampling Techniques, section 7.3). Of
    ``n + N`` rows, `n` drawn at random have labels, and the autorater's scores of all are known, so
    that the variance is ``s^2 (1 / n - 1 / (n + N))``, `s^2` that of the residuals
    ``y - (n + N) / N power @ f``. Given the scores its error has mean 0: the autorater's mean over
    all rows may be a feature of the group.

    Examples
    --------
    A perfect autorater leaves no doubt about these rows.

    >>> from skbench.stats.moments import group_moments
    >>> y, zeros = np.array([0.2, 0.4, 0.6]), np.zeros(3, dtype=int)
    >>> labeled = group_moments(np.column_stack([y, y])[:2], zeros[:2], 1)
    >>> unlabeled = group_moments(np.array([[0.6], [0.8]]), zeros[:2], 1)
    >>> e = finite_difference_estimate(labeled, unlabeled, np.full((1, 1), 0.5))
    >>> print(e.value.round(3), e.variance.round(3))
    [0.5] [0.]
    """
    n, N = labeled.n, unlabeled.n
    found = difference_estimate(labeled, unlabeled, power)
    full = found.power * divided(n + N, N)[:, None]
    contrast = np.column_stack([-np.where(found.power == 0, 0.0, full), np.ones(len(n))])
    df = np.where(n > ddof, n - ddof, np.nan)
    infinite = _quadratic(contrast, labeled.products) / (n * df)
    if bounds is not None:
        infinite = _smoothed(infinite, labeled.mean[:, -1], n, bounds, df, _PSEUDO_LABELS)
    known = -infinite * n / np.maximum(n + N, 1)
    return found._replace(variance=infinite + known, unlabeled_variance=known, df=df)
