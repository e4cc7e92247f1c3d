"""Agreement of raters corrected for chance, and the effective number of raters."""

import numpy as np
from scipy.special import ndtri
from scipy.stats import t as student_t

LEVELS = ("nominal", "ordinal", "interval")
_PRIOR = 2.0  # prior counts of a table, divided among its cells
WIDER = 0.8  # ratio of the tail probabilities to the nominal ones (test_every_interval_covers)


def chance_corrected(tables, values, level="nominal", n_units=None):
    """Cohen's kappa or Krippendorff's alpha from tables of two raters.

    Parameters
    ----------
    tables : array-like of shape (..., n_labels, n_labels)
        Counts or proportions of units by the labels of both raters.
    values : array-like of shape (n_labels,)
        The labels as numbers in increasing order.
    level : {"nominal", "ordinal", "interval"}, default="nominal"
        Measure of disagreement: 1 for different labels, the squared difference in positions (kappa)
        or ranks (alpha), or the squared difference in values.
    n_units : int, default=None
        Number of units for alpha. None gives kappa.

    Returns
    -------
    ndarray of shape (...)
        Agreement; nan if only one label occurs.

    Notes
    -----
    The result is ``1 - D_o / D_e`` with the observed and the expected disagreement. For kappa [1]_
    the expected disagreement uses the label proportions of each rater. For alpha [2]_ it uses two
    of all ``2 n_units`` ratings, drawn without replacement.

    References
    ----------
    .. [1] Cohen (1968). Weighted kappa. Psychological Bulletin 70, 213-220.
    .. [2] Krippendorff (2019). Content Analysis, 4th edition, chapter 12.

    Examples
    --------
    >>> table = [[20, 5], [10, 15]]
    >>> print(chance_corrected(table, [0, 1]).round(3), chance_corrected(table, [0, 1], n_units=50))
    0.4 0.4
    """
    tables = np.asarray(tables, dtype=float)
    tables = tables / tables.sum(axis=(-2, -1), keepdims=True)
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    if n_units is not None:
        rows = columns = (rows + columns) / 2
    distance = _distance(rows, values, level, kappa=n_units is None)
    expected = (rows[..., :, None] * columns[..., None, :] * distance).sum(axis=(-2, -1))
    if n_units is not None:
        expected = expected * 2 * n_units / (2 * n_units - 1)
    observed = (tables * distance).sum(axis=(-2, -1))
    ratio = np.divide(observed, expected, where=expected > 0, out=np.full_like(expected, np.nan))
    return (1 - ratio)[()]


def _distance(shares, values, level, kappa):
    place = np.asarray(values, dtype=float)
    if level == "nominal":
        return 1.0 - np.eye(place.size)
    if level == "ordinal":
        place = np.arange(place.size) if kappa else np.cumsum(shares, axis=-1) - shares / 2
    return (place[..., :, None] - place[..., None, :]) ** 2


def krippendorff_alpha(ratings, level="nominal"):
    """Krippendorff's alpha of any number of raters with missing ratings.

    Parameters
    ----------
    ratings : array-like of shape (n_units, n_raters)
        Ratings as numbers; nan if missing. A unit with m >= 2 ratings adds its pairs, divided by
        m - 1, to the table of coincidences.
    level : {"nominal", "ordinal", "interval"}, default="nominal"
        Scale of the labels.

    Returns
    -------
    float
        Alpha; nan if only one label occurs or no unit has two ratings.

    Examples
    --------
    >>> print(round(krippendorff_alpha([[1, 1], [2, 2], [1, 2], [3, np.nan]]), 3))
    0.444
    """
    ratings = np.asarray(ratings, dtype=float)
    values = np.unique(ratings[np.isfinite(ratings)])
    counts = (ratings[:, :, None] == values).sum(axis=1).astype(float)
    counts = counts[counts.sum(axis=1) > 1]
    if not counts.size:
        return np.nan
    weight = 1 / (counts.sum(axis=1) - 1)
    pairs = (counts * weight[:, None]).T @ counts - np.diag(weight @ counts)
    return float(chance_corrected(pairs, values, level, n_units=counts.sum() / 2))


