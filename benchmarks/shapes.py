"""What every public path costs over a grid of shapes, next to the bare work in it.

One table per path: processor seconds (median of three), the ratio to the bare work where there
is one (the fits of the regressor, the pivot and the matrix product, the engine's own query,
parsing the bytes), the ratio to the first shape, and the exponent of growth since the shape
before. Processor time, so that other work on the machine matters less; run alone nevertheless.

    python benchmarks/shapes.py                    # ten minutes
    python benchmarks/shapes.py --only engines
    python benchmarks/shapes.py --small            # the shapes of tests/test_shapes.py
"""

import argparse
import json
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import Ridge

from skbench import (
    CrossFitKFold,
    EmpiricalBayes,
    GroupedPPI,
    MixedModel,
    Sampling,
    compare_models,
    leaderboard,
    read_items,
    summarize_items,
)

TIMES = 3


def seconds(function, *arguments):
    """Median processor time of a few calls."""
    taken = []
    for _ in range(TIMES):
        start = time.process_time()
        function(*arguments)
        taken.append(time.process_time() - start)
    return float(np.median(taken))


def table_of_models(n_models, n_topics, n_features=0, correlation=0.3, n_items=10):
    """Counts of models that share the items of each topic, ready for `fit`."""
    rng = np.random.default_rng(0)
    topic, model = np.divmod(np.arange(n_models * n_topics), n_models)
    luck = np.sqrt(0.5) * rng.normal(size=(n_topics, n_items, 1))
    own = np.sqrt(0.5) * rng.normal(size=(n_topics, n_items, n_models))
    eta = rng.normal(0, 0.8, (n_topics, 1)) + rng.normal(0, 0.4, (n_topics, n_models))
    k = (expit(1.7 * (luck + own)) < expit(eta)[:, None, :]).sum(axis=1).ravel()
    X = pd.DataFrame({"model": model, "topic": topic})
    X[[f"x{j}" for j in range(n_features)]] = rng.normal(size=(n_topics, n_features))[topic]
    between = np.where(np.eye(n_models, dtype=bool), 1.0, correlation)
    sampling = Sampling(items_shared=True, item_correlation=pd.DataFrame(between))
    smoothed = (k + 1) / (n_items + 2)
    sigma2 = smoothed * (1 - smoothed) / n_items
    return X, k / n_items, sigma2, np.full(len(k), n_items), topic, sampling


def default_estimator(shapes):
    """Models x topics x features; nothing bare to compare with but the first shape."""
    for shape in shapes:
        data = table_of_models(*shape)
        taken = seconds(lambda data=data: MixedModel().fit(*data).estimate())
        yield "x".join(map(str, shape)), shape[0] * shape[1], taken, None


def empirical_bayes(shapes):
    """Fits, next to the same fits of a ridge regression in a loop; then `estimate`, likewise."""
    for n_groups in shapes:
        rng = np.random.default_rng(0)
        X, sigma2 = rng.normal(size=(n_groups, 20)), rng.uniform(0.005, 0.02, n_groups)
        z = 0.5 + 0.05 * (X[:, 0] + rng.normal(size=n_groups)) + rng.normal(0, np.sqrt(sigma2))

        def loop(X=X, z=z):
            for train, test in CrossFitKFold(random_state=0).split(X, z):
                clone(Ridge()).fit(X[train], z[train]).predict(X[test])
            clone(Ridge()).fit(X, z)

        bare = seconds(loop)
        eb = EmpiricalBayes(Ridge(), random_state=0)
        yield f"fit, {n_groups}", n_groups, seconds(eb.fit, X, z, sigma2), bare
        yield f"estimate, {n_groups}", n_groups, seconds(eb.estimate), bare


