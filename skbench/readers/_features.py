"""A table of group features that goes with items read from a file."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from skbench._types import Path
from skbench.readers.loading import load_table


def read_features(path: Path, columns: Mapping[str, str]) -> pd.DataFrame:
    """A table of group features, its key columns named as in the items.

    Parameters
    ----------
    path : str or path-like
        A .csv or .tsv file, possibly compressed, or a .parquet file.
    columns : dict of str to str
        Which column of the file of items plays which role, from
        `skbench.readers.read_with_notes`. Where the table has the columns that were model and
        topic in that file, they get the names `model` and `topic`.

    Returns
    -------
    pandas.DataFrame
        Ready for ``summarize_items(..., features=...)``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is empty or cannot be read.
    TypeError
        If `columns` is no dict.

    Examples
    --------
    >>> import os, tempfile
    >>> from skbench.readers import read_with_notes
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results, table = (os.path.join(folder, f"{name}.csv") for name in ("r", "f"))
    ...     _ = open(results, "w").write("system,task,id,correct\\nada,law,1,1\\n")
    ...     _ = open(table, "w").write("task,length\\nlaw,12.5\\n")
    ...     read_features(table, read_with_notes(results).columns)
      topic  length
    0   law    12.5
    """
    if not isinstance(columns, dict):
        raise TypeError(
            f"columns must be the dict of columns that read_with_notes(path).columns is, got "
            f"{type(columns).__name__}."
        )
    roles = ("model", "topic")
    keys = {columns[role]: role for role in roles if isinstance(columns.get(role), str)}
    table, _ = load_table(path, lambda columns: [*keys, *keys.values()])
    return table.rename(columns=keys)
