"""A report as one self-contained web page, with tables that do not fit in files beside it."""

import os
from pathlib import Path

import numpy as np

from skbench import __version__
from skbench._files import write_whole
from skbench._notes import SUMMARY
from skbench._numbers import number, score_form, visible
from skbench.containers import LISTED
from skbench.report import items_page, tables
from skbench.report.formats import as_csv
from skbench.report.headline import facts, headline
from skbench.report.paths import check_beside
from skbench.report.sections import GROUP_COLUMNS, ranking, score_and_cost, worst_sentences
from skbench.report.table import Column, Table, p_value
from skbench.report.terminal import DataError, note

SHADES = 9  # of the heat map; the template has their colors
MOST_BYTES = 5_000_000  # of a page
_MOST_BYTES_WITHOUT_ITEMS = 3_000_000
_MOST_ROWS = 5_000, 2_500, 1_000, 200  # groups and pairs: the first number that fits
_MOST_ITEMS = 1e15  # beyond which a number of items is not shown
_SIGNS = {"better": "+", "worse": "−", "tied": "=", "unknown": "?"}
_TURNED = {"better": "worse", "worse": "better"}
_NAMES, _ESTIMATES = ("model", "topic"), ("score", "estimate", "difference")  # headings
_PLACE_OF_ITEMS = "<!--items-->"  # no name can hold it: < is escaped in names
_TEMPLATES = Path(__file__).parent / "templates"


def write(path, findings, about, verdicts):
    """Write the page, and beside it each table that does not fit."""
    real = Path(os.path.realpath(path))
    text, left_out = rendered(findings, about, verdicts, real.stem)
    if left_out and os.path.exists(path) and not real.is_file():
        raise DataError(
            f"All {' and '.join(left_out)} do not fit on the page. Name a regular file."
        )
    for name in left_out:
        check_beside(real.with_name(_beside(real.stem, name)))
    for name, table in left_out.items():
        beside = _beside(real.stem, name)
        write_whole(real.with_name(beside), as_csv(table, is_safe=True))
        note(f"all {name} (too many for the page): {beside}", SUMMARY)
    write_whole(path, text)


def rendered(findings, about, verdicts, stem):
    """The page as text, and the tables that it does not hold completely, by name."""
    pairs, scores = findings.pairs, items_page.score_table(findings)
    template = _template(score_form(findings.groups["direct"]))
    for most in _MOST_ROWS:
        text = template.render(
            about=about,
            verdicts=verdicts,
            has_items=scores is not None,
            beside=lambda name: _beside(stem, name),
            **_parts(findings, pairs, most),
        )
        if len(text.encode()) <= _MOST_BYTES_WITHOUT_ITEMS:
            break
    whole = {"groups": findings.groups, "pairs": pairs}
    left_out = {name: table for name, table in whole.items() if len(table) > most}
    if scores is not None:
        room = MOST_BYTES - len(text.encode())
        items, n_items = items_page.embedded(scores, room, _beside(stem, "items"))
        text = text.replace(_PLACE_OF_ITEMS, items)
        if n_items < len(scores):
            scores = scores if findings.size["topics"] else scores.droplevel("topic")
            left_out["items"] = scores.convert_dtypes().reset_index()
    return text, left_out


def _beside(stem, name):
    return f"{stem}.{name}.csv"


def _parts(findings, all_pairs, most):
    """The variables of the template, with at most `most` groups and pairs."""
    form = score_form(findings.groups["direct"])
    models, groups = findings.models, findings.groups.head(most)
    names = list(models["model"])
    topics = list(dict.fromkeys(groups["topic"])) if findings.size["topics"] else []
    pairs = list(all_pairs.head(most).itertuples())
    in_matrix = names[: int((2 * most) ** 0.5)]
    ends = _ends(groups, ("low", "high", "direct", "value"))
    model_ends = _ends(models, ("low", "high", "value"))
    shown = {
        "ranking": ranking(findings),
        "pairs": _pair_table(pairs, form),
        "groups": tables.group_table(groups, GROUP_COLUMNS, ("topic", "model")),
    }
    if findings.tradeoff is not None:
        shown["tradeoff"] = score_and_cost(findings)
    return {
        "findings": findings,
        "facts": facts,
        "headline": headline(findings),
        "promise": tables.promise,
        "tables": shown,
        "numbers": {name: _numbers(table) for name, table in shown.items()},
        "groups": list(_placed(groups, ends, ("low", "high", "direct", "value")).itertuples()),
        "listed": LISTED,
        "left_out": {"groups": len(findings.groups) - most, "pairs": len(all_pairs) - most},
        "topics": topics,
        "heat": _heat(groups, names, topics),
        "heat_ends": _ends(groups, ("value",)),
        "shades": range(SHADES),
        "models": list(_placed(models, model_ends, ("low", "high", "value")).itertuples()),
        "ticks": list(_ticks(*model_ends)),
        "pairs": pairs,
        "in_matrix": in_matrix,
        "matrix": _matrix(in_matrix, all_pairs),
        "worst": [] if findings.extremes is None else [*worst_sentences(findings)],
        "outliers": tables.outlying_in_words(findings.groups),
        "version": __version__,
    }


