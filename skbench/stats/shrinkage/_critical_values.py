"""Solvers for the robust critical value and the length-optimal shrinkage.

Newton's method runs for all groups at once. If thousands of groups share a kurtosis, their values
are interpolated between a few hundred exact values, and refined if the error exceeds 1e-11.
"""

import numpy as np
from scipy.interpolate import CubicHermiteSpline, PchipInterpolator
from scipy.special import log_expit, ndtri

from skbench.stats.shrinkage._worst_case import falling_root, worst_case

# At least this many groups with one kurtosis start from an interpolation.
_TABLE_FROM = 2000
_TABLE_STEP = 0.08  # in log m2; gives a relative error of about 1e-7
_FINE_STEP = 0.01  # gives 1e-12, except where the worst distribution turns from two points to one
_TOLERANCE = 1e-11  # accepted relative error
_GROUPS_PER_NODE = 8  # from which the finer table saves time
_LENGTH_TABLE_STEP = 0.25  # in log A / sigma2
_ROOT_RTOL = 1e-7  # the last Newton step squares it
_LOG_FLAT = 23.0  # log m2 beyond which intervals cannot become shorter
_SMALLEST_M2 = 1e-8  # of a table; the critical value is nearly constant below
# Beyond, noise is 1e-8 of the bias and cva is proportional to sqrt(m2), to 1e-7 (test_huge_m2).
_LARGEST_M2 = 1e16


def critical_values(m2, kurtosis, alpha):
    """Critical values without nan; many groups of one kurtosis start from a table."""
    m2, scale = capped(m2)
    critical, found = np.ones_like(m2), np.zeros(m2.shape, dtype=bool)
    shared = _shared(kurtosis)
    tables = _interpolated([m2[members] for _, members in shared], shared, alpha)
    for (_, members), values in zip(shared, tables, strict=True):
        critical[members], found[members] = values
    rest = ~found
    critical[rest] = _solve(m2[rest], kurtosis[rest], alpha, critical[rest])
    return critical * scale


def _interpolated(m2, shared, alpha):
    """Critical values from tables in log m2, and whether they are within `_TOLERANCE`.

    One pair per array of `m2`; the nodes of all tables are solved together.
    """
    if not shared:
        return []
    kurtosis = [value for value, _ in shared]
    log_m2 = [np.log(np.maximum(values, _SMALLEST_M2)) for values in m2]
    coarse = [_nodes(x, _TABLE_STEP) for x in log_m2]
    starts = _tables(coarse, kurtosis, alpha, [np.zeros_like] * len(coarse))
    fine = [_nodes(x, _FINE_STEP) for x in log_m2]
    nodes = [
        f if _GROUPS_PER_NODE * len(f) <= len(x) else c
        for f, c, x in zip(fine, coarse, log_m2, strict=True)
    ]
    tables = _tables(nodes, kurtosis, alpha, starts)
    between = [knots[:-1] + (knots[1] - knots[0]) / 2 for knots in nodes]
    exact = _solved(between, kurtosis, alpha, tables)
    found = []
    for x, knots, table, middle, chi in zip(log_m2, nodes, tables, between, exact, strict=True):
        accurate = np.abs(np.exp(table(middle)) / chi - 1) < _TOLERANCE
        interval = ((x - knots[0]) / (knots[1] - knots[0])).astype(int)
        found.append((np.exp(table(x)), accurate[interval] & (x > np.log(_SMALLEST_M2))))
    return found


def _tables(nodes, kurtosis, alpha, starts):
    """Log critical values as functions of log m2, from nodes with exact slopes."""
    sizes = [len(knots) for knots in nodes]
    chi = np.concatenate(_solved(nodes, kurtosis, alpha, starts))
    slopes = _elasticity(chi, np.exp(np.concatenate(nodes)), np.repeat(kurtosis, sizes))
    ends = np.cumsum(sizes)[:-1]
    parts = nodes, np.split(np.log(chi), ends), np.split(slopes, ends)
    return [CubicHermiteSpline(*part) for part in zip(*parts, strict=True)]


def _solved(log_m2, kurtosis, alpha, starts):
    """Critical values of several arrays, each with one kurtosis, from tables of their logs."""
    sizes = [len(x) for x in log_m2]
    start = np.concatenate([table(x) for table, x in zip(starts, log_m2, strict=True)])
    m2 = np.exp(np.concatenate(log_m2))
    chi = _solve(m2, np.repeat(kurtosis, sizes), alpha, np.exp(start))
    return np.split(chi, np.cumsum(sizes)[:-1])


