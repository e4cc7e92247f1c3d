"""Logs that hold one record per answer -> `Log`s: a format says where records and roles are."""

import math
from collections.abc import Callable
from typing import NamedTuple

from skbench.readers._json import document, records, value_at
from skbench.readers._logs import Log, choose

_LONGEST_VERSION = 60  # letters in the name of a model


class Answer(NamedTuple):
    """One answer of a model to an item, as a program recorded it."""

    model: str
    topic: str
    item: str
    scores: dict  # numbers by name; empty where the answer failed
    attempt: int | None = None  # None: answers to one item are counted in their order
    version: str = ""  # of the model, such as a prompt; several in a file are several models
    run: str | None = None  # None: a file is a run
    settings: object = None  # runs that differ in it are no one model
    digest: str | None = None  # of the text of the item
    cluster: str | None = None  # what several items belong to


class RecordFormat(NamedTuple):
    """How a program writes its answers.

    `records(path, bad)` yields (place, record, head): where a record stands, the record, and
    what the file says of all of them. `answer(record, head, path)` makes an `Answer` of it, or
    raises KeyError, TypeError, AttributeError or ValueError for one that cannot be read.
    """

    records: Callable
    answer: Callable
    item_name: str = "item"
    repeats: bool = False  # whether a program asks an item several times
    note: str = ""  # what users must know of such results


def records_in(key):
    """Records that are a list under these dotted keys of one document; the head is the rest."""

    def read(path, bad):
        head = document(path)
        found = value_at(head, key) if key else head
        if not isinstance(found, list):
            raise ValueError(f"{str(path)!r} has no list {key!r}.")
        for number, record in enumerate(found, start=1):
            yield f"{key.split('.')[-1] if key else 'element'} {number}", record, head

    return read


def records_by_line(path, bad):
    """Records that are lines of a file, or elements of one list; there is no head."""
    for number, record in records(path, bad):
        yield number, record, {}


def finite(scores):
    """Scores by name as floats, without those that are no numbers; infinite ones are refused."""
    found = {
        str(name): float(value)
        for name, value in scores.items()
        if isinstance(value, (bool, int, float))
    }
    for name, value in found.items():
        if math.isinf(value):
            raise ValueError(f"score {name!r} is infinite")
    return found


def record_logs(form, paths, options, bad, notes):
    """Logs of all files of a `RecordFormat`."""
    runs = {}
    for path in paths:
        for place, record, head in _read(form, path, bad):
            try:
                answer = form.answer(record, head, path)
                row = (answer, *options.labels_of(record))
                key = (
                    path,
                    answer.run,
                    repr(answer.settings),
                    answer.model,
                    answer.version,
                    answer.topic,
                )
                answers = runs.setdefault(key, {}).setdefault(answer.item, {})
                attempt = answer.attempt if answer.attempt is not None else len(answers) + 1
                if attempt in answers or (attempt > 1 and not form.repeats):
                    raise ValueError(f"repeats {form.item_name} {answer.item!r}")
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                bad.refuse(path, place, error)
                continue
            answers[attempt] = row
    if form.note:
        notes.append(form.note)
    offers = [(key[-1], _score_names(items)) for key, items in runs.items()]
    chosen = choose(offers, options.score, "score", "score= (--score)", notes)
    names = _names(runs, notes)
    return [
        _log(form, key, names[key], items, chosen[key[-1]], options) for key, items in runs.items()
    ]


def _names(runs, notes):
    """A model's name, with its version where a file has several."""
    versions = {}
    for path, *_, model, version, _ in runs:
        versions.setdefault((path, model), {}).setdefault(version)
    short = _short(dict.fromkeys(version for some in versions.values() for version in some))
    for path in dict.fromkeys(path for (path, _), some in versions.items() if len(some) > 1):
        notes.append(f"{str(path)!r} has several versions or prompts of a model: each is a model")
    return {
        key: f"{key[3]} | {short[key[4]]}" if len(versions[key[0], key[3]]) > 1 else key[3]
        for key in runs
    }


def _short(versions):
    """Versions in a line, as long as names may be; numbered where these are the same."""
    alike = {}
    for version in versions:
        line = " ".join(version.split())
        if len(line) > _LONGEST_VERSION:
            line = line[: _LONGEST_VERSION - 3] + "..."
        alike.setdefault(line, []).append(version)
    return {
        version: f"{line} ({number})" if len(same) > 1 else line
        for line, same in alike.items()
        for number, version in enumerate(same, start=1)
    }


def _read(form, path, bad):
    """All records of a file, or an error that names the file."""
    try:
        yield from form.records(path, bad)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{str(path)!r} is not written as expected: {error!r}.") from error


def _score_names(items):
    """Names of scores in order of appearance."""
    rows = (row for attempts in items.values() for row in attempts.values())
    return list(dict.fromkeys(name for row in rows for name in row[0].scores))


def _log(form, key, model, items, score, options):
    path, run, *_, topic = key
    rows = [(n, *row) for attempts in items.values() for n, row in attempts.items()]
    numbers, answers, topics, clusters = zip(*rows, strict=True)
    columns = {
        "item": [answer.item for answer in answers],
        "score": [answer.scores.get(score, math.nan) for answer in answers],
    }
    if max(map(len, items.values())) > 1:
        columns["repeat"] = numbers
    columns |= options.label_columns(topics, clusters)
    own = [answer.cluster for answer in answers]
    if "cluster" not in columns and all(own):
        columns["cluster"] = own
    digests = [answer.digest for answer in answers]
    return Log(
        path=str(path),
        run=run or path.as_posix(),
        model=model,
        topic=topic,
        score_name=score,
        item_name=form.item_name,
        columns=columns,
        settings=answers[0].settings,
        digests=digests if all(digests) else None,
    )
