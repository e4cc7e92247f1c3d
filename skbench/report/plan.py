"""`skbench plan`: how many items a comparison needs, or what a number of items can show."""

import math

import click

from skbench.report.formats import form_option, show
from skbench.report.loaded_later import pasts, plan_bank, reading
from skbench.report.options import (
    SEEDS,
    Percent,
    Share,
    in_unit,
    level_option,
    number_option,
    past_options,
    reading_options,
)
from skbench.report.paths import Input, file_option
from skbench.report.table import Column, Table
from skbench.report.terminal import DataError, in_one_line, note

_CORRELATIONS = (0.0, 0.3, 0.5, 0.7, 0.9)
_GUESSES = ("accuracy", "std", "correlation", "noise", "cluster_size", "icc")
_POSITIVE = Share(0)
_SHARES = (0.0, 1.0)
_SIGNED = Share(-1, 1, closed=True)


@click.command()
@click.argument("file", type=Input(), required=False)
@click.argument("a", required=False)
@click.argument("b", required=False)
@number_option("--effect", "True difference worth finding, 0.03 or 3%: how many items?", Share())
@number_option("--items", "Number of items: which difference?")
@number_option("--power", "Chance of showing the difference.", Share(0, 1), 0.8)
@level_option
@number_option("--repeats", "Answers of each model to each item.")
@number_option(
    "--accuracy", "Of both models, about, 0.7 or 70%: right and wrong answers.", Share(0, 1)
)
@number_option("--std", "Standard deviation of the scores of other kinds of answers.", _POSITIVE)
@number_option("--correlation", "Of the models' scores over items; not given: several.", _SIGNED)
@number_option(
    "--noise", "Variance of a model's repeated answers to an item.", Share(0, closed=True)
)
@number_option("--cluster-size", "Items per cluster.", Share(1, closed=True))
@number_option("--icc", "Correlation of differences within a cluster.", _SIGNED)
@reading_options
@past_options
@number_option(
    "--half-width", "With --past: of a new model's interval.  [default: 0.02]", _POSITIVE
)
@number_option("--choose", "With --past: items to choose for it.")
@click.option(
    "--chances",
    type=click.Choice(["informative", "equal"]),
    help="Items of uncertain outcome are chosen more often, or all alike.  [informative]",
)
@file_option("--output", "With --choose: CSV file to write them to.", suffixes=("", ".csv"))
@number_option("--seed", "With --past: of the items.  [default: 0]", SEEDS)
@form_option("json")
def plan(file, a, b, effect, items, power, confidence_level, repeats, form, **options):
    """Plan a comparison of two models that answer the same items, or a new model's items.

    Give --effect for the number of items, or --items for the smallest difference
    they show. The spread comes from --accuracy or --std, and what is known of
    correlation, repeats and clusters; or from FILE, where models A and B (or the only
    two) answered such items before.

    \b
    skbench plan --effect 0.03 --accuracy 0.7 --correlation 0.5
    skbench plan --items 500 --accuracy 0.7
    skbench plan pilot.csv modelA modelB --effect 0.03
    skbench plan --past logs/ --half-width 0.02 --choose 200 --output items.csv
    """
    guesses = {name: options.pop(name) for name in _GUESSES}
    new = {
        name: options.pop(name) for name in ("half_width", "choose", "chances", "output", "seed")
    }
    earlier = options.pop("past"), options.pop("bank")
    if pasts.check_past(*earlier):
        others = {"FILE": file, "--effect": effect, "--items": items, "--repeats": repeats}
        others |= {f"--{name.replace('_', '-')}": value for name, value in guesses.items()}
        plan_bank.check_usage(others, new["choose"], new["output"], new["chances"])
        new |= {"half_width": new["half_width"] or 0.02, "seed": new["seed"] or 0}
        return plan_bank.plan_with_bank(*earlier, options, **new, level=confidence_level, form=form)
    for name in (name for name, value in new.items() if value is not None):
        raise click.UsageError(f"--{name.replace('_', '-')} needs --past or --bank.")
    _check_usage(file, effect, items, repeats, guesses, options)
    goal = {"power": power, "confidence_level": confidence_level}
    with in_one_line():
        if file is None:
            head, rows = _assumed(guesses, repeats or 1)
            if isinstance(effect, Percent):  # shares have no spread above a half
                effect = in_unit(
                    effect, _SHARES if (guesses["std"] or 0) <= 0.5 else None, "--effect"
                )
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


def _check_usage(file, effect, items, repeats, guesses, reading):
    if (effect is None) == (items is None):
        raise click.UsageError("Give --effect or --items, one of the two.")
    given = [f"--{name.replace('_', '-')}" for name in _GUESSES if guesses[name] is not None]
    if file is not None:
        if given:
            raise click.UsageError(f"{given[0]} has no meaning with FILE, which shows it.")
        return
    for name in (name for name, value in reading.items() if value or value == ""):
        raise click.UsageError(f"--{name.replace('_', '-')} needs FILE.")
    if (guesses["accuracy"] is None) == (guesses["std"] is None):
        raise click.UsageError("Give --accuracy or --std, one of the two, or a FILE.")
    if (guesses["cluster_size"] is None) != (guesses["icc"] is None):
        raise click.UsageError("--cluster-size and --icc go together.")
    if (repeats or 1) > 1 and guesses["noise"] is None:
        raise click.UsageError("--repeats needs --noise: how much of the spread goes away?")


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


