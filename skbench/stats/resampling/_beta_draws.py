"""Draws from distributions on a grid and from beta distributions."""

import numpy as np
from scipy.special import expit

_STEPS = 256  # of a table of the cells of quantiles
_FLAT = 1e-6  # change of the log density within a cell that counts as 0


def betas(a, b, rng):
    """One draw from each beta distribution."""
    if min(a.min(), b.min()) <= 1:
        return rng.beta(a, b)
    size, level = a + b, rng.random(a.shape)
    slope = np.sqrt((2 * a * b - size) / (size - 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        log_odds = np.log(level / (1 - level)) / slope
        right = a * np.exp(log_odds)
        total = b + right
        # Log ratio of the density to that of the proposal, which is proportional to level^2.
        density = size * np.log(size / total) + (a + slope) * log_odds
        accepted = density > np.log(4 * level**2 * rng.random(a.shape))
    rejected = np.flatnonzero(~accepted)
    draws = right / total
    draws.flat[rejected] = rng.beta(a.flat[rejected], b.flat[rejected])
    return draws


class GridDistribution:
    """Distribution of (a, b) by log-linear interpolation of weights on a grid, or at its points."""

    def __init__(self, a, b, weight, n_sizes=1):
        if n_sizes == 1:
            self._points, self._cumulative = (a, b), np.cumsum(weight)
            return
        self._points = None
        a, b, weight = (x.reshape(n_sizes, -1) for x in (a, b, weight))
        self._u = np.log(a[:, 0] + b[:, 0])
        with np.errstate(divide="ignore"):
            self._t = np.log(a) - np.log(b)
        self._sizes, self._rows = LogLinear(weight.sum(axis=1)[None]), LogLinear(weight)

    def draws(self, n_draws, rng):
        """Draws of (a, b)."""
        if self._points is not None:
            level = self._cumulative[-1] * rng.random(n_draws)
            point = np.searchsorted(self._cumulative, level, side="right")
            return tuple(x[point] for x in self._points)
        u, t = self._u, self._t
        rows, part = self._sizes.quantiles(0, rng.random(n_draws))
        level = rng.random(n_draws)
        # The same quantile level in the rows on both sides.
        both = np.append(rows, rows + 1)
        cell, share = self._rows.quantiles(both, np.tile(level, 2))
        cell += both * t.shape[1]
        sides = (1 - share) * t.ravel().take(cell) + share * t.ravel().take(cell + 1)
        sides = sides.reshape(2, -1)
        size = np.exp((1 - part) * u[rows] + part * u[rows + 1])
        t = (1 - part) * sides[0] + part * sides[1]
        return size * expit(t), size * expit(-t)


class LogLinear:
    """Distributions with log densities that are linear between equally spaced points, by row."""

    def __init__(self, density):
        left, right = density[:, :-1], density[:, 1:]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            self._slope = slope = np.log(right) - np.log(left)
            # The limit of (right - left) / slope for a constant density is its mean.
            mass = np.where(np.abs(slope) < _FLAT, (left + right) / 2, (right - left) / slope)
            mass = np.where(np.isfinite(slope), mass, 0.0)
            self._cumulative = np.pad(np.cumsum(mass, axis=1), [(0, 0), (1, 0)])
            self._cumulative /= self._cumulative[:, -1:]
        steps, ends = np.arange(_STEPS) / _STEPS, self._cumulative[:, 1:]
        self._table = np.stack([np.searchsorted(own, steps, "right") for own in ends])

    def quantiles(self, row, level):
        """Quantiles of the given rows, as cells between points and positions in the cells."""
        slope, cell = self._slope, self._cells(row, level)
        at, start = cell + row * slope.shape[1], cell + row * self._cumulative.shape[1]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            before = self._cumulative.ravel().take(start)
            share = (level - before) / (self._cumulative.ravel().take(start + 1) - before)
            share = np.clip(share, 0, 1)
            tilt = slope.ravel().take(at)
            place = np.log1p(share * np.expm1(tilt)) / tilt
        return cell, np.where(np.abs(tilt) < _FLAT, share, np.clip(place, 0, 1))

    def _cells(self, row, level):
        """The cell of each quantile level, by linear search from the entry of a table."""
        cell = self._table.ravel().take(row * _STEPS + (level * _STEPS).astype(int))
        last, ends = self._slope.shape[1] - 1, self._cumulative.ravel()
        start, early = 1 + row * self._cumulative.shape[1], np.arange(level.size)
        while early.size:
            here = cell[early]
            early = early[(ends.take((start + cell)[early]) <= level[early]) & (here < last)]
            cell[early] += 1
        return np.minimum(cell, last)