def table_interval(tables, statistic, confidence_level, rng, n_draws=4000):
    """Interval of a statistic of a table of two raters, for clustered units.

    Parameters
    ----------
    tables : array-like of shape (n_clusters, n_labels, n_labels)
        Counts of each cluster. Independent units have one table each.
    statistic : callable
        Function from tables of shape (..., n_labels, n_labels) to an array of shape (...).
    confidence_level : float
        Nominal coverage.
    rng : numpy.random.Generator
        Source of the draws.
    n_draws : int, default=4000
        Number of draws.

    Returns
    -------
    low, high : float
        Ends of the interval; nan with fewer than two clusters or if the statistic is nan.

    Notes
    -----
    The ends are quantiles of the statistic under the Dirichlet posterior of the cell proportions,
    with prior counts that sum to 2. Counts are divided by the design effect, which is at least 1
    and compares the jackknife by clusters with that by units. They are multiplied by the squared
    ratio of the normal to the t quantile (Korn and Graubard 1998, Survey Methodology 24, 193-201).
    Each tail is reduced by a fifth.

    Examples
    --------
    >>> tables = np.repeat(np.eye(2)[:, :, None] * np.eye(2), [20, 20], axis=0)
    >>> ends = table_interval(tables, lambda t: chance_corrected(t, [0, 1]), 0.95,
    ...                       np.random.default_rng(0))
    >>> print(f"{ends[0]:.1f} {ends[1]:.1f}")
    0.8 1.0
    """
    tables = np.asarray(tables, dtype=float)
    total = tables.sum(axis=0)
    n_clusters, tail = len(tables), (1 + confidence_level) / 2
    if n_clusters < 2 or not np.isfinite(statistic(total)):
        return np.nan, np.nan
    shrink = (ndtri(tail) / student_t.ppf(tail, n_clusters - 1)) ** 2
    if tables.sum(axis=(1, 2)).max() > 1:
        shrink /= _design_effect(tables, total, statistic)
    a = total.ravel() * shrink + _PRIOR / total.size
    draws = rng.dirichlet(a, n_draws).reshape(n_draws, *total.shape)
    found = statistic(draws)
    out = WIDER * (1 - tail)
    low, high = np.quantile(found[np.isfinite(found)], [out, 1 - out])
    # If raters always agree, all draws are below the observed statistic.
    seen = statistic(total)
    return min(low, seen), max(high, seen)


def _design_effect(tables, total, statistic):
    n, n_clusters = total.sum(), len(tables)
    by_cluster = statistic(total - tables)
    cells = np.eye(total.size).reshape(total.size, *total.shape)[total.ravel() > 0]
    weights = total[total > 0]
    by_unit = statistic(total - cells)
    spread = ((by_cluster - by_cluster.mean()) ** 2).sum() * (n_clusters - 1) / n_clusters
    center = weights @ by_unit / n
    alone = (weights @ (by_unit - center) ** 2) * (n - 1) / n
    return max(1.0, spread / alone) if alone > 0 and np.isfinite(spread) else 1.0


def effective_number(correlation):
    """Effective number of independent raters, from 1 to k, given the correlation of their errors.

    It is ``k^2 / sum of the matrix``, the ratio of the variance of one error to that of the mean.

    Examples
    --------
    >>> print(effective_number(np.ones((3, 3))), effective_number(np.eye(3)))
    1.0 3.0
    """
    correlation = np.asarray(correlation, dtype=float)
    k = correlation.shape[-1]
    total = correlation.sum(axis=(-2, -1))
    return np.clip(k**2 / np.maximum(total, k * 1e-9), 1, k)[()]


