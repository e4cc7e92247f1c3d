"""Quantiles of the chain rule for any number of values, by Fourier inversion.

A Dirichlet vector is a vector of independent gamma variables divided by their sum. So ``theta <=
t`` exactly if ``S = sum_a G_a (m_a - t) <= 0`` with independent G_a ~ Gamma(alpha_a) and m_a. The
characteristic function of S is a product over verdicts. Each factor is the average of ``(1 - i u
(m_a - t))^(-alpha_a)`` over the posterior of m_a.
"""

import numpy as np
from scipy.special import betaincinv, ndtri, softmax

from skbench.stats.ppi._quadrature import gauss_rule
from skbench.stats.ppi.posteriors import beta_rule

_FREQUENCIES = 24  # in the first block; later blocks double
_SMALL = 1e-8  # negligible value of the characteristic function
_DECAY = 6.0  # frequency in standard deviations at which that of a normal variable is negligible
_WINDOW = 4.0  # half-width in the angle times sqrt(n + 1), which is eight standard deviations
_RULES = (32, 48, 64, 96, 128)  # nodes for each m_a
_SPARE_NODES = 16
_NEAR_THE_LIMIT = np.linspace(0.85, 1, 5)
_CELLS = 2**14  # integrand values in memory, few enough for the cache
_GROUPS = 2**10  # groups with rules in memory
_NEGLIGIBLE = 1e-11
_MARGIN = 1.4  # ratio of the window to that of a beta variable with the same moments
_STEPS = 16
_NEWTON_STEPS = 8
_TOLERANCE = 1e-10
_TINY = 1e-16
_NEAR = 0.5  # largest distance in standard deviations for the same set of frequencies
_OMITTED = 1e-7  # largest omitted term at a distance
_NEAR_BY_SECANTS = 1e-9


def mixture_quantiles(unlabeled, label_counts, label_values, moments, probabilities):
    """Quantiles of ``sum_a p_a m_a`` in each group."""
    quantiles = np.empty((len(probabilities), len(unlabeled)))
    mean, variance = moments.mean, moments.unlabeled_variance + moments.labeled_variance
    alpha, width = unlabeled + 1 / unlabeled.shape[1], _width(_rates(unlabeled), label_counts)
    fewest = _fewest_nodes(unlabeled, label_counts, moments.unlabeled_variance)
    todo = np.arange(len(unlabeled))
    for size in _RULES:
        last = size == _RULES[-1]
        rows = todo if last else todo[fewest[todo] <= size]
        for part in (rows[at : at + _GROUPS] for at in range(0, rows.size, _GROUPS)):
            rule = label_rule(label_counts[part], label_values, size)
            limit = 2 * (size - _SPARE_NODES) / width[part]
            columns = [alpha[part], *rule, limit, mean[part], variance[part]]
            enough = _is_small_beyond(*columns)
            for is_small, which in ((True, enough), (False, ~enough & last)):
                own = [np.concatenate([column[which]] * len(probabilities)) for column in columns]
                found = _solve(*own, np.repeat(probabilities, which.sum()), is_small)
                quantiles[:, part[which]] = found.reshape(len(probabilities), -1)
            todo = np.setdiff1d(todo, part if last else part[enough])
    return quantiles


def _is_small_beyond(alpha, nodes, weights, limit, mean, variance):
    """Whether the characteristic function is negligible beyond the accuracy of the nodes."""
    frequency = limit[:, None] * _NEAR_THE_LIMIT
    u = frequency / alpha.sum(axis=1, keepdims=True)
    value = np.abs(_characteristic(u, mean, alpha, nodes, weights))
    return np.all(value <= _SMALL * frequency * np.sqrt(variance)[:, None], axis=1)


def label_rule(label_counts, label_values, n_nodes):
    """Nodes and weights for the posterior of the mean label given each verdict."""
    shape, n_labels = label_counts.shape[:-1], label_counts.shape[-1]
    counts = label_counts.reshape(-1, n_labels)
    if n_labels == 2:
        rule = _arcsine_rule(counts, label_values, n_nodes)
    else:
        counts, place = np.unique(counts, axis=0, return_inverse=True)
        rule = (part[place] for part in _nested_rule(counts, label_values, n_nodes))
    return (part.reshape(*shape, n_nodes) for part in rule)


def _arcsine_rule(counts, label_values, n_nodes):
    """Midpoints in the angle, where the integrand is smooth and periodic under Jeffreys' prior."""
    k, n = counts[:, :1], counts.sum(axis=1, keepdims=True)
    peak, reach = np.arcsin(np.sqrt((k + 0.5) / (n + 1))), _WINDOW / np.sqrt(n + 1)
    low, high = np.maximum(peak - reach, 0), np.minimum(peak + reach, np.pi / 2)
    angle = low + (high - low) * ((np.arange(n_nodes) + 0.5) / n_nodes)
    sine, cosine = np.sin(angle), np.cos(angle)
    weights = softmax(2 * (k * np.log(sine) + (n - k) * np.log(cosine)), axis=1)
    return label_values[0] * sine**2 + label_values[1] * cosine**2, weights


