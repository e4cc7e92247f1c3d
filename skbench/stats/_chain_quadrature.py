"""Quantiles of the binary chain rule by nested quadrature.

``theta = p m_1 + (1 - p) m_0`` with three independent betas. Its density at t is an
integral over p and m_1. Jeffreys' half-integer exponents become even powers of sines
and cosines under ``m = low + (high - low) sin^2(psi)``, where the midpoint rule
converges as fast as for a periodic analytic function. The density in a tail is expanded
in Legendre polynomials, whose integrals are known, and the quantile solves the sum.
"""

from functools import cache

import numpy as np
from numpy.polynomial import legendre
from scipy.special import betaincinv, betaln

from skbench.stats.posteriors import beta_rule

# Nodes in the tail, for m_1 and for p, and whether those for p part at a corner. A group
# moves on while its error looks too large: at ten labels one in four, at 100 none.
_TIERS = ((18, 16, 6, False), (32, 20, 16, True), (64, 40, 40, True))
_WANTED = 3e-6  # error as the last Legendre terms tell, ten times the true one
_CELLS = 2**15  # integrand values held at once, few enough for the cache
_WINDOW = 3.3  # arcsine half-width times sqrt(n + 1), 6.6 standard deviations
_NEGLIGIBLE = 1e-9  # tail that the first guess leaves out
_RELOCATIONS = 8
_NEWTON_STEPS = 12
_NEWTON_TOLERANCE = 1e-10


def binary_lower_quantile(unlabeled, k, n, mean, variance, probability):
    """Lower quantile of ``p m_1 + (1 - p) m_0`` in each group.

    Parameters
    ----------
    unlabeled : ndarray of shape (n_groups, 2)
        Unlabelled rows by autorater value; p belongs to the first.
    k, n : ndarray of shape (n_groups, 2)
        Labels 1 and all labels, by autorater value.
    mean, variance : ndarray of shape (n_groups,)
        Exact moments of theta.
    probability : float
        At most 1/2.

    Returns
    -------
    ndarray of shape (n_groups,)
    """
    quantiles = np.empty(len(mean))
    todo = np.arange(len(mean))
    for tier in _TIERS:
        columns = (column[todo] for column in (unlabeled, k, n, mean, variance))
        quantiles[todo], error = _tail_quantile(*columns, probability, *tier)
        todo = todo[error > _WANTED]
        if todo.size == 0:
            break
    return quantiles


def _tail_quantile(unlabeled, k, n, mean, variance, probability, n_tail, *rest):
    """Quantiles by one tier's nodes, and how wrong they look."""
    density = _density_function(unlabeled, k, n, *rest)
    matched = mean * (1 - mean) / variance - 1
    guess, bottom = (
        betaincinv(mean * matched, (1 - mean) * matched, q) for q in (probability, _NEGLIGIBLE)
    )
    # The matched beta has lighter tails than theta.
    bottom = np.maximum(bottom - (guess - bottom) / 2, 0)
    top = np.minimum(guess + np.sqrt(variance) / 2, 1)
    nodes, to_coefficients = _legendre(n_tail)

    quantile, error = guess.copy(), np.full(len(mean), np.inf)
    rows = np.arange(len(mean))
    for _ in range(_RELOCATIONS):
        low, half = bottom[rows], (top - bottom)[rows] / 2
        t = low[:, None] + half[:, None] * (1 + nodes)
        coefficients = (density(t, rows) @ to_coefficients).T * half
        x, slope, mass = _solve(coefficients, probability)
        quantile[rows] = low + half * (1 + x)
        last = np.abs(coefficients[-3:]).max(axis=0)
        error[rows] = half * last / (n_tail * slope)
        short = mass < probability
        error[rows[short]] = np.inf
        # Too short: reach further up. Solved far below the top: resolve it better.
        far = (x < 0) & ~short
        top[rows] = np.where(short, np.minimum(low + 3 * half, 1), low + half * (1.2 + x))
        rows = rows[short | far]
        if rows.size == 0:
            break
    return quantile, error


def _solve(coefficients, probability):
    """Where the integral of a Legendre series from -1 reaches the probability."""
    integral = legendre.legint(coefficients, lbnd=-1)
    mass = integral.sum(axis=0)  # every Legendre polynomial is 1 at 1
    x = np.full(coefficients.shape[1], 0.8)
    low, high = np.full_like(x, -1), np.ones_like(x)
    for _ in range(_NEWTON_STEPS):
        excess = legendre.legval(x, integral, tensor=False) - probability
        slope = legendre.legval(x, coefficients, tensor=False)
        low, high = np.where(excess < 0, x, low), np.where(excess < 0, high, x)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = x - excess / slope
        inside = (step >= low) & (step <= high)
        last, x = x, np.where(inside, step, (low + high) / 2)
        if np.all(np.abs(x - last) < _NEWTON_TOLERANCE):
            break
    return x, np.abs(slope), mass


@cache
def _legendre(n_nodes):
    """Gauss-Legendre nodes, and the matrix from values there to coefficients."""
    nodes, weights = legendre.leggauss(n_nodes)
    values = legendre.legvander(nodes, n_nodes - 1)
    return nodes, values * weights[:, None] * (np.arange(n_nodes) + 0.5)


