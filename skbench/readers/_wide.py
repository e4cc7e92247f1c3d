"""How a table is laid out: long, with a column of scores, or wide, with one for each model."""

import re
from fnmatch import fnmatchcase
from itertools import takewhile

import pandas as pd

from skbench._checks import is_number, listed
from skbench._undecided import Undecided
from skbench.items.roles import (
    OPTIONS,
    are_votes,
    check_exist,
    columns_of,
    find_roles,
    is_beside_a_score,
    is_metric,
    is_of_a_family,
    judge_columns,
)
from skbench.readers._scores import FAILED, WORDS, in_small_letters

MODELS = "models= (--models)"
_ANSWERS = {"yes", "no", "y", "n"}  # of people and models, as often as verdicts on them
_MOST_WORDS = 50  # different cells, beyond which a column of text holds no scores
# A column called is_multiple_choice or n_options describes the item, not a model; sd or ci
# describe a number, and one letter names one.
_DESCRIBES_THE_ITEM = re.compile(
    r"^(is|has|in|n|num|number)[_ ]|^(se|sd|std|var|cv|ci|low|high|p[_ ]?value|weight)\d*$"
    r"|_(se|sd|std|stderr|ci)$|^[knpryz]$",
    re.IGNORECASE,
)


def wide_models(table, named, models):
    """The score columns of a wide table, None for a long one; refuses what is not known."""
    if models is not None:
        models = _expanded(models, table.columns)
        _refuse_long(table, models, named)
        return models
    _refuse_other_rows(table.columns, named)
    families = [name for name in table if is_of_a_family(name)]
    roles, _ = find_roles(table.columns, named)
    if named["score"] is not None or ("score" in roles and not families):
        return None
    if "score" in roles:
        if "model" in roles:
            return None
        raise Undecided(
            f"The scores may be in column {roles['score'][0]!r}, or in one column for each model, "
            f"{listed(families)}.",
            [{"score": roles["score"][0]}, {"models": families}],
        )
    if not families or "model" in roles:
        raise Undecided(*_nothing_known(table, roles))
    _refuse_predictions(table, families)
    if len(families) == 1 and (others := _unknown(table, {*families, *_in_roles(roles)})):
        raise Undecided(
            f"Column {families[0]!r} bears a model's name, and {listed(others)} may hold scores "
            "of others, or not.",
            [{"models": families}, {"models": [*families, *others]}],
        )
    return families


def _refuse_predictions(table, families):
    """Refuse models' columns that hold the same values as a column of what is true."""
    for label in columns_of("label", [name for name in table if name not in families]):
        values = set(table[label].dropna().astype(str))
        if any(set(table[name].dropna().astype(str)) <= values for name in families):
            raise Undecided(
                f"Column {label!r} holds what is true, and {listed(families, most=4)} the same "
                "values: these may be predictions, and no scores. If they are scores, 1 for right "
                "and 0 for wrong, name them as models.",
                [{"models": families}],
            )


def _expanded(models, columns):
    """Names of columns, where patterns such as m* stand for all that fit."""
    found = []
    for name in models:
        fit = [c for c in columns if c == name] or [
            c for c in columns if fnmatchcase(str(c), str(name))
        ]
        if not fit:
            check_exist([name], columns, MODELS)
        found += fit
    return list(dict.fromkeys(found))


def _refuse_other_rows(columns, named):
    """Refuse rows that are no answers with scores: votes, and labels beside predictions."""
    if named["score"] is not None:
        return
    if are_votes(columns):
        raise ValueError(
            "Each row is a vote between two models, and no answer with a score, so these rows "
            "cannot be read as results of items. Give a file with one row per model and item."
        )
    humans, judges = judge_columns(columns)
    labels, predictions = columns_of("label", columns), columns_of("prediction", columns)
    if labels and predictions and not columns_of("score", columns):
        raise ValueError(
            f"Column {predictions[0]!r} holds predictions and {labels[0]!r} what is true, and no "
            "column says which answers are right. Add one, called correct: 1 where the two are the "
            "same, else 0."
        )
    if humans and judges and not columns_of("score", columns):
        raise Undecided(
            f"Column {humans[0]!r} holds people's labels and {judges[0]!r} an autorater's verdicts "
            "on the same answers: `skbench judge` corrects the one by the other. Else name the one "
            "column that is the score.",
            [
                {"name": "judge", "judge": judges[0], "human": humans[0]},
                *({"score": name} for name in (humans[0], judges[0])),
            ],
        )


def _nothing_known(table, roles):
    """What is open where no column has a usual name of scores, and what may be passed."""
    free = _unknown(table, _in_roles(roles))
    text = (
        "Cannot find the scores: no column has a usual name for them, or the name of a known "
        f"family of models. Columns: {listed(table.columns, most=12)}."
    )
    unknown = [name for name in free if not is_metric(name)]
    choices = [{"score": name} for name in free[:3]]
    if "model" not in roles and unknown:
        text += " If columns are models, say so; or name the score."
        choices.insert(0, {"models": _in_short(unknown, table.columns)})
    elif not free:
        text += f" Pass {OPTIONS['score']}."
    return text, choices


def _unknown(table, taken):
    """Columns that may hold scores, and whose names do not say what else they are."""
    return [
        name
        for name in table
        if name not in taken
        and not _DESCRIBES_THE_ITEM.search(str(name))
        and not is_beside_a_score(name)
        and not any(columns_of(role, [name]) for role in ("label", "prediction", "cost"))
        and _may_be_scores(table[name])
    ]


def _in_roles(roles):
    return {name for names in roles.values() for name in names}


def _in_short(names, columns):
    """A pattern such as m* where it fits these columns and no others; else the names."""
    letters = takewhile(lambda some: len(set(some)) == 1, zip(*map(str, names), strict=False))
    pattern = "".join(some[0] for some in letters).rstrip("0123456789") + "*"
    fits = (
        len(pattern) > 1 < len(names)
        and [c for c in columns if fnmatchcase(str(c), pattern)] == names
    )
    return [pattern] if fits else names


def _may_be_scores(column):
    """Whether a column holds right and wrong, or shares: what may be offered as scores."""
    present = column.dropna()
    if present.empty:
        return False
    if pd.api.types.is_numeric_dtype(column):
        return bool(present.min() >= 0 and (present.max() <= 1 or present.isin((0, 100)).all()))
    cells = in_small_letters(present).unique()
    if len(cells) > _MOST_WORDS:
        return False
    scores = [cell for cell in cells if not FAILED.fullmatch(cell)]
    return bool(scores) and all(
        cell in WORDS.keys() - _ANSWERS or (is_number(cell) and 0 <= float(cell) <= 1)
        for cell in scores
    )


def _refuse_long(table, models, named):
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
    roles, _ = find_roles(table.columns, named, guess=("item", "cluster", "topic"))
    taken = _in_roles(roles) | set(models)
    others = [
        name
        for name in table
        if name not in taken and not is_beside_a_score(name) and _may_be_scores(table[name])
    ]
    if others:
        yield f"not taken for models: {listed(others)}; to change it, name all models (--models)"
