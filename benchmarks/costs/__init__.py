"""Costs of public paths on real rows next to the unavoidable bare work, one module per area.

A path is a generator of `Cost`; `measured` runs one and returns a table.
"""

import resource
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from reproduced import data_folder

TIMES = 3
MATRICES = "arc_challenge", "ifeval"  # matrices with more than 200 models
_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Cost(NamedTuple):
    """One call, its bare work, and its allowed cost."""

    shape: str  # "kind, size": exponents of growth compare sizes within a kind
    size: float
    run: Callable
    bare: Callable | None = None
    bar: float | None = None
    unit: Literal["ratio", "seconds", "seconds above bare", "MB"] = "ratio"  # of `bar`


def processor_time():
    """Return processor seconds of this process and its finished child processes."""
    kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return sum(sum(resource.getrusage(kind)[:2]) for kind in kinds)


def seconds(function, clock=processor_time):
    """Return the median time of a few calls."""
    taken = []
    for _ in range(TIMES):
        start = clock()
        function()
        taken.append(clock() - start)
    return float(np.median(taken))


class Peak(float):
    """Return the peak megabytes of a new process."""


def megabytes(function):
    """Peak memory above the earlier level; nan if the system does not report it."""
    try:
        _RESET.write_text("5")
        before = _memory("VmRSS")
    except OSError:
        before = np.nan
    found = function()
    if isinstance(found, Peak) or np.isnan(before):
        return float(found) if isinstance(found, Peak) else before
    return _memory("VmHWM") - before


def _memory(name):
    line = next(text for text in _STATUS.read_text().splitlines() if text.startswith(name))
    return int(line.split()[1]) / 1024


def measured(path, shapes):
    """Return one row per shape of a path."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [_row(cost, getattr(path, "clock", processor_time)) for cost in path(shapes)]
    table = pd.DataFrame(found)
    kind = table["shape"].str.extract(r"^(.*?),")[0].fillna("")
    logs = np.log(table[["seconds", "size"]]).groupby(kind).diff()
    table["exponent"] = (logs["seconds"] / logs["size"]).where(logs["size"] > 0)
    return table.drop(columns="size").set_index("shape")


def _row(cost, clock):
    memory = megabytes(cost.run)  # the first call, which also warms up
    taken = seconds(cost.run, clock)
    bare = np.nan if cost.bare is None else seconds(cost.bare, clock)
    values = {"seconds": taken, "ratio": taken / bare, "MB": memory}
    values["seconds above bare"] = taken - bare
    row = {"shape": cost.shape, "size": cost.size, "seconds": taken, "bare": bare}
    row |= {"ratio": taken / bare, "MB": memory, "bar": "", "of the bar": np.nan}
    if cost.bar is not None:
        row |= {"bar": f"{cost.bar:g} {cost.unit}", "of the bar": values[cost.unit] / cost.bar}
    return row


@cache
def real_answers(n_models, n_items):
    """Load correct/incorrect answers by item and model (columns) from public matrices.

    Further items are resampled under new names. Further models take each answer from one of two
    real models.
    """
    rng = np.random.default_rng(0)
    parts = []
    for name in MATRICES:
        table = pd.read_csv(data_folder() / f"item_matrix_{name}.csv.gz", index_col=0)
        answers = table.to_numpy(dtype=np.int8)
        chosen = rng.permutation(answers.shape[1])[:n_models]
        more = rng.integers(answers.shape[1], size=(2, n_models - len(chosen)))
        first = rng.random((len(answers), more.shape[1])) < 0.5
        mixed = np.where(first, answers[:, more[0]], answers[:, more[1]])
        parts.append(np.hstack([answers[:, chosen], mixed]))
    answers = np.vstack(parts)
    again = rng.integers(len(answers), size=max(n_items - len(answers), 0))
    return answers[np.r_[rng.permutation(len(answers))[:n_items], again]]


def real_rows(n_models, n_items, n_topics):
    """Return rows model, topic, item, score of real answers; topics differ in difficulty."""
    answers = real_answers(n_models, n_items)
    share = answers.mean(axis=1)
    noise = np.random.default_rng(1).normal(0, 2 * share.std(), n_items)
    topic = np.argsort(np.argsort(share + noise)) * n_topics // n_items
    names = np.array([f"topic {k:03d}" for k in range(n_topics)], dtype=object)
    models = np.array([f"model {k:04d}" for k in range(n_models)], dtype=object)
    return pd.DataFrame(
        {
            "model": np.repeat(models, n_items),
            "topic": np.tile(names[topic], n_models),
            "item": np.tile(np.arange(n_items), n_models),
            "score": answers.T.ravel().astype(np.int64),
        }
    )
