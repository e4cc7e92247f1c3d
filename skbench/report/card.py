"""`skbench judge --card`: how far judges agree with people, on one card."""

import json

import numpy as np
import pandas as pd

from skbench.report import tables
from skbench.report.formats import print_data
from skbench.report.labeled_rows import (
    as_event,
    as_one_word,
    as_yes_or_no,
    read_columns,
    with_guessed_cluster,
)
from skbench.report.markup import Cells, as_latex, as_markdown, markdown_text, no_formula
from skbench.report.terminal import print_prose, print_table

_FIGURES = ("kappa", "alpha", "tpr", "tnr", "bias", "calibration")


def print_card(file, names, columns, confidence_level, seed, form):
    """Read the columns, make the card and print it.

    Parameters
    ----------
    file : str
        A table with one row per answer.
    names : list of str
        Columns of the judges.
    columns : dict
        human, event, first, cluster, labels, ids and escape_formulas, as the command has them.
    confidence_level : float
        Of the intervals.
    seed : int
        Of the draws.
    form : {"text", "json", "csv", "markdown", "latex"}
        What to print.
    """
    from skbench import judge_agreement, position_bias

    human, event, first = columns["human"], columns["event"], columns["first"]
    extra = [name for name in (first, columns["cluster"]) if name]
    table = read_columns(file, [*names, *extra], human, columns["labels"], columns["ids"])
    cluster = columns["cluster"]
    if cluster is None:
        table, cluster = with_guessed_cluster(table, [])
    biases = {}
    if first is not None:
        item = columns["ids"][0] if columns["ids"] else None
        biases = {name: position_bias(table, name, first, item) for name in [*names, human]
                  if table[name].notna().all()}  # fmt: skip
    rows = table.assign(**{name: as_one_word(table[name]) for name in [*names, human]})
    if event is None and rows[human].dropna().isin((0, 1)).all():
        rows = rows.assign(**{name: as_yes_or_no(rows[name]) for name in names})
    if event is not None:
        event = as_event(rows[human], event)
    card = judge_agreement(
        rows, human, names, event=event, cluster=cluster,
        confidence_level=confidence_level, random_state=seed,
    )  # fmt: skip
    if form == "json":
        print_data(_json(card, biases))
    elif form == "csv":
        table = card.to_frame().reset_index()
        if columns["escape_formulas"]:
            table = table.apply(lambda column: column.map(no_formula))
        print_data(table.to_csv(index=False, lineterminator="\n").removesuffix("\n"))
    elif form == "markdown":
        told = [*card.sentences(), *_on_estimates(card), *_on_position(biases)]
        lines = [as_markdown(_cells(card)), "", *(f"- {markdown_text(text)}" for text in told)]
        print_data("\n".join(lines))
    elif form == "latex":
        print_data(as_latex(_cells(card), f"Judges against {card.n_labels} labels"))
    else:
        print_table(tables.plain_table(*_cells(card)))
        for sentence in [*card.sentences(), *_on_estimates(card), *_on_position(biases)]:
            print_prose(sentence)


def _cells(card):
    """A row per judge; each figure with its ends."""
    rows = []
    for name, row in card.to_frame().iterrows():
        figures = [_ends(row[what], row[f"{what}_low"], row[f"{what}_high"]) for what in _FIGURES]
        rows.append([str(name), f"{row['n_labels']:.0f}", *figures])
    return Cells(["judge", "labels", *_FIGURES], rows, 1)


def _ends(value, low, high):
    return "unknown" if np.isnan(value) else f"{value:.2f} ({low:.2f} to {high:.2f})"


def _on_estimates(card):
    if card.corrected is None:
        return []
    return [
        f"By {name} and the labels, the mean over all rows is "
        f"{_ends(row.value, row.low, row.high)}, by {row.method}."
        for name, row in zip(card.corrected.index, card.corrected.itertuples(), strict=True)
    ]


def _on_position(biases):
    return [
        f"{name} favors what is shown first by {_ends(b['bias'], b['low'], b['high'])}"
        + ("." if np.isnan(b["inconsistent"]) else
           f"; shown the other way round, {100 * b['inconsistent']:.0f} % of verdicts change.")
        for name, b in biases.items()
    ]  # fmt: skip


def _json(card, biases):
    frames = {"judges": card.to_frame(), "vote": card.vote, "corrected": card.corrected}
    document = {
        "n_labels": card.n_labels,
        "n_clusters": card.n_clusters,
        "alpha": card.alpha,
        "effective_judges": card.effective_judges,
        "effective_judges_interval": list(card.effective_judges_interval),
        "confidence_level": card.confidence_level,
        "remarks": list(card.remarks),
    }
    document = tables.records(pd.DataFrame([document]))[0]
    for name, frame in frames.items():
        document[name] = None if frame is None else tables.records(frame.reset_index())
    weights = card.vote_weights
    document["vote_weights"] = None if weights is None else weights.to_dict()
    found = pd.DataFrame.from_dict(biases, orient="index").rename_axis("judge").reset_index()
    document["position_bias"] = tables.records(found) if biases else None
    return json.dumps(document, indent=1, default=tables.plain_value, allow_nan=False)
