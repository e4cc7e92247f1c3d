"""Logs of evaluation programs -> item rows: scores chosen, models named, items told apart."""

import math
from itertools import chain, repeat

import numpy as np
import pandas as pd

from skbench._checks import listed
from skbench._notes import LOST, ROUTINE, Note
from skbench.readers._answers import COSTS, logs_of, number
from skbench.readers._formats import FORMATS, TITLES
from skbench.readers._found import ItemRows
from skbench.readers._names import of_runs, renamed


def logs_items(found, options, bad, notes):
    """`ItemRows` of the logs of all programs."""
    for option, value in {"item=": options.item, "models=": options.models}.items():
        if value is not None:
            raise ValueError(f"{option} is for tables; logs themselves define what an item is.")
    topic = options.topic
    topic = topic[0] if isinstance(topic, (list, tuple)) and len(topic) == 1 else topic
    if topic is not None and not isinstance(topic, str):
        raise ValueError("Logs take one field as topic=, such as 'doc.subject'.")
    own, logs = options._replace(topic=topic), []
    for kind, files in found.items():
        logs += _scored(FORMATS[kind], files, own, bad, notes)
        unit = getattr(files[0], "unit", "file") + "s" * (len(files) > 1)
        notes.insert(0, Note(f"{TITLES[kind]}: {len(files)} {unit}", ROUTINE))
    unfinished = [note for note in notes if "did not finish" in note]
    files = [file for several in found.values() for file in several]
    if not logs:
        reasons = "".join(f" {note[0].upper()}{note[1:]}." for note in unfinished[:3])
        raise ValueError(f"No answer is left to read in {listed(files, most=3)}.{reasons}")
    if len(unfinished) > 1:
        notes[:] = [note for note in notes if note not in unfinished]
        text = (
            f"{len(unfinished)} of {len(files)} runs did not finish, and what they lack is left "
            f"out: {listed(unfinished, most=3)}"
        )
        notes.append(Note(text, LOST))
    return _assembled(logs, options, notes)


def _scored(form, paths, options, bad, notes):
    """Logs of all files of a format, each with one score of its answers."""
    logs = logs_of(form, paths, options, bad, notes)
    filters = {}
    for log in logs:
        filters.setdefault((log.path, log.run.topic), {})[log.run.filter] = None
    offers = [(topic, list(names)) for (_, topic), names in filters.items()]
    wanted = options.filter if any(log.run.filter for log in logs) else None
    chosen = _choose(offers, wanted, "filter", notes)
    logs = [log for log in logs if log.run.filter == chosen[log.run.topic]]
    offers = [(log.run.topic, log.score_names(options.score)) for log in logs]
    chosen = _choose(offers, options.score, "score", notes)
    for log in logs:
        log.choose(chosen[log.run.topic], notes, bad)
    return logs


def _choose(offers, wanted, what, notes):
    """Topic -> one of several scores (or filters): the wanted, or the first in all its files."""
    shared, everything, others = {}, {}, {}
    # A run that failed as a whole has no scores, and does not decide which are taken.
    for topic, names in [(topic, names) for topic, names in offers if names] or offers:
        known = shared.setdefault(topic, list(names))
        shared[topic] = [name for name in known if name in names]
        everything.setdefault(topic, {}).update(dict.fromkeys(names))
    lacking = [t for t, names in shared.items() if not names or wanted not in (None, *names)]
    if lacking and not everything[lacking[0]]:
        raise ValueError(
            f"Topic {lacking[0]!r} has no {what} that is a number of which more is better: all "
            "runs failed, or were cancelled before any answer was scored. Leave out its files."
        )
    if lacking:
        wanted = "" if wanted is None else f" {wanted!r}"
        raise ValueError(
            f"{len(lacking)} of {len(shared)} topics, first {lacking[0]!r}, have no {what}{wanted} "
            f"in all their files, only {listed(everything[lacking[0]])}. Leave out the files that "
            f"lack it, or pass another {what}=."
        )
    chosen = {topic: names[0] if wanted is None else wanted for topic, names in shared.items()}
    for topic in shared if wanted is None else ():
        rest = tuple(name for name in everything[topic] if name != chosen[topic])
        others.setdefault((chosen[topic], rest), []).append(topic)
    for (name, rest), topics in others.items():
        if rest:
            places = f"topic {topics[0]!r}" if len(topics) == 1 else f"{len(topics)} topics"
            notes.append(f"{what} {name!r} taken in {places}, not {listed(rest, 6)} ({what}=)")
    return {topic: chosen.get(topic, wanted) for topic, _ in offers}


