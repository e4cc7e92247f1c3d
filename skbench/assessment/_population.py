"""Full results, laid out so that samples of them cost little."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from skbench._checks import check_option, require_columns
from skbench.items.rows import as_frame, collected, group_labels
from skbench.summaries import summarize_items


@dataclass(frozen=True)
class Population:
    """All scores of all groups, by the units that are sampled.

    A unit is what one draw of items serves: a topic where models share items,
    else a single group. Its items are consecutive rows of `scores`, with one
    column per model (one column where nothing is shared).

    Attributes
    ----------
    labels : pandas.Index of length n_groups
        Labels of the groups.
    truth : ndarray of shape (n_groups,)
        Mean of all scores of the group.
    sizes : ndarray of int of shape (n_groups,)
        Number of scores.
    topics : ndarray of shape (n_groups,) or None
        Topic of each group where items are shared.
    models : pandas.Index of length n_columns or None
        Model of each column of `scores`, where items are shared and models named.
    X : DataFrame of shape (n_groups, n_features)
        Features that do not depend on the sample.
    unit, column : ndarray of int of shape (n_groups,)
        Where the group stands in `scores`.
    starts : ndarray of int of shape (n_units + 1,)
        First row of each unit.
    scores : ndarray of shape (n_items, n_columns)
        Scores, nan where a model did not answer.
    item_features : ndarray of shape (n_items, n_columns, n_item_features) or None
        Item columns whose means over the sample are features.
    item_feature_names : list of str
        Their names.
    """

    labels: pd.Index
    truth: np.ndarray
    sizes: np.ndarray
    topics: np.ndarray | None
    models: pd.Index | None
    X: pd.DataFrame
    unit: np.ndarray
    column: np.ndarray
    starts: np.ndarray
    scores: np.ndarray
    item_features: np.ndarray | None
    item_feature_names: list

    @property
    def unit_sizes(self):
        """Number of items of each unit; ndarray of int of shape (n_units,)."""
        return np.diff(self.starts)

    @cached_property
    def is_binary(self):
        """Whether every score is 0 or 1."""
        return bool(np.all((self.scores == 0) | (self.scores == 1) | np.isnan(self.scores)))

    def keep(self, kept):
        """The population of some groups only; their units keep all their items.

        Parameters
        ----------
        kept : ndarray of bool of shape (n_groups,)
            Groups to keep.

        Returns
        -------
        Population
        """
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


def population(items, by, score, item, model, features, share_items):
    """Lay out item rows for sampling.

    Parameters
    ----------
    items : dataframe
        One row per (model, item); or, with a list of columns as `score`, one row
        per item and one column per model.
    by : list of str
        Columns that define the groups.
    score : str or list of str
        Column of scores, or one column per model.
    item, model : str
        Columns of item ids and models.
    features : dataframe, list of str or None
        As in `summarize_items`.
    share_items : {"auto", True, False}
        Whether one draw of items serves all models of a topic.

    Returns
    -------
    Population

    Raises
    ------
    ValueError
        As `summarize_items`; or if items are to be shared but are not.
    """
    check_option("share_items", str(share_items), ("auto", "True", "False"))
    if not isinstance(score, str):
        items, score = _long(items, by, list(score), item, model), "score"
    item_means = [features] if isinstance(features, str) else features
    item_means = list(item_means) if isinstance(item_means, list | tuple) else []
    frame = as_frame(items)
    has_items = item in frame.collect_schema().names()
    if not has_items:
        # Row numbers as ids: nothing is shared, and nobody needs to be warned of it.
        items = collected(frame).assign(**{item: lambda rows: np.arange(len(rows))})
        frame = as_frame(items)
    full = summarize_items(items, by, score, model=model, item=item, features=features)
    shared = full.groups is not None and str(share_items) != "False"
    if str(share_items) == "True" and not shared:
        raise ValueError(
            f"share_items=True, but no two groups have an item in common in column {item!r}. "
            'Give items that several models answered the same id, or set share_items="auto".'
        )
    wanted = list(dict.fromkeys([*by, item, score, *item_means]))
    rows = collected(frame.select(wanted))
    return _laid_out(full, rows, by, score, item, model, item_means, shared)


def _long(items, by, scores, item, model):
    """One row per answered (model, item) of a table with one column per model."""
    wide = collected(as_frame(items))
    require_columns(wide.columns, [*scores, *[name for name in by if name != model]])
    if model not in by:
        raise ValueError(
            f"score names one column per model, so by must have {model!r}, the name of the model "
            f"in the long table; it has {', '.join(map(repr, by))}."
        )
    if item not in wide.columns:
        wide[item] = np.arange(len(wide))
    others = [name for name in wide.columns if name not in scores]
    long = wide.melt(others, scores, model, "score")
    return long.dropna(subset="score", ignore_index=True)


def _laid_out(full, rows, by, score, item, model, item_means, shared):
    group = full.labels.get_indexer(group_labels(rows, by))
    unit, column, models = _positions(full, by, model, shared)
    if shared:
        keys = pd.DataFrame({"unit": unit[group], "item": rows[item].to_numpy()})
        at = keys.groupby(["unit", "item"], sort=True).ngroup().to_numpy()
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
    """Unit and column of every group, and the models that the columns stand for."""
    if not shared:
        return np.arange(len(full)), np.zeros(len(full), dtype=int), None
    unit = np.unique(full.groups, return_inverse=True)[1]
    if model in by:
        column, models = pd.factorize(full.labels.get_level_values(model), sort=True)
        return unit, column, pd.Index(models, name=model)
    return unit, pd.Series(unit).groupby(unit).cumcount().to_numpy(), None