def comparisons(shapes):
    """All pairs of models x items, next to one pivot and one covariance; clusters next to none."""
    for n_models, n_items in shapes:
        wide = np.random.default_rng(0).random((n_items, n_models)) < 0.6
        names = [f"model {j}" for j in range(n_models)]
        frame = pd.DataFrame(wide.astype(float), columns=names)
        frame = frame.assign(item=np.arange(n_items), passage=np.arange(n_items) // 5)
        rows = frame.melt(["item", "passage"], names, "model", "score")

        def bare(rows=rows):
            np.cov(rows.pivot(index="item", columns="model", values="score").to_numpy().T)

        work, size = seconds(bare), n_models * n_items
        shape = f"{n_models}x{n_items}"
        pairs = seconds(compare_models, rows)
        yield f"compare_models, {shape}", size, pairs, work
        yield f"leaderboard, {shape}", size, seconds(leaderboard, rows), work
        clustered = seconds(lambda rows=rows: compare_models(rows, cluster="passage"))
        yield f"clusters over items, {shape}", size, clustered, pairs


def grouped_ppi(shapes):
    """`summary_` of groups of rows right after `fit`, next to `fit` alone."""
    for n_groups in shapes:
        rng = np.random.default_rng(0)
        group = np.repeat(np.arange(n_groups), 200)
        X, y = rng.random(len(group)), rng.integers(0, 2, len(group)).astype(float)
        y[np.arange(len(group)) % 200 >= 20] = np.nan
        given = X, y, group
        fit = seconds(lambda given=given: GroupedPPI().fit(*given))
        both = seconds(lambda given=given: GroupedPPI().fit(*given).summary_)
        yield f"summary_, {n_groups}", n_groups, both - fit, fit


def engines(shapes):
    """Sums of 0/1 rows from every engine, next to the plain query of polars and DuckDB."""
    import duckdb
    import polars as pl

    by = ["model", "topic"]
    for n_rows in shapes:
        row = np.arange(n_rows)
        frame = pl.DataFrame(
            {
                "model": pl.Series(row % 20).cast(pl.String),
                "topic": pl.Series(row // 20 % 57).cast(pl.String),
                "score": (np.random.default_rng(0).random(n_rows) < 0.6).astype(np.int8),
            }
        )
        means = pl.len(), pl.mean("score").alias("mean"), pl.var("score").alias("variance")
        bare = seconds(lambda f=frame, m=means: f.lazy().group_by(by).agg(*m).collect())
        for name, items in {"lazy polars": frame.lazy(), "polars": frame}.items():
            taken = seconds(lambda items=items: summarize_items(items, by, item=None))
            yield f"{name}, {n_rows:.0e}", n_rows, taken, bare
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/rows.parquet"
            frame.write_parquet(path)
            query = (
                "select model, topic, count(*), avg(score), var_samp(score) "
                f"from '{path}' group by all"
            )
            bare = seconds(lambda query=query: duckdb.sql(query).fetchall())
            taken = seconds(lambda path=path: summarize_items(path, by, item=None))
            yield f"Parquet, {n_rows:.0e}", n_rows, taken, bare


def logs(shapes):
    """Folders of lm-evaluation-harness samples, next to parsing their lines."""
    for n_files in shapes:
        with tempfile.TemporaryDirectory() as folder:
            for number in range(n_files):
                lines = [
                    {"doc_id": i, "doc": {"q": "x" * 800}, "target": "a", "filtered_resps": ["a"]}
                    | {"filter": "none", "metrics": ["acc"], "acc": float((i * number) % 3 > 0)}
                    for i in range(50)
                ]
                place = Path(folder, f"model{number % 20}")
                place.mkdir(exist_ok=True)
                text = "\n".join(json.dumps(line) for line in lines)
                (place / f"samples_task{number // 20}_2024-01-01T00-00-00.0.jsonl").write_text(text)

            def bare(folder=folder):
                for path in Path(folder).rglob("*.jsonl"):
                    [json.loads(line) for line in path.read_text().splitlines()]

            taken = seconds(lambda folder=folder: read_items(folder))
            yield f"lm-eval files, {n_files}", n_files, taken, seconds(bare)


SHAPES = {
    default_estimator: [
        *((10, 46, 0), (10, 46, 17)),
        *((10, 500, 0), (50, 100, 0), (100, 50, 0), (250, 20, 0)),
        *((10, 500, 5), (50, 100, 5), (100, 50, 5)),
        *((10, 1000, 0), (10, 2000, 0), (50, 2000, 0)),
    ],
    empirical_bayes: [460, 5_000, 50_000],
    comparisons: [(20, 5_000), (60, 5_000), (100, 10_000)],
    grouped_ppi: [10, 100, 1000],
    engines: [10**5, 10**6, 10**7],
    logs: [40, 400],
}
SMALL = {
    default_estimator: [(10, 100, 0), (50, 20, 0), (100, 10, 0)],
    empirical_bayes: [2_000],
    comparisons: [(40, 2_000)],
    grouped_ppi: [100],
    engines: [10**6],
    logs: [40],
}


def measured(path, shapes):
    """A row per shape of a path."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(path(shapes))
    table = pd.DataFrame(found, columns=["shape", "size", "seconds", "bare"])
    table["ratio"] = table["seconds"] / table["bare"]
    table["to first"] = table["seconds"] / table["seconds"].iloc[0]
    kind = table["shape"].str.extract(r"^([a-zA-Z_][^,]*),")[0].fillna("")
    logs = np.log(table[["seconds", "size"]]).groupby(kind).diff()
    table["exponent"] = (logs["seconds"] / logs["size"]).where(logs["size"] > 0)
    return table.set_index("shape")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="part of the name of a path")
    parser.add_argument("--small", action="store_true", help="small shapes")
    arguments = parser.parse_args()
    for path, shapes in (SMALL if arguments.small else SHAPES).items():
        if arguments.only not in path.__name__:
            continue
        table = measured(path, shapes)
        print(f"\n{path.__name__}: {path.__doc__}")
        print(table.to_string(float_format="%.3f", na_rep=""), flush=True)


if __name__ == "__main__":
    main()
