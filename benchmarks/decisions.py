"""Stated and observed errors of the gate, pass@k, sequential tests and the judges' card.

    python benchmarks/decisions.py gate          # errors, stated and simulated power
    python benchmarks/decisions.py pass_at_k     # closed form; coverage with 40 items x 8 runs
    python benchmarks/decisions.py sequential    # errors at 60 looks, items until a decision
    python benchmarks/decisions.py judges        # coverage of every interval of the card
    python benchmarks/decisions.py pairs         # gates between models on real results

The data sets are those of the tests (tests/comparison, tests/ppi). Real results are read from
$SKBENCH_DATA or ../shared/data. Each command takes a few minutes.
"""

import argparse
import os
import sys
import warnings
from itertools import pairwise
from math import comb
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import ndtri
from sklearn.metrics import cohen_kappa_score

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("comparison", "ppi")]

from test_agreement import brute_alpha, coverage, made  # noqa: E402
from test_gate import binary, clustered, continuous, rows_of, single, verdicts  # noqa: E402
from test_pass_at_k import covered  # noqa: E402
from test_sequential import differences, first_look  # noqa: E402

from skbench import gate, judge_agreement  # noqa: E402
from skbench.stats.clusters.agreement import krippendorff_alpha  # noqa: E402
from skbench.stats.resampling import repeats  # noqa: E402

DATA = Path(os.environ.get("SKBENCH_DATA", ROOT.parent / "shared" / "data"))
# Kind of scores, variation between items, number of items, margin.
GRID = [
    (binary, 0.1, 60, 0.1),
    (binary, 0.15, 150, 0.05),
    (binary, 0.15, 400, 0.05),
    (binary, 0.3, 150, 0.1),
    (binary, 0.3, 400, 0.05),
    (binary, 0.06, 400, 0.03),
    (continuous, 0.2, 60, 0.05),
    (continuous, 0.2, 150, 0.03),
    (continuous, 0.2, 150, 0.05),
    (clustered, 0.2, 100, 0.15),
    (clustered, 0.1, 200, 0.1),
    (clustered, 0.2, 400, 0.08),
]


