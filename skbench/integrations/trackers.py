"""Record estimates in MLflow, Weights & Biases and Hugging Face model cards."""

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

_LONGEST = 250  # characters of a name in MLflow


@checked
def to_mlflow(estimate: Estimate, name: str = "estimate") -> None:
    """Log an estimate to the active MLflow run.

    The metrics are ``name/value/label``, and the same with low, high and standard_error instead
    of value. The parameters are ``name/method``, ``name/guarantee`` and
    ``name/confidence_level``. The artifact ``name.csv`` is the whole table.

    Parameters
    ----------
    estimate : Estimate
        The estimate, in score units. A leaderboard has one as its ``estimate``.
    name : str, default="estimate"
        Prefix of the metrics, parameters and table. It may contain slashes.

    Raises
    ------
    ImportError
        If MLflow is not installed.
    ValueError
        If the run already has an estimate of this name, if `name` contains other characters than
        those listed in the Notes, or if the MLflow names of two labels are equal or too long.

    Notes
    -----
    In MLflow, names consist of letters, digits, spaces, dots, dashes and underscores. In labels,
    each other character becomes an underscore, and so does a label that is empty, ``.`` or
    ``..``. A missing label is ``nan``.

    Unknown and infinite numbers are not logged as metrics, because databases store them as 0 or
    as a finite number. The table contains them as nan or inf. If no run is active, MLflow starts
    one.

    All checks precede the logging. Parameters are logged last, so if MLflow fails before them,
    the same call can be repeated.

    When not to use it: for item rows, use ``mlflow.log_artifact``.

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
            f"name={name!r} must consist of letters, digits, spaces, dots, dashes and underscores, "
            "separated by single slashes."
        )
    texts = [[_in_mlflow(text) for text in level] for level in _texts(labels)]
    keys = _joined(texts, labels, "in MLflow")
    longest = _LONGEST - len(f"{name}/standard_error/")
    for key, label in zip(keys, labels, strict=True):
        if len(key) > longest:
            raise ValueError(
                f"Label {label!r} has {len(key)} characters, but MLflow allows {longest} after "
                f"name={name!r}. Rename the label, or pass a shorter name."
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
    """Return a Weights & Biases table with one row per group.

    Parameters
    ----------
    estimate : Estimate
        The estimate, in score units.

    Returns
    -------
    wandb.Table
        The columns are the levels of the labels, those of `Estimate.to_frame`, and
        confidence_level. Unknown and infinite numbers are empty. Levels with only numbers stay
        numeric. Others are text, and a missing label is ``nan``.

    Raises
    ------
    ImportError
        If wandb is not installed.
    ValueError
        If a level of the labels has the name of a numeric column.

    Notes
    -----
    When not to use it: for a curve over training steps, log single numbers by ``run.log``.

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
    """Return metadata of a Hugging Face model card: results with intervals.

    Parameters
    ----------
    estimate : Estimate
        Estimates for groups of one model. If the labels have a level "model", only the groups of
        `model` are used.
    model : str
        Name of the model, as in the labels if they have models.
    dataset : str
        Identifier of the data, such as "cais/mmlu".
    metric, task : str, default="accuracy", "text-generation"
        Identifiers of the score and of the task.

    Returns
    -------
    dict
        ``{"model-index": [...]}`` of plain numbers and text, with one result per group. The label
        of the group is the configuration of the data set. Each metric has its value, a name with
        the interval and its guarantee, and both as separate values in its ``args``.

    Raises
    ------
    ValueError
        If a value is unknown, if no label has this model, or if the texts of two labels are equal.

    Notes
    -----
    No other package is needed. ``huggingface_hub.ModelCardData(**card)`` and
    ``huggingface_hub.metadata_update(repo, card)`` accept the result.

    When not to use it: for verified results, because only Hugging Face can mark them as verified.

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
            raise ValueError(
                f"No label has model {model!r}. The models are: {listed(models.unique(), 6)}."
            )
        labels, table = labels[models == model], table[models == model]
        labels = labels.droplevel("model") if labels.nlevels > 1 else None
    configs = [None] if labels is None else _joined(_texts(labels), labels, "in the card")
    results = []
    for config, row in zip(configs, records(table), strict=True):
        if row["value"] is None:
            raise ValueError(
                f"The value of {config or model!r} is unknown, which a model card cannot contain. "
                "Remove the group with GroupSummary.dropna() before estimation."
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
    """Return the model card's metric for a row of the table."""
    ends = "without a finite interval"
    if None not in (row["low"], row["high"]):
        ends = f"{100 * row['confidence_level']:g}% interval {row['low']:.4g} to {row['high']:.4g}"
    args = {name: row[name] for name in (*NUMBERS[1:], "confidence_level", "method", "guarantee")}
    name = f"{metric} ({ends}, guarantee: {row['guarantee']})"
    return {"type": metric, "value": row["value"], "name": name, "args": _known(**args)}


def _known(**fields):
    return {name: value for name, value in fields.items() if value is not None}


def _table(estimate):
    """Return one row per group: labels, the columns of `Estimate.to_frame`, confidence level.

    Labels are text, except in levels with only numbers.
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
        raise ValueError(f"Two columns would be named {twice!r}. Rename that level of the labels.")
    for place, (name, texts) in enumerate(zip(names, _texts(labels), strict=True)):
        level = labels.get_level_values(place)
        is_numeric = kind_of(level) == "number" and not level.hasnans
        table.insert(place, name, level if is_numeric else texts)
    return table


def _texts(labels):
    """Return each level of the labels as text."""
    levels = [labels.get_level_values(place) for place in range(labels.nlevels)]
    return [level.astype(str).where(level.notna(), "nan") for level in levels]


def _in_mlflow(text):
    """Return a text as a part of an MLflow name, neither empty nor a relative path."""
    return re.sub(r"\A\.{0,2}\Z|[^\w. -]", "_", text)


def _joined(levels, labels, where):
    """Join the texts of each label's levels to a name. Raise if names are equal."""
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
