"""`skbench plan`: how many items a comparison needs, or what a number of items can show."""

import math

import click

from skbench.report import plan_bank
from skbench.report.formats import form_option, show
from skbench.report.options import (
    file_option,
    level_option,
    number_option,
    past_options,
    reading_options,
)
from skbench.report.past import check_past
from skbench.report.reading import read_models, score_range
from skbench.report.table import Column, Table
from skbench.report.terminal import DataError, in_one_line, say


class Percent(float):
    """A share that was written in percent, such as 3%."""


class Share(click.ParamType):
    """A number, or a share in percent."""

    name = "number"

    def convert(self, value, param, ctx):
        """3% is 0.03."""
        if isinstance(value, float):
            return value
        text = value.strip()
        try:
            return Percent(float(text[:-1]) / 100) if text.endswith("%") else float(text)
        except ValueError:
            self.fail(f"{value!r} is no number. Write 0.03 or 3%.", param, ctx)


class Accuracy(Share):
    """A share strictly between 0 and 1."""

    def convert(self, value, param, ctx):
        """70% is 0.7; 70 is a slip."""
        share = super().convert(value, param, ctx)
        if not 0 < share < 1:
            hint = f" Write {share / 100:g} or {share:g}%." if 1 < share < 100 else ""
            self.fail(f"{value} is not strictly between 0 and 1.{hint}", param, ctx)
        return share


_CORRELATIONS = (0.0, 0.3, 0.5, 0.7, 0.9)
_GUESSES = ("accuracy", "std", "correlation")
_POSITIVE = click.FloatRange(0, min_open=True)
# One answer per item, right or wrong or a score, and no clusters.
_SINGLE = {"sigma2_a": 0.0, "sigma2_b": 0.0, "n_repeats": 1, "design_effect": 1.0}
_SINGLE |= {"cluster_size": 1.0}


@click.command()
@click.argument("file", required=False)
@click.argument("a", required=False)
@click.argument("b", required=False)
@number_option("--effect", "True difference worth finding, 0.03 or 3%: how many items?", Share())
@number_option("--items", "Number of items: which difference?")
@click.option(
    "--power",
    type=click.FloatRange(0.5, 1, max_open=True),
    default=0.8,
    show_default=True,
    help="Chance of showing the difference.",
)
@level_option
@number_option("--repeats", "With FILE: answers of each model to each item.")
@number_option(
    "--accuracy", "Of both models, about, 0.7 or 70%: right and wrong answers.", Accuracy()
)
@number_option("--std", "Standard deviation of the scores of other kinds of answers.", _POSITIVE)
@number_option(
    "--correlation",
    "Of the models' scores over items; not given: several.",
    click.FloatRange(-1, 1),
)
@reading_options
@past_options
@number_option(
    "--half-width", "With --past: of a new model's interval.  [default: 0.02]", _POSITIVE
)
@number_option("--choose", "With --past: items to choose for it.")
@file_option("--output", "With --choose: CSV file to write them to.")
@number_option("--seed", "With --past: of the items.  [default: 0]", click.IntRange(0))
@form_option("json")
def plan(file, a, b, effect, items, power, confidence_level, repeats, form, **options):
    """Plan a comparison of two models that answer the same items, or a new model's items.

    Give --effect for the number of items, or --items for the smallest difference
    they show. The spread comes from --accuracy or --std, and --correlation; or, with
    repeats and clusters, from FILE, where models A and B (or the only two) answered
    such items before.

    \b
    skbench plan --effect 0.03 --accuracy 0.7 --correlation 0.5
    skbench plan --items 500 --accuracy 0.7
    skbench plan pilot.csv modelA modelB --effect 0.03
    skbench plan --past logs/ --half-width 0.02 --choose 200 --output items.csv
    """
    guesses = {name: options.pop(name) for name in _GUESSES}
    new = {name: options.pop(name) for name in ("half_width", "choose", "output", "seed")}
    earlier = options.pop("past"), options.pop("bank")
    if check_past(*earlier):
        others = {"FILE": file, "--effect": effect, "--items": items, "--repeats": repeats}
        others |= {f"--{name}": value for name, value in guesses.items()}
        plan_bank.check_usage(others, new["choose"], new["output"])
        new |= {"half_width": new["half_width"] or 0.02, "seed": new["seed"] or 0}
        return plan_bank.plan_with_bank(*earlier, options, **new, level=confidence_level, form=form)
    for name in (name for name, value in new.items() if value is not None):
        raise click.UsageError(f"--{name.replace('_', '-')} needs --past or --bank.")
    _check_usage(file, effect, items, repeats, guesses)
    goal = {"power": power, "confidence_level": confidence_level}
    with in_one_line():
        if file is None:
            head, rows = _assumed(**guesses)
        else:
            head, rows, unit = _measured(file, a, b, options, repeats)
            effect = _in_unit(effect, unit)
        largest = _largest_difference(guesses["accuracy"], effect)
        for row in rows:
            row |= _answer(row, effect, items, goal, largest)
        if effect is None and all(row["minimum_detectable_effect"] is None for row in rows):
            raise DataError(
                f"{items} items show no difference that is possible: models of about this "
                f"accuracy differ by at most {largest:g}. Plan more items."
            )
        document = {"power": power, "effect": effect, "n_items": items, "plans": rows}
        show(form, _table(head, rows, effect, items, goal), document)


