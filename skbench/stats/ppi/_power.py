"""The power of judges: their weights in a prediction-powered mean."""

import numpy as np

from skbench.stats.intervals.moments import divided, group_moments


def tuned_power(labeled, unlabeled, pooled=False, share=None):
    """Power of the judges that minimizes the variance of the difference estimate.

    Parameters
    ----------
    labeled : skbench.stats.moments.Moments
        Moments of the labeled rows. The columns are the judges and, last, the human label.
    unlabeled : skbench.stats.moments.Moments
        Moments of the unlabeled rows. The columns are the judges.
    pooled : bool, default=False
        Whether all groups share one regression of labels on scores within groups. The power still
        depends on each group's numbers of rows.
    share : ndarray of shape (n_groups,), default=None
        Replacement of ``N / (n + N)`` in the notes, from `clustered_share`.

    Returns
    -------
    ndarray of shape (n_groups, n_autoraters)
        Power of each judge, between 0 and 1 for a single judge. It is 0 for a judge with constant
        scores and in groups with fewer than two unlabeled rows.

    Notes
    -----
    With the covariance `c` of scores and label over the `n` labeled rows and the covariance matrix
    `S` of the scores over all rows, the variance of the difference estimate is smallest at
    ``S^-1 c N / (n + N)`` [1]_. As in the authors' software `c` has the divisor n and `S` the
    divisor ``n + N - 1``, and the power of a single judge is clipped to [0, 1]. If `pooled`, the
    divisor of `c` is 1 more than the degrees of freedom within groups.

    When not to use it: with about 10 labels per group unless `pooled`, because the power is then
    mostly noise.

    References
    ----------
    .. [1] Angelopoulos, Duchi and Zrnic (2023). PPI++: Efficient Prediction-Powered Inference.

    Examples
    --------
    >>> from skbench.stats.moments import group_moments
    >>> zeros = lambda n: np.zeros(n, dtype=int)
    >>> f, y = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 0.0, 0.0, 1.0])
    >>> labeled = group_moments(np.column_stack([f, y]), zeros(4), 1)
    >>> unlabeled = group_moments(np.tile([0.0, 1.0], 6)[:, None], zeros(12), 1)
    >>> print(tuned_power(labeled, unlabeled).round(3))
    [[0.352]]
    """
    n, N = labeled.n, unlabeled.n
    slope = _slope(labeled, pooled_products(labeled, unlabeled), n + N, pooled)
    share = N / np.maximum(n + N, 1) if share is None else share
    return usable_power(slope * share[:, None], N)


def clustered_share(labeled, codes, n_groups, clusters):
    """Factor of the regression slope that gives the best power for clustered rows.

    Parameters
    ----------
    labeled, codes, clusters : ndarray of shape (n_rows,)
        Whether rows have a label, and the group and cluster of each row.
    n_groups : int
        Number of groups.

    Returns
    -------
    ndarray of shape (n_groups,)

    Notes
    -----
    The factor is ``(sum p_c (p_c - q_c) + 1/n) / (sum (p_c - q_c)^2 + 1/n + 1/N)`` with a cluster's
    shares `p_c` of the labeled and `q_c` of the unlabeled rows. It is optimal if half of the
    variance is between clusters. Without clusters it is ``N / (n + N)``.

    Examples
    --------
    >>> labeled, zeros = np.array([True, True, False, False]), np.zeros(4, dtype=int)
    >>> print(clustered_share(labeled, zeros, 1, np.arange(4)))
    [0.5]
    >>> print(clustered_share(labeled, zeros, 1, np.array([0, 1, 2, 2])).round(3))
    [0.4]
    """
    size = int(clusters.max()) + 1
    group_of = np.zeros(size, dtype=int)
    group_of[clusters] = codes
    n = np.bincount(codes[labeled], minlength=n_groups)
    N = np.bincount(codes[~labeled], minlength=n_groups)
    p = np.bincount(clusters[labeled], minlength=size) / np.maximum(n, 1)[group_of]
    q = np.bincount(clusters[~labeled], minlength=size) / np.maximum(N, 1)[group_of]
    own, other = 1 / np.maximum(n, 1), 1 / np.maximum(N, 1)
    shared = np.bincount(group_of, p * (p - q), n_groups)
    apart = np.bincount(group_of, (p - q) ** 2, n_groups)
    return np.maximum(shared + own, 0) / (apart + own + other)


def weighted_power(autorater, y, labeled, codes, n_groups, weights, pooled=False):
    """Tuned power for rows with unequal probabilities of being labeled.

    Parameters
    ----------
    autorater : ndarray of shape (n_rows, n_autoraters)
        Scores of the judges in all rows.
    y, labeled, codes, weights : ndarray of shape (n_rows,)
        Human labels, whether rows have a label, groups, and the inverse of the probability of being
        labeled.
    n_groups : int
        Number of groups.
    pooled : bool, default=False
        As in `tuned_power`.

    Returns
    -------
    ndarray of shape (n_groups, n_autoraters)

    Notes
    -----
    The power is the weighted regression slope of labels on scores, for an estimate with the judge's
    mean over all rows.

    Examples
    --------
    >>> f, y = np.array([[0.0], [1.0], [0.0], [1.0]]), np.array([0.1, 0.6, np.nan, np.nan])
    >>> zeros = np.zeros(4, dtype=int)
    >>> print(weighted_power(f, y, ~np.isnan(y), zeros, 1, np.ones(4)).round(3))
    [[0.375]]
    """
    rows = np.column_stack([autorater, y])[labeled]
    labels = group_moments(rows, codes[labeled], n_groups, weights[labeled])
    everything = group_moments(autorater, codes, n_groups)
    slope = _slope(labels, everything.products, everything.n, pooled)
    return usable_power(slope, everything.n - labels.n)


def pooled_products(labeled, unlabeled):
    """Products of the scores over labeled and unlabeled rows together."""
    gap = labeled.mean[:, :-1] - unlabeled.mean
    both = divided(labeled.n * unlabeled.n, labeled.n + unlabeled.n)
    between = both[:, None, None] * gap[:, :, None] * gap[:, None, :]
    between = np.where((labeled.n * unlabeled.n > 0)[:, None, None], between, 0.0)
    return labeled.products[:, :-1, :-1] + unlabeled.products + between


def _slope(labeled, squares, n_rows, pooled):
    """Regression slopes of labels on scores, given the squares of the scores over all rows."""
    covariance = labeled.products[:, :-1, -1]
    divisor, freedom = np.maximum(labeled.n, 1), np.maximum(n_rows - 1, 1)
    if pooled:
        covariance = np.broadcast_to(covariance.sum(axis=0), covariance.shape)
        squares = np.broadcast_to(squares.sum(axis=0), squares.shape)
        divisor, freedom = np.maximum(labeled.n - 1, 0).sum() + 1, freedom.sum()
    covariance = covariance / np.reshape(divisor, (-1, 1))
    spread = squares / np.reshape(freedom, (-1, 1, 1))
    if covariance.shape[1] == 1:
        return np.nan_to_num(divided(covariance, spread[:, :, 0]))
    inverse = np.linalg.pinv(spread, rcond=1e-10, hermitian=True)
    return np.einsum("gij,gj->gi", inverse, covariance)


def usable_power(power, n_unlabeled):
    """Clip the power of a single judge; 0 with fewer than two unlabeled rows."""
    power = np.clip(power, 0, 1) if power.shape[1] == 1 else power
    return np.where((n_unlabeled >= 2)[:, None], power, 0.0)
