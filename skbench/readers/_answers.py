"""Turn records of evaluation programs into answers of models. A `Format` defines how."""

import math
import sys
from collections.abc import Callable
from typing import NamedTuple

import pandas as pd

from skbench.readers._json import document, label_at, records
from skbench.readers._scores import as_numbers, is_score

COSTS = ("tokens", "seconds", "cost")  # of an answer; cost is money


class Run(NamedTuple):
    """Properties shared by the answers of one model on one topic in one run."""

    model: str
    topic: str
    version: str = ""  # of the model, such as a prompt or a revision
    name: str | None = None  # None: each file is a run
    settings: str = ""  # runs with different settings are different models
    filter: str = ""  # the rule that extracted the answers
    invented: bool = False  # whether the program invented the model's name
    suite: str = ""  # a test suite, which may consist of several files
    about: tuple = ()  # (name, value) pairs of further columns
    arguments: tuple = ()  # (name, value) pairs of the topic
    declared: tuple = ()  # (role, field) pairs of fields that the log declares as labels
    graders: tuple = ()  # (prefix of a score's name, description of its judge) pairs


class Answer(NamedTuple):
    """One answer of a model to an item, as a program recorded it."""

    run: Run
    item: object
    scores: dict  # by name, as written; empty where the answer failed
    attempt: int | None = None  # None: answers to an item are numbered in order
    digest: str | None = None  # of the text of the item
    cluster: object = None
    part: object = None  # of the topic, as the log declares it
    confidence: float = math.nan
    costs: dict = {}  # by the names of `COSTS`; values that are not numbers count as missing


def answer_of(model, topic, item, scores, attempt=None, digest=None, **more):
    """Return an answer with its run. `more` are further fields of either."""
    own = {name: more.pop(name) for name in ("cluster", "costs") if name in more}
    return Answer(Run(model, topic, **more), item, scores, attempt, digest, **own)


def number(value):
    """Return a number of a log as a float, or nan for anything else."""
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if known and abs(value) <= sys.float_info.max else math.nan


class Format(NamedTuple):
    """A format of evaluation logs.

    `records(path, bad, notes)` yields (place, record, head): the place of a record, the record,
    and the properties of the file. `answer(record, head, path)` converts a record to an `Answer`.
    If a record or a file has an unexpected structure, both may raise any of `MISFITS`. `misfit`
    describes the error.
    """

    name: str  # as in `read_items(format=)`
    title: str
    signs: tuple  # sets of keys; the outermost object of a file has all keys of one set
    records: Callable
    answer: Callable
    item_name: str = "item"
    repeats: bool = False  # whether an item may have several answers without numbers
    in_parts: bool = False  # whether several records hold the scores of one answer
    usual: tuple = ()  # default scores, in order of preference
    note: str = ""  # a note for users of such results
    word: bytes = b""  # another sign: bytes near the beginning of the file


def records_in(key):
    """Return a reader of the list under a key of a document. The head is the document."""

    def read(path, bad, notes):
        head = document(path)
        for number, record in enumerate(head[key], start=1):
            yield f"{key} {number}", record, head

    return read


def records_by_line(path, bad, notes):
    """Yield records that are lines of a file, or elements of one list. There is no head."""
    for number, record in records(path, bad):
        yield number, record, {}


# Errors that Python raises if a field has an unexpected type or value.
MISFITS = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)


def misfit(error, what):
    """Describe an unexpected structure."""
    return f"has no field {error}" if isinstance(error, KeyError) else f"is not a {what}"


def is_label(value):
    """Return whether a value can be a label."""
    return isinstance(value, (str, int, float)) and value == value


