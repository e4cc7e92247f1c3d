"""Estimates as tables: for people, as JSON and as CSV."""

import json

import numpy as np
import pandas as pd
from rich import box
from rich.table import Table
from rich.text import Text

from skbench import __version__
from skbench._printed import known_or_none, records
from skbench.containers import ON_AVERAGE, UNLESS_SKEWED
from skbench.report.markup import Cells, no_formula
from skbench.report.terminal import visible

_ENDS = ("direct_low", "direct_high", "low", "high")
_NUMBERS = ("n", "direct", "estimate", "standard_error", *_ENDS)
_HEADERS = {
    "direct_low": "low",
    "direct_high": "high",
    "standard_error": "std.\nerror",
}
# What each guarantee means; {covered} is the level in percent.
_MEANINGS = {
    "each group": "about {covered} of 100 such intervals cover, whichever the group",
    ON_AVERAGE: "about {covered} of 100 such intervals cover, a few less at some true accuracies",
    UNLESS_SKEWED: "about {covered} of 100 such intervals cover, fewer where few scores are skewed",
    "average over groups": "about {covered} of 100 groups are covered, not each one",
    "posterior": "right if the prior and the model are",
    "model": "right if the model is",
    "none": "these intervals promise nothing",
}


def level_and_guarantee(estimate):
    """Level and guarantee of the intervals of an estimate, in a few words."""
    return f"{100 * estimate.confidence_level:g} % intervals, {estimate.guarantee}"


def promise(estimate):
    """What the intervals of an estimate promise, in words.

    Parameters
    ----------
    estimate : Estimate
        Whose level and guarantee are told.

    Returns
    -------
    str
    """
    meaning = _MEANINGS[estimate.guarantee].format(covered=f"{100 * estimate.confidence_level:g}")
    return f"{level_and_guarantee(estimate)}: {meaning}"


def worth(estimate):
    """How many items an estimate is worth, in words.

    Parameters
    ----------
    estimate : Estimate
        With its `sample_size_ratio`.

    Returns
    -------
    str
    """
    level = f"{100 * estimate.confidence_level:g} % interval"
    if np.isnan(estimate.sample_size_ratio.value):
        return f"How many items {estimate.method} is worth over all groups is unknown."
    return (
        f"Over all groups, {estimate.method} is {estimate.sample_size_ratio}; {level}, "
        "from leaving items out."
    )


def group_table(summary, direct, estimate, by):
    """One row per group, sorted by topic and model.

    Parameters
    ----------
    summary : GroupSummary
        The groups.
    direct, estimate : Estimate
        Of these groups, in this order.
    by : list of str
        What the levels of the labels are; all but "model" make up the topic.

    Returns
    -------
    DataFrame
        Columns model and topic (text, None where there is none), n, direct,
        direct_low, direct_high, estimate, low, high, standard_error, unlike_peers (nan
        where the method does not tell).
    """
    labels = pd.DataFrame(list(summary.labels), columns=by)
    topics = [name for name in by if name != "model"]
    table = pd.DataFrame(
        {
            "model": labels["model"].astype(str) if "model" in by else None,
            "topic": _joined_text(labels[topics]) if topics else None,
            "n": summary.n,
            "direct": direct.value,
            "direct_low": direct.low,
            "direct_high": direct.high,
            "estimate": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "standard_error": estimate.standard_error,
            "unlike_peers": np.nan if estimate.unlike_peers is None else estimate.unlike_peers,
        }
    )
    order = labels.sort_values([*topics, *(["model"] if "model" in by else [])], kind="stable")
    return table.loc[order.index].reset_index(drop=True)


def with_text_labels(frame):
    """A frame whose index has become its first columns, as text whatever the labels are.

    Parameters
    ----------
    frame : DataFrame
        With a named index.

    Returns
    -------
    DataFrame
    """
    table = frame.reset_index()
    return table.astype(dict.fromkeys(frame.index.names, str))


def _joined_text(columns):
    texts = columns.astype(str)
    return [" / ".join(row) for row in texts.itertuples(index=False, name=None)]


def ratio_for_json(estimate):
    """The sample size ratio of an estimate for JSON: value, low and high, or None."""
    ratio = estimate.sample_size_ratio
    if ratio is None:
        return None
    return {end: known_or_none(float(x)) for end, x in ratio._asdict().items()}


def records_json(estimate, head, name, table):
    """Any table of estimates as a JSON document.

    Parameters
    ----------
    estimate : Estimate
        Its method, guarantee and level are told once.
    head : dict
        What else is told once.
    name : str
        Key of the list of rows.
    table : DataFrame
        The rows.

    Returns
    -------
    str
        What is not known, or not finite, is null.
    """
    document = {
        "version": __version__,
        "method": estimate.method,
        "guarantee": estimate.guarantee,
        "confidence_level": estimate.confidence_level,
        **head,
        name: records(table),
    }
    return json.dumps(document, indent=1, default=plain_value, allow_nan=False)


