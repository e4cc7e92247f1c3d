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
    """An option with these choices; the first is the default."""
    kind = click.Choice(choices)
    return click.option(name, type=kind, default=choices[0], show_default=True, help=help_text)


def number_option(name, help_text, kind=None, default=None):
    """An option for a number, by default a positive integer."""
    kind = kind or click.IntRange(1)
    return click.option(name, type=kind, default=default, show_default=True, help=help_text)


class Percent(float):
    """A share written in percent, such as 3%."""

    def __str__(self):
        return f"{100 * self:.12g}%"


class Share(click.ParamType):
    """A number, or a share in percent, strictly between low and high unless closed."""

    name = "number"

    def __init__(self, low=-math.inf, high=math.inf, closed=False):
        self.low, self.high, self.closed = low, high, closed

    def convert(self, value, param, ctx):
        """The number, where 3% is 0.03."""
        text = str(value).strip()
        try:
            share = Percent(float(text[:-1]) / 100) if text.endswith("%") else float(text)
        except ValueError:
            self.fail(f"{value!r} is not a number. Write 0.03 or 3%.", param, ctx)
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
    """A score or a difference in the unit of the scores; impossible values are refused.

    A percentage of scores from 0 to 100 is in points. With other or unknown ranges it is refused.
    """
    value, of_percent = share, known_range == (0.0, 100.0)
    if isinstance(share, Percent):
        if not of_percent and known_range != (0.0, 1.0):
            raise DataError(
                f"{option} {100 * share:g}%: The scores are not known to range from 0 to 1 or from "
                f"0 to 100. Write {option} in the unit of the scores."
            )
        value = 100 * share if of_percent else share
    if value is None or known_range is None:
        return value
    low, high = known_range
    if not (low <= value <= high if is_score else abs(value) <= high - low):
        raise DataError(
            f"{option} {value:g}: The scores range from {low:g} to {high:g}. Write {option} in "
            "their unit."
        )
    return value


_READING = (
    click.option("--model", help="Model column."),
    click.option(
        "--models",
        type=Names(),
        help="Score columns of a wide table, one per model. m* selects columns that begin with m.",
    ),
    click.option("--score", help="Score column (higher is better)."),
    click.option("--item", help="Column of item ids (question ids)."),
    click.option(
        "--cluster",
        help="Column that groups dependent items, such as questions about the same text. If items "
        "were answered several times, pass the item column.",
    ),
    click.option(
        "--rename",
        multiple=True,
        metavar="OLD=NEW",
        help="Rename a model. The option can be repeated.",
    ),
    click.option(
        "--format", help="Format of the files, such as table or inspect.  [default: detected]"
    ),
    click.option("--filter", help="Use the answers of this filter (lm-evaluation-harness)."),
    click.option(
        "--skip-bad-lines", is_flag=True, help="Skip unreadable lines and report their number."
    ),
)
level_option = number_option("--confidence-level", "Confidence level.", Share(0, 1), 0.95)
bounds_option = click.option(
    "--bounds",
    type=Share(),
    nargs=2,
    metavar="LOW HIGH",
    help="Lowest and highest possible score. Estimates and intervals are clipped to this range.",
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
                f"{value!r:.60} is not a number of items. Pass N, or TOPIC=N for each topic, at "
                f"most {_MOST_ITEMS:g}."
            )
        return Size(topic if equals else None, int(float(number)))


population_option = click.option(
    "--population",
    type=Sizes(),
    multiple=True,
    metavar="N",
    help="Number of items in the full benchmark, if FILE has a random sample of them. To give a "
    "number for each topic, repeat the option with TOPIC=N.",
)
features_option = click.option(
    "--features",
    type=Input(),
    help="Predictors of mean scores: columns (a,b,c) or a file.",
)
SEEDS = click.IntRange(0, 2**63 - 1)
seed_option = number_option("--seed", "Random seed.", SEEDS, 0)
_PICTURES = ("", ".png", ".pdf", ".svg", ".eps", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")
plot_option = file_option("--plot", "Save a figure (.png, .pdf, .svg).", suffixes=_PICTURES)
missing_option = choice_option(
    "--missing",
    "Missing answers: skip them (drop), score them 0 (wrong), or stop with an error (refuse).",
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
        help="Per-item scores of earlier models on the whole benchmark: a file or folder in any "
        "supported format. The option can be repeated.",
    ),
    click.option(
        "--bank",
        type=Input(),
        metavar="FILE",
        help="File written by ItemBank.save, instead of --past.",
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
            self.fail(f"{value!r} is not a number of rows. Write an integer or all.", param, ctx)
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
        help="Table rows to print. Other output formats include all rows.",
    ),
    _common(
        *("-q", "--quiet"),
        keep=lambda meta, quiet: meta.update({MOST_NOTES: 0} if quiet else {}),
        is_flag=True,
        help="Suppress notes. Warnings and errors are still printed.",
    ),
    _common(
        *("-v", "--verbose"),
        keep=lambda meta, all: meta.setdefault(MOST_NOTES, math.inf if all else _MOST_NOTES),
        is_flag=True,
        help=f"Print all notes. By default, at most {_MOST_NOTES} lines are printed.",
    ),
)
