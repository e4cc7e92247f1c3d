"""Accuracies and sizes -> whole numbers of right answers."""

import numpy as np

from skbench._checks import plain

_TOLERANCE = 1e-6  # accuracies are given to 6 digits or more


def task_counts(table):
    """Right answers and items of every model and task."""
    if table.n is None:
        raise ValueError(
            "n is missing: accuracies do not tell how many items each task has. Pass n=..., the "
            "number of items of every row."
        )
    k = np.round(table.z * table.n)
    off = np.abs(table.z * table.n - k) > _TOLERANCE * table.n
    bad = off | (table.z < 0) | (table.z > 1)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise ValueError(
            "y * n must be a whole number of right answers between 0 and n, but model "
            f"{plain(table.models[i])!r} has y = {table.z[i, j]:g} and n = {table.n[i, j]} on task "
            f"{plain(table.tasks[j])!r}. Give accuracies with 6 digits or more, or np.round(y * "
            "n) / n."
        )
    return k, table.n
