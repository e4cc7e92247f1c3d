"""Full results in a layout for fast sampling, and the sampling design."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from skbench._checks import plain
from skbench.items.rows import as_frame, collected, group_labels, kinds_of_features, with_item_key
from skbench.summaries import summarize_items

PROPORTIONAL = "proportional"
# Fogliato et al. (2024), section 4.2 and C.1: the smallest group with 50 items gives 10,
# and groups of equal samples have at least four times as many items as are drawn.
_SMALLEST, _ITEMS_OF_SMALLEST, _LEAST_RATIO = 50, 10, 4


@dataclass(frozen=True)
class Population:
    """All scores of all groups, by sampling unit."""

    # A unit is a topic if models share items, else a group. Its items are consecutive rows of
    # `scores`. If models share items, `scores` has one column per model, else one column.
    labels: pd.Index  # labels of the groups
    truth: np.ndarray  # mean of all scores of each group
    sizes: np.ndarray  # number of scores of each group
    topics: np.ndarray | None  # topic of each group if items are shared
    models: pd.Index | None  # model of each column if items are shared and models are named
    X: pd.DataFrame  # features that do not depend on the sample
    unit: np.ndarray  # unit of each group
    column: np.ndarray  # column of each group
    starts: np.ndarray  # first row of each unit, and the number of rows
    scores: np.ndarray  # nan if a model did not answer
    item_features: np.ndarray | None  # (n_items, n_columns, n_item_features)
    item_feature_names: list  # columns whose means over the sample are features

    @property
    def unit_sizes(self):
        """Number of items of each unit."""
        return np.diff(self.starts)

    @cached_property
    def is_binary(self):
        """Whether every score is 0 or 1."""
        return bool(np.all((self.scores == 0) | (self.scores == 1) | np.isnan(self.scores)))

    def keep(self, kept):
        """The population of these groups; their units keep all their items."""
        units, unit = np.unique(self.unit[kept], return_inverse=True)
        columns, column = np.unique(self.column[kept], return_inverse=True)
        rows = np.concatenate([np.arange(*self.starts[[u, u + 1]]) for u in units])
        features = self.item_features
        return replace(
            self,
            labels=self.labels[kept],
            truth=self.truth[kept],
            sizes=self.sizes[kept],
            topics=None if self.topics is None else self.topics[kept],
            models=None if self.models is None else self.models[columns],
            X=self.X[kept],
            unit=unit,
            column=column,
            starts=np.concatenate([[0], np.cumsum(self.unit_sizes[units])]),
            scores=self.scores[np.ix_(rows, columns)],
            item_features=None if features is None else features[np.ix_(rows, columns)],
        )


def population(items, by, score, item, topic, model, features, share_items):
    """The population of item rows."""
    item_means = kinds_of_features(features)[0]
    frame, key = with_item_key(as_frame(items), item, topic, by, model)
    has_items = item in frame.collect_schema().names()
    if not has_items:
        # Row numbers as ids: no items are shared, and no warning is needed.
        frame = as_frame(collected(frame).assign(**{item: lambda rows: np.arange(len(rows))}))
    names = {"model": model, "item": item, "topic": key[:-1]}
    full = summarize_items(frame, by, score, **names, features=features)
    shared = full.groups is not None and share_items
    wanted = list(dict.fromkeys([*by, *key, score, *item_means]))
    rows = collected(frame.select(wanted))
    return _laid_out(full, rows, by, score, key, model, item_means, shared)


def _laid_out(full, rows, by, score, key, model, item_means, shared):
    group = full.labels.get_indexer(group_labels(rows, by))
    unit, column, models = _positions(full, by, model, shared)
    if shared:
        ids = [rows[name] for name in key]
        at = rows.groupby([unit[group], *ids], sort=True).ngroup().to_numpy()
    else:
        at = np.empty(len(rows), dtype=int)
        at[np.argsort(group, kind="stable")] = np.arange(len(rows))
    n_items, n_columns = at.max() + 1, column.max() + 1
    scores = np.full((n_items, n_columns), np.nan)
    scores[at, column[group]] = rows[score].to_numpy(dtype=float)
    unit_of_item = np.empty(n_items, dtype=int)
    unit_of_item[at] = unit[group]
    item_features = None
    if item_means:
        item_features = np.zeros((n_items, n_columns, len(item_means)))
        item_features[at, column[group]] = rows[item_means].to_numpy(dtype=float)
    return Population(
        labels=full.labels,
        truth=full.z,
        sizes=np.asarray(full.n),
        topics=full.groups if shared else None,
        models=models,
        X=full.X.drop(columns=item_means),
        unit=unit,
        column=column,
        starts=np.searchsorted(unit_of_item, np.arange(unit.max() + 2)),
        scores=scores,
        item_features=item_features,
        item_feature_names=item_means,
    )


def _positions(full, by, model, shared):
    """Unit and column of every group, and the model of each column."""
    if not shared:
        return np.arange(len(full)), np.zeros(len(full), dtype=int), None
    unit = np.unique(full.groups, return_inverse=True)[1]
    if model in by:
        column, models = pd.factorize(full.labels.get_level_values(model), sort=True)
        return unit, column, pd.Index(models, name=model)
    return unit, pd.Series(unit).groupby(unit).cumcount().to_numpy(), None


class Design(NamedTuple):
    """The groups that are large enough, and the number of items to sample."""

    population: Population
    n_items: np.ndarray  # number of items to sample from each unit
    dropped: pd.DataFrame  # groups that are too small: number of items, and reason


def design(population, n_items, replace):
    """The sampling design without the groups that are too small."""
    drawn = _sizes(population.unit_sizes, n_items)
    available = np.minimum(population.sizes, population.unit_sizes[population.unit])
    why = _reasons(drawn[population.unit], available, n_items, replace)
    kept = why == ""
    dropped = pd.DataFrame({"items": population.sizes, "why": why}, index=population.labels)[~kept]
    if not kept.any():
        largest = int(np.argmax(population.sizes))
        raise ValueError(
            f"No group is large enough for n_items={n_items!r}. The largest is "
            f"{plain(population.labels[largest])!r} with {population.sizes[largest]} items "
            f"({why[largest]}). Lower n_items, or pass replace=True."
        )
    units = np.unique(population.unit[kept])
    return Design(population.keep(kept), drawn[units], dropped)


def _sizes(unit_sizes, n_items):
    """Number of items to sample from each unit."""
    if n_items != PROPORTIONAL and n_items >= 1:
        return np.full(len(unit_sizes), int(n_items))
    share = n_items
    if n_items == PROPORTIONAL:
        large = unit_sizes[unit_sizes >= _SMALLEST]
        if not len(large):
            raise ValueError(
                f"n_items={PROPORTIONAL!r} samples {_ITEMS_OF_SMALLEST} items from the smallest "
                f"group with at least {_SMALLEST}, but the largest has {unit_sizes.max()}. Pass "
                "the share of the items to sample, such as n_items=0.2."
            )
        share = _ITEMS_OF_SMALLEST / large.min()
    return np.round(share * unit_sizes).astype(int)


def _reasons(drawn, available, n_items, replace):
    """Why each group cannot take part; empty if it can."""
    if replace:
        return np.where(drawn == 0, "no item would be sampled", "").astype(object)
    is_equal = n_items != PROPORTIONAL and n_items >= 1
    needed = _LEAST_RATIO * drawn if is_equal else drawn + 1
    too_few = f"fewer than {_LEAST_RATIO} x {n_items} items"
    return np.select(
        [drawn == 0, is_equal & (available < needed), available < needed],
        ["no item would be sampled", too_few, "the sample would contain all items"],
        default="",
    ).astype(object)
