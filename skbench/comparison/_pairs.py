"""What the items tell of every pair of models: one table that verdicts, ranks and letters share."""

from typing import NamedTuple

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student_t

from skbench.stats.clusters import paired, shared_items
from skbench.stats.intervals.group_means import mean_of_groups
from skbench.stats.intervals.moments import divided
from skbench.stats.intervals.worst_case import end_variances, worst_case_interval

FEW_CLUSTERS = 10  # below which t intervals are rough, and wide


class PairTable(NamedTuple):
    """Differences of all pairs of models and what they rest on, (n_groups, n_models, n_models)."""

    difference: np.ndarray  # the row's model minus the column's; nan where not compared
    variance: np.ndarray
    df: np.ndarray
    skewness: np.ndarray  # of the sampling error
    own_variance: np.ndarray  # (n_groups, n_models), of each model's score
    n_items: np.ndarray  # that both answered
    only_first: np.ndarray  # of these, where the row's model has the higher score
    n_clusters: np.ndarray
    n_behind: np.ndarray  # items behind the variance: the fewer of their own where none is shared
    left: np.ndarray  # share of the variance that is left where these are of all there are
    noise: np.ndarray  # variance of single answers of both models
    noise_left: np.ndarray  # what is left of it in their means
    related: np.ndarray  # whether they share items, directly or through others
    exact: np.ndarray  # whether McNemar's test applies: right or wrong, no clusters, no gaps
    fits: list  # a SharedItems for each group


def pair_table(table, unrelated=False):
    """The `PairTable` of a `ScoreTable`; `unrelated` models as on different items, if asked."""
    group_of_item = table.cluster_groups[table.clusters]
    may_be_exact = table.is_binary and not table.is_clustered
    arrays, fits = None, []
    for g in range(table.n_groups):
        mine = slice(None) if table.n_groups == 1 else np.flatnonzero(group_of_item == g)
        size = np.inf if table.sizes is None else table.sizes[g]
        *parts, fit = _one_group(table, mine, unrelated, size, may_be_exact)
        if table.n_groups == 1:
            return PairTable(*(part[None] for part in parts), [fit])
        if arrays is None:  # filled group by group: a second copy would double the memory
            arrays = [np.empty((table.n_groups, *part.shape), part.dtype) for part in parts]
        for array, part in zip(arrays, parts, strict=True):
            array[g] = part
        fits.append(fit)
    return PairTable(*arrays, fits)


def averaged(pairs):
    """The `PairTable` of means over the groups, which count equally and are independent."""
    n_groups = len(pairs.fits)
    if n_groups == 1:
        return pairs
    n = np.maximum(pairs.n_behind, 1)
    variance, left, n_equal = mean_of_groups(pairs.variance, n, pairs.df, pairs.left)
    unknown = np.full(variance.shape, np.nan)
    counts = ("n_items", "only_first", "n_clusters")
    whole = {name: getattr(pairs, name).sum(axis=0) for name in counts} | {
        "difference": pairs.difference.mean(axis=0),
        "variance": variance,
        "df": np.where(np.isfinite(variance), np.inf, np.nan),
        "n_behind": n_equal,
        "left": left,
        "skewness": divided(
            np.sum(pairs.skewness * pairs.variance**1.5, axis=0), pairs.variance.sum(axis=0) ** 1.5
        ),
        "own_variance": pairs.own_variance.mean(axis=0) / n_groups,
        "noise": unknown,
        "noise_left": unknown,
        "related": pairs.related.all(axis=0),
        "exact": np.zeros(variance.shape, dtype=bool),
    }
    return PairTable(**{name: value[None] for name, value in whole.items()}, fits=pairs.fits)


