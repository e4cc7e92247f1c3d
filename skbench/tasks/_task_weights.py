"""Weights of tasks, in any accepted format."""

import numpy as np
import pandas as pd

from skbench._checks import check_column, check_option, plain, refuse_repeats, require_columns
from skbench.stats.scales.aggregation import category_weights

_TOLERANCE = 1e-6  # weights written with 6 digits or more sum to 1


def task_weights(tasks, weights):
    """Weights of the tasks as an array, from any format that `aggregate` accepts."""
    if weights is None:
        return np.full(len(tasks), 1 / len(tasks))
    if isinstance(weights, str):
        check_option("weights", weights, ["category"])
        codes, categories = task_categories(tasks)
        return category_weights(codes, np.full(len(categories), 1 / len(categories)))
    by_category = _names_categories(weights, tasks)
    if by_category:
        codes, names = task_categories(tasks)
    else:
        names = tasks
    w = per_task(weights, names, "weights", minimum=0)
    if abs(w.sum() - 1) > _TOLERANCE:
        raise ValueError(f"weights must sum to 1, but sum to {w.sum():g}. Divide by this sum.")
    return category_weights(codes, w) if by_category else w


def task_categories(tasks):
    """Category of each task, as codes and names."""
    if "category" not in tasks.names:
        raise ValueError(
            "The tasks have no categories. Pass fit a column 'category', or pass weights per task."
        )
    codes, categories = tasks.get_level_values("category").factorize()
    return codes, pd.Index(categories, name="category")


def _names_categories(weights, tasks):
    if not hasattr(weights, "keys") or tasks.nlevels < 2 or "category" not in tasks.names:
        return False
    named = set(weights.keys())
    own = set(tasks.get_level_values(-1))
    return not named & own and bool(named & set(tasks.get_level_values("category")))


def per_task(values, tasks, name, minimum=None):
    """One number per task, from a dict or Series by task, or from one number for all."""
    if np.ndim(values) == 0 and not hasattr(values, "keys"):
        values = dict.fromkeys(own_names(tasks), values)
    if not hasattr(values, "keys"):
        raise ValueError(
            f"{name} must be a dict or Series by task, so that it does not depend on the order of "
            f"the tasks. Pass {name}=dict(zip(tasks, numbers))."
        )
    refuse_repeats(name, pd.Index(values.keys()))
    own = own_names(tasks)
    require_columns(own, values.keys(), what="The list of tasks")
    require_columns(values.keys(), own, what=name)
    return check_column(name, [values[key] for key in own], own, minimum=minimum, unit="task")


def own_names(tasks):
    """Names of the tasks without their categories."""
    return tasks.get_level_values(-1) if tasks.nlevels > 1 else tasks


def cells(found, models, tasks):
    """Number of marked cells and the first of them, as text."""
    model, task = np.argwhere(found)[0]
    return (
        f"{found.sum()} of {found.size} cells, such as model {plain(models[model])!r} on task "
        f"{task_name(tasks, task)!r},"
    )


def task_name(tasks, position):
    """Name of a task, without its category."""
    name = tasks[position]
    return name[-1] if isinstance(name, tuple) else name
