"""Longjohn, Gopalan and Casleton (2024): 16 models on the 19 tasks of VTAB.

Counts are in ``tests/gold``, made as in the paper: the accuracy to three digits times the number of
test items, rounded down. The settings are those of the paper. The hierarchical model is
``HierarchicalBetaBinomial.as_published``. Bounds of normalized scores are ``"bootstrap"`` with 100
draws; the tables show the median of 100 runs. Confidence levels come from the captions. All other
limits use 10,000 draws. If they differ from the paper, the last column states whether any of 100
runs of 100 draws reaches the printed values.
"""

import sys
import warnings

import numpy as np
from scipy.stats import norm, spearmanr

from reproduced import (
    GOLD,
    NOT_PRINTED,
    ROOT,
    Row,
    Table,
    figure,
    from_one,
    quotations,
    quoted,
)
from reproduced.l24_study import simulation_study
from skbench.stats.scales.aggregation import difference_variance
from skbench.tasks import (
    HierarchicalBetaBinomial,
    TaskBootstrap,
    WeightSimplex,
    aggregate,
    differences,
    normalize_scores,
    rank_models,
    rank_probabilities,
)

sys.path.append(str(ROOT / "tests"))

from reference.vtab import CATEGORIES, COLUMNS, FULL_NAMES, vtab_rows

ENDS = ("point", "low", "high")
FEW = 100  # replicates in the paper
N_RUNS = 100
SCORES, RANKS, PAIRS = 0.834, 0.95, 1 - 0.05 / 3  # confidence levels
TOP = [("SR-100%", "SE-100%"), ("SR-100%", "S-100%"), ("SE-100%", "S-100%")]
SEMI = ["Semi-Exemplar-10%", "Semi-Rotation-10%"]
CORNERS = ("specialized", "structured", "natural")


def add_arguments(parser):
    """Add the options of ``reproduce.py l24``."""
    parser.add_argument("--draws", type=from_one, default=10_000, help="a multiple of 100")


def tables(arguments):
    """Yield all tables, and the results of Figures 3 to 6."""
    warnings.filterwarnings("ignore", "The bounds are")  # the paper's move with the draws
    warnings.filterwarnings("ignore", "Only .* draws are expected")  # so few has the paper
    rows = vtab_rows(GOLD)
    data = rows, rows["k"] / rows["n"], None, rows["n"]

    def hierarchical(kind):
        made = HierarchicalBetaBinomial.as_published(kind, n_draws=arguments.draws, random_state=0)
        return made.fit(*data).draws_

    yield _settings(data)
    yield _printed_twice()
    yield simulation_study(arguments.draws)
    bootstrap = TaskBootstrap(arguments.draws, random_state=0).fit(*data).draws_
    predictive = hierarchical("predictive")
    runs = [TaskBootstrap(FEW, random_state=seed).fit(*data).draws_ for seed in range(N_RUNS)]
    scaled = [normalize_scores(run, "bootstrap") for run in runs]
    yield _scores("Tables 2 and 6: accuracy in points, bootstrap", 6, bootstrap)
    yield _scores("Tables 2 and 7: hierarchical model, new test sets", 7, predictive)
    yield _scores("Tables 2 and 9: normalized accuracy, bounds of 100 draws", 9, *scaled)
    yield _table_3(bootstrap, predictive, scaled)
    yield _normalizing(runs[0], scaled)
    yield _ranks("Tables 4 and 8: ranks, bootstrap", 8, bootstrap)
    yield _ranks("Tables 5 and 10: ranks, normalized, bounds of 100 draws", 10, *scaled)
    yield _ranks("Table 11: ranks, hierarchical model, new test sets", 11, predictive)
    yield _figures_3_and_4(data, runs)
    yield _figures_5_and_6(hierarchical("parameter"))


