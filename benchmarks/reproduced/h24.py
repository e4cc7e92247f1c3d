"""Hofer et al. (2024), Bayesian prediction-powered inference: open question answering, simulations.

Data: openqa_nq.csv.gz (five of the ten systems, 3,610 questions, some 300 with human labels);
the exact match with the known answers stands in for the paper's prompted autorater, whose
verdicts are public for one system (counts in ``tests/gold/ppi_chain.json``).
"""

import json
import warnings
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import norm

from reproduced import GOLD, Row, Table, data_folder, figure
from skbench.ppi import (
    ChainRulePPI,
    MonteCarloPPI,
    PPIMean,
    Proportion,
    StratifiedPPI,
)
from skbench.stats.ppi.chain_rule import chain_interval

TABLE_4 = {
    "DPR": (40.9, 47.8, 58.8),
    "FiD": (46.5, 53.7, 64.8),
    "ANCE-plus_FiD": (47.3, 54.8, 65.8),
    "FiD-KD": (49.6, 57.4, 73.1),
    "EviGen": (49.8, 57.0, 67.1),
}
N_MIN = {"DPR": 151, "FiD": 129, "ANCE-plus_FiD": 137, "FiD-KD": 150, "EviGen": 155}
BY_MATCH = "exact match in place of Gemini, five systems in place of ten"


def add_arguments(parser):
    """Options of ``reproduce.py h24``."""
    parser.add_argument("--trials", type=int, default=1000, help="simulated data sets")


def tables(arguments):
    """All tables, and what figure 5 shows."""
    rows = pd.read_csv(data_folder() / "openqa_nq.csv.gz")
    systems = {name: table for name, table in rows.groupby("system")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            _table_4(systems),
            _table_5(),
            _table_6(systems),
            _table_7(systems),
            _figure_5(systems),
            _coverage(arguments.trials),
            _table_3(arguments.trials),
            _not_had(),
        ]


def _data(table):
    return table["em"].to_numpy(dtype=float), table["human"].to_numpy(dtype=float)


def _width(estimator, table):
    e = estimator.fit(*_data(table)).estimate()
    return e.high[0] - e.low[0]


def _wald(y):
    y = y[~np.isnan(y)]
    return 2 * norm.isf(0.025) * np.sqrt(y.mean() * (1 - y.mean()) / y.size)


def _table_4(systems):
    rows = []
    for name, printed in TABLE_4.items():
        found = [100 * systems[name][column].mean() for column in ("em", "f1", "human")]
        rows.append(
            Row(
                f"{name}: exact match, F1, human",
                ", ".join(f"{x:.1f}" for x in printed),
                ", ".join(f"{x:.1f}" for x in found),
                "labels joined on question and answer; 301, not 300",
            )
        )
    return Table("Table 4: scores of open question answering in %", rows)


def _table_5():
    case = json.loads((GOLD / "ppi_chain.json").read_text())["abstaining"]
    counts = case["counts"]
    labeled = [[counts[a]["k"], counts[a]["n"] - counts[a]["k"]] for a in counts]
    low, high = chain_interval([[counts[a]["N"] for a in counts]], [labeled], [1, 0])
    k, n = np.sum(labeled, axis=0)[0], np.sum(labeled)
    classical = 2 * norm.isf(0.025) * np.sqrt(k * (n - k) / n**3)
    value = {"n": 0.0, "u": 0.5, "y": 1.0}
    total = sum(counts[a]["N"] for a in counts)
    f = np.repeat([value[a] for a in counts], [counts[a]["N"] for a in counts])
    missed = np.concatenate(
        [
            np.repeat([1 - value[a], -value[a]], [counts[a]["k"], counts[a]["n"] - counts[a]["k"]])
            for a in counts
        ]
    )
    difference = 2 * norm.isf(0.025) * np.sqrt(f.var() / total + missed.var(ddof=1) / n)
    why = "FiD, the one system whose verdicts are public; the paper's are means over ten"
    exact = case["chain_ci95_mc4e6"]
    return Table(
        "Table 5: width at 300 labels, an autorater that abstains",
        [
            Row(
                "classical (Wald; .108 would be Clopper-Pearson)", ".105", figure(classical, 3), why
            ),
            Row("difference estimate", ".096", figure(difference, 3), why),
            Row("chain rule", ".089", figure(high[0] - low[0], 3), why),
            Row(
                "chain rule, its ends against 4 million draws",
                "-",
                f"{np.max(np.abs([low[0] - exact[0], high[0] - exact[1]])):.0e}",
                "quadrature; 10,000 draws err by 6e-4",
            ),
        ],
    )


