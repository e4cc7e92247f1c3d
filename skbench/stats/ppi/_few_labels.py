"""Choose the interval of a prediction-powered mean of few binary labels."""

import numpy as np
from scipy.special import ndtri, stdtrit

from skbench.stats.intervals.moments import divided

_LEVEL = 0.95  # confidence level of the compared widths; the choice is the same for all levels
_PSEUDO_LABELS = 4  # two at each end; see difference_estimate


def explained_share(labeled, pooled=False):
    """Proportion of the labels' variance that the judges explain, adjusted for chance.

    Parameters
    ----------
    labeled : skbench.stats.moments.Moments
        Moments of the labeled rows. The columns are the judges and, last, the human label.
    pooled : bool, default=False
        Whether all groups share one regression within groups.

    Returns
    -------
    ndarray of shape (n_groups,)
        Adjusted R squared, 0 to 1; 0 if labels do not vary or are too few.

    Examples
    --------
    >>> from skbench.stats.moments import group_moments
    >>> f, y = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0, 0.0])
    >>> moments = group_moments(np.column_stack([f, y]), np.zeros(4, dtype=int), 1)
    >>> print(explained_share(moments))  # 1/3 with 3 degrees of freedom, one of them used
    [0.]
    """
    products, freedom = labeled.products, labeled.n - 1.0
    if pooled:
        freedom = np.full(len(freedom), np.maximum(freedom, 0).sum())
        products = np.broadcast_to(products.sum(axis=0), products.shape)
    cross, total = products[:, :-1, -1], products[:, -1, -1]
    inverse = np.linalg.pinv(products[:, :-1, :-1], rcond=1e-10, hermitian=True)
    share = divided(np.einsum("gi,gij,gj->g", cross, inverse, cross), total)
    left = (1 - share) * divided(freedom, freedom - cross.shape[1])
    return np.clip(1 - np.nan_to_num(left, nan=1.0), 0, 1)


def t_interval_is_narrower(share, n, n_unlabeled, df):
    """Whether the t interval is expected to be narrower than Wilson's interval of the labels.

    Parameters
    ----------
    share : ndarray of shape (n_groups,)
        Explained proportion of the variance, from `explained_share`.
    n, n_unlabeled : ndarray of shape (n_groups,)
        Numbers of rows.
    df : ndarray of shape (n_groups,)
        Degrees of freedom of the t interval; nan without an interval.

    Returns
    -------
    ndarray of bool of shape (n_groups,)

    Notes
    -----
    The rule assumes a mean label of 1/2 and the optimal power. In units of the variance of the
    labels, with ``a = N / (n + N)`` and the explained proportion `R`, the smoothed variance of
    `difference_estimate` is ``((1 - (2 a - a^2) R) df + 4) / (n (df + 4)) + a^2 R / N``. Its
    product with the squared t quantile is compared with ``c^2 / (n + c^2)`` of Wilson's interval,
    where `c` is the normal quantile. Intervals that were chosen by their width covered 0.92 instead
    of 0.95 (test_automatic_interval).

    Examples
    --------
    With ten labels the judge must explain about 3/4 of the variance, with twenty about 1/3.

    >>> n = np.array([10, 10, 20, 20])
    >>> t_interval_is_narrower(np.array([0.7, 0.8, 0.3, 0.4]), n, 200, n - 2.0)
    array([False,  True, False,  True])
    """
    upper = (1 + _LEVEL) / 2
    a = n_unlabeled / np.maximum(n + n_unlabeled, 1)
    residual = (1 - (2 * a - a**2) * share) * df + _PSEUDO_LABELS
    unlabeled = a**2 * share / np.maximum(n_unlabeled, 1)
    variance = residual / (np.maximum(n, 1) * (df + _PSEUDO_LABELS)) + unlabeled
    c2 = ndtri(upper) ** 2
    return stdtrit(df, upper) ** 2 * variance < c2 / (n + c2)
