"""Which column is which: the usual names of the five roles of an item row."""

import re

import pandas as pd

from skbench._checks import listed

# In order of preference; compared in lower case with punctuation as underscores.
_USUAL_NAMES = {
    "model": "model model_name model_id model_name_or_path system llm engine".split(),
    "item": (
        "item item_id sample_id question_id doc_id example_id instance_id prompt_id instruction_id "
        "problem_id query_id qid pid uid id idx index"
    ).split(),
    "cluster": "cluster cluster_id passage_id group_id document_id context_id".split(),
    "topic": (
        "topic task task_name category subject subset subtask domain dataset benchmark src"
    ).split(),
    "score": (
        "score correct is_correct accuracy acc acc_norm exact_match em pass passed pass1 pass_1 f1 "
        "value"
    ).split(),
}
# Numbers of the repeats of one item, where an item was answered several times.
REPEATS = (
    "repeat repeat_id epoch trial repetition attempt replicate run run_id run_number seed".split()
)
ROLES = tuple(_USUAL_NAMES)
OPTIONS = {"topic": "topic= (--by)"} | {
    role: f"{role}= (--{role})" for role in ROLES if role != "topic"
}


def find_roles(columns, named, guess=ROLES):
    """Role -> columns, by the caller's word or by their usual names, and notes on guesses."""
    roles = {role: _as_list(name) for role, name in named.items() if name is not None}
    for role, names in roles.items():
        check_exist(names, columns, OPTIONS[role])
    rivals = {}
    for role in [role for role in guess if role not in roles]:
        taken = [name for names in roles.values() for name in names]
        matches = _matches(columns, _usual_names(role, roles), taken)
        if role == "item" and not matches and named.get("cluster") is not None:
            # Items answered several times are clusters: one column for both.
            matches = _matches(roles["cluster"], _usual_names(role, roles), [])
        if matches:
            roles[role], rivals[role] = matches[:1], matches[1:]
    taken = [name for names in roles.values() for name in names]
    notes = [
        _guess_note(role, roles[role][0], [name for name in others if name not in taken])
        for role, others in rivals.items()
    ]
    return roles, notes


def rivals(columns, role, taken):
    """Columns with a usual name of a role, in order of preference, but those taken."""
    return _matches(columns, _USUAL_NAMES[role], taken)


_HUMAN = re.compile(r"(^|_)(human|annotators?|expert|people)(_|$|[0-9])")
_JUDGE = re.compile(
    r"judge|autorater|grader|(^|_)(gpt|davinci|claude|llm|llama|gemini)[a-z0-9]*"
    r"_(eval|score|verdict|label|grade|rating)"
)


def judge_columns(columns):
    """Columns of human labels and of an autorater's verdicts, by their names."""
    humans = [name for name in columns if _HUMAN.search(normal(name))]
    judges = [name for name in columns if name not in humans and _JUDGE.search(normal(name))]
    return humans, judges


_OFTEN = 0.8  # share of the models that a value must be in, on average


def find_item(items, roles):
    """The one column with the same values in every model, or None; and columns it might be."""
    if "model" not in items or items["model"].nunique() < 2:
        return None, []
    taken = {"model", "topic", "score", "cluster", *(n for names in roles.values() for n in names)}
    keys = [name for name in ("model", "topic") if name in items]
    sure, others = [], []
    n_models = items["model"].nunique()
    for name in (name for name in items if name not in taken):
        column = items[name]
        if column.isna().any() or column.dtype.kind == "f" or column.dtype.kind == "b":
            continue
        if not column.map(pd.api.types.is_hashable).all():
            continue
        if items.duplicated([*keys, name]).any():
            continue
        values = items.drop_duplicates(["model", name]).groupby(name, sort=False).size()
        if len(values) > 1 and values.mean() >= _OFTEN * n_models:
            sure.append(name)
        elif values.mean() > 1:
            others.append(name)
    return (sure[0], []) if len(sure) == 1 else (None, [*sure, *others])


def check_exist(names, columns, option):
    """Complain about the first name that is no column, listing those there are."""
    for name in names:
        if name not in columns:
            raise ValueError(
                f"{option} names column {name!r}, but the file has only: {listed(columns)}."
            )


_WHOLE = re.compile(r"0*([0-9]+)(\.0+)?")


def labels_alike(items):
    """Labels of models, topics and items that differ in blanks, case or zeros alone, in words."""
    for role in ("model", "topic", "item"):
        if role not in items or pd.api.types.is_numeric_dtype(items[role]):
            continue
        forms = {}
        for label in items[role].unique():
            form = " ".join(str(label).casefold().split())
            whole = _WHOLE.fullmatch(form)
            forms.setdefault(whole[1] if whole else form, []).append(str(label))
        alike = [labels for labels in forms.values() if len(labels) > 1]
        if alike:
            yield (
                f"{role}: {' and '.join(map(repr, alike[0][:2]))} differ in blanks, case or zeros "
                f"alone{f', as {len(alike) - 1} more do' * (len(alike) > 1)}; they are taken for "
                "different ones"
            )


def _as_list(names):
    return [names] if isinstance(names, str) else list(names)


def _usual_names(role, roles):
    names = _USUAL_NAMES[role]
    item = roles.get("item")
    # Several samples per question: the question is then what samples cluster in.
    if role == "cluster" and item and normal(item[0]) == "sample_id":
        return (*names, "question_id")
    return names


def _matches(columns, usual_names, taken):
    return [
        column
        for usual in usual_names
        for column in columns
        if normal(column) == usual and column not in taken
    ]


def normal(name):
    """A name in lower case, with punctuation as underscores."""
    return re.sub(r"[^a-z0-9]+", "_", str(name).lower()).strip("_")


def _guess_note(role, name, others):
    also = f" (it might be {listed(others)}: {OPTIONS[role]})" if others else ""
    return f"{role}: column {name!r}{also}"
