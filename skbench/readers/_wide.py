"""Decide whether a table is long (one score column) or wide (one score column per model)."""

import re
from fnmatch import fnmatchcase
from itertools import takewhile

import pandas as pd

from skbench._checks import listed
from skbench._undecided import Undecided
from skbench.items.roles import (
    IN_RECORD,
    METRICS,
    NAMES,
    are_votes,
    check_exist,
    columns_of,
    field,
    find_roles,
    is_beside_a_score,
    is_metric,
    is_of_a_family,
    judge_columns,
    may_be,
    normal,
)
from skbench.readers._scores import FAILED, WORDS, as_numbers, lowercase

_ANSWERS = {"yes", "no", "y", "n"}  # may be answers rather than verdicts
_MOST_WORDS = 50  # a text column with more different cells holds no scores
# Columns such as is_multiple_choice, n_options, sd, ci or k describe an item or a number, not a
# model.
_DESCRIBES_THE_ITEM = re.compile(
    r"^(is|has|in|n|num|number)_|^(se|sd|std|var|cv|ci|low|high|p_?value|weight)\d*$"
    r"|^(difficulty|discrimination|order|position)$|_(se|sd|std|stderr|ci)$|^[cknpqryz]$"
)
_OF_ONE_MODEL = re.compile(rf"_({'|'.join(METRICS.union(NAMES['score']))})$")  # as in gpt-4o_f1


def wide_models(table, named, models):
    """Return the score columns of a wide table, or None for a long one. Raise if ambiguous."""
    if models is not None:
        models = _expanded(models, table.columns)
        _refuse_long(table, models, named)
        return models
    if named["score"] is None:
        _refuse_other_rows(table)
    roles, _ = find_roles(table.columns, named)
    families = [name for name in table if is_of_a_family(name) and _holds_scores(table[name])]
    if named["score"] is not None or ("score" in roles and ("model" in roles or not families)):
        return None
    if "score" in roles:
        raise Undecided(
            f"The scores may be in column {roles['score'][0]!r}, or in one column per model: "
            f"{listed(families)}.",
            [{"score": roles["score"][0]}, {"models": families}],
        )
    if not families or "model" in roles:
        raise Undecided(*_nothing_known(table, roles))
    _refuse_predictions(table, families)
    _refuse_several_scores(families)
    if len(families) == 1 and (others := may_be_models(table, {*families, *_in_roles(roles)})):
        raise Undecided(
            f"Column {families[0]!r} is named for a model. Columns {listed(others)} may or may not "
            "be scores of other models.",
            [{"models": families}, {"models": [*families, *others]}],
        )
    return families


def free_columns(table, taken):
    """Return columns without a role whose names do not rule out scores."""
    labels = [*columns_of("label", table), *columns_of("answer", table)]
    classes = {str(cell) for name in labels for cell in table[name]}  # may head probabilities
    roles = ("prediction", "probability", "cost")
    others = taken.union(labels, classes, *(columns_of(role, table) for role in roles))
    return [name for name in table if name not in others and not is_beside_a_score(name)]


def may_be_models(table, taken):
    """Return columns with scores of one kind whose names do not describe the item."""
    free = [
        name
        for name in free_columns(table, taken)
        if may_be_scores(table[name]) and not _DESCRIBES_THE_ITEM.search(field(name))
    ]
    binary = [name for name in free if table[name].nunique() <= 2]
    models = [name for name in binary or free if not is_metric(name)]
    # Fields of different records are not of one kind.
    return models if len({"".join(IN_RECORD.findall(str(name))) for name in models}) == 1 else []


def _in_roles(roles):
    return {name for names in roles.values() for name in names}


def _expanded(models, columns):
    """Return column names, with patterns such as m* replaced by all columns that match."""
    if len(models) == 0:
        raise ValueError("models= is empty. Name the score columns, or omit models=.")
    found = []
    for name in models:
        fit = [name] if name in columns else [c for c in columns if fnmatchcase(str(c), str(name))]
        if not fit:
            check_exist([name], columns, "models=")
        found += fit
    return list(dict.fromkeys(found))


def _refuse_long(table, models, named):
    """Raise if `models` is given but another column names the model of each row."""
    roles, _ = find_roles(table.columns, named, guess=("model", "item", "topic"))
    column = next((name for name in roles.get("model", []) if name not in models), None)
    keys = [*roles.get("item", []), *roles.get("topic", [])]
    if column is None or "item" not in roles or table[column].nunique() < 2:
        return
    if table.duplicated(keys).any() and not table.duplicated([column, *keys]).any():
        raise ValueError(
            f"models= is for files with one row per item, but here column {column!r} names the "
            f"model of each row. Instead of models= pass score= with one score column, such as "
            f"{str(models[0])!r}."
        )


