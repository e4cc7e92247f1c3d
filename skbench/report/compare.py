"""`skbench compare`: is one model significantly better than another?"""

from dataclasses import replace
from pathlib import Path

import click

from skbench._numbers import score_form
from skbench.report.formats import format_options, show_estimates
from skbench.report.loaded_later import pasts, reading, tables
from skbench.report.options import Names, choice_option, model_options, population_option
from skbench.report.paths import Input
from skbench.report.table import Column, Table, p_value
from skbench.report.terminal import DataError, command_with, in_one_line, working
from skbench.report.writers import print_whole


@click.command()
@click.argument("file", type=Input())
@click.argument("a", type=Input(), required=False)
@click.argument("b", required=False)
@click.option("--by", type=Names(), help="Topic column(s). Compares the models within each topic.")
@model_options
@choice_option(
    "--adjust",
    "Adjustment for multiple comparisons. holm adjusts only p-values.",
    "bonferroni",
    "holm",
    "none",
)
@population_option
@format_options
def compare(file, a, b, by, bounds, confidence_level, missing, adjust, form, **options):
    """Compare models A and B of FILE, A with every other model, or all pairs.

    To compare the models of two files, run skbench compare old.csv new.csv.

    Models are compared item by item on the items that both answered. Standard errors
    are cluster-robust if items form clusters. A is significantly better or worse than B
    if the interval of the difference excludes 0. FILE has the same format as for
    skbench leaderboard, whose ranks follow from the comparison of all pairs. With --past
    or --bank, differences are estimated for all items that earlier models answered.
    """
    past, bank, asked = (options.pop(name) for name in ("past", "bank", "population"))
    pasts.check_past(past, bank, missing)
    with in_one_line():
        next_commands = _next(a)
        rows, columns, a, b = _read(file, a, b, by, options, missing)
        known_range = reading.score_range(rows, bounds)
        with working("comparing"):
            learned = pasts.learn(past, bank, rows, file, by, options, known_range)
            limits = {
                "bounds": known_range,
                "population": reading.population_of(asked, rows.items, by, learned is not None),
            }
            settings = a, b, confidence_level, adjust, columns, missing, limits
            result = _compared(rows.items, learned, *settings)
        if known_range is not None:
            width = known_range[1] - known_range[0]
            result = replace(result, estimate=result.estimate.within(-width, width))
        if form == "text" and len(result) == 1:
            notes = [*result.sentences(), *result.remarks]
            return print_whole(Table([], notes=notes, next_commands=next_commands))
        frame = tables.pair_rows(result)
        known = {
            "confidence_level": confidence_level,
            "interval_level": result.estimate.confidence_level,  # adjusted for several pairs
            "score": reading.score_name(rows),
            "test": result.test,
            "remarks": result.remarks,
        }
        table = _table(result, frame)._replace(next_commands=next_commands)
        show_estimates(form, table, result.estimate, "pairs", frame, **known)


def _next(a):
    """Commands that make sense after a comparison within one file."""
    if a is not None and Path(a).exists():
        return []
    return [command_with("leaderboard"), command_with("report", html="report.html")]


def _read(file, a, b, by, roles, missing):
    """Rows, columns, and the two models, of one file or one of each of two files."""
    from skbench.items.rows import concatenated

    if a is None or not Path(a).exists():
        return *reading.read_models(file, by, roles, missing), a, b
    if b is not None:
        raise click.UsageError("Two files hold one model each. Do not name models.")
    parts = [reading.read_models(path, by, roles, one_model=True) for path in (file, a)]
    (first, columns), (second, other) = parts
    reading.check_same_key((file, a), (first, second))
    if columns != other:
        raise DataError(f"{file!r} and {a!r} do not have the same clusters.")
    models = [rows.items["model"].unique() for rows in (first, second)]
    if max(map(len, models)) > 1:
        raise DataError(
            f"{file!r} and {a!r} hold {len(models[0])} and {len(models[1])} models, but two files "
            "are compared only with one model each. Put both files in one folder."
        )
    names = [str(name) for (name,) in models]
    if names[0] == names[1]:
        names = [f"{names[0]} ({path})" for path in (file, a)]
    sides = list(map(reading.with_models, (first, second), names))
    blanks = [rows.blank for rows in sides if rows.blank is not None]
    frames = [*(rows.items for rows in sides), *blanks]
    rows, n = concatenated(frames, [*first.key, "cluster"]), sum(map(len, frames[:2]))
    blank = rows[n:].drop(columns="score") if blanks else None
    both = first._replace(items=rows[:n].copy(), blank=blank)
    return reading.with_missing(both, missing), columns, *names


def _compared(items, learned, a, b, confidence_level, adjust, columns, missing, limits):
    from skbench.comparison import compare_models
    from skbench.comparison.compare import comparison_by_posterior

    named = [reading.as_in(items["model"], name) for name in (a, b) if name is not None]
    how = {"confidence_level": confidence_level, "adjust": adjust}
    if learned is None:
        return compare_models(items, *named, missing=missing, **limits, **how, **columns)
    found = comparison_by_posterior(learned.posterior(columns["by"]), *_two(named), **how)
    return learned.with_method(found)


def _two(names):
    """Both names, or None for a missing one."""
    return [*names, None, None][:2]


def _table(result, frame):
    """The table for people; narrow terminals lack correlations and numbers of items."""
    import numpy as np

    form = score_form(frame["value"])
    needed = np.ceil(frame["items_needed"] - 1e-9)
    columns = [Column("a", frame["model_a"]), Column("b", frame["model_b"])]
    if "topic" in frame:
        columns.append(Column("topic", frame["topic"]))
    columns += [
        Column("a - b", frame["value"], form),
        Column("low", frame["low"], form),
        Column("high", frame["high"], form),
        Column("a is", frame["verdict"], align="right"),
        Column("p", frame["p_value"], p_value),
        Column("correlation", frame["correlation"], "z.2f", narrow=False),
        Column("items", frame["n_items"], ".0f", narrow=False),
        Column("items for\n80% power", needed, ".0f", narrow=False),
    ]
    e, n = result.estimate, len(result)
    notes = [
        f"p-values: {result.test}.",
        *result.remarks,
    ]
    promise = tables.method_and_promise(e)
    return Table(columns, promise=promise, notes=notes, conclusion=[*_in_words(result, n)])


def _in_words(result, n):
    """How many differences are significant, and in which direction those of a common model."""
    verdicts = list(result.verdict)
    better, worse = verdicts.count("better"), verdicts.count("worse")
    level = f"{100 * result.estimate.confidence_level:.4g}%"
    are = "difference is" if better + worse == 1 else "differences are"
    yield (
        f"{better + worse} of {n} {are} significant (the {level} interval excludes 0)."
        if better + worse
        else f"None of {n} differences is significant (no {level} interval excludes 0)."
    )
    first = {str(label[0]) for label in result.estimate.labels}
    others = {str(label[1]) for label in result.estimate.labels}
    if len(first) == 1 and n == len(others):
        against = f"significantly better than {better} of {n} models and worse than {worse}"
        yield f"{first.pop()} is {against}."
    if unknown := verdicts.count("unknown"):
        yield f"{unknown} of {n} differences have no interval."
