"""How a table is laid out: long, with a column of scores, or wide, with one for each model."""

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
from skbench.readers._scores import FAILED, WORDS, as_numbers, in_small_letters

_ANSWERS = {"yes", "no", "y", "n"}  # of people and models, as often as verdicts on them
_MOST_WORDS = 50  # different cells, beyond which a column of text holds no scores
# A column called is_multiple_choice or n_options describes the item, not a model; sd or ci
# describe a number, and one letter names one.
_DESCRIBES_THE_ITEM = re.compile(
    r"^(is|has|in|n|num|number)_|^(se|sd|std|var|cv|ci|low|high|p_?value|weight)\d*$"
    r"|^(difficulty|discrimination|order|position)$|_(se|sd|std|stderr|ci)$|^[cknpqryz]$"
)
_OF_ONE_MODEL = re.compile(rf"_({'|'.join(METRICS.union(NAMES['score']))})$")  # as in gpt-4o_f1


def wide_models(table, named, models):
    """The score columns of a wide table, None for a long one; refuses what is open."""
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
            f"The scores may be in column {roles['score'][0]!r}, or in one column for each model, "
            f"{listed(families)}.",
            [{"score": roles["score"][0]}, {"models": families}],
        )
    if not families or "model" in roles:
        raise Undecided(*_nothing_known(table, roles))
    _refuse_predictions(table, families)
    _refuse_several_scores(families)
    if len(families) == 1 and (others := may_be_models(table, {*families, *_in_roles(roles)})):
        raise Undecided(
            f"Column {families[0]!r} bears a model's name, and {listed(others)} may hold scores "
            "of others, or not.",
            [{"models": families}, {"models": [*families, *others]}],
        )
    return families


def free_columns(table, taken):
    """Columns without a role, whose names do not tell that they are no scores."""
    labels = [*columns_of("label", table), *columns_of("answer", table)]
    classes = {str(cell) for name in labels for cell in table[name]}  # of columns of odds
    roles = ("prediction", "probability", "cost")
    others = taken.union(labels, classes, *(columns_of(role, table) for role in roles))
    return [name for name in table if name not in others and not is_beside_a_score(name)]


def may_be_models(table, taken):
    """Columns with scores of one kind, and names that do not describe the item."""
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
    """Names of columns, where patterns such as m* stand for all that fit."""
    if len(models) == 0:
        raise ValueError("models= is empty. Name the columns of scores, or leave models= out.")
    found = []
    for name in models:
        fit = [name] if name in columns else [c for c in columns if fnmatchcase(str(c), str(name))]
        if not fit:
            check_exist([name], columns, "models=")
        found += fit
    return list(dict.fromkeys(found))


def _refuse_long(table, models, named):
    """Refuse columns as models where another column says of which model a row is."""
    roles, _ = find_roles(table.columns, named, guess=("model", "item", "topic"))
    column = next((name for name in roles.get("model", []) if name not in models), None)
    keys = [*roles.get("item", []), *roles.get("topic", [])]
    if column is None or "item" not in roles or table[column].nunique() < 2:
        return
    if table.duplicated(keys).any() and not table.duplicated([column, *keys]).any():
        raise ValueError(
            f"models= is for files with one row per item, but each row here is of one of the "
            f"models in column {column!r}. Pass score= with one of the columns of scores, such as "
            f"{str(models[0])!r}, and no models=."
        )


