"""Compute the values of the metrics from the scores of samples of an Inspect task."""

import warnings
from numbers import Real
from typing import NamedTuple

import numpy as np
import pandas as pd

from skbench._checks import listed
from skbench._types import Level, checked
from skbench.comparison import compare_models
from skbench.groups import DirectEstimator, MixedModel
from skbench.summaries import summarize_items

_PARTS = {"": "value", "_stderr": "standard_error", "_low": "low", "_high": "high"}


class Baseline(NamedTuple):
    """Scores and texts by sample id, and whether samples were numbered after shuffling.

    Texts are present only with means of epochs, which `InspectStopping` uses.
    """

    scores: dict
    texts: dict
    numbered: bool


class _Numbers(dict):
    """Values of a metric, with a clear error if Inspect's grouped requests a single number."""

    def __float__(self):
        raise TypeError(
            f"grouped() needs one number per group, but got several ({listed(self)}). Use "
            "group_means(KEY) instead of grouped(mean_interval(), KEY)."
        )


@checked
def mean_of(scores, cluster: str | None, confidence_level: Level):
    """Return the mean of all samples, its standard error and interval, by name."""
    rows = _rows(scores, topic=None, cluster=cluster)
    if rows.empty:
        return _Numbers.fromkeys((f"mean{part}" for part in _PARTS), np.nan)
    return _named(["mean"], _estimates(rows, "model", cluster, DirectEstimator(), confidence_level))


@checked
def means_by_group(
    scores, group_key: str, cluster: str | None, shrink: bool, confidence_level: Level
):
    """Return the mean of each group, its standard error and interval, by name."""
    rows = _rows(scores, topic=group_key, cluster=cluster)
    if rows.empty:
        return {}
    estimator = MixedModel() if shrink else DirectEstimator()
    groups = [f"{group_key}={group}" for group in sorted(set(rows["topic"]))]
    return _named(groups, _estimates(rows, "topic", cluster, estimator, confidence_level))


@checked
def difference_from(scores, baseline: dict, cluster: str | None, confidence_level: Level):
    """Return the mean of the paired differences from a baseline, and the number of pairs."""
    rows = _rows(scores, topic=None, cluster=cluster)
    paired = rows["item"].isin(baseline)
    if not paired.any():
        numbers, n = _Numbers.fromkeys((f"difference{part}" for part in _PARTS), np.nan), 0
    else:
        old = rows[paired].assign(model="baseline", score=rows["item"].map(baseline))
        both, columns = pd.concat([rows, old]), {"cluster": cluster and "cluster", "topic": None}
        with warnings.catch_warnings(action="ignore"):
            found = compare_models(
                both, "run", "baseline", **columns, confidence_level=confidence_level
            )
        numbers, n = _named(["difference"], _columns(found.estimate)), int(found.n_items[0])
    numbers["difference_n"] = n
    return numbers


def baseline_of(source, score, means=False):
    """Return the `Baseline` of a dict or an Inspect log, with its reduced scores or means."""
    if isinstance(source, dict):
        for item, value in source.items():
            if not isinstance(item, (str, int)) or not isinstance(value, (Real, np.bool_)):
                raise TypeError(
                    "baseline must map sample ids (text or integers) to numbers, got "
                    f"{{{item!r}: {value!r}}}."
                )
        scores = {str(item): float(value) for item, value in source.items()}
        return Baseline({i: score for i, score in scores.items() if score == score}, {}, False)
    if not isinstance(source, str):
        raise TypeError(
            "baseline must be the path of a log as a string, or a dict of scores by sample id, got "
            f"{type(source).__name__}."
        )
    from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries

    try:
        log = read_eval_log(source, header_only=not source.endswith(".json"))
        samples = read_eval_log_sample_summaries(source)
    except ValueError as error:
        raise ValueError(f"baseline {source!r} is not an Inspect log: {error}.") from error
    ids = log.eval.dataset.sample_ids or [""]
    in_order = isinstance(ids[0], int) and ids == [*range(ids[0], ids[0] + len(ids))]
    return Baseline(
        _scores_of(source, log, samples, score, means),
        {str(sample.id): text_of(sample.input) for sample in samples} if means else {},
        bool(log.eval.dataset.shuffled and in_order),
    )


