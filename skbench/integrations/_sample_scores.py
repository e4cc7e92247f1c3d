"""Scores of the samples of an Inspect task -> what its metrics report; nothing of Inspect."""

import warnings

import numpy as np
import pandas as pd

from skbench._checks import listed
from skbench._types import Level, checked
from skbench.comparison import compare_models
from skbench.groups import DirectEstimator, MixedModel
from skbench.readers import read_with_notes
from skbench.summaries import summarize_items

_PARTS = {"": "value", "_stderr": "standard_error", "_low": "low", "_high": "high"}


@checked
def mean_of(scores, cluster: str | None, confidence_level: Level):
    """The mean of all samples, its standard error and interval, by name."""
    rows = _rows(scores, topic=None, cluster=cluster)
    if rows.empty:
        return dict.fromkeys((f"mean{part}" for part in _PARTS), np.nan)
    return _named(["mean"], _estimates(rows, "model", cluster, DirectEstimator(), confidence_level))


@checked
def means_by_group(
    scores, group_key: str, cluster: str | None, shrink: bool, confidence_level: Level
):
    """The same of each group."""
    rows = _rows(scores, topic=group_key, cluster=cluster)
    if rows.empty:
        return {}
    estimator = MixedModel() if shrink else DirectEstimator()
    groups = [str(group) for group in sorted(set(rows["topic"]))]
    return _named(groups, _estimates(rows, "topic", cluster, estimator, confidence_level))


@checked
def difference_from(scores, baseline: dict, cluster: str | None, confidence_level: Level):
    """The mean of the paired differences from a baseline, with the number of pairs."""
    rows = _rows(scores, topic=None, cluster=cluster)
    paired = rows["item"].isin(baseline)
    if not paired.any():
        unknown = dict.fromkeys((f"difference{part}" for part in _PARTS), np.nan)
        return unknown | {"difference_n": 0}
    old = rows[paired].assign(model="baseline", score=rows["item"].map(baseline))
    both, columns = pd.concat([rows, old]), {"cluster": cluster and "cluster", "topic": None}
    with warnings.catch_warnings(action="ignore"):
        found = compare_models(
            both, "run", "baseline", **columns, confidence_level=confidence_level
        )
    n = {"difference_n": int(found.n_items[0])}
    return _named(["difference"], _columns(found.estimate)) | n


def baseline_of(source, score):
    """Scores by sample id, as text, of a dict or of an earlier log of Inspect."""
    if isinstance(source, dict):
        scores = {str(item): float(value) for item, value in source.items()}
        return {item: score for item, score in scores.items() if not np.isnan(score)}
    if not isinstance(source, str):
        raise TypeError(
            "baseline must be the path of a log as a string, or a dict of scores by sample id, got "
            f"{type(source).__name__}. Only these can be written into the new log."
        )
    found = read_with_notes(source, format="inspect", score=score)
    several = [note for note in found.notes if score is None and note.startswith("score ")]
    if several:
        raise ValueError(f"baseline {source!r}: {several[0]}. Pass score= with one of them.")
    tasks = found.items["item"].str.partition("/")  # items bear the task's name in front
    for what, names in (("models", found.items["model"].unique()), ("tasks", tasks[0].unique())):
        if len(names) > 1:
            raise ValueError(
                f"baseline {source!r} holds several {what}: {listed(names)}. Give one log."
            )
    return found.items["score"].groupby(tasks[2]).mean().to_dict()


def _rows(scores, **keys):
    """One row per sample, the mean of its epochs where these come one by one."""
    columns = {"item": [str(sample.sample_id) for sample in scores]}
    columns["score"] = [number_of(sample) for sample in scores]
    for role, key in keys.items():
        if key is not None:
            columns[role] = [_label(sample, role, key) for sample in scores]
    rows = pd.DataFrame(columns)
    if rows["item"].duplicated().any():
        rest = {name: "first" for name in columns if name not in ("item", "score")}
        rows = rows.groupby("item", sort=False, as_index=False).agg({"score": "mean"} | rest)
    return rows.assign(model="run")


def number_of(sample):
    """The score of a sample as Inspect's own metrics read it, nan where it has none."""
    value = sample.score.value
    if isinstance(value, (list, dict)):
        raise ValueError(
            f"The score of sample {sample.sample_id!r} is a {type(value).__name__}, not a number. "
            'Name the parts of a dict, as in metrics={"*": [mean_interval()]}, or take another '
            "scorer."
        )
    if isinstance(value, str):
        from inspect_ai.scorer import value_to_float

        return value_to_float()(value)
    return float(value)


def _label(sample, role, key):
    metadata = sample.sample_metadata or {}
    label = metadata.get(key)
    if not isinstance(label, (str, int, float)) or label != label or label == "":
        what = {"topic": "group_key", "cluster": "cluster"}[role]
        holds = listed([repr(name) for name in metadata]) if metadata else "nothing"
        raise ValueError(
            f"{what}={key!r}: sample {sample.sample_id!r} has no such label in its metadata, which "
            f"holds {holds}. Give every sample one: Sample(..., metadata={{{key!r}: ...}})."
        )
    return str(label)


def _estimates(rows, by, cluster, estimator, confidence_level):
    """Estimates of the groups in order; what the samples so far cannot tell is nan."""
    means = rows.groupby(by)["score"].mean().to_numpy()
    unknown = dict.fromkeys(_PARTS, np.full(len(means), np.nan)) | {"": means}
    if cluster:
        sizes = rows.groupby([by, "cluster"]).size()
        if sizes.max() > 1 and len(sizes) == len(means):  # each group is one cluster
            return unknown
    with warnings.catch_warnings(action="ignore"):  # of what is unknown, mostly
        summary = summarize_items(rows, by, cluster=cluster and "cluster", topic=None)
        if np.isnan(summary.sigma2).any():
            return unknown
        return _columns(estimator.fit(**summary.fit_args).estimate(confidence_level))


def _columns(estimate):
    return {part: getattr(estimate, field) for part, field in _PARTS.items()}


def _named(names, columns):
    """Numbers by the names that Inspect shows."""
    values = {
        f"{name}{part}": float(column[i])
        for i, name in enumerate(names)
        for part, column in columns.items()
    }
    if len(values) < len(names) * len(columns):
        raise ValueError(
            f"The groups {listed(names)} cannot be reported: one has the name of another with "
            f"{listed([*columns][1:], show=repr)} at its end. Rename it."
        )
    return values
