"""Earlier models for commands (--past and --bank), and their gain in precision."""

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

_MOST_ITEMS = 1_000_000  # beyond which a number of items is not shown
_READING = ("model", "score", "item", "filter", "skip_bad_lines")


class Past(NamedTuple):
    """The new models fitted with the earlier models, and their rows with labels of the bank."""

    fitted: object
    items: pd.DataFrame

    @property
    def n_models(self):
        """Number of earlier models."""
        return len(self.fitted.bank.models_)

    def estimate(self, labels, by, confidence_level):
        """Means of these groups over all items of the bank; nan if it has no item."""
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
        """Joint draws of the means over all items, with models and topics on one axis."""
        drawn = self.fitted.sample()
        labels = pd.MultiIndex.from_product(drawn.labels)
        return Draws(drawn.values.reshape(len(drawn.values), -1), labels, drawn.kind)

    def posterior(self, by):
        """Joint draws of the models' scores on all items, by topic if `by` is given."""
        from skbench.comparison.posterior import posterior_of

        bank = self.fitted.bank
        names = "model", "topic", "item", "score"
        draws = self.fitted.sample(["model", "topic"] if by else "model")
        return posterior_of(draws, self.items, names, bank.items_["topic"].value_counts())

    def with_method(self, result):
        """A ranking or comparison whose method includes the number of earlier models."""
        estimate = result.estimate
        return replace(
            result, estimate=replace(estimate, method=self.method(f"{estimate.method},"))
        )


class Worth(NamedTuple):
    """Gain from n_models earlier models: n items per group are as good as n_as_good."""

    n_models: int
    n: float
    n_as_good: float

    @property
    def sentence(self):
        """The gain in words.

        It is the median of n times sampling variance / posterior variance.
        """
        if not np.isfinite(self.n_as_good):
            return "The gain from the earlier models is unknown."
        known = self.n_as_good < _MOST_ITEMS
        as_good = f"{self.n_as_good:.0f}" if known else f"more than {_MOST_ITEMS:,}"
        return (
            f"With {counted(self.n_models, 'earlier model')}, {self.n:g} items per group give the "
            f"same precision as {as_good} items without them (median over groups; assumes that "
            "the model is correct)."
        )


def worth(past, summary, estimate):
    """The number of items per group with the same precision without earlier models."""
    with np.errstate(divide="ignore", invalid="ignore"):
        as_good = np.asarray(summary.n * summary.sigma2) / estimate.standard_error**2
    sizes = pd.DataFrame({"n": np.asarray(summary.n, dtype=float), "as_good": as_good})
    typical = sizes[np.isfinite(as_good)].median()
    return Worth(past.n_models, float(typical["n"]), float(typical["as_good"]))


def check_past(paths, file, missing="drop"):
    """Whether earlier models are given; refuses options that do not go with them."""
    if paths and file is not None:
        raise click.UsageError("--past and --bank cannot be used together.")
    given = bool(paths) or file is not None
    if given and missing == "wrong":
        raise click.UsageError("--missing wrong cannot be used with --past or --bank.")
    return given