def _refuse_other_rows(table):
    """Raise for rows that are not scored answers: votes, or labels beside predictions."""
    if are_votes(table):
        raise Undecided(
            "Each row is a vote between two models, not a scored answer. Rate the models with "
            "BradleyTerry.",
            [{"name": "arena"}],
        )
    if columns_of("score", table):
        return
    humans, judges = judge_columns(table)
    humans = humans or columns_of("label", table)
    if humans and judges:
        raise Undecided(
            f"Column {humans[0]!r} has human labels, and column {judges[0]!r} has an LLM judge's "
            "verdicts on the same answers. Correct the judge with the labels, or name the score "
            "column.",
            [
                {"name": "judge", "judge": judges[0], "human": humans[0]},
                *({"score": name} for name in (humans[0], judges[0])),
            ],
        )
    labels, predictions = columns_of("label", table), columns_of("prediction", table)
    predictions += columns_of("probability", table)
    if predictions and not labels:  # free-text answers would seldom equal the correct ones
        given = table[predictions[0]].astype(str)
        answers = columns_of("answer", table)
        labels = [name for name in answers if given.isin(table[name].astype(str)).mean() > 0.5]
    if labels and predictions:
        given = {"name": "metrics", "truth": labels[0], "prediction": predictions[0]}
        groups = may_be("group", table, (labels[0], predictions[0]))
        raise Undecided(
            f"Column {predictions[0]!r} has predictions, column {labels[0]!r} has the true labels, "
            "and no column has scores. Estimate accuracy by group with group_metrics.",
            [given | {"topic": name} for name in groups[:3]] or [given],
        )


def _refuse_predictions(table, families):
    """Raise if columns of models have the same values as a column of true labels."""
    for label in columns_of("label", table.drop(columns=families)):
        values = set(table[label].dropna().astype(str))
        if any(set(table[name].dropna().astype(str)) <= values for name in families):
            raise Undecided(
                f"Columns {listed(families, most=4)} have the same values as the true labels in "
                f"{label!r}, so they may be predictions. If they are scores (1 for correct, 0 for "
                "incorrect), name them as models.",
                [{"models": families}],
            )


def _refuse_several_scores(families):
    """Raise if columns of models have different kinds of scores."""
    scores = [str(_OF_ONE_MODEL.findall(normal(name))) for name in families]
    choices = [{"models": list(names)} for _, names in pd.Series(families).groupby(scores)]
    if len(choices) > 1:
        raise Undecided(f"Columns {listed(families)} are different kinds of scores.", choices)


def _nothing_known(table, roles):
    """Return a message and choices for a table in which no column is named for scores."""
    taken = _in_roles(roles)
    models = may_be_models(table, taken)
    keys = [name for role in ("model", "topic") for name in roles.get(role, [])]
    if "model" in roles and "item" not in roles and not table.duplicated(keys).any():
        raise ValueError(
            f"Each of the {len(table)} rows has the results of one model on whole benchmarks, so "
            "their sampling variance is unknown. Pass one row per answer, or one row per model "
            "and topic with the numbers of items and of correct answers."
        )
    text = (
        "No column has a usual name for scores or the name of a known family of models. The "
        f"columns are: {listed(table.columns, most=12)}."
    )
    free = [
        name
        for name in free_columns(table, taken)
        if not _DESCRIBES_THE_ITEM.search(field(name).removeprefix("is_"))
    ]
    numbers = [name for name in free if pd.api.types.is_numeric_dtype(table[name])]
    scores = [name for name in free if may_be_scores(table[name])] or numbers
    choices = [{"score": name} for name in scores if table[name].nunique() > 1][:3]
    if "model" not in roles and len(models) > 1:
        text += " Name the columns of the models, or the score."
        choices.insert(0, {"models": _in_short(models, table.columns)})
    elif not choices:
        text += " Pass score= with the score column."
    return text, choices


def _in_short(names, columns):
    """Return a pattern such as m* if it matches just these columns, else the names."""
    shared = takewhile(lambda chars: len(set(chars)) == 1, zip(*map(str, names), strict=False))
    pattern = "".join(chars[0] for chars in shared).rstrip("0123456789") + "*"
    fitting = [name for name in columns if fnmatchcase(str(name), pattern)]
    return [pattern] if len(pattern) > 1 < len(names) and fitting == names else names


def _holds_scores(column):
    """Return whether at least half of the cells can be read as scores."""
    others = []
    as_numbers(column, "", [], lambda *cell: others.append(cell))
    return 2 * len(others) <= column.count()


def may_be_scores(column):
    """Return whether a column has binary outcomes or shares, so that it may be scores."""
    values = column.dropna()
    if not pd.api.types.is_numeric_dtype(column):
        cells = {cell for cell in lowercase(values).unique() if not FAILED.fullmatch(cell)}
        if len(cells) > _MOST_WORDS or cells & _ANSWERS:
            return False
        values = pd.to_numeric(pd.Series(list(cells)).replace(WORDS), errors="coerce")
    share = (values >= 0) & (values <= 1)
    return len(values) > 0 and bool(share.all() or values.isin((0, 100)).all())
