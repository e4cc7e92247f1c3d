"""Variances from few scores, shrunk toward the variance pooled over groups."""

from typing import NamedTuple

import numpy as np

from skbench.stats._arrays import floats

_NEGLIGIBLE = 1e-9  # relative variance that is due to rounding in a group of equal scores
_LEAST_SCORES = 4  # with fewer, the fourth cumulant has no unbiased estimate


class VarianceNoise(NamedTuple):
    """Reliability of sampling variances from few scores.

    Attributes
    ----------
    borrowed_freedom : float
        See `borrowed_freedom`.
    pooled_share : float
        Ratio of two pooled variances: with equal scores counted as variance 0, over that of the
        sampling variances, in which such groups have the pooled variance.
    """

    borrowed_freedom: float
    pooled_share: float


def variance_noise(n, squares, fourth_powers, sigma2, n_independent=None, variance="smoothed"):
    """Reliability of sampling variances from few scores.

    Parameters
    ----------
    n, squares, fourth_powers
        As in `borrowed_freedom`.
    sigma2 : array-like of shape (n_groups,)
        Sampling variances of group means, from `skbench.stats.means.pooled_mean_variance`.
    n_independent : array-like of shape (n_groups,), default=None
        Number of independent observations behind `sigma2`; None is `n`.
    variance : str, default="smoothed"
        "plug-in" uses each group's own variance, "pooled" the pooled one. Other values combine
        both by `borrowed_freedom`.

    Returns
    -------
    VarianceNoise or None
        None for "plug-in", for unknown variances, or if no group has a positive variance.

    Examples
    --------
    >>> variance_noise([2, 2], np.array([1.0, 0.0]), np.array([0.5, 0.0]), [0.5, 0.25])
    VarianceNoise(borrowed_freedom=inf, pooled_share=0.6666666666666666)
    """
    if variance == "plug-in" or not np.all(np.isfinite(sigma2)):
        return None
    independent = n if n_independent is None else n_independent
    n, squares, sigma2, independent = floats(n, squares, sigma2, independent)
    own = np.where(squares > _NEGLIGIBLE * n**2 * sigma2, sigma2, 0.0)
    if not own.any():
        return None
    share = pooled_variance(own, independent) / pooled_variance(sigma2, independent)
    pools = variance == "pooled"
    return VarianceNoise(np.inf if pools else borrowed_freedom(n, squares, fourth_powers), share)


def borrowed_freedom(n, squares, fourth_powers):
    """Degrees of freedom of the pooled variance, relative to a group's own variance.

    Parameters
    ----------
    n : array-like of shape (n_groups,)
        Number of scores.
    squares, fourth_powers : array-like of shape (n_groups,)
        Sums of the squares and of the fourth powers of the scores' distances to their group's mean,
        score units to the power of 2 and 4.

    Returns
    -------
    float
        0 or more; inf if sample variances differ no more than by chance, or no group has four
        scores.

    Notes
    -----
    With ``d = n - 1``, a group's own variance gets the weight ``d / (d + borrowed)``, which
    minimizes the squared error of `moderated_variance`. `borrowed` is the sampling variance of a
    sample variance, times `d`, over the variance of the true variances among groups. The former has
    the unbiased estimate ``(2 n k2^2 + (n - 1) k4) / (n (n + 1))`` with the group's k-statistics
    [1]_; the latter is estimated by moments as in [2]_. For normal scores, this is the prior
    degrees of freedom of [3]_.

    **When not to use it.** The variance of binary scores follows from their mean.

    References
    ----------
    .. [1] Kenney and Keeping (1951). Mathematics of Statistics, part two, 2nd ed., section 7.15.
    .. [2] Bühlmann and Straub (1970). Glaubwürdigkeit für Schadensätze. Mitteilungen der
       Vereinigung schweizerischer Versicherungsmathematiker 70.
    .. [3] Smyth (2004). Linear models and empirical Bayes methods for assessing differential
       expression in microarray experiments. Statistical Applications in Genetics and Molecular
       Biology 3.

    Examples
    --------
    >>> scores = np.random.default_rng(0).normal(size=(2000, 8))
    >>> def freedom(scores):
    ...     away = scores - scores.mean(axis=1, keepdims=True)
    ...     return borrowed_freedom(np.full(2000, 8), (away**2).sum(axis=1), (away**4).sum(axis=1))
    >>> print(f"{freedom(scores):.0f}")
    780
    >>> scores[:1000] *= 4
    >>> print(f"{freedom(scores):.1f}")  # 2 (1 + 16^2) / 2 over the variance of 1 and 16: 4.6
    4.4
    """
    n, squares, fourth_powers = floats(n, squares, fourth_powers)
    enough = n >= _LEAST_SCORES
    n, squares, fourth_powers = n[enough], squares[enough], fourth_powers[enough]
    if not squares.any():
        return np.inf
    d = n - 1
    k2 = squares / d
    k4 = (n * (n + 1) * fourth_powers - 3 * d * squares**2) / (d * (n - 2) * (n - 3))
    noise = (2 * n * k2**2 + d * k4) / (n * (n + 1))
    total = d.sum()
    share = d / total
    beyond_noise = share @ (k2 - share @ k2) ** 2 - share @ (noise * (1 - share))
    if not beyond_noise > 0:
        return np.inf
    true_variance = beyond_noise / (1 - share @ share)
    return float(max(0.0, share @ (d * noise)) / true_variance)


def pooled_variance(sigma2, n):
    """Variance of single scores, pooled over groups.

    Parameters
    ----------
    sigma2 : array-like of shape (n_groups,)
        Sampling variances of group means, score units squared.
    n : array-like of shape (n_groups,)
        Number of scores behind them.

    Returns
    -------
    float
        The mean of ``n sigma2`` with weights ``n - 1``, or equal weights if every `n` is 1.

    Examples
    --------
    >>> round(pooled_variance([0.1, 0.2], [11, 6]), 3)
    1.133
    """
    sigma2, n = floats(sigma2, n)
    weights = n - 1 if np.any(n > 1) else None
    return float(np.average(n * sigma2, weights=weights))


def moderated_variance(sigma2, n, pooled, borrowed, freedom=None):
    """Sampling variances, shrunk toward the pooled variance of single scores.

    Parameters
    ----------
    sigma2 : array-like of shape (n_groups,)
        Sampling variances of group means, each from its own scores; score units squared.
    n : array-like of shape (n_groups,)
        Number of scores behind them.
    pooled : float or array-like of shape (n_groups,)
        `pooled_variance`.
    borrowed : float
        `borrowed_freedom`: 0 or more, or inf.
    freedom : array-like of shape (n_groups,), default=None
        Degrees of freedom of `sigma2`; None is ``n - 1``.

    Returns
    -------
    ndarray of shape (n_groups,)
        ``(freedom n sigma2 + borrowed pooled) / ((freedom + borrowed) n)``.

    Examples
    --------
    >>> moderated_variance([0.1, 0.3], [5, 5], pooled=1.0, borrowed=4).round(3)
    array([0.15, 0.25])
    """
    sigma2, n = floats(sigma2, n)
    freedom = n - 1 if freedom is None else freedom
    weight = freedom / (freedom + borrowed) if borrowed > 0 else 1.0
    return weight * sigma2 + (1 - weight) * pooled / n
