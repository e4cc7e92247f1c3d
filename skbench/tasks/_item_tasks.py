"""From item rows to the items or clusters to resample for each task."""

import numpy as np
import pandas as pd

from skbench._checks import plain, require_columns
from skbench.items.rows import SCORE, checked_scores, collected
from skbench.items.tables import score_table
from skbench.stats.resampling import distinct_rows
from skbench.tasks._sources import BinomialTasks, ResampledTask
from skbench.tasks._task_table import known_category, refuse_missing_cells, with_categories


def read_item_tasks(frame, names, cluster, category):
    """Sources of draws, sorted models and tasks, and how each task is drawn."""
    model, task = names["model"], names["task"]
    category = known_category(category, frame.collect_schema().names())
    shares = names["item"] is not None
    sources, models, tasks, kinds = (_shared if shares else _independent)(frame, names, cluster)
    if category is not None:
        pairs = collected(frame.select([task, category]).unique())
        tasks = with_categories(tasks, pairs, task, category)
    return sources, models.rename(model), tasks, kinds


def _shared(frame, names, cluster):
    """Tasks with item ids, which show the models that answered the same items."""
    columns = {name: names[name] for name in ("model", "item", "topic", "score")}
    table = score_table(frame, **columns, cluster=cluster, by=[names["task"]])
    models, tasks = table.models, table.groups.rename("task")
    group_of_item = table.cluster_groups[table.clusters]
    sums = np.where(table.n_answers > 0, table.scores, 0) * table.n_answers
    clustered = cluster is not None
    sources, kinds = [], []
    for position in range(len(tasks)):
        own = np.flatnonzero(group_of_item == position)
        task_sums, sizes = sums[own], table.n_answers[own]
        without = ~(sizes > 0).any(axis=0)
        refuse_missing_cells(without[:, None], models, tasks[[position]])
        if clustered:
            codes = np.unique(table.clusters[own], return_inverse=True)[1]
            task_sums, sizes = _summed(task_sums, codes), _summed(sizes, codes)
        sources += _resampled(task_sums, sizes, position, models, table.items[own], tasks)
        kinds.append("clusters" if clustered else "items")
    return sources, models, tasks, np.array(kinds)


def _resampled(sums, sizes, position, models, items, tasks):
    """One source for models with the same items, or one per model if no two share an item."""
    answered = sizes > 0
    together = np.arange(len(models))
    if answered.all():
        return [_source(sums, sizes, position, together)]
    if np.all(answered.sum(axis=1) == 1):
        return [
            _source(sums[rows][:, [m]], sizes[rows][:, [m]], position, np.array([m]))
            for m, rows in enumerate(answered.T)
        ]
    row, m = np.argwhere(~answered)[0]
    where = f"item {plain(items[row][-1])!r}" if len(items) == len(sizes) else "some cluster"
    raise ValueError(
        f"Models share some but not all items of task {plain(tasks[position])!r}: model "
        f"{plain(models[m])!r} has no score for {where} ({int((~answered).sum())} of "
        f"{answered.size} scores are missing). Score missing answers (as 0, for example), keep "
        "only items that all models answered, or pass item=None to draw models independently."
    )


def _source(sums, sizes, position, own_models):
    rows, counts = distinct_rows(np.hstack([sums, sizes]))
    own_sums, own_sizes = np.hsplit(rows, 2)
    # If every model answered each item once, one column of sizes is enough.
    if np.all(own_sizes == own_sizes[:, :1]):
        own_sizes = own_sizes[:, :1]
    return ResampledTask(position, own_models, own_sums, own_sizes, counts)


def _independent(frame, names, cluster):
    """Tasks in which no two models share an item."""
    model, task, score = names["model"], names["task"], names["score"]
    wanted = list(dict.fromkeys([model, task, *([cluster] if cluster else [])]))
    require_columns(frame.collect_schema().names(), [*wanted, score])
    rows = collected(checked_scores(frame, wanted, score).select([*wanted, SCORE]))
    model_codes, models = pd.factorize(rows[model], sort=True)
    task_codes, tasks = pd.factorize(rows[task], sort=True)
    models, tasks = pd.Index(models), pd.Index(tasks, name="task")
    cell = model_codes * len(tasks) + task_codes
    sizes = np.bincount(cell, minlength=len(models) * len(tasks)).reshape(len(models), -1)
    refuse_missing_cells(sizes == 0, models, tasks)
    scores = rows[SCORE].to_numpy()
    right = np.bincount(cell, scores, minlength=sizes.size).reshape(sizes.shape)
    binary = np.ones(len(tasks), dtype=bool)
    binary[task_codes[(scores != 0) & (scores != 1)]] = False
    if cluster is not None:
        binary[:] = False
    sources, at = [], np.flatnonzero(binary)
    if at.size:
        sources.append(BinomialTasks.of(np.arange(len(models)), at, right / sizes, sizes))
    for (m, position), values in _cells(rows, model_codes, task_codes, scores, ~binary):
        own = np.column_stack([values["score"], np.ones(len(values))])
        if cluster is not None:
            own = _summed(own, pd.factorize(rows[cluster].iloc[values["row"]])[0])
        sources.append(_source(own[:, :1], own[:, 1:], position, np.array([m])))
    resampled = "items" if cluster is None else "clusters"
    return sources, models, tasks, np.where(binary, "binomial", resampled)


def _cells(rows, model_codes, task_codes, scores, wanted):
    """Scores and row numbers of every model on the wanted tasks."""
    use = np.flatnonzero(wanted[task_codes])
    frame = pd.DataFrame({"score": scores[use], "row": use})
    return frame.groupby([model_codes[use], task_codes[use]])


def _summed(values, codes):
    """Sums of the rows with the same code; ndarray of shape (n_codes, n_columns)."""
    sums = np.zeros((codes.max() + 1, values.shape[1]))
    np.add.at(sums, codes, values)
    return sums
