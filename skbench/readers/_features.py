"""A table of group features that goes with items read from a file."""

from skbench.readers._load import load_table


def read_features(path, items):
    """A table of group features, its key columns named as in the items.

    Parameters
    ----------
    path : str or path-like
        A .csv or .tsv file, possibly compressed, or a .parquet file.
    items : DataFrame
        From `skbench.read_items`. Where the table has the columns that were model and
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

    Examples
    --------
    >>> import os, tempfile
    >>> from skbench import read_items
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results, table = (os.path.join(folder, f"{name}.csv") for name in ("r", "f"))
    ...     _ = open(results, "w").write("system,task,id,correct\\nada,law,1,1\\n")
    ...     _ = open(table, "w").write("task,length\\nlaw,12.5\\n")
    ...     read_features(table, read_items(results))
      topic  length
    0   law    12.5
    """
    names = items.attrs["columns"]
    keys = {names[role]: role for role in ("model", "topic") if isinstance(names.get(role), str)}
    table = load_table(path, lambda columns: [*keys, *keys.values()])
    return table.rename(columns=keys)
