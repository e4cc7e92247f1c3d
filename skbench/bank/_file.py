"""One Parquet file per bank: plain columns, no pickle."""

import json

import numpy as np
import pandas as pd

from skbench._checks import plain

_FORMAT = 1
_KEY = b"skbench_item_bank"


def write_bank(bank, path):
    """Write items, easiness, components and the scores of every model."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        **{role: [plain(name) for name in bank.items_[role]] for role in ("topic", "item")},
        "easiness": bank.easiness_,
        "n_answers": bank.n_answers_,
    }
    columns |= {f"component {j}": column for j, column in enumerate(bank.components_.T)}
    scores = bank.scores_.T
    whole = bank.binary_ and np.isin(scores[np.isfinite(scores)], (0, 1)).all()
    for j, column in enumerate(scores):
        kind = pa.int8() if whole else pa.float32()
        gaps = np.isnan(column)
        columns[f"score {j}"] = pa.array(np.where(gaps, 0, column), mask=gaps).cast(kind)
    told = {
        "format": _FORMAT,
        "models": [plain(name) for name in bank.models_],
        "ability": bank.ability_.tolist(),
        "binary": bank.binary_,
        "n_components": bank.n_components,
        "columns": {role: getattr(bank, role) for role in ("model", "topic", "item", "score")},
    }
    table = pa.table(columns)
    pq.write_table(table.replace_schema_metadata({_KEY: json.dumps(told)}), path)


def read_bank(cls, path):
    """A fitted bank from such a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except pa.ArrowInvalid:  # no Parquet
        raise _no_bank(path) from None
    told = (table.schema.metadata or {}).get(_KEY)
    if told is None:
        raise _no_bank(path)
    told = json.loads(told)
    if told["format"] != _FORMAT:
        raise ValueError(
            f"{str(path)!r} has format {told['format']}, this version reads {_FORMAT}. "
            "Save the bank again with this version."
        )
    scores = [
        table.column(f"score {j}").to_numpy().astype(np.float32) for j in range(len(told["models"]))
    ]
    names = [name for name in table.column_names if name.startswith("component ")]
    bank = cls(n_components=told["n_components"], **told.get("columns", {}))
    items = pd.DataFrame({name: table.column(name).to_pylist() for name in ("topic", "item")})
    models = pd.Index(told["models"], name="model")
    bank._keep(np.stack(scores, axis=1), items, models, told["binary"])
    bank.easiness_, bank.ability_ = table.column("easiness").to_numpy(), np.array(told["ability"])
    components = [table.column(name).to_numpy() for name in names]
    bank.components_ = np.stack(components, axis=1) if names else np.zeros((len(items), 0))
    return bank


def _no_bank(path):
    """The error of a file that holds no bank."""
    return ValueError(
        f"{str(path)!r} is not a saved item bank. Make one with ItemBank().fit(past).save(path)."
    )