def _nested_rule(counts, label_values, n_nodes):
    """Gauss rules that add one label at a time, from the last to the first."""
    beta = counts + 1 / len(label_values)
    share, weights = beta_rule(beta[:, -2], beta[:, -1], n_nodes)
    nodes = share * label_values[-2] + (1 - share) * label_values[-1]
    for label in range(len(label_values) - 3, -1, -1):
        rest = beta[:, label + 1 :].sum(axis=1)
        share, share_weights = beta_rule(beta[:, label], rest, n_nodes)
        products = (
            (own * label_values[label])[:, None] + np.outer(1 - own, inner)
            for own, inner in zip(share, nodes, strict=True)
        )
        both = map(np.outer, share_weights, weights)
        recurrences = [_recurrence(*pair, n_nodes) for pair in zip(products, both, strict=True)]
        center, scale, *rest = map(np.array, zip(*recurrences, strict=True))
        nodes, weights = gauss_rule(*rest)
        nodes = center[:, None] + scale[:, None] * nodes
    return nodes, weights


def _recurrence(nodes, weights, n_nodes):
    """Recurrence of the polynomials of a discrete distribution, by the Stieltjes procedure."""
    # One distribution at a time, so that its vectors stay in the cache.
    x, weights = nodes.ravel(), weights.ravel()
    center = x @ weights
    x = x - center
    scale = np.sqrt(weights @ x**2)
    x /= scale
    diagonal, off_diagonal = np.zeros(n_nodes), np.zeros(n_nodes - 1)
    before, vector, norm = np.zeros_like(x), np.sqrt(weights), 0.0
    for j in range(n_nodes):
        following = x * vector
        diagonal[j] = following @ vector
        if j == n_nodes - 1:
            break
        following -= diagonal[j] * vector
        before *= norm
        following -= before
        off_diagonal[j] = norm = np.sqrt(following @ following)
        following /= norm
        before, vector = vector, following
    return center, scale, diagonal, off_diagonal


def _fewest_nodes(unlabeled, label_counts, unlabeled_variance):
    """Number of nodes for frequencies at which a product of normal factors is not negligible."""
    rates = _rates(unlabeled)
    spread = (rates**2 / (8 * (label_counts.sum(axis=2) + 2))).sum(axis=1)
    highest = _DECAY / np.sqrt(unlabeled_variance + spread)
    return highest * _width(rates, label_counts) / 2 + _SPARE_NODES


def _rates(unlabeled):
    return (unlabeled + 1) / (unlabeled + 1).sum(axis=1, keepdims=True)


def _width(rates, label_counts):
    """Width of the widest posterior of any ``p_a m_a``, about eight standard deviations."""
    return np.max(rates * np.minimum(1, 4 / np.sqrt(label_counts.sum(axis=2) + 1)), axis=1)


def _solve(alpha, nodes, weights, limit, mean, variance, probability, is_small):
    """Solve for the quantile inside a shrinking bracket.

    If the characteristic function is not negligible beyond the limit, the omitted terms would
    matter more at another t. Probabilities are then computed anew at each t.
    """
    matched = mean * (1 - mean) / variance - 1
    a, b = mean * matched, (1 - mean) * matched
    ends = [np.abs(betaincinv(a, b, q) - mean) for q in (_NEGLIGIBLE, 1 - _NEGLIGIBLE)]
    total = alpha.sum(axis=1)
    # S is proportional to theta - t times a gamma variable.
    inflation = 1 + 7 / np.sqrt(total) + 24 / total
    width = _MARGIN * np.maximum(*ends)
    near = _NEAR * np.sqrt(variance) if is_small else np.full_like(mean, _NEAR_BY_SECANTS)

    t = betaincinv(a, b, probability)
    low, high, score = np.zeros_like(t), np.ones_like(t), ndtri(probability)
    slope = probability * (1 - probability) * 2.5 / np.sqrt(variance)
    before, excess_before = np.full((2, len(t)), np.nan)
    todo = np.arange(len(t))
    for _ in range(_STEPS):
        at = t[todo]
        reach = np.minimum(np.maximum(at, 1 - at), width[todo] + np.abs(at - mean[todo]))
        columns = (column[todo] for column in (alpha, nodes, weights, limit))
        terms = _inversion(at, reach * inflation[todo], *columns)
        if is_small:
            step, below = _newton(terms, total[todo], score[todo], near[todo])
            known = _reach_of_terms(terms, total[todo], near[todo])
        else:
            excess = _probability_below(terms, at) - probability[todo]
            with np.errstate(divide="ignore", invalid="ignore"):
                secant = (excess - excess_before[todo]) / (at - before[todo])
            slope[todo] = np.where(secant > 0, secant, slope[todo])
            before[todo], excess_before[todo] = at, excess
            step, below, known = -excess / slope[todo], excess < 0, near[todo]
        low[todo], high[todo] = np.where(below, at, low[todo]), np.where(below, high[todo], at)
        inside = (at + step > low[todo]) & (at + step < high[todo]) | (step == 0)
        t[todo] = np.where(inside, at + step, (low[todo] + high[todo]) / 2)
        todo = todo[~inside | (np.abs(step) >= known)]
        if todo.size == 0:
            break
    return t