def _settings(data):
    """Return the numbers of the paper's text that can be computed."""
    rows, _, _, n = data
    z = norm.isf(float(quoted("L24", "Section 2.1", "overlap", "alpha")) / 2) / np.sqrt(2)
    half = np.sqrt(difference_variance(1, 1, 0.5) / difference_variance(1, 1))
    return Table(
        "Settings and numbers in the text",
        [
            Row(
                "models, tasks",
                quoted("L24", "Section A.1", "benchmark", "models", "tasks"),
                ", ".join(str(rows[name].nunique()) for name in ("model", "task")),
            ),
            Row(
                "test items of a task, fewest and most",
                quoted("L24", "Section A.1", "benchmark", "fewest", "most", form="{} to {}"),
                f"{n.min()} to {n.max():,}",
            ),
            Row(
                "confidence level at which two intervals touch at the limit of a 5% test",
                quoted("L24", "Section 2.1", "overlap", "level"),
                f"{100 * (1 - 2 * norm.sf(z)):.1f}%",
                "for two independent models with equal standard errors",
            ),
            Row(
                "rho = .5: standard deviation of a difference relative to rho = 0",
                quoted("L24", "Section 2.3", "correlated models", "share of the sd"),
                f"{100 * half:.0f}%",
                "approximate in the paper; the exact value is the root of one half",
            ),
            Row(
                "z with the same effect",
                quoted("L24", "Figure 3", "b", "z"),
                figure(2 * half, 1),
            ),
            Row(
                "bootstrap replicates",
                NOT_PRINTED,
                str(FEW),
                "inferred: bounds in Table 9 are extremes of all draws. The first model then has "
                "88.44 with 100 draws, 88.15 with 300 and 88.05 with 500; the paper prints 88.4",
            ),
        ],
    )


def _printed_twice():
    """Compare Tables 2, 4 and 5 with the cells of the appendix that they repeat."""
    places = {
        "Table 2": {
            "Avg Acc Bootstrap": ("Table 6", "Overall"),
            "Avg Acc Bayesian HM": ("Table 7", "Overall"),
            "Avg Norm Acc": ("Table 9", "Overall"),
        },
        "Table 4": {head: ("Table 8", head) for head in COLUMNS.values()},
        "Table 5": {head: ("Table 10", head) for head in COLUMNS.values()},
    }
    rows, n_cells = [], 0
    for place, heads in places.items():
        for head, other in heads.items():
            full = _column(*other)
            for model, (cell, numbers) in _column(place, head).items():
                n_cells += len(numbers)
                if (numbers != full[model][1]).any():
                    why = f"the paper prints both; this row compares it with {other[0]}"
                    rows.append(Row(f"{place}, {head}: {model}", cell, full[model][0], why))
    title = f"Cells printed twice in the paper: {len(rows)} of {n_cells // 3} triples disagree"
    return Table(title, rows)


def _column(place, head):
    """Return a printed column: the cell of each row, and its numbers."""
    found = {}
    for paper, where, row, column in quotations():
        if (paper, where, column) == ("L24", place, f"{head} point"):
            cells = [quoted("L24", place, row, f"{head} {end}") for end in ENDS]
            whole = quoted(
                "L24", place, row, *(f"{head} {end}" for end in ENDS), form="{} ({}, {})"
            )
            found[FULL_NAMES.get(row, row)] = whole, np.array(cells, dtype=float)
    return found


def _three(values, level):
    """Return means and limits of draws along the second-last axis."""
    ends = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=-2)
    return np.stack([values.mean(axis=-2), *ends], axis=-1)


