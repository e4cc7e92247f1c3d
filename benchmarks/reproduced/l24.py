"""Longjohn, Gopalan and Casleton (2024): 16 models on the 19 tasks of VTAB.

Counts as the paper made them (floor of the accuracy to three digits times the test items),
in ``tests/gold``; intervals there are quantiles of 100 draws, here of 10,000.
"""

import sys
import warnings
from functools import partial

import numpy as np
import pandas as pd
from scipy.stats import norm

from reproduced import GOLD, ROOT, Row, Table, figure
from skbench.tasks import (
    HierarchicalBetaBinomial,
    TaskBootstrap,
    WeightSimplex,
    aggregate,
    differences,
    normalize_scores,
    rank_models,
)

sys.path.append(str(ROOT / "tests"))

from reference.vtab import CATEGORIES, printed_table, vtab_rows

SCHEMES = {
    "mean": "by_avg",
    "geometric mean": "geom_mean",
    "average rank": "avg_rank",
    "noisy average rank": "avg_rank_noise",
    "binned average rank": "avg_rank_bins",
}
HUNDRED = "the paper's ends are quantiles of 100 draws"
TOP = ["Sup-Rotation-100%", "Sup-Exemplar-100%", "Sup-100%"]


def add_arguments(parser):
    """Options of ``reproduce.py l24``."""
    parser.add_argument("--draws", type=int, default=10_000)