def _solve(m2, kurtosis, alpha, start):
    """The chi with worst non-coverage alpha, by Newton's method in logarithms."""
    # Lower bounds: the normal quantile, and the one-sided value at a fixed bias.
    # Upper bound: Chebyshev's inequality.
    least = np.maximum(-ndtri(alpha / 2), np.sqrt(m2) - ndtri(alpha))
    most = np.sqrt((1 + m2) / alpha)

    def log_miss(x, least, m2, kurtosis):
        chi = least * np.exp(x - 1)
        worst = worst_case(chi, m2, kurtosis)
        with np.errstate(divide="ignore", invalid="ignore"):  # probability 0 if chi is too large
            slope = chi * worst.by_chi / worst.probability
            return np.log(worst.probability / alpha), slope

    x = falling_root(
        log_miss,
        low=np.full_like(m2, 1 - 1e-9),
        high=1 + 1e-9 + np.log(most / least),
        start=1 + np.log(np.clip(start, least, most) / least),
        rtol=np.full_like(m2, _ROOT_RTOL),
        args=(least, m2, kurtosis),
    )
    return least * np.exp(x - 1)


def _elasticity(chi, m2, kurtosis):
    """d log cva / d log m2 at a critical value `chi`."""
    worst = worst_case(chi, m2, kurtosis)
    return -m2 * worst.by_m2 / (chi * worst.by_chi)


def optimal_logits(log_signal, kurtosis, alpha):
    """Log odds of the length-optimal shrinkage factors."""
    start = np.zeros_like(log_signal)
    for value, members in _shared(kurtosis):
        nodes = _nodes(np.clip(log_signal[members], -30, 30), _LENGTH_TABLE_STEP)
        log_m2 = _solve_optimal(nodes, np.full_like(nodes, value), alpha, np.zeros_like(nodes))
        start[members] = PchipInterpolator(nodes, log_m2)(log_signal[members])
    return (log_signal - _solve_optimal(log_signal, kurtosis, alpha, start)) / 2


def _solve_optimal(log_signal, kurtosis, alpha, start):
    """The log m2 at which 1 - w is twice the elasticity; their log ratio decreases in it."""
    origin = -20 - np.maximum(log_signal, 0)  # m2 is about 1 / signal for large signals

    def log_ratio(x, origin, log_signal, kurtosis):
        log_m2 = origin + x
        m2 = np.exp(log_m2)
        chi = critical_values(m2, kurtosis, alpha)
        return log_expit((log_m2 - log_signal) / 2) - np.log(2 * _elasticity(chi, m2, kurtosis))

    def balance(x, *args):
        # A difference quotient, because no envelope theorem gives the second derivative of cva.
        value = log_ratio(x, *args)
        return value, (log_ratio(x + 1e-5, *args) - value) / 1e-5

    high = _LOG_FLAT - origin
    x = falling_root(
        balance,
        low=np.zeros_like(origin),
        high=high,
        start=np.clip(start - origin, 1e-3, high),
        rtol=np.full_like(origin, _ROOT_RTOL),
        args=(origin, log_signal, kurtosis),
    )
    return origin + x


def _shared(kurtosis):
    """Values that many entries share, with the positions of these entries."""
    new = np.append(True, kurtosis[1:] != kurtosis[:-1])[: len(kurtosis)]
    starts = np.flatnonzero(new)  # of runs of one value
    values, run = np.unique(kurtosis[starts], return_inverse=True)
    counts = np.bincount(run, np.diff(starts, append=len(kurtosis)), minlength=len(values))
    many = values[counts >= _TABLE_FROM]
    return [(value, np.flatnonzero(kurtosis == value)) for value in many]


def _nodes(x, step):
    """Equidistant points that enclose all of `x`."""
    return x.min() + step * np.arange(2 + int(np.ceil(np.ptp(x) / step)))


def capped(m2):
    """`m2` up to the size where noise is negligible, and the remaining scale."""
    return np.minimum(m2, _LARGEST_M2), np.sqrt(np.maximum(m2 / _LARGEST_M2, 1))