def _compared(place, head, names, estimates, runs, level):
    """Return rows of a printed column, their differences, and models outside all runs."""
    here = np.median([np.column_stack([e.value, e.low, e.high]) for e in estimates], axis=0)
    many = _three(runs, level)
    rows, apart, outside = [], [], []
    for name, (cell, numbers) in _column(place, head).items():
        i = list(names).index(name)
        text = _cell(here[i])
        low, high = many[:, i].min(axis=0) - 0.05, many[:, i].max(axis=0) + 0.05
        reached = np.all((low <= numbers) & (numbers <= high))
        outside += [] if reached else [name]
        why = f"{'within' if reached else 'outside'} {len(many)} runs of {FEW} draws"
        rows.append(Row(name, cell, text, "" if text == cell else why))
        apart.append(np.abs(here[i] - numbers).max())
    return rows, apart, outside


def _cell(ends):
    return "{} ({}, {})".format(*(figure(value, 1) for value in ends))


def _table(title, place, shown, statistics, level):
    """Return one column in full, and the largest difference of each other column."""
    rows = []
    for head, draws in statistics[0].items():
        (models,) = draws.labels
        runs = np.concatenate([one[head].values for one in statistics])
        runs = runs.reshape(-1, FEW, len(models))
        estimates = [one[head].interval(level) for one in statistics]
        found, apart, outside = _compared(place, head, models, estimates, runs, level)
        if head == shown:
            rows = [*found, *rows]
        else:
            worst = found[int(np.argmax(apart))]
            what = f"{head}, largest difference: {worst.what}"
            equal = sum(row.here == row.paper for row in found)
            why = (
                f"{equal} of {len(found)} models agree in all digits; outside {len(runs)} runs of "
                f"{FEW} "
                f"draws: {', '.join(outside) or 'none'}"
            )
            rows.append(Row(what, worst.paper, worst.here, why))
    return Table(f"{title}; {shown} in full", rows)


def _scores(title, number, *sources):
    """Compare mean accuracies in points, by category and overall."""

    def means(draws):
        weights = {name: {c: float(c == name) for c in CATEGORIES} for name in CATEGORIES}
        weights["overall"] = None
        return {name.capitalize(): aggregate(_points(draws), w) for name, w in weights.items()}

    return _table(title, f"Table {number}", "Overall", [means(s) for s in sources], SCORES)


def _points(draws):
    return type(draws)(100 * draws.values, draws.labels, draws.kind)


def _ranks(title, number, *sources):
    """Compare five aggregations of ranks."""

    def ranks(draws):
        return {head: rank_models(draws, by, random_state=0) for by, head in COLUMNS.items()}

    return _table(title, f"Table {number}", "By avg", [ranks(s) for s in sources], RANKS)


def _table_3(bootstrap, predictive, scaled):
    columns = {
        "Avg Acc Diff Bootstrap": [bootstrap],
        "Avg Acc Diff Bayesian HM": [predictive],
        "Avg Norm Acc Diff": scaled,
    }
    pairs = [(FULL_NAMES[a], FULL_NAMES[b]) for a, b in TOP]
    rows = []
    for head, sources in columns.items():
        scores = [aggregate(_points(source)) for source in sources]
        values = np.concatenate([s.values for s in scores])
        a, b = (scores[0].labels[0].get_indexer(names) for names in zip(*pairs, strict=True))
        runs = (values[:, a] - values[:, b]).reshape(-1, FEW, len(pairs))
        names = [" - ".join(pair) for pair in TOP]
        found = [differences(score, pairs) for score in scores]
        of_column, _, _ = _compared("Table 3", head, names, found, runs, PAIRS)
        rows += [Row(f"{head}: {row.what}", row.paper, row.here, row.why) for row in of_column]
    return Table("Table 3: differences of three models in points, 98.33% each", rows)


