"""Scales on which the variance of a proportion depends less on it, and the way back.

A scale is one of "identity", "arcsine" (``asin sqrt z``) and "logit" (``log z / (1 - z)``).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

_NODES, _WEIGHTS = np.polynomial.hermite.hermgauss(20)


def to_scale(z, sigma2, n, scale):
    """Proportions and their sampling variances on another scale.

    Parameters
    ----------
    z : array-like of shape (n_groups,)
        Proportions, 0 to 1.
    sigma2 : array-like of shape (n_groups,)
        Their sampling variances, score units squared.
    n : array-like of shape (n_groups,) or None
        Number of items. None takes the size that `sigma2` speaks of.
    scale : {"identity", "arcsine", "logit"}
        Where to go.

    Returns
    -------
    values, variances : ndarray of shape (n_groups,)
        On the scale: radians for "arcsine", log odds for "logit".

    Notes
    -----
    "arcsine" gives ``asin sqrt z`` with variance ``sigma2 / (4 p (1 - p))``, "logit" gives the log
    odds of ``(k + 1/2) / (n + 1)``, finite at every `k`, with variance ``sigma2 / (p (1 - p))^2``;
    in both ``k = z n`` and ``p = (k + 1) / (n + 2)``. With the smoothed variance ``p (1 - p) / n``
    these are exactly ``1 / (4 n)`` and ``1 / (n p (1 - p))``. Where `sigma2` is 0 at ``z = 0`` or
    ``z = 1`` (plug-in), the smoothed variance replaces it.

    Without `n`, the size is that whose smoothed variance is `sigma2`, from
    ``z (1 - z) / n + (1 - 4 z (1 - z)) / (n (n + 3)) = sigma2``, which is up to 10 % too large at n
    = 1 and 2 % from n = 4 on (test_effective_size), and at least 1. A `sigma2` of 0 then means a
    known proportion; at ``z = 0`` or ``z = 1`` nobody can tell how well it is known, and the
    variance is nan.

    Examples
    --------
    >>> values, variances = to_scale([0.5, 1.0], [0.025, 0.0], [10, 10], "arcsine")
    >>> print(values.round(4), variances)
    [0.7854 1.5708] [0.025 0.025]
    """
    to = _named(scale)
    z, sigma2 = np.asarray(z, dtype=float), np.asarray(sigma2, dtype=float)
    if scale == "identity":
        return z.copy(), sigma2.copy()
    size = _effective_size(z, sigma2) if n is None else np.asarray(n, dtype=float)
    p = z + (1 - 2 * z) / (size + 2)  # (k + 1) / (n + 2), and z for an infinite size
    plug_in_zero = (sigma2 == 0) & ((z == 0) | (z == 1))
    variance = np.where(plug_in_zero, p * (1 - p) / size, sigma2)
    return to.forward(z, size), variance * to.squared_slope(p)


def from_scale(values, scale):
    """Proportions that belong to values on a scale; keeps order, so fit for interval ends.

    Parameters
    ----------
    values : array-like of shape (n_groups,)
        Values on the scale, of any size.
    scale : {"identity", "arcsine", "logit"}
        Where they are.

    Returns
    -------
    ndarray of shape (n_groups,)
        Proportions: `values`, ``sin(values)^2`` of values clipped to ``[0, pi / 2]``, or
        ``1 / (1 + exp(-values))``.

    Notes
    -----
    The inverse of the transforms of `to_scale`, except that "logit" does not undo the smoothing by
    half an answer.

    Examples
    --------
    >>> from_scale([-0.2, 0.7854, 2.0], "arcsine").round(3)
    array([0. , 0.5, 1. ])
    """
    return _named(scale).back(np.asarray(values, dtype=float))


def within_scale(values, scale):
    """Nearest values that a proportion can have on a scale.

    Parameters
    ----------
    values : array-like of shape (n_groups,)
        Values on the scale, of any size.
    scale : {"identity", "arcsine", "logit"}
        Where they are.

    Returns
    -------
    ndarray of shape (n_groups,)
        On "arcsine" cut to ``[0, pi / 2]``: the sine turns back beyond. Others as they are.

    Examples
    --------
    >>> within_scale([-0.2, 0.5, 2.0], "arcsine").round(2)
    array([0.  , 0.5 , 1.57])
    """
    return _named(scale).nearest(np.asarray(values, dtype=float))


def from_scale_mean(mean, variance, scale):
    """Mean of a proportion whose value on a scale is normal.

    Parameters
    ----------
    mean : array-like of shape (n_groups,)
        Posterior means on the scale.
    variance : array-like of shape (n_groups,)
        Posterior variances on the scale. Broadcasts against `mean`.
    scale : {"identity", "arcsine", "logit"}
        Where they are.

    Returns
    -------
    ndarray of shape (n_groups,)
        Posterior means of the proportions.

    Notes
    -----
    With ``t ~ N(m, v)``: "arcsine" is ``E sin(t)^2 = (1 - exp(-2 v) cos(2 m)) / 2``, "logit" is
    ``E 1 / (1 + exp(-t))`` by Gauss-Hermite quadrature with 20 points, right to 1e-7 for variances
    up to 2 and 1e-5 up to 4 (test_logit_mean_against_quadrature).

    Examples
    --------
    >>> from_scale_mean([1.0, 1.0], [0.0, 1.0], "logit").round(4)
    array([0.7311, 0.6967])
    """
    mean, variance = np.asarray(mean, dtype=float), np.asarray(variance, dtype=float)
    return _named(scale).back_mean(mean, variance)


def from_scale_variance(mean, variance, scale):
    """Variance of a proportion whose value on a scale is normal.

    Parameters
    ----------
    mean : array-like of shape (n_groups,)
        Posterior means on the scale.
    variance : array-like of shape (n_groups,)
        Posterior variances on the scale. Broadcasts against `mean`.
    scale : {"identity", "arcsine", "logit"}
        Where they are.

    Returns
    -------
    ndarray of shape (n_groups,)
        Posterior variances of the proportions, score units squared.

    Notes
    -----
    With ``t ~ N(m, v)``, "arcsine" is the variance of ``(1 - cos 2t) / 2``,
    ``(1 + exp(-8 v) cos(4 m)) / 8 - exp(-4 v) cos(2 m)^2 / 4``; "logit" is by the quadrature of
    `from_scale_mean`. Unlike the delta method it is not 0 at the ends of "arcsine".

    Examples
    --------
    >>> from_scale_variance([np.pi / 4, np.pi / 2], [0.01, 0.01], "arcsine").round(5)
    array([0.00961, 0.00019])
    """
    mean, variance = np.asarray(mean, dtype=float), np.asarray(variance, dtype=float)
    return _named(scale).back_variance(mean, variance)


def scale_derivative(values, scale):
    """Change of the proportion per unit of the scale, for delta-method standard errors.

    Parameters
    ----------
    values : array-like of shape (n_groups,)
        Values on the scale.
    scale : {"identity", "arcsine", "logit"}
        Where they are.

    Returns
    -------
    ndarray of shape (n_groups,)
        Derivative of `from_scale` at `values`: multiply it with a standard error on the scale.

    Notes
    -----
    1, ``sin(2 t)`` and ``p (1 - p)`` with ``p = 1 / (1 + exp(-t))``.

    Examples
    --------
    >>> scale_derivative([0.0, 2.0], "logit").round(3)
    array([0.25 , 0.105])
    """
    return _named(scale).back_slope(np.asarray(values, dtype=float))


class _Scale(NamedTuple):
    forward: Callable  # of proportion and size
    squared_slope: Callable  # of the forward transform, at a proportion
    nearest: Callable
    back: Callable
    back_slope: Callable
    back_mean: Callable  # of mean and variance
    back_variance: Callable  # of mean and variance


def _named(scale):
    if scale not in _SCALES:
        raise ValueError(f"scale must be one of {tuple(_SCALES)}, got {scale!r}.")
    return _SCALES[scale]


def _effective_size(z, sigma2):
    """Number of items, at least 1, whose smoothed variance is about sigma2."""
    spread = z * (1 - z)
    half = spread - 3 * sigma2
    with np.errstate(divide="ignore", invalid="ignore"):  # sigma2 = 0: infinite, or nan
        size = (half + np.sqrt(half**2 + 4 * sigma2 * (1 - spread))) / (2 * sigma2)
    return np.maximum(size, 1)


def _clipped_angle(values):
    return np.clip(values, 0, np.pi / 2)


def _expit_points(mean, variance):
    return expit(mean[..., None] + np.sqrt(2 * variance)[..., None] * _NODES)


def _expected_expit(mean, variance):
    return _expit_points(mean, variance) @ _WEIGHTS / np.sqrt(np.pi)


def _variance_of_expit(mean, variance):
    points = _expit_points(mean, variance)
    center = (points @ _WEIGHTS / np.sqrt(np.pi))[..., None]
    return (points - center) ** 2 @ _WEIGHTS / np.sqrt(np.pi)


def _variance_of_squared_sine(mean, variance):
    square = (1 + np.exp(-8 * variance) * np.cos(4 * mean)) / 2
    # Rounding leaves -1e-17 where nothing varies.
    return np.maximum(square - np.exp(-4 * variance) * np.cos(2 * mean) ** 2, 0) / 4


_SCALES = {
    "identity": _Scale(
        forward=lambda z, n: z,
        squared_slope=np.ones_like,
        nearest=np.copy,
        back=np.copy,
        back_slope=np.ones_like,
        back_mean=lambda m, v: np.broadcast_arrays(m, v)[0].copy(),
        back_variance=lambda m, v: np.broadcast_arrays(m, v)[1].copy(),
    ),
    "arcsine": _Scale(
        forward=lambda z, n: np.arcsin(np.sqrt(z)),
        squared_slope=lambda p: 1 / (4 * p * (1 - p)),
        nearest=_clipped_angle,
        back=lambda t: np.sin(_clipped_angle(t)) ** 2,
        back_slope=lambda t: np.sin(2 * _clipped_angle(t)),
        back_mean=lambda m, v: (1 - np.exp(-2 * v) * np.cos(2 * m)) / 2,
        back_variance=_variance_of_squared_sine,
    ),
    "logit": _Scale(
        forward=lambda z, n: logit(z + (0.5 - z) / (n + 1)),
        squared_slope=lambda p: 1 / (p * (1 - p)) ** 2,
        nearest=np.copy,
        back=expit,
        back_slope=lambda t: expit(t) * expit(-t),
        back_mean=_expected_expit,
        back_variance=_variance_of_expit,
    ),
}
