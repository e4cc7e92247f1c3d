"""Turn item rows of several models into a table of scores, with items as rows."""

from typing import NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd
from scipy.sparse import csc_array

from skbench._checks import (
    listed,
    numbers_by_topic,
    plain,
    refuse_unknown_topics,
    require_columns,
)
from skbench._warnings import warn
from skbench.items.codes import CodedRows
from skbench.items.ranges import bounds_of, scale_in_words
from skbench.items.rows import (
    as_frame,
    refuse_lists,
    warn_of_unequal_probabilities,
    with_item_key,
)
from skbench.stats.intervals.moments import ROUNDING, divided

_FEWEST_COPIES = 10  # ids with the same scores in several topics for a warning


class ScoreTable(NamedTuple):
    """Scores of all models on all items."""

    scores: np.ndarray  # (n_items, n_models), mean of a model's answers to an item, nan if none
    n_answers: np.ndarray  # (n_items, n_models)
    noise: np.ndarray  # (n_items, n_models), variance of the answers, nan if there is only one
    models: pd.Index
    items: pd.Index  # ids, after the labels of group and topic if there are any
    clusters: np.ndarray  # of each item, 0 to n_clusters - 1, each within one group
    cluster_groups: np.ndarray  # group of each cluster
    cluster_labels: pd.Index  # id of each cluster, or of its only item
    groups: pd.Index | None  # labels; None if all items are one group
    right_or_wrong: bool  # whether every score is 0 or 1
    bounds: tuple | None  # lowest and highest possible score; None if unknown
    scale: str | None  # a sentence, if the bounds are those of an inferred rating scale
    sizes: np.ndarray | None = None  # items of the benchmark in each group; None: infinitely many

    @property
    def n_groups(self):
        """Number of groups, 1 if there are no labels."""
        return 1 if self.groups is None else len(self.groups)

    @property
    def range_of_differences(self):
        """Largest possible difference of two scores, infinite if the bounds are unknown."""
        return np.inf if self.bounds is None else self.bounds[1] - self.bounds[0]

    @property
    def rounding(self):
        """Rounding error of computations with these scores. Smaller values count as 0."""
        if np.isnan(self.scores).all():
            return 0.0
        span = np.nanmax(self.scores) - np.nanmin(self.scores)
        return ROUNDING * span + 4 * np.spacing(np.nanmax(np.abs(self.scores)))

    @property
    def is_binary(self):
        """Whether every score is 0 or 1 and no item was answered twice."""
        return bool(self.n_answers.max() == 1 and self.right_or_wrong)

    @property
    def is_clustered(self):
        """Whether any cluster has several items."""
        return self.cluster_groups.size < len(self.items)

    def cluster_sums(self, values):
        """Sum a value (or row) per item over the items of each cluster."""
        if not self.is_clustered:
            return np.asarray(values, dtype=float)
        return _sums(self.clusters, values, self.cluster_groups.size)

    def group_sums(self, values):
        """Sum a value (or row) per item over the items of each group."""
        return _sums(self.cluster_groups, self.cluster_sums(values), self.n_groups)

    def of_models(self, positions):
        """Return the table of some of the models, by their positions."""
        positions = list(positions)
        return self._replace(
            scores=self.scores[:, positions],
            n_answers=self.n_answers[:, positions],
            noise=self.noise[:, positions],
            models=self.models[positions],
        )

    def of_cluster_means(self):
        """Replace items by clusters, with means over the items that all models answered."""
        shared = (self.n_answers > 0).all(axis=1)
        if not shared.any():
            raise ValueError(
                'cluster_weight="cluster" needs items that all models answered, but there are '
                'none. Compare two models by name, or use cluster_weight="item".'
            )
        codes, where = np.unique(self.clusters[shared], return_inverse=True)
        size = np.bincount(where)
        sums = np.zeros((len(codes), len(self.models)))
        np.add.at(sums, where, self.scores[shared])
        left, cluster_groups = np.unique(self.cluster_groups[codes], return_inverse=True)
        return self._replace(
            scores=sums / size[:, None],
            n_answers=np.ones(sums.shape, dtype=int),
            noise=np.full(sums.shape, np.nan),
            items=self.cluster_labels[codes],
            clusters=np.arange(len(codes)),
            cluster_groups=cluster_groups,
            cluster_labels=self.cluster_labels[codes],
            groups=None if self.groups is None else self.groups[left],
            right_or_wrong=False,
        )

    def with_population(self, population):
        """Set the number of items of the benchmark, in total or by group."""
        if population is None:
            return self
        asked = self.group_sums(np.ones(len(self.items)))
        if self.groups is None and not np.isscalar(population):
            raise ValueError("population must be one number, because there are no topics.")
        if self.groups is None:
            labels, sizes = [None], np.atleast_1d(np.asarray(population, dtype=float))
        else:
            labels, sizes = list(self.groups), _sizes_of(self.groups, population)
        short = ~(sizes >= asked)
        if short.any():
            g = int(np.argmax(short))
            where = "" if labels[g] is None else f" of {plain(labels[g])!r}"
            raise ValueError(
                f"population has {sizes[g]:g} items{where}, but {asked[g]:.0f} were asked. It must "
                "count all items of the benchmark, including those asked."
            )
        return self._replace(sizes=sizes)

    def with_missing(self, missing):
        """Handle missing answers by the caller's choice: "drop", "wrong" or "refuse"."""
        blank = self.n_answers == 0
        blank &= ~blank.all(axis=1, keepdims=True)  # only items that other models answered
        if missing == "drop" or not blank.any():
            return self
        if missing == "refuse":
            worst = int(np.argmax(blank.sum(axis=0)))
            lacking = listed(self.items[blank[:, worst]], most=3, show=repr)
            raise ValueError(
                f"{blank.any(axis=0).sum()} of {len(self.models)} models did not answer all "
                f"{len(self.items)} items. Model {plain(self.models[worst])!r} lacks "
                f"{blank[:, worst].sum()} ({lacking}). Remove these items or models, or pass "
                'missing="drop" or missing="wrong".'
            )
        return self._replace(
            scores=np.where(blank, 0.0, self.scores),
            n_answers=np.where(blank, 1, self.n_answers),
        )


