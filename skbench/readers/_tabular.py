"""CSV, TSV and Parquet files, long or wide -> item rows."""

import re

import numpy as np
import pandas as pd

from skbench._checks import listed, of_one_type
from skbench._undecided import Undecided
from skbench.items.roles import (
    OPTIONS,
    ROLES,
    columns_of,
    find_roles,
    normal,
    rivals,
)
from skbench.items.totals import check_totals
from skbench.readers._found import ItemRows
from skbench.readers._repeats import numbers_of_repeats, with_unique_items, without_spare_blanks
from skbench.readers._scores import as_numbers
from skbench.readers._wide import MODELS, left_out, wide_models
from skbench.readers.group_results import group_columns, group_results
from skbench.readers.loading import load_categories, without_categories

ONE_MODEL = f"no model column: all rows taken as one model ({OPTIONS['model']})"
_PERCENT = re.compile(r"-?[0-9.]+ ?%")
_MOST = 0.5  # share of the cells that are percents, in a column of such
# What an evaluation may be run with: rows that differ in it are no rows of one evaluation.
_SETTINGS = (
    "shots n_shot n_shots num_fewshot fewshot few_shot mode protocol setting settings config "
    "prompt_template template prompt_version version temperature metric filter split language"
).split()


def table_items(path, named, models, bad):
    """`ItemRows` of a table, one row per model and item, or a column per model."""
    if models is not None and (named["model"] is not None or named["score"] is not None):
        raise ValueError(
            "models= (--models) describes a wide file, model= and score= a long one. "
            "Pass one or the other."
        )
    try:
        return _items(path, named, models, bad)
    except Undecided as error:
        raise Undecided(f"{error.text} (In {str(path)!r}.)", error.choices) from error
    except ValueError as error:
        # Which of many files it was.
        if str(path) in str(error):
            raise
        raise ValueError(f"{error} (In {str(path)!r}.)") from error


def _items(path, named, models, bad):
    table, of_file = load_categories(path, lambda columns: _label_columns(columns, named), bad)
    table = _with_shares(table, _label_columns(table.columns, named), of_file)
    columns = None if models is not None else group_columns(table, named)
    if columns is not None:
        return _of_groups(table, columns, named, path, bad, of_file)
    columns = wide_models(table, named, models)
    if columns is None:
        items, roles, notes = _from_long(table, named, path, bad)
    else:
        items, roles, notes = _from_wide(table, columns, named, path, bad)
        if models is None:
            notes[1:1] = left_out(table, columns, named)
    notes[:0] = of_file
    items = _with_labels(items, roles, path, bad)
    _refuse_two_settings(items, roles)
    n_blank = int(items["score"].isna().sum())
    if n_blank == len(items):
        raise ValueError("All scores are blank, so there is nothing to estimate.")
    if n_blank:
        notes.append(f"{n_blank} of {len(items)} scores are blank: dropped, not counted as wrong")
    items = without_spare_blanks(items)
    totals = check_totals(items, _topics_of(items, roles))
    notes += totals
    items = with_unique_items(items, roles, notes, path, bad)
    present = items["score"].notna()
    blank = items[~present].drop(columns="score")
    items = items if present.all() else items[present].reset_index(drop=True)
    return ItemRows(items, _one_name(roles), notes, blank=blank, doubts=totals)


def _with_shares(table, labels, notes):
    """The table with numbers where columns read like 87%."""
    changed = []
    for name in _without(table, labels):
        if pd.api.types.is_numeric_dtype(table[name]):
            continue
        words = table[name].map(lambda cell: str(cell).strip(), na_action="ignore")
        percent = words.map(_PERCENT.fullmatch, na_action="ignore").notna() & words.notna()
        if percent.sum() >= _MOST * words.notna().sum() > 0:
            shares = words.where(percent).str.rstrip(" %").astype(float) / 100
            whole = (percent | words.isna()).all()
            table[name] = shares if whole else table[name].astype(object).mask(percent, shares)
            changed.append(name)
    if changed:
        notes.append(f"percents, taken as shares of 1: {listed(changed, most=6)}")
    return table


def _of_groups(table, columns, named, path, bad, notes):
    """Rows that are results of groups already."""
    empty = np.flatnonzero(table[columns["n"]] == 0) if "n" in columns else []
    if len(empty):
        where = f"{len(empty)} of {len(table)} rows, first in row {empty[0] + 1}"
        notes = [*notes, f"{columns['n']!r} is 0 in {where}: left out, as not run"]
        table = table.drop(index=table.index[empty]).reset_index(drop=True)
    free = table.drop(columns=list(dict.fromkeys(columns.values())))
    roles, said = find_roles(
        free.columns, named | {"score": None, "item": None}, guess=("model", "topic")
    )
    if named["topic"] is None and "topic" in roles:
        _take_finer_topic(free, roles, said)
    rows = _with_labels(_with_standard_names(without_categories(table), roles), roles, path, bad)
    notes = [*notes, *said]
    groups = group_results(rows, columns, roles, notes)
    if "model" not in roles:
        notes.append(ONE_MODEL)
    roles["score"] = [columns.get("k", columns.get("mean"))]
    totals = []
    if "n" in groups:
        right = groups["k"] if "k" in groups else (groups["score"] * groups["n"]).round()
        totals = check_totals(groups.assign(k=right), _topics_of(groups, roles), ("n", "k"))
    notes += totals
    return ItemRows(groups, _one_name(roles), notes, groups=groups, doubts=totals)


