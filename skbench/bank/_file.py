"""One Parquet file per bank: plain columns, no pickle."""

import json

import numpy as np
import pandas as pd

_FORMAT = 1
_KEY = b"skbench_item_bank"


def write_bank(bank, path):
    """Write items, easiness, components and the scores of every model."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        "topic": _plain_column(bank.items_["topic"]),
        "item": _plain_column(bank.items_["item"]),
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
        "models": [_plain_name(name) for name in bank.models_],
        "ability": bank.ability_.tolist(),
        "binary": bank.binary_,
        "n_components": bank.n_components,
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
    bank = cls(n_components=told["n_components"])
    items = pd.DataFrame({name: table.column(name).to_pylist() for name in ("topic", "item")})
    components = [table.column(name).to_numpy() for name in names]
    return bank._restored(
        scores=np.stack(scores, axis=1),
        items=items,
        models=pd.Index(told["models"], name="model"),
        binary=told["binary"],
        easiness=table.column("easiness").to_numpy(),
        ability=np.array(told["ability"]),
        components=np.stack(components, axis=1) if names else np.zeros((len(items), 0)),
    )


def _no_bank(path):
    return ValueError(
        f"{str(path)!r} is no item bank, a file that ItemBank.save wrote. Fit a bank with "
        "ItemBank().fit(past) and save it; commands take results of earlier models as they are "
        "by --past."
    )


def _plain_column(column):
    """Labels as Parquet has them: of one type."""
    return [_plain_name(value) for value in column]


def _plain_name(value):
    return value.item() if isinstance(value, np.generic) else value
