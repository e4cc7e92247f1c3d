"""Split items into folds: the summary without each fold, and the estimates from the fold."""

import inspect
import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd

from skbench._checks import names_of, require_columns
from skbench.containers import GroupSummary
from skbench.items.rows import (
    collected,
    group_labels,
    kinds_of_features,
    opened,
    with_item_key,
    with_score,
)
from skbench.stats.intervals import binomial
from skbench.stats.shrinkage import risk
from skbench.summaries import summarize_items
from skbench.summaries.direct_estimates import estimates_of_counts


class Part(NamedTuple):
    """The summary without one fold, and the direct estimates from that fold."""

    summary: GroupSummary  # summary of the items outside the fold
    position: np.ndarray  # positions of its groups among all groups
    z_out: np.ndarray  # direct estimates from the fold; nan without items
    n_out: np.ndarray  # number of items in the fold
    share: np.ndarray  # share of the group's independent observations in `summary`
    sigma2: np.ndarray  # unbiased variances of the direct estimates in `summary`


class Data:
    """Items or their summary, and how to split them."""

    def __init__(self, items, by, options):
        allowed = inspect.signature(summarize_items).parameters
        unknown = [name for name in options if name not in allowed]
        if unknown:
            raise TypeError(f"{unknown[0]!r} is not an argument of summarize_items.")
        self.variance = options.get("variance", "smoothed")
        if isinstance(items, GroupSummary):
            if options.keys() - {"variance"}:
                raise TypeError(f"{list(options)} need item rows, but items is a summary.")
            self.summary, self._items = items, None
            return
        if by is None:
            raise ValueError(
                'by is missing. Pass the columns that define the groups: by=["model"].'
            )
        defaults = {"score": "score", "model": "model", "item": "item", "cluster": None}
        by = names_of(by)
        self._options = defaults | {"topic": "topic"} | options | {"by": by}
        item, topic, model = (self._options[name] for name in ("item", "topic", "model"))
        frame, key = with_item_key(opened(items), item, topic, by, model)
        self._options["topic"] = key[:-1]
        columns = self._columns(frame.collect_schema().names())
        frame = with_score(frame, self._options["score"])
        # Sorted, because engines return rows in any order and the folds depend on it.
        self._items = collected(frame.select(columns), columns)
        self.summary = summarize_items(self._items, **self._options)

    def _columns(self, names):
        """Required columns; other columns may be large."""
        require_columns(names, [*self._options["by"], self._options["score"]])
        means = kinds_of_features(self._options.get("features"))[0]
        roles = [self._options[role] for role in ("model", "item", "cluster", "score")]
        wanted = [*self._options["by"], *self._options["topic"], *roles, *means]
        return [name for name in dict.fromkeys(wanted) if name in names]

    @property
    def topics(self):
        """Independent units: the topic if models share items, else the group."""
        groups = self.summary.groups
        return np.arange(len(self.summary)) if groups is None else np.asarray(groups)

    def parts(self, n_splits, n_repeats, rng):
        """Parts of all repeats and folds."""
        if self._items is None:
            return parts_of_summary(self.summary, self.variance, n_splits, n_repeats, rng)
        return parts_of_items(self._items, self.summary, self._options, n_splits, n_repeats, rng)


def parts_of_summary(summary, variance, n_splits, n_repeats, rng):
    """Parts of a summary without item rows, one per repeat and fold."""
    if summary.groups is not None:
        raise ValueError(
            "Models share items, so items must be split together, which a summary does not allow. "
            "Pass the item rows and by=[...] instead."
        )
    if summary.outcome == "binomial":
        yield from _parts_of_counts(summary, variance, n_splits, n_repeats, rng)
    else:
        yield from _parts_of_means(summary, n_splits, n_repeats, rng)


def _parts_of_counts(summary, variance, n_splits, n_repeats, rng):
    n = np.asarray(summary.n, dtype=int)
    k = np.round(summary.z * n).astype(int)
    right, size = risk.split_counts(k, n, n_splits, n_repeats, rng)
    for k_out, n_out in zip(_flat(right), _flat(size), strict=True):
        kept = n > n_out
        n_in = n[kept] - n_out[kept]
        k_in = k[kept] - k_out[kept]
        with np.errstate(invalid="ignore"):
            z_out = k_out[kept] / n_out[kept]
        z, sigma2 = estimates_of_counts(k_in, n_in, summary.labels[kept], variance)
        part = _subset(summary, kept, z, sigma2, n_in)
        share = n_in / n[kept]
        unbiased = binomial.unbiased_variance(k, n)[kept] / share
        yield Part(part, np.flatnonzero(kept), z_out, n_out[kept], share, unbiased)


