"""Cells -> scores: numbers, percents, words for right and wrong, and words for no answer."""

import re

import numpy as np
import pandas as pd

from skbench._checks import listed
from skbench._notes import LOST, Note

WORDS = {
    **dict.fromkeys("true correct right yes y pass passed c ✓ ✔ ✅".split(), 1.0),
    **dict.fromkeys("false incorrect wrong no n fail failed i ✗ ✘ ❌".split(), 0.0),
    "not_attempted": 0.0,  # an answer that is none, as the N of Inspect
}
# What a program writes of a run that broke, and where there is no answer: left out and counted,
# never wrong.
_BROKEN = (
    r"(.*[ _:])?(err(or)?|exception|timed?[ _-]?out|crash(ed)?|oom|cancell?ed|aborted)([ _:].*)?"
)
FAILED = re.compile(rf"{_BROKEN}|n/?a|nan|none|null|-|skip(ped)?|missing")
_NOT_DONE = re.compile(rf"{_BROKEN}|running|pending|queued|started")
_PERCENT = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+) ?%")
_DECIMAL_COMMA = re.compile(r"-?\d+,\d+")


def is_score(value):
    """Whether a value of a log is a number, or a word for right or wrong."""
    if isinstance(value, str):
        return value.lower() in WORDS or _is_number(value)
    return isinstance(value, (bool, int, float))


def _is_number(value):
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def is_numeric(column):
    """Whether a column holds numbers, and not truth values."""
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def in_small_letters(column):
    """Cells as words without blanks around them, in small letters."""
    return column.astype(object).map(lambda x: _text(x).strip().lower(), na_action="ignore")


def percents(column):
    """Which cells read like 87%."""
    if is_numeric(column):
        return np.zeros(len(column), dtype=bool)
    return in_small_letters(column).map(_PERCENT.fullmatch, na_action="ignore").notna().to_numpy()


def as_numbers(column, name, notes, refuse):
    """Scores as floats, nan where there is no answer; `refuse(row, reason)` any other cell."""
    present = column.notna().to_numpy()
    if pd.api.types.is_numeric_dtype(column):
        scores = column.to_numpy(dtype=float, na_value=np.nan)
    else:
        words = in_small_letters(column)
        scores, said = _of_words(words, name)
        present = present & ~words.isin(_failed(words)).to_numpy()
        notes += [note for note in said if note not in notes]
    for row in np.flatnonzero(present & ~np.isfinite(scores)):
        cell = column.iloc[row]
        refuse(row, f"{name!r} holds {_text(cell)[:40]!r}, not a finite number{_hint(cell)}")
    return np.where(np.isfinite(scores), scores, np.nan)


def of_finished(scores, status, notes):
    """Scores, nan where a column of the status says that the run broke or is not over."""
    words = in_small_letters(status)
    broken = words.map(_NOT_DONE.fullmatch, na_action="ignore").notna().to_numpy()
    if broken.any():
        shown = listed([repr(word) for word in words[broken].unique()], most=4)
        text = f"{broken.sum()} rows have the {status.name} {shown}: no answer, left out"
        notes.append(Note(text, LOST))
    return np.where(broken, np.nan, scores)


def _of_words(words, name):
    """Scores of cells in small letters, and notes on how they were understood."""
    percent = percents(words)
    numbers = pd.to_numeric(words.replace(WORDS), errors="coerce").astype(float)
    notes = []
    if percent.any():
        shares = pd.to_numeric(words.where(percent).str.rstrip(" %"), errors="coerce") / 100
        numbers = shares.astype(float)  # a number without the sign may be a share or a percent
        notes.append(f"percents, taken as shares of 1: {name}")
    known = [word for word in WORDS if word in set(words)]
    if known:
        notes.append(f"words as scores: {', '.join(f'{w!r} = {WORDS[w]:.0f}' for w in known)}")
    failed = words[words.isin(_failed(words))]
    if len(failed):
        shown = listed([repr(word) for word in failed.unique()], most=4)
        notes.append(Note(f"{len(failed)} cells of {name!r} say {shown}: no answer", LOST))
    return numbers.to_numpy(), notes


def _failed(words):
    """Different words that mean that there was no answer."""
    return {word for word in words.dropna().unique() if FAILED.fullmatch(word)}


def _text(cell):
    try:
        return str(cell)
    except RecursionError:
        return "lists in lists"


def _hint(cell):
    if _DECIMAL_COMMA.fullmatch(_text(cell).strip()):
        return (
            ": write decimals with a point, or separate the columns by semicolons, where decimal "
            "commas are read"
        )
    return ""
