"""Wild cluster bootstrap of a mean: tests and intervals for a handful of clusters."""

import numpy as np

_WEIGHTS = {
    "rademacher": np.array([-1.0, 1.0]),
    "webb": np.sqrt([0.5, 1.0, 1.5])[[2, 1, 0, 0, 1, 2]] * [-1, -1, -1, 1, 1, 1],
}
_ROUNDING = 1e-9  # relative: a weighting with all +1 gives the t of the data, but for rounding
_DOUBLINGS = 40
_HALVINGS = 60


def wild_cluster_p_value(
    cluster_sums, cluster_sizes, null=0.0, *, weights="webb", n_draws=9999, rng=None
):
    """Wild cluster bootstrap test that the item-weighted mean is `null`.

    Parameters
    ----------
    cluster_sums : array-like of shape (n_clusters,)
        Sum of the scores of each cluster.
    cluster_sizes : array-like of shape (n_clusters,)
        Number of its items, at least 1.
    null : float, default=0.0
        Mean to be tested, in the units of the score.
    weights : {"webb", "rademacher"}, default="webb"
        Six weights, ``+-sqrt(1/2), +-1, +-sqrt(3/2)``, or signs alone.
    n_draws : int, default=9999
        Number of random weightings. Where there are no more weightings than this in all, each is
        taken once and nothing is random.
    rng : numpy.random.Generator, default=None
        Draws the weightings; not used where all are taken.

    Returns
    -------
    float
        Two-sided p-value; nan for one cluster and where all clusters have the same mean.

    Notes
    -----
    Scores are redrawn as ``null + v_c (x - null)``, with one weight `v_c` for all items of a
    cluster. The p-value is the share of weightings whose ``|t|`` reaches that of the data; `t` is
    the distance of the mean from `null` over its CR0 standard error (the factor of CR1 cancels).
    This is the bootstrap with the null imposed of [1]_, with the weights of [2]_. With signs alone
    no p-value of C clusters is below ``2^(1 - C)``: five clusters never reject at 5 %.

    References
    ----------
    .. [1] Cameron, Gelbach and Miller (2008). Bootstrap-based improvements for inference with
       clustered errors. Review of Economics and Statistics 90, 414-427.
    .. [2] Webb (2023). Reworking wild bootstrap based inference for clustered errors. Canadian
       Journal of Economics 56, 839-858.

    Examples
    --------
    >>> wild_cluster_p_value([3, 1, 2, 4], [4, 2, 2, 5], 0.25, weights="rademacher")
    0.125
    """
    mean, p_value, _ = _test(cluster_sums, cluster_sizes, weights, n_draws, rng)
    return p_value(null - mean)


def wild_cluster_interval(
    cluster_sums, cluster_sizes, confidence_level=0.95, *, weights="webb", n_draws=9999, rng=None
):
    """Interval of the means that the wild cluster bootstrap does not reject.

    Parameters
    ----------
    cluster_sums : array-like of shape (n_clusters,)
        Sum of the scores of each cluster.
    cluster_sizes : array-like of shape (n_clusters,)
        Number of its items, at least 1.
    confidence_level : float, default=0.95
        Nominal coverage.
    weights : {"webb", "rademacher"}, default="webb"
        As in `wild_cluster_p_value`.
    n_draws : int, default=9999
        As in `wild_cluster_p_value`. One set of weightings serves all means.
    rng : numpy.random.Generator, default=None
        Draws the weightings; not used where all are taken.

    Returns
    -------
    low, high : float
        Ends of the interval; nan for one cluster and where all clusters have the same mean,
        infinite where the clusters are too few to reject any mean.

    Notes
    -----
    The test of `wild_cluster_p_value`, inverted by bisection between the mean, which is never
    rejected, and the first of 1, 2, 4, ... standard errors away from it that is. The p-value is a
    step function, so an end lies on one of its steps.

    Examples
    --------
    >>> low, high = wild_cluster_interval([3, 1, 2, 4, 0], [4, 2, 2, 5, 3])
    >>> print(round(low, 2), round(high, 2))
    0.03 1.07
    """
    alpha = 1 - confidence_level
    mean, p_value, never_rejected = _test(cluster_sums, cluster_sizes, weights, n_draws, rng)
    if np.isnan(p_value(0.0)):
        return np.nan, np.nan
    if never_rejected > alpha:
        return -np.inf, np.inf
    sums, sizes = np.asarray(cluster_sums, dtype=float), np.asarray(cluster_sizes, dtype=float)
    step = np.sqrt(np.sum((sums - sizes * mean) ** 2)) / sizes.sum()
    ends = [mean + _first_rejected(p_value, alpha, direction * step) for direction in (-1, 1)]
    return float(ends[0]), float(ends[1])


