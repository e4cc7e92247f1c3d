"""One Parquet file per bank: plain columns, no pickle."""

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
        **{role: _kept(role, bank.items_[role], _in_parquet) for role in _LABELS},
        "easiness": bank.easiness_,
        "n_answers": bank.n_answers_,
    }
    columns |= {f"component {j}": column for j, column in enumerate(bank.components_.T)}
    kind = _narrowest(bank)
    for j, column in enumerate(bank.scores_.T):
        gaps = np.isnan(column)
        columns[f"score {j}"] = pa.array(np.where(gaps, 0, column), mask=gaps).cast(kind)
    told = {
        "format": _FORMAT,
        "models": _kept("model", bank.models_, _in_json),
        "ability": bank.ability_.tolist(),
        "binary": bank.binary_,
        "n_components": bank.n_components,
        "columns": {role: getattr(bank, role) for role in _ROLES},
    }
    table = pa.table(columns).replace_schema_metadata({_KEY: json.dumps(told)})
    with whole_file(path) as file:
        pq.write_table(table, file)


def _kept(role, labels, stored):
    """Labels that a file gives back as they are: `stored` says what it makes of them."""
    import pyarrow as pa

    def come_back(names):
        try:
            return stored(names) == names
        except (pa.ArrowException, TypeError, OverflowError, UnicodeError):
            return False

    labels = [plain(name) for name in labels]
    if not come_back(labels):
        bad = next((name for name in labels if not come_back([name])), labels[0])
        raise ValueError(
            f"{role} {bad!r} cannot be saved in a bank as it is. Make the {role}s text, or whole "
            "numbers below 2**63, and fit it again."
        )
    return labels


def _in_parquet(labels):
    import pyarrow as pa

    return pa.array(labels).to_pylist()


def _in_json(labels):
    return json.loads(json.dumps(labels))


def _narrowest(bank):
    """The narrowest type of pyarrow that holds the scores as they are."""
    import pyarrow as pa

    known = bank.scores_[np.isfinite(bank.scores_)]
    if bank.binary_ and np.isin(known, (0, 1)).all():
        return pa.int8()
    with np.errstate(over="ignore"):
        return pa.float32() if np.array_equal(known.astype(np.float32), known) else pa.float64()


def read_bank(cls, path):
    """A fitted bank from such a file; one that is not as it was written is refused."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with open(path, "rb") as file:  # once: it may be replaced meanwhile
        try:
            table = pq.read_table(file)
        except (pa.ArrowException, OSError):  # no Parquet, or not all of it
            table = pa.table({})
    told = (table.schema.metadata or {}).get(_KEY)
    if told is None:
        raise ValueError(
            f"{str(path)!r} is not a saved item bank. Make one with "
            "ItemBank().fit(past).save(path)."
        )
    try:
        bank = _restored(cls, json.loads(told), table)
        for part, is_whole in _parts(bank).items():
            if not is_whole:
                raise ValueError(f"it is damaged, as its {part} cannot be")
        return bank
    except (KeyError, TypeError, OverflowError, RecursionError, UnicodeError, json.JSONDecodeError):
        reason = "it is damaged, its description does not fit its columns"
    except ValueError as error:
        reason = error
    raise ValueError(f"{str(path)!r} cannot be read: {reason}. Save the bank again.")


def _restored(cls, told, table):
    """The bank that a table and its description tell of."""
    if told["format"] != _FORMAT:
        raise ValueError(f"it has format {told['format']!r}, this version reads {_FORMAT}")
    models = pd.Index(told["models"], name="model")
    items = pd.DataFrame({name: table.column(name).to_pylist() for name in _LABELS})
    n_kept = sum(name.startswith("component ") for name in table.column_names)
    scores, components = (
        [f"{part} {j}" for j in range(n)]
        for part, n in (("score", len(models)), ("component", n_kept))
    )
    bank = cls(n_components=told["n_components"], **told.get("columns", {}))
    bank._keep(_numbers(table, scores), items, models, told["binary"])
    bank.easiness_ = _numbers(table, ["easiness"])[:, 0]
    bank.components_ = _numbers(table, components)
    bank.ability_ = np.array([0.0 + value for value in told["ability"]])
    known = [*_LABELS, "easiness", "n_answers", *scores, *components]
    if sorted(known) != sorted(table.column_names):
        raise KeyError
    if np.any(bank.n_answers_ != _numbers(table, ["n_answers"])[:, 0]):
        raise ValueError("it is damaged, answers are lacking")
    return bank


def _numbers(table, names):
    """Columns of numbers as an array, as narrow as answers that are right or wrong allow."""
    columns = [table.column(name).to_numpy() for name in names]
    if any(column.dtype.kind not in "iuf" for column in columns):
        raise TypeError
    narrow = columns and all(str(table.schema.field(name).type) == "int8" for name in names)
    columns = [column.astype(np.float32 if narrow else float) for column in columns]
    return np.stack(columns, axis=1) if columns else np.zeros((len(table), 0))


def _parts(bank):
    """Parts of a bank, and whether each is one that `fit` can leave."""
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
