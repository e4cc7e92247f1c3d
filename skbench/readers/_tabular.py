"""CSV, TSV and Parquet files, long or wide -> item rows."""

import re

import numpy as np
import pandas as pd

from skbench.readers._load import load_table
from skbench.readers._names import OPTIONS, ROLES, check_exist, find_roles, listed

_WORDS = {
    **dict.fromkeys(("true", "correct", "yes", "pass", "passed", "c"), 1.0),
    **dict.fromkeys(("false", "incorrect", "wrong", "no", "fail", "failed", "i"), 0.0),
}
_BINARY = {"0", "1", "0.0", "1.0", "true", "false", "correct", "incorrect"}
# A column called is_multiple_choice or n_options describes the item, not a model.
_DESCRIBES_THE_ITEM = re.compile(r"^(is|has|in|n|num|number)[_ ]", re.IGNORECASE)


def read_items(path, *, model=None, topic=None, item=None, score=None, cluster=None, models=None):
    """Item rows from a table of evaluation results.

    The file is long (one row per model and item, one score column) or wide (one
    row per item, one score column per model). Columns that are not named are
    guessed by their usual names, such as `model` or `system`, `task` or
    `category`, `question_id`, `correct` or `accuracy`; every guess is written
    down in ``attrs["notes"]``.

    Parameters
    ----------
    path : str or path-like
        A .csv or .tsv file, possibly compressed, or a .parquet file.
    model, item, score, cluster : str, default=None
        Name of the column in that role. None guesses. Without a model
        column the file is taken to hold one model; without an item column
        nothing is known of items that models share.
    topic : str or list of str, default=None
        Name of the topic column. Several columns keep their own names.
    models : list of str, default=None
        The score columns of a wide file, one per model. None guesses: where
        neither a score nor a model column is found, the columns that hold only
        0 and 1, or failing that only numbers between 0 and 1.

    Returns
    -------
    pandas.DataFrame
        One row per (model, item). The columns that play a role are called
        `model`, `topic`, `item`, `score` and `cluster`; the others are as in the
        file, except that one which bears a role's name without playing it gets
        the suffix `_in_file`. ``attrs["columns"]`` says which column of the file
        plays which role, ``attrs["notes"]`` is a list of everything that was
        guessed, converted or dropped.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is empty or of an unknown kind, if a named column is
        missing, if the scores cannot be found or are not numbers, if a label
        is blank, or if a (model, item) pair occurs twice although the item is
        not named as the cluster.

    Notes
    -----
    Rows without a score are dropped, and their number noted: an item that was
    not run says nothing of whether it would have been answered. Item ids that
    start again in every topic are made unique by putting the topic in front.
    Words such as "correct" and "False" become 1 and 0.

    When not to use it: logs of evaluation programs and tables of scores that
    are already averaged over items.

    Examples
    --------
    >>> import os, tempfile
    >>> text = "task,id,ada,bob\\nlaw,1,1,0\\nlaw,2,1,\\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "results.csv")
    ...     _ = open(path, "w").write(text)
    ...     items = read_items(path)
    >>> items[["model", "topic", "item", "score"]]
      model topic  item  score
    0   ada   law     1    1.0
    1   ada   law     2    1.0
    2   bob   law     1    0.0
    >>> items.attrs["notes"][-1]
    '1 of 4 scores are blank: dropped, not counted as wrong'
    """
    named = {"model": model, "topic": topic, "item": item, "score": score, "cluster": cluster}
    if models is not None and (model is not None or score is not None):
        raise ValueError(
            "models= (--models) describes a wide file, model= and score= a long one. "
            "Pass one or the other."
        )
    table = load_table(path, lambda columns: _label_columns(columns, named))
    if models is None:
        models = _wide_models(table, named)
    else:
        check_exist(models, table.columns, "models= (--models)")
    if models is None:
        items, roles, notes = _from_long(table, named)
    else:
        items, roles, notes = _from_wide(table, list(models), named)
    _check_labels(items, roles)
    items = _without_blank_scores(items, notes)
    items = _with_unique_items(items, roles, notes)
    items.attrs["columns"] = {
        role: names[0] if len(names) == 1 else names for role, names in roles.items()
    }
    items.attrs["notes"] = notes
    return items