class Log:
    """The answers of one model on one topic in one run, by column."""

    def __init__(self, path, run, form):
        self.path, self.run, self.form = path, run, form
        self.name = str(run.name or path.as_posix())
        self.scores, self.places = {}, []
        self.columns = {"item": [], "repeat": [], "digest": [], "part": [], "topic": []}
        self.columns |= {"cluster": [], "confidence": [], "costs": []}
        self.score_name = self.score = None
        self._rows = {}

    def add(self, answer, place, topic, cluster):
        """Append an answer, or further scores of a known answer."""
        item, attempt = answer.item, answer.attempt or 1
        if not is_label(item) or not isinstance(attempt, int):
            value = attempt if is_label(item) else item
            raise ValueError(f"has {str(value)[:40]!r} where {self.form.title} writes an id")
        if self.form.repeats and answer.attempt is None:
            while (item, attempt) in self._rows:
                attempt += 1
        row = self._rows.setdefault((item, attempt), len(self.places))
        if row < len(self.places) and not self.form.in_parts:
            raise ValueError(f"repeats {self.form.item_name} {item!r}")
        for name, value in answer.scores.items():
            column = self.scores.get(name)
            if column is not None and len(column) == row:  # a new row, so nothing can be repeated
                column.append(value)
            else:
                self._set(name, row, value, item)
        if row < len(self.places):
            known = {k: v for k, v in answer.costs.items() if v is not None}
            self.columns["costs"][row] = self.columns["costs"][row] | known
            return
        self.places.append(place)
        columns = self.columns
        columns["item"].append(item)
        columns["repeat"].append(attempt)
        columns["digest"].append(None if answer.digest is None else str(answer.digest))
        columns["part"].append(answer.part)
        columns["topic"].append(topic)
        columns["cluster"].append(answer.cluster if cluster is None else cluster)
        columns["confidence"].append(answer.confidence)
        columns["costs"].append(answer.costs)

    def _set(self, name, row, value, item):
        """Set a score. Raise if another record of the answer has already set it."""
        column, usual = self.scores.setdefault(name, []), self.form.usual
        column += [None] * (row + 1 - len(column))
        if column[row] is not None and (not usual or (name in usual and column[row] != value)):
            raise ValueError(f"repeats {self.form.item_name} {item!r} with another {name}")
        column[row] = value

    def is_labeled(self, name):
        """Return whether every answer has a value in this column."""
        return all(value is not None for value in self.columns[name])

    def score_names(self, wanted=None):
        """Return the scores to choose from: the usual ones of the format, unless one is wanted."""
        found = [name for name, column in self.scores.items() if any(map(is_score, column))]
        if wanted is not None or not self.form.usual or not found:
            return found
        usual = [name for name in self.form.usual if name in found]
        if not usual:
            raise ValueError(
                f"{str(self.path)!r} has none of the usual scores. Pass score= with one of: "
                f"{', '.join(sorted(found))}."
            )
        return usual

    def choose(self, name, notes, bad):
        """Choose the scores of this name, as floats."""

        def refuse(row, reason):
            bad.refuse(self.path, self.places[row], reason)

        values = self.scores.get(name, [])
        values = values + [None] * (len(self.places) - len(values))
        values = pd.Series([float(v) if isinstance(v, bool) else v for v in values])
        self.score_name, self.score = name, as_numbers(values, name, notes, refuse)


def _labels(record, options):
    """Return the topic and cluster of a record by the caller's fields, None without a field.

    By default a log is a topic, so "topic" and "task" may be names without a field.
    """
    field = options.topic
    if field in ("topic", "task"):
        field = field if isinstance(record, dict) and field in record else None
    return label_at(record, field), label_at(record, options.cluster)


def logs_of(form, paths, options, bad, notes):
    """Return the logs of all files of a format, before scores are chosen."""
    logs, log = {}, None
    labelled = options.topic is not None or options.cluster is not None
    for path in paths:
        try:
            for place, record, head in form.records(path, bad, notes):
                try:
                    answer = form.answer(record, head, path)
                except MISFITS as error:
                    bad.refuse(path, place, misfit(error, f"record as {form.title} writes it"))
                    continue
                try:
                    if log is None or log.path is not path or log.run is not answer.run:
                        log = _log_of(logs, path, answer.run, form)
                    log.add(
                        answer, place, *(_labels(record, options) if labelled else (None, None))
                    )
                except ValueError as error:
                    bad.refuse(path, place, error)
        except MISFITS as error:
            if not isinstance(error, ValueError):
                what = misfit(error, f"log as {form.title} writes it")
                error = ValueError(f"{str(path)!r} {what}. Remove the file, or export it again.")
            if not bad.skip or len(paths) == 1:
                raise error from None
            bad.refuse(path, "whole file", error)
    if form.note and logs:
        notes.append(form.note)
    return _by_suites(list(logs.values()))


def _log_of(logs, path, run, form):
    """Return the log of a run, and check the names of a new run."""
    names = run._replace(name=run.name or "")
    wrong = [value for value in (*names[:8], *dict(run.about).values()) if not is_label(value)]
    if wrong:
        raise ValueError(f"has {str(wrong[0])[:40]!r} where {form.title} writes a name")
    return logs.get((path, run)) or logs.setdefault((path, run), Log(path, run, form))


def _by_suites(logs):
    """Give the logs of a suite one topic if each of its files has different models."""
    models = {}
    for log in logs:
        own = models.setdefault(log.run.suite, {}).setdefault(log.path, set())
        own.add((log.run.model, log.run.version))
    for log in logs:
        files = models[log.run.suite].values()
        if log.run.suite and 1 < len(files) and sum(map(len, files)) == len(set().union(*files)):
            log.run = log.run._replace(topic=log.run.suite)
    return logs
