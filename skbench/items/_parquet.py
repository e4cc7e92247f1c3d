"""Open Parquet files as a lazy frame, so that they are never entirely in memory."""

import functools
import glob
import importlib.util
import os
import tempfile
from pathlib import Path

_MEMORY_LIMIT = "200MB"  # of DuckDB, which writes the rest to temporary files


def scanned(path):
    """Return a lazy frame of a Parquet file, folder or glob, by DuckDB or else by polars."""
    files = _files(path)
    if importlib.util.find_spec("duckdb"):
        return _duckdb_scan(files)
    if importlib.util.find_spec("polars"):
        import polars as pl

        return pl.scan_parquet(files, hive_partitioning=True, glob=False)
    raise ImportError(
        "Summarizing Parquet files needs DuckDB or polars: pip install 'skbench[scale]'."
    )


def _files(path):
    path = str(path)
    if Path(path).is_dir():
        files = sorted(Path(path).rglob("*.parquet"))
    elif Path(path).exists():
        files = [Path(path)]  # its name may contain brackets
    else:
        files = [Path(name) for name in sorted(glob.glob(path, recursive=True))]
    if not files:
        raise FileNotFoundError(f"There is no Parquet file at {path!r}.")
    other = [file for file in files if file.suffix.lower() not in (".parquet", ".pq")]
    if other:
        raise ValueError(
            f"{str(other[0])!r} is not a Parquet file. Read other formats with "
            "skbench.read_items(path), and pass its result."
        )
    return [str(file) for file in files]


def _duckdb_scan(files):
    # DuckDB would interpret brackets in names as patterns.
    names = [glob.escape(file) for file in files]
    connection = _connection(os.getpid())
    return connection.read_parquet(names, hive_partitioning=True, union_by_name=True)


@functools.lru_cache(maxsize=1)
def _connection(process):
    """Return the open connection of this process. Relations need it, and forks cannot share it."""
    import duckdb

    connection = duckdb.connect(
        config={
            "memory_limit": _MEMORY_LIMIT,
            "preserve_insertion_order": False,  # saves memory; groups have no order
            "temp_directory": tempfile.gettempdir(),
        }
    )
    connection.execute("SET enable_progress_bar = false")
    return connection