def intervals(fields, level, reach):
    """Ends of intervals and p-values of differences, by t or McNemar, that agree about 0.

    `reach` is how far two scores can differ: each end then allows for one worst case more. In a
    finite population ends and standard errors shrink towards the difference, which is known where
    nothing is left.
    """
    difference, variance = fields["difference"], fields["variance"]
    # Clusters that are all alike tell no more than so many items.
    n = np.where(variance > 0, fields["n_behind"], fields["n_clusters"])
    exact = fields["exact"]
    df = np.where(exact, 0.0, np.nan_to_num(fields["df"]))
    low, high = worst_case_interval(difference, variance, n, df, level, -reach, reach)
    nearer = np.where(difference > 0, *end_variances(difference, variance, n, -reach, reach))
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = np.abs(difference) / np.sqrt(nearer)
    if exact.any():
        # Many models on few items have few different counts.
        counts = (fields[name][exact] for name in ("only_a", "only_b", "n_items"))
        counts, which = paired.distinct_counts(*counts)
        low[exact], high[exact] = (x[which] for x in paired.mcnemar_interval(*counts, level))
    with np.errstate(invalid="ignore", divide="ignore"):
        shrink = np.sqrt(fields["left"])
        statistic, known = statistic / shrink, shrink == 0
    p_value = 2 * student_t.sf(statistic, np.where(df > 0, df, np.nan))
    if exact.any():
        p_value[exact] = paired.mcnemar_exact(*counts[:2])[which]
        with np.errstate(divide="ignore", invalid="ignore"):
            p_value[exact] = 2 * norm.sf(norm.isf(p_value[exact] / 2) / shrink[exact])
    # Models that never differ: no test finds anything, though no spread is known.
    p_value = np.where((difference == 0) & (known | np.isnan(variance)), 1.0, p_value)
    sides = []
    for end, bound in ((low, -reach), (high, reach)):
        # No further than scores that are left can take it.
        sides.append([shrink * (end - difference), fields["left"] * (bound - difference)])
    low, high = np.max(sides[0], axis=0), np.min(sides[1], axis=0)
    ends = (difference + np.where(known, 0.0, side) for side in (low, high))
    return *ends, np.where(known & (difference != 0), 0.0, p_value)


def _one_group(table, mine, unrelated, size, may_be_exact):
    """The fields of a `PairTable`, in order, for the items of one group."""
    scores = table.scores[mine]
    clusters = np.unique(table.clusters[mine], return_inverse=True)[1]
    least = np.nanmin(scores, initial=np.inf, where=np.isfinite(scores))
    least = least if np.isfinite(least) else 0.0
    above = scores - least  # differences of large scores would be lost in their sums
    fit = shared_items.shared_item_scores(above, clusters)
    errors = shared_items.pair_errors(above, clusters, fit)
    fit = fit._replace(mean=fit.mean + least)
    related = fit.component[:, None] == fit.component
    compared = related | unrelated
    answered = np.isfinite(scores).astype(float)
    n_items = answered.T @ answered
    n_behind = np.where(n_items > 0, n_items, np.minimum(fit.n_items[:, None], fit.n_items))
    errors = [np.where(compared, x, np.nan) for x in errors]
    noise = _noise(table.noise[mine], table.n_answers[mine], answered)
    # Where two models answered everything, other models' gaps do not matter.
    exact = (n_items == fit.n_items) & related & (n_items > 0)
    exact &= may_be_exact
    wins = _wins(scores, answered) if exact.any() else np.full(n_items.shape, np.nan)
    left = 1 - n_behind / size
    counts = n_items.astype(int), wins, fit.n_clusters, n_behind, left
    return *errors, fit.variance, *counts, *noise, related, exact, fit


def _wins(scores, answered):
    """Items that the row's model got right and the column's wrong, of those both answered."""
    right = np.nan_to_num(scores)
    return right.T @ answered - right.T @ right


def _noise(noise, n_answers, answered):
    """Variance of single answers, and what is left of it in the means, of every pair."""
    known = np.isfinite(noise)
    if not known.any():
        unknown = np.full((noise.shape[1],) * 2, np.nan)
        return unknown, unknown
    of_row = divided(np.where(known, noise, 0.0).T @ answered, known.astype(float).T @ answered)
    part = np.divide(answered, n_answers, out=np.zeros_like(answered), where=n_answers > 0)
    left = of_row * divided(part.T @ answered, answered.T @ answered)
    return of_row + of_row.T, left + left.T
