"""Empirical Bayes against the direct estimator on MMLU-Pro, by repeated sampling.

Each repetition draws items without replacement in proportion to the size of the
subjects, so that the smallest subject with at least 50 items gets 10, the same
items for all ten models; the truth is the accuracy on all items. Prints the
mean squared error relative to the direct estimator with its standard error over
repetitions, and the average coverage and width of the intervals.

    python benchmarks/repeated_sampling.py --repetitions 50

The data (mmlu_pro_dev.csv.gz) is read from $SKBENCH_DATA or ../shared/data.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd

from skbench import DirectEstimator, EmpiricalBayes, summarize_items

ROOT = Path(__file__).parents[1]
SMALLEST, ITEMS_OF_SMALLEST = 50, 10


def read_items():
    folder = Path(os.environ.get("SKBENCH_DATA", ROOT.parent / "shared" / "data"))
    wide = pd.read_csv(folder / "mmlu_pro_dev.csv.gz").rename(columns={"question_id": "item"})
    first_model = wide.columns.get_loc("lsa15") + 1
    models = wide.columns[first_model:].tolist()
    features = [c for c in wide.columns if c.startswith("lsa")] + ["question_chars", "n_options"]
    items = wide.melt(["item", "src", *features], models, "model", "score").dropna()
    return items, features


def sample_proportionally(items, rng):
    sizes = items.drop_duplicates(["src", "item"]).groupby("src").size()
    fraction = ITEMS_OF_SMALLEST / sizes[sizes >= SMALLEST].min()
    chosen = []
    for src, ids in items.drop_duplicates(["src", "item"]).groupby("src")["item"]:
        n = round(fraction * sizes[src])
        if n > 0:
            chosen.append(pd.DataFrame({"src": src, "item": rng.choice(ids, n, replace=False)}))
    return items.merge(pd.concat(chosen), on=["src", "item"])


def one_repetition(items, features, truth, estimators, seed):
    g = summarize_items(
        sample_proportionally(items, np.random.default_rng(seed)),
        ["model", "src"],
        features=features,
    )
    mu = truth.loc[g.labels].to_numpy()
    rows = {}
    for name, make in estimators.items():
        start = time.perf_counter()
        arguments = g.fit_args | ({} if "topic" in name else {"groups": None})
        estimate = make(seed).fit(**arguments).estimate()
        rows[name] = {
            "mse": np.mean((estimate.value - mu) ** 2),
            "coverage": np.mean((estimate.low <= mu) & (mu <= estimate.high)),
            "width": np.mean(estimate.high - estimate.low),
            "seconds": time.perf_counter() - start,
        }
    return pd.DataFrame(rows).T


ESTIMATORS = {
    "direct (Wilson)": lambda seed: DirectEstimator(),
    "EB, folds by topic": lambda seed: EmpiricalBayes(random_state=seed),
    "EB, folds by topic, arcsine": lambda seed: EmpiricalBayes(scale="arcsine", random_state=seed),
    "EB, one random split (as F24)": lambda seed: EmpiricalBayes(
        cv=2, prior_variance="moments", pool=False, random_state=seed
    ),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=50)
    arguments = parser.parse_args()
    items, features = read_items()
    truth = items.groupby(["model", "src"])["score"].mean()
    results = pd.concat(
        {
            seed: one_repetition(items, features, truth, ESTIMATORS, seed)
            for seed in range(arguments.repetitions)
        },
        names=["repetition", "estimator"],
    )
    direct = results.xs("direct (Wilson)", level="estimator")
    ratio = results["mse"] / direct["mse"]
    width = results["width"] / direct["width"]
    by = "estimator"
    table = pd.DataFrame(
        {
            "MSE / direct": ratio.groupby(by).mean(),
            "standard error": ratio.groupby(by).sem(),
            "largest": ratio.groupby(by).max(),
            "coverage": results["coverage"].groupby(by).mean(),
            "width / Wilson": width.groupby(by).mean(),
            "seconds": results["seconds"].groupby(by).mean(),
        }
    ).loc[list(ESTIMATORS)]
    print(
        f"MMLU-Pro, {arguments.repetitions} repetitions, {results.index.levels[1].size} estimators"
    )
    print(table.to_string(float_format="%.3f"))


if __name__ == "__main__":
    main()
