"""Save a bank in one Parquet file of plain columns, without pickle."""

import json

import numpy as np
import pandas as pd

from skbench._checks import LARGEST, plain
from skbench._files import whole_file

_FORMAT = 1
_KEY = b"skbench_item_bank"
_LABELS, _ROLES = ["topic", "item"], ("model", "topic", "item", "score")


def write_bank(bank, path):
    """Write items, easiness, components and the scores of every model."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        **{role: _preserved(role, bank.items_[role], _in_parquet) for role in _LABELS},
        "easiness": bank.easiness_,
        "n_answers": bank.n_answers_,
    }
    columns |= {f"component {j}": column for j, column in enumerate(bank.components_.T)}
    kind = _narrowest(bank)
    for j, column in enumerate(bank.scores_.T):
        gaps = np.isnan(column)
        columns[f"score {j}"] = pa.array(np.where(gaps, 0, column), mask=gaps).cast(kind)
    description = {
        "format": _FORMAT,
        "models": _preserved("model", bank.models_, _in_json),
        "ability": bank.ability_.tolist(),
        "binary": bank.binary_,
        "n_components": bank.n_components,
        "columns": {role: getattr(bank, role) for role in _ROLES},
    }
    table = pa.table(columns).replace_schema_metadata({_KEY: json.dumps(description)})
    with whole_file(path) as file:
        pq.write_table(table, file)


def _preserved(role, labels, stored):
    """Labels, after checking that they survive storage; `stored` returns them as read back."""
    import pyarrow as pa

    def unchanged(names):
        try:
            return stored(names) == names
        except (pa.ArrowException, TypeError, OverflowError, UnicodeError):
            return False

    labels = [plain(name) for name in labels]
    if not unchanged(labels):
        bad = next((name for name in labels if not unchanged([name])), labels[0])
        raise ValueError(
            f"A bank cannot store {role} {bad!r} unchanged. Convert all {role}s to text, or to "
            "integers below 2**63, and fit the bank again."
        )
    return labels


def _in_parquet(labels):
    import pyarrow as pa

    return pa.array(labels).to_pylist()


def _in_json(labels):
    return json.loads(json.dumps(labels))


def _narrowest(bank):
    """The narrowest pyarrow type that holds the scores without loss."""
    import pyarrow as pa

    known = bank.scores_[np.isfinite(bank.scores_)]
    if bank.binary_ and np.isin(known, (0, 1)).all():
        return pa.int8()
    with np.errstate(over="ignore"):
        return pa.float32() if np.array_equal(known.astype(np.float32), known) else pa.float64()


def read_bank(cls, path):
    """Read a fitted bank, after checking that the file is complete and consistent."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with open(path, "rb") as file:  # opened once, because it may be replaced meanwhile
        try:
            table = pq.read_table(file)
        except (pa.ArrowException, OSError):  # not a Parquet file, or truncated
            table = pa.table({})
    description = (table.schema.metadata or {}).get(_KEY)
    if description is None:
        raise ValueError(
            f"{str(path)!r} is not a saved item bank. Make one with "
            "ItemBank().fit(past).save(path)."
        )
    try:
        bank = _restored(cls, json.loads(description), table)
        for part, is_valid in _parts(bank).items():
            if not is_valid:
                raise ValueError(f"the file is damaged (invalid {part})")
        return bank
    except (KeyError, TypeError, OverflowError, RecursionError, UnicodeError, json.JSONDecodeError):
        reason = "the file is damaged (its description does not match its columns)"
    except ValueError as error:
        reason = error
    raise ValueError(f"{str(path)!r} cannot be read: {reason}. Save the bank again.")


def _restored(cls, description, table):
    """The bank of a table and its description."""
    if (found := description["format"]) != _FORMAT:
        raise ValueError(f"the file has format {found!r}, but this version reads {_FORMAT}")
    models = pd.Index(description["models"], name="model")
    items = pd.DataFrame({name: table.column(name).to_pylist() for name in _LABELS})
    n_kept = sum(name.startswith("component ") for name in table.column_names)
    scores, components = (
        [f"{part} {j}" for j in range(n)]
        for part, n in (("score", len(models)), ("component", n_kept))
    )
    bank = cls(n_components=description["n_components"], **description.get("columns", {}))
    bank._keep(_numbers(table, scores), items, models, description["binary"])
    bank.easiness_ = _numbers(table, ["easiness"])[:, 0]
    bank.components_ = _numbers(table, components)
    bank.ability_ = np.array([0.0 + value for value in description["ability"]])
    known = [*_LABELS, "easiness", "n_answers", *scores, *components]
    if sorted(known) != sorted(table.column_names):
        raise KeyError
    if np.any(bank.n_answers_ != _numbers(table, ["n_answers"])[:, 0]):
        raise ValueError("the file is damaged (answers are missing)")
    return bank


def _numbers(table, names):
    """Numeric columns as an array, in single precision for 0/1 scores."""
    columns = [table.column(name).to_numpy() for name in names]
    if any(column.dtype.kind not in "iuf" for column in columns):
        raise TypeError
    narrow = columns and all(str(table.schema.field(name).type) == "int8" for name in names)
    columns = [column.astype(np.float32 if narrow else float) for column in columns]
    return np.stack(columns, axis=1) if columns else np.zeros((len(table), 0))


def _parts(bank):
    """Whether each part of a bank has a value that `fit` can produce."""
    models, items, scores = bank.models_, bank.items_, bank.scores_
    low, high = (0, 1) if bank.binary_ else (-LARGEST, LARGEST)
    return {
        "settings": all(isinstance(getattr(bank, role), str) for role in _ROLES)
        and type(bank.n_components) is int,
        "models": len(models) and models.is_unique and not models.hasnans,
        "items": len(items) and not (items.duplicated() | items.isna().any(axis=1)).any(),
        "kind of scores": type(bank.binary_) is bool,
        "scores": np.all((low <= scores) & (scores <= high) | np.isnan(scores)),
        "easiness": np.isfinite(bank.easiness_).all(),
        "ability": bank.ability_.shape == (len(models),) and np.isfinite(bank.ability_).all(),
        "components": np.isfinite(bank.components_).all(),
    }