def _normalizing(run, scaled):
    """Check the conclusions of section 3.1 about normalized scores."""
    scores = [aggregate(_points(source)) for source in scaled]
    a, b = scores[0].labels[0].get_indexer(SEMI)
    semi = np.concatenate([s.values[:, a] - s.values[:, b] for s in scores])
    low, high = run.values.min(axis=(0, 1)), run.values.max(axis=(0, 1))
    weight = 1 / (high - low)
    names = run.labels[1].get_level_values("task")
    return Table(
        "Section 3.1: conclusions from normalized scores",
        [
            Row(
                f"{' - '.join(SEMI)}, normalized, points, 95%",
                NOT_PRINTED,
                _cell(_three(semi[:, None], 0.95)[0]),
                "the interval includes 0; the text reports findings similar to those for the "
                "first two models",
            ),
            Row(
                "rank correlation of smallest score and weight, 1 / (high - low), over tasks",
                NOT_PRINTED,
                figure(spearmanr(low, weight).statistic),
                "according to the text, hard tasks (low minimum) count more. But their range is "
                "wide: "
                f"{names[weight.argmax()]} (minimum {low[weight.argmax()]:.2f}) counts "
                f"{weight.max() / weight.min():.0f} times as much as {names[weight.argmin()]} "
                f"({low[weight.argmin()]:.2f})",
            ),
        ],
    )


def _figures_3_and_4(data, runs):
    rows, y, _, n = data
    variance = y * (1 - y) / n
    scales = [_scale(run, rows) for run in runs[:20]]
    cases = {
        "Figure 3": [(y, variance)],
        "Figure 4": [((y - low) / span, variance / span**2) for low, span in scales],
    }
    place = "L24", "Section 3.3", "example of weights"
    shown = quoted(*place, "structured", "natural", "specialized")
    example = [float(quoted(*place, corner)) for corner in CORNERS]
    parts = {"(a)": {}, "(b)": {"z": 2 * np.sqrt(0.5)}, "(b) with rho = .5": {"rho": 0.5}}
    found = []
    for name, scores in cases.items():
        for part, options in parts.items():
            maps = [WeightSimplex(CORNERS, **options).fit(rows, *score) for score in scores]
            structured = maps[0].weights_[maps[0].winners() == "Rotation", 1].min()
            at = np.abs(maps[0].weights_ - example).sum(axis=1).argmin()
            why = (
                f"the figure is a map. With the text's weights {shown}: {maps[0].winners()[at]}; "
                f"Rotation wins at no structured weight below {structured:.3f}"
            )
            if len(maps) > 1:
                open_ = [one.fractions_["undecided"] for one in maps]
                why += (
                    f"; over 20 sets of bounds, {min(open_):.3f} to {max(open_):.3f} are undecided"
                )
            shares = ", ".join(f"{k} {figure(share, 3)}" for k, share in maps[0].fractions_.items())
            z = quoted("L24", name, "a" if "rho" in options else part[1], "z")
            found.append(Row(f"{name} {part}, {z} standard errors", NOT_PRINTED, shares, why))
    title = "Figures 3 and 4: proportions of the weightings won by each model"
    return Table(f"{title}; Rotation wins if structured tasks weigh most, as in the text", found)


def _scale(draws, rows):
    """Return the smallest draw of each row's task, and the range."""
    low, high = draws.values.min(axis=(0, 1)), draws.values.max(axis=(0, 1))
    at = draws.labels[1].get_level_values("task").get_indexer(rows["task"])
    return low[at], (high - low)[at]


def _figures_5_and_6(accuracies):
    weights = {name: float(quoted("L24", "Figure 5", "weights", name)) for name in CATEGORIES}
    rows = []
    for name, w in {"Figure 5 (.95 structured)": weights, "Figure 6 (equal weights)": None}.items():
        found = rank_probabilities(rank_models(accuracies, weights=w))
        for model in _column("Table 2", "Avg Acc Bayesian HM"):
            likely = found.loc[model][lambda p: p >= 0.0005]
            text = ", ".join(f"{rank}: {figure(p, 3)}" for rank, p in likely.items())
            rows.append(
                Row(f"{name}: {model}", NOT_PRINTED, text, "the figure has bars without numbers")
            )
    return Table("Figures 5 and 6: rank probabilities of the first six models", rows)
