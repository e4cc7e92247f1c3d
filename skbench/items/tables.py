"""Item rows of several models -> one table of scores, items down and models across."""

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
from skbench.items.rows import as_frame, refuse_lists, warn_of_chances, with_item_key
from skbench.stats.intervals.moments import ROUNDING, divided

_FEWEST_COPIES = 10  # ids with the same scores in several topics that are told of


class ScoreTable(NamedTuple):
    """Scores of all models on all items."""

    scores: np.ndarray  # (n_items, n_models), mean of a model's answers to an item, nan without
    n_answers: np.ndarray  # (n_items, n_models)
    noise: np.ndarray  # (n_items, n_models), variance of the answers, nan where there is only one
    models: pd.Index
    items: pd.Index  # ids, after the labels of group and topic where there are any
    clusters: np.ndarray  # of each item, 0 to n_clusters - 1; none reaches over groups
    cluster_groups: np.ndarray  # group of each cluster
    cluster_labels: pd.Index  # id of each cluster; of the item, where it is one
    groups: pd.Index | None  # labels; None for one group of everything
    right_or_wrong: bool  # whether every answer scores 0 or 1
    bounds: tuple | None  # least and greatest score there can be; None where not known
    scale: str | None  # in words, where these are of a scale that the scores show
    sizes: np.ndarray | None = None  # items of the benchmark in each group; None: no finite number

    @property
    def n_groups(self):
        """Number of groups, 1 where there are none."""
        return 1 if self.groups is None else len(self.groups)

    @property
    def range_of_differences(self):
        """How far two scores can differ: infinite where their bounds are not known."""
        return np.inf if self.bounds is None else self.bounds[1] - self.bounds[0]

    @property
    def rounding(self):
        """What computing with these scores may lose: anything so small counts as 0."""
        if np.isnan(self.scores).all():
            return 0.0
        spread = np.nanmax(self.scores) - np.nanmin(self.scores)
        return ROUNDING * spread + 4 * np.spacing(np.nanmax(np.abs(self.scores)))

    @property
    def is_binary(self):
        """Whether every answer is right or wrong and no item was answered twice."""
        return bool(self.n_answers.max() == 1 and self.right_or_wrong)

    @property
    def is_clustered(self):
        """Whether any cluster holds several items."""
        return self.cluster_groups.size < len(self.items)

    def cluster_sums(self, values):
        """Sums of an entry (or a row) per item over the items of each cluster."""
        if not self.is_clustered:
            return np.asarray(values, dtype=float)
        return _sums(self.clusters, values, self.cluster_groups.size)

    def group_sums(self, values):
        """Sums of an entry (or a row) per item over the items of each group."""
        return _sums(self.cluster_groups, self.cluster_sums(values), self.n_groups)

    def of_models(self, positions):
        """The same table of some of the models, by their positions."""
        positions = list(positions)
        return self._replace(
            scores=self.scores[:, positions],
            n_answers=self.n_answers[:, positions],
            noise=self.noise[:, positions],
            models=self.models[positions],
        )

    def of_cluster_means(self):
        """Clusters in place of items: means over the items that all models answered."""
        shared = (self.n_answers > 0).all(axis=1)
        if not shared.any():
            raise ValueError(
                'cluster_weight="cluster" takes the items that all models answered, and there are '
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
        """The table of a benchmark of so many items: a number, or one for each group."""
        if population is None:
            return self
        asked = self.group_sums(np.ones(len(self.items)))
        if self.groups is None and not np.isscalar(population):
            raise ValueError("population must be one number, as there are no topics.")
        if self.groups is None:
            labels, sizes = [None], np.atleast_1d(np.asarray(population, dtype=float))
        else:
            labels, sizes = list(self.groups), _sizes_of(self.groups, population)
        short = ~(sizes >= asked)
        if short.any():
            g = int(np.argmax(short))
            where = "" if labels[g] is None else f" of {plain(labels[g])!r}"
            raise ValueError(
                f"population has {sizes[g]:g} items{where}, but {asked[g]:.0f} were asked. It is "
                "the number of all items of the benchmark, those asked among them."
            )
        return self._replace(sizes=sizes)

    def with_missing(self, missing):
        """Answers that are not there as the caller wants them: "drop", "wrong" or "refuse"."""
        blank = self.n_answers == 0
        blank &= ~blank.all(axis=1, keepdims=True)  # items that others answered
        if missing == "drop" or not blank.any():
            return self
        if missing == "refuse":
            worst = int(np.argmax(blank.sum(axis=0)))
            lacking = listed(self.items[blank[:, worst]], most=3, show=repr)
            raise ValueError(
                f"{blank.any(axis=0).sum()} of {len(self.models)} models did not answer all "
                f"{len(self.items)} items: {plain(self.models[worst])!r} lacks "
                f"{blank[:, worst].sum()} ({lacking}). Leave "
                'out these items or models, or pass missing="drop" or "wrong".'
            )
        return self._replace(
            scores=np.where(blank, 0.0, self.scores),
            n_answers=np.where(blank, 1, self.n_answers),
        )


def score_table(items, *, model, item, score, cluster, by, topic="topic", bounds=None):
    """Item rows as a `ScoreTable`; with clusters, an item may have several answers."""
    frame, key = with_item_key(as_frame(items), item, topic, by, model)
    wanted = list(dict.fromkeys([model, *by, *key, *([cluster] if cluster else [])]))
    require_columns(frame.collect_schema().names(), [*wanted, score])
    if model in by or item in by:
        raise ValueError(
            f"{by} names the column of the models or of the items. Name columns that "
            "items are grouped by, such as the topic."
        )
    refuse_lists(frame, wanted)
    taken = frame.select(*dict.fromkeys([*wanted, score]))
    rows = CodedRows(taken.collect() if isinstance(taken, nw.LazyFrame) else taken)
    keys, scored = [*by, *key], rows.checked(wanted, score)
    warn_of_chances(frame, by)
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
    """Sums of the entries, or rows, of each code."""
    ones = np.ones(len(codes)), codes, np.arange(len(codes) + 1)
    return csc_array(ones, shape=(n, len(codes))) @ np.asarray(values, dtype=float)


def _sizes_of(groups, population):
    """Number of items of each group, of a Series or dict by group."""
    if np.ndim(population) == 0 and not hasattr(population, "keys"):
        raise ValueError(
            f"population={population} is one number, and there are {len(groups)} topics: pass a "
            "number for each, as a dict or Series by topic."
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
    remedy = ", or topic=, their column, if item ids start again in every topic" * (len(keys) == 1)
    raise ValueError(
        f"{len(repeated)} of {np.count_nonzero(sizes)} cells have several rows: {models.name} "
        f"{plain(models[column])!r} has {sizes[repeated[0]]} for {_in_words(keys, items[row])}. "
        f"Pass cluster={keys[-1]!r} if items were answered several times{remedy}."
    )


def _in_words(keys, labels):
    """An item with its groups and topic, as in: topic 'law', item 3."""
    labels = labels if len(keys) > 1 else [labels]
    return ", ".join(f"{key} {plain(x)!r}" for key, x in zip(keys, labels, strict=True))


def _warn_of_same_items(scores, items):
    """Warn of topics that look to be no part of an item's name."""
    code, ids = items.get_level_values(-1).factorize()
    first = np.unique(code, return_index=True)[1]
    several = np.bincount(code) > 1
    if not several.any():
        return
    example, missing = plain(ids[several][0]), np.isnan(scores)
    answers = np.zeros((len(ids), scores.shape[1]), dtype=int)
    np.add.at(answers, code, ~missing)
    if answers.max() == 1:  # else an id has several topics in one model
        warn(
            f"{several.sum()} ids, such as {example!r}, have another topic in one model than in "
            "another, and count as different items. Give an item one topic in all models. Or pass "
            "topic=None if topics are no part of its name."
        )
    own = scores[first[code]]
    alike = np.all((own == scores) | (np.isnan(own) & missing))
    if alike and several.sum() >= _FEWEST_COPIES and len(np.unique(own[several[code]], axis=0)) > 1:
        warn(
            f"{several.sum()} ids, such as {example!r}, have the same scores in all "
            "of their topics: items that are listed under several topics count several times. "
            "Leave out all but one row of each."
        )


def _clusters(rows, row, items, by, cluster):
    """Cluster of each item, group and id of each cluster, and labels of the groups."""
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
    odd = of_item[row] != codes
    if odd.any():
        twice = row[odd].min()
        own = names[np.unique(codes[row == twice])]
        several = listed(own, most=3, show=repr)
        raise ValueError(
            f"{_in_words(keys, items[twice])} is in several clusters: {several}. Give all its rows "
            "one cluster; or make item ids unique, or pass topic=, their column, if they start "
            "again in every topic."
        )
    pairs = pd.MultiIndex.from_arrays([group_codes, names.take(of_item)])
    codes, clusters = pairs.factorize()
    group_of, labels = map(clusters.get_level_values, (0, 1))
    return codes, group_of.to_numpy(), labels.rename(cluster), groups