def _parts_of_means(summary, n_splits, n_repeats, rng):
    folds = risk.split_normal(summary.z, summary.sigma2, n_splits, n_repeats, rng)
    everyone = np.arange(len(summary))
    share = np.full(len(summary), 1 - 1 / n_splits)
    sigma2 = summary.sigma2 / share
    n_in, independent = (
        np.maximum(1, np.round(sizes * share)).astype(int)
        for sizes in (summary.n, summary.n_independent)
    )
    for z_out in _flat(folds):
        z = (n_splits * summary.z - z_out) / (n_splits - 1)
        part = _subset(summary, everyone, z, sigma2, n_in, independent)
        yield Part(part, everyone, z_out, np.ones(len(summary)), share, sigma2)


def _flat(folds):
    return folds.reshape(-1, folds.shape[-1])


def _subset(summary, kept, z, sigma2, n, n_independent=None):
    return GroupSummary(
        z=z,
        sigma2=sigma2,
        n=n,
        labels=summary.labels[kept],
        X=None if summary.X is None else summary.X.iloc[kept],
        sampling=summary.sampling,
        n_independent=n_independent,
    )


def parts_of_items(items, full, options, n_splits, n_repeats, rng):
    """Parts of item rows; items that models share go to the same fold."""
    by = options["by"]
    group = full.labels.get_indexer(group_labels(items, by))
    unit, topic = _units(items, full, options, group)
    score = items[options["score"]].to_numpy(dtype=float)
    units_of_group = _distinct_units(group, unit, np.ones(len(items), bool), len(full))
    unbiased = _unbiased_variance(full)
    for _ in range(n_repeats):
        fold = _assign_folds(topic, n_splits, rng)[unit]
        for number in range(n_splits):
            out = fold == number
            if out.all():
                continue
            n_out = np.bincount(group[out], minlength=len(full))
            with np.errstate(invalid="ignore"):
                z_out = np.bincount(group[out], score[out], minlength=len(full)) / n_out
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # the summary of all items warned
                part = summarize_items(items[~out], **options)
            at = full.labels.get_indexer(part.labels)
            share = _distinct_units(group, unit, ~out, len(full))[at] / units_of_group[at]
            yield Part(part, at, z_out[at], n_out[at], share, unbiased[at] / share)


def _units(items, full, options, group):
    """Code of the unit of each row that folds keep together, and the topic of each unit."""
    cluster, item = options["cluster"], options["item"]
    topic = group
    if full.groups is not None:
        if item not in items:
            raise ValueError(
                "Models may have answered the same items, but there is no column of item ids. "
                "Pass item=..., the name of that column."
            )
        topic = pd.factorize(np.asarray(full.groups))[0][group]
    within = cluster or (item if full.groups is not None and item not in options["by"] else None)
    if within is None:
        return np.arange(len(items)), topic
    key = [*options["topic"], item] if within == item else [within]
    unit = items.groupby([topic, *(items[name] for name in key)], sort=False).ngroup().to_numpy()
    first = np.unique(unit, return_index=True)[1]
    return unit, topic[first]


def _assign_folds(topic, n_folds, rng):
    """Fold of each unit: units of every topic in random order, assigned in turn."""
    order = np.lexsort([rng.permutation(len(topic)), topic])
    sizes = np.bincount(topic)
    rank = np.arange(len(topic)) - np.repeat(sizes.cumsum() - sizes, sizes)
    start = rng.integers(n_folds, size=len(sizes))
    fold = np.empty(len(topic), dtype=int)
    fold[order] = (rank + start[topic[order]]) % n_folds
    return fold


def _distinct_units(group, unit, rows, n_groups):
    pairs = pd.DataFrame({"group": group[rows], "unit": unit[rows]}).drop_duplicates()
    return np.bincount(pairs["group"], minlength=n_groups)


def _unbiased_variance(full):
    if full.outcome != "binomial":
        return full.sigma2
    return binomial.unbiased_variance(np.round(full.z * full.n), full.n)
