"""Several tables of one kind -> item rows, one table below the other."""

import os
from pathlib import Path

import numpy as np
import pandas as pd

from skbench._checks import listed, of_one_type
from skbench.items.roles import OPTIONS, columns_of
from skbench.readers._found import ItemRows
from skbench.readers._tabular import ONE_MODEL, table_items
from skbench.readers.loading import n_shared, plain, without_suffixes


def tables_items(files, named, models, bad):
    """`ItemRows` of all files; without a model column, each file is a model of its name."""
    parts = [table_items(file, named, models, bad) for file in files]
    if len(parts) == 1:
        return parts[0]
    parts = [plain(part) for part in parts]
    columns = parts[0].columns
    if len({part.groups is None for part in parts}) > 1:
        raise ValueError(
            f"Some of {listed([str(file) for file in files], most=3)} hold results of items and "
            "others of groups. Read them one by one."
        )
    _check_same_columns(files, parts)
    notes = [f"{len(files)} tables, one below the other", *_name_models(files, parts)]
    items = pd.concat([part.items for part in parts], ignore_index=True)
    if "topic" not in columns and "topic" in items:
        columns = {**columns, "topic": "topic"}
        if "item" in items:
            items["item"] = items["topic"].astype(str) + "/" + items["item"].astype(str)
            ends = np.cumsum([len(part.items) for part in parts])[:-1]
            parts = [
                part._replace(items=items.iloc[rows])
                for part, rows in zip(parts, np.split(np.arange(len(items)), ends), strict=True)
            ]
    for name in columns:
        if name in items:
            items[name] = of_one_type(items[name])
    _refuse_items_of_two_files(files, parts, items)
    said = dict.fromkeys(note for part in parts for note in part.notes)
    notes += (note for note in said if note != ONE_MODEL)
    blank = [part.blank for part in parts if part.blank is not None and len(part.blank)]
    return ItemRows(
        items,
        {"model": "model", **columns},
        notes,
        groups=None if parts[0].groups is None else items,
        blank=pd.concat(blank, ignore_index=True) if blank else None,
        doubts=list(dict.fromkeys(doubt for part in parts for doubt in part.doubts)),
    )


def _check_same_columns(files, parts):
    first = set(parts[0].columns)
    for file, part in zip(files, parts, strict=True):
        if set(part.columns) - {"model"} != first - {"model"}:
            raise ValueError(
                f"{str(file)!r} and {str(files[0])!r} do not have the same columns. Read them one "
                f"by one, or name the columns."
            )


def _name_models(files, parts):
    """Name models for their files where no column does, and say so."""
    frames = [part.items for part in parts]
    named = {str(name) for part in frames if "model" in part for name in part["model"].unique()}
    nameless = [i for i, part in enumerate(frames) if "model" not in part]
    if len(nameless) == len(files) and (grid := _grid(files, frames)) is not None:
        models, topics, what, other = grid
        has_topics = all("topic" in frame for frame in frames)
        for part, model, topic in zip(parts, models, topics, strict=True):
            for frame in (part.items, part.blank):
                if frame is not None:
                    frame.insert(0, "model", model)
                    if not has_topics:
                        frame.insert(1, "topic", topic)
        yield (
            f"no model column: {what}s are the models ({listed(dict.fromkeys(models), most=6)})"
            + f", {other}s the topics" * (not has_topics)
        )
        return
    names = _names_of_files([files[i] for i in nameless], named) if nameless else []
    for i, name in zip(nameless, names, strict=True):
        for frame in (frames[i], parts[i].blank):
            if frame is not None:
                frame.insert(0, "model", name)
    if nameless:
        yield (
            f"no model column: each file is one model, named for it: {listed(names, most=6)} "
            f"({OPTIONS['model']})"
        )


def _grid(files, frames):
    """Models and topics where files of the same names stand in several folders, else None."""
    # Files of the same items are of one topic. Where that does not tell, a folder is a model.
    names = [without_suffixes(file) for file in files]
    folders = [file.parent.name for file in files]
    cells = set(zip(folders, names, strict=True))
    if len(cells) < len(files) or len(set(folders)) < 2:
        return None
    if len(files) <= max(len(set(folders)), len(set(names))):
        return None
    if not all(names.count(name) == len(set(folders)) for name in names):
        return None
    by_name, by_folder = (_same_items(key, frames) for key in (names, folders))
    if by_folder and not by_name:
        return names, folders, "file name", "folder"
    return folders, names, "folder", "file name"


def _same_items(keys, frames):
    """Whether files of one key hold the same items."""
    items = {}
    for key, frame in zip(keys, frames, strict=True):
        own = tuple(frame["item"]) if "item" in frame else len(frame)
        items.setdefault(key, set()).add(own)
    return all(len(found) == 1 for found in items.values())


def _names_of_files(files, taken):
    """The shortest names that tell files apart: of the file, of its folders, or of both."""
    whole = [Path(os.path.abspath(file)) for file in files]
    parts = [path.with_name(without_suffixes(path)).parts for path in whole]
    candidates = (
        [path[-1] for path in parts],
        _without_shared_parts(parts),
        _without_shared_parts([path.parts for path in whole]),
    )
    return next(
        (names for names in candidates if len({*names, *taken}) == len(names) + len(taken)),
        [str(path) for path in whole],
    )


def _without_shared_parts(paths):
    paths = [path[n_shared(paths) :] for path in paths]
    n_last = n_shared([path[::-1] for path in paths])
    return ["/".join(path[: len(path) - n_last]) for path in paths]


def _refuse_items_of_two_files(files, parts, items):
    if "item" not in items:
        return
    keys = [name for name in ("model", "topic", "item") if name in items]
    columns = parts[0].columns
    if columns.get("cluster") == columns["item"]:
        keys += columns_of("attempt", items)
    of_files = pd.concat([part.items[keys].drop_duplicates() for part in parts])
    twice = of_files[of_files.duplicated()]
    if len(twice):
        row = twice.iloc[0]
        raise ValueError(
            f"Model {row['model']!r} has item {str(row['item'])!r} in more than one of "
            f"{listed([str(file) for file in files], most=3)}. Leave out what is there twice."
        )