def _scores_of(source, log, samples, score, means):
    scorer, part = _scorer_of(source, samples, score)
    scores = [(x.id, x.scores[scorer]) for x in samples if scorer in (x.scores or ())]
    reducers = log.eval.config.epochs_reducer or ["mean"]
    if not means and reducers != ["mean"] and any(sample.epoch > 1 for sample in samples):
        reduced = [found for found in log.reductions or () if found.scorer == scorer]
        if len(reduced) != 1:
            raise ValueError(
                f"baseline {source!r} reduces epochs by {listed(reducers)} and has "
                f"{len(reduced)} lists of reduced scores. Pass one of them as {{id: score}}."
            )
        scores = [(sample.sample_id, sample) for sample in reduced[0].samples]
    numbers = [number_of(found, item, part) for item, found in scores]
    numbers = pd.Series(numbers, [str(item) for item, _ in scores]).dropna()
    return numbers.groupby(level=0).mean().to_dict()


def text_of(question):
    """Return the text of a question as the summaries of a log keep it (truncated, no images)."""
    from inspect_ai.log import EvalSampleSummary

    kept = EvalSampleSummary(id=0, epoch=1, input=question, target="").input
    return kept if isinstance(kept, str) else "\n".join(message.text for message in kept)


def _scorer_of(source, samples, score):
    """Return the name of the scorer, and of the part of its score if this is a dict."""
    names = {}
    for sample in samples:
        for name, found in (sample.scores or {}).items():
            parts = found.value if isinstance(found.value, dict) else [""]
            names |= {f"{name}/{part}" if part else name: (name, part) for part in parts}
    if score not in names and (score is not None or len(names) != 1):
        raise ValueError(
            f"baseline {source!r} has the scores {listed(names) or 'of no scorer'}, but score is "
            f"{score!r}. Pass score= with one of them."
        )
    return names[score] if score else next(iter(names.values()))


def _rows(scores, **keys):
    """Return one row per sample, with the mean of its epochs."""
    columns = {"item": [str(sample.sample_id) for sample in scores]}
    columns["score"] = [number_of(sample.score, sample.sample_id) for sample in scores]
    for role, key in keys.items():
        if key is not None:
            columns[role] = [_label(sample, role, key) for sample in scores]
    rows = pd.DataFrame(columns)
    if rows["item"].duplicated().any():
        rest = {name: "first" for name in columns if name not in ("item", "score")}
        rows = rows.groupby("item", sort=False, as_index=False).agg({"score": "mean"} | rest)
    return rows.assign(model="run")


def number_of(score, sample_id, part=""):
    """Return the score of a sample as Inspect's own metrics read it, nan without a score."""
    value = score.value.get(part, np.nan) if part and isinstance(score.value, dict) else score.value
    if isinstance(value, (list, dict)):
        raise ValueError(
            f"The score of sample {sample_id!r} is a {type(value).__name__}, not a number. "
            'Name the parts of a dict, as in metrics={"*": [mean_interval()]}, or use another '
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
        known = listed([repr(name) for name in metadata]) if metadata else "no keys"
        raise ValueError(
            f"{what}={key!r}: sample {sample.sample_id!r} has no such label in its metadata, which "
            f"has {known}. Add a label to every sample: Sample(..., metadata={{{key!r}: ...}})."
        )
    return str(label)


def _estimates(rows, by, cluster, estimator, confidence_level):
    """Return estimates of the groups in order, with nan for values that are still unknown."""
    means = rows.groupby(by)["score"].mean().to_numpy()
    unknown = dict.fromkeys(_PARTS, np.full(len(means), np.nan)) | {"": means}
    if cluster:
        sizes = rows.groupby([by, "cluster"]).size()
        if sizes.max() > 1 and len(sizes) == len(means):  # each group is one cluster
            return unknown
    with warnings.catch_warnings(action="ignore"):  # mostly on unknown variances
        summary = summarize_items(rows, by, cluster=cluster and "cluster", topic=None)
        if np.isnan(summary.sigma2).any():
            return unknown
        return _columns(estimator.fit(**summary.fit_args).estimate(confidence_level))


def _columns(estimate):
    columns = {part: getattr(estimate, field) for part, field in _PARTS.items()}
    unknown = np.isnan(columns["_low"])  # one cluster, whose variance is borrowed
    return columns | {"_stderr": np.where(unknown, np.nan, columns["_stderr"])}


def _named(names, columns):
    """Return numbers by the names that Inspect shows."""
    values = _Numbers(
        (f"{name}{part}", float(column[i]))
        for i, name in enumerate(names)
        for part, column in columns.items()
    )
    if len(values) < len(names) * len(columns):
        raise ValueError(
            f"The names of the groups {listed(names)} are ambiguous, because one is another's name "
            f"with an ending of {listed([*columns][1:], show=repr)}. Rename it."
        )
    return values
