"""Logs of single runs -> item rows: models named apart, scores chosen, items told apart."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd

from skbench._checks import listed
from skbench.readers._found import ItemRows
from skbench.readers._json import label_at
from skbench.readers.loading import n_shared


class Options(NamedTuple):
    """What the caller wants from a log; None lets the reader choose and say so."""

    score: str | None = None
    filter: str | None = None
    topic: str | None = None
    cluster: str | None = None
    declared: bool = True  # whether the topic that a log declares is taken

    def refuse_fields(self, program):
        """Refuse topics and clusters where records hold nothing but scores."""
        for name in ("topic", "cluster"):
            if getattr(self, name) is not None:
                raise ValueError(f"{name}= has no meaning for {program}, which keeps only scores.")

    def labels_of(self, record):
        """Topic and cluster of a record, None where the caller names no field for them."""
        return label_at(record, self.topic), label_at(record, self.cluster)

    def label_columns(self, topics, clusters):
        """Of the columns of topics and clusters, those that the caller wants."""
        columns = {"topic": topics, "cluster": clusters}
        return {name: column for name, column in columns.items() if getattr(self, name) is not None}


@dataclass
class Log:
    """The scores of one model on one topic in one run of an evaluation program."""

    path: str
    run: str  # what tells this run from others: folder and time, or the file
    model: str
    topic: str
    score_name: str
    item_name: str
    columns: dict  # item, score and maybe topic, cluster, repeat, confidence, ...: of one length
    settings: object = None  # runs whose settings differ are no one model, whatever its name
    invented: bool = False  # whether the program made the model's name up
    digests: list | None = field(default=None, repr=False)  # of the text of each item

    def __len__(self):
        return len(self.columns["score"])


def choose(offers, wanted, what, option, notes):
    """Topic -> one of several scores (or filters): the wanted, or the first in all its files."""
    shared, everything = {}, {}
    # A run that failed as a whole has no scores, and no say in which are taken.
    some = [(topic, names) for topic, names in offers if names] or offers
    for topic, names in some:
        known = shared.setdefault(topic, list(names))
        shared[topic] = [name for name in known if name in names]
        everything.setdefault(topic, {}).update(dict.fromkeys(names))
    _refuse_topics_without(wanted, shared, everything, what, option)
    if wanted is not None:
        return dict.fromkeys((topic for topic, _ in offers), wanted)
    chosen = {topic: names[0] for topic, names in shared.items()}
    notes.extend(_choices_in_words(shared, everything, chosen, what, option))
    return {topic: chosen.get(topic, what) for topic, _ in offers}


def _refuse_topics_without(wanted, shared, everything, what, option):
    for topic, names in shared.items():
        if not everything[topic]:
            raise ValueError(
                f"Topic {topic!r} has no {what} that is a number of which more is better: all runs "
                "failed, or were cancelled before any answer was scored; leave its files out."
            )
        if not names:
            raise ValueError(
                f"Topic {topic!r} has no {what} that all its files have, only "
                f"{listed(everything[topic])}. Read these files one by one, with {option}."
            )
    lacking = {}
    for topic, names in shared.items():
        if wanted not in (None, *names):
            lacking.setdefault(listed(names), []).append(topic)
    if lacking:
        said = "; ".join(
            f"topic{'s' * (len(topics) > 1)} {listed(map(repr, topics), most=6)} "
            f"{'have' if len(topics) > 1 else 'has'} no {what} {wanted!r}, only {names}"
            for names, topics in lacking.items()
        )
        some_have_it = sum(map(len, lacking.values())) < len(shared)
        remedy = "Leave out the files that lack it, or pass" if some_have_it else "Pass"
        raise ValueError(f"{said[0].upper()}{said[1:]}. {remedy} another {option}.")


def _choices_in_words(shared, everything, chosen, what, option):
    said = {}
    for topic, names in everything.items():
        if len(names) > 1:
            said.setdefault((chosen[topic], tuple(names)), []).append(topic)
    for (name, names), where in said.items():
        others = [other for other in names if other != name]
        if not all(other in found for other in others for found in shared.values()):
            how = f"{option}, where all topics that are read have it"
        else:
            how = option
        places = _counted(where, "topic")
        yield f"{what} {name!r} taken in {places}, not {listed(others, most=6)} ({how})"


def _counted(names, noun):
    return f"{noun} {names[0]!r}" if len(names) == 1 else f"{len(names)} {noun}s"


def assemble(logs, model, notes):
    """`ItemRows` of all logs; `model` renames them, and `notes` is told every decision."""
    logs = _without_failed(logs, notes)
    names = _renamed(_names_apart(logs, notes), model)
    _tell_items_apart(logs, notes)
    _check_repeated(logs, names)
    repeated = any("repeat" in log.columns for log in logs)
    clustered = any("cluster" in log.columns for log in logs)
    sizes = [len(log) for log in logs]
    items = pd.DataFrame(
        {
            "model": np.repeat(np.array(names, dtype=object), sizes),
            "topic": _joined(logs, "topic"),
            "item": [f"{log.topic}/{item}" for log in logs for item in log.columns["item"]],
            "score": np.concatenate([np.asarray(log.columns["score"], float) for log in logs]),
        }
    )
    if clustered:
        items["cluster"] = _joined(logs, "cluster")
    elif repeated:
        items["cluster"] = items["item"]
    for name in ("repeat", "confidence", "dataset", "task", "language"):
        if any(name in log.columns for log in logs):
            items[name] = _joined(logs, name)
    items, blank = _with_scores_only(items, logs, sizes, notes)
    return ItemRows(items, _columns(logs, clustered, repeated), notes, blank=blank)


def _without_failed(logs, notes):
    """Runs of which any answer has a score; the others are named and counted."""
    failed = [log for log in logs if np.isnan(np.asarray(log.columns["score"], float)).all()]
    if not failed or len(failed) == len(logs):
        return logs
    places = listed([f"{log.model} on {log.topic} ({log.path})" for log in failed], most=4)
    notes.append(f"{len(failed)} of {len(logs)} runs have no score at all, left out: {places}")
    out = set(map(id, failed))
    return [log for log in logs if id(log) not in out]


def _names_apart(logs, notes):
    """A name per log: the recorded one, unless runs of that name are not one model."""
    by_name = {}
    for log in logs:
        by_name.setdefault(log.model, {}).setdefault(log.run, []).append(log)
    names, joined = {}, []
    for name, runs in by_name.items():
        first = [run_logs[0] for run_logs in runs.values()]
        if first[0].invented:
            notes.append(
                f"the logs know no name of their model and call it {name!r}: "
                f"--rename {name}=NAME, or model={{{name!r}: ...}} in Python"
            )
        difference = _why_apart(runs)
        if len(runs) > 1 and difference:
            labels = _short_labels(list(runs))
            names |= {(name, run): f"{name} ({labels[run]})" for run in runs}
            notes.append(
                f"{len(runs)} runs call their model {name!r} but {difference}: kept apart as "
                f"{listed([names[name, run] for run in runs], most=6)} "
                "(--rename OLD=NEW, or model= in Python)"
            )
        else:
            names |= {(name, run): name for run in runs}
            if len(runs) > 1:
                joined.append(f"{name} ({len(runs)})")
    if joined:
        notes.append(
            f"several runs call their model by one name, with the same settings and different "
            f"topics: taken as one model, {listed(joined, most=6)}"
        )
    return [names[log.model, log.run] for log in logs]


def _why_apart(runs):
    topics = [log.topic for run_logs in runs.values() for log in run_logs]
    if len(set(topics)) < len(topics):
        return "answer the same topics"
    if len({repr(run_logs[0].settings) for run_logs in runs.values()}) > 1:
        return "differ in their settings"
    return ""


def _short_labels(runs):
    """The runs without the folders that all of them are in."""
    parts = [run.split("/") for run in runs]
    shared = n_shared(parts)
    return {run: "/".join(p[shared:]) for run, p in zip(runs, parts, strict=True)}


def _renamed(names, model):
    """The caller's names instead."""
    if model is None:
        return names
    known = list(dict.fromkeys(names))
    if isinstance(model, str):
        if len(known) > 1:
            raise ValueError(
                f"model={model!r} names one model, but the logs hold {len(known)}: "
                f"{listed(known)}. In Python, pass model={{{known[0]!r}: {model!r}}}."
            )
        model = {known[0]: model}
    unknown = [name for name in model if name not in known]
    if unknown:
        raise ValueError(f"model= renames {unknown[0]!r}, but the logs hold only {listed(known)}.")
    return [model.get(name, name) for name in names]