def _template(form):
    """The template of the page, with the filters and the tables that it uses."""
    try:
        from jinja2 import Environment, FileSystemLoader
    except ImportError as error:
        raise ImportError('--html needs Jinja2: pip install "skbench[cli]".') from error
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        # Pages may not hold control characters, whatever the names do.
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.filters["score"] = lambda value: number(value, form)
    environment.filters["short"] = lambda value: _short(value, form)
    environment.filters["ranks"] = tables.rank_range
    environment.filters["json"] = items_page.as_json
    environment.filters["with_classes"] = _with_classes
    return environment.get_template("report.html")


def _with_classes(table):
    """The columns with their texts and CSS classes.

    In a narrow window, names stay at the left and estimates at the right.
    """
    places = iter(("name", "name second"))
    for column in table.columns:
        classes = ["text"] if column.is_left else []
        classes += [next(places)] if column.heading in _NAMES else []
        classes += ["estimate"] if column.heading in _ESTIMATES else []
        yield column, column.texts(), " ".join(classes)


def _numbers(table):
    """The numbers of each column, None for a column of text."""
    return [
        None if column.form is None else items_page.plain(column.cells) for column in table.columns
    ]


def _pair_table(pairs, form):
    """The pairs with their verdicts, p-values, and the items that would distinguish them."""
    words = {"tied": "tied with", "unknown": "unknown against"}
    more = [pair.more_items if pair.verdict == "tied" else None for pair in pairs]
    out_of_reach = [np.nan if n is not None and n > _MOST_ITEMS else n for n in more]
    return Table(
        [
            Column("model", [pair.model_a for pair in pairs]),
            Column("is", [words.get(x.verdict, f"{x.verdict} than") for x in pairs]),
            Column("model", [pair.model_b for pair in pairs]),
            Column("difference", [pair.value for pair in pairs], form),
            Column("low", [pair.low for pair in pairs], form),
            Column("high", [pair.high for pair in pairs], form),
            Column("p", [pair.p_value for pair in pairs], p_value),
            Column("more items", out_of_reach, ",.0f"),
        ]
    )


def _short(value, form):
    """A score that fits a cell, with one digit less and no leading 0."""
    text = number(value, f"z.{max(0, int(form[2:-1]) - 1)}f")
    return text[1:] if text.startswith("0.") else text


def _ends(table, columns):
    """The ends of a common axis of these columns."""
    values = table[list(columns)].to_numpy(dtype=float)
    values = values[np.isfinite(values)]
    return (values.min(), values.max()) if values.size else (0.0, 1.0)


def _placed(table, ends, columns):
    """The table with positions of these columns, in percent of the common axis."""
    span = (ends[1] - ends[0]) or 1.0
    places = {f"{name}_at": 100 * (table[name] - ends[0]) / span for name in columns}
    known = np.isfinite(table[["low", "high", "value"]]).all(axis=1)
    return table.assign(**places, drawn=known)


def _ticks(low, high):
    """At most six round numbers on an axis, with their positions in percent."""
    rough = (high - low) / 5 or 1.0
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * next(nice for nice in (1, 2, 5, 10) if nice * power >= rough * (1 - 1e-9))
    for i in range(int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9)) + 1):
        yield f"{i * step:.4g}", 100 * (i * step - low) / ((high - low) or 1.0)


def _heat(groups, models, topics):
    """For each topic and model the estimate, its shade, and whether it is outlying, or None."""
    if not topics:
        return []
    estimate = groups.pivot(index="topic", columns="model", values="value")
    outlying = groups.pivot(index="topic", columns="model", values="outlier_probability") > LISTED
    estimate, outlying = (
        x.reindex(index=topics, columns=models).to_numpy() for x in (estimate, outlying)
    )
    low, high = _ends(groups, ("value",))
    shade = np.floor(SHADES * (estimate - low) / ((high - low) or 1.0))
    shade = np.clip(np.nan_to_num(shade), 0, SHADES - 1).astype(int)
    return [
        [
            None if np.isnan(value) else (value, int(k), bool(is_outlying))
            for value, k, is_outlying in zip(*row, strict=True)
        ]
        for row in zip(estimate, shade, outlying, strict=True)
    ]


def _matrix(models, pairs):
    """The verdict of the row's model against the column's model, with its sign."""
    cells = {}
    for pair in pairs.itertuples():
        verdict = pair.verdict
        cells[pair.model_a, pair.model_b] = verdict, _SIGNS[verdict]
        turned = _TURNED.get(verdict, verdict)
        cells[pair.model_b, pair.model_a] = turned, _SIGNS[turned]
    return [[cells.get((row, column)) for column in models] for row in models]
