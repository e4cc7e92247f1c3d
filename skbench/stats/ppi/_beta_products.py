"""Quantiles of the binary chain rule by nested quadrature.

``theta = p m_1 + (1 - p) m_0`` with three independent beta variables, so ``P(theta <= t)`` is the
expectation over p and m_1 of the distribution function of m_0. With ``m = low + (high - low)
sin^2(psi)`` the half-integer exponents of Jeffreys' prior become even powers of sines and cosines.
The midpoint rule then converges as fast as for a periodic analytic function. Distribution functions
on the arcsine scale are smooth enough for interpolation in tables.
"""

from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre
from scipy.special import betaincinv, betaln, ndtri

from skbench.stats.ppi.posteriors import beta_rule

_BLOCK = 2**15  # integrand values in memory, few enough for the cache
_GROUPS = 2**12  # groups with tables in memory
_WINDOW = 3.8  # arcsine half-width times sqrt(n + 1); beyond, densities are below e^-14
_CELLS = 96  # cells of a table, each a sixth of a standard deviation
_MIXING_NODES = 22  # for m_1
_RATE_NODES = (5, 7, 10, 14, 20)  # for p
_RATE_ERROR = 1e-6  # k Gauss nodes for p have an error of its share of the variance to the power k
_SPLIT_NODES = 26  # for p on either side of a corner
_CORNER = 2  # largest number of errors of the judge with a visible corner
_STEPS = 24
_TOLERANCE = 1e-4  # of the last step in standard deviations; the error is far smaller
_PRECISION = np.float32  # of the integrand; rounding errors are 1e-6, at half the work
_TINY = 1e-150


class _Posterior(NamedTuple):
    """Jeffreys posterior of m given one verdict; one entry per group."""

    right: np.ndarray  # exponents of m and 1 - m
    wrong: np.ndarray
    log_constant: np.ndarray
    low: np.ndarray
    high: np.ndarray
    angle: np.ndarray
    step: np.ndarray
    cubic: tuple


