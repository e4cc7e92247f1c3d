"""Turn records of JSON files into a table with one column per field."""

import json
from itertools import chain

from skbench._checks import listed
from skbench.readers._exact import concatenated, exact_frame
from skbench.readers._json import (
    Complete,
    beginning,
    blocks,
    decoded,
    document,
    has_an_object_per_line,
    only_objects,
    open_bytes,
    record_of,
)

_ABSENT = float("nan")
_BLANK = (_ABSENT, None)
_LONGEST_LABEL = 300  # characters; longer texts are prompts or answers


def read_json_table(path, bad):
    """Return a DataFrame with one column per field, without lists, and notes.

    Nested fields have dotted names. If the document is one object, its records are in a list, and
    the fields beside the list belong to all records.
    """
    lists = set()
    columns = _parts_of_table(path, bad, lists)
    parts = [exact_frame(part, n) for part, n in columns]
    names = [name for name in dict.fromkeys(chain(*parts)) if name not in lists]
    # A column without values takes its type from the other parts.
    known = [part.dropna(axis="columns", how="all") for part in parts]
    table = concatenated(known).reindex(columns=names)
    return table, ignored_columns_note(sorted(lists))


def ignored_columns_note(names):
    """Return a note on columns that cannot be labels or scores."""
    if not names:
        return []
    columns = f"{len(names)} column{'s' * (len(names) > 1)} of lists or long texts"
    return [f"ignored {columns}: {listed(names, most=8)}"]


def _parts_of_table(path, bad, lists):
    """Yield columns and their number of records."""
    whole = object_of_lists(path)
    if whole is None:
        for objects in blocks(path, bad):
            yield _columns(objects.values(), lists), len(objects)
        return
    found = dict(_lists_of_objects(whole))
    if len(found) > 1:
        raise ValueError(
            f"{str(path)!r} has {len(found)} lists of records: {listed(found)}. Save the list "
            "with the results as a separate file."
        )
    ((place, elements),) = found.items()
    objects = only_objects(path, enumerate(elements, start=1), bad, "element {}")
    beside = _columns([whole] * len(objects), set())
    _add(beside, _columns(objects.values(), lists, f"{place}."))
    yield beside, len(objects)


def _columns(rows, lists, place=""):
    """Return columns by dotted field names, with nan where a record lacks the field."""
    columns = {}
    for key, values in _fields(rows).items():
        name, kinds = f"{place}{key}", set(map(type, values))
        if dict in kinds:
            objects = [value if type(value) is dict else {} for value in values]
            _add(columns, _columns(objects, lists, f"{name}."))
            values = [_ABSENT if type(value) is dict else value for value in values]
            if all(value is _ABSENT for value in values):
                continue
        if list in kinds or (str in kinds and _longest(values, kinds) > _LONGEST_LABEL):
            lists.add(name)
        else:
            _add(columns, {name: values})
    return columns


def _add(columns, others):
    """Add columns. Raise if a record has a field twice."""
    for name, values in others.items():
        if name in columns:
            pairs = list(zip(columns[name], values, strict=True))
            if any(first not in _BLANK and second not in _BLANK for first, second in pairs):
                raise ValueError(
                    f"A record has the field {name!r} twice: under this name and in a nested "
                    "object. Remove one of them."
                )
            values = [second if first in _BLANK else first for first, second in pairs]
        columns[name] = values


def _fields(rows):
    keys = next(iter(rows), {})
    try:
        if max(map(len, rows), default=0) > len(keys):
            raise KeyError
        return {key: [row[key] for row in rows] for key in keys}
    except KeyError:  # not all have the fields of the first
        keys = dict.fromkeys(chain.from_iterable(rows))
        return {key: [row.get(key, _ABSENT) for row in rows] for key in keys}


def _longest(values, kinds):
    texts = values if kinds == {str} else [value for value in values if type(value) is str]
    return max(map(len, texts))


def object_of_lists(path):
    """Return the object in a file if it contains lists of objects, else None."""
    if beginning(path)[:1] != b"{" or has_an_object_per_line(path):
        return None
    try:
        whole = document(path)
    except Complete:
        if any(_lists_of_objects(_last_of_equal_keys(path))):
            raise
        return None
    except (OSError, ValueError):
        return None
    try:
        whole = _with_records(whole)
    except Complete as error:
        raise Complete(f"Cannot read {str(path)!r}: {error}.") from None
    return whole if any(_lists_of_objects(whole)) else None


def _last_of_equal_keys(path):
    """Return the object in a file that `document` refuses, or an empty one."""
    try:
        with open_bytes(path) as file:
            whole = json.loads(decoded(file.read()))
    except (RecursionError, ValueError):
        return {}
    return whole if isinstance(whole, dict) else {}


def _with_records(whole):
    """Return an object in which tables of pandas or W&B (rows as lists of cells) are records."""
    names, rows = whole.get("columns"), whole.get("data")
    if not (type(names) is type(rows) is list and {type(row) for row in rows} == {list}):
        return whole
    return {"data": [record_of(zip(names, row, strict=True)) for row in rows]}


def _lists_of_objects(value, place=""):
    """Yield the outermost lists of objects with their dotted names."""
    for key, part in value.items():
        if isinstance(part, dict):
            yield from _lists_of_objects(part, f"{place}{key}.")
        elif isinstance(part, list) and part and isinstance(part[0], dict):
            yield f"{place}{key}", part