def read_bank(paths, file, by=None, roles=None, new=(), rows=None):
    """The bank of the earlier models, from results or a file, without the new models."""
    from skbench.bank import ItemBank

    if file is not None:
        if not Path(file).is_file():
            raise DataError(f"--bank: There is no file {file!r}.")
        try:
            bank = ItemBank.load(file)
        except ValueError as error:
            text = f"--bank: {error} For results of earlier models, use --past."
            raise DataError(one_line(text)) from error
        same = _named(bank.models_, new, "--bank")
        return bank.without(same) if same else bank
    known = _READING if rows is not None else (*_READING, "models")
    roles = {name: value for name, value in (roles or {}).items() if name in known}
    # Each path separately, because layouts may differ.
    parts = [_read_past(path, by, roles, rows, name_it=len(paths) > 1) for path in paths]
    past = pd.concat(parts, ignore_index=True)
    keys = [name for name in ("model", "topic", "item") if name in past]
    twice = pd.concat([part[keys].drop_duplicates() for part in parts]).duplicated()
    if twice.any():
        row = past[keys].iloc[int(np.argmax(past.duplicated(keys)))]
        raise DataError(
            f"--past: Model {row['model']!r} has item {str(row['item'])!r} in more than one path. "
            "Remove the duplicates."
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
            # No commands are offered, because their options would apply to the new results, too.
            text = f"{text} Or write one row per model and item, with a column of scores."
        raise DataError(one_line(f"--past: {text}")) from error
    for text in rows.notes:
        note(f"earlier models: {text}", getattr(text, "importance", None))
    if rows.groups is not None:
        raise DataError("--past needs scores of items, but the file has results of groups.")
    if new_rows is not None:
        reading.check_alike(new_rows, rows)
    past = rows.items
    if name_it and "model" not in past:
        past = past.assign(model=reading.readable(path).stem)
    reading.need_columns(past, "model", "item", where="--past: No column")
    return as_banks_take(past, by)


def as_banks_take(items, by):
    """Item rows with one column of topics and unique ids of items, as banks need them."""
    if by and len(by) > 1:
        items = items.assign(topic=joined(items[by]))
    own = [name for name in ("topic_in_file", "item") if name in items]
    return items.assign(item=joined(items[own])) if len(own) > 1 else items


def learn(paths, file, rows, source, by=None, roles=None, known_range=None):
    """The new models fitted with the earlier models as `Past`; None without earlier models."""
    if not check_past(paths, file):
        return None
    from skbench.bank import UnitLevelModel

    items = reading.named_after(rows, source).items
    if "item" not in rows.columns:
        raise DataError("--past and --bank need ids of items. Pass --item COLUMN.")
    topics = [name for name in reading.topic_names(by) or ["topic"] if name in items]
    bank = read_bank(paths, file, by, roles, items["model"].unique(), rows)
    if topics and list(bank.topics_) == ["all"] and by:
        raise DataError(
            "The earlier models have no topics. Omit --by, or add topics to their results."
        )
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
            f"None of the {len(asked)} items (such as {_words(asked)}) is among those of the "
            f"earlier models (such as {_words(both)}). Use the same ids (--item) and the same "
            "topics (--by), or no topics."
        )
    fitted = UnitLevelModel(bank, bounds=known_range).fit(items, items["score"])
    items = items.assign(topic="all") if no_topics else items
    lacking = len(asked) - known
    more = f", {lacking} new items skipped" if lacking else ""
    note(
        f"earlier models: {len(bank.models_)}, with {len(bank.items_)} items; the new results "
        f"have {known} of these items{more}"
    )
    return Past(fitted, items)


def _named(earlier, new, option):
    """The new models among the earlier models."""
    names = set(map(str, new))
    same = [name for name in earlier if str(name) in names]
    if len(same) == len(earlier):
        raise DataError(f"{option} has only models that are in the new results.")
    if same:
        skipped = (
            f"earlier models: skipped {len(same)} of {len(earlier)} that are in the new results"
        )
        note(f"{skipped}: {listed(same, most=3)}", LOST)
    return same


def _one_topic(frame, topics, bank):
    """One column of topics, labels as in the bank."""
    values = frame[topics[0]] if len(topics) == 1 else pd.Series(joined(frame[topics]))
    if list(bank.topics_) == ["all"]:
        return pd.Series("all", index=frame.index)
    return as_in(values.set_axis(frame.index), bank.topics_)


def as_in(values, known):
    """Labels in the form of the bank, where 7 and "7" are the same label."""
    by_text = {as_text(label): label for label in pd.unique(known)}
    renamed = {label: by_text.get(as_text(label), label) for label in pd.unique(values)}
    return values.map(renamed)


def _words(frame):
    return " / ".join(repr(plain(value)) for value in frame.iloc[0])
