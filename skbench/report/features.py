"""What the commands predict groups from besides their labels."""

from pathlib import Path

import click

from skbench.report.terminal import DataError, say

_TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".pq", ".gz", ".bz2", ".xz", ".zst")
_ROLES = ("model", "topic", "item", "score", "cluster")

features_option = click.option(
    "--features", help="Columns to predict from (a,b,c), or a file with such columns."
)


def find_features(rows, by, asked, population=None):
    """What to predict from besides the labels; says what there is and is not used.

    Parameters
    ----------
    rows : ItemRows
        From `read_with_notes`.
    by : list of str
        Columns that define the groups.
    asked : str or None
        Of --features.
    population : str or None, default=None
        Of --population, which may be a column.

    Returns
    -------
    DataFrame, list of str or None
        A table, columns of the items, or nothing.

    Raises
    ------
    DataError
        If there is no such column.
    """
    if asked is not None and Path(asked).suffix in _TABLE_SUFFIXES:
        from skbench.readers import read_features

        features = read_features(asked, rows.columns)
        say(f"features: {', '.join(features.columns.difference(by, sort=False))}")
        return features
    names = [] if asked is None else [name.strip() for name in asked.split(",")]
    free = other_columns(rows.items)
    unused = [name for name in free if name not in (*by, *names, population)]
    if unused:
        say(f"not used: {', '.join(unused)} (--features)")
    for name in names:
        if name not in free:
            raise DataError(
                f"--features names column {name!r}, but there are only: "
                f"{', '.join(free) or 'none'}."
            )
    return names or None


def other_columns(items):
    """Columns of the items that have no role."""
    roles = _ROLES if "item" in items else (*_ROLES, "n", "k", "standard_error")  # of groups
    return [name for name in items if name not in roles]