def score_table(items, *, model, item, score, cluster, by, topic="topic", bounds=None):
    """Return item rows as a `ScoreTable`. With clusters, an item may have several answers."""
    frame, key = with_item_key(as_frame(items), item, topic, by, model)
    wanted = list(dict.fromkeys([model, *by, *key, *([cluster] if cluster else [])]))
    require_columns(frame.collect_schema().names(), [*wanted, score])
    if model in by or item in by:
        raise ValueError(
            f"{by} contains the model column or the item column. Name only columns that group "
            "items, such as the topic."
        )
    refuse_lists(frame, wanted)
    taken = frame.select(*dict.fromkeys([*wanted, score]))
    rows = CodedRows(taken.collect() if isinstance(taken, nw.LazyFrame) else taken)
    keys, scored = [*by, *key], rows.checked(wanted, score)
    warn_of_unequal_probabilities(frame, by)
    row, models = rows.together(keys), rows.values(model).rename(model)
    items = rows.index(keys, row)
    cell = row * len(models) + rows.codes(model)
    size = np.bincount(cell, minlength=len(items) * len(models))
    if cluster is None:
        _refuse_repeats(size, items, models, keys)
    mean = divided(np.bincount(cell, scored, size.size), size)
    noise = np.full(size.shape, np.nan)
    if size.max() > 1:
        noise = divided(np.bincount(cell, (scored - mean[cell]) ** 2, size.size), size - 1)
    clusters, cluster_groups, cluster_labels, groups = _clusters(rows, row, items, by, cluster)
    shape, known = (len(items), len(models)), bounds_of(scored, given=bounds)
    if len(key) > 1:
        _warn_of_same_items(mean.reshape(shape), items)
    return ScoreTable(
        scores=mean.reshape(shape),
        n_answers=size.reshape(shape),
        noise=noise.reshape(shape),
        models=models,
        items=items,
        clusters=clusters,
        cluster_groups=cluster_groups,
        cluster_labels=cluster_labels,
        groups=groups,
        right_or_wrong=bool(np.all((scored == 0) | (scored == 1))),
        bounds=known,
        scale=scale_in_words(known) if bounds is None else None,
    )


