"""Log probabilities of counts under beta distributions, by interpolated sums over tasks.

The sums over tasks of each model are analytic functions of one number and nearly linear at both
ends. So a spline with a few hundred points is enough for grids of any size. It increases the
rounding error of the sums about a hundred times, to 1e-13 of the largest sum. This is 1e-8 for 20
tasks with up to 1,000 answers, 1e-6 for 300 with up to 10,000, and 1e-4 for 20 with ten million.
"""

from math import factorial

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.sparse import csr_array
from scipy.special import gammaln

_STIRLING = 60.0  # above, three correction terms have an error of 2e-16
_LOWEST, _BEYOND = -40.0, 40.0  # log counts beyond which the sums are linear up to 1e-17
_STEP, _DEGREE = 0.2, 9  # of the spline; singularities have the distance pi from the real axis
_CELLS = 2**16  # values in memory


class MarginalLikelihood:
    """Log probability of the answers of each model given (a, b), integrated over accuracies."""

    def __init__(self, k, n):
        wrong = n - k
        self._right, self._wrong, self._items = map(RisingSums, (k, wrong, n))
        self._totals = k.sum(axis=1), wrong.sum(axis=1)

    def __call__(self, u, t):
        """Evaluate at log sizes `u` and logit means `t` of shapes (n_models, ...)."""
        # Logs of the means and of their complements without cancellation.
        log_mean, log_rest = -np.logaddexp(0, -t), -np.logaddexp(0, t)
        right, wrong = (x.reshape((-1,) + (1,) * (t.ndim - 1)) for x in self._totals)
        likelihood = self._right(u + log_mean) + self._wrong(u + log_rest) - self._items(u)
        return likelihood + right * log_mean + wrong * log_rest


class RisingSums:
    """Sums over tasks of ``log Gamma(x + m) - log Gamma(x) - m log x``, given ``log x``."""

    def __init__(self, counts):
        # Each distinct count is computed once.
        distinct, which = np.unique(counts, return_inverse=True)
        starts = np.arange(0, counts.size + 1, counts.shape[1])
        per_model = csr_array((np.ones(counts.size), which.ravel(), starts))
        log_x = np.arange(_LOWEST, 2 * np.log1p(distinct[-1]) + _BEYOND, _STEP)
        some = max(1, _CELLS // len(distinct))
        values = np.hstack(
            [
                per_model @ _log_rising(log_x[i : i + some], distinct[:, None])
                for i in range(0, len(log_x), some)
            ]
        )
        spline = make_interp_spline(log_x, values, _DEGREE, axis=1)
        # Coefficients of the polynomial of each step.
        self._terms = [spline(log_x, d) / factorial(d) for d in range(_DEGREE, -1, -1)]
        self._last = log_x[-1]
        self._slope = -(counts - (counts > 0)).sum(axis=1)

    def __call__(self, log_x):
        """Evaluate at points of shape (n_models, ...)."""
        first = np.arange(len(log_x)).reshape((-1,) + (1,) * (log_x.ndim - 1))
        first = first * self._terms[0].shape[1]
        inside = np.clip(log_x, _LOWEST, self._last)
        step = ((inside - _LOWEST) / _STEP).astype(int)
        rest, at = inside - (_LOWEST + _STEP * step), first + step
        total = np.zeros(log_x.shape)
        for term in self._terms:
            total = total * rest + term.ravel().take(at)
        below = np.minimum(log_x - _LOWEST, 0)
        return total + below * self._slope.reshape(first.shape)


def _log_rising(log_x, m):
    """``log Gamma(x + m) - log Gamma(x) - m log x`` without cancellation at large `x`."""
    x = np.exp(log_x)
    y = x + m
    return (y - 0.5) * np.log1p(m / x) - m + (_remainder(y) - _remainder(x))


def _remainder(x):
    """``log Gamma(x)`` minus its approximation ``(x - 1/2) log x - x + log(2 pi) / 2``."""
    inverse = 1 / x
    square = inverse * inverse
    total = inverse * (1 / 12 - square * (1 / 360 - square / 1260))
    small = x < _STIRLING
    if small.any():
        x = x[small]
        total[small] = gammaln(x) - (x - 0.5) * np.log(x) + x - 0.5 * np.log(2 * np.pi)
    return total
