"""`skbench judge --card`: the agreement of LLM judges with human labels."""

import numpy as np
from pandas.api.types import is_numeric_dtype

from skbench.items.roles import columns_of
from skbench.report.formats import show
from skbench.report.labeled_rows import (
    as_event,
    as_one_word,
    note_missing_verdicts,
    numbers_verdicts,
    one_row_per_answer,
    read_columns,
    verdicts_of,
    with_guessed_cluster,
)
from skbench.report.table import Column, Table

_FIGURES = ("kappa", "alpha", "tpr", "tnr", "bias", "calibration")


def show_card(file, names, columns, confidence_level, seed, form):
    """Compute the card for these judges and print it."""
    from skbench import judge_agreement, position_bias

    human, event, first = columns["human"], columns["event"], columns["first"]
    table, cluster, previous, repeats = _read(file, names, columns)
    verdicts = [*names, *([previous] if previous is not None else []), *repeats]
    people = [] if human is None else [human]
    biases = {}
    if first is not None:
        item = columns["ids"][0] if columns["ids"] else None
        biases = {name: position_bias(table, name, first, item) for name in [*names, *people]
                  if table[name].notna().all()}  # fmt: skip
    rows = table.assign(**{name: as_one_word(table[name]) for name in [*verdicts, *people]})
    if human is None:
        are_numbers = any(is_numeric_dtype(rows[name]) for name in verdicts)
    else:
        are_numbers = rows[human].dropna().isin((0, 1)).all()
    if event is None and are_numbers:
        scores = {name: verdicts_of(rows[name], f"all figures of {name}")[1] for name in verdicts}
        rows = rows.assign(**{name: x for name, x in scores.items() if not np.isnan(x).all()})
    if event is not None:
        event = as_event(table[(people or names)[0]], event)
    card = judge_agreement(
        rows, human, names, previous=previous, repeats=repeats or None, event=event,
        cluster=cluster, confidence_level=confidence_level, random_state=seed,
    )  # fmt: skip
    frame = card.to_frame().reset_index()
    notes = [*card.sentences(), *_on_estimates(card, rows), *_on_position(biases)]
    table = Table(_with_labels(frame), notes=notes)
    if human is None:
        table, frame = _without_labels(card, notes)
    show(form, table, _document(card, biases), frame)


def _read(file, names, columns):
    """The table and its columns of clusters, the previous version and repeated verdicts."""
    human, cluster, previous = columns["human"], columns["cluster"], columns["previous"]
    repeats = columns["repeats"] or []
    verdicts = [*names, *([previous] if previous is not None else [])]
    others = [columns["first"], cluster]
    numbered = len(repeats) == 1 and (
        repeats == columns_of("attempt", repeats)
        or numbers_verdicts(read_columns(file, verdicts, None, repeats), repeats[0])
    )
    own = [] if numbered else repeats
    given = columns["labels"], columns["ids"]
    table = read_columns(file, [*verdicts, *own], human, [*others, *repeats[:numbered]], *given)
    if numbered:
        given_once = [name for name in (human, previous) if name is not None]
        table, repeats = one_row_per_answer(table, names[0], repeats[0], given_once)
    if cluster is None:
        table, cluster = with_guessed_cluster(table, [])
    for name in names:
        note_missing_verdicts(table, name, human)
    return table, cluster, previous, repeats


def _with_labels(frame):
    """A line for each judge with its agreement with the human labels."""
    shown = [Column("judge", frame["judge"]), Column("labels", frame["n_labels"], ".0f")]
    for name in _FIGURES:
        parts = zip(*(frame[f"{name}{end}"] for end in ("", "_low", "_high")), strict=True)
        shown.append(Column(name, [_ends(*part) for part in parts], align="right"))
    return shown


def _without_labels(card, notes):
    """The table and the frame of versions or repeated verdicts, without human labels."""
    if card.changes is None:
        frame = card.noise.reset_index()
        forms = zip(frame, [",d", ".3f", ".3f", ".3f", ".4f", ".2f"], strict=True)
        shown = [Column(name.replace("_", " "), frame[name], form) for name, form in forms]
        return Table(shown, notes=notes), frame
    c = card.changes
    shown = {"other verdicts": "flips", "kappa": "kappa", "alpha": "alpha",
             "mean verdict changes by": "bias_change"}  # fmt: skip
    ends = [[c[f"{name}{end}"] for name in shown.values()] for end in ("", "_low", "_high")]
    heads = zip(("value", "low", "high"), ends, strict=True)
    columns = [Column("", list(shown)), *(Column(head, x, "z.3f") for head, x in heads)]
    return Table(columns, notes=notes), _one_row(card)


def _one_row(card):
    """The changes as a frame of one row."""
    frame = card.changes.to_frame().T.infer_objects().reset_index(names="previous")
    counts = ["n", "only_now", "only_before", "n_labels"]
    frame[counts] = frame[counts].astype(int)
    frame.insert(0, "judge", card.table.index[0])
    return frame


def _document(card, biases):
    """The card for JSON."""
    low, high = card.effective_judges_interval
    corrected = None if card.corrected is None else card.corrected.rename_axis("judge")
    weights = {} if card.vote_weights is None else card.vote_weights
    return {
        "n_labels": card.n_labels,
        "n_clusters": card.n_clusters,
        "alpha": card.alpha,
        "effective_judges": {"value": card.effective_judges, "low": low, "high": high},
        "judges": card.to_frame().reset_index(),
        "votes": [] if card.vote is None else card.vote.rename_axis("vote").reset_index(),
        "vote_weights": [{"judge": name, "weight": w} for name, w in weights.items()],
        "corrected": [] if corrected is None else corrected.reset_index(),
        "position_bias": [{"judge": name, **figures} for name, figures in biases.items()],
        **({} if card.changes is None else {"changes": _one_row(card)}),
        **({} if card.noise is None else {"noise": card.noise.reset_index()}),
    }


def _ends(value, low, high):
    if np.isnan(value):
        return "unknown"
    return f"{value:z.2f}" + ("" if np.isnan(low) else f" ({low:z.2f} to {high:z.2f})")


def _on_estimates(card, rows):
    if card.corrected is None:
        return []
    return [
        f"The mean of the {rows[name].count():,} rows that {name} judged, corrected by the labels, "
        f"is {_ends(row.value, row.low, row.high)} ({row.method})."
        for name, row in zip(card.corrected.index, card.corrected.itertuples(), strict=True)
    ]


def _on_position(biases):
    for name, b in biases.items():
        yield f"{name} favors the answer shown first by {_ends(b['bias'], b['low'], b['high'])}."
        if not np.isnan(b["inconsistent"]):
            changed = f"{100 * b['inconsistent']:.0f}%"
            yield f"If the answers of {name} are swapped, {changed} of the verdicts change."
