"""Features of groups: labels, means of item columns, and a joined table."""

import narwhals as nw
import numpy as np
import pandas as pd

from skbench.items.rows import collected, concatenated, group_labels


def item_texts(frame, by, names, labels):
    """Return column -> text of each group."""
    texts = {}
    for name in names:
        pairs = collected(frame.select([*by, name]).unique(), by)
        keys, values = group_labels(pairs, by), pairs[name].astype(object)
        values = values.where(values.notna(), None)  # engines have different missing values
        if keys.has_duplicates:
            group = keys[keys.duplicated()][0]
            first, second = values[keys == group].tolist()[:2]
            raise ValueError(
                f"features names column {name!r}, but group {group!r} has different texts, such "
                f"as {first!r} and {second!r}. Pass a numeric column, or text that is constant "
                "within groups."
            )
        texts[name] = values.to_numpy()[keys.get_indexer(labels)]
    return texts


def joined_features(sums, labels, by, columns, features, texts):
    """Return the features of each group: item columns, texts and a joined table."""
    X = sums[by].copy()
    for name in columns:
        if name in texts or f"_mean {name}" in sums:
            X[name] = texts[name] if name in texts else sums[f"_mean {name}"].to_numpy()
    if features is not None:
        X = _joined(X, _as_table(features), by)
    X.index = labels
    return X


def _as_table(features):
    features = features.to_frame() if isinstance(features, pd.Series) else features
    if not isinstance(features, pd.DataFrame):
        frame = nw.from_native(features)
        frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        return pd.DataFrame(frame.to_dict(as_series=False))
    levels = [name for name in features.index.names if name is not None]
    both = [name for name in levels if name in features.columns]
    if both:
        raise ValueError(
            f"The table of features has {both[0]!r} as index and as column. Keep one of them."
        )
    return features.reset_index() if levels else features


def _joined(X, table, by):
    keys = [name for name in by if name in table.columns]
    if not keys:
        raise ValueError(
            f"The table of features needs one of the columns {by} as key. Its columns are: "
            f"{', '.join(map(str, table.columns))}."
        )
    repeated = table.duplicated(keys)
    if repeated.any():
        raise ValueError(
            f"The table of features has two rows for {_key(table, keys, repeated)}. "
            "Keep one row per group."
        )
    both = concatenated([X[keys], table[keys]], keys)
    known, wanted = (group_labels(part, keys) for part in (both[len(X) :], both[: len(X)]))
    row = known.get_indexer(wanted)
    absent = row < 0
    if absent.any():
        first = np.arange(len(table)) == 0
        has = f"Its first row is {_key(table, keys, first)}. " if len(table) else "It is empty. "
        raise ValueError(
            f"The table of features has no row for {_key(X, keys, absent)} "
            f"({int(absent.sum())} groups lack one). {has}Add the rows, or remove the groups."
        )
    features = table.drop(columns=keys).iloc[row]
    return pd.concat([X, features.set_axis(X.index)], axis=1)


def _key(table, keys, rows):
    first = table.loc[rows]
    return ", ".join(f"{key}={first[key].tolist()[0]!r}" for key in keys)
