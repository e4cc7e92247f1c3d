"""A report as one self-contained web page."""

from pathlib import Path

import numpy as np

from skbench import __version__
from skbench._files import write_whole
from skbench._numbers import number, score_form
from skbench.containers import LISTED
from skbench.report import tables
from skbench.report.headline import headline
from skbench.report.sections import GROUP_COLUMNS, ranking
from skbench.report.table import Column, Table, p_value
from skbench.report.terminal import visible

SHADES = 9  # of the heat map; the template has their colors
MOST_GROUPS = 20_000  # on one page; a browser takes seconds for more
_MOST_ITEMS = 1e15  # beyond which no number of items is told
_SIGNS = {"better": "+", "worse": "−", "tied": "=", "unknown": "?"}
_TURNED = {"better": "worse", "worse": "better"}
_TEMPLATES = Path(__file__).parent / "templates"


def write(path, findings, about, verdicts):
    """Write the page, the whole of it or nothing."""
    write_whole(path, rendered(findings, about, verdicts))


def rendered(findings, about, verdicts):
    """The page as text."""
    form = score_form(findings.groups["direct"])
    models, groups = findings.models(), findings.groups.head(MOST_GROUPS)
    pairs = list(findings.pairs().itertuples())
    names = list(models["model"])
    topics = list(dict.fromkeys(groups["topic"])) if findings.size["topics"] else []
    ends = _ends(groups, ("low", "high", "direct", "value"))
    model_ends = _ends(models, ("low", "high", "value"))
    return _template(form).render(
        about=about,
        findings=findings,
        headline=headline(findings),
        promise=tables.promise,
        ranking=ranking(findings),
        group_table=tables.group_table(groups, GROUP_COLUMNS, ("topic", "model")),
        pair_table=_pair_table(pairs, form),
        groups=list(_placed(groups, ends, ("low", "high", "direct", "value")).itertuples()),
        listed=LISTED,
        left_out=len(findings.groups) - len(groups),
        number_of={name: number for number, name in enumerate(names)},
        topics=topics,
        heat=_heat(groups, names, topics),
        heat_ends=_ends(groups, ("value",)),
        shades=range(SHADES),
        models=list(_placed(models, model_ends, ("low", "high", "value")).itertuples()),
        ticks=list(_ticks(*model_ends)),
        pairs=pairs,
        matrix=_matrix(names, pairs),
        unlike=tables.unlike_in_words(findings.groups),
        verdicts=verdicts,
        version=__version__,
    )


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
    environment.filters["cells"] = _cells
    return environment.get_template("report.html")


def _cells(table):
    """Rows of cells: the text, whether it is flush left, and what to sort by if not the text."""
    columns = []
    for column in table.columns:
        by_value = callable(column.form) or "," in (column.form or "")
        values = column.cells if by_value else [None] * len(column.cells)
        columns.append(
            [(text, column.is_left, v) for text, v in zip(column.texts(), values, strict=True)]
        )
    return zip(*columns, strict=True)


def _pair_table(pairs, form):
    """The pairs with their verdicts, p-values, and the items that would decide."""
    words = {"tied": "tied with", "unknown": "not known against"}
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
    """A score that fits a cell: one digit less, and no 0 before the point."""
    text = number(value, f"z.{max(0, int(form[2:-1]) - 1)}f")
    return text[1:] if text.startswith("0.") else text


def _ends(table, columns):
    """Least and greatest of the numbers that share an axis."""
    values = table[list(columns)].to_numpy(dtype=float)
    values = values[np.isfinite(values)]
    return (values.min(), values.max()) if values.size else (0.0, 1.0)


def _placed(table, ends, columns):
    """With the positions of these columns, in percent of the axis that all rows share."""
    span = (ends[1] - ends[0]) or 1.0
    places = {f"{name}_at": 100 * (table[name] - ends[0]) / span for name in columns}
    known = np.isfinite(table[["low", "high", "value"]]).all(axis=1)
    return table.assign(**places, drawn=known)


def _ticks(low, high):
    """Round numbers on an axis, at most six, and where they stand in percent."""
    rough = (high - low) / 5 or 1.0
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * next(nice for nice in (1, 2, 5, 10) if nice * power >= rough * (1 - 1e-9))
    for i in range(int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9)) + 1):
        yield f"{i * step:.4g}", 100 * (i * step - low) / ((high - low) or 1.0)


def _heat(groups, models, topics):
    """For each topic the estimate, its shade, and whether it is odd; None where there is none."""
    if not topics:
        return []
    estimate = groups.pivot(index="topic", columns="model", values="value")
    odd = groups.pivot(index="topic", columns="model", values="unlike_peers") > LISTED
    estimate, odd = (x.reindex(index=topics, columns=models).to_numpy() for x in (estimate, odd))
    low, high = _ends(groups, ("value",))
    shade = np.floor(SHADES * (estimate - low) / ((high - low) or 1.0))
    shade = np.clip(np.nan_to_num(shade), 0, SHADES - 1).astype(int)
    return [
        [
            None if np.isnan(value) else (value, int(k), bool(is_odd))
            for value, k, is_odd in zip(*row, strict=True)
        ]
        for row in zip(estimate, shade, odd, strict=True)
    ]


def _matrix(models, pairs):
    """What the model of the row is against that of the column: a verdict and its sign."""
    cells = {}
    for pair in pairs:
        verdict = pair.verdict
        cells[pair.model_a, pair.model_b] = verdict, _SIGNS[verdict]
        turned = _TURNED.get(verdict, verdict)
        cells[pair.model_b, pair.model_a] = turned, _SIGNS[turned]
    return [[cells.get((row, column)) for column in models] for row in models]
