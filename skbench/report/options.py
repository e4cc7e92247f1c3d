"""Options that several commands share."""

import math
from typing import NamedTuple

import click

from skbench.report.paths import Input, file_option
from skbench.report.terminal import MOST_NOTES, MOST_ROWS, DataError

_MOST_ITEMS = 1e15  # whose whole numbers are exact


class Names(click.ParamType):
    """Column names separated by commas."""

    name = "columns"

    def convert(self, value, param, ctx):
        """Split at commas."""
        names = value if isinstance(value, list) else [name.strip() for name in value.split(",")]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            self.fail(f"{twice!r} is named twice.", param, ctx)
        return names


def choice_option(name, help_text, *choices):
    """An option with these choices, of which the first is the default."""
    kind = click.Choice(choices)
    return click.option(name, type=kind, default=choices[0], show_default=True, help=help_text)


def number_option(name, help_text, kind=None, default=None):
    """An option that takes a number, a whole one above 0 unless told otherwise."""
    kind = kind or click.IntRange(1)
    return click.option(name, type=kind, default=default, show_default=True, help=help_text)


class Percent(float):
    """A share that was written in percent, such as 3%."""


class Share(click.ParamType):
    """A number between low and high, and neither of them unless told so, or a share in percent."""

    name = "number"

    def __init__(self, low=-math.inf, high=math.inf, closed=False):
        self.low, self.high, self.closed = low, high, closed

    def convert(self, value, param, ctx):
        """3% is 0.03, and 70 is a slip where 70% is meant."""
        text = str(value).strip()
        try:
            share = Percent(float(text[:-1]) / 100) if text.endswith("%") else float(text)
        except ValueError:
            self.fail(f"{value!r} is no number. Write 0.03 or 3%.", param, ctx)
        is_end = self.closed and share in (self.low, self.high)
        if not math.isfinite(share) or not (self.low < share < self.high or is_end):
            needed = "a finite number"
            if math.isfinite(self.high):
                how = "" if self.closed else "strictly "
                needed = f"{how}between {self.low:g} and {self.high:g}"
            elif math.isfinite(self.low):
                needed += f" {'of at least' if self.closed else 'above'} {self.low:g}"
            slip = self.high == 1 and 1 < share < 100
            hint = f" Write {share / 100:g} or {share:g}%." if slip else ""
            self.fail(f"{value} is not {needed}.{hint}", param, ctx)
        return value if isinstance(value, float) else share


def in_unit(share, known_range, option, is_score=False):
    """A difference of scores, or a score, in their unit, which is refused where none can be so.

    One in percent, of scores from 0 to 100, is in points; where scores may have other ends, or
    none are known, what it is a share of is in doubt.
    """
    value, of_percent = share, known_range == (0.0, 100.0)
    if isinstance(share, Percent):
        if not of_percent and known_range != (0.0, 1.0):
            raise DataError(
                f"{option} {100 * share:g}%: scores are not known to run from 0 to 1, or from 0 to "
                f"100. Write {option} in their unit, such as {100 * share:g} points of 100."
            )
        value = 100 * share if of_percent else share
    if value is None or known_range is None:
        return value
    low, high = known_range
    if not (low <= value <= high if is_score else abs(value) <= high - low):
        raise DataError(
            f"{option} {value:g}: scores are from {low:g} to {high:g}. Give {option} in their unit."
        )
    return value


_READING = (
    click.option("--model", help="Model column."),
    click.option(
        "--models",
        type=Names(),
        help="Score columns of a wide file, one per model; m* stands for all that begin with m.",
    ),
    click.option("--score", help="Score column; high is good."),
    click.option("--item", help="Column that names the item (question)."),
    click.option(
        "--cluster",
        help="Column of clusters: items in one are not independent. The item column itself "
        "if items were answered several times.",
    ),
    click.option(
        "--rename",
        multiple=True,
        metavar="OLD=NEW",
        help="Another name for a model; may be given several times.",
    ),
    click.option(
        "--format", help="Format of the files, such as table or inspect; else their contents tell."
    ),
    click.option("--filter", help="Filter whose answers to take (lm-evaluation-harness)."),
    click.option("--skip-bad-lines", is_flag=True, help="Count unreadable lines, go on without."),
)
level_option = number_option("--confidence-level", None, Share(0, 1), 0.95)
bounds_option = click.option(
    "--bounds",
    type=Share(),
    nargs=2,
    metavar="LOW HIGH",
    help="Lowest and highest possible score: estimates and intervals are cut to that range.",
)