def binary_lower_quantile(unlabeled, k, n, mean, variance, share, probability):
    """Lower quantile of ``p m_1 + (1 - p) m_0`` in each group."""
    wanted = np.log(_RATE_ERROR) / np.log(np.clip(share, _TINY, 0.5))
    n_nodes = np.asarray(_RATE_NODES)[np.searchsorted(_RATE_NODES[:-1], wanted)]
    quantiles = np.empty(len(mean))
    for size in np.unique(n_nodes):
        rows = np.flatnonzero(n_nodes == size)
        for part in np.array_split(rows, -(-rows.size // _GROUPS)):
            columns = (column[part] for column in (unlabeled, k, n, mean, variance, share))
            quantiles[part] = _block_quantiles(*columns, probability, size)
    return quantiles


def _block_quantiles(unlabeled, k, n, mean, variance, share, probability, n_nodes):
    """Quantiles with few nodes for p, or many nodes in groups with a corner."""
    posteriors = [_posterior(k[:, a], n[:, a]) for a in (0, 1)]
    matched = mean * (1 - mean) / variance - 1
    a, b = mean * matched, (1 - mean) * matched
    t = betaincinv(a, b, probability)
    log_density = (a - 1) * np.log(t) + (b - 1) * np.log1p(-t) - betaln(a, b)
    score = ndtri(probability)
    slope = np.exp(log_density + score**2 / 2) * np.sqrt(2 * np.pi)
    tolerance = _TOLERANCE * np.sqrt(variance)

    rows = np.arange(len(mean))
    rule = _gauss_rates(unlabeled, n_nodes)
    t, slope = _solve(rows, rule, posteriors, t, slope, tolerance, score)
    # A larger variance of p makes a corner visible at more errors.
    rows = np.flatnonzero(np.minimum(*_misses(k, n)) <= _CORNER * (1 + 4 * share))
    if rows.size:
        rule = _split_rates(unlabeled, k, n)
        t, _ = _solve(rows, rule, posteriors, t, slope, tolerance, score)
    return t


def _misses(k, n):
    """Numbers of labels that contradict a judge whose first verdict means 1, or means 0."""
    return (n - k)[:, 0] + k[:, 1], k[:, 0] + (n - k)[:, 1]


def _solve(rows, rule, posteriors, t, slope, tolerance, score):
    """Solve for t by secants in the normal score of ``P(theta <= t)``, which is nearly linear."""
    t, slope = t.copy(), slope.copy()
    low, high = np.zeros_like(t), np.ones_like(t)
    before, excess_before = np.full_like(t, np.nan), np.full_like(t, np.nan)
    for _ in range(_STEPS):
        at = t[rows]
        excess = ndtri(_probability_below(at, rows, rule, posteriors)) - score
        low[rows] = np.where(excess < 0, at, low[rows])
        high[rows] = np.where(excess < 0, high[rows], at)
        with np.errstate(divide="ignore", invalid="ignore"):
            secant = (excess - excess_before[rows]) / (at - before[rows])
            slope[rows] = np.where((secant > 0) & np.isfinite(secant), secant, slope[rows])
            step = at - excess / slope[rows]
        inside = (step > low[rows]) & (step < high[rows])
        t[rows] = np.where(inside, step, (low[rows] + high[rows]) / 2)
        before[rows], excess_before[rows] = at, excess
        rows = rows[np.abs(t[rows] - at) > tolerance[rows]]
        if rows.size == 0:
            break
    return t, slope


def _probability_below(t, rows, rule, posteriors):
    """P(theta <= t) in the given groups."""
    p, q, weights = rule(t, rows)
    size = max(1, _BLOCK // (p.shape[1] * _MIXING_NODES))
    blocks = (slice(i, i + size) for i in range(0, len(rows), size))
    below = np.concatenate([_given_rate(t[i], p[i], q[i], rows[i], *posteriors) for i in blocks])
    return np.clip((below * weights).sum(axis=1), _TINY, 1 - 1e-16)


def _given_rate(t, p, q, rows, first, second):
    """P(theta <= t) given p, of shape (n_rows, n_rates)."""
    t = t[:, None]
    right, wrong, log_constant, low, high = (column[rows, None] for column in first[:5])
    # Integrate over m_1 where m_1 and m_0 = (t - p m_1) / q are inside their windows. For smaller
    # m_1 theta is always below t, for larger m_1 never.
    start = np.maximum(low, (t - q * second.high[rows, None]) / p)
    length = np.maximum(np.minimum(high, (t - q * second.low[rows, None]) / p) - start, 0)
    stop = start + length
    sine2, cosine2, jacobian = _MIDPOINTS
    with np.errstate(divide="ignore", invalid="ignore"):
        log = _log_power(right, start, length, sine2)
        log += _log_power(wrong, np.maximum(1 - stop, 0), length, cosine2)
        log += log_constant.astype(_PRECISION)[..., None]
        density = np.exp(log, out=log)
        m_0 = (p * length / q)[..., None] * cosine2
        m_0 += ((t - p * stop) / q)[..., None]
        density *= _distribution(second, rows, m_0)
        inside = np.where(length > 0, density @ jacobian * length, 0)
    return inside + _distribution(first, rows, start)


def _log_power(exponent, smallest, width, profile):
    """``exponent * log(smallest + width * profile)``."""
    argument = width.astype(_PRECISION)[..., None] * profile
    argument += smallest.astype(_PRECISION)[..., None]
    np.log(argument, out=argument)
    argument *= exponent.astype(_PRECISION)[..., None]
    return argument


def _gauss_rates(unlabeled, n_nodes):
    """Few nodes for p, the same for every t."""
    p, weights = beta_rule(unlabeled[:, 0] + 0.5, unlabeled[:, 1] + 0.5, n_nodes)
    return lambda t, rows: (p[rows], 1 - p[rows], weights[rows])


def _split_rates(unlabeled, k, n):
    """Many nodes for p, split where t leaves a corner of (m_1, m_0)."""
    a, b = unlabeled.T + 0.5
    low, high = _angles(unlabeled[:, 0], unlabeled.sum(axis=1))
    upright = np.less_equal(*_misses(k, n))
    v, weights = 0.5 + _SPLIT_RULE[0], _SPLIT_RULE[1]

    def rule(t, rows):
        corner = np.arcsin(np.sqrt(np.where(upright[rows], t, 1 - t)))
        corner = np.clip(corner, low[rows], high[rows])
        # From the corner to either end, with more nodes near the corner.
        reach = np.stack([low[rows] - corner, high[rows] - corner], axis=1)[..., None]
        angle = (corner[:, None, None] + reach * v**2).reshape(len(t), -1)
        scale = (np.abs(reach) * (2 * v * weights)).reshape(len(t), -1)
        p, q = np.sin(angle) ** 2, np.cos(angle) ** 2
        a_, b_ = a[rows, None], b[rows, None]
        log = (a_ - 0.5) * np.log(p) + (b_ - 0.5) * np.log(q) - betaln(a_, b_)
        return p, q, 2 * scale * np.exp(log)

    return rule


def _posterior(k, n):
    """The posterior of m and the table of its distribution function."""
    low, high = _angles(k, n)
    step = (high - low) / _CELLS
    angle = low[:, None] + step[:, None] * np.arange(_CELLS + 1)
    sine, cosine = np.maximum(np.sin(angle), _TINY), np.maximum(np.cos(angle), _TINY)
    right, wrong = 2 * k[:, None], 2 * (n - k)[:, None]
    log_constant = -betaln(k + 0.5, n - k + 0.5)
    log = right * np.log(sine) + wrong * np.log(cosine) + log_constant[:, None]
    rise = 2 * np.exp(log) * step[:, None]  # increase of the distribution function per cell
    bend = rise * (right * cosine / sine - wrong * sine / cosine) * step[:, None]
    gain = (rise[:, :-1] + rise[:, 1:]) / 2 + (bend[:, :-1] - bend[:, 1:]) / 12
    total = gain.sum(axis=1, keepdims=True)  # less than 1 by the mass outside the window
    gain, rise = gain / total, rise / total
    left, next_left = rise[:, :-1], rise[:, 1:]
    cubic = (
        gain.cumsum(axis=1) - gain,
        left,
        3 * gain - 2 * left - next_left,
        left + next_left - 2 * gain,
    )
    cubic = tuple(coefficient.astype(_PRECISION).ravel() for coefficient in cubic)
    ends = np.sin(low) ** 2, np.sin(high) ** 2
    return _Posterior(k - 0.5, n - k - 0.5, log_constant, *ends, low, step, cubic)


def _distribution(posterior, rows, m):
    """Distribution function at m, of shape (n_rows, ...), in the given groups."""
    shape = (-1,) + (1,) * (m.ndim - 1)
    place = np.clip(m, 0, 1)
    np.arcsin(np.sqrt(place, out=place), out=place)
    place -= posterior.angle[rows].reshape(shape)
    place /= posterior.step[rows].reshape(shape)
    np.clip(place, 0, _CELLS, out=place)
    cell = np.minimum(place.astype(np.int32), _CELLS - 1)
    place = (place - cell).astype(_PRECISION)
    cell += (rows * _CELLS).astype(np.int32).reshape(shape)
    c0, c1, c2, c3 = (coefficient.take(cell) for coefficient in posterior.cubic)
    for lower in (c2, c1, c0):
        c3 *= place
        c3 += lower
    return c3


def _angles(k, n):
    """The window of a beta variable on the arcsine scale; its width depends only on n."""
    peak = np.arcsin(np.sqrt(np.where(n > 0, k / np.maximum(n, 1), 0.5)))
    reach = _WINDOW / np.sqrt(n + 1)
    return (np.clip(peak + side * reach, 0, np.pi / 2) for side in (-1, 1))


def _midpoints(n_nodes):
    """``sin^2``, ``cos^2`` and weights of the midpoint rule in psi for ``x = sin^2(psi)``."""
    psi = (np.arange(n_nodes) + 0.5) * np.pi / (2 * n_nodes)
    columns = np.sin(psi) ** 2, np.cos(psi) ** 2, np.pi / (2 * n_nodes) * np.sin(2 * psi)
    return tuple(column.astype(_PRECISION) for column in columns)


_MIDPOINTS = _midpoints(_MIXING_NODES)
_SPLIT_RULE = [part / 2 for part in legendre.leggauss(_SPLIT_NODES)]  # on (-1/2, 1/2)
