"""Earlier models as commands take them: --past and --bank, and what they were worth."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import pandas as pd

from skbench._checks import as_text, listed, plain
from skbench._notes import LOST
from skbench._printed import NUMBERS
from skbench._undecided import Undecided
from skbench.containers import Draws
from skbench.items.rows import joined
from skbench.report import reading
from skbench.report.terminal import DataError, note, one_line
from skbench.report.understanding import counted

_READING = ("model", "score", "item", "filter", "skip_bad_lines")


class Past(NamedTuple):
    """The new models fitted with the earlier ones, and their rows, labels as in the bank."""

    fitted: object
    items: pd.DataFrame

    @property
    def n_models(self):
        """Number of earlier models."""
        return len(self.fitted.bank.models_)

    def estimate(self, labels, by, confidence_level):
        """Means over all items of the bank, of these groups; nan where it has no item."""
        topics = [name for name in by if name != "model"]
        frame = pd.DataFrame(list(labels), columns=by)
        wanted = frame.drop(columns=topics)
        if topics:
            wanted = wanted.assign(topic=_one_topic(frame, topics, self.fitted.bank))
        found = self.fitted.estimate(list(wanted), confidence_level)
        one = wanted.shape[1] == 1
        index = pd.Index(wanted.iloc[:, 0]) if one else pd.MultiIndex.from_frame(wanted)
        frame = found.to_frame().set_axis(found.labels).reindex(index)
        columns = {name: frame[name].to_numpy() for name in NUMBERS}
        return replace(found, labels=labels, method=self.method(f"{found.method},"), **columns)

    def method(self, name):
        """The method with the number of earlier models."""
        return f"{name} {counted(self.n_models, 'earlier model')}"

    def draws(self):
        """Joint draws of the means over all items, by model and topic on one axis."""
        drawn = self.fitted.sample()
        labels = pd.MultiIndex.from_product(drawn.labels)
        return Draws(drawn.values.reshape(len(drawn.values), -1), labels, drawn.kind)

    def posterior(self, by):
        """Joint draws of the models' scores on all items, by topic if `by` says so."""
        from skbench.comparison.posterior import posterior_of

        bank = self.fitted.bank
        names = "model", "topic", "item", "score"
        draws = self.fitted.sample(["model", "topic"] if by else "model")
        return posterior_of(draws, self.items, names, bank.items_["topic"].value_counts())

    def with_method(self, result):
        """A ranking or comparison that says how many earlier models there are."""
        estimate = result.estimate
        return replace(
            result, estimate=replace(estimate, method=self.method(f"{estimate.method},"))
        )


class Worth(NamedTuple):
    """What the past was worth: n_models earlier models, n items per group as good as n_as_good."""

    n_models: int
    n: float
    n_as_good: float

    @property
    def sentence(self):
        """In words."""
        if not np.isfinite(self.n_as_good):
            return "What the earlier models are worth is unknown."
        return (
            f"With {counted(self.n_models, 'earlier model')}, {self.n:g} items per group are as "
            f"good as {self.n_as_good:.0f}: median over groups of their number times the sampling "
            "variance of the direct estimate, divided by the posterior variance; right if the "
            "model is."
        )


