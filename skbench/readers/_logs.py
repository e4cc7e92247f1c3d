"""Logs of evaluation programs -> item rows: scores chosen, models named, items told apart."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from skbench._checks import listed
from skbench.readers._answers import logs_of
from skbench.readers._found import ItemRows
from skbench.readers._names import of_runs, renamed


class Options(NamedTuple):
    """What the caller wants from logs; None lets the reader choose and report it."""

    score: str | None = None
    filter: str | None = None
    topic: str | None = None
    cluster: str | None = None
    declared: bool = True  # whether the parts of a topic that a log declares are its topics


def scored_logs(form, paths, options, bad, notes):
    """Logs of all files of a format, each with one score of its answers."""
    logs = logs_of(form, paths, options, bad, notes)
    offers = {}
    for log in logs:
        offers.setdefault((log.path, log.run.topic), []).append(log.run.filter)
    offers = [(topic, list(dict.fromkeys(names))) for (_, topic), names in offers.items()]
    filtered = any(log.run.filter for log in logs)
    chosen = choose(offers, options.filter if filtered else None, "filter", notes)
    logs = [log for log in logs if log.run.filter == chosen[log.run.topic]]
    offers = [(log.run.topic, _offered(log, options)) for log in logs]
    chosen = choose(offers, options.score, "score", notes)
    for log in logs:
        log.choose(chosen[log.run.topic], notes, bad)
    return logs


def _offered(log, options):
    """Scores of a log that may be taken: the usual ones of its format, unless one is named."""
    names = log.score_names()
    if options.score is not None or not log.form.usual or not names:
        return names
    usual = [name for name in log.form.usual if name in names]
    if not usual:
        raise ValueError(
            f"{str(log.path)!r} has none of the usual scores. Pass score= with one of: "
            f"{listed(sorted(names))}."
        )
    return usual


def choose(offers, wanted, what, notes):
    """Topic -> one of several scores (or filters): the wanted, or the first in all its files."""
    shared, everything = {}, {}
    # A run that failed as a whole has no scores, and does not decide which are taken.
    some = [(topic, names) for topic, names in offers if names] or offers
    for topic, names in some:
        known = shared.setdefault(topic, list(names))
        shared[topic] = [name for name in known if name in names]
        everything.setdefault(topic, {}).update(dict.fromkeys(names))
    for topic, names in shared.items():
        if not everything[topic]:
            raise ValueError(
                f"Topic {topic!r} has no {what} that is a number of which more is better: all runs "
                "failed, or were cancelled before any answer was scored. Leave out its files."
            )
        if not names:
            raise ValueError(
                f"Topic {topic!r} has no {what} that all its files have, only "
                f"{listed(everything[topic])}. Read these files one by one, with {what}=."
            )
    if wanted is None:
        wanted_in = {topic: names[0] for topic, names in shared.items()}
        notes.extend(_choices(shared, everything, wanted_in, what))
    else:
        _refuse_topics_without(wanted, shared, what)
        wanted_in = {}
    return {topic: wanted_in.get(topic, wanted) for topic, _ in offers}


def _refuse_topics_without(wanted, shared, what):
    lacking = {}
    for topic, names in shared.items():
        if wanted not in names:
            lacking.setdefault(listed(names), []).append(topic)
    if lacking:
        (names, topics), *others = lacking.items()
        where = f"Topic{'s' * (len(topics) > 1)} {listed(map(repr, topics), most=6)}"
        verb = "have" if len(topics) > 1 else "has"
        more = sum(len(topics) for _, topics in others)
        also = f", and {more} other topic{'s' * (more > 1)} lack it" if more else ""
        some_have_it = sum(map(len, lacking.values())) < len(shared)
        remedy = "Leave out the files that lack it, or pass" if some_have_it else "Pass"
        raise ValueError(
            f"{where} {verb} no {what} {wanted!r}, only {names}{also}. {remedy} another {what}=."
        )


def _choices(shared, everything, chosen, what):
    """One sentence on what was chosen for each list of scores that topics offer."""
    where = {}
    for topic, names in everything.items():
        if len(names) > 1:
            where.setdefault((chosen[topic], tuple(names)), []).append(topic)
    for (name, names), topics in where.items():
        others = [other for other in names if other != name]
        everywhere = all(other in found for other in others for found in shared.values())
        only = "" if everywhere else ", where all topics that are read have it"
        places = f"topic {topics[0]!r}" if len(topics) == 1 else f"{len(topics)} topics"
        yield f"{what} {name!r} taken in {places}, not {listed(others, most=6)} ({what}={only})"


def assemble(logs, options, model, notes):
    """`ItemRows` of all logs; `model` renames models, and `notes` gets every decision."""
    logs = _without_failed(logs, notes)
    _report_arguments(logs, notes)
    names = renamed(of_runs(logs, notes), model)
    labels = "topic"
    if options.declared and len({log.run.topic for log in logs}) == 1:
        labels = "part" * all(log.is_labelled("part") for log in logs) or "topic"
    declared = {pair for log in logs for pair in log.run.declared}
    for role, field in sorted(declared):
        if role == labels or (role == "cluster" and options.cluster is None):
            option = "topic='task'" if role == "part" else "cluster='id'"
            name = "topic" if role == "part" else role
            notes.append(f"{name}: {field}, as the log declares it ({option} to overrule it)")
    frames = [_frame(log, name, labels) for log, name in zip(logs, names, strict=True)]
    items = pd.concat(frames, ignore_index=True)
    items = _told_apart(items, notes)
    log_of = np.repeat(np.arange(len(logs)), [len(log.places) for log in logs])
    _refuse_repeated(items, logs, log_of)
    repeats = items["repeat"].max() > 1
    clusters = items["cluster"].notna().any()
    if clusters or repeats:
        items["cluster"] = items["cluster"].where(items["cluster"].notna(), items["item"])
    empty = {"repeat": not repeats, "cluster": not (clusters or repeats)}
    empty["confidence"] = items["confidence"].isna().all()
    about = {name for log in logs for name, _ in log.run.about}
    empty |= {name: items[name].isna().any() for name in about}
    items = items.drop(columns=["digest", *(name for name, is_empty in empty.items() if is_empty)])
    scores = list(dict.fromkeys(log.score_name for log in logs))
    columns = {"model": "model", "topic": "topic", "item": logs[0].form.item_name}
    columns["score"] = scores[0] if len(scores) == 1 else scores
    if clusters or repeats:
        columns["cluster"] = "cluster" if clusters else columns["item"]
    missing = items["score"].isna().to_numpy()
    if missing.any():
        row = int(np.argmax(missing))
        notes.append(
            f"{missing.sum()} of {len(items)} scores are missing (first item "
            f"{items['item'][row]!r} in {str(logs[log_of[row]].path)!r}): dropped, not counted as "
            "wrong"
        )
    blank = items[missing].drop(columns="score")
    return ItemRows(items[~missing].reset_index(drop=True), columns, notes, blank=blank)


def _without_failed(logs, notes):
    """Logs that have a score; the others are named and counted."""
    failed = [log for log in logs if np.isnan(log.score).all()]
    places = listed([f"{log.run.model} on {log.run.topic} ({log.path})" for log in failed], most=4)
    if len(failed) == len(logs):
        raise ValueError(
            f"No item in {places} has a score: the runs failed, or were cancelled before any "
            "answer was scored."
        )
    if failed:
        notes.append(f"{len(failed)} of {len(logs)} runs have no score at all, left out: {places}")
    return [log for log in logs if log not in failed]


def _report_arguments(logs, notes):
    """Name the arguments in which runs of one topic differ."""
    given = {}
    for log in logs:
        for name, value in log.run.arguments:
            values = given.setdefault(log.run.topic, {}).setdefault(name, {})
            values[value] = values.get(value, 0) + 1
    for topic, arguments in given.items():
        n = sum(log.run.topic == topic for log in logs)
        differing = [
            f"{name} ({listed(values, most=4)})"
            for name, values in arguments.items()
            if max(values.values()) < n
        ]
        if differing:
            notes.append(f"runs of task {topic!r} differ in its arguments: {listed(differing, 4)}")


def _frame(log, model, labels):
    """A log as a table; items bear the topic's name in front."""
    topic, columns = log.run.topic, log.columns
    return pd.DataFrame(
        {
            "model": model,
            "topic": columns[labels] if log.is_labelled(labels) else topic,
            "item": [f"{topic}/{item}" for item in columns["item"]],
            "score": log.score,
            "cluster": columns["cluster"] if log.is_labelled("cluster") else None,
            "repeat": columns["repeat"],
            "confidence": columns["confidence"],
            "digest": columns["digest"] if log.is_labelled("digest") else None,
            **dict(log.run.about),
        },
        index=range(len(log.places)),
    )


def _told_apart(items, notes):
    """An item whose text differs between runs is different items, though it has one number."""
    pairs = items[["item", "digest"]].dropna().drop_duplicates()
    differing = set(pairs["item"][pairs["item"].duplicated()])
    if not differing:
        return items
    notes.append(
        f"{len(differing)} items bear the same number but not the same text in all runs: taken as "
        "different items"
    )
    mixed = items["item"].isin(differing) & items["digest"].notna()
    apart = items["item"] + " " + items["digest"].astype(str).str[:8]
    return items.assign(item=items["item"].mask(mixed, apart))


def _refuse_repeated(items, logs, log_of):
    """Refuse the same answer in two logs under one name."""
    keys = ["model", "item", "repeat"]
    twice = items.duplicated(keys, keep=False)
    if twice.any():
        first = items[twice].iloc[0]
        rows = (items[keys] == first[keys]).all(axis=1).to_numpy()
        files = dict.fromkeys(str(logs[i].path) for i in log_of[rows])
        raise ValueError(
            f"Model {first['model']!r} would hold item {first['item']!r} twice, from "
            f"{listed(files, most=3)}. Give these runs names of their own with model=."
        )
