"""`skbench judge --card`: how far judges agree with people, on one card."""

import numpy as np

from skbench.report.formats import show
from skbench.report.labeled_rows import (
    as_event,
    as_one_word,
    read_columns,
    say_silent,
    verdicts_of,
    with_guessed_cluster,
)
from skbench.report.table import Column, Table

_FIGURES = ("kappa", "alpha", "tpr", "tnr", "bias", "calibration")


def show_card(file, names, columns, confidence_level, seed, form):
    """Read the columns (of judges, and those of the command), make the card and print it."""
    from skbench import judge_agreement, position_bias

    human, event, first = columns["human"], columns["event"], columns["first"]
    cluster = columns["cluster"]
    table = read_columns(file, names, human, [first, cluster], columns["labels"], columns["ids"])
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
        scores = {name: verdicts_of(rows[name])[1] for name in names}
        rows = rows.assign(**{name: x for name, x in scores.items() if not np.isnan(x).all()})
    if event is not None:
        event = as_event(table[human], event)
    card = judge_agreement(
        rows, human, names, event=event, cluster=cluster,
        confidence_level=confidence_level, random_state=seed,
    )  # fmt: skip
    frame = card.to_frame().reset_index()
    shown = [Column("judge", frame["judge"]), Column("labels", frame["n_labels"], ".0f")]
    for name in _FIGURES:
        parts = zip(*(frame[f"{name}{end}"] for end in ("", "_low", "_high")), strict=True)
        shown.append(Column(name, [_ends(*part) for part in parts], align="right"))
    told = [*card.sentences(), *_on_estimates(card, rows), *_on_position(biases)]
    show(form, Table(shown, notes=told), _document(card, frame, biases), frame)


def _document(card, frame, biases):
    """The card for JSON."""
    low, high = card.effective_judges_interval
    corrected = None if card.corrected is None else card.corrected.rename_axis("judge")
    weights = {} if card.vote_weights is None else card.vote_weights
    return {
        "n_labels": card.n_labels,
        "n_clusters": card.n_clusters,
        "alpha": card.alpha,
        "effective_judges": {"value": card.effective_judges, "low": low, "high": high},
        "judges": frame,
        "votes": [] if card.vote is None else card.vote.rename_axis("vote").reset_index(),
        "vote_weights": [{"judge": name, "weight": w} for name, w in weights.items()],
        "corrected": [] if corrected is None else corrected.reset_index(),
        "position_bias": [{"judge": name, **figures} for name, figures in biases.items()],
    }


def _ends(value, low, high):
    return "unknown" if np.isnan(value) else f"{value:z.2f} ({low:z.2f} to {high:z.2f})"


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
           f"; shown the other way round, {100 * b['inconsistent']:.0f}% of verdicts change.")
        for name, b in biases.items()
    ]  # fmt: skip
