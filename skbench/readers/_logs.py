"""Turn logs of evaluation programs into item rows: choose scores, name models, separate items."""

import math
from itertools import chain, repeat

import numpy as np
import pandas as pd

from skbench._checks import listed
from skbench._notes import LOST, ROUTINE, Note
from skbench.readers._answers import COSTS, logs_of, number
from skbench.readers._formats import FORMATS, TITLES
from skbench.readers._found import ItemRows, UnfinishedRun
from skbench.readers._names import of_runs, renamed


def logs_items(found, options, bad, notes):
    """Return `ItemRows` of the logs of all programs."""
    for option, value in {"item=": options.item, "models=": options.models}.items():
        if value is not None:
            raise ValueError(f"{option} is for tables only, because logs define their items.")
    topic = options.topic
    topic = topic[0] if isinstance(topic, (list, tuple)) and len(topic) == 1 else topic
    if topic is not None and not isinstance(topic, str):
        raise ValueError("For logs, topic= must be one field, such as 'doc.subject'.")
    own, logs = options._replace(topic=topic), []
    for kind, files in found.items():
        logs += _scored(FORMATS[kind], files, own, bad, notes)
        unit = getattr(files[0], "unit", "file") + "s" * (len(files) > 1)
        notes.insert(0, Note(f"{TITLES[kind]}: {len(files)} {unit}", ROUTINE))
    unfinished = [note for note in notes if isinstance(note, UnfinishedRun)]
    files = [file for several in found.values() for file in several]
    if not logs:
        reasons = "".join(f" {note[0].upper()}{note[1:]}." for note in unfinished[:3])
        raise ValueError(f"There are no answers in {listed(files, most=3)}.{reasons}")
    if len(unfinished) > 1:
        notes[:] = [note for note in notes if note not in unfinished]
        text = (
            f"{len(unfinished)} of {len(files)} runs did not finish, so their missing answers are "
            f"skipped: {listed(unfinished, most=3)}"
        )
        notes.append(Note(text, LOST))
    return _assembled(logs, options, notes)


def _scored(form, paths, options, bad, notes):
    """Return the logs of all files of a format, each with its score chosen."""
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
    """Return topic -> score (or filter): the wanted one, or the first that all its files have."""
    shared, everything, others = {}, {}, {}
    # A run that failed as a whole has no scores, so it does not affect the choice.
    for topic, names in [(topic, names) for topic, names in offers if names] or offers:
        known = shared.setdefault(topic, list(names))
        shared[topic] = [name for name in known if name in names]
        everything.setdefault(topic, {}).update(dict.fromkeys(names))
    lacking = [t for t, names in shared.items() if not names or wanted not in (None, *names)]
    if lacking and not everything[lacking[0]]:
        raise ValueError(
            f"Topic {lacking[0]!r} has no numeric {what} for which higher is better. Its runs "
            "failed or were cancelled before any answer was scored. Remove its files."
        )
    if lacking:
        wanted = "" if wanted is None else f" {wanted!r}"
        raise ValueError(
            f"{len(lacking)} of {len(shared)} topics have no {what}{wanted} that all their files "
            f"share. Topic {lacking[0]!r} has: {listed(everything[lacking[0]])}. Remove the files "
            f"without it, or pass another {what}=."
        )
    chosen = {topic: names[0] if wanted is None else wanted for topic, names in shared.items()}
    for topic in shared if wanted is None else ():
        rest = tuple(name for name in everything[topic] if name != chosen[topic])
        others.setdefault((chosen[topic], rest), []).append(topic)
    for (name, rest), topics in others.items():
        if rest:
            places = f"topic {topics[0]!r}" if len(topics) == 1 else f"{len(topics)} topics"
            notes.append(
                f"{name!r} is the {what} of {places} (not {listed(rest, 6)}; choose with {what}=)"
            )
    return {topic: chosen.get(topic, wanted) for topic, _ in offers}