def _assembled(logs, options, notes):
    """`ItemRows` of all logs; `notes` gets every decision."""
    logs = _without_failed(logs, notes)
    _report_arguments(logs, notes)
    names = renamed(of_runs(logs, notes), options.model)
    labels = "topic"
    if options.topic is None and len({log.run.topic for log in logs}) == 1:
        labels = "part" * all(log.is_labelled("part") for log in logs) or "topic"
    declared = {pair for log in logs for pair in log.run.declared}
    for role, field in sorted(declared):
        if role == labels or (role == "cluster" and options.cluster is None):
            option = "topic='task'" if role == "part" else "cluster='id'"
            name = "topic" if role == "part" else role
            notes.append(f"{name}: {field}, as the log declares it ({option} to overrule it)")
    items = _table(logs, names, labels)
    items = _told_apart(items, notes)
    log_of = np.repeat(np.arange(len(logs)), [len(log.places) for log in logs])
    _refuse_repeated(items, logs, log_of)
    repeats = items["repeat"].max() > 1
    clusters = items["cluster"].notna().any()
    if clusters or repeats:
        of_others = items.groupby("item")["cluster"].transform("first")  # logs that declare it
        items["cluster"] = items["cluster"].fillna(of_others).fillna(items["item"])
    empty = {"repeat": not repeats, "cluster": not (clusters or repeats)}
    empty |= {name: items[name].isna().all() for name in ("confidence", *COSTS)}
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
        text = (
            f"{missing.sum()} of {len(items)} scores are missing (first item "
            f"{items['item'][row]!r} in {str(logs[log_of[row]].path)!r}): dropped, not counted as "
            "wrong"
        )
        notes.append(Note(text, LOST))
    blank = items[missing].drop(columns="score")
    items = items[~missing].reset_index(drop=True)
    return ItemRows(items, columns, notes, blank=blank, graders=_graders(logs, names))


def _graders(logs, names):
    """Topic -> model -> what the logs declare of the judge of its scores."""
    found = {}
    for log, name in zip(logs, names, strict=True):
        own = {words for scorer, words in log.run.graders if log.score_name.startswith(scorer)}
        if own:
            found.setdefault(log.run.topic, {}).setdefault(name, set()).update(own)
    return found


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
        text = f"{len(failed)} of {len(logs)} runs have no score at all, left out: {places}"
        notes.append(Note(text, LOST))
    return [log for log in logs if log not in failed]


def _report_arguments(logs, notes):
    """Name the arguments in which runs of one topic differ."""
    for topic in dict.fromkeys(log.run.topic for log in logs):
        given = [dict(log.run.arguments) for log in logs if log.run.topic == topic]
        values = {
            name: dict.fromkeys(str(one.get(name)) for one in given)
            for one in given
            for name in one
        }
        differing = [f"{name} ({listed(v, most=4)})" for name, v in values.items() if len(v) > 1]
        if differing:
            text = f"runs of task {topic!r} differ in its arguments: {listed(differing, 4)}"
            notes.append(Note(text, LOST))


def _table(logs, names, labels):
    """The answers of all logs; items bear the topic's name in front."""
    sizes = [len(log.places) for log in logs]

    def labelled(name, default):
        return chain.from_iterable(
            log.columns[name] if log.is_labelled(name) else repeat(default(log), size)
            for log, size in zip(logs, sizes, strict=True)
        )

    def of_all(name):
        return list(chain.from_iterable(log.columns[name] for log in logs))

    columns = {
        "model": np.repeat(np.array(names, dtype=object), sizes),
        "topic": list(labelled(labels, lambda log: log.run.topic)),
        "item": [f"{log.run.topic}/{item}" for log in logs for item in log.columns["item"]],
        "score": np.concatenate([log.score for log in logs]),
        "cluster": list(labelled("cluster", lambda log: None)),
        "repeat": of_all("repeat"),
        "confidence": of_all("confidence"),
        "digest": list(labelled("digest", lambda log: None)),
    }
    for name in dict.fromkeys(name for log in logs for name, _ in log.run.about):
        values = [dict(log.run.about).get(name) for log in logs]
        columns[name] = np.repeat(np.array(values, dtype=object), sizes)
    costs = of_all("costs")
    told = any(costs)
    columns |= {name: [number(x.get(name)) for x in costs] if told else math.nan for name in COSTS}
    return pd.DataFrame(columns)


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
