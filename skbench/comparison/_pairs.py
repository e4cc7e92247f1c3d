"""Differences of every pair of models, on which verdicts, ranks and letters are based."""

from functools import cached_property

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student_t

from skbench.stats.clusters import paired, shared_items
from skbench.stats.intervals.group_means import mean_of_groups
from skbench.stats.intervals.moments import divided
from skbench.stats.intervals.worst_case import end_variances, worst_case_interval

FEW_CLUSTERS = 10  # below which t intervals are wide and inaccurate


class PairTable:
    """Differences of all pairs of models and their variances, (n_groups, n_models, n_models).

    Its fields are those of `_Pairs`, computed when they are read.
    """

    def __init__(self, groups, fits):
        self.groups = groups
        self.fits = fits  # a SharedItems for each group

    def __getattr__(self, name):
        first = np.asarray(getattr(self.groups[0], name))
        if len(self.groups) == 1:
            return first[None]
        found = np.empty((len(self.groups), *first.shape), first.dtype)
        for g, group in enumerate(self.groups):
            found[g] = getattr(group, name)
        return found


def pair_table(table, unrelated=False):
    """Return the `PairTable` of a `ScoreTable`; if `unrelated`, models need not share items."""
    groups = list(_pairs_of_groups(table, unrelated))
    return PairTable(groups, [group.fit for group in groups])


def mean_pair_table(table, unrelated=False):
    """Return the `PairTable` of means over independent groups with equal weights."""
    if table.n_groups == 1:
        return pair_table(table, unrelated)
    mean = _MeanPairs(_pairs_of_groups(table, unrelated))
    return PairTable([mean], mean.fits)


def intervals(fields, level, reach):
    """Return interval ends and p-values of differences, by t or McNemar, that agree about 0.

    `reach` is the largest possible difference of two scores; the standard error of each end
    is computed with one more difference at this bound. In a finite population, ends and standard
    errors shrink toward the difference, which is known exactly if all items were answered.
    """
    difference, variance = fields["difference"], fields["variance"]
    # Clusters that are all alike carry no more information than as many items.
    n = np.where(variance > 0, fields["n_behind"], fields["n_clusters"])
    exact, shrink = fields["exact"], np.sqrt(fields["left"])
    known = shrink == 0
    low, high, p_value = np.empty((3, len(exact)))
    if not exact.all():
        t, df = ~exact, np.nan_to_num(fields["df"])[~exact]
        given, far = (difference[t], variance[t], n[t]), np.broadcast_to(reach, t.shape)[t]
        low[t], high[t] = worst_case_interval(*given, df, level, -far, far)
        nearer = np.where(difference[t] > 0, *end_variances(*given, -far, far))
        with np.errstate(invalid="ignore", divide="ignore"):
            statistic = np.abs(difference[t]) / np.sqrt(nearer) / shrink[t]
        p_value[t] = 2 * student_t.sf(statistic, np.where(df > 0, df, np.nan))
    if exact.any():
        # Many models on few items have few distinct counts.
        counts = (fields[name][exact] for name in ("only_a", "only_b", "n_items"))
        counts, which = paired.distinct_counts(*counts)
        low[exact], high[exact] = (x[which] for x in paired.mcnemar_interval(*counts, level))
        p_value[exact] = paired.mcnemar_exact(*counts[:2])[which]
    if exact.any() and (shrink < 1).any():
        with np.errstate(divide="ignore", invalid="ignore"):
            p_value[exact] = 2 * norm.sf(norm.isf(p_value[exact] / 2) / shrink[exact])
    # Models that never differ have a p-value of 1 although their variance is unknown.
    p_value = np.where((difference == 0) & (known | np.isnan(variance)), 1.0, p_value)
    sides = []
    for end, bound in ((low, -reach), (high, reach)):
        # The unanswered items limit how far the population difference can be.
        sides.append([shrink * (end - difference), fields["left"] * (bound - difference)])
    low, high = np.max(sides[0], axis=0), np.min(sides[1], axis=0)
    ends = (difference + np.where(known, 0.0, side) for side in (low, high))
    return *ends, np.where(known & (difference != 0), 0.0, p_value)


def _pairs_of_groups(table, unrelated):
    group_of_item = table.cluster_groups[table.clusters]
    for g in range(table.n_groups):
        mine = slice(None) if table.n_groups == 1 else np.flatnonzero(group_of_item == g)
        yield _Pairs(table, mine, unrelated, np.inf if table.sizes is None else table.sizes[g])


