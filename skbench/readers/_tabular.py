"""Turn one table (long, wide or of groups) into rows with standard column names."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from skbench._checks import listed
from skbench._notes import LOST, ROUTINE, Note
from skbench._undecided import Undecided
from skbench.items.roles import ROLES, columns_of, find_roles
from skbench.items.totals import are_statistics
from skbench.readers._exact import exact_labels
from skbench.readers._scores import as_numbers, of_finished
from skbench.readers._wide import free_columns, may_be_scores, wide_models
from skbench.readers.group_results import group_columns, group_results
from skbench.readers.loading import load_categories, without_categories


class Part(NamedTuple):
    """Rows of a table with standard column names, including missing scores."""

    path: Path
    rows: pd.DataFrame
    roles: dict  # role -> columns of the file
    notes: list
    n_lines: int  # rows of the file
    of_groups: bool  # whether each row is the result of a group
    columns: list  # of the file

    @property
    def is_wide(self):
        """Whether the score columns are models."""
        return "model" in self.rows and "model" not in self.roles


def read_part(path, options, bad):
    """Read a table with one row per model and item, one row per group, or one column per model."""
    named, models = {role: getattr(options, role) for role in ROLES}, options.models
    if models is not None and (named["model"] is not None or named["score"] is not None):
        raise ValueError(
            "models= is for a wide file, but model= and score= are for a long one. Pass only one "
            "kind."
        )
    try:
        return _part(path, named, models, bad, options.version)
    except ValueError as error:
        if str(path) in str(error):
            raise
        where = f"(In {str(path)!r}.)"
        if isinstance(error, Undecided):
            raise Undecided(f"{error.text} {where}", error.choices) from error
        raise ValueError(f"{error} {where}") from error


def _part(path, named, models, bad, version):
    def refuse(row, reason):
        bad.refuse(path, f"row {row + 1}", reason)

    def labels(columns):
        return [*_label_columns(columns, named), *[name for name in columns if name == version]]

    table, notes = load_categories(path, labels, bad, version)
    columns = None if models is not None else group_columns(table, named, notes, refuse)
    if columns is not None:
        rows, roles = _of_groups(without_categories(table), columns, named, notes)
    elif (wide := wide_models(table, named, models)) is not None:
        rows, roles = _from_wide(table, wide, named, notes, refuse)
        free = free_columns(table, taken(roles)) if models is None else ()
        if others := [name for name in free if may_be_scores(table[name])]:
            text = f"ignored {listed(others)}: not models (name all models with models=)"
            notes.append(Note(text, LOST))
    else:
        roles, more_notes = find_roles(table.columns, named)
        rows = _with_standard_names(table, roles, version)
        rows["score"] = as_numbers(rows["score"], roles["score"][0], notes, refuse)
        for name in columns_of("status", table.columns.difference(taken(roles))):
            rows["score"] = of_finished(rows["score"], table[name], notes)
        notes += more_notes
    rows = _with_labels(rows, roles, refuse)
    if columns is None and "item" in roles and (sums := are_statistics(rows)).any():
        row = np.argmax(sums)
        refuse(row, f"item {rows['item'][row]!r} is a summary of the other items")
        rows = rows[~sums].reset_index(drop=True)
    return Part(path, rows, roles, notes, len(table), columns is not None, list(table))


def _from_wide(table, models, named, notes, refuse):
    """Return the rows of a wide table, model by model, and the roles of its columns."""
    n = len(table)
    roles, more_notes = find_roles(
        table.columns.drop(models), named, guess=("item", "cluster", "topic")
    )
    text = f"one score column for each of {len(models)} models: {listed(models)}"
    notes += [Note(text, ROUTINE), *more_notes]
    rows = _with_standard_names(table.drop(columns=models), roles)
    if "item" not in roles:
        notes.append("no item column, so the row number is the item (name it with item=)")
        rows.insert(0, "item", np.arange(1, n + 1))
    scores = [as_numbers(table[name], name, notes, refuse) for name in models]
    rows = rows.iloc[np.tile(np.arange(n), len(models))].reset_index(drop=True)
    rows.insert(0, "model", np.repeat(np.array(models, dtype=object), n))
    rows.insert(rows.columns.get_loc("item") + 1, "score", np.concatenate(scores))
    return rows, roles | {"score": models}


def _of_groups(table, columns, named, notes):
    """Return the rows of a table of results of groups, and the roles of its columns."""
    empty = np.flatnonzero(table[columns["n"]] == 0) if "n" in columns else []
    if len(empty):
        where = f"{len(empty)} of {len(table)} rows (first in row {empty[0] + 1})"
        notes.append(Note(f"skipped {where} because {columns['n']!r} is 0", LOST))
        table = table.drop(index=table.index[empty]).reset_index(drop=True)
    free = table.columns.drop(list(set(columns.values())))
    named = named | {"score": None, "item": None}
    roles, more_notes = find_roles(free, named, guess=("model", "topic"))
    # The topic is the first candidate with one row per group.
    finer = [
        name
        for name in columns_of("topic", free)
        if not table.duplicated([*roles.get("model", []), name]).any()
    ]
    if named["topic"] is None and finer and roles.get("topic") != finer[:1]:
        roles, more_notes = find_roles(free, named | {"topic": finer[0]}, guess=("model",))
        text = f"column {finer[0]!r} is the topic, with one row per group (choose with topic=)"
        more_notes.append(text)
    notes += more_notes
    groups = group_results(_with_standard_names(table, roles), columns, notes)
    return groups, roles | {"score": [columns.get("k", columns.get("mean"))]}


def _label_columns(columns, named):
    """Return columns whose cells are labels, even if they look like numbers."""
    roles, _ = find_roles(columns, named)
    others = [*columns_of("attempt", columns), *columns_of("version", columns)]
    scores = roles.pop("score", [])
    return list(taken(roles)) + [name for name in others if name not in scores]


def taken(roles):
    """Return the columns that play a role."""
    return {name for names in roles.values() for name in names}


def _with_standard_names(table, roles, kept=None):
    """Rename columns to their roles, and put them first.

    Other columns with the name of a role get a suffix. The column `kept` also keeps its own name.
    """
    played = {role: names[0] for role, names in roles.items() if len(names) == 1}
    for name in roles.get("topic", []):
        if name not in played.values() and name in played:
            raise ValueError(
                f"Column {name!r} cannot be a topic, because column {played[name]!r} is the "
                f"{name}. Rename {name!r} in the file."
            )
    gone = [name for name in played.values() if name != kept or name in ROLES]
    others = table.drop(columns=gone)
    misnamed = [name for name in ROLES if name not in roles.get("topic", [])]
    others = others.rename(columns={name: f"{name}_in_file" for name in misnamed})
    order = [role for role in ("model", "topic", "item", "score", "cluster") if role in played]
    # A column may play two roles: a question with several answers is an item and a cluster.
    return pd.concat([*(table[played[role]].rename(role) for role in order), others], axis=1)


def _with_labels(items, roles, refuse):
    """Return the items without missing labels."""
    labels = [role for role in ("model", "topic", "item", "cluster") if role in items]
    for name in dict.fromkeys([*labels, *roles.get("topic", [])]):
        if name not in items:
            continue
        blank = (items[name].isna() | (items[name] == "")).to_numpy(dtype=bool, na_value=True)
        for row in np.flatnonzero(blank):
            more = f" (and in {blank.sum() - 1} other rows)" if blank.sum() > 1 else ""
            shown = roles.get(name, [name])[0]
            refuse(row, f"column {shown!r} (the {name}) has no value{more}")
        items = items[~blank].reset_index(drop=True) if blank.any() else items
        items[name] = exact_labels(items[name])
    return items
