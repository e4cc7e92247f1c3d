"""Prediction-powered means of a finite population: exactly the rows of a table."""

import numpy as np

from skbench.stats.intervals.moments import divided
from skbench.stats.ppi._difference import (
    _PSEUDO_LABELS,
    _quadratic,
    _smoothed,
    difference_estimate,
)


def finite_difference_estimate(labeled, unlabeled, power, bounds=None, ddof=1):
    """Difference estimate of the mean label of exactly these rows.

    Parameters
    ----------
    labeled, unlabeled, power, bounds, ddof
        As in `difference_estimate`.

    Returns
    -------
    DifferenceEstimate
        Estimates. `unlabeled_variance` is negative: it is the reduction of the variance because
        the population is finite.

    Notes
    -----
    This is the regression estimator of survey sampling (Cochran 1977, Sampling Techniques, section
    7.3). A random sample of `n` of the ``n + N`` rows has labels, and all rows have scores. So the
    variance is ``s^2 (1 / n - 1 / (n + N))`` with the variance `s^2` of the residuals
    ``y - (n + N) / N power @ f``. Given the scores the error has mean 0, so the judge's mean over
    all rows may be a feature of the group.

    Examples
    --------
    A perfect judge leaves no uncertainty about these rows.

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