def tables(arguments):
    """All tables, and what figures 3 to 6 show."""
    rows = vtab_rows(GOLD)
    y, n = rows["k"] / rows["n"], rows["n"]
    bootstrap = TaskBootstrap(n_draws=arguments.draws, random_state=0).fit(rows, y, n=n)
    published = partial(
        HierarchicalBetaBinomial.as_published, n_draws=arguments.draws, random_state=0
    )
    accuracy = published("parameter").fit(rows, y, n=n)
    predictive = published("predictive").fit(rows, y, n=n)
    few = TaskBootstrap(n_draws=100, random_state=0).fit(rows, y, n=n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the bounds depend on the draws
        normalized = normalize_scores(few.draws_, "bootstrap")
    bounds = "bounds are the extremes of 100 draws, the paper's own and ours"
    return [
        _simulation_study(arguments.draws),
        _table("Tables 2 and 6: accuracy in points, bootstrap", 6, _scores(bootstrap), HUNDRED),
        _table(
            "Tables 2 and 7: hierarchical model, new test sets",
            7,
            _scores(predictive),
            f"new test sets, not accuracies, whose intervals are sqrt 2 shorter; {HUNDRED}",
        ),
        _table_3(bootstrap, accuracy, predictive, normalized),
        _ranks("Tables 4 and 8: ranks, bootstrap", 8, bootstrap, HUNDRED),
        _table("Tables 2 and 9: normalized accuracy", 9, _scores(normalized), bounds),
        _ranks("Tables 5 and 10: ranks, normalized", 10, normalized, bounds),
        _ranks("Table 11: ranks, hierarchical model", 11, predictive, HUNDRED),
        _figures_3_and_4(rows, y, n, normalized, few),
        _figures_5_and_6(accuracy),
    ]


def _scores(source):
    """Value, low and high in points of every model, in each category and overall."""
    draws = getattr(source, "draws_", source)
    parts = aggregate(draws, by="category").interval(0.834).to_frame()
    found = {name: parts.xs(name, level=1) for name in CATEGORIES}
    found["overall"] = aggregate(draws).interval(0.834).to_frame()
    columns = ["value", "low", "high"]
    return {name: 100 * table[columns].astype(float) for name, table in found.items()}


def _table(title, number, ours, why):
    """Every model's overall figure, and how far all of them are apart."""
    printed = printed_table(GOLD, number)
    rows = [
        Row(model, *(_three(table.loc[model]) for table in (_printed(printed), ours["overall"])))
        for model in printed.index
    ]
    return Table(f"{title}, overall", rows + _apart(printed, ours, why, 1))


def _ranks(title, number, source, why):
    printed = printed_table(GOLD, number)
    columns = ["value", "low", "high"]
    ours = {
        column: rank_models(source, criterion, random_state=0).interval().to_frame()[columns]
        for criterion, column in SCHEMES.items()
    }
    ours = {name: table.astype(float) for name, table in ours.items()}
    rows = [
        Row(
            model,
            _three(_printed(printed, "by_avg").loc[model]),
            _three(ours["by_avg"].loc[model]),
        )
        for model in printed.index
    ]
    return Table(f"{title}, by average", rows + _apart(printed, ours, why, 2))


def _apart(printed, ours, why, digits):
    rows = []
    for name, table in ours.items():
        apart = (table.loc[printed.index] - _printed(printed, name)).abs()
        ends = apart[["low", "high"]].max().max()
        text = f"{figure(apart['value'].max(), digits)}, {figure(ends, digits)}"
        rows.append(Row(f"{name}: largest difference of point, of ends", "0, 0", text, why))
    return rows


def _printed(table, column="overall"):
    ends = {"value": "point", "low": "lo", "high": "hi"}
    return pd.DataFrame({name: table[f"{column}_{end}"] for name, end in ends.items()})


def _three(row):
    return f"{row['value']:.1f} ({row['low']:.1f}, {row['high']:.1f})"


def _table_3(bootstrap, accuracy, predictive, normalized):
    pairs = [(TOP[0], TOP[1]), (TOP[0], TOP[2]), (TOP[1], TOP[2])]
    paper = {
        "bootstrap": ["0.3 (-0.1, 0.8)", "1.6 (1.2, 2.0)", "1.3 (0.9, 1.7)"],
        "hierarchical, new test sets": ["0.3 (-0.3, 0.9)", "1.6 (1.0, 2.2)", "1.3 (0.7, 1.9)"],
        "normalized": ["-1.1 (-2.1, 0.0)", "3.3 (2.3, 4.3)", "4.4 (3.4, 5.3)"],
    }
    sources = dict(zip(paper, (bootstrap, predictive, normalized), strict=True))
    rows = []
    for name, texts in paper.items():
        draws = getattr(sources[name], "draws_", sources[name])
        found = differences(aggregate(draws), pairs)
        found = found.interval(1 - 0.05 / 3) if hasattr(found, "interval") else found
        table = 100 * found.to_frame()[["value", "low", "high"]].astype(float)
        for (a, b), text, (_, row) in zip(pairs, texts, table.iterrows(), strict=True):
            rows.append(Row(f"{name}: {a} - {b}", text, _three(row), HUNDRED))
    return Table("Table 3: differences of three models in points, 98.33% each", rows)


def _simulation_study(n_draws):
    """Section 2.2: three tasks, two models, the prior of which decides."""
    n = np.array([200, 10_000, 20_000])
    X = pd.DataFrame([(m, t) for m in "AB" for t in "123"], columns=["model", "task"])
    y = np.array([100, 5000, 10_000, 115, 5000, 10_000]) / np.tile(n, 2)
    sizes = np.tile(n, 2)

    def interval(fitted):
        a, b = aggregate(fitted.draws_).values.T
        return np.quantile(a - b, [0.025, 0.975])

    def text(ends, digits=3):
        return f"({figure(ends[0], digits)}, {figure(ends[1], digits)})"

    boot = interval(TaskBootstrap(n_draws=n_draws, random_state=0).fit(X, y, n=sizes))
    hundreds = [
        interval(TaskBootstrap(n_draws=100, random_state=seed).fit(X, y, n=sizes))
        for seed in range(200)
    ]
    sd = np.std(hundreds, axis=0)
    a, b = (norm(2000, 10), norm(2000, 10)), (norm(2100, 10), norm(1900, 10))
    bayes = {
        name: HierarchicalBetaBinomial(prior=prior, n_draws=n_draws, random_state=0)
        for name, prior in (("as printed", {"A": a, "B": b}), ("exchanged", {"A": b, "B": a}))
    }
    ends = {name: interval(model.fit(X, y, n=sizes)) for name, model in bayes.items()}
    return Table(
        "Section 2.2, simulation study: interval of A - B",
        [
            Row(
                "bootstrap",
                "(-.059, .097)",
                text(boot),
                "a lost zero: (-.059, .0097) has the luck of 100 draws, whose ends vary by "
                f"{figure(sd[0], 4)} and {figure(sd[1], 4)} (sd); .097 is "
                f"{(0.097 - boot[1]) / sd[1]:.0f} of these off",
            ),
            Row(
                "hierarchical",
                "(-.021, -.003)",
                text(ends["as printed"]),
                "10 is a standard deviation; the first prior is of model A, the second of B",
            ),
            Row("priors exchanged", "-", text(ends["exchanged"], 4), "the prior decides"),
        ],
    )


def _figures_3_and_4(rows, y, n, normalized, few):
    order = ["specialized", "structured", "natural"]
    shares = {"Figure 3": WeightSimplex(order).fit(rows, y, n=n).fractions_}
    low, high = few.draws_.values.min(axis=(0, 1)), few.draws_.values.max(axis=(0, 1))
    place = dict(zip(few.tasks_.get_level_values("task"), range(len(low)), strict=True))
    at = rows["task"].map(place).to_numpy()
    span = high[at] - low[at]
    sigma2 = y * (1 - y) / n / span**2
    shares["Figure 4"] = WeightSimplex(order).fit(rows, (y - low[at]) / span, sigma2).fractions_
    return Table(
        "Figures 3 and 4: share of the weightings that a model wins",
        [
            Row(f"{name}: {model}", "map", figure(share, 3), "")
            for name, found in shares.items()
            for model, share in found.items()
        ],
    )


def _figures_5_and_6(accuracy):
    weights = {
        "Figure 5 (.95 structured)": {"natural": 0.025, "specialized": 0.025, "structured": 0.95},
        "Figure 6 (tasks alike)": None,
    }
    rows = []
    for name, weight in weights.items():
        scores = aggregate(accuracy.draws_, weight)
        ranks = (-scores.values).argsort(axis=1).argsort(axis=1) + 1
        for j in np.argsort(ranks.mean(axis=0))[:4]:
            first = np.mean(ranks[:, j] == 1)
            rows.append(Row(f"{name}: {scores.labels[0][j]} is first", "map", figure(first, 3), ""))
    return Table("Figures 5 and 6: probability of rank 1", rows)
