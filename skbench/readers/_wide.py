"""Which columns of a wide table are models: those that hold scores, and nothing but scores."""

import re

import numpy as np
import pandas as pd

from skbench._checks import is_number, listed
from skbench.items.roles import OPTIONS, find_roles, judge_columns
from skbench.readers._scores import WORDS, in_small_letters, is_numeric

MODELS = "models= (--models)"
SPOILT = 0.1  # share of a model's cells that may be no scores; beyond, it may be a feature
_BINARY = {"0", "1", "0.0", "1.0", "true", "false", "correct", "incorrect"}
_HUNDREDS = ({"0", "100"}, {"0.0", "100.0"})  # right and wrong in percent
_MIGHT_BE = 0.5  # share of scores among the cells of a column that is told to be left out
_FEW_VALUES = 12  # different scores, beyond which a column shares them with others by chance
_FEW_WORDS = 2  # different words such as "error" in a column of scores
_FEWEST = 50  # items, below which chance explains much
_LARGEST = 1e7  # cells that are looked at
_BY_CHANCE, _BEYOND = 2.0, 4.0  # standard errors of a correlation
_FEW = 0.05  # share of the columns that may be told
_PER_VALUE = 10  # items per number of right answers that make a rule
# A column called is_multiple_choice or n_options describes the item, not a model; sd or ci
# describe a number, and one letter names one.
_DESCRIBES_THE_ITEM = re.compile(
    r"^(is|has|in|n|num|number)[_ ]|^(se|sd|std|var|cv|ci|low|high|p[_ ]?value|weight)\d*$"
    r"|_(se|sd|std|stderr|ci)$|^[knpryz]$",
    re.IGNORECASE,
)
_FAILED = re.compile(r"err(or)?|time(d[ _-]?)?out|exception|crash(ed)?|oom|refus(ed|al)|invalid")
# With the right answers in the file, yes and no are what models answered.
_RIGHT_ANSWER = re.compile(
    r"(^|[_ ])(answers?|gold|labels?|target|truth|reference|expected|solution)([_ ]|$)",
    re.IGNORECASE,
)


def wide_models(table, named):
    """The score columns of a wide file, None for a long one; refuses what may be either."""
    roles, _ = find_roles(table.columns, named)
    if named["score"] is not None or "model" in roles:
        return None
    free = [
        name for name in _without_roles(table, roles) if not _DESCRIBES_THE_ITEM.match(str(name))
    ]
    humans, judges = judge_columns(free)
    if humans and judges:  # what people and an autorater say of one model's answers
        free = [name for name in free if name not in (*humans, *judges)]
    # Where no column can be the score, one cell such as "timeout" makes no feature of a model.
    least = 1.0 if "score" in roles else 1 - SPOILT
    candidates = [name for name in free if _is_binary(table[name], least)]
    if len(candidates) < 2:
        candidates = [name for name in free if _is_proportion(table[name], least)]
    if "score" not in roles and _are_all_verdicts(table, free):
        candidates = free
    if len(candidates) < 2:
        return None
    if "score" in roles:
        raise ValueError(
            f"The file can be read in two ways: with the scores in column "
            f"{roles['score'][0]!r}, or with one column of scores per model, "
            f"{listed(candidates)}. Pass {OPTIONS['score']} or {MODELS}."
        )
    return _with_spoilt_models(table, free, candidates)


def only_verdicts(table, roles):
    """The one column that no role takes, where it holds right and wrong; else None."""
    free = _without_roles(table, roles)
    if len(free) != 1 or _DESCRIBES_THE_ITEM.match(str(free[0])):
        return None
    verdicts = _is_binary(table[free[0]]) or _are_mostly(table[free[0]], _is_verdict, 1 - SPOILT)
    return free[0] if verdicts else None