def _tell_items_apart(logs, notes):
    """An item whose text differs between runs is not one item, though its number is."""
    texts, differing = {}, {}
    for log in logs:
        for item, digest in zip(log.columns["item"], log.digests or (), strict=False):
            if texts.setdefault((log.topic, item), digest) != digest:
                differing.setdefault(log.topic, set()).add(item)
    if not differing:
        return
    for log in logs:
        mixed = differing.get(log.topic, ())
        if log.digests:
            pairs = zip(log.columns["item"], log.digests, strict=True)
            log.columns["item"] = [f"{i} {d[:8]}" if i in mixed else i for i, d in pairs]
    n_items = sum(map(len, differing.values()))
    notes.append(
        f"{n_items} items of {_counted(list(differing), 'topic')} bear the same number but not "
        f"the same text in all runs: taken as different items"
    )


def _check_repeated(logs, names):
    """Refuse that logs under one name hold the same item."""
    places = {}
    for log, name in zip(logs, names, strict=True):
        places.setdefault((name, log.topic), []).append(log)
    for (name, topic), same in places.items():
        if len(same) > 1:
            pairs = [
                pd.MultiIndex.from_arrays(
                    [log.columns["item"], log.columns.get("repeat", [1] * len(log))]
                )
                for log in same
            ]
            twice = pairs[0].append(pairs[1:])
            if twice.has_duplicates:
                item = twice[twice.duplicated()][0][0]
                raise ValueError(
                    f"Model {name!r} would hold item {str(item)!r} of topic {topic!r} twice, from "
                    f"{listed([log.path for log in same], most=3)}. Give these runs names of "
                    f"their own with model=."
                )