def as_csv(table, estimate, escape_formulas=False):
    """The estimates as CSV, method and guarantee in every row.

    Parameters
    ----------
    table : DataFrame
        From `group_table`.
    estimate : Estimate
        Whose method and guarantee are told.
    escape_formulas : bool, default=False
        Whether to put ' before text that a spreadsheet would run as a formula.

    Returns
    -------
    str
    """
    full = table.assign(method=estimate.method, guarantee=estimate.guarantee)
    if escape_formulas:
        full = full.apply(lambda column: column.map(no_formula)).rename(columns=no_formula)
    return full.to_csv(index=False, lineterminator="\n")


def group_cells(table, decimals):
    """The estimates for people; columns without a single value are left out.

    Parameters
    ----------
    table : DataFrame
        From `group_table`, or some of its columns.
    decimals : int
        Digits after the decimal point.

    Returns
    -------
    Cells
    """
    known = table.dropna(axis="columns", how="all")
    headers, rows = _cells(known, decimals)
    return Cells(headers, rows, sum(name not in _NUMBERS for name in known))


def narrow_group_cells(table, decimals):
    """The same for narrow terminals: topics as headings over their models.

    Parameters
    ----------
    table : DataFrame
        From `group_table`, with its rows.
    decimals : int
        Digits after the decimal point.

    Returns
    -------
    Cells
    """
    if table[["model", "topic"]].isna().any(axis=None):
        return group_cells(table, decimals)
    headers, rows = _cells(table.drop(columns="topic"), decimals)
    nested = []
    for topic, is_first, (model, *numbers) in zip(
        table["topic"], ~table.duplicated("topic"), rows, strict=True
    ):
        if is_first:
            nested.append([topic, *[""] * len(numbers)])
        nested.append([f"  {model}", *numbers])
    return Cells(["topic, model", *headers[1:]], nested, 1)


def _cells(table, decimals):
    """Headers and the text of all cells."""
    rows = [
        [_cell(name, value, decimals) for name, value in zip(table, row, strict=True)]
        for row in table.itertuples(index=False, name=None)
    ]
    return [_HEADERS.get(name, name) for name in table], rows


def plain_table(headers, rows, n_text):
    """A table with text on the left and numbers flush right.

    Parameters
    ----------
    headers : list of str
        Names of the columns.
    rows : list of list of str
        Cells.
    n_text : int
        How many of the first columns are text, which may be folded.

    Returns
    -------
    rich.table.Table
    """
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
    for position, header in enumerate(headers):
        is_number = position >= n_text
        table.add_column(
            Text("\n".join(map(visible, header.split("\n")))),
            justify="right" if is_number else "left",
            no_wrap=is_number,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    return table


def decimals_for(values):
    """Digits after the point that show scores of this size to three figures.

    Parameters
    ----------
    values : array-like
        Scores; nan is passed over.

    Returns
    -------
    int

    Examples
    --------
    >>> decimals_for([0.25, 1.0]), decimals_for([3.0, 100.0]), decimals_for([0.012])
    (3, 1, 4)
    """
    values = np.abs(np.asarray(values, dtype=float))
    largest = np.max(values, initial=0, where=np.isfinite(values))
    if largest == 0:
        return 3
    # 1 and 100 are printed like the scores below them.
    magnitude = int(np.ceil(np.log10(largest) - 1e-9))
    return int(np.clip(3 - magnitude, 1, 8))


def _cell(name, value, decimals):
    if pd.isna(value):
        return "unknown"
    if name == "n":
        return f"{value:g}"
    return f"{value:z.{decimals}f}" if name in _NUMBERS else str(value)


def plain_value(value):
    """A numpy scalar as a Python number, anything else as text, for JSON.

    Parameters
    ----------
    value : object
        What the JSON encoder does not know.

    Returns
    -------
    int, float, bool or str
    """
    return value.item() if isinstance(value, np.generic) else str(value)


def rounded(value, decimals):
    """A score for people; what is not known is said.

    Parameters
    ----------
    value : float
        Score or interval end.
    decimals : int
        Digits after the point.

    Returns
    -------
    str
    """
    return "unknown" if np.isnan(value) else f"{value:z.{decimals}f}"


def rank_range(row):
    """The ranks a model may have: "2" or "1-3".

    Parameters
    ----------
    row : namedtuple
        With rank_low and rank_high.

    Returns
    -------
    str
    """
    low, high = row.rank_low, row.rank_high
    return f"{low}" if low == high else f"{low}-{high}"
