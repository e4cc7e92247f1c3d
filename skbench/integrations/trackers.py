"""Estimates in MLflow, Weights & Biases and the model cards of Hugging Face."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from skbench._checks import kind_of, listed
from skbench._printed import NUMBERS, records
from skbench._types import checked
from skbench.containers import Estimate

_LONGEST = 250  # letters of a name in MLflow


@checked
def to_mlflow(estimate: Estimate, name: str = "estimate") -> None:
    """Log an estimate to the active run of MLflow.

    Metrics are ``name/value/label`` and the same with low, high and standard_error; parameters
    are ``name/method``, ``name/guarantee`` and ``name/confidence_level``; the artifact
    ``name.csv`` is the whole table.

    Parameters
    ----------
    estimate : Estimate
        Score units are kept; a leaderboard has one as its ``estimate``.
    name : str, default="estimate"
        What its metrics, parameters and table begin with. It may hold slashes.

    Raises
    ------
    ImportError
        If MLflow is not installed.
    ValueError
        If the run already has an estimate of this name, `name` has other letters than those of
        Notes, two labels have the same name in MLflow, or one is too long for it.

    Notes
    -----
    Labels become names of letters, digits, spaces, dots, dashes and underscores. Each other
    letter becomes an underscore, and so does a label that is empty, ``.`` or ``..``. A missing
    label is ``nan``.

    A number that is not known, or infinite, is no metric, as databases hold it as 0 or as a
    finite one. The table has it as nan or inf. Without an active run, MLflow starts one.

    Nothing is logged before all is checked. Parameters are logged last: where MLflow fails before
    them, the same call can be repeated.

    When not to use it: for rows of items, which ``mlflow.log_artifact`` keeps as a file.

    Examples
    --------
    >>> import pandas as pd
    >>> from skbench.containers import Estimate
    >>> e = Estimate([0.7], [0.4], [0.9], [0.1], 0.95, pd.Index(["law"]), "direct", "each group")
    >>> # with mlflow.start_run():
    >>> #     to_mlflow(e)
    """
    mlflow = _package("mlflow")
    table, labels = _table(estimate), estimate.labels
    if name != "/".join(map(_in_mlflow, name.split("/"))):
        raise ValueError(
            "name must be letters, digits, spaces, dots, dashes and underscores, with single "
            f"slashes between them, got {name!r}."
        )
    texts = [[_in_mlflow(text) for text in level] for level in _texts(labels)]
    keys = _joined(texts, labels, "in MLflow")
    longest = _LONGEST - len(f"{name}/standard_error/")
    for key, label in zip(keys, labels, strict=True):
        if len(key) > longest:
            raise ValueError(
                f"Label {label!r} has {len(key)} letters, and MLflow has room for {longest} after "
                f"name={name!r}. Rename it, or pass a shorter name."
            )
    metrics = {
        f"{name}/{what}/{key}": number
        for what in NUMBERS
        for key, number in zip(keys, getattr(estimate, what).tolist(), strict=True)
        if np.isfinite(number)
    }
    words = ("method", "guarantee", "confidence_level")
    run = mlflow.active_run() or mlflow.start_run()
    if f"{name}/method" in mlflow.get_run(run.info.run_id).data.params:
        raise ValueError(f"The run already has an estimate {name!r}. Pass another name=.")
    mlflow.log_text(table.to_csv(index=False, na_rep="nan"), f"{name}.csv")
    mlflow.log_metrics(metrics)
    mlflow.log_params({f"{name}/{word}": getattr(estimate, word) for word in words})


@checked
def to_wandb(estimate: Estimate) -> Any:
    """A table of Weights & Biases with one row per group.

    Parameters
    ----------
    estimate : Estimate
        Score units are kept.

    Returns
    -------
    wandb.Table
        Columns: one for each level of the labels, then those of `Estimate.to_frame` and
        confidence_level. A number that is not known, or infinite, is empty. A level of labels
        that are all numbers stays numbers. All others are text, where a missing label is
        ``nan``.

    Raises
    ------
    ImportError
        If wandb is not installed.
    ValueError
        If a level of the labels is called like a column of numbers.

    Notes
    -----
    When not to use it: for a curve over training steps, where ``run.log`` takes single numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from skbench.containers import Estimate
    >>> e = Estimate([0.7], [0.4], [0.9], [0.1], 0.95, pd.Index(["law"]), "direct", "each group")
    >>> # run.log({"estimates": to_wandb(e)})
    """
    wandb = _package("wandb")
    rows = records(table := _table(estimate))
    return wandb.Table(columns=list(table), data=[list(row.values()) for row in rows])


@checked
def to_model_card(
    estimate: Estimate,
    model: str,
    dataset: str,
    *,
    metric: str = "accuracy",
    task: str = "text-generation",
) -> dict[str, Any]:
    """The metadata of a Hugging Face model card: results with their intervals.

    Parameters
    ----------
    estimate : Estimate
        Of groups of one model, or of several models in a level of the labels called "model", of
        which one is taken.
    model : str
        Name of the model, as in the labels where these have models.
    dataset : str
        Identifier of the data, such as "cais/mmlu".
    metric, task : str, default="accuracy", "text-generation"
        Identifiers of the score and of the task.

    Returns
    -------
    dict
        ``{"model-index": [...]}``, plain numbers and text: one result per group, whose label is
        the configuration of the dataset. A metric has its value, a name that states the interval
        and its guarantee for readers, and both as numbers and words in its ``args``.

    Raises
    ------
    ValueError
        If a value is not known, no label is of this model, or two labels read the same.

    Notes
    -----
    It needs no other package. ``huggingface_hub.ModelCardData(**card)`` and
    ``huggingface_hub.metadata_update(repo, card)`` take it.

    When not to use it: for results that others have to verify; only Hugging Face sets that mark.

    Examples
    --------
    >>> import pandas as pd
    >>> from skbench.containers import Estimate
    >>> e = Estimate([0.7], [0.4], [0.9], [0.1], 0.95, pd.Index(["law"]), "direct", "each group")
    >>> card = to_model_card(e, "ada", "our/exam")
    >>> card["model-index"][0]["results"][0]["metrics"][0]["name"]
    'accuracy (95% interval 0.4 to 0.9, guarantee: each group)'
    """
    labels, table = estimate.labels, _table(estimate)
    if "model" in labels.names:
        models = _texts(labels)[labels.names.index("model")]
        if model not in models:
            raise ValueError(f"No label is of {model!r}, only of {listed(models.unique(), 6)}.")
        labels, table = labels[models == model], table[models == model]
        labels = labels.droplevel("model") if labels.nlevels > 1 else None
    configs = [None] if labels is None else _joined(_texts(labels), labels, "in the card")
    results = []
    for config, row in zip(configs, records(table), strict=True):
        if row["value"] is None:
            raise ValueError(
                f"The value of {config or model!r} is not known, and a card has no place for that. "
                "Leave the group out: GroupSummary.dropna() before the estimator."
            )
        results.append(
            {
                "task": {"type": task},
                "dataset": _known(type=dataset, name=dataset, config=config),
                "metrics": [_metric(metric, row)],
            }
        )
    return {"model-index": [{"name": model, "results": results}]}


def _metric(metric, row):
    """A metric of a model card, of a row of the table."""
    ends = "without a finite interval"
    if None not in (row["low"], row["high"]):
        ends = f"{100 * row['confidence_level']:g}% interval {row['low']:.4g} to {row['high']:.4g}"
    args = {name: row[name] for name in (*NUMBERS[1:], "confidence_level", "method", "guarantee")}
    name = f"{metric} ({ends}, guarantee: {row['guarantee']})"
    return {"type": metric, "value": row["value"], "name": name, "args": _known(**args)}


def _known(**fields):
    return {name: value for name, value in fields.items() if value is not None}


def _table(estimate):
    """One row per group: labels in columns, then what `Estimate.to_frame` has, and the level.

    Labels are text, but for levels that are numbers.
    """
    labels, table = estimate.labels, pd.DataFrame(estimate.to_frame().reset_index(drop=True))
    table.insert(table.columns.get_loc("method"), "confidence_level", estimate.confidence_level)
    several = labels.nlevels > 1
    names = [
        (f"group_{place}" if several else "group") if name is None else str(name)
        for place, name in enumerate(labels.names, start=1)
    ]
    columns = [*names, *table]
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise ValueError(f"Two columns would be called {twice!r}. Rename that level of the labels.")
    for place, (name, texts) in enumerate(zip(names, _texts(labels), strict=True)):
        level = labels.get_level_values(place)
        is_numeric = kind_of(level) == "number" and not level.hasnans
        table.insert(place, name, level if is_numeric else texts)
    return table


def _texts(labels):
    """Each level of the labels as text."""
    levels = [labels.get_level_values(place) for place in range(labels.nlevels)]
    return [level.astype(str).where(level.notna(), "nan") for level in levels]


def _in_mlflow(text):
    """A part of a name, which is neither empty nor a step between folders."""
    return re.sub(r"\A\.{0,2}\Z|[^\w. -]", "_", text)


def _joined(levels, labels, where):
    """One name for each label, of the texts of its levels; names must differ."""
    first = {}
    for label, name in zip(labels, map("/".join, zip(*levels, strict=True)), strict=True):
        if name in first:
            raise ValueError(
                f"Labels {first[name]!r} and {label!r} are both {name!r} {where}. Rename one."
            )
        first[name] = label
    return list(first)


def _package(name):
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(f"to_{name} needs {name}: pip install {name}.") from None
