"""Cells of a table -> scores: numbers, and words that stand for right and wrong."""

import re

import numpy as np
import pandas as pd

from skbench._checks import listed
from skbench.items.roles import OPTIONS

WORDS = {
    **dict.fromkeys(("true", "correct", "right", "yes", "y", "pass", "passed", "c"), 1.0),
    **dict.fromkeys(("false", "incorrect", "wrong", "no", "n", "fail", "failed", "i"), 0.0),
}
# What a program writes where there is no answer: left out and counted, never wrong.
FAILED = re.compile(
    r"(.*[ _:])?(err(or)?|exception|timed?[ _-]?out|crash(ed)?|oom|cancell?ed|aborted)([ _:].*)?"
    r"|n/?a|nan|none|null|-|skipped|missing"
)
_DECIMAL_COMMA = re.compile(r"-?\d+,\d+")


def as_numbers(column, name, notes, path, bad, option=OPTIONS["score"], also=""):
    """Scores as floats, blank and skipped ones nan; words become 1 and 0, which is noted."""
    if is_numeric(column):
        scores = column.to_numpy(dtype=float, na_value=np.nan)
    else:
        words = in_small_letters(column)
        scores = pd.to_numeric(words.replace(WORDS), errors="coerce").to_numpy(dtype=float)
        if words.isin(WORDS).any():
            _note_once(notes, f"words as scores: {_translation(words)}")
        column = _without_failed(column, words, name, notes)
    wrong = np.flatnonzero(column.notna().to_numpy() & ~np.isfinite(scores))
    if wrong.size and not bad.skip:
        raise ValueError(
            f"Scores must be finite numbers, but row {wrong[0] + 1} of column {name!r} holds "
            f"{str(column.iloc[wrong[0]])!r}. {_remedy(column.iloc[wrong[0]], option)}{also}"
        )
    for row in wrong:
        bad.refuse(path, f"row {row + 1}", f"score {str(column.iloc[row])!r} is no finite number")
    return np.where(np.isfinite(scores), scores, np.nan)


def _without_failed(column, words, name, notes):
    """The cells, those blank that say that there was no answer; how many there are is noted."""
    present = words.dropna()
    failed = present[present.isin({word for word in present.unique() if FAILED.fullmatch(word)})]
    if failed.empty:
        return column
    said = listed([repr(word) for word in failed.unique()], most=4)
    notes.append(f"{len(failed)} cells of {name!r} say {said}: no answer")
    return column.mask(words.index.isin(failed.index))


def is_numeric(column):
    """Whether a column holds numbers, and not truth values."""
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def in_small_letters(column):
    """Cells as words without blanks around them, in small letters."""
    return column.astype(object).map(lambda x: str(x).strip().lower(), na_action="ignore")


def _remedy(cell, option):
    text = str(cell).strip()
    if _DECIMAL_COMMA.fullmatch(text):
        return (
            f"Write decimals with a point ({text.replace(',', '.')}), and thousands without a "
            "comma. Decimal commas are read where semicolons separate the columns, if all cells "
            "of the column are such numbers."
        )
    return f"Correct the file, or pass {option}."


def _translation(words):
    present = [word for word in WORDS if word in set(words)]
    return ", ".join(f"{word!r} = {WORDS[word]:.0f}" for word in present)


def _note_once(notes, note):
    if note not in notes:
        notes.append(note)
