"""Quality of the choices by compare_estimators, relative to an oracle with the true values.

Each repetition draws n items per topic from a real evaluation, the same for all models.
compare_estimators chooses a candidate from these items only. The true value is the score on all
items. The oracle uses the candidate that is best on average over the repetitions of its cell (a
data set and an n). The regret is the mean squared error of the chosen candidate divided by that of
the oracle, both averaged over the repetitions of the cell.

    python benchmarks/selection.py --repetitions 20

The data folder is $SKBENCH_DATA or ../shared/data; the script creates digits-C.
"""

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    FayHerriot,
    JamesStein,
    StructuredRegression,
    SyntheticRegression,
    compare_estimators,
    load_digits_c,
    sample_items,
    summarize_items,
)

ROOT = Path(__file__).parents[1]
FOLDER = Path(os.environ.get("SKBENCH_DATA", ROOT.parent / "shared" / "data"))
BY = ["model", "topic"]
N_SPLITS = 5  # half the time of the default, slightly less precise
CANDIDATES = {
    "direct": DirectEstimator(),
    "James-Stein": JamesStein(),
    "Fay-Herriot": FayHerriot(),
    "EB (Ridge)": EmpiricalBayes(Ridge()),
    "SR (Ridge)": SyntheticRegression(Ridge()),
    "structured": StructuredRegression(),
}


def mmlu_pro(topic):
    wide = pd.read_csv(FOLDER / "mmlu_pro_dev.csv.gz").rename(columns={"question_id": "item"})
    models = wide.columns[wide.columns.get_loc("lsa15") + 1 :].tolist()
    embedding = [c for c in wide.columns if c.startswith("lsa")]
    wide["topic"] = wide[topic]
    items = wide.dropna(subset=models).melt(["item", "topic", *embedding], models, "model", "score")
    return items, embedding


def big_bench_hard():
    items = pd.read_csv(FOLDER / "bbh_codex.csv.gz")
    return items.rename(columns={"mode": "model", "task": "topic", "correct": "score"}), None


def digits_c():
    data = load_digits_c()
    return data.items, data.features.reset_index()


DATA = {
    "MMLU-Pro, 45 subjects": lambda: mmlu_pro("src"),
    "MMLU-Pro, 14 categories": lambda: mmlu_pro("category"),
    "BIG-Bench-Hard": big_bench_hard,
    "digits-C": digits_c,
}


def large_enough(items, n):
    """Keep topics with four times the items, so that the sample is not the true value."""
    sizes = items.drop_duplicates(["topic", "item"]).groupby("topic").size()
    return items[items["topic"].isin(sizes.index[sizes >= 4 * n])]


def one_repetition(items, features, truth, n, seed):
    sample = sample_items(items, n, random_state=seed)
    comparison = compare_estimators(
        CANDIDATES, sample, BY, features=features, n_splits=N_SPLITS, random_state=seed
    )
    summary = summarize_items(sample, BY, features=features)
    mu = truth.loc[list(summary.labels)].to_numpy()
    row = {"choice": comparison.choice, "best": comparison.best}
    for name, estimator in CANDIDATES.items():
        if hasattr(estimator, "random_state"):
            estimator.set_params(random_state=seed)
        row[f"true {name}"] = np.mean((estimator.fit_predict(**summary.fit_args) - mu) ** 2)
        row[f"risk {name}"] = comparison.risk.risk[name]
        row[f"error {name}"] = comparison.risk.difference(name, "direct")[1]
    return row


def results_of(seeds, sizes):
    rows = []
    for name, read in DATA.items():
        items, features = read()
        for n in sizes:
            kept = large_enough(items, n)
            if kept["topic"].nunique() < 10:
                print(f"skipped: {name}, n = {n}: fewer than 10 topics with {4 * n} items")
                continue
            truth = kept.groupby(BY)["score"].mean()
            for seed in seeds:
                row = one_repetition(kept, features, truth, n, seed)
                rows.append({"data": name, "n": n, "repetition": seed} | row)
            print(f"done: {name}, n = {n}", flush=True)
    return pd.DataFrame(rows)


def cell_summary(cell):
    """Return the chosen candidates of a cell and their regret."""
    risk = {name: cell[f"true {name}"].mean() for name in CANDIDATES}
    oracle = min(risk, key=risk.get)
    regret = cell["choice"].map(risk) / risk[oracle]
    return pd.Series(
        {
            "oracle": oracle,
            "oracle / direct": risk[oracle] / risk["direct"],
            "chosen most": cell["choice"].mode()[0],
            "within 5%": np.mean(regret <= 1.05),
            "median regret": regret.median(),
            "mean regret": regret.mean(),
            "worse than direct": np.mean(cell["choice"].map(risk) > risk["direct"]),
        }
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 20, 50])
    parser.add_argument("--first", type=int, default=0, help="Seed of the first repetition.")
    parser.add_argument("--save", help="File for the results of every repetition (CSV).")
    parser.add_argument("--saved", nargs="+", help="Only summarize such files.")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.saved:
        results = pd.concat([pd.read_csv(name) for name in arguments.saved], ignore_index=True)
    else:
        seeds = range(arguments.first, arguments.first + arguments.repetitions)
        results = results_of(seeds, arguments.sizes)
    if arguments.save:
        results.to_csv(arguments.save, index=False)
    cells = results.groupby(["data", "n"], sort=False).apply(cell_summary, include_groups=False)
    print(cells.to_string(float_format="%.3f"))
    everywhere = cells[["within 5%", "mean regret", "worse than direct"]].mean()
    print(
        f"\n{len(results)} choices in {len(cells)} cells: within 5% of the oracle in "
        f"{100 * everywhere['within 5%']:.0f}%, median of the cells' median regrets "
        f"{cells['median regret'].median():.3f}, of their mean regrets "
        f"{cells['mean regret'].median():.3f}, largest mean regret "
        f"{cells['mean regret'].max():.3f}; worse than direct in "
        f"{100 * everywhere['worse than direct']:.1f}%."
    )


if __name__ == "__main__":
    main()
