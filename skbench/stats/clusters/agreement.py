"""Agreement of raters beyond chance, and how many independent ones several are worth."""

import numpy as np
from scipy.special import ndtri
from scipy.stats import t as student_t

LEVELS = ("nominal", "ordinal", "interval")
_PRIOR = 2.0  # labels that the prior of a table is worth, spread over its cells
WIDER = 0.8  # share of the tails that is left out (test_every_interval_covers)


def chance_corrected(tables, values, level="nominal", n_units=None):
    """Cohen's kappa, or Krippendorff's alpha, of tables of two raters.

    Parameters
    ----------
    tables : array-like of shape (..., n_labels, n_labels)
        Counts or shares of units by the label of either rater.
    values : array-like of shape (n_labels,)
        The labels as numbers, rising.
    level : {"nominal", "ordinal", "interval"}, default="nominal"
        Disagreement: 1, the squared difference of positions (kappa) or of ranks (alpha), or of
        values.
    n_units : int, default=None
        Number of units, for alpha; None gives kappa.

    Returns
    -------
    ndarray of shape (...)
        nan where only one label is used.

    Notes
    -----
    ``1 - D_o / D_e``. For kappa [1]_ chance keeps the shares of either rater; for alpha [2]_ it
    keeps those of both together, drawn without replacement from ``2 n_units`` ratings.

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
    """Krippendorff's alpha of any number of raters, ratings may be missing.

    Parameters
    ----------
    ratings : array-like of shape (n_units, n_raters)
        Numbers; nan where a rater did not rate a unit. Each unit with m >= 2 ratings adds its
        pairs, over m - 1, to the table of coincidences.
    level : {"nominal", "ordinal", "interval"}, default="nominal"
        Of the labels.

    Returns
    -------
    float
        nan where only one label is used, or no unit has two ratings.

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
    """Interval of a statistic of a table of two raters, by clusters of units.

    Parameters
    ----------
    tables : array-like of shape (n_clusters, n_labels, n_labels)
        Counts of each cluster; one table per unit where they are independent.
    statistic : callable
        From tables of shape (..., n_labels, n_labels) to an array of shape (...).
    confidence_level : float
        Nominal coverage.
    rng : numpy.random.Generator
        Source of the draws.
    n_draws : int, default=4000
        Number of draws.

    Returns
    -------
    low, high : float
        nan for fewer than two clusters, or where the statistic is unknown.

    Notes
    -----
    Quantiles of the statistic in the Dirichlet posterior of the shares of the cells, with a prior
    worth two labels. Counts are divided by the design effect (at least 1, by leaving out a cluster
    and a unit) and multiplied by the squared quotient of the normal and Student's quantile (Korn
    and Graubard 1998, Survey Methodology 24, 193-201); a fifth of either tail is added.

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
    # Where raters always agree no draw of the posterior is as good as what was seen.
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
    """Number of independent raters that those with such errors are worth, from 1 to k.

    ``k^2 / sum of the matrix``: the variance of one error over that of the mean of k.

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
        Errors with mean 0 given the truth; nan where a rater did not rate.
    codes : array-like of int of shape (n_units,), default=None
        Cluster of each unit: one matrix for each cluster, made without it.

    Returns
    -------
    ndarray of shape (n_raters, n_raters) or (n_clusters, n_raters, n_raters)
        nan for a rater that never errs.

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
    """Sums over all units, or over those outside of each cluster."""
    sums = [part.sum(axis=0) for part in parts]
    if codes is None:
        return sums
    own = [np.zeros((np.max(codes) + 1, *part.shape[1:])) for part in parts]
    for into, part in zip(own, parts, strict=True):
        np.add.at(into, codes, part)
    return [total - inside for total, inside in zip(sums, own, strict=True)]


def linear_vote(verdicts, y, codes=None):
    """Weights of the best linear vote of raters whose errors may be correlated.

    Parameters
    ----------
    verdicts : array-like of shape (n_units, n_raters)
        Scores.
    y : array-like of shape (n_units,)
        The truth, 0 or 1, both of which occur.
    codes : array-like of int of shape (n_units,), default=None
        Cluster of each unit: one vote for each cluster, made without it.

    Returns
    -------
    weights : ndarray of shape (n_raters,) or (n_clusters, n_raters)
    threshold : ndarray of shape () or (n_clusters,)
        Of ``verdicts @ weights``, above which the vote is 1; nan where the units that are left have
        one truth only.

    Notes
    -----
    Fisher's discriminant, ``S^-1 (m_1 - m_0)``, with the pooled covariance S of the verdicts and
    one pseudo unit of equal, uncorrelated errors; the threshold has the log odds of `y`. It takes
    at least ten units per rater.

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
