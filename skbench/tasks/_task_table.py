"""Arrange one row per model and task as a grid, with models as rows and tasks as columns."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from skbench._checks import check_column, check_same_index, check_sizes, plain, require_columns
from skbench._order import content_order


class TaskTable(NamedTuple):
    """Scores of all models on all tasks."""

    z: np.ndarray  # (n_models, n_tasks), like sigma2 and n if given
    sigma2: np.ndarray | None
    n: np.ndarray | None
    models: pd.Index  # sorted
    tasks: pd.Index  # a MultiIndex of category and task if the tasks have categories


def task_table(X, y, sigma2=None, n=None, columns=("model", "task", "category"), sort=True):
    """Arrange one row per model and task as a grid."""
    check_same_index(X=X, y=y, sigma2=sigma2, n=n)
    frame = as_frame(X)
    model, task, category = columns
    require_columns(frame.columns, [model, task], "X")
    category = known_category(category, frame.columns)
    labels = pd.MultiIndex.from_frame(frame[[model, task]])
    for name in filter(None, (model, task, category)):
        if frame[name].isna().any():
            row = int(frame[name].isna().argmax())
            raise ValueError(f"Column {name!r} of X has no label in row {row}. Remove the row.")
    if labels.has_duplicates:
        twice = labels[labels.duplicated()][0]
        raise ValueError(
            f"Model {twice[0]!r} has several rows for task {twice[1]!r}. Keep one row per model "
            "and task, or use RepeatedRuns for several runs of a model."
        )
    rows, models = labels.get_level_values(0).factorize(sort=sort)
    columns, tasks = labels.get_level_values(1).factorize(sort=sort)
    models, tasks = models.rename("model"), tasks.rename("task")

    def arranged(column):
        grid = np.full((len(models), len(tasks)), np.nan)
        grid[rows, columns] = column
        return grid

    z = arranged(check_column("y", y, labels))
    refuse_missing_cells(np.isnan(z), models, tasks)
    sizes = check_sizes(n, labels)
    if sigma2 is not None:
        sigma2 = arranged(check_column("sigma2", sigma2, labels, minimum=0, allow_scalar=True))
    return TaskTable(
        z=z,
        sigma2=sigma2,
        n=None if sizes is None else arranged(sizes).astype(int),
        models=models,
        tasks=with_categories(tasks, frame, task, category),
    )


def content_axes(y, *ties):
    """Positions of models and tasks in an order that depends on the numbers, not on the names."""
    codes = pd.DataFrame(np.indices(y.shape).reshape(2, -1).T, dtype="category")
    rows = content_order(codes, y, ties)
    return [pd.unique(code) for code in np.divmod(rows, y.shape[1])]


def as_frame(X):
    """A pandas frame in which named index levels are also columns."""
    if not isinstance(X, pd.DataFrame) and hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not isinstance(X, pd.DataFrame):
        raise ValueError(
            f"X must be a dataframe with the columns model and task, got {type(X).__name__}."
        )
    levels = [name for name in X.index.names if name is not None and name not in X.columns]
    X = X.assign(**{name: X.index.get_level_values(name) for name in levels})
    # Sort categories like their values.
    kinds = {name: of for name, of in X.dtypes.items() if isinstance(of, pd.CategoricalDtype)}
    return X.astype({name: of.categories.dtype for name, of in kinds.items()})


def known_category(category, columns):
    """The column of categories, or None if the default column is absent."""
    if category == "category" and category not in columns:
        return None
    require_columns(columns, [] if category is None else [category])
    return category


def with_categories(tasks, frame, task, category):
    """The tasks, with their categories as the first index level if there are any."""
    if category is None:
        return tasks
    pairs = frame[[task, category]].drop_duplicates().set_index(task)[category]
    if pairs.index.has_duplicates:
        twice = pairs.index[pairs.index.duplicated()][0]
        found = ", ".join(map(repr, pairs.loc[twice]))
        raise ValueError(f"Task {twice!r} has several categories: {found}. Keep one.")
    return pd.MultiIndex.from_arrays([pairs.reindex(tasks), tasks], names=["category", "task"])


def refuse_missing_cells(missing, models, tasks):
    """Raise an error if the grid of models and tasks is incomplete."""
    if not missing.any():
        return
    model, task = np.argwhere(missing)[0]
    raise ValueError(
        f"Model {plain(models[model])!r} has no score on task {plain(tasks[task])!r} "
        f"({missing.sum()} of {missing.size} cells are missing). Averages over different tasks "
        "cannot be compared. Add the scores, or remove the model or the task."
    )
