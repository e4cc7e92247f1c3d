"""F1 and AUC of many groups with positive variances, and a test of equal groups."""

import numpy as np
from scipy.stats import rankdata

from skbench.stats._arrays import floats

_ROUNDING = 1e-9  # relative tolerance of ties of the statistic
_PSEUDO = 2  # pseudo-observations that moderate the variance of few placements


def f1_score(k, n):
    """F1 from the number of true positives and the number of rows with any positive.

    Parameters
    ----------
    k : array-like of shape (n_groups,)
        Number of true positives.
    n : array-like of shape (n_groups,)
        Number of rows with a positive label, a positive prediction, or both; above 0.

    Returns
    -------
    ndarray of shape (n_groups,)
        ``2 k / (n + k)``, which is ``2 tp / (2 tp + fp + fn)``.

    Examples
    --------
    >>> f1_score([40, 0], [55, 3]).round(3)
    array([0.842, 0.   ])
    """
    k, n = floats(k, n)
    return 2 * k / (n + k)


def f1_variance(k, n):
    """Sampling variance of F1.

    Parameters
    ----------
    k, n
        As in `f1_score`.

    Returns
    -------
    ndarray of shape (n_groups,)
        Variance of F1, above 0 for any counts.

    Notes
    -----
    F1 is ``2 J / (1 + J)`` with ``J = k / n``, the Jaccard index. Given `n`, the number of true
    positives is binomial, so the delta method gives ``4 / (1 + J)^4 J (1 - J) / n``; `J` is
    smoothed, ``(k + 1) / (n + 2)``, as in `skbench.stats.binomial.sampling_variance`. True
    negatives do not enter. In simulations with true values of .5 to .95 and 15 to 120 rows, the
    mean estimate is .8 to 2.1 times the true variance, and largest near 1
    (test_f1_variance_is_honest).

    **When not to use it.** For an interval of a single group, transform the Wilson interval of `J`.

    Examples
    --------
    >>> f1_variance([40, 10, 0], [55, 10, 3]).round(4)
    array([0.0017, 0.0023, 0.1029])
    """
    k, n = floats(k, n)
    jaccard = (k + 1) / (n + 2)
    return 4 * jaccard * (1 - jaccard) / ((1 + jaccard) ** 4 * n)


def equality_p_value(z, n, rng, sigma2=None, n_draws=2000):
    """P value of the hypothesis that all groups have the same true value.

    Parameters
    ----------
    z : ndarray of shape (n_groups,)
        Shares ``k / n``, or other estimates if `sigma2` is given.
    n : ndarray of int of shape (n_groups,)
        Number of rows of each group.
    rng : numpy.random.Generator
        Source of randomness.
    sigma2 : ndarray of shape (n_groups,), default=None
        Sampling variances of estimates that are not shares; these count as normal.
    n_draws : int, default=2000
        Number of simulated sets of groups.

    Returns
    -------
    float
        At least ``1 / (n_draws + 1)``.

    Notes
    -----
    The statistic is ``sum n (z - mean)^2`` with the mean over all rows. For shares, rows are
    assigned to groups at random given the total number of successes, which is an exact test. Groups
    have the same F1 if they have the same Jaccard index, a share: ``z = k / n`` as in `f1_score`.
    For other estimates, the test is conservative if their variances are too large
    (test_equal_groups_are_rejected_at_the_level).

    Examples
    --------
    >>> z, n = np.array([0.7, 0.8, 0.3]), np.array([10, 10, 10])
    >>> round(equality_p_value(z, n, np.random.default_rng(0)), 1)
    0.1
    """
    if sigma2 is None:
        successes = int(np.rint(z * n).sum())
        null = rng.multivariate_hypergeometric(n, successes, n_draws, method="marginals") / n
    else:
        null = rng.normal(z.mean(), np.sqrt(sigma2), (n_draws, len(z)))
    sets = np.vstack([z, null])
    means = np.average(sets, axis=1, weights=n)
    statistic = np.average((sets - means[:, None]) ** 2, axis=1, weights=n)
    return float(np.mean(statistic >= statistic[0] * (1 - _ROUNDING)))


def grouped_auc(score, positive, code, n_groups):
    """Area under the ROC curve of each group, with a moderated DeLong variance.

    Parameters
    ----------
    score : ndarray of shape (n_rows,)
        Scores; higher means more likely positive.
    positive : ndarray of bool of shape (n_rows,)
        Which rows have a positive label.
    code : ndarray of int of shape (n_rows,)
        Group of each row, 0 to ``n_groups - 1``.
    n_groups : int
        Number of groups.

    Returns
    -------
    value, variance, freedom : ndarray of shape (n_groups,)
        The area, its variance (above 0) and the degrees of freedom of the variance; nan if a group
        lacks positives or negatives.

    Notes
    -----
    The placement of a positive is the share of negatives with a lower score, ties counting one
    half; the AUC is the mean placement. DeLong, DeLong and Clarke-Pearson (1988, Biometrics 44,
    837-845): the variance is ``s_1^2 / n_1 + s_0^2 / n_0`` with the sample variances of the
    placements of positives and of negatives. It is 0 if the classes are separated, and undefined
    for a single row of a class. Therefore each sample variance is averaged with 2
    pseudo-observations of the variance of placements of Hanley and McNeil (1982, Radiology 143,
    29-36). This is the mean of ``A / (2 - A) - A^2`` and ``2 A^2 / (1 + A) - A^2`` at the smoothed
    AUC ``A = (m AUC + 1) / (m + 2)``, where `m` is the size of the smaller class. Degrees of
    freedom are Satterthwaite's. t intervals with the bounds 0 and 1 cover .945 or more at 15 to 120
    rows and AUCs of .5 to .99 (test_auc_intervals_cover).

    **When not to use it.** Rows must be independent, so use at most one row per person.

    Examples
    --------
    >>> score, positive = np.array([0.9, 0.8, 0.3, 0.2]), np.array([True, True, False, False])
    >>> value, variance, freedom = grouped_auc(score, positive, np.zeros(4, dtype=int), 1)
    >>> value, variance.round(4)
    (array([1.]), array([0.0393]))
    """
    order = code * len(score) + rankdata(score, method="dense")  # sorted by group, then score
    n_1, n_0 = (np.bincount(code[own], minlength=n_groups) for own in (positive, ~positive))
    with np.errstate(invalid="ignore", divide="ignore"):
        auc, squares_1 = _placements(order, code, positive, n_1, n_0)
        _, squares_0 = _placements(order, code, ~positive, n_0, n_1)
        smaller = np.minimum(n_1, n_0)
        a = (smaller * auc + 1) / (smaller + 2)
        usual = (a / (2 - a) + 2 * a**2 / (1 + a)) / 2 - a**2
        n = np.stack([n_1, n_0])
        freedoms = n - 1 + _PSEUDO
        parts = (np.stack([squares_1, squares_0]) + _PSEUDO * usual) / (freedoms * n)
        variance = parts.sum(axis=0)
        return auc, variance, variance**2 / (parts**2 / freedoms).sum(axis=0)


def _placements(order, code, own, n_own, n_other):
    """Share of the other class below each row of a class: mean and sum of squares."""
    group, earlier = code[own], np.cumsum(n_other) - n_other
    below = rankdata(order)[own] - rankdata(order[own]) - earlier[group]  # ties count one half
    placement = below / n_other[group]
    mean = np.bincount(group, placement, len(n_own)) / n_own
    return mean, np.bincount(group, (placement - mean[group]) ** 2, len(n_own))