def _chain_parts():
    yes, no = (lambda t: t["x0"] == 1), (lambda t: t["x0"] == 0)
    return {
        "yes": Proportion("x0", "unlabeled"),
        "if_yes": Proportion("y", given=yes),
        "if_no": Proportion("y", given=no),
    }


def _chain(yes, if_yes, if_no):
    return yes * if_yes + (1 - yes) * if_no


def _table_6(systems):
    methods = {
        "difference estimate": (".095", PPIMean(power_tuning=False, interval="z")),
        "chain rule": (".085", ChainRulePPI(prior="jeffreys")),
        "difference estimate + ptune": (".083", PPIMean(interval="z")),
        "chain rule, Monte Carlo": (
            ".084516",
            MonteCarloPPI(_chain_parts(), _chain, random_state=0),
        ),
        "chain rule, bootstrap (5.4.3)": (
            ".084358",
            MonteCarloPPI(
                _chain_parts(), _chain, n_draws=4000, random_state=0, integration="bootstrap"
            ),
        ),
    }
    classical = np.mean([_wald(_data(table)[1]) for table in systems.values()])
    rows = [Row("classical", ".105, 1", f"{figure(classical, 3)}, 1", BY_MATCH)]
    for name, (printed, estimator) in methods.items():
        width = np.mean([_width(estimator, table) for table in systems.values()])
        share = figure(float(printed) / 0.105)
        rows.append(
            Row(
                name,
                f"{printed}, {share}",
                f"{figure(width, 4)}, {figure(width / classical)}",
                BY_MATCH,
            )
        )
    return Table("Table 6 and 5.4.3: width at 300 labels and relative to classical", rows)


def _table_7(systems):
    rng = np.random.default_rng(0)
    rows = []
    for name, printed in N_MIN.items():
        f, y = _data(systems[name])
        known = np.flatnonzero(~np.isnan(y))
        target = _wald(y)
        unlabeled = [[np.sum(f[np.isnan(y)] == v) for v in (1, 0)]]
        need = []
        for _ in range(20):
            order = rng.permutation(known)
            for n in range(60, len(known) + 1, 5):
                cells = [
                    [np.sum((f[order[:n]] == v) & (y[order[:n]] == h)) for h in (1, 0)]
                    for v in (1, 0)
                ]
                low, high = chain_interval(unlabeled, [cells], [1, 0])
                if high[0] - low[0] <= target:
                    break
            need.append(n)
        rows.append(Row(name, f"{printed} of {len(known)}", f"{np.mean(need):.0f}", BY_MATCH))
    return Table("Table 7: labels that the chain rule needs for the classical width", rows)


def _figure_5(systems):
    """Pairs of systems that a side-by-side test separates."""
    rng = np.random.default_rng(0)
    wide = pd.concat(systems).pivot(index="question_id", columns="system", values=["em", "human"])
    printed = {100: (".54", ".76"), 200: (".79", ".94")}
    rows = []
    for n, (classical, chain) in printed.items():
        found = np.zeros(2)
        n_pairs = 0
        for a, b in combinations(systems, 2):
            human = (wide["human"][a] - wide["human"][b]).to_numpy()
            judge = (wide["em"][a] - wide["em"][b]).to_numpy()
            both = np.flatnonzero(~np.isnan(human))
            if abs(np.mean(human[both])) < 0.02:
                continue  # not truly different, for all that is known
            for _ in range(20):
                chosen = rng.choice(both, n, replace=False)
                d = human[chosen]
                z = d.mean() / (d.std(ddof=1) / np.sqrt(n))
                cells = [
                    [np.sum((judge[chosen] == v) & (d == h)) for h in (1, 0, -1)]
                    for v in (1, 0, -1)
                ]
                rest = np.delete(judge, chosen)
                low, high = chain_interval(
                    [[np.sum(rest == v) for v in (1, 0, -1)]], [cells], [1, 0, -1]
                )
                found += abs(z) > norm.isf(0.025), low[0] > 0 or high[0] < 0
                n_pairs += 1
        why = (
            f"{n_pairs // 20} pairs of five systems in place of 59 of ten; {BY_MATCH.split(',')[0]}"
        )
        for name, paper, share in zip(
            ("classical", "chain rule"), (classical, chain), found / n_pairs, strict=True
        ):
            rows.append(Row(f"{n} labels, {name}", paper, figure(share), why))
    return Table("Figure 5: share of pairs that are separated", rows)


