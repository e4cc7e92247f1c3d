"""`skbench judge --card`: how far judges agree with people, on one card."""

import numpy as np
import pandas as pd

from skbench.report.formats import print_result
from skbench.report.labeled_rows import (
    as_event,
    as_one_word,
    as_yes_or_no,
    read_columns,
    say_silent,
    with_guessed_cluster,
)
from skbench.report.markup import Cells

_FIGURES = ("kappa", "alpha", "tpr", "tnr", "bias", "calibration")


def print_card(file, names, columns, confidence_level, seed, form):
    """Read the columns (of judges, and those of the command), make the card and print it."""
    from skbench import judge_agreement, position_bias

    human, event, first = columns["human"], columns["event"], columns["first"]
    extra = [name for name in (first, columns["cluster"]) if name]
    table = read_columns(file, [*names, *extra], human, columns["labels"], columns["ids"])
    cluster = columns["cluster"]
    if cluster is None:
        table, cluster = with_guessed_cluster(table, [])
    for name in names:
        say_silent(table, name, human)
    biases = {}
    if first is not None:
        item = columns["ids"][0] if columns["ids"] else None
        biases = {name: position_bias(table, name, first, item) for name in [*names, human]
                  if table[name].notna().all()}  # fmt: skip
    rows = table.assign(**{name: as_one_word(table[name]) for name in [*names, human]})
    if event is None and rows[human].dropna().isin((0, 1)).all():
        rows = rows.assign(**{name: as_yes_or_no(rows[name]) for name in names})
    if event is not None:
        event = as_event(table[human], event)
    card = judge_agreement(
        rows, human, names, event=event, cluster=cluster,
        confidence_level=confidence_level, random_state=seed,
    )  # fmt: skip
    frame = card.to_frame()
    cells = [
        [str(name), f"{row['n_labels']:.0f}"]
        + [_ends(row[what], row[f"{what}_low"], row[f"{what}_high"]) for what in _FIGURES]
        for name, row in frame.iterrows()
    ]
    told = [*card.sentences(), *_on_estimates(card, rows), *_on_position(biases)]
    known = ("n_labels", "n_clusters", "alpha", "effective_judges", "confidence_level")
    weights = card.vote_weights
    document = {name: getattr(card, name) for name in known} | {
        "effective_judges_interval": list(card.effective_judges_interval),
        "remarks": list(card.remarks),
        "judges": frame,
        "vote": card.vote,
        "corrected": card.corrected,
        "vote_weights": None if weights is None else weights.to_dict(),
        "position_bias": pd.DataFrame.from_dict(biases, "index").rename_axis("judge")
        if biases
        else None,
    }
    table = Cells(["judge", "labels", *_FIGURES], cells, 1)
    print_result(form, table, told, document, frame, columns["escape_formulas"])


def _ends(value, low, high):
    return "unknown" if np.isnan(value) else f"{value:.2f} ({low:.2f} to {high:.2f})"


def _on_estimates(card, rows):
    if card.corrected is None:
        return []
    return [
        f"By {name} and the labels, the mean over the {rows[name].count():,} rows it judged is "
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
