"""Item rows to summaries, comparisons and leaderboards; logs to item rows."""

import json
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from costs import Cost, real_rows
from skbench import compare_models, leaderboard, read_items, summarize_items

BY = ["model", "topic"]


def table_and_covariance(rows):
    """Compute one pivot and one covariance."""
    np.cov(rows.pivot(index="item", columns="model", values="score").to_numpy().T)


def sums(rows):
    """Compute means and variances of the groups."""
    rows.groupby(BY)["score"].agg(["mean", "var", "count"])


def summaries(shapes):
    """Checked ids and correlations, next to pandas' group-by, pivot and covariance."""
    for n_models, n_items in shapes:
        rows, size = real_rows(n_models, n_items, 57), n_models * n_items
        texts = rows.assign(item="item " + rows["item"].astype(str))

        with tempfile.TemporaryDirectory() as folder:
            frame, path = pl.from_pandas(rows), f"{folder}/rows.parquet"
            frame.write_parquet(path)
            for kind, items in {
                "pandas": rows,
                "ids of text": texts,
                "polars": frame,
                "Parquet": path,
            }.items():
                shape = f"summarize_items {kind}, {n_models} x {n_items}"
                plain = texts if items is texts else rows

                def bare(rows=plain):
                    sums(rows)
                    table_and_covariance(rows)

                yield Cost(shape, size, lambda items=items: summarize_items(items, BY), bare, 1.3)


def comparisons(shapes):
    """All pairs of models x items, next to one pivot and one covariance."""
    for n_models, n_items in shapes:
        rows, size = real_rows(n_models, n_items, 57), n_models * n_items
        blanks = rows[np.random.default_rng(0).random(size) > 0.02]
        clustered = rows.assign(passage=rows["item"] // 5)

        def bare(rows=rows):
            table_and_covariance(rows)

        for kind, call, bar in (
            ("compare_models", lambda rows=rows: compare_models(rows), 1.5),
            ("its table", lambda rows=rows: compare_models(rows).to_frame(), 1.5),
            ("leaderboard", lambda rows=rows: leaderboard(rows), 1.5),
            ("topics", lambda rows=rows: leaderboard(rows, topics="topic"), 1.5),
            ("clusters", lambda rows=clustered: compare_models(rows, cluster="passage"), None),
            ("blanks", lambda rows=blanks: leaderboard(rows), None),
        ):
            yield Cost(f"{kind}, {n_models} x {n_items}", size, call, bare, bar)


def many_models(shapes):
    """Leaderboards of thousands of models; seconds."""
    for n_models, n_items, bar in shapes:
        rows = real_rows(n_models, n_items, 5)
        shape = f"leaderboard, {n_models} x {n_items}"
        yield Cost(shape, n_models**2, lambda rows=rows: leaderboard(rows), None, bar, "seconds")


def engines(shapes):
    """Sums of rows alone, next to the plain query of polars."""
    means = pl.len(), pl.mean("score").alias("mean"), pl.var("score").alias("variance")
    for n_models, n_items in shapes:
        frame = pl.from_pandas(real_rows(n_models, n_items, 57)).cast({"score": pl.Int8})
        size = n_models * n_items
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/rows.parquet"
            frame.write_parquet(path)
            for kind, items, lazy in (
                ("lazy polars", frame.lazy(), frame.lazy()),
                ("polars", frame, frame.lazy()),
                ("Parquet", path, pl.scan_parquet(path)),
            ):
                yield Cost(
                    f"{kind}, {n_models} x {n_items}",
                    size,
                    lambda items=items: summarize_items(items, BY, item=None),
                    lambda lazy=lazy: lazy.group_by(BY).agg(*means).collect(),
                    4,
                )


def logs(shapes):
    """Folders of lm-evaluation-harness samples, next to parsing their lines."""
    for n_files in shapes:
        rows = real_rows(20, 50 * -(-n_files // 20), 1)
        with tempfile.TemporaryDirectory() as folder:
            for number in range(n_files):
                part = rows["score"].iloc[50 * number : 50 * number + 50]
                lines = [
                    {"doc_id": i, "doc": {"q": "x" * 800}, "target": "a", "filtered_resps": ["a"]}
                    | {"filter": "none", "metrics": ["acc"], "acc": float(right)}
                    for i, right in enumerate(part)
                ]
                place = Path(folder, f"model{number % 20}")
                place.mkdir(exist_ok=True)
                text = "\n".join(json.dumps(line) for line in lines)
                (place / f"samples_task{number // 20}_2024-01-01T00-00-00.0.jsonl").write_text(text)

            def bare(folder=folder):
                for path in Path(folder).rglob("*.jsonl"):
                    [json.loads(line) for line in path.read_text().splitlines()]

            call = lambda folder=folder: read_items(folder)  # noqa: E731
            yield Cost(f"lm-eval files, {n_files}", n_files, call, bare, 4)


PATHS = {
    summaries: [(50, 20_000), (200, 5_000), (200, 50_000)],
    comparisons: [(50, 5_000), (200, 5_000)],
    many_models: [(1_000, 100, None), (3_000, 100, 29), (3_000, 500, 29)],
    engines: [(20, 5_000), (20, 50_000), (20, 500_000)],
    logs: [40, 400],
}
SMALL = {
    summaries: [(200, 2_500)],
    comparisons: [(100, 4_000)],
    many_models: [(1_000, 100, 3)],
    engines: [(20, 50_000)],
    logs: [40],
}
