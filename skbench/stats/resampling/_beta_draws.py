"""Draws from weights on a grid, and of beta laws."""

import numpy as np
from scipy.special import expit

_STEPS = 256  # of a table of the cells that levels are in
_LEVEL = 1e-6  # change of the log density within a cell that is none


def betas(a, b, rng):
    """Draws of beta laws, one each."""
    if min(a.min(), b.min()) <= 1:
        return rng.beta(a, b)
    size, level = a + b, rng.random(a.shape)
    slope = np.sqrt((2 * a * b - size) / (size - 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        log_odds = np.log(level / (1 - level)) / slope
        right = a * np.exp(log_odds)
        total = b + right
        # The density, in logs, over four times the squared level: that is the proposal's.
        density = size * np.log(size / total) + (a + slope) * log_odds
        accepted = density > np.log(4 * level**2 * rng.random(a.shape))
    rejected = np.flatnonzero(~accepted)
    draws = right / total
    draws.flat[rejected] = rng.beta(a.flat[rejected], b.flat[rejected])
    return draws


def between_the_points(a, b, weight, n_draws, rng, n_sizes):
    """Draws of (a, b) from the log-linear interpolation of the grid's weights."""
    a, b, weight = (x.reshape(n_sizes, -1) for x in (a, b, weight))
    u = np.log(a[:, 0] + b[:, 0])
    with np.errstate(divide="ignore"):
        t = np.log(a) - np.log(b)
    rows, part = log_linear_quantiles(weight.sum(axis=1)[None], 0, rng.random(n_draws))
    level = rng.random(n_draws)
    # At the same level of the rows on either side.
    both = np.append(rows, rows + 1)
    cell, share = log_linear_quantiles(weight, both, np.tile(level, 2))
    cell += both * t.shape[1]
    sides = (1 - share) * t.ravel().take(cell) + share * t.ravel().take(cell + 1)
    sides = sides.reshape(2, -1)
    size = np.exp((1 - part) * u[rows] + part * u[rows + 1])
    t = (1 - part) * sides[0] + part * sides[1]
    return size * expit(t), size * expit(-t)


def log_linear_quantiles(density, row, level):
    """Cells between equally spaced points of rows, and places in them, at levels of their laws."""
    left, right = density[:, :-1], density[:, 1:]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slope = np.log(right) - np.log(left)
        # (exp(slope) - 1) / slope, 1 where the density is level, 0 where it is cut off.
        mass = np.where(np.abs(slope) < _LEVEL, (left + right) / 2, (right - left) / slope)
        mass = np.where(np.isfinite(slope), mass, 0.0)
        cumulative = np.pad(np.cumsum(mass, axis=1), [(0, 0), (1, 0)])
        cumulative /= cumulative[:, -1:]
        cell = _cells(cumulative, row, level)
        at = cell + row * slope.shape[1]
        before = cumulative[:, :-1].ravel().take(at)
        share = (level - before) / (cumulative[:, 1:].ravel().take(at) - before)
        share = np.clip(share, 0, 1)
        tilt = slope.ravel().take(at)
        place = np.log1p(share * np.expm1(tilt)) / tilt
    return cell, np.where(np.abs(tilt) < _LEVEL, share, np.clip(place, 0, 1))


def _cells(cumulative, row, level):
    """The cell of each level in its row, searched from where a table of equal steps says."""
    ends = cumulative[:, 1:]
    table = np.stack([np.searchsorted(own, np.arange(_STEPS) / _STEPS, "right") for own in ends])
    cell = table.ravel().take(row * _STEPS + (level * _STEPS).astype(int))
    start, last, ends = row * ends.shape[1], ends.shape[1] - 1, ends.ravel()
    early = np.arange(level.size)
    while early.size:
        here = cell[early]
        early = early[(ends.take((start + cell)[early]) <= level[early]) & (here < last)]
        cell[early] += 1
    return np.minimum(cell, last)