class Size(NamedTuple):
    """A number of items of a topic, or None for all items."""

    topic: str | None
    n: int

    def __str__(self):
        return str(self.n) if self.topic is None else f"{self.topic}={self.n}"


class Sizes(click.ParamType):
    """A number of items, or TOPIC=N."""

    name = "population"

    def convert(self, value, param, ctx):
        """The topic, None for all items, and the number."""
        if isinstance(value, tuple):
            return value
        topic, equals, number = value.rpartition("=")
        if not number.isdecimal() or not 0 < float(number) <= _MOST_ITEMS:
            self.fail(
                f"{value!r:.60} is no number of items: pass N, or TOPIC=N for each topic, at most "
                f"{_MOST_ITEMS:g}."
            )
        return Size(topic if equals else None, int(float(number)))


population_option = click.option(
    "--population",
    type=Sizes(),
    multiple=True,
    metavar="N",
    help="Number of items of the benchmark, of which FILE has some; TOPIC=N for each topic.",
)
features_option = click.option(
    "--features", type=Input(), help="Columns to predict from (a,b,c), or a file with such columns."
)
SEEDS = click.IntRange(0, 2**63 - 1)
seed_option = number_option("--seed", None, SEEDS, 0)
_PICTURES = ("", ".png", ".pdf", ".svg", ".eps", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")
plot_option = file_option("--plot", "Save a picture (.png, .pdf, .svg).", suffixes=_PICTURES)
missing_option = choice_option(
    "--missing",
    "What an item is that a model did not answer: not asked, wrong, or an error.",
    "drop",
    "wrong",
    "refuse",
)
_PAST = (
    click.option(
        "--past",
        type=Input(),
        multiple=True,
        metavar="PATH",
        help="Results of earlier models on the benchmark's items: a file or folder in any format "
        "that is read; may be given several times.",
    ),
    click.option(
        "--bank", type=Input(), metavar="FILE", help="In place of --past: what ItemBank.save wrote."
    ),
)


def _adding(*options):
    """A decorator that adds these options, in this order."""

    def decorate(command):
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


reading_options = _adding(*_READING)
past_options = _adding(*_PAST)
model_options = _adding(*_READING, bounds_option, level_option, missing_option, *_PAST)


class Rows(click.ParamType):
    """A number of rows, or all of them."""

    name = "N|all"

    def convert(self, value, param, ctx):
        """None for all."""
        if value == "all":
            return None
        if not str(value).isdigit():
            self.fail(f"{value!r} is no number of rows. Write a whole number, or all.", param, ctx)
        return int(value)


def _common(*names, keep, **settings):
    """An option of every command; keep(meta, value) stores it in the meta of click's context."""

    def callback(context, _, value):
        keep(context.meta, value)

    return click.Option(names, expose_value=False, callback=callback, **settings)


_MOST_NOTES = 3
COMMON = (
    _common(
        "--rows",
        keep=lambda meta, rows: meta.update({MOST_ROWS: rows}),
        type=Rows(),
        default="20",
        show_default=True,
        help="Rows of a table to print; files have all.",
    ),
    _common(
        *("-q", "--quiet"),
        keep=lambda meta, quiet: meta.update({MOST_NOTES: 0} if quiet else {}),
        is_flag=True,
        help="Print no notes, only results, warnings and errors.",
    ),
    _common(
        *("-v", "--verbose"),
        keep=lambda meta, all: meta.setdefault(MOST_NOTES, math.inf if all else _MOST_NOTES),
        is_flag=True,
        help=f"Print all notes, not the {_MOST_NOTES} most important lines of them.",
    ),
)