def refuse_long(table, models, named):
    """Refuse columns as models where another column says of which model a row is."""
    roles, _ = find_roles(table.columns, named, guess=("model", "item", "topic"))
    column = next((name for name in roles.get("model", []) if name not in models), None)
    keys = [*roles.get("item", []), *roles.get("topic", [])]
    if column is None or "item" not in roles or table[column].nunique() < 2:
        return
    if table.duplicated(keys).any() and not table.duplicated([column, *keys]).any():
        raise ValueError(
            f"{MODELS} is for files with one row per item, but here each row is of one of the "
            f"models in column {column!r}. Leave it out, and pass {OPTIONS['score']} with one of "
            f"the columns of scores, such as {str(models[0])!r}."
        )


def left_out(table, models, named):
    """Other columns whose cells might be scores, in words."""
    roles, _ = find_roles(table.columns, named)
    others = [
        name
        for name in _without_roles(table, roles)
        if name not in models and _might_be_scores(table[name])
    ]
    if others:
        yield f"not taken for models: {listed(others)}; to change it, name all models (--models)"


def in_other_words(table, models):
    """Columns scored in words beside others of numbers, which may be features, in words."""
    spoken = [name for name in models if _is_spoken(table[name])]
    if 0 < len(spoken) < len(models):
        yield (
            f"scores of {listed(spoken, most=6)} are words, and others' are not: if that is no "
            "model, name all models (--models)"
        )


def doubtful_columns(names, scores):
    """What speaks against some columns of scores, an array (n_columns, n_items), in words."""
    # A flag of the items goes with no model's answers, where the models' go with each other's; a
    # vote, or whether any or all are right, follows from how many are.
    table = scores[:, : int(_LARGEST / len(names))].T
    table = table[np.isfinite(table).all(axis=1)]
    others = table.sum(axis=1, keepdims=True) - table
    if len(table) < _FEWEST or len(names) < 3:
        return
    z = np.full(len(names), np.nan)
    for j in np.flatnonzero((np.ptp(table, axis=0) > 0) & (np.ptp(others, axis=0) > 0)):
        z[j] = np.corrcoef(table[:, j], others[:, j])[0, 1] * np.sqrt(len(table))
    alone = (z < _BY_CHANCE) & (np.nanmedian(z) > _BEYOND) if np.isfinite(z).any() else z > 0
    if alone.sum() > max(1, _FEW * len(names)):
        alone[:] = False  # models that guess
    rule = [np.isfinite(z[j]) and _follows(table[:, j], others[:, j]) for j in range(len(names))]
    for found, why in ((alone, "go with no other's"), (rule, "follow from the others'")):
        if np.any(found):
            yield (
                f"scores of {listed(np.array(names, dtype=object)[found], most=6)} {why}: if that "
                "is no model, name all models (--models)"
            )


def _follows(own, others):
    """Whether scores are a function of the sum of the others'."""
    values, at = np.unique(np.round(others, 9), return_inverse=True)
    if len(own) < _PER_VALUE * len(values):
        return False
    low, high = np.full(len(values), np.inf), np.full(len(values), -np.inf)
    np.minimum.at(low, at, own)
    np.maximum.at(high, at, own)
    return bool((high - low < 1e-9).all())


def _is_spoken(column):
    """Whether cells are words, and none that programs write for 0 and 1."""
    words = _spelled_alike(column).index
    return not any(is_number(word) or word in _BINARY for word in words)


def how_to_mend(name):
    """What can be done about a cell that is no score, of a column that was taken for a model."""
    return f" A blank cell is dropped, as no answer; models= without {name!r} leaves it out."


def _without_roles(table, roles):
    taken = {name for names in roles.values() for name in names}
    return [name for name in table.columns if name not in taken]


def _are_all_verdicts(table, free):
    """Whether every column is of verdicts, in whatever words: a model each, and no feature."""
    free = [name for name in free if table[name].notna().any()]
    if any(_RIGHT_ANSWER.search(str(name)) for name in table.columns):
        return False
    return len(free) > 1 and all(
        _is_binary(table[name]) or _are_mostly(table[name], _is_verdict, 1 - SPOILT)
        for name in free
    )