class _Pairs:
    """Differences of all pairs of models on the items of one group."""

    def __init__(self, table, mine, unrelated, size):
        self._scores, self._size = table.scores[mine], size
        self._noise, self._n_answers = table.noise[mine], table.n_answers[mine]
        self._may_be_exact = table.is_binary and not table.is_clustered
        clusters = np.unique(table.clusters[mine], return_inverse=True)[1]
        least = np.nanmin(self._scores, initial=np.inf, where=np.isfinite(self._scores))
        least = least if np.isfinite(least) else 0.0
        # Sums of large scores would lose the precision of their differences.
        fit = shared_items.shared_item_scores(self._scores - least, clusters)
        errors = shared_items.pair_errors(self._scores, clusters, fit)
        self.fit = fit._replace(mean=fit.mean + least)
        self.own_variance = fit.variance  # (n_models,), of each model's score
        # Whether two models share items, directly or through other models.
        self.related = fit.component[:, None] == fit.component
        if not (unrelated or self.related.all()):
            errors = [np.where(self.related, x, np.nan) for x in errors]
        # The row's model minus the column's; nan if not compared.
        self.difference, self.variance, self.df = errors
        self.n_clusters = fit.n_clusters

    @cached_property
    def _answered(self):
        return np.isfinite(self._scores).astype(float)

    @cached_property
    def n_items(self):
        """Number of items that both models answered."""
        return (self._answered.T @ self._answered).astype(int)

    @property
    def n_behind(self):
        """Items that the variance is based on: shared, or else the smaller number of own items."""
        own = self.fit.n_items
        if self.n_items.all():
            return self.n_items
        return np.where(self.n_items > 0, self.n_items, np.minimum(own[:, None], own))

    @property
    def left(self):
        """Share of the variance that remains in a finite population."""
        return 1 - self.n_behind / self._size

    @property
    def exact(self):
        """Whether McNemar's test applies: binary scores, no clusters, no missing answers."""
        if not self._may_be_exact:
            return np.zeros(self.related.shape, dtype=bool)
        # Missing answers of other models do not matter.
        return (self.n_items == self.fit.n_items) & self.related & (self.n_items > 0)

    @cached_property
    def only_first(self):
        """Shared items that only the row's model answered correctly."""
        if not self.exact.any():
            return np.full(self.related.shape, np.nan)
        right = np.nan_to_num(self._scores)
        return right.T @ self._answered - right.T @ right

    @property
    def skewness(self):
        """Skewness of the sampling error."""
        return shared_items.pair_skewness(self.fit, self.variance)

    @cached_property
    def _noises(self):
        return _noise(self._noise, self._n_answers, self._answered)

    @property
    def noise(self):
        """Variance of single answers, summed over both models."""
        return self._noises[0]

    @property
    def noise_left(self):
        """The part of that variance that remains in the means of answers."""
        return self._noises[1]


class _MeanPairs:
    """The fields of `_Pairs` for means over groups, as far as these have them."""

    def __init__(self, groups):
        self.fits, self.related = [], True
        self.difference = self.own_variance = self.n_items = self.n_clusters = 0
        self.variance, self.left, self.n_behind = mean_of_groups(self._summed(groups))
        n_groups = len(self.fits)
        self.difference = self.difference / n_groups
        self.own_variance = self.own_variance / n_groups**2
        self.df = np.where(np.isfinite(self.variance), np.inf, np.nan)
        self.exact = np.zeros(self.related.shape, dtype=bool)
        self.noise = self.noise_left = np.full(self.related.shape, np.nan)

    def _summed(self, groups):
        """Yield variances of the groups and sum the rest, one group at a time to save memory."""
        for group in groups:
            self.fits.append(group.fit)
            self.related = self.related & group.related
            for name in ("difference", "own_variance", "n_items", "n_clusters"):
                setattr(self, name, getattr(self, name) + getattr(group, name))
            yield group.variance, np.maximum(group.n_behind, 1), group.df, group.left


def _noise(noise, n_answers, answered):
    """Variance of single answers, and its part that remains in the means, for every pair."""
    known = np.isfinite(noise)
    if not known.any():
        unknown = np.full((noise.shape[1],) * 2, np.nan)
        return unknown, unknown
    of_row = divided(np.where(known, noise, 0.0).T @ answered, known.astype(float).T @ answered)
    part = np.divide(answered, n_answers, out=np.zeros_like(answered), where=n_answers > 0)
    left = of_row * divided(part.T @ answered, answered.T @ answered)
    return of_row + of_row.T, left + left.T