def simulated(make, rng, n_sets, n, spread, difference):
    """Return item rows of many data sets, and the arguments of the gate."""
    rows = rows_of(*make(rng, n_sets, n, spread, difference), passage=np.arange(n) // 5)
    return rows, {"cluster": "passage"} if make is clustered else {}


def gates():
    rng = np.random.default_rng(2)
    rows = []
    for n in (60, 100, 200, 400):
        for make, spread in [(binary, 0.05), (binary, 0.25), (continuous, 0.2), (clustered, 0.2)]:
            sets, options = simulated(make, rng, 2000, n, spread, 0)
            fails = np.mean(verdicts(sets, 0.02, **options) == "fail")
            rows.append({"kind": f"{make.__name__}, {spread:g}", "items": n, "fails": fails})
    errors = pd.DataFrame(rows).pivot(index="kind", columns="items", values="fails")
    show("equal models: share that fails (at most .05)", errors)

    rows = []
    for make, spread, n, margin in GRID:
        rng = np.random.default_rng(3)
        sets, options = simulated(make, rng, 3000, n, spread, -margin)
        found = np.mean(verdicts(sets, margin, **options) == "fail")
        stated = np.mean([single(sets, margin, s, **options).power for s in range(300)])
        rows.append([make.__name__, spread, n, margin, stated, found, abs(stated - found)])
    names = ["kind", "spread", "items", "margin", "stated power", "simulated", "difference"]
    show("stated and simulated power (difference at most 0.04)", pd.DataFrame(rows, columns=names))

    rows = []
    for make, spread in [(binary, 0.2), (continuous, 0.2), (clustered, 0.2)]:
        rng = np.random.default_rng(4)
        pilot, options = simulated(make, rng, 1, 200, spread, 0)
        n = -(-single(pilot, 0.02, 0, **options).items_needed // 5) * 5
        sets, _ = simulated(make, rng, 200, n, spread, -0.05)
        fails = np.mean(verdicts(sets, 0.02, **options) == "fail")
        rows.append([make.__name__, n, fails])
    names = ["kind", "items asked for", "fails"]
    show("5 points lost, margin 2 points (at least .80)", pd.DataFrame(rows, columns=names))


def runs():
    counts = np.arange(9)
    apart = [
        np.abs(
            repeats.pass_at_k(counts, 8, k, all_of_them)
            - [chance(x, k, all_of_them) for x in counts.tolist()]
        ).max()
        for k in (1, 3, 5, 8)
        for all_of_them in (False, True)
    ]
    print(f"largest distance from the closed form: {max(apart):.1e}")
    rows = []
    for a, b in [(0.5, 0.2), (0.3, 0.6), (0.5, 0.5), (1, 3), (2, 2), (5, 0.3)]:
        for k in (1, 3, 5):
            for all_of_them in (False, True):
                share, truth = covered(a, b, k, all_of_them, 4000, 1)
                rows.append([f"Beta({a:g}, {b:g})", f"pass{'@^'[all_of_them]}{k}", truth, share])
    table = pd.DataFrame(rows, columns=["item probabilities", "figure", "true value", "covered"])
    inside = table["true value"].between(0.1, 0.9)
    show("coverage, 40 items x 8 runs", table.sort_values("true value"))
    print(
        f"true value 0.1 to 0.9: {table.covered[inside].min():.3f} to "
        f"{table.covered[inside].max():.3f}"
    )


def chance(right, k, all_of_them):
    """Return the probability that one of `k` runs of 8 is correct, or that all are."""
    return comb(right, k) / comb(8, k) if all_of_them else 1 - comb(8 - right, k) / comb(8, k)


def sequential():
    rng = np.random.default_rng(2)
    for batch in (5, 10):
        for both in (0.1, 0.4):
            d = differences(rng, (2000, 60 * batch), both / 2, both / 2)
            for_a, for_b, n_looks = first_look(d, batch)
            wrong = np.mean(np.minimum(for_a, for_b) < n_looks)
            print(f"equal, {n_looks} looks of {batch}, {both:.0%} differ: decided {wrong:.4f}")
    rows = []
    for only_a, only_b in [(0.3, 0.15), (0.25, 0.1), (0.2, 0.05)]:
        d = differences(np.random.default_rng(4), (1000, 600), only_a, only_b)
        for_a, _, n_looks = first_look(d, 10)
        power = np.mean(for_a < n_looks)
        items = np.mean(np.minimum(for_a + 1, n_looks) * 10)
        variance = only_a + only_b - 0.15**2
        fixed = [
            (ndtri(0.975) + ndtri(p)) ** 2 * variance / 0.15**2 for p in (0.8, min(power, 0.99))
        ]
        rows.append([f"{only_a:g} / {only_b:g}", power, items, *fixed, *(items / np.array(fixed))])
    names = ["differ", "power", "items", "fixed, .8", "fixed, same", "ratio, .8", "ratio, same"]
    show("difference of 15 points: items until a decision", pd.DataFrame(rows, columns=names))


def judges():
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 6, (60, 3)).astype(float)
    ratings[rng.random(ratings.shape) < 0.3] = np.nan
    for level in ("nominal", "ordinal", "interval"):
        apart = krippendorff_alpha(ratings, level) - brute_alpha(ratings, level)
        print(f"alpha, {level}, missing labels: {apart:.1e} from the definition")
    rows = made(rng, 300)
    kappa = judge_agreement(rows, judges="j0", random_state=0).to_frame()["kappa"].iloc[0]
    print(f"kappa: {kappa - cohen_kappa_score(rows.human, rows.j0):.1e} from scikit-learn")
    rows["copy"] = rows["j0"]
    same = judge_agreement(rows, judges=["j0", "copy"], random_state=0)
    four = made(rng, 20_000, [(0.8, 0.8)] * 4)
    apart = judge_agreement(four, judges=["j0", "j1", "j2", "j3"], random_state=0)
    print(
        f"effective judges: {same.effective_judges:.3f} for two identical judges, "
        f"{apart.effective_judges:.3f} for four independent judges"
    )
    found = {
        (n, judge, p): coverage(n, judge, p, 500, 1)
        for n in (30, 100, 400)
        for judge, p in (((0.9, 0.8), 0.5), ((0.95, 0.95), 0.7), ((0.7, 0.6), 0.8))
    }
    table = pd.DataFrame(found).T.rename_axis(["labels", "tpr, tnr", "prevalence"])
    show("coverage of 500 sets each", table)
    print(f"lowest {table.to_numpy().min():.3f}")


def pairs():
    table = pd.read_csv(DATA / "mmlu_pro_dev.csv.gz").reset_index(names="question")
    models = [c for c in table if table[c].dropna().isin((0, 1)).all() and c != "question"]
    scores = table.melt(
        ["question", "category"], models, var_name="model", value_name="score"
    ).dropna()
    order = table[models].mean().sort_values(ascending=False).index
    rows = []
    for old, new in pairwise(order):
        for every in (1, 10, 40):
            chosen = scores[scores["model"].isin([old, new]) & (scores["question"] % every == 0)]
            g = gate(chosen, old, new, 0.02, item="question")
            ends = [f"{g.difference:+.3f}", f"{g.low:+.3f}", f"{g.high:+.3f}"]
            rows.append([old, new, g.n_items, *ends, g.verdict, g.power, g.items_needed])
    names = ["old", "new", "items", "new - old", "low", "high", "verdict", "power", "needed"]
    show("MMLU-Pro, margin .02", pd.DataFrame(rows, columns=names))


def show(title, table):
    print(f"\n{title}\n{table.round(3).to_string(index=any(table.index.names))}", flush=True)


PARTS = {
    "gate": gates,
    "pass_at_k": runs,
    "sequential": sequential,
    "judges": judges,
    "pairs": pairs,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=list(PARTS))
    warnings.simplefilter("ignore")
    PARTS[parser.parse_args().part]()


if __name__ == "__main__":
    main()