def _with_spoilt_models(table, free, models):
    """The models, and columns that would be one but for words such as "error"."""
    # Of a column of the same few scores that has some other number, nobody can tell what it is.
    usual = set().union(*(_spelled_alike(table[name]).index for name in models))
    usual = {word for word in usual if _is_score(word)}
    if len(usual) > _FEW_VALUES:
        return models
    found = set(models)
    numbers = [float(word) for word in usual if is_number(word)]
    for name in free:
        if name in found or _RIGHT_ANSWER.search(str(name)):
            continue
        if _has_other_numbers(table[name], numbers):
            continue
        cells = _spelled_alike(table[name])
        odd = cells[~cells.index.isin(usual)]
        words = [word for word in odd.index if not _is_score(word)]
        share = 1 - odd.sum() / max(1, cells.sum())
        failed = share > 0 and all(map(_FAILED.fullmatch, words))
        if words and (failed or (share > _MIGHT_BE and len(odd) <= _FEW_WORDS)):
            found.add(name)
        elif not words and share >= 1 - SPOILT and not _is_a_count(cells, odd):
            _refuse_odd_number(table[name], name, odd.index, models)
    return [name for name in free if name in found]


def _has_other_numbers(column, numbers):
    """Whether a column of numbers, such as of an embedding, is clearly none of these scores."""
    return is_numeric(column) and column.isin(numbers).sum() < (1 - SPOILT) * column.notna().sum()


def _refuse_odd_number(column, name, odd, models):
    row = int(_words_of(column).isin(odd).to_numpy().argmax())
    raise ValueError(
        f"Column {name!r} holds scores like those of {listed(models, most=3)}, but row {row + 1} "
        f"of it holds {str(column.iloc[row])!r}. Correct this cell, or leave it blank, or name all "
        f"models by {MODELS}: with {name!r} the cell is a score, without it the column is left out."
    )


def _is_a_count(cells, odd):
    """Whether numbers go on from 0 and 1, as counts do, or are all the same but for a few."""
    numbers = sorted(float(word) for word in odd.index if is_number(word))
    goes_on = numbers == [2.0 + i for i in range(len(numbers))]
    return goes_on or len(cells) - len(odd) < 2


def _words_of(column):
    """Cells in small letters, numbers as they are shortest: 1 for 1.0."""
    words = in_small_letters(column)
    return words.map(lambda word: f"{float(word):g}" if is_number(word) else word, "ignore")


def _spelled_alike(column):
    """How often each cell comes, numbers in one spelling."""
    present = column.dropna()
    numeric = pd.api.types.is_numeric_dtype(column)
    counts = (present if numeric else in_small_letters(present)).value_counts()
    words = _words_of(counts.index.to_series())
    return counts.groupby(words.to_numpy()).sum()


def _might_be_scores(column):
    if _is_binary(column, _MIGHT_BE) or _is_proportion(column, _MIGHT_BE):
        return True
    return _are_mostly(column, lambda word: len(word) > 1 and _is_verdict(word), _MIGHT_BE)


def _is_verdict(word):
    return word in _BINARY or word in WORDS


def _is_binary(column, least=1.0):
    """Whether cells are right or wrong, or of a column of text at least this share of them."""
    present = column.dropna()
    if present.empty:
        return False
    words = {str(value).strip().lower() for value in present.unique()[:50]}
    return (
        words <= _BINARY or words in _HUNDREDS or _are_mostly(column, _BINARY.__contains__, least)
    )


def _is_proportion(column, least=1.0):
    if _are_mostly(column, _is_share, least):
        return True
    if not pd.api.types.is_numeric_dtype(column):
        return False
    return bool(column.notna().any() and column.min() >= 0 and column.max() <= 1)


def _are_mostly(column, is_score, least):
    """Whether at least this share of the cells of a column of text are scores."""
    if least == 1 or pd.api.types.is_numeric_dtype(column):
        return False
    cells = in_small_letters(column.dropna()).value_counts()
    return bool(cells[[*map(is_score, cells.index)]].sum() >= least * cells.sum() > 0)


def _is_share(word):
    return is_number(word) and 0 <= float(word) <= 1


def _is_score(word):
    return word in WORDS or is_number(word)
