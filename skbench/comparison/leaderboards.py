"""Leaderboards of models from per-item scores, with intervals, rank sets and ties."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd

from skbench._checks import listed, names_of, plain
from skbench._printed import Printed, PrintedTable
from skbench._types import Bank, Level, Names, OpenBounds, Population, Rows, checked
from skbench._warnings import warn
from skbench.comparison._comparison import Later, ModelComparison
from skbench.comparison._leaderboard_scores import covariance_of_scores, scores_of_models
from skbench.comparison._pair_warnings import (
    warn_of_missing_items,
    warn_of_scores,
    warn_of_units,
    warn_of_unpaired_models,
)
from skbench.comparison._pairs import mean_pair_table
from skbench.comparison.compare import compared, in_order
from skbench.comparison.posterior import (
    check_bank_settings,
    compared_by_posterior,
    posterior_with_bank,
    scores_of,
)
from skbench.comparison.ranks import RankConfidenceSets, sets_of_verdicts, tied
from skbench.containers import Estimate
from skbench.items.tables import score_table
from skbench.stats.ranking import ranks

_MANY = 0.05  # share of missing answers above which bounds are reported
_MOST_REPORTED = 5  # models with the most missing answers
NO_BOUNDS = pd.DataFrame(columns=["blank", "low", "high"])


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(Printed):
    """Models from best to worst, with the uncertainty of that order.

    Attributes
    ----------
    estimate : Estimate
        Mean scores with intervals, best model first.
    covariance : ndarray of shape (n_models, n_models)
        Covariance of the mean scores.
    comparison : ModelComparison or None
        Comparison of all pairs of models; None for one model, and for votes. Ranks and letters
        follow from its verdicts.
    rank_sets : RankConfidenceSets
        Simultaneous confidence sets for the ranks of all models.
    ties : list of str
        Letters of each model. Models that share a letter are not significantly different. Empty
        if there would be more than 1,000 letters, as with hundreds of models on few items.
    n_items : ndarray of int of shape (n_models,)
        Number of items that each model answered; from `BradleyTerry`, number of votes.
    n_clusters : ndarray of int of shape (n_models,)
        Number of clusters of these items; from `BradleyTerry`, the effective number.
    bounds : DataFrame
        Models without answers to more than 5% of the items: the share of missing answers, and
        the score with all of these at the lowest and at the highest score.
    remarks : tuple of str
        Further remarks, in sentences.
    """

    estimate: Estimate
    covariance: np.ndarray
    comparison: ModelComparison | None
    rank_sets: RankConfidenceSets
    ties: list = Later()  # noqa: RUF009
    n_items: np.ndarray
    n_clusters: np.ndarray
    bounds: pd.DataFrame
    remarks: tuple

    def to_frame(self) -> pd.DataFrame:
        """Return one row per model: rank, its confidence set, ties, score and interval."""
        e = self.estimate
        sets, rank = self.rank_sets, ranks(self.rank_sets.estimate, "best")
        rank = rank if np.isnan(rank).any() else rank.astype(int)
        columns = {"rank": rank, "rank_low": sets.low, "rank_high": sets.high, "ties": self.ties}
        columns |= {"estimate": e.value, "low": e.low, "high": e.high}
        columns |= {"standard_error": e.standard_error, "n": self.n_items}
        return pd.DataFrame(columns, index=e.labels)

    def __len__(self):
        return len(self.estimate)

    def _printed(self):
        level = f"{100 * self.estimate.confidence_level:g}%"
        best = listed(self.rank_sets.best(), most=3, show=repr)
        head = f"Leaderboard of {len(self)} models by {self.estimate.method}, {level} intervals"
        frame, ties = self.to_frame(), []
        # The 27th letter is "aa".
        if not all(len(letters) == len(set(letters)) > 0 for letters in self.ties):
            frame = frame.drop(columns="ties")
            ties = ["There are more than 26 groups of tied models, so letters are not printed."]
        return [f"{head}; may be the best: {best}", PrintedTable(frame), *ties, *self.remarks]


@checked
def leaderboard(
    items: Rows,
    *,
    model: str = "model",
    item: str = "item",
    topic: Names | None = "topic",
    score: str = "score",
    cluster: str | None = None,
    topics: Names | None = None,
    confidence_level: Level = 0.95,
    missing: Literal["drop", "wrong", "refuse"] = "drop",
    bounds: OpenBounds | None = None,
    population: Population | None = None,
    bank: Bank | None = None,
) -> Leaderboard:
    """Rank models by their mean score, with intervals for scores and ranks.

    Parameters
    ----------
    items : dataframe
        Per-item scores, one row per model and item, in any dataframe that narwhals reads.
    model, item, score : str
        Names of the columns. Higher scores are better.
    topic : str or list of str or None, default="topic"
        Columns of the topic, if the table contains any. Item ids need to be unique only within a
        topic. With None, item ids must be unique in the whole table.
    cluster : str, default=None
        Column of clusters of dependent items. If models answered items several times, pass the item
        column.
    topics : str or list of str, default=None
        Columns of the topics to weight equally. The score is then the mean of the topic means. None
        weights items equally.
    confidence_level : float, default=0.95
        Confidence level of each score's interval, and simultaneous confidence level of all pairwise
        differences and rank sets.
    missing : {"drop", "wrong", "refuse"}, default="drop"
        How to treat items that a model did not answer: skip them, score them 0, or raise an
        error.
    bounds : tuple of two floats, default=None
        Smallest and largest possible score. By default, 0 and 1 if all scores are from 0 to 1.
        If all scores are whole numbers up to 10, they are assumed to be ratings, and the bounds are
        the ends of the rating scale, such as 1 and 5 (see `summarize_items`). If no bounds can be
        inferred, or if the bounds are infinite, t intervals are not widened.
    population : int, Series or dict, default=None
        Number of items of the whole benchmark (with `topics`, of each topic), if `items` is a
        random sample of the benchmark. None means an infinite population.
    bank : ItemBank, default=None
        Item bank of earlier models' answers. With a bank, scores, differences and ranks are
        estimated for all items of the bank, from joint posterior draws (`ItemBank.sample`).
        Models may have answered different items.

    Returns
    -------
    Leaderboard

    Raises
    ------
    ValueError
        - If columns, labels or scores are missing.
        - If answers are repeated without `cluster`.
        - If a model has no items in a topic.
        - If no model has at least two clusters (or items) in every topic.

    Warns
    -----
    UserWarning
        - If models answered different items.
        - If a model shares no items with the others, or has only one cluster in a topic. The rank
          of such a model is undetermined.

    Notes
    -----
    Scores of 0 and 1 on independent items have Wilson intervals. For means over topics, the Wilson
    interval uses an effective number of items (`skbench.stats.binomial.wilson_interval_of_mean`).
    All other scores have t intervals with the cluster-robust CR2 variance. The degrees of freedom
    are Bell and McCaffrey's, or Satterthwaite's for means over topics. Topics are treated as fixed,
    not as a random sample. If scores have known bounds, t intervals are widened to allow for rare
    scores or clusters that the sample missed (see `skbench.stats.worst_case`).

    Ranks are derived from the intervals of all ``M (M - 1) / 2`` pairwise differences
    (`compare_models`), adjusted by Bonferroni's method. Model A is significantly better than model
    B if the interval of A minus B lies above 0. The best possible rank of a model is 1 plus the
    number of significantly better models. The worst possible rank is M minus the number of
    significantly worse models. Two models share a letter in `ties` if neither is significantly
    better.

    If models answered different items, scores are least-squares estimates from the shared items
    (`skbench.stats.shared_items.shared_item_scores`). Each score estimates the model's mean score
    on all items. For a model with more than 5% missing answers, `Leaderboard.bounds` contains the
    lowest and highest score that the model could have had if it had answered every item.

    When not to use it: to compare two models chosen in advance (`compare_models` has more
    power); for scores where lower is better (change their sign first).

    Examples
    --------
    >>> from skbench.datasets import make_items
    >>> items = make_items(n_models=3, n_topics=4, n_items=50, random_state=0).items
    >>> leaderboard(items).to_frame()[["rank", "rank_low", "rank_high", "ties"]].shape
    (3, 4)
    """
    topics = names_of(topics)
    if bank is not None:
        check_bank_settings(bank, topics, cluster, item, missing)
        names = model, topic, item, score
        settings = {"bounds": bounds, "population": population}
        posterior = posterior_with_bank(bank, items, names, topics=topics, **settings)
        return leaderboard_by_posterior(posterior, confidence_level)
    names = {"model": model, "item": item, "score": score, "cluster": cluster, "topic": topic}
    table = score_table(items, **names, by=topics, bounds=bounds).with_population(population)
    return leaderboard_of(table, confidence_level, missing=missing)


def leaderboard_of(table, confidence_level, *, missing="drop", unrelated=False):
    """Return the `Leaderboard` of a `ScoreTable`."""
    # Without shared items, the items of one model are not missing answers of the others.
    bounds = _bounds(table).iloc[: 0 if unrelated else None]
    table = table.with_missing(missing)
    pairs, names = mean_pair_table(table, unrelated), ("mean", "df", "variance")
    mean, freedom, variance = (np.stack([getattr(f, x) for f in pairs.fits], 1) for x in names)
    # The variance of equal scores is rounding error.
    variance = np.where(variance <= table.rounding**2, 0.0, variance)
    _refuse_unknown(table, mean, variance)
    if not unrelated:
        warn_of_missing_items(table, pairs.fits)
    estimate = scores_of_models(table, mean, variance, freedom, confidence_level)
    error = estimate.standard_error
    # Rounded because the last digits of equal means depend on the order of summation.
    order = np.argsort(-np.round(estimate.value, 12), kind="stable")
    comparison = None
    if len(order) > 1:
        positions = in_order(mean.mean(axis=1))
        whole = table._replace(groups=None)
        comparison, _ = compared(whole, pairs, positions, confidence_level, "bonferroni")
    names = ("value", "low", "high", "standard_error", "labels")
    estimate = replace(estimate, **{name: getattr(estimate, name)[order] for name in names})
    estimate = replace(estimate, value=_with_ties(estimate.value, table.rounding))
    covariance = covariance_of_scores(pairs.fits, error)[np.ix_(order, order)]
    warn_of_units(table)
    if not unrelated:
        warn_of_unpaired_models(table, pairs)
    warn_of_scores(table, pairs.fits, estimate, variance.sum(axis=1)[order])
    sets = _rank_sets(estimate, comparison)
    remarks = [] if comparison is None else list(comparison.remarks)
    return Leaderboard(
        estimate=estimate,
        covariance=covariance,
        comparison=comparison,
        rank_sets=sets,
        ties=partial(tied, sets),
        n_items=np.sum(table.n_answers > 0, axis=0)[order],
        n_clusters=_n_clusters(table)[order],
        bounds=bounds,
        remarks=(*remarks, *_on_bounds(bounds, missing, estimate)),
    )


def leaderboard_by_posterior(posterior, confidence_level):
    """Return the `Leaderboard` of a `Posterior`, with equal weights of its groups."""
    if posterior.groups is not None:
        posterior = posterior.averaged()
    scores = posterior.draws[:, :, 0].mean(axis=0)
    posterior = posterior.of_models(np.argsort(-scores, kind="stable"))
    estimate, comparison = scores_of(posterior, confidence_level), None
    n_models = len(posterior.models)
    if n_models > 1:
        positions = in_order(estimate.value)
        comparison = compared_by_posterior(posterior, positions, confidence_level)
    sets = _rank_sets(estimate, comparison)
    return Leaderboard(
        estimate=estimate,
        covariance=np.cov(posterior.draws[:, :, 0].T).reshape(n_models, n_models),
        comparison=comparison,
        rank_sets=sets,
        ties=partial(tied, sets),
        n_items=posterior.n_asked[:, 0],
        n_clusters=posterior.n_asked[:, 0],
        bounds=NO_BOUNDS,
        remarks=() if comparison is None else comparison.remarks,
    )


def _rank_sets(estimate, comparison):
    """The rank sets that follow from the verdicts on all pairs."""
    labels = estimate.labels
    better = np.zeros((len(labels),) * 2, dtype=bool)
    if comparison is not None:
        pairs = comparison.estimate.labels
        a, b = (labels.get_indexer(pairs.levels[k])[pairs.codes[k]] for k in (0, 1))
        better[a, b], better[b, a] = comparison.estimate.low > 0, comparison.estimate.high < 0
    return sets_of_verdicts(estimate, better)


def _n_clusters(table):
    """Number of clusters in which each model answered items."""
    return np.count_nonzero(table.cluster_sums(table.n_answers > 0), axis=0)


def _bounds(table):
    """Scores with all missing answers at the lowest and highest score, for models with many."""
    missing = table.n_answers == 0
    least, most = 0.0, 1.0
    if not table.right_or_wrong:
        least, most = np.nanmin(table.scores), np.nanmax(table.scores)
    share = missing.mean(axis=0)
    many = np.flatnonzero(share > _MANY)
    n_items = table.group_sums(np.ones((len(missing), 1)))
    columns = {"blank": share[many]}
    for name, score in (("low", least), ("high", most)):
        full = np.where(missing[:, many], score, table.scores[:, many])
        columns[name] = np.mean(table.group_sums(full) / n_items, axis=0)
    return pd.DataFrame(columns, index=table.models[many])


def _on_bounds(bounds, missing, estimate):
    """Sentences on how far missing answers could change scores."""
    if missing == "wrong":
        return
    value = estimate.value[estimate.labels.get_indexer(bounds.index)]
    beyond = bounds.index[(value < bounds["low"]) | (value > bounds["high"])]
    if len(beyond):
        yield (
            f"The least-squares score of {plain(beyond[0])} is outside the range that its missing "
            "answers allow. It shares few items with other models, or they differ from the rest."
        )
    for row in bounds.nlargest(_MOST_REPORTED, "blank").itertuples():
        yield (
            f"{row.Index} has no answer to {100 * row.blank:.0f}% of the items. Its score would be "
            f"{row.low:.3g} if all of these were wrong and {row.high:.3g} if all were correct."
        )


def _refuse_unknown(table, mean, variance):
    """Raise an error for models without items, or if no variance is known; warn if some are not."""
    if np.isnan(mean).any():
        model, where = _first(table, np.isnan(mean))
        remedy = "Remove the model or the topic." if where else "Remove the model."
        raise ValueError(f"Model {model} has no items{where}. {remedy}")
    # A topic of unknown variance uses that of other topics, if there are any.
    unknown = np.isnan(variance) & np.isnan(variance).all(axis=1, keepdims=True)
    if not unknown.any():
        return
    model, where = _first(table, unknown)
    what = "items of only one cluster" if table.is_clustered else "a single item"
    if unknown.any(axis=1).all():
        raise ValueError(
            f"Model {model} has {what}{where}, and no model has more in every topic, so variances "
            f"are unknown. Remove the {'topic' if where else 'models'}, or add items."
        )
    warn(
        f"{unknown.any(axis=1).sum()} of {len(table.models)} models have {what}, such as "
        f"{model}{where}: their variance is unknown, and they may have any rank."
    )


def _first(table, found):
    """The name of the first model found, and its topic, as text."""
    m, g = np.argwhere(found)[0]
    where = "" if table.groups is None else f" in {plain(table.groups[g])!r}"
    return repr(plain(table.models[m])), where


def _with_ties(falling, rounding):
    """Sorted scores, made equal if they differ only by rounding."""
    starts = np.append(True, -np.diff(falling) > rounding)
    return falling[starts][np.cumsum(starts) - 1]
