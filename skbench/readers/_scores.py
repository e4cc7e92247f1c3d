"""Read cells as scores: numbers, percentages, words for outcomes, and words for missing answers."""

import re

import numpy as np
import pandas as pd

from skbench._checks import listed
from skbench._notes import LOST, Note

WORDS = {
    **dict.fromkeys("true correct right yes y pass passed c ✓ ✔ ✅".split(), 1.0),
    **dict.fromkeys("false incorrect wrong no n fail failed i ✗ ✘ ❌".split(), 0.0),
    "not_attempted": 0.0,  # as the N of Inspect
}
# Words for failed runs and missing answers: skipped and counted, but not incorrect.
_BROKEN = (
    r"(.*[ _:])?(err(or)?|exception|timed?[ _-]?out|crash(ed)?|oom|cancell?ed|aborted)([ _:].*)?"
)
FAILED = re.compile(rf"{_BROKEN}|n/?a|nan|none|null|-|skip(ped)?|missing")
_NOT_DONE = re.compile(rf"{_BROKEN}|running|pending|queued|started")
_PERCENT = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+) ?%")
_DECIMAL_COMMA = re.compile(r"-?\d+,\d+")


def is_score(value):
    """Return whether a value of a log is a number or a word for an outcome."""
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
    """Return whether a column has numbers, not Booleans."""
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def lowercase(column):
    """Return cells as stripped text in lower case."""
    return column.astype(object).map(lambda x: _text(x).strip().lower(), na_action="ignore")


def percents(column):
    """Return which cells are percentages such as 87%."""
    if is_numeric(column):
        return np.zeros(len(column), dtype=bool)
    return lowercase(column).map(_PERCENT.fullmatch, na_action="ignore").notna().to_numpy()


def as_numbers(column, name, notes, refuse):
    """Return scores as floats, nan if missing. Call `refuse(row, reason)` for any other cell."""
    present = column.notna().to_numpy()
    if pd.api.types.is_numeric_dtype(column):
        scores = column.to_numpy(dtype=float, na_value=np.nan)
    else:
        words = lowercase(column)
        scores, more_notes = _of_words(words, name)
        present = present & ~words.isin(_failed(words)).to_numpy()
        notes += [note for note in more_notes if note not in notes]
    for row in np.flatnonzero(present & ~np.isfinite(scores)):
        cell = column.iloc[row]
        refuse(row, f"{name!r} has {_text(cell)[:40]!r}, not a finite number{_hint(cell)}")
    return np.where(np.isfinite(scores), scores, np.nan)


def of_finished(scores, status, notes):
    """Return scores, nan if the status of the run is failed or unfinished."""
    words = lowercase(status)
    failed = words.map(_NOT_DONE.fullmatch, na_action="ignore").notna().to_numpy()
    if failed.any():
        shown = listed([repr(word) for word in words[failed].unique()], most=4)
        text = f"skipped {failed.sum()} rows with {status.name} {shown} (no answer)"
        notes.append(Note(text, LOST))
    return np.where(failed, np.nan, scores)


def _of_words(words, name):
    """Return the scores of lower-case cells, and notes on conversions."""
    percent = percents(words)
    numbers = pd.to_numeric(words.replace(WORDS), errors="coerce").astype(float)
    notes = []
    if percent.any():
        shares = pd.to_numeric(words.where(percent).str.rstrip(" %"), errors="coerce") / 100
        numbers = shares.astype(float)  # a number without the sign may be a share or a percentage
        notes.append(f"converted percentages in {name!r} to shares of 1")
    known = [word for word in WORDS if word in set(words)]
    if known:
        shown = ", ".join(f"{word!r} = {WORDS[word]:.0f}" for word in known)
        notes.append(f"read words as scores: {shown}")
    failed = words[words.isin(_failed(words))]
    if len(failed):
        shown = listed([repr(word) for word in failed.unique()], most=4)
        notes.append(Note(f"{len(failed)} cells of {name!r} are {shown} (no answer)", LOST))
    return numbers.to_numpy(), notes


def _failed(words):
    """Return the words that stand for a missing answer."""
    return {word for word in words.dropna().unique() if FAILED.fullmatch(word)}


def _text(cell):
    try:
        return str(cell)
    except RecursionError:
        return "nested lists"


def _hint(cell):
    if _DECIMAL_COMMA.fullmatch(_text(cell).strip()):
        return (
            ". Write decimal points, or separate columns by semicolons, so that decimal commas "
            "are read"
        )
    return ""