def _topics_of(rows, roles):
    """Columns of the rows that make up the topic."""
    topics = roles.get("topic", [])
    return ["topic"] if "topic" in rows and len(topics) == 1 else list(topics)


def _take_finer_topic(table, roles, notes):
    """Of columns that may be the topic, the first in which no group repeats."""
    keys = roles.get("model", [])
    usual = [*find_roles(table.columns, {}, guess=("topic",))[0]["topic"]]
    usual += rivals(table.columns, "topic", usual)
    finer = (name for name in usual if not table.duplicated([*keys, name]).any())
    name = next(finer, None)
    if name not in (None, roles["topic"][0]):
        roles["topic"] = [name]
        notes[:] = [note for note in notes if not note.startswith("topic:")]
        notes.append(f"topic: column {name!r}, in which no group repeats ({OPTIONS['topic']})")


def _one_name(roles):
    return {role: names[0] if len(names) == 1 else names for role, names in roles.items()}


def _refuse_two_settings(items, roles):
    """Without names of items nothing else shows that a group was evaluated twice."""
    if "item" in items:
        return
    keys = [name for name in ("model", "topic", *roles.get("topic", [])) if name in items]
    for name in items.columns.difference([*keys, *ROLES], sort=False):
        if normal(name) not in _SETTINGS:
            continue
        groups = items.groupby(keys, observed=True)[name] if keys else items[name]
        levels = np.max(groups.nunique())
        if levels > 1:
            shown = listed(items[name].dropna().unique(), most=4)
            raise ValueError(
                f"Rows of one model and topic differ in {name!r} ({shown}), so they are no items "
                f"of one evaluation. Keep them apart with topic= (--by), naming {name} beside the "
                f"topic, or as the model ({OPTIONS['model']}), or leave out all but one."
            )


def _label_columns(columns, named):
    roles, _ = find_roles(columns, named)
    labels = [name for role, names in roles.items() if role != "score" for name in names]
    scores = roles.get("score", ())
    others = (*numbers_of_repeats(columns), *columns_of("version", columns))
    return labels + [name for name in others if name not in scores]


def _without(table, taken):
    return [name for name in table.columns if name not in set(taken)]


def _from_long(table, named, path, bad):
    """Items, roles and notes of a file with one row per model and item."""
    roles, notes = find_roles(table.columns, named)
    items = _with_standard_names(table, roles)
    items["score"] = as_numbers(items["score"], roles["score"][0], notes, path, bad)
    if "model" not in roles:
        notes.append(ONE_MODEL)
    else:
        items = _with_versions(items, roles, notes)
    if "item" not in roles:
        notes.append(f"no item column: models may share items or not ({OPTIONS['item']})")
    return items, roles, notes


def _with_versions(items, roles, notes):
    """Models named with their version, where one has several."""
    taken = {name for names in roles.values() for name in names}
    column = next((c for c in columns_of("version", items.columns) if c not in taken), None)
    if column is None:
        return items
    several = items.groupby("model", sort=False, observed=True)[column].transform("nunique") > 1
    if not several.any():
        return items
    named = items["model"].astype(str) + " | " + items[column].astype(str)
    notes.append(f"models in several versions, told apart by {column!r}: each is a model")
    return items.assign(model=items["model"].astype(object).mask(several, named))


def _from_wide(table, models, named, path, bad):
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
    scores = [
        as_numbers(table[name], name, notes, path, bad, MODELS, _how_to_mend(name))
        for name in models
    ]
    items.insert(items.columns.get_loc("item") + 1, "score", np.concatenate(scores))
    roles |= {"score": models}
    return items, roles, notes


def _how_to_mend(name):
    return f" A blank cell is dropped, as no answer; models= without {name!r} leaves it out."


def _with_standard_names(table, roles):
    """Columns in a role under its name and in front; impostors get a suffix."""
    played = {role: names[0] for role, names in roles.items() if len(names) == 1}
    for name in roles.get("topic", []):
        if name not in played.values() and name in played:
            raise ValueError(
                f"Column {name!r} cannot be of the topic while {played[name]!r} is the {name}: "
                "rename it in the file."
            )
    others = table.drop(columns=list(played.values()))
    impostors = [name for name in ROLES if name not in roles.get("topic", [])]
    others = others.rename(columns={name: f"{name}_in_file" for name in impostors})
    order = [role for role in ("model", "topic", "item", "score", "cluster") if role in played]
    # A column may play two roles: a question answered several times is item and cluster.
    return pd.concat([*(table[played[role]].rename(role) for role in order), others], axis=1)


def _with_labels(items, roles, path, bad):
    """Items of which no label is blank."""
    labels = [role for role in ("model", "topic", "item", "cluster") if role in items]
    for name in dict.fromkeys([*labels, *roles.get("topic", [])]):
        if name in items and items[name].isna().any():
            blank = np.flatnonzero(items[name].isna())
            shown = roles[name][0] if name in roles else name
            if not bad.skip:
                raise ValueError(
                    f"The {name} is blank in {blank.size} of {len(items)} rows, first in row "
                    f"{blank[0] + 1} of column {shown!r}. Fill it in, or remove these rows."
                )
            for row in blank:
                bad.refuse(path, f"row {row + 1}", f"the {name} is blank")
            items = items.drop(index=items.index[blank]).reset_index(drop=True)
        if name in items:
            whole = items[name].dtype == "Int64"
            items[name] = of_one_type(items[name].astype("int64") if whole else items[name])
    return items
