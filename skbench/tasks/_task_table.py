"""One row per (model, task) -> a grid of scores, models down and tasks across."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from skbench._checks import check_column, check_same_index, check_sizes, plain, require_columns
from skbench._order import content_order


class TaskTable(NamedTuple):
    """Scores of all models on all tasks."""

    z: np.ndarray  # (n_models, n_tasks), as are sigma2 and n where given
    sigma2: np.ndarray | None
    n: np.ndarray | None
    models: pd.Index  # sorted
    tasks: pd.Index  # a MultiIndex of category and task where the tasks have categories


def task_table(X, y, sigma2=None, n=None, columns=("model", "task", "category"), sort=True):
    """Arrange one row per (model, task) as a grid."""
    check_same_index(X=X, y=y, sigma2=sigma2, n=n)
    frame = as_frame(X)
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
    """Positions of models and of tasks in an order that follows from grids, not from names."""
    codes = pd.DataFrame(np.indices(y.shape).reshape(2, -1).T, dtype="category")
    rows = content_order(codes, y, ties)
    return [pd.unique(code) for code in np.divmod(rows, y.shape[1])]


def as_frame(X):
    """A pandas frame whose named index levels are columns too."""
    if not isinstance(X, pd.DataFrame) and hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not isinstance(X, pd.DataFrame):
        raise ValueError(
            f"X must be a dataframe with the columns model and task, got {type(X).__name__}."
        )
    levels = [name for name in X.index.names if name is not None and name not in X.columns]
    X = X.assign(**{name: X.index.get_level_values(name) for name in levels})
    # Categories are sorted as their values are.
    kinds = {name: of for name, of in X.dtypes.items() if isinstance(of, pd.CategoricalDtype)}
    return X.astype({name: of.categories.dtype for name, of in kinds.items()})


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


def refuse_missing_cells(missing, models, tasks):
    """Refuse a grid of models and tasks with gaps."""
    if not missing.any():
        return
    model, task = np.argwhere(missing)[0]
    raise ValueError(
        f"Model {plain(models[model])!r} has no score on task {plain(tasks[task])!r}; "
        f"{missing.sum()} of {missing.size} cells are missing. Evaluate them, or leave out the "
        "model or the task: averages over different tasks cannot be compared."
    )
