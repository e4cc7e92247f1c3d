"""Worst topic, best topic and gap: error relative to direct extremes, and coverage.

With mmlu_pro_dev.csv.gz in the folder, the script uses draws of `MixedModel` on MMLU-Pro: six
models, 43 subjects, ten items of each, forty samples. The true value is the mean of all items of a
subject. It also simulates draws of `HierarchicalBetaBinomial` and of `UnitLevelModel` with a bank.

    python benchmarks/worst_topics.py [FOLDER]
"""

import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from skbench import (  # noqa: E402
    Draws,
    HierarchicalBetaBinomial,
    ItemBank,
    MixedModel,
    UnitLevelModel,
    extremes,
    summarize_items,
)


def of_mmlu_pro(folder):
    """Return draws, direct estimates and true values: six models, ten items per subject."""
    table = pd.read_csv(folder / "mmlu_pro_dev.csv.gz").rename(columns={"src": "topic"})
    models = [c for c in table if table[c].isin([0, 1]).any() and not c.startswith("lsa")]
    table = table.dropna(subset=models).groupby("topic").filter(lambda rows: len(rows) >= 40)
    size, truth = table.groupby("topic").size(), table.groupby("topic")[models].mean()
    for seed in range(40):
        some = np.random.default_rng(seed).permutation(models)[:6]
        rows = table.groupby("topic").sample(10, random_state=seed).reset_index(names="item")
        rows = rows.melt(["item", "topic"], some, "model", "score")
        g = summarize_items(rows, ["model", "topic"])
        p = MixedModel().fit(**g.fit_args).sample(2000, random_state=seed)
        # The mean of exactly these items: the other items are still unknown.
        n = size[g.labels.get_level_values("topic")].to_numpy()
        unseen = np.random.default_rng(seed).binomial((n - g.n).astype(int), p.values)
        draws = Draws((g.z * g.n + unseen) / n, p.labels, "posterior")
        yield draws, pd.Series(g.z, g.labels).unstack("model"), truth


def of_hierarchical():
    """Simulate 200 models with one distribution of accuracies and twelve tasks of ten items."""
    rng, names = np.random.default_rng(0), [f"m{i:03d}" for i in range(200)]
    truth = pd.DataFrame(rng.beta(6, 3, (12, 200)), columns=names).rename_axis("task")
    scores = pd.DataFrame(rng.binomial(10, truth) / 10, truth.index, names)
    rows = scores.reset_index().melt("task", var_name="model", value_name="score")
    model = HierarchicalBetaBinomial(n_draws=2000, random_state=0)
    yield model.fit(rows[["model", "task"]], rows["score"], n=10).draws_, scores, truth


def of_bank():
    """Simulate 20 earlier models on ten topics of 60 items, and four new models on ten each."""
    topic, by = np.repeat(np.arange(10), 60), ["model", "topic"]
    names = [f"m{i:02d}" for i in range(24)]
    for seed in range(30):
        rng = np.random.default_rng(seed)
        ease = rng.normal(0, 1.2, (600, 1)) + rng.normal(0, 0.7, (10, 1))[topic]
        ability = rng.normal(0.5, 0.8, 24) + rng.normal(0, 0.5, (10, 24))[topic]
        right = rng.random((600, 24)) < 1 / (1 + np.exp(-ease - ability))
        table = pd.DataFrame(right * 1.0, columns=names).assign(topic=topic, item=np.arange(600))
        some = table.groupby("topic").sample(10, random_state=seed)
        past, asked = (
            frame.melt(["topic", "item"], own, "model", "score")
            for frame, own in ((table, names[:20]), (some, names[20:]))
        )
        model = UnitLevelModel(ItemBank().fit(past)).fit(asked, asked["score"])
        means = (frame.groupby("topic")[names[20:]].mean() for frame in (some, table))
        yield model.sample(by), *means


def of_topics(scores):
    """Return worst, best and gap of each column."""
    found = scores.agg(["min", "max"]).set_axis(["worst", "best"])
    found.loc["gap"] = found.loc["best"] - found.loc["worst"]
    return found.T.rename_axis(index="model", columns="extreme").stack()


def figures(sets):
    """Return relative error and coverage of each extreme."""
    rows = []
    for draws, scores, truth in sets:
        ours = extremes(draws, by="model").to_frame()
        direct, true = (of_topics(table).loc[list(ours.index)] for table in (scores, truth))
        squares = {"ours": (ours["value"] - true) ** 2, "direct": (direct - true) ** 2}
        covered = true.between(ours["low"], ours["high"])
        rows.append(pd.DataFrame(squares | {"coverage": covered}))
    means = pd.concat(rows).groupby(level="extreme").mean()
    error = np.sqrt(means["ours"] / means["direct"])
    return pd.DataFrame({"relative error": error, "coverage": means["coverage"]})


def main():
    warnings.simplefilter("ignore")
    default = os.environ.get("SKBENCH_DATA", ROOT.parent / "shared" / "data")
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else default)
    sets = {"hierarchical model": of_hierarchical(), "bank": of_bank()}
    if (folder / "mmlu_pro_dev.csv.gz").exists():
        sets["MMLU-Pro"] = of_mmlu_pro(folder)
    else:
        print(f"skipped: {folder} has no mmlu_pro_dev.csv.gz")
    for name, of_set in sets.items():
        print(f"{name}\n{figures(of_set).round(3)}\n")


if __name__ == "__main__":
    main()