def worth(past, summary, estimate):
    """How many items per group would tell as much without a past, as `Worth`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        as_good = np.asarray(summary.n * summary.sigma2) / estimate.standard_error**2
    sizes = pd.DataFrame({"n": np.asarray(summary.n, dtype=float), "as_good": as_good})
    typical = sizes[np.isfinite(as_good)].median()
    return Worth(past.n_models, float(typical["n"]), float(typical["as_good"]))


def check_past(paths, file, missing="drop"):
    """Whether there is a past; refuses what --past or --bank cannot go with."""
    if paths and file is not None:
        raise click.UsageError("--past and --bank exclude each other.")
    given = bool(paths) or file is not None
    if given and missing == "wrong":
        raise click.UsageError("--missing wrong has no meaning with --past or --bank.")
    return given


def read_bank(paths, file, by=None, roles=None, new=(), rows=None):
    """The bank of the earlier models, of results or as saved: all but the new ones of `rows`."""
    from skbench.bank import ItemBank

    if file is not None:
        if not Path(file).is_file():
            raise DataError(f"--bank: there is no file {file!r}.")
        try:
            bank = ItemBank.load(file)
        except ValueError as error:
            text = f"--bank: {error} Results of earlier models are read by --past."
            raise DataError(one_line(text)) from error
        same = _named(bank.models_, new, "--bank")
        return bank.without(same) if same else bank
    known = _READING if rows is not None else (*_READING, "models")
    roles = {name: value for name, value in (roles or {}).items() if name in known}
    # Each path by itself: one may have a column per model and another a row per answer.
    parts = [_read_past(path, by, roles, rows, name_it=len(paths) > 1) for path in paths]
    past = pd.concat(parts, ignore_index=True)
    keys = [name for name in ("model", "topic", "item") if name in past]
    twice = pd.concat([part[keys].drop_duplicates() for part in parts]).duplicated()
    if twice.any():
        row = past[keys].iloc[int(np.argmax(past.duplicated(keys)))]
        raise DataError(
            f"--past: model {row['model']!r} has item {str(row['item'])!r} in more than one path. "
            "Leave out what is there twice."
        )
    return ItemBank(exclude=_named(past["model"].unique(), new, "--past")).fit(past)


def _read_past(path, by, roles, new_rows, name_it):
    """Rows of earlier models from one path: model, topic, item, score and others."""
    try:
        rows = reading.read(path, by, roles)
    except ValueError as error:
        text = error.text if isinstance(error, Undecided) else error
        if isinstance(error, Undecided) and new_rows is None:
            raise Undecided(f"--past: {text}", error.choices) from error
        if isinstance(error, Undecided):
            # Commands are not offered: their options would be for the new results, too.
            text = f"{text} Or write the past as one row per model and item, with its score."
        raise DataError(one_line(f"--past: {text}")) from error
    for text in rows.notes:
        note(f"past: {text}", getattr(text, "importance", None))
    if rows.groups is not None:
        raise DataError("--past: results of groups say nothing of single items.")
    if new_rows is not None:
        reading.check_alike(new_rows, rows)
    past = rows.items
    if name_it and "model" not in past:
        past = past.assign(model=reading.readable(path).stem)
    reading.need_columns(past, "model", "item", told="--past: no column")
    return as_banks_take(past, by)


def as_banks_take(items, by):
    """Item rows with one column of topics, and what else names an item in front of its id."""
    if by and len(by) > 1:
        items = items.assign(topic=joined(items[by]))
    own = [name for name in ("topic_in_file", "item") if name in items]
    return items.assign(item=joined(items[own])) if len(own) > 1 else items


def learn(paths, file, rows, source, by=None, roles=None, known_range=None):
    """New models, fitted with the earlier ones, as `Past`; None where there are none."""
    if not check_past(paths, file):
        return None
    from skbench.bank import UnitLevelModel

    items = reading.named_after(rows, source).items
    if "item" not in rows.columns:
        raise DataError("--past and --bank need the items' names: pass --item COLUMN.")
    topics = [name for name in reading.topic_names(by) or ["topic"] if name in items]
    bank = read_bank(paths, file, by, roles, items["model"].unique(), rows)
    if topics and list(bank.topics_) == ["all"] and by:
        raise DataError("the past has no topics: leave --by out, or name their column in it.")
    items = as_banks_take(items, by)
    items = items.assign(item=as_in(items["item"], bank.items_["item"]))
    no_topics = list(bank.topics_) == ["all"]
    if topics and not no_topics:
        items = items.assign(topic=as_in(items["topic"], bank.topics_))
    keys = ["item"] if no_topics or not topics else ["topic", "item"]
    both = bank.items_[keys].drop_duplicates()
    asked = items[keys].drop_duplicates()
    # Numbers and text cannot be merged.
    alike = all(asked[key].isin(both[key]).any() for key in keys)
    known = len(asked.merge(both, on=keys)) if alike else 0
    if not known:
        raise DataError(
            f"none of the {len(asked)} items, such as {_words(asked)}, is in the past, which has "
            f"such as {_words(both)}. Name the column of the same ids (--item), and the same "
            "topics (--by), or leave topics out."
        )
    fitted = UnitLevelModel(bank, bounds=known_range).fit(items, items["score"])
    items = items.assign(topic="all") if no_topics else items
    lacking = len(asked) - known
    told = f"; {lacking} items asked are not among them" if lacking else ""
    note(
        f"past: {counted(len(bank.models_), 'earlier model')}; {known} of the {len(bank.items_)} "
        f"items that they answered were asked here{told}"
    )
    return Past(fitted, items)


def _named(earlier, new, option):
    """The new models among the earlier ones."""
    names = set(map(str, new))
    same = [name for name in earlier if str(name) in names]
    if len(same) == len(earlier):
        raise DataError(f"{option} has no models but those of the results: none is earlier.")
    if same:
        told = f"past: {len(same)} of its {len(earlier)} models left out, as they are new"
        note(f"{told}: {listed(same, most=3)}", LOST)
    return same


def _one_topic(frame, topics, bank):
    """One column of topics, labels as in the bank."""
    values = frame[topics[0]] if len(topics) == 1 else pd.Series(joined(frame[topics]))
    if list(bank.topics_) == ["all"]:
        return pd.Series("all", index=frame.index)
    return as_in(values.set_axis(frame.index), bank.topics_)


def as_in(values, known):
    """Labels that read like one of the bank become that one: files differ in 7 and "7"."""
    by_text = {as_text(label): label for label in pd.unique(known)}
    renamed = {label: by_text.get(as_text(label), label) for label in pd.unique(values)}
    return values.map(renamed)


def _words(frame):
    return " / ".join(repr(plain(value)) for value in frame.iloc[0])