def _coverage(n_trials):
    """Section 5.2.4 and A.3: truths from the posteriors of real systems."""
    rng = np.random.default_rng(0)
    gold = json.loads((GOLD / "ppi_chain.json").read_text())["binary"]
    systems = [row for row in gold if row["N"] > 3000]
    hits = []
    for trial in range(n_trials):
        s = systems[trial % len(systems)]
        p = rng.beta(s["A1_unlab"] + 0.5, s["N"] - s["A1_unlab"] + 0.5)
        m = [rng.beta(s[f"k{v}"] + 0.5, s[f"n{v}"] - s[f"k{v}"] + 0.5) for v in (1, 0)]
        n, total = rng.integers(100, 501), rng.integers(3000, 4001)
        yes, verdict = rng.binomial(total, p), rng.binomial(n, p)
        k = rng.binomial([verdict, n - verdict], m)
        cells = [[k[0], verdict - k[0]], [k[1], n - verdict - k[1]]]
        low, high = chain_interval([[yes, total - yes]], [cells], [1, 0])
        hits.append(low[0] <= p * m[0] + (1 - p) * m[1] <= high[0])
    error = np.sqrt(0.05 * 0.95 / len(hits))
    return Table(
        "Section 5.2.4: coverage of synthetic systems",
        [
            Row(
                "chain rule",
                ".952",
                figure(np.mean(hits), 3, error),
                f"three real systems, {len(hits)} sets; 1,000 in the paper",
            )
        ],
    )


def _table_3(n_trials):
    """A calibrated autorater in place of Seahorse and AttributedQA."""
    rng = np.random.default_rng(1)
    methods = {
        "difference estimate": (PPIMean(power_tuning=False, interval="z"), ".969", ".095"),
        "difference estimate + ptune": (PPIMean(interval="z"), ".976", ".095"),
        "stratified, 5 bins": (StratifiedPPI(), ".963", ".094"),
        "tree, 5 leaves": (StratifiedPPI("tree"), ".963", ".093"),
        "stratified, K = *": (StratifiedPPI.as_published(), "*", "*"),
        "tree, K = *": (StratifiedPPI.as_published("tree"), "*", "*"),
    }
    hits = dict.fromkeys(methods, 0)
    width = dict.fromkeys(methods, 0.0)
    truth, n, total = 0.5, 300, 3000
    classical = 0.0
    for _ in range(n_trials):
        f = rng.beta(1, 1, total)
        y = rng.binomial(1, f).astype(float)
        y[n:] = np.nan
        classical += _wald(y) / n_trials
        for name, (estimator, *_) in methods.items():
            e = estimator.fit(f, y).estimate()
            hits[name] += e.low[0] <= truth <= e.high[0]
            width[name] += (e.high[0] - e.low[0]) / n_trials
    error = np.sqrt(0.05 * 0.95 / n_trials)
    why = f"simulated, scores uniform and calibrated; classical width {figure(classical, 3)}"
    rows = [
        Row(
            f"{name}: coverage, width",
            ".86 to .98, see there" if printed == "*" else f"{coverage}, {printed} (Seahorse 1)",
            f"{figure(hits[name] / n_trials, 3, error)}, {figure(width[name], 3)}",
            why,
        )
        for name, (_, coverage, printed) in methods.items()
    ]
    return Table("Tables 2 and 3: coverage and width at 300 labels", rows)


def _not_had():
    why = "Seahorse and AttributedQA with the paper's autoraters are not public"
    return Table(
        "Not to be had",
        [
            Row("Table 2, 52 widths", "see there", "-", f"{why}; the simulation above"),
            Row("Figures 1 to 4", "pictures", "-", why),
            Row("Table 9", "widths", "-", "verdicts y, n, u of nine systems are not public"),
        ],
    )