def _joined(logs, name):
    """One column from all logs; what a log does not know is blank, or the log's own."""
    parts = []
    for log in logs:
        given = log.columns.get(name)
        if given is not None:
            part = np.asarray(given) if name == "confidence" else np.array(given, dtype=object)
        elif name == "topic":
            part = np.full(len(log), log.topic, dtype=object)
        elif name == "cluster":
            part = np.array([f"{log.topic}/{item}" for item in log.columns["item"]], dtype=object)
        else:
            part = np.full(len(log), np.nan if name == "confidence" else 1)
        parts.append(part)
    joined = np.concatenate(parts)
    return joined.astype(int) if name == "repeat" else joined


def _with_scores_only(items, logs, sizes, notes):
    missing = np.flatnonzero(items["score"].isna())
    if missing.size == len(items):
        raise ValueError(
            f"No item in {listed([log.path for log in logs], most=3)} has a score: the runs "
            "failed, or were cancelled before any answer was scored."
        )
    if missing.size:
        first = logs[int(np.searchsorted(np.cumsum(sizes), missing[0], side="right"))]
        notes.append(
            f"{missing.size} of {len(items)} scores are missing or NaN (first item "
            f"{items['item'].iloc[missing[0]]!r} in {first.path!r}): dropped, not counted as wrong"
        )
    known = items["score"].notna()
    return items[known].reset_index(drop=True), items[~known].drop(columns="score")


def _columns(logs, clustered, repeated):
    scores = list(dict.fromkeys(log.score_name for log in logs))
    item = logs[0].item_name
    columns = {
        "model": "model",
        "topic": "topic",
        "item": item,
        "score": scores[0] if len(scores) == 1 else scores,
    }
    if clustered or repeated:
        columns["cluster"] = "cluster" if clustered else item
    return columns
