"""`skbench compare`: is one model better than another, on the items both answered?"""

from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pandas as pd

from skbench.report import past as pasts
from skbench.report import tables
from skbench.report.formats import format_options, print_form
from skbench.report.markup import Cells
from skbench.report.options import (
    Names,
    bounds_option,
    level_option,
    missing_option,
    past_options,
    reading_options,
)
from skbench.report.reading import as_in, read_models, score_name, score_range, with_missing
from skbench.report.terminal import (
    DataError,
    in_one_line,
    print_line,
    print_prose,
    print_table,
    working,
)
from skbench.report.understanding import counted


@click.command()
@click.argument("file")
@click.argument("a", required=False)
@click.argument("b", required=False)
@click.option("--by", type=Names(), help="Topic column(s): compare in each topic by itself.")
@reading_options
@bounds_option
@level_option
@missing_option
@past_options
@click.option(
    "--adjust",
    type=click.Choice(["none", "bonferroni", "holm"]),
    help="How to allow for several comparisons; holm for p-values alone.  [default: bonferroni "
    "where there are several]",
)
@format_options
def compare(
    file,
    a,
    b,
    by,
    bounds,
    confidence_level,
    missing,
    past,
    bank,
    adjust,
    form,
    escape_formulas,
    **roles,
):
    """Compare models A and B of FILE; A with every other; or all pairs.

    Or the models of two files: skbench compare old.csv new.csv.

    Two models are compared item by item on the items both answered, with
    cluster-robust errors where items come in clusters; all pairs at once as for
    `skbench leaderboard`, whose ranks follow from these verdicts. FILE and its
    columns are as there. A is better or worse where the interval leaves out 0.
    With --past or --bank the difference is that on all items that earlier models answered.
    """
    pasts.check_past(past, bank, missing)
    with in_one_line():
        rows, columns, a, b = _read(file, a, b, by, roles, missing)
        with working("comparing"):
            learned = pasts.learn(past, bank, rows, file, by, roles)
            settings = a, b, confidence_level, adjust, columns, missing
            result = _compared(rows.items, learned, *settings)
        known_range = score_range(rows, bounds)
        if known_range is not None:
            width = known_range[1] - known_range[0]
            result = replace(result, estimate=result.estimate.within(-width, width))
        table = tables.with_text_labels(result.to_frame().assign(verdict=result.verdict))
        if form != "text":
            head = {
                "score": score_name(rows),
                "test": result.test,
                "remarks": list(result.remarks),
            }
            cells = _cells_of(table)
            print_form(form, table, result.estimate, head, "comparisons", cells, escape_formulas)
        elif len(result) == 1:
            for sentence in (*result.sentences(), *result.remarks):
                print_prose(sentence)
        else:
            _print_report(result, table)


def _read(file, a, b, by, roles, missing):
    """Rows, columns, and which two models: of one file, or one of each of two files."""
    if a is None or not Path(a).exists():
        return *read_models(file, by, roles, missing), a, b
    parts = [read_models(path, by, roles, one_model=True) for path in (file, a)]
    named, names = [], []
    for path, (rows, _) in zip((file, a), parts, strict=True):
        models = list(rows.items["model"].unique())
        if len(models) > 1:
            raise DataError(
                f"{path!r} holds {len(models)} models, such as {str(models[0])!r}. Of two files "
                "one model each is compared; put them in one folder to compare more."
            )
        names.append(str(models[0]))
    if names[0] == names[1]:
        names = [f"{names[0]} ({path})" for path in (file, a)]
    if b is not None:
        raise click.UsageError("Two files hold one model each: do not name models.")
    (first, columns), (_, other) = parts
    if columns != other:
        raise DataError(f"{file!r} and {a!r} do not have the same clusters or topics.")
    named = [rows.items.assign(model=name) for (rows, _), name in zip(parts, names, strict=True)]
    blanks = [
        rows.blank.assign(model=name)
        for (rows, _), name in zip(parts, names, strict=True)
        if rows.blank is not None
    ]
    both = first._replace(
        items=pd.concat(named, ignore_index=True),
        blank=pd.concat(blanks, ignore_index=True) if blanks else None,
    )
    return with_missing(both, missing), columns, *names


def _compared(items, learned, a, b, confidence_level, adjust, columns, missing):
    from skbench.comparison import compare_models
    from skbench.comparison.compare import comparison_of

    named = [as_in(items["model"], name) for name in (a, b) if name is not None]
    several = b is None or columns["by"] is not None
    how = {
        "confidence_level": confidence_level,
        "adjust": adjust or ("bonferroni" if several else "none"),
    }
    if learned is None:
        return compare_models(items, *named, missing=missing, **how, **columns)
    table = learned.score_table(*learned.comparable(columns)).with_missing(missing)
    return learned.with_method(comparison_of(table, *named, item="item", **how))


def _print_report(result, table):
    e = result.estimate
    print_line(f"{counted(len(result), 'comparison')}: {e.method}")
    print_line(f"{100 * e.confidence_level:.4g} % intervals; p-values by {result.test}")
    for remark in result.remarks:
        print_line(remark)
    print_table(*(tables.plain_table(*_cells_of(table, narrow)) for narrow in (False, True)))
    clear = int(np.sum(np.isin(result.verdict, ("better", "worse"))))
    print_prose(
        f"{clear} of {len(result)} differences are clear: their intervals leave out 0. 'needed' is "
        "the number of items at which a true difference of the size observed shows with power 80 %."
    )


def _cells_of(table, narrow=False):
    """The table for people; the narrow one without correlation and numbers of items."""
    decimals = tables.decimals_for(table["difference"])
    texts = [name for name in table.columns[: table.columns.get_loc("difference")]]
    columns = {name.replace("model_", ""): table[name].astype(str) for name in texts}
    for name in ("difference", "low", "high"):
        columns[name] = _cells(table[name], f"z.{decimals}f")
    columns["a is"] = list(table["verdict"])
    columns["p"] = ["<.0001" if p < 1e-4 else _cell(p, ".4f") for p in table["p_value"]]
    if not narrow:
        columns["correlation"] = _cells(table["correlation"], "z.2f")
        columns["items"] = _cells(table["n_items"], ".0f")
        columns["needed"] = _cells(np.ceil(table["items_needed"] - 1e-9), ".0f")
    return Cells(list(columns), list(zip(*columns.values(), strict=True)), len(texts))


def _cells(values, form):
    return [_cell(value, form) for value in values]


def _cell(value, form):
    if np.isnan(value):
        return "unknown"
    return f"{value:{form}}" if np.isfinite(value) else "infinite"