def _density_function(unlabeled, k, n, n_mixing, n_rate, split):
    """The density of theta as a function of t, of shape (n_rows, n_t), and of rows."""
    rates = _split_rates if split else _gauss_rates
    rate_rule = rates(unlabeled, k, n, n_rate)
    low, high = _windows(k, n)
    log_constant = betaln(k + 0.5, n - k + 0.5).sum(axis=1)
    sine2, cosine2, jacobian = _midpoints(n_mixing)
    right, wrong = k - 0.5, n - k - 0.5

    def density(t, rows):
        size = max(1, _CELLS // (t.shape[1] * n_rate * n_mixing * (1 + split)))
        blocks = range(0, len(rows), size)
        parts = [block_density(t[i : i + size], rows[i : i + size]) for i in blocks]
        return np.concatenate(parts)

    def block_density(t, rows):
        p, q, rate_weights = rate_rule(t, rows)
        t = t[:, :, None]
        (low_1, low_0), (high_1, high_0) = (w[rows].T[:, :, None, None] for w in (low, high))
        # m_1 runs where both m_1 and m_0 = (t - p m_1) / q are inside their windows.
        start = np.maximum(low_1, (t - q * high_0) / p)
        length = np.maximum(np.minimum(high_1, (t - q * low_0) / p) - start, 0)
        stop = start + length
        span = p * length / q  # of m_0, which falls from one end to the other
        factors = (
            (right[rows, 0], start, length, sine2),
            (wrong[rows, 0], 1 - stop, length, cosine2),
            (right[rows, 1], (t - p * stop) / q, span, cosine2),
            (wrong[rows, 1], 1 - (t - p * start) / q, span, sine2),
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            log = -log_constant[rows, None, None, None]
            for exponent, smallest, width, profile in factors:
                argument = np.maximum(smallest, 0)[..., None] + width[..., None] * profile
                log = log + exponent[:, None, None, None] * np.log(argument, out=argument)
            inner = np.exp(log, out=log) @ jacobian * (length / q)
        inner[length == 0] = 0
        return (inner * rate_weights).sum(axis=2)

    return density


def _gauss_rates(unlabeled, k, n, n_rate):
    """Few nodes for p, the same at every t: enough where nothing else is sharper."""
    p, weights = beta_rule(unlabeled[:, 0] + 0.5, unlabeled[:, 1] + 0.5, n_rate)
    return lambda t, rows: (p[rows, None], 1 - p[rows, None], weights[rows, None])


def _split_rates(unlabeled, k, n, n_rate):
    """Nodes for p that part where t leaves a corner of (m_1, m_0), and many of them.

    Where the densities of m_1 and m_0 are infinite at one corner, (1, 0) or (0, 1),
    that of theta given p is infinite at ``t = p`` or ``t = 1 - p``.
    """
    a, b = unlabeled.T + 0.5
    n_unlabeled = unlabeled.sum(axis=1)
    ends = np.stack(list(_angles(unlabeled[:, 0], n_unlabeled)), axis=1)
    upright = (n - k)[:, 0] + k[:, 1] <= k[:, 0] + (n - k)[:, 1]
    v, weights = legendre.leggauss(n_rate)
    v, weights = (1 + v) / 2, weights / 2

    def rule(t, rows):
        corner = np.arcsin(np.sqrt(np.where(upright[rows, None], t, 1 - t)))
        low, high = ends[rows].T[:, :, None]
        corner = np.clip(corner, low, high)[..., None]
        # From the corner to either end, with nodes crowded at the corner.
        reach = ends[rows, None] - corner
        angle = (corner[..., None] + reach[..., None] * v**2).reshape(*t.shape, -1)
        scale = (np.abs(reach)[..., None] * (2 * v * weights)).reshape(*t.shape, -1)
        p, q = np.sin(angle) ** 2, np.cos(angle) ** 2
        a_, b_ = (x[rows, None, None] for x in (a, b))
        log = (a_ - 0.5) * np.log(p) + (b_ - 0.5) * np.log(q) - betaln(a_, b_)
        return p, q, 2 * scale * np.exp(log)

    return rule


def _midpoints(n_nodes):
    """``sin^2``, ``cos^2`` and the weights of ``x = sin^2(psi)``, midpoints in psi."""
    psi = (np.arange(n_nodes) + 0.5) * np.pi / (2 * n_nodes)
    return np.sin(psi) ** 2, np.cos(psi) ** 2, np.pi / (2 * n_nodes) * np.sin(2 * psi)


def _windows(k, n):
    """Where the densities of m_1 and m_0 are not negligible."""
    return (np.sin(angle) ** 2 for angle in _angles(k, n))


def _angles(k, n):
    """The window of a beta on the arcsine scale, where its width depends on n alone."""
    peak = np.arcsin(np.sqrt(np.where(n > 0, k / np.maximum(n, 1), 0.5)))
    reach = _WINDOW / np.sqrt(n + 1)
    return (np.clip(peak + side * reach, 0, np.pi / 2) for side in (-1, 1))
