"""From the answers of many models to a ranking with intervals, rank sets and ties."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from skbench._checks import check_confidence_level
from skbench.benchmark._score_table import plain, score_table, some_of
from skbench.benchmark.ranks import (
    RankConfidenceSets,
    indistinguishable_groups,
    rank_confidence_sets,
)
from skbench.containers import Estimate
from skbench.stats import binomial, clustered, means, paired
from skbench.stats.moments import satterthwaite_df
from skbench.stats.ranking import ranks


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard:
    """Models from best to worst, and how sure that order is.

    Attributes
    ----------
    estimate : Estimate
        Mean scores with intervals, best model first.
    covariance : ndarray of shape (n_models, n_models)
        Of the mean scores; positive where models fail on the same items.
    rank_sets : RankConfidenceSets
        Ranks that each model may have, for all models at once.
    ties : list of str
        Letters of each model: two models that share one cannot be told apart.
    n_items : ndarray of int of shape (n_models,)
        Number of items each model answered.
    n_clusters : ndarray of int of shape (n_models,)
        Number of clusters these are in.

    Examples
    --------
    >>> import pandas as pd
    >>> items = pd.DataFrame({"model": ["ada"] * 6 + ["bob"] * 6, "item": [*range(6)] * 2,
    ...                       "score": [1, 1, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1]})
    >>> leaderboard(items, random_state=0).ties
    ['a', 'a']
    """

    estimate: Estimate
    covariance: np.ndarray
    rank_sets: RankConfidenceSets
    ties: list
    n_items: np.ndarray
    n_clusters: np.ndarray

    def to_frame(self):
        """One row per model: rank, its confidence set, ties, score and interval."""
        e = self.estimate
        columns = {
            "rank": ranks(e.value, "best").astype(int),
            "rank_low": self.rank_sets.low,
            "rank_high": self.rank_sets.high,
            "ties": self.ties,
            "estimate": e.value,
            "low": e.low,
            "high": e.high,
            "standard_error": e.standard_error,
            "n": self.n_items,
        }
        return pd.DataFrame(columns, index=e.labels)

    def __len__(self):
        return len(self.estimate)

    def __repr__(self):
        level = f"{100 * self.estimate.confidence_level:g} %"
        best = some_of(list(self.rank_sets.best()))
        head = f"Leaderboard of {len(self)} models by {self.estimate.method}, {level} intervals"
        text = self.to_frame().to_string(float_format=lambda x: f"{x:.4g}", max_rows=20)
        return f"{head}; may be the best: {best}\n{text}"


def leaderboard(
    items,
    *,
    model="model",
    item="item",
    score="score",
    cluster=None,
    by=None,
    confidence_level=0.95,
    random_state=None,
):
    """Rank models by their mean score, with the uncertainty of scores and ranks.

    Parameters
    ----------
    items : dataframe
        One row per answer of a model to an item, in any dataframe that narwhals
        reads. Not changed.
    model, item, score : str
        Names of the columns. High scores are good.
    cluster : str, default=None
        Column of clusters of dependent items. The item column itself where items
        were answered several times.
    by : str or list of str, default=None
        Columns of the topics, whose means then count equally. None counts items
        equally.
    confidence_level : float, default=0.95
        Of each score's interval, and of all rank sets together.
    random_state : None, int, RandomState or Generator, default=None
        Source of the draws behind the rank sets.

    Returns
    -------
    Leaderboard

    Raises
    ------
    ValueError
        For missing columns, labels or scores, items answered several times without
        `cluster`, a model without any item in a topic, and models that all have a
        topic with items of one cluster only, as no spread is known then.

    Warns
    -----
    UserWarning
        If models did not answer the same items: their means are of different things;
        if some models have a topic with items of one cluster only: their intervals
        are nan, or Wilson's, and they may have any rank.

    Notes
    -----
    Right and wrong answers to independent items have Wilson intervals, those of an
    average over topics with the effective number of items
    (`skbench.stats.binomial.wilson_interval_of_mean`). All others
    have t intervals with the cluster-robust CR2 variance and Bell-McCaffrey degrees
    of freedom, cut to [0, 1] where every answer scores 0 or 1; the variance of an
    average over topics is the sum of those of the topics over their squared number,
    with Satterthwaite's degrees of freedom. The topics are taken as they are, not as
    a sample of topics.

    Rank sets use the covariance of the models: where they fail on the same items,
    their differences are known better than their scores.

    When not to use it: to compare two models chosen beforehand, for which
    `compare_models` is sharper; for scores of which low is good (change their sign).

    Examples
    --------
    >>> from skbench.datasets import make_items
    >>> items = make_items(n_models=3, n_topics=4, n_items=50, random_state=0).items
    >>> board = leaderboard(items, item="item", random_state=0)
    >>> board.to_frame()[["rank", "rank_low", "rank_high", "ties"]].shape
    (3, 4)
    """
    check_confidence_level(confidence_level)
    by = [by] if isinstance(by, str) else list(by or [])
    table = score_table(items, model=model, item=item, score=score, cluster=cluster, by=by)
    return leaderboard_of(table, confidence_level, random_state)


def leaderboard_of(table, confidence_level, random_state):
    """`leaderboard` for a `ScoreTable`, of which several things may be asked."""
    robust = [_robust(table, m) for m in range(len(table.models))]
    mean, variance, freedom, n_clusters = (np.array(part) for part in zip(*robust, strict=True))
    # Scores that are all alike vary by rounding alone.
    variance = np.where(variance <= table.rounding**2, 0.0, variance)
    _refuse_unknown(table, mean, variance)
    _warn_of_missing_items(table)
    estimate = _estimate(table, mean, variance, freedom, confidence_level)
    order = np.argsort(-estimate.value, kind="stable")
    estimate = _reordered(estimate, order)
    estimate = replace(estimate, value=_with_ties(estimate.value, table.rounding))
    # nan where the spread is unknown, 0 where there is none.
    varies = variance.sum(axis=1) != 0
    covariance = np.where(varies[:, None] & varies, _covariance(table), 0.0)[np.ix_(order, order)]
    scores = pd.Series(estimate.value, index=estimate.labels)
    sets = _rank_sets(scores, covariance, confidence_level, random_state)
    letters = indistinguishable_groups(sets)
    return Leaderboard(
        estimate=estimate,
        covariance=covariance,
        rank_sets=sets,
        ties=["".join(letters.columns[row]) for row in letters.to_numpy()],
        n_items=np.sum(table.n_answers > 0, axis=0)[order],
        n_clusters=n_clusters.sum(axis=1)[order],
    )


def _robust(table, position):
    """Mean, variance, degrees of freedom and clusters of one model in each group."""
    scores = table.scores[:, position]
    answered = np.isfinite(scores)
    sizes = table.cluster_sums(answered)
    present = sizes > 0
    sums = table.cluster_sums(np.where(answered, scores, 0.0))
    groups = table.cluster_groups[present]
    return clustered.cluster_robust_variance(sums[present], sizes[present], groups, table.n_groups)


def _rank_sets(scores, covariance, confidence_level, random_state):
    """Rank sets, in which a model of unknown spread may have any rank."""
    known = ~np.isnan(np.diag(covariance))
    sets = rank_confidence_sets(
        scores[known],
        covariance=covariance[np.ix_(known, known)],
        confidence_level=confidence_level,
        random_state=random_state,
    )
    better = np.zeros_like(covariance, dtype=bool)
    better[np.ix_(known, known)] = sets.better
    return replace(
        sets,
        estimate=scores.to_numpy(),
        low=1 + better.sum(axis=0),
        high=len(scores) - better.sum(axis=1),
        better=better,
        labels=scores.index,
    )


def _refuse_unknown(table, mean, variance):
    """Refuse models without items, or all of them without spread; warn of some."""
    if np.isnan(mean).any():
        model, where = _first(table, np.isnan(mean))
        remedy = "Leave out the model or the topic." if where else "Leave out the model."
        raise ValueError(f"Model {model} has no items{where}. {remedy}")
    unknown = np.isnan(variance)
    if not unknown.any():
        return
    model, where = _first(table, unknown)
    what = "items of one cluster only" if table.is_clustered else "a single item"
    if unknown.any(axis=1).all():
        raise ValueError(
            f"Model {model} has {what}{where}, and no model has more everywhere, so no spread is "
            f"known. Leave out the {'topic' if where else 'models'}, or add items."
        )
    warnings.warn(
        f"{unknown.any(axis=1).sum()} of {len(table.models)} models have {what}, such as "
        f"{model}{where}: their spread is unknown, and they may have any rank.",
        stacklevel=4,
    )


def _first(table, found):
    """The first model of those found, and in which topic, in words."""
    m, g = np.argwhere(found)[0]
    where = "" if table.groups is None else f" in {plain(table.groups[g])!r}"
    return repr(plain(table.models[m])), where


def _warn_of_missing_items(table):
    missing = table.n_answers == 0
    if missing.any():
        worst = int(np.argmax(missing.sum(axis=0)))
        names = some_of(list(table.items[missing[:, worst]]))
        warnings.warn(
            f"{missing.any(axis=0).sum()} of {len(table.models)} models did not answer all "
            f"{len(table.items)} items, so their means are not of the same items: "
            f"{plain(table.models[worst])!r} lacks {missing[:, worst].sum()} ({names}).",
            stacklevel=4,
        )


def _estimate(table, mean, variance, freedom, confidence_level):
    """Scores of the models in the order of the table."""
    n_groups = table.n_groups
    value = mean.mean(axis=1)
    part = variance / n_groups**2
    error = np.sqrt(part.sum(axis=1))
    if table.is_binary and not table.is_clustered:
        n = np.sum(table.n_answers > 0, axis=0)
        if n_groups == 1:
            low, high = binomial.wilson_interval(n * value, n, confidence_level)
        else:
            low, high = binomial.wilson_interval_of_mean(value, error**2, n, confidence_level)
        kind = "Wilson"
    else:
        df = satterthwaite_df(part, freedom)
        low, high = means.t_interval(value, error, df, confidence_level)
        kind = "clusters, CR2" if table.is_clustered else "t"
    if table.right_or_wrong:
        low, high = np.clip([low, high], 0, 1)
    what = "mean of the items" if table.groups is None else f"mean of {n_groups} topics"
    return Estimate(
        value=value,
        low=low,
        high=high,
        # Answers that are all alike cannot tell how far others would spread.
        standard_error=np.where(error > 0, error, np.nan),
        confidence_level=confidence_level,
        labels=table.models,
        method=f"{what}, {kind}",
        guarantee="each group",
    )


def _reordered(estimate, order):
    columns = {
        name: getattr(estimate, name)[order]
        for name in ("value", "low", "high", "standard_error", "labels")
    }
    return Estimate(
        **columns,
        confidence_level=estimate.confidence_level,
        method=estimate.method,
        guarantee=estimate.guarantee,
    )


def _with_ties(falling, rounding):
    """Sorted scores, those that differ by rounding alone made equal."""
    starts = np.append(True, -np.diff(falling) > rounding)
    return falling[starts][np.cumsum(starts) - 1]


def _covariance(table):
    """Covariance of the models' scores, topics being independent."""
    group_of_item = table.cluster_groups[table.clusters]
    total = np.zeros((len(table.models),) * 2)
    for g in range(table.n_groups):
        mine = group_of_item == g
        _, covariance = paired.mean_covariance(table.scores[mine], table.clusters[mine])
        total += covariance
    return total / table.n_groups**2
