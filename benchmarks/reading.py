"""Reading a plain table of answers, beside pandas and orjson on the same file.

Writes tables of 500,000 rows (20 models that answer the same 25,000 items of 50 topics) as
CSV and as JSON Lines: with ids as text, with whole numbers as ids, and with passages and
two more columns. Prints seconds of the processor, medians of three: `skbench.read_items`;
`pandas.read_csv`, or orjson line by line; and their ratio.

    python benchmarks/reading.py
    python benchmarks/reading.py 100000     # other numbers of rows
"""

import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
import orjson
import pandas as pd

from skbench import read_items

MODELS, TOPICS, RUNS = 20, 50, 3


def answers(n_rows):
    """Rows of one (model, item) each, model by model."""
    rng = np.random.default_rng(0)
    model, number = np.divmod(np.arange(n_rows), n_rows // MODELS)
    return pd.DataFrame(
        {
            "model": pd.Series(model).map("model-{:02d}".format),
            "topic": pd.Series(number % TOPICS).map("topic-{:02d}".format),
            "item": number,
            "score": (rng.random(n_rows) < 0.4 + 0.02 * model).astype(int),
        }
    )


def variants(table):
    """Tables by what their ids and further columns are."""
    text = table.assign(item=table["item"].map("q{:05d}".format))
    more = text.assign(
        cluster=(table["item"] // 5).map("passage-{:05d}".format),
        answer=table["item"].map("The answer is {}.".format),
        seconds=np.round(np.sqrt(table["item"] + 1.0), 3),
    )
    return {"ids as text": text, "whole numbers as ids": table, "seven columns": more}


def lines_by_orjson(path):
    with open(path, "rb") as file:
        return [orjson.loads(line) for line in file]


def seconds(function, path):
    start = time.process_time()
    function(path)
    return time.process_time() - start


def main(n_rows):
    print(f"{'':30s}{'MB':>7s}{'peer':>8s}{'skbench':>9s}{'ratio':>7s}")
    with tempfile.TemporaryDirectory() as folder:
        for name, table in variants(answers(n_rows)).items():
            csv, lines = Path(folder, "table.csv"), Path(folder, "table.jsonl")
            table.to_csv(csv, index=False)
            table.to_json(lines, orient="records", lines=True)
            for path, peer in ((csv, pd.read_csv), (lines, lines_by_orjson)):
                runs = [(seconds(peer, path), seconds(read_items, path)) for _ in range(RUNS)]
                theirs, ours = (median(figures) for figures in zip(*runs, strict=True))
                size = path.stat().st_size / 1e6
                print(
                    f"{path.suffix[1:].upper() + ', ' + name:30s}"
                    f"{size:7.1f}{theirs:8.2f}{ours:9.2f}{ours / theirs:7.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if sys.argv[1:] else 500_000)
