"""Worst-case non-coverage of a normal interval with a random bias.

A normal estimate with standardized bias ``b`` and unit variance leaves ``[-chi, chi]`` with
probability ``r(t) = Phi(-chi - sqrt t) + Phi(-chi + sqrt t)``, ``t = b ** 2``. Over all
distributions of ``t`` with ``E t = m2`` and ``E t ** 2 <= kurtosis * m2 ** 2``, the mean of ``r``
is largest for a distribution on at most two points, ``low < high`` [1]_:

- ``r`` is convex and then concave in ``t``; let ``t0`` be where the tangent of ``r`` passes through
  ``(0, r(0))`` (0 if ``chi ** 2 <= 3``, where ``r`` is concave);
- if ``m2 >= t0``: all mass at ``m2``;
- else if ``kurtosis * m2 >= t0``: mass at 0 and ``t0``, the fourth moment is slack;
- else the fourth moment binds. The distribution is optimal if a quadratic in ``t`` lies above ``r``
  and touches it at ``low`` and ``high``, that is, if
  ``r'(low) + r'(high) = 2 (r(high) - r(low)) / (high - low)``. If the right-hand side is already
  larger at ``low = 0``, that point stays at 0.

References
----------
.. [1] Armstrong, Kolesar and Plagborg-Moller (2022). Robust Empirical Bayes Confidence Intervals.
   Econometrica 90(6), 2567-2602, Appendix B.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import exprel, ndtr

# Tolerance of a point in units of the standard error. The probability depends on it to
# second order only, and Newton's last step squares it.
_POINT_TOL = 1e-8
_MAX_ITER = 200


class WorstCase(NamedTuple):
    """Largest non-coverage and its derivatives, arrays of one shape."""

    probability: np.ndarray
    by_chi: np.ndarray
    by_m2: np.ndarray


def worst_case(chi, m2, kurtosis):
    """Largest non-coverage over all distributions of the bias, with its derivatives."""
    low, high, weight = _least_favorable(chi, m2, kurtosis)
    r_low, r_high = _tail(low, chi), _tail(high, chi)
    gap = high - low
    secant = np.divide(r_high - r_low, gap, out=np.zeros_like(gap), where=gap > 0)
    slope = _slope(high, chi)
    bend = np.divide(slope - secant, gap, out=np.zeros_like(gap), where=gap > 0)
    excess = np.maximum(high - _reach(kurtosis, m2), 0)  # 0 where the fourth moment is slack
    return WorstCase(
        probability=(1 - weight) * r_low + weight * r_high,
        by_chi=(1 - weight) * _density(low, chi) + weight * _density(high, chi),
        by_m2=slope - 2 * bend * excess,
    )


def falling_root(function, low, high, start, rtol, args):
    """Roots of decreasing functions, by Newton steps within brackets."""
    roots = np.array(start, dtype=float)
    todo = np.arange(roots.size)
    x, span = start, high - low
    for _ in range(_MAX_ITER):
        if todo.size == 0:
            return roots
        value, slope = function(x, *args)
        low, high = np.where(value > 0, x, low), np.where(value > 0, high, x)
        with np.errstate(all="ignore"):
            step = -value / slope  # infinite or nan: the bracket is halved instead
        small = np.abs(step) <= rtol * x
        newton = small | ((x + step > low) & (x + step < high) & (np.abs(step) < span / 2))
        step = np.where(newton, step, (low + high) / 2 - x)
        span = np.where(newton, np.abs(step), high - low)
        x = x + step
        roots[todo] = x
        left = ~(small | (high - low <= rtol * high))
        todo, x, low, high, span, rtol = (a[left] for a in (todo, x, low, high, span, rtol))
        args = tuple(a[left] for a in args)
    raise RuntimeError(f"{todo.size} of {roots.size} roots were not found in {_MAX_ITER} steps.")


def _least_favorable(chi, m2, kurtosis):
    """Points and upper weight of the worst distribution of the squared bias."""
    t0 = _tangent_point(chi)
    low, high, weight = m2.copy(), m2.copy(), np.ones_like(m2)
    spread = (0 < m2) & (m2 < t0) & (kurtosis > 1)
    slack = spread & (_reach(kurtosis, m2) >= t0)
    low[slack], high[slack], weight[slack] = 0, t0[slack], m2[slack] / t0[slack]

    bound = spread & ~slack
    chi, m2, excess, t0 = chi[bound], m2[bound], kurtosis[bound] - 1, t0[bound]
    rise = _rise(chi, m2, excess, t0)
    fall = _fall(rise, m2, excess)
    low[bound], high[bound], weight[bound] = m2 - fall, m2 + rise, fall / (fall + rise)
    return low, high, weight


def _reach(kurtosis, m2):
    """Upper point of a distribution with a point at 0; 0 stays 0 for infinite kurtosis."""
    return np.multiply(kurtosis, m2, out=np.zeros_like(m2), where=m2 > 0)


def _fall(rise, m2, excess):
    """m2 - low if high is m2 + rise and the fourth moment binds; `excess` is kurtosis - 1."""
    return np.minimum(excess * m2 * (m2 / rise), m2)


def _rise(chi, m2, excess, t0):
    """high - m2 if the fourth moment binds."""
    rise = excess * m2  # low = 0
    # Near 0 the surplus is a third difference dominated by rounding; use the sign of r'''.
    near = chi * chi * (m2 + rise) < 1e-3
    third = chi**4 - 10 * chi * chi + 15
    inner = np.where(near, third, _touch(rise, chi, m2, excess)[0]) > 0
    chi, m2, excess, t0, nearest = chi[inner], m2[inner], excess[inner], t0[inner], rise[inner]
    furthest = t0 - m2  # the upper point never passes t0
    start = chi * chi - m2  # where it sits when chi is large
    start = np.where((start > nearest) & (start < furthest), start, (nearest + furthest) / 2)
    rtol = np.maximum(_POINT_TOL / np.maximum(chi, 1), 1e-14)
    rise[inner] = falling_root(_touch, nearest, furthest, start, rtol, (chi, m2, excess))
    return rise


def _touch(rise, chi, m2, excess):
    """Surplus of r'(low) + r'(high) over twice the secant slope, and its derivative."""
    fall = _fall(rise, m2, excess)
    low, high, gap, by_rise = m2 - fall, m2 + rise, fall + rise, fall / rise
    below, above = _slope(low, chi), _slope(high, chi)
    secant = (_tail(high, chi) - _tail(low, chi)) / gap
    by_secant = (above - below * by_rise - secant * (1 - by_rise)) / gap
    value = below + above - 2 * secant
    slope = (
        below * _relative_curvature(low, chi) * by_rise
        + above * _relative_curvature(high, chi)
        - 2 * by_secant
    )
    # Beyond the tangent from `low`, no convex quadratic touches twice.
    # If everything underflows, `high` is far too small.
    value = np.where(above < secant, -1.0, np.where(above == 0, 1.0, value))
    return value, slope


def _tangent_point(chi):
    """Point t0 where the tangent of r passes through (0, r(0)); 0 if r is concave."""
    t0 = np.zeros_like(chi)
    # Just above chi ** 2 = 3 the hull of r exceeds r by less than 1e-13.
    hollow = chi * chi > 3 + 1e-4
    chi = chi[hollow]
    start = np.minimum(
        np.sqrt(2.5 * (chi * chi - 3)),  # exact as chi ** 2 falls to 3
        chi + np.sqrt(2 * np.log(np.maximum(chi / 5, 1))),  # and as chi grows
    )
    high = chi + 1 + np.sqrt(2 * np.log1p(chi))
    rtol = np.maximum(_POINT_TOL / np.maximum(chi, 1), 1e-14)
    root = falling_root(_tangent_intercept, np.zeros_like(chi), high, start, rtol, (chi,))
    t0[hollow] = root * root
    return t0


def _tangent_intercept(root, chi):
    """r(0) minus the tangent at t = root ** 2, continued to 0, and its derivative."""
    t = root * root
    slope = _slope(t, chi)
    value = _tail(0, chi) - _tail(t, chi) + t * slope
    return value, 2 * root * t * slope * _relative_curvature(t, chi)


def _normal_density(x):
    return np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)


def _tail(t, chi):
    """r(t): probability that N(sqrt t, 1) lies outside [-chi, chi]."""
    bias = np.sqrt(t)
    return ndtr(-chi - bias) + ndtr(bias - chi)


def _density(t, chi):
    """Derivative of r(t) in chi."""
    bias = np.sqrt(t)
    return -_normal_density(chi - bias) - _normal_density(chi + bias)


def _slope(t, chi):
    """r'(t), without cancellation at small t and without overflow at large chi."""
    bias = np.sqrt(t)
    return chi * _normal_density(chi - bias) * exprel(-2 * chi * bias)


def _relative_curvature(t, chi):
    """r''(t) / r'(t)."""
    x = chi * np.sqrt(t)
    # (x coth x - 1) / x ** 2 loses digits below 1e-3; its series has 13 there.
    safe = np.maximum(x, 1e-3)
    ratio = np.where(x < 1e-3, 1 / 3 - x * x / 45, (safe / np.tanh(safe) - 1) / (safe * safe))
    return (chi * chi * ratio - 1) / 2