def error_correlation(residuals, codes=None):
    """Correlation of raters' errors.

    Parameters
    ----------
    residuals : array-like of shape (n_units, n_raters)
        Errors with mean 0 given the true label; nan if a rating is missing.
    codes : array-like of int of shape (n_units,), default=None
        Cluster of each unit. If given, there is one matrix per cluster, from the other clusters.

    Returns
    -------
    ndarray of shape (n_raters, n_raters) or (n_clusters, n_raters, n_raters)
        Correlations; nan for a rater without errors.

    Examples
    --------
    >>> error_correlation([[1, 1], [-1, -1], [0, 0]]).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    e = np.asarray(residuals, dtype=float)
    there = np.isfinite(e)
    e = np.where(there, e, 0.0)
    parts = e[:, :, None] * e[:, None, :], (e**2)[:, :, None] * there[:, None, :]
    products, squares = _sums(parts, codes)
    scale = np.sqrt(squares * np.swapaxes(squares, -1, -2))
    return np.divide(products, scale, where=scale > 1e-12, out=np.full(scale.shape, np.nan))


def _sums(parts, codes):
    """Sums over all units, or over the units outside each cluster."""
    sums = [part.sum(axis=0) for part in parts]
    if codes is None:
        return sums
    own = [np.zeros((np.max(codes) + 1, *part.shape[1:])) for part in parts]
    for into, part in zip(own, parts, strict=True):
        np.add.at(into, codes, part)
    return [total - inside for total, inside in zip(sums, own, strict=True)]


def linear_vote(verdicts, y, codes=None):
    """Weights of the best linear vote of raters with correlated errors.

    Parameters
    ----------
    verdicts : array-like of shape (n_units, n_raters)
        Scores of the raters.
    y : array-like of shape (n_units,)
        True labels, 0 or 1. Both must occur.
    codes : array-like of int of shape (n_units,), default=None
        Cluster of each unit. If given, there is one vote per cluster, from the other clusters.

    Returns
    -------
    weights : ndarray of shape (n_raters,) or (n_clusters, n_raters)
        Weights of the raters.
    threshold : ndarray of shape () or (n_clusters,)
        The vote is 1 if ``verdicts @ weights`` is above the threshold. It is nan if the other
        clusters have only one true label.

    Notes
    -----
    This is Fisher's discriminant, ``S^-1 (m_1 - m_0)``. The pooled covariance S of the verdicts
    includes one pseudo-unit with equal, uncorrelated errors. The threshold includes the log odds of
    `y`.

    When not to use it: with fewer than ten units per rater.

    Examples
    --------
    >>> weights, threshold = linear_vote([[1, 1], [1, 0], [0, 1], [0, 0]], [1, 1, 0, 0])
    >>> bool(weights[0] > weights[1] >= 0)
    True
    """
    x, is_one = np.asarray(verdicts, dtype=float), np.asarray(y) == 1
    truth = np.column_stack([~is_one, is_one]).astype(float)
    parts = truth, truth[:, :, None] * x[:, None, :], x[:, :, None] * x[:, None, :]
    counts, totals, squares = _sums(parts, codes)
    n = counts.sum(axis=-1)
    means = totals / np.where(counts > 0, counts, np.nan)[..., None]
    scatter = squares - np.einsum("...c,...ci,...cj->...ij", counts, means, means)
    scatter = np.where(np.isfinite(scatter), scatter, 0.0)
    spread = np.trace(scatter, axis1=-2, axis2=-1) / n
    ridge = np.maximum(spread, x.var() + 1e-6)[..., None, None] * np.eye(x.shape[1])
    apart = (means[..., 1, :] - means[..., 0, :])[..., None]
    weights = np.linalg.solve((scatter + ridge) / n[..., None, None], apart)[..., 0]
    with np.errstate(divide="ignore"):
        odds = np.log(counts[..., 1] / counts[..., 0])
    return weights, (weights * means.sum(axis=-2)).sum(axis=-1) / 2 - odds
