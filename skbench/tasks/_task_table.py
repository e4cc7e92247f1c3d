"""One row per (model, task) -> a grid of scores, models down and tasks across."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from skbench._checks import check_column, check_same_index, check_sizes, require_columns


class TaskTable(NamedTuple):
    """Scores of all models on all tasks."""

    z: np.ndarray
    sigma2: np.ndarray | None
    n: np.ndarray | None
    models: pd.Index
    tasks: pd.Index


def task_table(X, y, sigma2=None, n=None, columns=("model", "task", "category")):
    """Arrange one row per (model, task) as a grid, and refuse gaps in it."""
    frame = as_frame(X)
    check_same_index(X=X, y=y, sigma2=sigma2, n=n)
    model, task, category = columns
    require_columns(frame.columns, [model, task], "X")
    category = known_category(category, frame.columns)
    labels = pd.MultiIndex.from_frame(frame[[model, task]])
    for name in filter(None, (model, task, category)):
        if frame[name].isna().any():
            row = int(frame[name].isna().argmax())
            raise ValueError(f"X has no {name} in row {row}. Name it, or leave the row out.")
    if labels.has_duplicates:
        twice = labels[labels.duplicated()][0]
        raise ValueError(
            f"Model {twice[0]!r} has several rows for task {twice[1]!r}. Keep one row per model "
            "and task; runs of the same model are for RepeatedRuns."
        )
    model_codes, models = labels.get_level_values(0).factorize()
    task_codes, tasks = labels.get_level_values(1).factorize()
    grid = _Grid(model_codes, task_codes, models.rename("model"), tasks.rename("task"))
    grid.refuse_gaps(y)
    z = check_column("y", y, labels)
    sizes = check_sizes(n, labels)
    if sigma2 is not None:
        sigma2 = check_column("sigma2", sigma2, labels, minimum=0, allow_scalar=True)
    return TaskTable(
        z=grid.arranged(z),
        sigma2=None if sigma2 is None else grid.arranged(sigma2),
        n=None if sizes is None else grid.arranged(sizes).astype(int),
        models=grid.models,
        tasks=with_categories(grid.tasks, frame, task, category),
    )


def as_frame(X):
    """A pandas frame whose named index levels are columns too."""
    if not isinstance(X, pd.DataFrame) and hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not isinstance(X, pd.DataFrame):
        raise ValueError(
            f"X must be a dataframe with the columns model and task, got {type(X).__name__}."
        )
    levels = [name for name in X.index.names if name is not None and name not in X.columns]
    return X.assign(**{name: X.index.get_level_values(name) for name in levels})


def known_category(category, columns):
    """The column of categories, or None where the usual one is missing."""
    if category == "category" and category not in columns:
        return None
    require_columns(columns, [] if category is None else [category])
    return category


def with_categories(tasks, frame, task, category):
    """The tasks, below their categories where the frame names those."""
    if category is None:
        return tasks
    pairs = frame[[task, category]].drop_duplicates().set_index(task)[category]
    if pairs.index.has_duplicates:
        twice = pairs.index[pairs.index.duplicated()][0]
        found = ", ".join(map(repr, pairs.loc[twice]))
        raise ValueError(f"Task {twice!r} is in several categories: {found}. Give it one.")
    return pd.MultiIndex.from_arrays([pairs.reindex(tasks), tasks], names=["category", "task"])


class _Grid(NamedTuple):
    model_codes: np.ndarray
    task_codes: np.ndarray
    models: pd.Index
    tasks: pd.Index

    def arranged(self, column):
        """A column with one entry per cell, as an array of shape (n_models, n_tasks)."""
        table = np.full((len(self.models), len(self.tasks)), np.nan)
        table[self.model_codes, self.task_codes] = column
        return table

    def refuse_gaps(self, y):
        known = np.where(pd.isna(np.asarray(y)), np.nan, 1.0)
        if len(known) != len(self.model_codes):
            known = np.ones(len(self.model_codes))
        gaps = np.argwhere(np.isnan(self.arranged(known)))
        if len(gaps):
            refuse_missing_cell(self.models, self.tasks, gaps)


def refuse_missing_cell(models, tasks, gaps):
    """Name the first of the (model, task) cells without a score."""
    first, *_ = gaps
    raise ValueError(
        f"Model {models[first[0]]!r} has no score on task {tasks[first[1]]!r}; "
        f"{len(gaps)} of {len(models) * len(tasks)} cells are missing. Evaluate them, or leave out "
        "the model or the task: averages over different tasks cannot be compared."
    )
