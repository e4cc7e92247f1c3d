"""Which column is which: the usual names of the five roles of an item row."""

import re

# In order of preference; compared in lower case with punctuation as underscores.
_USUAL_NAMES = {
    "model": ("model", "model_name", "model_id", "model_name_or_path", "system", "llm", "engine"),
    "item": (
        "item",
        "item_id",
        "sample_id",
        "question_id",
        "doc_id",
        "example_id",
        "instance_id",
        "prompt_id",
        "id",
        "idx",
        "index",
    ),
    "cluster": ("cluster", "cluster_id", "passage_id", "group_id", "document_id", "context_id"),
    "topic": (
        "topic",
        "task",
        "task_name",
        "category",
        "subject",
        "subset",
        "subtask",
        "domain",
        "dataset",
        "benchmark",
        "src",
    ),
    "score": (
        "score",
        "correct",
        "is_correct",
        "accuracy",
        "acc",
        "exact_match",
        "em",
        "pass",
        "passed",
        "pass1",
        "pass_1",
        "f1",
        "value",
    ),
}
# Numbers of the repeats of one item, where an item was answered several times.
REPEATS = ("repeat", "repeat_id", "epoch", "trial", "repetition", "attempt")
ROLES = tuple(_USUAL_NAMES)
OPTIONS = {"topic": "topic= (--by)"} | {
    role: f"{role}= (--{role})" for role in ROLES if role != "topic"
}


def find_roles(columns, named, guess=ROLES):
    """Match columns to roles, by the caller's word or by their usual names.

    Parameters
    ----------
    columns : sequence of str
        Column names of the file.
    named : dict
        Role -> column name (for "topic" possibly a list of them), or None where
        it is not known.
    guess : sequence of str
        Roles to guess where they are not named.

    Returns
    -------
    roles : dict
        Role -> list of column names, for the roles that were found.
    notes : list of str
        What was guessed, and what else it might have been.

    Raises
    ------
    ValueError
        If a named column does not exist.
    """
    roles = {role: _as_list(name) for role, name in named.items() if name is not None}
    for role, names in roles.items():
        check_exist(names, columns, OPTIONS[role])
    rivals = {}
    for role in [role for role in guess if role not in roles]:
        taken = [name for names in roles.values() for name in names]
        matches = _matches(columns, _usual_names(role, roles), taken)
        if matches:
            roles[role], rivals[role] = matches[:1], matches[1:]
    taken = [name for names in roles.values() for name in names]
    notes = [
        _guess_note(role, roles[role][0], [name for name in others if name not in taken])
        for role, others in rivals.items()
    ]
    return roles, notes


def check_exist(names, columns, option):
    """Complain about the first name that is no column, listing those there are."""
    for name in names:
        if name not in columns:
            raise ValueError(
                f"{option} names column {name!r}, but the file has only: {listed(columns)}."
            )


def listed(names, most=40):
    """Names separated by commas, the tail counted instead of printed."""
    names = [str(name) for name in names]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def n_shared(paths):
    """With how many parts all paths begin; the last part of a path does not count."""
    levels = list(zip(*(path[:-1] for path in paths), strict=False))
    return next((n for n, parts in enumerate(levels) if len(set(parts)) > 1), len(levels))


def _as_list(names):
    return [names] if isinstance(names, str) else list(names)


def _usual_names(role, roles):
    names = _USUAL_NAMES[role]
    item = roles.get("item")
    # Several samples per question: the question is then what samples cluster in.
    if role == "cluster" and item and _normal(item[0]) == "sample_id":
        return (*names, "question_id")
    return names


def _matches(columns, usual_names, taken):
    return [
        column
        for usual in usual_names
        for column in columns
        if _normal(column) == usual and column not in taken
    ]


def _normal(name):
    return re.sub(r"[^a-z0-9]+", "_", str(name).lower()).strip("_")


def _guess_note(role, name, others):
    also = f" (it might be {listed(others)}: {OPTIONS[role]})" if others else ""
    return f"{role}: column {name!r}{also}"
