"""Significant differences between models, with error control over all pairs."""

from typing import NamedTuple

import numpy as np
from scipy.stats import t as student_t

_BATCH_CELLS = 2**18  # differences in memory at once, 2 MB


class Dominance(NamedTuple):
    """Significant differences between each model and the others.

    Attributes
    ----------
    above : ndarray of bool of shape (n_models, n_models)
        Entry (j, k): model `j` is significantly better than `k`.
    below : ndarray of bool of shape (n_models, n_models)
        Entry (j, k): model `j` is significantly worse than `k`. The transpose of `above` for
        simultaneous tests, but not for marginal ones, which treat each row separately.
    """

    above: np.ndarray
    below: np.ndarray


def dominance(
    estimate,
    difference_error,
    noise,
    confidence_level=0.95,
    simultaneous=True,
    stepdown=True,
):
    """Find significant pairwise differences by simulated critical values.

    Parameters
    ----------
    estimate : ndarray of shape (n_models,)
        Estimated scores; high is good.
    difference_error : ndarray of shape (n_models, n_models)
        Standard error of ``estimate[j] - estimate[k]``; 0 on the diagonal.
    noise : ndarray of shape (n_draws, n_models)
        Draws of the joint sampling error of the estimates, with mean 0.
    confidence_level : float, default=0.95
        Probability of no wrong sign among all pairs, or among those of one model.
    simultaneous : bool, default=True
        Whether all pairs form one family, or the pairs of each model form a separate one.
    stepdown : bool, default=True
        Whether remaining pairs are tested again after rejections, with a smaller critical value.

    Returns
    -------
    Dominance
        ``1 + below.sum(axis=1)`` and ``n_models - above.sum(axis=1)`` are the ends of the
        confidence sets for the ranks.

    Notes
    -----
    The procedure is that of section 3 of [1]_. For each ordered pair, the hypothesis that `j` is
    not better than `k` is rejected if ``(estimate_j - estimate_k) / s_jk`` exceeds the critical
    value, which is the `confidence_level` quantile of the largest ``(noise_j - noise_k) / s_jk``
    over the pairs still in the family. Rejecting ``(j, k)`` keeps ``(k, j)`` in the family. If a
    standard error is 0, any difference is significant, even if all answers are correct by chance.

    References
    ----------
    .. [1] Mogstad, Romano, Shaikh and Wilhelm (2024). Inference for ranks with applications to
       mobility across neighbourhoods and academic achievement across countries. Review of Economic
       Studies 91, 476-518.

    Examples
    --------
    >>> x = np.array([0.8, 0.7, 0.4])
    >>> error = np.where(np.eye(3) == 1, 0.0, 0.1)
    >>> noise = np.random.default_rng(0).normal(0, 0.1 / np.sqrt(2), (1000, 3))
    >>> dominance(x, error, noise).above.astype(int)
    array([[0, 0, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    difference = estimate[:, None] - estimate
    known = difference_error > 0
    inverse = np.divide(1.0, difference_error, out=np.zeros_like(difference), where=known)
    certain = np.where(difference == 0, 0.0, np.copysign(np.inf, difference))
    statistic = np.where(known, difference * inverse, certain)
    test = _one_family if simultaneous else _family_of_each
    return test(statistic, inverse, noise, confidence_level, stepdown)


def single_step(estimate, difference_error, df, confidence_level=0.95, simultaneous=True):
    """Find significant pairwise differences by t tests at the Bonferroni level.

    Parameters
    ----------
    estimate, difference_error
        As in `dominance`.
    df : ndarray of shape (n_models, n_models)
        Degrees of freedom of the errors; infinite for known errors.
    confidence_level, simultaneous
        As in `dominance`.

    Returns
    -------
    Dominance

    Notes
    -----
    The test ``|x_j - x_k| > t_{1 - alpha / (2 m)} s_jk`` with `m` pairs in the family is valid
    under any dependence.

    Examples
    --------
    >>> error = np.where(np.eye(3) == 1, 0.0, 0.1)
    >>> single_step(np.array([0.8, 0.6, 0.4]), error, np.full((3, 3), 9.0)).above.astype(int)
    array([[0, 0, 1],
           [0, 0, 0],
           [0, 0, 0]])
    """
    n_models = len(estimate)
    n_pairs = max(1, (n_models - 1) * n_models // 2 if simultaneous else n_models - 1)
    quantile = student_t.isf((1 - confidence_level) / (2 * n_pairs), df)
    above = estimate[:, None] - estimate > quantile * difference_error
    return Dominance(above, above.T)


def maximal_cliques(adjacent, most=np.inf):
    """Find all maximal sets of nodes in which every two nodes are adjacent.

    Parameters
    ----------
    adjacent : ndarray of bool of shape (n, n)
        Symmetric; the diagonal is ignored.
    most : int, default=inf
        The search stops after `most` + 1 cliques.

    Returns
    -------
    ndarray of bool of shape (n_cliques, n)
        One row per maximal clique, in the order of their first nodes.

    Notes
    -----
    Bron and Kerbosch's algorithm with pivots (1973, Communications of the ACM 16, 575-577).
    Overlapping intervals have at most `n` maximal cliques; a general graph may have
    ``3^(n / 3)``.

    Examples
    --------
    >>> chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    >>> maximal_cliques(chain).astype(int)
    array([[1, 1, 0],
           [0, 1, 1]])
    """
    n = len(adjacent)
    packed = np.packbits(adjacent & ~np.eye(n, dtype=bool), axis=1, bitorder="little")
    neighbors = [int.from_bytes(row.tobytes(), "little") for row in packed]
    cliques = []
    stack = [(0, (1 << n) - 1, 0)]  # members, candidates, excluded nodes
    while stack and len(cliques) <= most:
        members, candidates, done = stack.pop()
        if not candidates and not done:
            cliques.append(members)
            continue
        near = {v: (neighbors[v] & candidates).bit_count() for v in _nodes(candidates | done)}
        n_others = candidates.bit_count() - 1
        everywhere = sum(1 << v for v in _nodes(candidates) if near[v] == n_others)
        if everywhere:  # adjacent to all other candidates, so in every remaining clique
            left = sum(1 << v for v in _nodes(done) if not everywhere & ~neighbors[v])
            stack.append((members | everywhere, candidates & ~everywhere, left))
            continue
        pivot = max(near, key=near.get)
        for v in _nodes(candidates & ~neighbors[pivot]):
            stack.append((members | 1 << v, candidates & neighbors[v], done & neighbors[v]))
            candidates &= ~(1 << v)
            done |= 1 << v
    n_bytes = packed.shape[1]
    members = b"".join(clique.to_bytes(n_bytes, "little") for clique in cliques)
    bits = np.frombuffer(members, dtype=np.uint8).reshape(-1, n_bytes)
    table = np.unpackbits(bits, axis=1, count=n, bitorder="little").astype(bool)
    rows = [row.tobytes() for row in np.packbits(table, axis=1)]
    return table[sorted(range(len(rows)), key=rows.__getitem__, reverse=True)]


def _one_family(statistic, inverse, noise, confidence_level, stepdown):
    left = ~np.eye(len(statistic), dtype=bool)
    above = np.zeros_like(left)
    while True:
        largest = _largest_differences(noise, inverse * left)
        rejected = left & (statistic > _upper_quantile(largest, confidence_level))
        above |= rejected
        left &= ~rejected
        if not (stepdown and rejected.any()):
            return Dominance(above, above.T)


def _family_of_each(statistic, inverse, noise, confidence_level, stepdown):
    n_models = len(statistic)
    above, below = np.zeros((2, n_models, n_models), dtype=bool)
    for j in range(n_models):
        # Both directions of each pair: better than k, worse than k.
        values = np.concatenate([statistic[j], -statistic[j]])
        left = np.tile(np.arange(n_models) != j, 2)
        draws = (noise[:, [j]] - noise) * inverse[j]
        rejected = left
        while rejected.any():
            highest = np.max(draws, axis=1, where=left[:n_models], initial=0.0)
            lowest = np.min(draws, axis=1, where=left[n_models:], initial=0.0)
            critical = _upper_quantile(np.maximum(highest, -lowest), confidence_level)
            rejected = left & (values > critical)
            left = left & ~rejected
            above[j] |= rejected[:n_models]
            below[j] |= rejected[n_models:]
            if not stepdown:
                break
    return Dominance(above, below)


def _largest_differences(noise, scale):
    """Largest ``(noise_j - noise_k) scale_jk`` of each draw, at least 0, in batches of draws."""
    n_draws, n_models = noise.shape
    largest = np.zeros(n_draws)
    step = max(1, _BATCH_CELLS // n_models)
    for start in range(0, n_draws, step):
        draws = noise[start : start + step]
        top = largest[start : start + step]
        for j in np.flatnonzero(scale.any(axis=1)):
            np.maximum(top, ((draws[:, [j]] - draws) * scale[j]).max(axis=1), out=top)
    return largest


def _upper_quantile(values, confidence_level):
    """A draw that at least `confidence_level` of the draws do not exceed."""
    return np.quantile(values, confidence_level, method="higher")


def _nodes(bits):
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
