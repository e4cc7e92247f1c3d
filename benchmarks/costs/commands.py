"""Commands on files, each in its own process, and reading within this process."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import orjson
import pandas as pd

from costs import Cost, Peak, real_rows
from skbench import read_items


def run(*arguments):
    """Run a Python process; modules may cache bytecode, as installed ones do."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command, silent = [sys.executable, *arguments], subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=silent, stderr=silent, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Peak(used.ru_maxrss / 1024)


def import_sklearn():
    """Import the least that a command with estimators needs."""
    return run("-c", "import sklearn")


def written(rows, path):
    """Write a table to a file of this format."""
    write = rows.to_parquet if path.suffix == ".parquet" else rows.to_csv
    write(path, index=False)
    return path


def reports(shapes):
    """`skbench report`, next to scikit-learn's import."""
    for suffix, n_models, n_items, n_topics, bar, unit in shapes:
        rows, size = real_rows(n_models, n_items, n_topics), n_models * n_items
        with TemporaryDirectory() as folder:
            path = written(rows, Path(folder, f"rows{suffix}"))
            shape = f"report {suffix}, {n_models} x {n_items}, {n_topics} topics"

            def report(path=path):
                return run("-m", "skbench", "report", str(path))

            yield Cost(shape, size, report, import_sklearn, bar, unit)


def imports(shapes):
    """Public names in a fresh process, next to scikit-learn's import."""
    for step in shapes:
        yield Cost(f"import, {step}", 1, lambda step=step: run("-c", step), import_sklearn, 1.1)


def lines_by_orjson(path):
    """Return one dictionary per line."""
    with open(path, "rb") as file:
        return [orjson.loads(line) for line in file]


_OF_READING = 6  # reading keeps labels exact and checks for duplicate rows


def variants(rows):
    """Return tables by the kind of ids and further columns."""
    text = rows.assign(item=rows["item"].map("q{:05d}".format))
    more = text.assign(
        cluster=(rows["item"] // 5).map("passage-{:05d}".format),
        answer=rows["item"].map("The answer is {}.".format),
        seconds=np.round(np.sqrt(rows["item"] + 1.0), 3),
    )
    return {"ids as text": text, "whole numbers as ids": rows, "seven columns": more}


def reading(shapes):
    """`read_items` of one table, next to pandas.read_csv, or orjson line by line."""
    for n_models, n_items in shapes:
        for name, table in variants(real_rows(n_models, n_items, 50)).items():
            with TemporaryDirectory() as folder:
                path, lines = Path(folder, "rows.csv"), Path(folder, "rows.jsonl")
                table.to_csv(path, index=False)
                table.to_json(lines, orient="records", lines=True)
                for file, peer in ((path, pd.read_csv), (lines, lines_by_orjson)):
                    yield Cost(
                        f"{file.suffix[1:].upper()} with {name}, {n_models} x {n_items}",
                        len(table),
                        lambda file=file: read_items(file),
                        lambda file=file, peer=peer: peer(file),
                        _OF_READING,
                    )


PATHS = {
    reports: [
        (".csv", 50, 570, 10, 0.5, "seconds above bare"),
        (".csv", 50, 570, 57, None, "ratio"),
        (".csv", 50, 10_000, 50, 4, "seconds"),
        (".parquet", 50, 20_000, 50, 5, "seconds"),
        (".parquet", 200, 5_000, 50, 5, "seconds"),
    ],
    imports: ["import skbench", "from skbench import summarize_items, EmpiricalBayes, MixedModel"],
    reading: [(20, 5_000), (20, 25_000)],
}
SMALL = {reading: [(20, 5_000)]}