def _refuse_other_rows(table):
    """Refuse rows that are no answers with scores: votes, and labels beside predictions."""
    if are_votes(table):
        raise Undecided(
            "Each row is a vote between two models, not an answer with a score. BradleyTerry rates "
            "models by votes.",
            [{"name": "arena"}],
        )
    if columns_of("score", table):
        return
    humans, judges = judge_columns(table)
    humans = humans or columns_of("label", table)
    if humans and judges:
        raise Undecided(
            f"Column {humans[0]!r} holds human labels and {judges[0]!r} an LLM judge's verdicts on "
            "the same answers. Correct the judge by the labels, or name the column of the scores.",
            [
                {"name": "judge", "judge": judges[0], "human": humans[0]},
                *({"score": name} for name in (humans[0], judges[0])),
            ],
        )
    labels, predictions = columns_of("label", table), columns_of("prediction", table)
    predictions += columns_of("probability", table)
    if predictions and not labels:  # answers in words of their own equal none of the right ones
        given = table[predictions[0]].astype(str)
        answers = columns_of("answer", table)
        labels = [name for name in answers if given.isin(table[name].astype(str)).mean() > 0.5]
    if labels and predictions:
        given = {"name": "metrics", "truth": labels[0], "prediction": predictions[0]}
        groups = may_be("group", table, (labels[0], predictions[0]))
        raise Undecided(
            f"Column {predictions[0]!r} holds predictions and {labels[0]!r} the true labels; no "
            "column holds scores. Use group_metrics for the accuracy of the predictions by group.",
            [given | {"topic": name} for name in groups[:3]] or [given],
        )


def _refuse_predictions(table, families):
    """Refuse models' columns that hold the same values as a column of true labels."""
    for label in columns_of("label", table.drop(columns=families)):
        values = set(table[label].dropna().astype(str))
        if any(set(table[name].dropna().astype(str)) <= values for name in families):
            raise Undecided(
                f"Column {label!r} holds the true labels, and {listed(families, most=4)} the same "
                "values: these may be predictions. If they are scores, 1 for right and 0 for "
                "wrong, name them as models.",
                [{"models": families}],
            )


def _refuse_several_scores(families):
    """Refuse columns of which some hold one score of a model, and others another."""
    scores = [str(_OF_ONE_MODEL.findall(normal(name))) for name in families]
    choices = [{"models": list(names)} for _, names in pd.Series(families).groupby(scores)]
    if len(choices) > 1:
        raise Undecided(f"Columns {listed(families)} hold different scores of models.", choices)


def _nothing_known(table, roles):
    """What is open where no column has a usual name of scores, and what may be passed."""
    taken = _in_roles(roles)
    models = may_be_models(table, taken)
    keys = [name for role in ("model", "topic") for name in roles.get(role, [])]
    if "model" in roles and "item" not in roles and not table.duplicated(keys).any():
        raise ValueError(
            f"Each row holds the results of one of {len(table)} models on whole benchmarks, and "
            "nothing shows how noisy they are. Give a row for each answer to an item, or for each "
            "model and topic with the number of items and of right answers."
        )
    text = (
        "Cannot find the scores: no column has a usual name for them, or the name of a known "
        f"family of models. Columns: {listed(table.columns, most=12)}."
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
        text += " If columns are models, name them; or name the score."
        choices.insert(0, {"models": _in_short(models, table.columns)})
    elif not choices:
        text += " Pass score=, the column of the scores."
    return text, choices


def _in_short(names, columns):
    """A pattern such as m* where it fits these columns and no others; else the names."""
    letters = takewhile(lambda some: len(set(some)) == 1, zip(*map(str, names), strict=False))
    pattern = "".join(some[0] for some in letters).rstrip("0123456789") + "*"
    fitting = [name for name in columns if fnmatchcase(str(name), pattern)]
    return [pattern] if len(pattern) > 1 < len(names) and fitting == names else names


def _holds_scores(column):
    """Whether most cells can be read as scores: those of a column of answers cannot."""
    others = []
    as_numbers(column, "", [], lambda *cell: others.append(cell))
    return 2 * len(others) <= column.count()


def may_be_scores(column):
    """Whether a column holds right and wrong, or shares: what may be offered as scores."""
    values = column.dropna()
    if not pd.api.types.is_numeric_dtype(column):
        cells = {cell for cell in in_small_letters(values).unique() if not FAILED.fullmatch(cell)}
        if len(cells) > _MOST_WORDS or cells & _ANSWERS:
            return False
        values = pd.to_numeric(pd.Series(list(cells)).replace(WORDS), errors="coerce")
    share = (values >= 0) & (values <= 1)
    return len(values) > 0 and bool(share.all() or values.isin((0, 100)).all())