def _assembled(logs, options, notes):
    """Return `ItemRows` of all logs, and add every choice to `notes`."""
    logs = _without_failed(logs, notes)
    _report_arguments(logs, notes)
    names = renamed(of_runs(logs, notes), options.model)
    labels = "topic"
    if options.topic is None and len({log.run.topic for log in logs}) == 1:
        labels = "part" * all(log.is_labeled("part") for log in logs) or "topic"
    declared = {pair for log in logs for pair in log.run.declared}
    for role, field in sorted(declared):
        if role == labels or (role == "cluster" and options.cluster is None):
            option = "topic='task'" if role == "part" else "cluster='id'"
            name = "topic" if role == "part" else role
            notes.append(f"field {field!r} is the {name}, as the log declares (undo with {option})")
    items = _table(logs, names, labels)
    items = _separated_by_text(items, notes)
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
            f"dropped {missing.sum()} of {len(items)} rows with missing scores (not counted as "
            f"wrong; first item {items['item'][row]!r} in {str(logs[log_of[row]].path)!r})"
        )
        notes.append(Note(text, LOST))
    blank = items[missing].drop(columns="score")
    items = items[~missing].reset_index(drop=True)
    return ItemRows(items, columns, notes, blank=blank, graders=_graders(logs, names))


def _graders(logs, names):
    """Return topic -> model -> descriptions of the judge, as the logs declare them."""
    found = {}
    for log, name in zip(logs, names, strict=True):
        own = {words for scorer, words in log.run.graders if log.score_name.startswith(scorer)}
        if own:
            found.setdefault(log.run.topic, {}).setdefault(name, set()).update(own)
    return found


def _without_failed(logs, notes):
    """Return the logs with scores, and add a note on the others."""
    failed = [log for log in logs if np.isnan(log.score).all()]
    places = listed([f"{log.run.model} on {log.run.topic} ({log.path})" for log in failed], most=4)
    if len(failed) == len(logs):
        raise ValueError(
            f"No item in {places} has a score. The runs failed or were cancelled before any "
            "answer was scored."
        )
    if failed:
        text = f"skipped {len(failed)} of {len(logs)} runs, which have no scores: {places}"
        notes.append(Note(text, LOST))
    return [log for log in logs if log not in failed]


def _report_arguments(logs, notes):
    """Add notes on arguments that differ between runs of a topic."""
    for topic in dict.fromkeys(log.run.topic for log in logs):
        given = [dict(log.run.arguments) for log in logs if log.run.topic == topic]
        values = {
            name: dict.fromkeys(str(one.get(name)) for one in given)
            for one in given
            for name in one
        }
        differing = [f"{name} ({listed(v, most=4)})" for name, v in values.items() if len(v) > 1]
        if differing:
            text = f"runs of task {topic!r} have different arguments: {listed(differing, 4)}"
            notes.append(Note(text, LOST))


def _table(logs, names, labels):
    """Return the answers of all logs. Item ids begin with the topic."""
    sizes = [len(log.places) for log in logs]

    def labelled(name, default):
        return chain.from_iterable(
            log.columns[name] if log.is_labeled(name) else repeat(default(log), size)
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
    known = any(costs)
    columns |= {name: [number(x.get(name)) for x in costs] if known else math.nan for name in COSTS}
    return pd.DataFrame(columns)


def _separated_by_text(items, notes):
    """Make different items of those with the same number but different texts."""
    pairs = items[["item", "digest"]].dropna().drop_duplicates()
    differing = set(pairs["item"][pairs["item"].duplicated()])
    if not differing:
        return items
    notes.append(
        f"the texts of {len(differing)} items differ between runs, so these count as different "
        "items"
    )
    mixed = items["item"].isin(differing) & items["digest"].notna()
    apart = items["item"] + " " + items["digest"].astype(str).str[:8]
    return items.assign(item=items["item"].mask(mixed, apart))


def _refuse_repeated(items, logs, log_of):
    """Raise if two logs contain the same answer under one name."""
    keys = ["model", "item", "repeat"]
    twice = items.duplicated(keys, keep=False)
    if twice.any():
        first = items[twice].iloc[0]
        rows = (items[keys] == first[keys]).all(axis=1).to_numpy()
        files = dict.fromkeys(str(logs[i].path) for i in log_of[rows])
        raise ValueError(
            f"Model {first['model']!r} would have item {first['item']!r} twice, from "
            f"{listed(files, most=3)}. Give these runs different names with model=."
        )