def _assumed(guesses, repeats):
    """Variance components from what the user expects, one row per correlation."""
    from skbench.stats.clusters.clustered import expected_design_effect
    from skbench.stats.scales.aggregation import difference_variance

    p, std = guesses["accuracy"], guesses["std"]
    variance, spread = (p * (1 - p), f"accuracy {p:g}") if std is None else (std**2, f"std {std:g}")
    noise = guesses["noise"] or 0.0
    if noise > variance:
        raise DataError(f"--noise {noise:g} is more than all of the variance, {variance:.4g}.")
    design_effect = 1.0
    if guesses["icc"] is not None:
        design_effect = expected_design_effect([guesses["cluster_size"]], guesses["icc"])
        if design_effect <= 0:
            raise DataError(
                f"--icc {guesses['icc']:g} is not possible in clusters of "
                f"{guesses['cluster_size']:g}: it must be above "
                f"{-1 / (guesses['cluster_size'] - 1):.3g}."
            )
    given = guesses["correlation"]
    # What compare_models tests by McNemar: one answer per item, right or wrong, no clusters.
    single = p is not None and not noise and repeats == 1 and guesses["icc"] is None
    rows = []
    for correlation in _CORRELATIONS if given is None else (given,):
        total = float(difference_variance(variance, variance, correlation))
        # Beyond this correlation of single answers the noise alone would have to agree.
        if total < 2 * noise:
            continue
        rows.append(
            {
                "correlation": correlation,
                "omega2": total - 2 * noise,
                "sigma2_a": noise,
                "sigma2_b": noise,
                "n_repeats": repeats,
                "design_effect": design_effect,
                "cluster_size": guesses["cluster_size"] or 1.0,
                "test": "mcnemar" if single else "t",
            }
        )
    if not rows:
        raise DataError(f"--noise {noise:g} leaves no room for a correlation of {given:g}.")
    words = [f"Two models of {spread}", *_on_repeats(repeats)]
    if given is not None:
        words.append(f"correlation {given:g}")
    if guesses["icc"] is not None:
        words.append(f"clusters of {guesses['cluster_size']:g} (design effect {design_effect:.3g})")
    return ", ".join(words), rows


def _measured(file, a, b, roles, repeats):
    """Variance components of two models in a file."""
    from skbench.comparison import compare_models

    rows, columns = reading.read_models(file, None, roles)
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
    n_all = reading.n_items(items, columns["topic"])
    answers = round(items.groupby(["model", *columns["topic"], "item"]).size().mean())
    row = {
        "correlation": float(result.correlation[0]),
        "omega2": float(result.omega2[0]),
        "sigma2_a": 0.0 if math.isnan(noise) else noise / 2,
        "sigma2_b": 0.0 if math.isnan(noise) else noise / 2,
        "n_repeats": repeats or answers,
        "design_effect": 1.0,
        "cluster_size": n_all / items["cluster"].nunique() if in_clusters else 1.0,
        "test": "mcnemar" if result.test == "McNemar, exact" else "t",
    }
    words = [f"{first} and {second}, with the spread of {n_items} shared items of FILE"]
    if in_clusters:
        words.append("in clusters like these")
    return ", ".join(words + _on_repeats(row["n_repeats"])), [row], reading.score_range(rows)


def _in_unit(effect, unit):
    """The effect in the unit of the scores; says where it looks like a share of 1 of percents."""
    small = effect is not None and abs(effect) < 1 and not isinstance(effect, Percent)
    if unit == (0.0, 100.0) and small:
        note(f"scores run from 0 to 100: a difference of {effect:g} points, not of {effect:.0%}")
    return in_unit(effect, unit, "--effect")


def _on_repeats(repeats):
    return [f"{repeats} answers per item"] if repeats > 1 else []


def _answer(row, effect, items, goal, largest):
    """Number of items, or difference, of one row; None where that is not possible."""
    from skbench.comparison import plan

    parts = {name: value for name, value in row.items() if name != "correlation"}
    if effect is not None:
        return {"required_items": plan.required_items(effect, **parts, **goal)}
    try:
        shown = plan.minimum_detectable_effect(items, **parts, **goal)
    except plan.NothingDetectable:
        shown = math.nan
    return {"minimum_detectable_effect": shown if shown <= largest else None}


def _question(rows, effect, items, goal):
    """What the numbers answer."""
    level = f"{100 * goal['confidence_level']:g}%"
    if effect is not None:
        question = f"Items that both answer, for a {level} interval of a difference of {effect:g}"
    else:
        question = f"Smallest difference that {items} items show with a {level} interval"
    test = "McNemar's exact test" if rows[0]["test"] == "mcnemar" else "t test"
    return f"{question} to leave out 0 with power {100 * goal['power']:g}% ({test})"


def _cells(rows, effect):
    """The column of the answers."""
    if effect is not None:
        return Column("items", [row["required_items"] for row in rows], "d")
    shown = [row["minimum_detectable_effect"] for row in rows]
    return Column("difference", shown, lambda d: "none" if d is None else f"{d:.4g}")


def _table(head, rows, effect, items, goal):
    """The answers by the correlation of the two models."""
    question = _question(rows, effect, items, goal)
    cells = _cells(rows, effect)
    if len(rows) == 1:
        return Table([], [f"{head}.", f"{question}: {cells.texts()[0]}."])
    correlation = Column("correlation", [row["correlation"] for row in rows], "g")
    note = (
        "0 is for models on different items, as many for each. On the same items models tend to "
        "correlate by 0.3 to 0.7: compare two of them in a pilot to find out."
    )
    head = [f"{head}.", f"{question}, by the correlation of the two models:"]
    return Table([correlation, cells], head, notes=[note])
