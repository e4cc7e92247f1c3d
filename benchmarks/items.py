"""Detection of reversed answer keys by `item_audit` in real matrices.

    python benchmarks/items.py [--quick]

In every matrix of $SKBENCH_DATA (or ../shared/data) the script reverses the scores of 5% and of 2%
of the items, ten times each. The alternative flags items with negative item-rest correlation after
the Benjamini-Hochberg correction, with independent models. "as published" counts flagged items of
the original matrix: wrong answer keys or false alarms.
"""

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control

from skbench import item_audit
from skbench.stats.item_response.audit import discrimination

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("SKBENCH_DATA", ROOT.parent / "shared" / "data"))


def matrices():
    """Yield name and scores (items x models) of every matrix."""
    for file in sorted(DATA.glob("item_matrix_*.csv.gz")):
        yield file.name[12:-7], pd.read_csv(file).drop(columns="item")
    table = pd.read_csv(DATA / "mmlu_pro_dev_29_models.csv.gz")
    yield "mmlu_pro, 29", table.drop(columns=["question_id", "category", "src"])
    first = table.columns[3:13]
    yield "mmlu_pro, 10", table[first]
    code = pd.read_csv(DATA / "livecodebench_execution.csv.gz")
    yield "livecodebench", code.pivot_table(index="sample_id", columns="model", values="pass1")


def long_form(scores):
    n, m = scores.shape
    rows = {"item": np.repeat(np.arange(n), m), "model": np.tile(np.arange(m), n)}
    return pd.DataFrame(rows | {"score": scores.ravel()}).dropna()


def by_correlation(scores):
    """Return items with negative discrimination at a false discovery rate of 5%."""
    p = discrimination(scores, float(scores.shape[1])).p_value
    flagged, known = np.zeros(len(p), bool), np.isfinite(p)
    flagged[known] = false_discovery_control(p[known]) < 0.05
    return flagged


def audited(scores):
    return item_audit(long_form(scores)).items["flagged"].eq("wrong key").to_numpy()


def turned(scores, share, n_draws, flags):
    """Return the mean proportions of flagged items among miskeyed and other items."""
    found, ends = [], np.nanmin(scores) + np.nanmax(scores)
    for seed in range(n_draws):
        wrong = np.random.default_rng(seed).random(len(scores)) < share
        flagged = flags(np.where(wrong[:, None], ends - scores, scores))
        found.append((flagged[wrong].mean(), flagged[~wrong].mean()))
    return np.mean(found, axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    n_draws = 3 if parser.parse_args().quick else 10
    rows = []
    for name, table in matrices():
        scores = table.dropna(how="all").to_numpy(dtype=float)
        audit = item_audit(long_form(scores))
        row = {"data": name, "items": len(scores), "models": scores.shape[1]}
        row |= {"effective": audit.n_effective_models, "alpha": audit.reliability.value[0]}
        row["as published"] = audit.items["flagged"].eq("wrong key").mean()
        for share in (0.05, 0.02):
            row[f"{share:.0%} found"], row["others"] = turned(scores, share, n_draws, audited)
            row[f"others, {share:.0%}"] = row.pop("others")
        row["BH found"], row["BH others"] = turned(scores, 0.05, n_draws, by_correlation)
        rows.append(row)
        print(pd.DataFrame(rows[-1:]).round(4).to_string(index=False), flush=True)
    print(f"\n{pd.DataFrame(rows).round(3).to_string(index=False)}")


if __name__ == "__main__":
    main()