def _inversion(t, reach, alpha, nodes, weights, limit):
    """Terms of the Gil-Pelaez formula for P(S <= 0) by the midpoint rule, in blocks.

    Each block has its groups, the frequencies `u` and the terms ``characteristic(u) / (pi k)``.
    """
    spacing, total = 2 * np.pi / reach, alpha.sum(axis=1)
    blocks, todo = [], np.arange(len(t))
    start, size = 0, _FREQUENCIES
    while todo.size:
        k = np.arange(start, start + size) + 0.5
        frequency = spacing[todo, None] * k
        u = frequency / total[todo, None]
        value = _characteristic(u, t[todo], alpha[todo], nodes[todo], weights[todo]) / k
        value[frequency > limit[todo, None]] = 0
        blocks.append((todo, u, value / np.pi))
        todo = todo[np.abs(value[:, -(size // 3) :]).max(axis=1) > _SMALL]
        start, size = start + size, start + size
    return blocks


def _reach_of_terms(blocks, total, most):
    """Largest distance in t at which the omitted terms are still negligible."""
    highest, size = np.ones_like(most), np.ones_like(most)
    for rows, u, value in blocks:
        last = np.count_nonzero(value, axis=1) - 1
        rows, at = rows[last >= 0], (last >= 0, last[last >= 0])
        highest[rows], size[rows] = u[at], np.abs(value[at])
    growth = np.maximum(np.log(_OMITTED / size), 0.5)
    return np.minimum(most, np.sqrt(np.expm1(2 * growth / (total - 1))) / highest)


def _probability_below(blocks, t):
    """P(S <= 0)."""
    below = np.full_like(t, 0.5)
    for rows, _, value in blocks:
        below[rows] -= value.imag.sum(axis=1)
    return below


def _newton(blocks, total, score, most):
    """Distance to the quantile, at most `most`, and whether it is above.

    At distance d in t every term is multiplied by ``(1 - i u d)^(total - 1)``. This is an integral
    over the same curve, because the characteristic functions of S at all t are one function of
    ``t + 1 / (i u)`` up to this power.
    """
    distance, step, side = np.zeros_like(most), most, None
    for _ in range(_NEWTON_STEPS):
        below, density = np.full_like(most, 0.5), np.zeros_like(most)
        for rows, u, value in blocks:
            x = u * distance[rows, None]
            power = total[rows, None] - 1
            term = value * np.exp(np.log1p(x**2) * (power / 2) - 1j * power * np.arctan(x))
            below[rows] -= term.imag.sum(axis=1)
            density[rows] += (term * (u * power) / (1 - 1j * x)).real.sum(axis=1)
        found = ndtri(np.clip(below, _TINY, 1 - _TINY))
        excess = found - score
        side = excess < 0 if side is None else side
        with np.errstate(divide="ignore", invalid="ignore"):
            step = excess * np.exp(-(found**2) / 2) / (density * np.sqrt(2 * np.pi))
        known = np.isfinite(step) & (density > 0) & (below > _TINY) & (below < 1 - _TINY)
        step = np.where(known, step, np.copysign(most, excess))
        after = np.clip(distance - step, -most, most)
        distance, step = after, np.abs(after - distance)
        if np.all(step < _TOLERANCE):
            break
    return np.where(step < _TOLERANCE, distance, np.copysign(most, distance)), side


def _characteristic(u, t, alpha, nodes, weights):
    """Characteristic function of S at the frequencies u, of shape (n_groups, n_u)."""
    value = np.ones(u.shape, dtype=complex)
    size = max(1, _CELLS // (u.shape[1] * nodes.shape[2]))
    for rows in (slice(at, at + size) for at in range(0, len(u), size)):
        for a in range(alpha.shape[1]):
            x = u[rows, :, None] * (nodes[rows, a] - t[rows, None])[:, None, :]
            value[rows] *= _factor(x, alpha[rows, a, None, None], weights[rows, a, :, None])[..., 0]
    return value


def _factor(x, power, weights):
    """Average of ``(1 - i x)^(-power)`` over the last axis."""
    # Half-angle tangents take a sixth of the time of sines and cosines.
    half = np.arctan(x)
    half *= power / 2
    np.tan(half, out=half)
    x *= x
    np.log1p(x, out=x)
    x *= -power / 2
    modulus = np.exp(x, out=x)
    square = half * half
    modulus /= 1 + square
    half *= modulus
    square *= modulus
    modulus -= square
    return modulus @ weights + 2j * (half @ weights)