def _label_columns(columns, named):
    roles, _ = find_roles(columns, named)
    return [name for role, names in roles.items() if role != "score" for name in names]


def _wide_models(table, named):
    """The score columns of a wide file, or None where the file is long."""
    roles, _ = find_roles(table.columns, named)
    if named["score"] is not None or "model" in roles:
        return None
    taken = {name for names in roles.values() for name in names}
    free = [
        name
        for name in table.columns
        if name not in taken and not _DESCRIBES_THE_ITEM.match(str(name))
    ]
    candidates = [name for name in free if _is_binary(table[name])]
    if len(candidates) < 2:
        candidates = [name for name in free if _is_proportion(table[name])]
    if len(candidates) < 2:
        return None
    if "score" in roles:
        raise ValueError(
            f"The file can be read in two ways: with the scores in column "
            f"{roles['score'][0]!r}, or with one column of scores per model, "
            f"{listed(candidates)}. Pass {OPTIONS['score']} or models= (--models)."
        )
    return candidates


def _is_binary(column):
    present = column.dropna()
    if present.empty or str(present.iloc[0]).strip().lower() not in _BINARY:
        return False
    return {str(value).strip().lower() for value in present.unique()} <= _BINARY


def _is_proportion(column):
    if not pd.api.types.is_numeric_dtype(column):
        return False
    return bool(column.notna().any() and column.min() >= 0 and column.max() <= 1)


def _from_long(table, named):
    """Items, roles and notes of a file with one row per model and item."""
    roles, notes = find_roles(table.columns, named)
    if "score" not in roles:
        raise ValueError(
            f"Cannot find the scores: no column has one of their usual names, and there are "
            f"not several columns of 0 and 1, one per model. Pass {OPTIONS['score']}, or "
            f"models= (--models) for a wide file. Columns: {listed(table.columns)}."
        )
    items = _with_standard_names(table, roles)
    items["score"] = _as_numbers(items["score"], roles["score"][0], notes)
    if "model" not in roles:
        notes.append(f"no model column: all rows taken as one model ({OPTIONS['model']})")
    if "item" not in roles:
        notes.append(f"no item column: models may share items or not ({OPTIONS['item']})")
    return items, roles, notes


def _from_wide(table, models, named):
    """Items, roles and notes of a file with one score column per model."""
    described = table.drop(columns=models)
    roles, notes = find_roles(described.columns, named, guess=("item", "cluster", "topic"))
    notes.insert(0, f"one column of scores for each of {len(models)} models: {listed(models)}")
    described = _with_standard_names(described, roles)
    if "item" not in roles:
        notes.append(f"item: the number of the row, for want of a column ({OPTIONS['item']})")
        described.insert(0, "item", np.arange(1, len(table) + 1))
    items = described.iloc[np.tile(np.arange(len(table)), len(models))].reset_index(drop=True)
    items.insert(0, "model", np.repeat(np.array(models, dtype=object), len(table)))
    scores = [_as_numbers(table[name], name, notes) for name in models]
    items.insert(items.columns.get_loc("item") + 1, "score", np.concatenate(scores))
    roles |= {"score": models}
    return items, roles, notes


def _with_standard_names(table, roles):
    """Columns in a role under its name and in front; impostors get a suffix."""
    played = {role: names[0] for role, names in roles.items() if len(names) == 1}
    others = table.drop(columns=list(played.values()))
    impostors = [name for name in ROLES if name not in roles.get("topic", [])]
    others = others.rename(columns={name: f"{name}_in_file" for name in impostors})
    order = [role for role in ("model", "topic", "item", "score", "cluster") if role in played]
    # A column may play two roles: a question answered several times is item and cluster.
    return pd.concat([*(table[played[role]].rename(role) for role in order), others], axis=1)


