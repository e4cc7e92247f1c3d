"""The way back from Anscombe's scale where it is biased."""

import numpy as np
from scipy.stats import binom

from skbench.stats.scales._transforms import from_scale

_POINTS = 200  # of the table between 0 and where the bias stops to matter
_MOST_WRONG = 25  # answers, of the half a one that is expected there


def from_anscombe(values, variances):
    """Proportions whose transformed shares have these means.

    Parameters
    ----------
    values : array-like
        Means on the scale of `anscombe`, of any size.
    variances : array-like
        Sampling variances that `anscombe` gave, of a shape that goes with `values`.

    Returns
    -------
    ndarray
        ``sin(values)^2`` where at least half an item is expected to be wrong, and right; nearer to
        0 and 1 more and more the proportion `p` with
        ``E asin sqrt((k + 3/8) / (n + 3/4)) = values``, `k` binomial.

    Notes
    -----
    ``3/8`` keeps the transformed share off the ends: ten right answers of ten are .965 on the
    scale, and so is a mean of groups that are hardly ever wrong. Taken back by the sine alone,
    intervals of groups with accuracy .995 covered it in one set of ten
    (test_nearly_perfect_groups_are_covered). Keeps order.

    Examples
    --------
    >>> import numpy as np
    >>> from_anscombe(np.array([0.7854, 1.2490, 1.3739]), 1 / 42).round(3)
    array([0.5  , 0.9  , 0.992])
    """
    values, variances = np.broadcast_arrays(np.asarray(values, dtype=float), variances)
    # The end that is near: by symmetry it is 0.
    upper = values > np.pi / 4
    near = np.where(upper, np.pi / 2 - values, values)
    size = np.maximum(np.round((1 / variances - 2) / 4), 1)
    exact = np.empty(values.shape)
    for n in np.unique(size):
        exact[size == n] = _inverse_mean(near[size == n], n)
    share = np.minimum(2 * size * exact * (1 - exact), 1)
    exact = np.where(upper, 1 - exact, exact)
    return share * from_scale(values, "arcsine") + (1 - share) * exact


def _inverse_mean(values, n):
    """Proportions with these means, by a table; no more than leave half an item on one side."""
    most = (1 - np.sqrt(1 - 2 / max(n, 2))) / 2
    p = np.linspace(0, most, _POINTS)[:, None]
    k = np.arange(min(n, _MOST_WRONG) + 1)
    mean = binom.pmf(k, n, p) @ np.arcsin(np.sqrt((k + 0.375) / (n + 0.75)))
    return np.interp(values, mean, p[:, 0])
