"""`skbench plan`: required numbers of items, and minimum detectable effects."""

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
@number_option("--effect", "True difference to detect, such as 0.03 or 3%.", Share())
@number_option("--items", "Number of items. Prints the minimum detectable effect.")
@number_option("--power", "Probability of detecting the difference.", Share(0, 1), 0.8)
@level_option
@number_option("--repeats", "Number of answers of each model to each item.")
@number_option(
    "--accuracy", "Expected accuracy of both models (scores 0 and 1), such as 70%.", Share(0, 1)
)
@number_option("--std", "Expected standard deviation of other scores.", _POSITIVE)
@number_option(
    "--correlation", "Correlation between the scores of the two models.  [0 to 0.9]", _SIGNED
)
@number_option(
    "--noise", "Variance of the repeated scores of one model on one item.", Share(0, closed=True)
)
@number_option("--cluster-size", "Items per cluster.", Share(1, closed=True))
@number_option("--icc", "Intraclass correlation of score differences within clusters.", _SIGNED)
@reading_options
@past_options
@number_option(
    "--half-width", "With --past: half-width of the interval.  [default: 0.02]", _POSITIVE
)
@number_option("--choose", "With --past: number of items to select.")
@click.option(
    "--chances",
    type=click.Choice(["informative", "equal"]),
    help="With --choose: prefer items with uncertain outcomes, or give all items of a topic the "
    "same probability.  [informative]",
)
@file_option("--output", "With --choose: CSV file for the selected items.", suffixes=("", ".csv"))
@number_option("--seed", "With --past: random seed.  [default: 0]", SEEDS)
@form_option("json")
def plan(file, a, b, effect, items, power, confidence_level, repeats, form, **options):
    """Compute how many items are needed to compare two models, or to evaluate a new model.

    --effect prints the number of items needed. --items prints the minimum detectable effect. The
    variance is computed from --accuracy or --std, or estimated from models A and B in a pilot
    FILE. --past prints how many items of a known benchmark a new model must answer.

    Example: skbench plan --effect 3% --accuracy 0.7
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
        raise click.UsageError(f"--{name.replace('_', '-')} requires --past or --bank.")
    _check_usage(file, effect, items, repeats, guesses, options)
    goal = {"power": power, "confidence_level": confidence_level}
    with in_one_line():
        if file is None:
            head, rows = _assumed(guesses, repeats or 1)
            if isinstance(effect, Percent):  # scores in [0, 1] have std at most 0.5
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
                f"--items {items}: no possible difference is detectable. Models of about this "
                f"accuracy differ by at most {largest:g}. Plan more items."
            )
        document = {"power": power, "effect": effect, "n_items": items, "plans": rows}
        show(form, _table(head, rows, effect, items, goal), document)


def _check_usage(file, effect, items, repeats, guesses, reading):
    if (effect is None) == (items is None):
        raise click.UsageError("Pass either --effect or --items.")
    given = [f"--{name.replace('_', '-')}" for name in _GUESSES if guesses[name] is not None]
    if file is not None:
        if given:
            raise click.UsageError(f"{given[0]} cannot be used with FILE.")
        return
    for name in (name for name, value in reading.items() if value or value == ""):
        raise click.UsageError(f"--{name.replace('_', '-')} requires FILE.")
    if (guesses["accuracy"] is None) == (guesses["std"] is None):
        raise click.UsageError("Pass either --accuracy or --std, or a FILE.")
    if (guesses["cluster_size"] is None) != (guesses["icc"] is None):
        raise click.UsageError("--cluster-size and --icc must be used together.")
    if (repeats or 1) > 1 and guesses["noise"] is None:
        raise click.UsageError("--repeats requires --noise, the variance of repeated scores.")


def _largest_difference(accuracy, effect):
    """Return the largest possible difference from a model with this accuracy."""
    if accuracy is None:
        return math.inf
    largest = max(accuracy, 1 - accuracy)
    if effect is not None and abs(effect) > largest:
        raise DataError(
            f"--effect {effect:g} is impossible. A model differs from one with accuracy "
            f"{accuracy:g} by at most {largest:g}."
        )
    return largest


def _assumed(guesses, repeats):
    """Return variance components from the assumptions, one row per correlation."""
    from skbench.stats.clusters.clustered import expected_design_effect
    from skbench.stats.scales.aggregation import difference_variance

    p, std = guesses["accuracy"], guesses["std"]
    variance = p * (1 - p) if std is None else std**2
    assumption = f"accuracy {p:g}" if std is None else f"standard deviation {std:g}"
    noise = guesses["noise"] or 0.0
    if noise > variance:
        raise DataError(f"--noise {noise:g} exceeds the variance of the scores, {variance:.4g}.")
    design_effect = 1.0
    if guesses["icc"] is not None:
        design_effect = expected_design_effect([guesses["cluster_size"]], guesses["icc"])
        if design_effect <= 0:
            raise DataError(
                f"--icc {guesses['icc']:g} is impossible for clusters of "
                f"{guesses['cluster_size']:g} items. It must exceed "
                f"{-1 / (guesses['cluster_size'] - 1):.3g}."
            )
    given = guesses["correlation"]
    # compare_models uses McNemar's test for one 0/1 score per item without clusters.
    single = p is not None and not noise and repeats == 1 and guesses["icc"] is None
    rows = []
    for correlation in _CORRELATIONS if given is None else (given,):
        total = float(difference_variance(variance, variance, correlation))
        # A higher correlation of single answers would need correlated noise.
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
        raise DataError(f"--correlation {given:g} is impossible with --noise {noise:g}.")
    words = [f"two models with {assumption}", *_on_repeats(repeats)]
    if given is not None:
        words.append(f"correlation {given:g}")
    if guesses["icc"] is not None:
        words.append(f"clusters of {guesses['cluster_size']:g} (design effect {design_effect:.3g})")
    return ", ".join(words), rows


def _measured(file, a, b, roles, repeats):
    """Estimate the variance components of two models in a file."""
    from skbench.comparison import compare_models

    rows, columns = reading.read_models(file, None, roles)
    items = rows.items
    names = sorted(items["model"].unique(), key=str)
    if a is None and len(names) != 2:
        raise DataError(f"{file!r} has {len(names)} models. Name two of them after FILE.")
    by_name = {str(name): name for name in names}
    first, second = (by_name.get(x, x) for x in ((a, b) if a is not None else map(str, names)))
    if second is None:
        raise DataError(f"Name a second model after {first!r}.")
    result = compare_models(items, first, second, **columns)
    n_items = int(result.n_items[0])
    if not math.isfinite(result.omega2[0]):
        raise DataError(
            f"The variance of the difference between items cannot be estimated from {file!r}."
        )
    noise = float(result.noise[0])
    if repeats is not None and math.isnan(noise):
        raise DataError(f"--repeats requires several answers per item, but {file!r} has only one.")
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
    words = [f"{first} and {second}, with variances from {n_items} shared items of FILE"]
    if in_clusters:
        words.append("in clusters of the same size")
    return ", ".join(words + _on_repeats(row["n_repeats"])), [row], reading.score_range(rows)


def _in_unit(effect, unit):
    """Return the effect in the unit of the scores; note a possible confusion with percents."""
    small = effect is not None and abs(effect) < 1 and not isinstance(effect, Percent)
    if unit == (0.0, 100.0) and small:
        note(f"scores range from 0 to 100, so --effect {effect:g} is {effect:g} points of 100")
    return in_unit(effect, unit, "--effect")


def _on_repeats(repeats):
    return [f"{repeats} answers per item"] if repeats > 1 else []


def _answer(row, effect, items, goal, largest):
    """Return the number of items, or the difference, of one row; None if impossible."""
    from skbench.comparison import plan

    parts = {name: value for name, value in row.items() if name != "correlation"}
    if effect is not None:
        return {"required_items": plan.required_items(effect, **parts, **goal)}
    try:
        shown = plan.minimum_detectable_effect(items, **parts, **goal)
    except plan.NothingDetectable:
        shown = math.nan
    return {"minimum_detectable_effect": shown if shown <= largest else None}


def _question(effect, items, goal):
    """Describe the numbers in the table."""
    power = f"{100 * goal['power']:g}% power"
    if effect is not None:
        return f"Items needed to detect a difference of {effect:g} with {power}"
    return f"Minimum detectable difference with {items} items and {power}"


def _basis(head, rows, goal):
    """Describe the models and the test."""
    test = "McNemar's exact test" if rows[0]["test"] == "mcnemar" else "t test"
    level = f"{1 - goal['confidence_level']:.3g}"
    return f"Models: {head}. Test: {test}, significance level {level}."


def _cells(rows, effect):
    """Return the column of results."""
    if effect is not None:
        return Column("items", [row["required_items"] for row in rows], "d")
    shown = [row["minimum_detectable_effect"] for row in rows]
    return Column("difference", shown, lambda d: "none" if d is None else f"{d:.4g}")


def _table(head, rows, effect, items, goal):
    """Return the results by the correlation of the two models."""
    question, basis = _question(effect, items, goal), _basis(head, rows, goal)
    cells = _cells(rows, effect)
    if len(rows) == 1:
        return Table([], conclusion=[f"{question}: {cells.texts()[0]}.", basis])
    correlation = Column("correlation", [row["correlation"] for row in rows], "g")
    hint = (
        "The correlation of two models on the same items is typically 0.3 to 0.7. Estimate it "
        "from a pilot FILE. It is 0 if the models answer different items."
    )
    conclusion = [f"{question}, by the correlation of the scores.", basis]
    return Table([correlation, cells], notes=[hint], conclusion=conclusion)