def _test(cluster_sums, cluster_sizes, weights, n_draws, rng):
    """Mean, p-value as a function of the distance of the null from it, and its least limit."""
    if weights not in _WEIGHTS:
        raise ValueError(f"weights must be one of {tuple(_WEIGHTS)}, got {weights!r}.")
    sums, sizes = np.asarray(cluster_sums, dtype=float), np.asarray(cluster_sizes, dtype=float)
    mean = sums.sum() / sizes.sum()
    share = sizes / sizes.sum()
    residual = (sums - sizes * mean) / sizes.sum()
    spread = np.sum(residual**2)
    if sums.size < 2 or spread <= (_ROUNDING * np.abs(mean)) ** 2:
        return mean, lambda distance: np.nan, np.nan
    v = _weightings(_WEIGHTS[weights], sums.size, n_draws, rng)
    redrawn_spread, redrawn_distance = _redrawn(v, residual, share)

    def p_value(distance):
        squares = redrawn_distance(distance) ** 2
        # Products, not ratios: a weighting without any spread is as extreme as can be.
        threshold = distance**2 * redrawn_spread(distance)
        return float(np.mean(squares * spread >= threshold * (1 - _ROUNDING)))

    # Far from the mean only the weightings that are equal in all clusters still reach the data.
    equal = np.all(v == v[:, :1], axis=1)
    return mean, p_value, float(np.mean(equal))


def _redrawn(v, residual, share):
    """Spread and distance of the redrawn means, both polynomials of the null's distance."""
    # Cluster sums of x - null are residual - distance * share, times v once redrawn.
    of_residual, of_share = v @ residual, v @ share
    v2 = v**2
    rr, rs, ss = v2 @ residual**2, v2 @ (residual * share), v2 @ share**2
    vr, vs, total = v @ (residual * share), v @ share**2, np.sum(share**2)

    def distance_of(distance):
        return of_residual - distance * of_share

    def spread_of(distance):
        moved = distance_of(distance)
        own = rr - 2 * distance * rs + distance**2 * ss
        return np.maximum(own - 2 * moved * (vr - distance * vs) + moved**2 * total, 0)

    return spread_of, distance_of


def _weightings(values, n_clusters, n_draws, rng):
    """All weightings where there are few, else random ones: one row each."""
    # The logarithm, because the power of a thousand clusters is no float.
    if n_clusters * np.log(values.size) <= np.log(n_draws):
        return np.stack(np.meshgrid(*[values] * n_clusters), axis=-1).reshape(-1, n_clusters)
    if rng is None:
        raise ValueError(
            f"{len(values)}^{n_clusters} weightings are too many to take all of them. Pass "
            "rng=numpy.random.default_rng(seed) to draw some."
        )
    return rng.choice(values, size=(n_draws, n_clusters))


def _first_rejected(p_value, alpha, step):
    """Distance from the mean, in the direction of the step, at which rejection begins."""
    inside, outside = 0.0, step
    for _ in range(_DOUBLINGS):
        if p_value(outside) <= alpha:
            break
        inside, outside = outside, 2 * outside
    else:
        return np.copysign(np.inf, step)
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if p_value(middle) <= alpha:
            outside = middle
        else:
            inside = middle
    return outside