def _sums(codes, values, n):
    """Sum the values, or rows, of each code."""
    ones = np.ones(len(codes)), codes, np.arange(len(codes) + 1)
    return csc_array(ones, shape=(n, len(codes))) @ np.asarray(values, dtype=float)


def _sizes_of(groups, population):
    """Return the number of items of each group from a Series or dict."""
    if np.ndim(population) == 0 and not hasattr(population, "keys"):
        raise ValueError(
            f"population={population} is one number, but there are {len(groups)} topics. Pass a "
            "dict or Series with a number for each topic."
        )
    sizes = numbers_by_topic("population", population)
    refuse_unknown_topics(sizes.index, groups)
    lacking = groups[~groups.isin(sizes.index)]
    if len(lacking):
        raise ValueError(f"population has no number for {plain(lacking[0])!r}.")
    return sizes.reindex(groups).to_numpy()


def _refuse_repeats(sizes, items, models, keys):
    repeated = np.flatnonzero(sizes > 1)
    if not repeated.size:
        return
    row, column = divmod(repeated[0], len(models))
    remedy = ", or topic= if item ids start again in every topic" * (len(keys) == 1)
    raise ValueError(
        f"{len(repeated)} of {np.count_nonzero(sizes)} pairs of model and item have several rows: "
        f"{models.name} {plain(models[column])!r} has {sizes[repeated[0]]} for "
        f"{_in_words(keys, items[row])}. Pass cluster={keys[-1]!r} if items were answered several "
        f"times{remedy}."
    )


def _in_words(keys, labels):
    """Describe an item with its groups and topic, as in: topic 'law', item 3."""
    labels = labels if len(keys) > 1 else [labels]
    return ", ".join(f"{key} {plain(x)!r}" for key, x in zip(keys, labels, strict=True))


def _warn_of_same_items(scores, items):
    """Warn if the topic seems not to be part of an item's identity."""
    code, ids = items.get_level_values(-1).factorize()
    first = np.unique(code, return_index=True)[1]
    several = np.bincount(code) > 1
    if not several.any():
        return
    example, missing = plain(ids[several][0]), np.isnan(scores)
    answers = np.zeros((len(ids), scores.shape[1]), dtype=int)
    np.add.at(answers, code, ~missing)
    if answers.max() == 1:  # else a model has an id in several topics
        warn(
            f"{several.sum()} ids, such as {example!r}, have different topics in different models, "
            "so they count as different items. Give each item the same topic in all models, or "
            "pass topic=None if the topic does not identify items."
        )
    own = scores[first[code]]
    equal = np.all((own == scores) | (np.isnan(own) & missing))
    if equal and several.sum() >= _FEWEST_COPIES and len(np.unique(own[several[code]], axis=0)) > 1:
        warn(
            f"{several.sum()} ids, such as {example!r}, have the same scores in all their topics. "
            "Items that are listed under several topics count several times. Keep only one row of "
            "each."
        )


def _clusters(rows, row, items, by, cluster):
    """Return the cluster of each item, group and id of each cluster, and labels of the groups."""
    keys = list(items.names)
    if by:
        levels = items.droplevel(keys[len(by) :])
        group_codes, groups = levels.factorize(sort=True)
        groups = groups.set_names(by)
    else:
        group_codes, groups = np.zeros(len(items), dtype=int), None
    if cluster is None or cluster == keys[-1]:
        return np.arange(len(items)), group_codes, items, groups
    codes, names = rows.codes(cluster), rows.values(cluster)
    of_item = np.empty(len(items), dtype=int)
    of_item[row] = codes
    differs = of_item[row] != codes
    if differs.any():
        twice = row[differs].min()
        own = names[np.unique(codes[row == twice])]
        several = listed(own, most=3, show=repr)
        raise ValueError(
            f"{_in_words(keys, items[twice])} is in several clusters: {several}. Give all its rows "
            "one cluster. If item ids start again in every topic, pass topic=."
        )
    pairs = pd.MultiIndex.from_arrays([group_codes, names.take(of_item)])
    codes, clusters = pairs.factorize()
    group_of, labels = map(clusters.get_level_values, (0, 1))
    return codes, group_of.to_numpy(), labels.rename(cluster), groups