def _as_numbers(column, name, notes):
    """Scores as an array of floats, blank ones nan."""
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        scores = column.to_numpy(dtype=float, na_value=np.nan)
    else:
        words = column.astype(object).map(lambda x: str(x).strip().lower(), na_action="ignore")
        scores = pd.to_numeric(words.replace(_WORDS), errors="coerce").to_numpy(dtype=float)
        if words.isin(_WORDS).any():
            _note_once(notes, f"words as scores: {_translation(words)}")
    wrong = np.flatnonzero(column.notna().to_numpy() & ~np.isfinite(scores))
    if wrong.size:
        raise ValueError(
            f"Scores must be finite numbers, but row {wrong[0] + 1} of column {name!r} holds "
            f"{str(column.iloc[wrong[0]])!r}. Correct the file, or pass {OPTIONS['score']}."
        )
    return scores


def _translation(words):
    present = [word for word in _WORDS if word in set(words)]
    return ", ".join(f"{word!r} = {_WORDS[word]:.0f}" for word in present)


def _note_once(notes, note):
    if note not in notes:
        notes.append(note)


def _check_labels(items, roles):
    labels = [role for role in ("model", "topic", "item", "cluster") if role in items]
    for name in dict.fromkeys([*labels, *roles.get("topic", [])]):
        if name in items and items[name].isna().any():
            blank = np.flatnonzero(items[name].isna())
            shown = roles[name][0] if name in roles else name
            raise ValueError(
                f"The {name} is blank in {blank.size} of {len(items)} rows, first in row "
                f"{blank[0] + 1} of column {shown!r}. Fill it in, or remove these rows."
            )


def _without_blank_scores(items, notes):
    present = items["score"].notna()
    if not present.any():
        raise ValueError("All scores are blank, so there is nothing to estimate.")
    if not present.all():
        blank = int((~present).sum())
        notes.append(f"{blank} of {len(items)} scores are blank: dropped, not counted as wrong")
    items = items[present].reset_index(drop=True)
    low, high = items["score"].min(), items["score"].max()
    if low < 0 or high > 1:
        notes.append(f"scores run from {low:g} to {high:g}: kept in that unit, as continuous")
    return items


def _with_unique_items(items, roles, notes):
    """Make sure that a (model, item) pair is one row, unless the item is a cluster."""
    if "item" not in items or roles.get("cluster") == roles.get("item"):
        return items
    pair = [name for name in ("model", "item") if name in items]
    if not items.duplicated(pair).any():
        return items
    topics = roles.get("topic", [])
    topics = ["topic"] if len(topics) == 1 else topics
    repeated = items.duplicated([*pair, *topics])
    if repeated.any():
        _raise_repeated(items, [*pair, *topics], repeated)
    notes.append("item ids start again in every topic: made unique by putting the topic in front")
    parts = [items[name].astype(str) for name in (*topics, "item")]
    return items.assign(item=parts[0].str.cat(parts[1:], sep="/"))


def _raise_repeated(items, keys, repeated):
    row = items[repeated].iloc[0]
    where = ", ".join(f"{key} {str(row[key])!r}" for key in keys)
    tell_apart = [
        name
        for name in items.columns.difference([*keys, *ROLES], sort=False)
        if pd.api.types.is_hashable(row[name]) and not items.duplicated([*keys, name]).any()
    ]
    hint = f" They differ in {listed(tell_apart)}: is that the model?" if tell_apart else ""
    raise ValueError(
        f"{int(repeated.sum())} of {len(items)} rows repeat an item that is already there, "
        f"first {where}.{hint} Pass {OPTIONS['model']} or {OPTIONS['item']}; if items were "
        f"answered several times, pass {OPTIONS['cluster']} too, with the item column."
    )
