"""Quantiles of the chain rule for any number of values, by Fourier inversion.

A Dirichlet vector is a vector of independent gammas over their sum. So ``theta <= t`` exactly when
``S = sum_a G_a (m_a - t) <= 0`` with independent G_a ~ Gamma(alpha_a) and m_a: the characteristic
function of S is a product over the autorater's values, each factor an average of
``(1 - i u (m_a - t))^(-alpha_a)`` over the posterior of m_a.
"""

import numpy as np
from scipy.special import betaincinv

from skbench.stats.ppi._quadrature import gauss_rule
from skbench.stats.ppi.posteriors import beta_rule

_FREQUENCIES = 24  # of the first block; later blocks double
_SMALL = 1e-8  # a characteristic function no longer worth adding
_DECAY = 6.0  # standard deviations of frequency at which a normal one is that small
_RULES = (32, 48, 64, 96, 128)  # nodes for each m_a
_SPARE_NODES = 16
_NEAR_THE_LIMIT = np.linspace(0.85, 1, 5)
_CELLS = 2**17
_NEGLIGIBLE = 1e-11
_MARGIN = 1.4  # of the window over that of a beta with the same moments
_STEPS = 16
_TOLERANCE = 1e-9


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
        step = max(1, _CELLS // (_FREQUENCIES * unlabeled.shape[1] * size))
        for part in (rows[at : at + step] for at in range(0, rows.size, step)):
            rule = label_rule(label_counts[part], label_values, size)
            limit = 2 * (size - _SPARE_NODES) / width[part]
            columns = [alpha[part], *rule, limit, mean[part], variance[part]]
            enough = np.full(part.size, True) if last else _is_small_beyond(*columns)
            part, columns = part[enough], [column[enough] for column in columns]
            for row, probability in zip(quantiles, probabilities, strict=True):
                row[part] = _solve(*columns, probability)
            todo = np.setdiff1d(todo, part)
    return quantiles


def _is_small_beyond(alpha, nodes, weights, limit, mean, variance):
    """Whether the characteristic function is small where the nodes stop to follow it."""
    frequency = limit[:, None] * _NEAR_THE_LIMIT
    u = frequency / alpha.sum(axis=1, keepdims=True)
    value = np.abs(_characteristic(u, mean, alpha, nodes, weights))
    return np.all(value <= _SMALL * frequency * np.sqrt(variance)[:, None], axis=1)


def label_rule(label_counts, label_values, n_nodes):
    """Gauss rules for the posterior mean label given each autorater value."""
    shape, n_labels = label_counts.shape[:-1], label_counts.shape[-1]
    beta = label_counts.reshape(-1, n_labels) + 1 / n_labels
    share, weights = beta_rule(beta[:, -2], beta[:, -1], n_nodes)
    nodes = share * label_values[-2] + (1 - share) * label_values[-1]
    for label in range(n_labels - 3, -1, -1):
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
    return nodes.reshape(*shape, n_nodes), weights.reshape(*shape, n_nodes)


def _recurrence(nodes, weights, n_nodes):
    """Recurrence of a discrete distribution's polynomials, by the procedure of Stieltjes."""
    # One distribution at a time: its few vectors stay in the cache.
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
    """Nodes that follow the factors as far as the product is not yet small, were they normal."""
    rates = _rates(unlabeled)
    spread = (rates**2 / (8 * (label_counts.sum(axis=2) + 2))).sum(axis=1)
    highest = _DECAY / np.sqrt(unlabeled_variance + spread)
    return highest * _width(rates, label_counts) / 2 + _SPARE_NODES


def _rates(unlabeled):
    return (unlabeled + 1) / (unlabeled + 1).sum(axis=1, keepdims=True)


def _width(rates, label_counts):
    """Width of the widest posterior of a ``p_a m_a``, some eight standard deviations."""
    return np.max(rates * np.minimum(1, 4 / np.sqrt(label_counts.sum(axis=2) + 1)), axis=1)


def _solve(alpha, nodes, weights, limit, mean, variance, probability):
    """The quantile by the secant method, kept inside a shrinking bracket."""
    matched = mean * (1 - mean) / variance - 1
    a, b = mean * matched, (1 - mean) * matched
    ends = [np.abs(betaincinv(a, b, q) - mean) for q in (_NEGLIGIBLE, 1 - _NEGLIGIBLE)]
    total = alpha.sum(axis=1)
    # S is theta - t times a gamma over its mean.
    inflation = 1 + 7 / np.sqrt(total) + 24 / total
    width = _MARGIN * np.maximum(*ends)

    t = betaincinv(a, b, probability)
    low, high = np.zeros_like(t), np.ones_like(t)
    slope = probability * (1 - probability) * 2.5 / np.sqrt(variance)
    before, excess_before = np.full_like(t, np.nan), np.full_like(t, np.nan)
    todo = np.arange(len(t))
    for _ in range(_STEPS):
        at = t[todo]
        reach = np.minimum(np.maximum(at, 1 - at), width[todo] + np.abs(at - mean[todo]))
        columns = (column[todo] for column in (alpha, nodes, weights, limit))
        excess = _probability_below(at, reach * inflation[todo], *columns) - probability
        below = excess < 0
        low[todo], high[todo] = np.where(below, at, low[todo]), np.where(below, high[todo], at)
        with np.errstate(divide="ignore", invalid="ignore"):
            secant = (excess - excess_before[todo]) / (at - before[todo])
        slope[todo] = np.where(secant > 0, secant, slope[todo])
        step = at - excess / slope[todo]
        inside = (step > low[todo]) & (step < high[todo])
        step = np.where(inside, step, (low[todo] + high[todo]) / 2)
        before[todo], excess_before[todo], t[todo] = at, excess, step
        todo = todo[np.abs(step - at) > _TOLERANCE]
        if todo.size == 0:
            break
    return t


def _probability_below(t, reach, alpha, nodes, weights, limit):
    """P(S <= 0), by the midpoint rule on the inversion formula of Gil-Pelaez."""
    spacing = 2 * np.pi / reach
    total = np.zeros_like(t)
    todo = np.arange(len(t))
    start, size = 0, _FREQUENCIES
    while todo.size:
        k = np.arange(start, start + size) + 0.5
        frequency = spacing[todo, None] * k
        u = frequency / alpha[todo].sum(axis=1, keepdims=True)
        value = _characteristic(u, t[todo], alpha[todo], nodes[todo], weights[todo])
        value[frequency > limit[todo, None]] = 0
        total[todo] += (value.imag / k).sum(axis=1)
        last = np.abs(value[:, -(size // 3) :] / k[-(size // 3) :]).max(axis=1)
        todo = todo[last > _SMALL]
        start, size = start + size, start + size
    return 0.5 - total / np.pi


def _characteristic(u, t, alpha, nodes, weights):
    """Characteristic function of S at the frequencies u, of shape (n_groups, n_u)."""
    value = np.ones(u.shape, dtype=complex)
    for a in range(alpha.shape[1]):
        angle = u[:, :, None] * (nodes[:, a] - t[:, None])[:, None, :]
        power = alpha[:, a, None, None]
        modulus = np.exp(-power / 2 * np.log1p(angle**2))
        phase = power * np.arctan(angle)
        share = weights[:, a, :, None]
        value *= ((modulus * np.cos(phase)) @ share + 1j * ((modulus * np.sin(phase)) @ share))[
            ..., 0
        ]
    return value