def _check_usage(file, effect, items, repeats, guesses):
    if (effect is None) == (items is None):
        raise click.UsageError("Give --effect or --items, one of the two.")
    given = [f"--{name}" for name in _GUESSES if guesses[name] is not None]
    if file is not None and given:
        raise click.UsageError(f"{given[0]} has no meaning with FILE, which shows it.")
    if file is None and repeats is not None:
        raise click.UsageError("--repeats needs a FILE with several answers to each item.")
    if file is None and (guesses["accuracy"] is None) == (guesses["std"] is None):
        raise click.UsageError("Give --accuracy or --std, one of the two, or a FILE.")


def _largest_difference(accuracy, effect):
    """How far two models can be apart if one has this accuracy; refuses an effect beyond it."""
    if accuracy is None:
        return math.inf
    largest = max(accuracy, 1 - accuracy)
    if effect is not None and abs(effect) > largest:
        raise DataError(
            f"--effect {effect:g} is not possible: models of which one has accuracy {accuracy:g} "
            f"differ by at most {largest:g}."
        )
    return largest


def _assumed(accuracy, std, correlation):
    """Variance components from what the user expects, one row per correlation."""
    from skbench.stats.scales.aggregation import difference_variance

    if std is None:
        variance, words, test = accuracy * (1 - accuracy), f"accuracy {accuracy:g}", "mcnemar"
    else:
        variance, words, test = std**2, f"std {std:g}", "t"
    rows = []
    for r in _CORRELATIONS if correlation is None else (correlation,):
        total = float(difference_variance(variance, variance, r))
        rows.append({"correlation": r, "omega2": total, **_SINGLE, "test": test})
    words += "" if correlation is None else f", correlation {correlation:g}"
    return f"Two models of {words}", rows


def _measured(file, a, b, roles, repeats):
    """Variance components of two models in a file."""
    from skbench.comparison import compare_models

    rows, columns = read_models(file, None, roles)
    items = rows.items
    names = sorted(items["model"].unique(), key=str)
    if a is None and len(names) != 2:
        raise DataError(f"{len(names)} models are in the file: name two of them after it.")
    by_name = {str(name): name for name in names}
    first, second = (by_name.get(x, x) for x in ((a, b) if a is not None else map(str, names)))
    if second is None:
        raise DataError(f"{first!r} needs a second model to be compared with.")
    result = compare_models(items, first, second, **columns)
    n_items = int(result.n_items[0])
    if not math.isfinite(result.omega2[0]):
        raise DataError("the file does not show how much the difference varies between items.")
    noise = float(result.noise[0])
    if repeats is not None and math.isnan(noise):
        raise DataError("--repeats cannot be planned: the file has one answer per item.")
    in_clusters = columns["cluster"] == "cluster"
    answers = round(items.groupby(["model", "item"]).size().mean())
    row = {
        "correlation": float(result.correlation[0]),
        "omega2": float(result.omega2[0]),
        **_SINGLE,
        "n_repeats": repeats or answers,
        "test": "mcnemar" if result.test == "McNemar, exact" else "t",
    }
    if not math.isnan(noise):
        row["sigma2_a"] = row["sigma2_b"] = noise / 2
    words = f"{first} and {second}, with the spread of {n_items} shared items of FILE"
    if in_clusters:
        row["cluster_size"] = items["item"].nunique() / items["cluster"].nunique()
        words += ", in clusters like these"
    if row["n_repeats"] > 1:
        words += f", {row['n_repeats']} answers per item"
    return words, [row], score_range(rows)


def _in_unit(effect, unit):
    """The effect in the unit of the scores; says where it looks like a share of 1 of percents."""
    if unit == (0.0, 100.0) and effect is not None:
        if isinstance(effect, Percent):
            return 100 * effect
        if abs(effect) < 1:
            say(f"scores run from 0 to 100: a difference of {effect:g} points, not of {effect:.0%}")
    return effect


def _answer(row, effect, items, goal, largest):
    """Number of items, or difference, of one row; None where that is not possible."""
    from skbench.comparison import minimum_detectable_effect, required_items
    from skbench.stats.ranking.power import fewest_disagreements

    parts = {name: value for name, value in row.items() if name != "correlation"}
    if effect is not None:
        return {"required_items": required_items(effect, **parts, **goal)}
    if items < 2 * row["cluster_size"]:
        return {"minimum_detectable_effect": None}  # no test of one cluster
    if row["test"] == "mcnemar" and items < fewest_disagreements(goal["confidence_level"]):
        return {"minimum_detectable_effect": None}
    shown = minimum_detectable_effect(items, **parts, **goal)
    return {"minimum_detectable_effect": shown if shown <= largest else None}


def _table(head, rows, effect, items, goal):
    """The answers by the correlation of the two models."""
    level = f"{100 * goal['confidence_level']:g} %"
    test = "McNemar's exact test" if rows[0]["test"] == "mcnemar" else "t test"
    if effect is not None:
        question = f"Items that both answer, for a {level} interval of a difference of {effect:g}"
        cells = Column("items", [row["required_items"] for row in rows], "d")
    else:
        question = f"Smallest difference that {items} items show with a {level} interval"
        shown = [row["minimum_detectable_effect"] for row in rows]
        cells = Column("difference", shown, lambda d: "none" if d is None else f"{d:.4g}")
    question += f" to leave out 0 with power {100 * goal['power']:g} % ({test})"
    if len(rows) == 1:
        return Table([], [f"{head}.", f"{question}: {cells.texts()[0]}."])
    correlation = Column("correlation", [row["correlation"] for row in rows], "g")
    note = (
        "0 is for models on different items, as many for each. On the same items models tend to "
        "correlate by 0.3 to 0.7: compare two of them in a pilot to find out."
    )
    head = [f"{head}.", f"{question}, by the correlation of the two models:"]
    return Table([correlation, cells], head, notes=[note])
