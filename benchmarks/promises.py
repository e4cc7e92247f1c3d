"""Audit every public interval in realistic and extreme settings against its guarantee.

    python benchmarks/promises.py [--small] [--only NAME]

The script writes ``doc/promises.inc``, a table of ``doc/how_we_know.rst``. Its columns are:

- the interval and its guarantee
- median coverage over settings, lowest coverage, and the setting with the lowest coverage
- width relative to the narrowest interval with correct coverage (median over settings)
- squared error of group estimates relative to the direct estimates (worst setting)
- whether the guarantee holds: coverage of at least 0.93, minus two sampling errors

tests/assessment/test_promises.py fails for a public interval without a row. It also fails for an
unlisted estimator with more than 1.15 times the error of the direct estimates. The nominal level
is 0.95. The default, `MixedModel`, is also checked at 0.80 (at least 0.78) and at 0.99
(at least 0.98).

``--only NAME`` selects estimators of groups by a part of their name. It prints the coverage in each
setting and writes nothing. Widths are then relative to these estimators only.

Each guarantee is checked in the settings that it covers. "each group": all settings. "on average
over accuracies": the average over the accuracies with equal n. "unless skewed": scores without
skewness. "average over groups": all settings, averaged over groups. "posterior" and "model":
settings in which the model is correct. "none": no setting. ``printed.py`` adds the error rates of
commands: wrong passes, false rank sets, inconsistent values.
"""

import argparse
import inspect
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import printed  # noqa: E402

import skbench  # noqa: E402
from skbench import summarize_items  # noqa: E402
from skbench.ppi import Mean  # noqa: E402

OUT = ROOT / "doc" / "promises.inc"
LEVEL = 0.95
LEVELS = {"MixedModel": (0.8, LEVEL, 0.99)}  # 0.95 for all others
HOLDS = {0.8: 0.78, LEVEL: 0.93, 0.99: 0.98}  # lowest accepted coverage
N_ALIKE = 400  # groups per distribution: repetitions of a setting
N_SETS = 16  # data sets of models and topics per setting
N_SMALL = 6  # repetitions of data sets with only six groups
MOST_ERROR = 1.15  # largest relative squared error without an entry below
N_DRAWS = 200  # repetitions of pairs, tasks and labeled rows


class Corner(NamedTuple):
    """Scores of groups with known true values, and the kind of setting."""

    scores: np.ndarray  # (n_groups, n_items), nan where a group has fewer
    truth: np.ndarray  # (n_groups,)
    kind: str  # "accuracy", "plain", "skewed" or "misfit"
    labels: pd.DataFrame  # one row per group
    n: int
    features: pd.DataFrame | None = None  # of topics
    shared: bool = False  # models answered the same items


def alike(rng, n, draw, mean, kind, n_groups=N_ALIKE):
    """Return groups with scores from the same distribution."""
    labels = pd.DataFrame({"group": [f"g{i}" for i in range(n_groups)]})
    return Corner(draw(rng, (n_groups, n)), np.full(n_groups, mean), kind, labels, n)


def binary(p):
    return lambda rng, shape: (rng.random(shape) < p) * 1.0


DISTRIBUTIONS = {
    "normal": (lambda rng, s: rng.normal(3, 1, s), 3.0, "plain"),
    "beta(5, 5)": (lambda rng, s: rng.beta(5, 5, s), 0.5, "plain"),
    "uniform, 0 to 100": (lambda rng, s: rng.uniform(0, 100, s), 50.0, "plain"),
    "lognormal": (lambda rng, s: rng.lognormal(0, 1, s), np.exp(0.5), "skewed"),
    "9 of 10 are 0": (lambda rng, s: (rng.random(s) < 0.1) * rng.random(s), 0.05, "skewed"),
    "0, 1/2, 1, mostly 1": (
        lambda rng, s: rng.choice([0, 0.5, 1], s, p=[0.03, 0.07, 0.9]),
        0.935,
        "skewed",
    ),
}


def alike_corners(rng, small):
    """Yield settings with one distribution: accuracies by group size, and nonbinary scores."""
    sizes, accuracies = (1, 5, 10, 30, 100), (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99)
    if small:
        sizes, accuracies = (10,), (0.1, 0.5, 0.9)
    for n in sizes:
        for p in accuracies:
            yield f"accuracy {p}, n = {n}", alike(rng, n, binary(p), p, "accuracy")
    for name, (draw, mean, kind) in DISTRIBUTIONS.items():
        for n in (10,) if small else (5, 10, 30, 100):
            # With a few hundred items the skewness no longer matters.
            yield f"{name}, n = {n}", alike(rng, n, draw, mean, kind)


def set_corners(rng, small):
    """Yield settings with models and topics of different true values."""

    def made(
        mean, spread, n, n_models=4, n_topics=12, kind="plain", change=None, item=0.0, features=None
    ):
        models, topics = np.indices((n_models, n_topics)).reshape(2, -1)
        logit = np.log(mean / (1 - mean))
        effect = rng.normal(0, spread, n_models)[models] + rng.normal(0, spread, n_topics)[topics]
        truth = 1 / (1 + np.exp(-logit - effect - rng.normal(0, spread / 3, models.size)))
        if change is not None:
            change(truth)
        chance = truth[:, None]
        if item:
            # Models share item difficulties; `truth` is the mean over all items.
            easiness, weights = np.polynomial.hermite_e.hermegauss(40)
            latent = logit + effect[:, None] + item * easiness
            truth = (1 / (1 + np.exp(-latent))) @ weights / weights.sum()
            latent = logit + effect[:, None] + item * rng.normal(size=(n_topics, n))[topics]
            chance = 1 / (1 + np.exp(-latent))
        scores = (rng.random((models.size, n)) < chance) * 1.0
        labels = "m" + pd.DataFrame({"model": models, "topic": topics}).astype(str)
        if features is not None:
            by_topic = pd.Series(effect).groupby(labels["topic"]).mean()
            features = features(by_topic)
        return Corner(scores, truth, kind, labels, n, features, item > 0)

    def noise(by_topic, width):
        values = rng.normal(size=(len(by_topic), width))
        columns = [f"noise {j}" for j in range(width)]
        return pd.DataFrame(values, index=by_topic.index, columns=columns)

    def unequal(corner):
        size = rng.choice([2, 4, 8, 20, 60], len(corner.truth))
        absent = np.arange(corner.n) >= size[:, None]
        return corner._replace(scores=np.where(absent, np.nan, corner.scores), n=8)

    def small_broken_topic(corner):
        size = np.where(corner.labels["topic"] == "m3", 4, 60)
        absent = np.arange(60) >= size[:, None]
        return corner._replace(scores=np.where(absent, np.nan, corner.scores), n=60)

    def broken(truth):
        truth[3] = 0.1

    def broken_topic(truth):
        truth[3::12] = 0.1

    def sparse(truth):
        truth[:] = np.where(rng.random(truth.size) < 0.1, 0.3, 0.995)

    yield "ordinary, n = 10", made(0.65, 0.7, 10)
    yield "near 1, n = 10", made(0.97, 0.5, 10)
    if small:
        return
    yield "ordinary, n = 50", made(0.65, 0.7, 50)
    for _ in range(N_SMALL):
        yield "few groups, n = 10", made(0.65, 0.7, 10, n_models=2, n_topics=3)
    yield "one broken cell, n = 10", made(0.85, 0.3, 10, kind="misfit", change=broken)
    change = {"kind": "misfit", "change": broken_topic}
    yield "one small broken topic", small_broken_topic(made(0.85, 0.3, 60, **change))
    yield "sparse failures, n = 10", made(0.85, 0.3, 10, kind="misfit", change=sparse)
    yield "equal groups, n = 10", made(0.7, 0.0, 10)
    yield "groups of 2 to 60", unequal(made(0.7, 0.7, 60))
    yield "items shared, correlated, n = 10", made(0.65, 0.7, 10, item=1.5)
    yield "perfect feature, n = 10", made(0.65, 0.7, 10, features=lambda mean: mean.to_frame("x"))
    # More features than topics, all useless.
    yield "20 useless features, n = 10", made(0.65, 0.7, 10, features=partial(noise, width=20))


def summary(corner):
    """Return the `GroupSummary` of a setting."""
    n_groups, n = corner.scores.shape
    rows = corner.labels.iloc[np.repeat(np.arange(n_groups), n)].reset_index(drop=True)
    rows["score"] = corner.scores.ravel()
    if corner.shared:
        rows["item"] = np.tile(np.arange(n), n_groups)
    rows = rows[rows["score"].notna()]
    return summarize_items(rows, by=list(corner.labels), features=corner.features)


def group_rows():
    """Yield group estimators: name, estimator and settings."""
    from sklearn.linear_model import Ridge

    for interval in ("wilson", "clopper-pearson", "jeffreys", "agresti-coull", "wald"):
        yield f"DirectEstimator({interval})", skbench.DirectEstimator(interval), "binary"
    yield "DirectEstimator(bounded)", skbench.DirectEstimator("bounded"), "unit"
    yield "DirectEstimator(t)", skbench.DirectEstimator("t"), "other"
    yield "betting_estimate", "betting", "unit"
    ridge = Ridge()
    for interval in ("robust", "length-optimal", "parametric", "fab"):
        estimator = skbench.EmpiricalBayes(ridge, interval=interval, random_state=0)
        yield f"EmpiricalBayes({interval})", estimator, "set"
    yield (
        "EmpiricalBayes(fab), other scores",
        skbench.EmpiricalBayes(ridge, interval="fab", random_state=0),
        "other",
    )
    for estimator in (
        skbench.MixedModel(),
        skbench.JamesStein(),
        skbench.FayHerriot(),
        skbench.SyntheticRegression(ridge, random_state=0),
        skbench.StructuredRegression(random_state=0),
    ):
        yield type(estimator).__name__, estimator, "set"


def fitted(estimator, corner, levels=(LEVEL,)):
    """Return guarantee and figures of the intervals at each level, and squared errors.

    Return None if the estimator rejects the data.
    """
    if isinstance(estimator, str):
        rows = pd.DataFrame(
            {"g": np.repeat(np.arange(60), corner.n), "score": corner.scores[:60].ravel()}
        )
        e = skbench.betting_estimate(rows, "g", random_state=0)
        found = measured(e.low, e.high, corner.truth[:60])
        return [(LEVEL, e.guarantee, *found, np.nan, np.nan)]
    g = summary(corner)
    order = g.labels.get_indexer(_index(corner.labels))
    try:
        fit = estimator.fit(**g.fit_args)
        estimates = [fit.estimate(level) for level in levels]
    except ValueError:
        return None
    answers = []
    for level, e in zip(levels, estimates, strict=True):
        found = measured(e.low[order], e.high[order], corner.truth)
        errors = (np.mean((value[order] - corner.truth) ** 2) for value in (e.value, g.z))
        answers.append((level, e.guarantee, *found, *errors))
    return answers


def _index(labels):
    columns = [labels[name] for name in labels]
    return pd.Index(columns[0]) if len(columns) == 1 else pd.MultiIndex.from_arrays(columns)


def fits(corner, scope):
    inside = corner.scores.min() >= 0 and corner.scores.max() <= 1
    return {
        "binary": corner.kind == "accuracy",
        "unit": inside,
        "other": corner.kind != "accuracy" and corner.n > 1,
        "set": True,
        "unit set": inside,
    }[scope]


def drawn_binary(rng, n, first, second):
    """Draw correct/incorrect answers of two models, given the shares that only one answers."""
    cell = rng.choice(4, n, p=[first, second, (1 - first - second) / 2, (1 - first - second) / 2])
    return np.column_stack([np.isin(cell, (0, 2)), np.isin(cell, (1, 2))]) * 1.0, np.arange(n)


def drawn_from(rng, distribution, mean):
    """Draw a model with random scores and a model that nearly always scores their mean."""
    flat = mean + rng.normal(0, 1e-6, 15)
    return np.column_stack([distribution(rng, 15), flat]), np.arange(15)


def drawn_clusters(rng):
    code = np.repeat(np.arange(6), [2, 3, 4, 6, 8, 12])
    return rng.normal(size=(35, 2)) + rng.normal(size=(6, 2))[code], code


def pair_corners():
    """Yield pairs of models on shared items: name, generator, true difference, kind."""
    for n, first, second in [(20, 0.2, 0.1), (100, 0.05, 0.02), (30, 0.5, 0.0)]:
        name = f"binary, {n} items, {first} against {second}"
        yield (
            name,
            partial(drawn_binary, n=n, first=first, second=second),
            first - second,
            "accuracy",
        )
    for name, (distribution, mean, kind) in DISTRIBUTIONS.items():
        yield (
            f"{name}, 15 items",
            partial(drawn_from, distribution=distribution, mean=mean),
            0.0,
            kind,
        )
    yield "6 unequal clusters", drawn_clusters, 0.0, "plain"


def audit_pairs(rng, small):
    n_draws = 60 if small else N_DRAWS
    for corner, draw, truth, kind in pair_corners():
        rows = {"compare_models": [], "leaderboard": []}
        for _ in range(n_draws):
            scores, code = draw(rng)
            n = len(scores)
            items = pd.DataFrame(
                {
                    "model": np.repeat(["a", "b"], n),
                    "item": np.tile(np.arange(n), 2),
                    "score": scores.T.ravel(),
                    "cluster": np.tile(code, 2),
                }
            )
            cluster = "cluster" if code.max() + 1 < n else None
            e = skbench.compare_models(items, "a", "b", cluster=cluster).estimate
            rows["compare_models"].append((e.low[0], e.high[0], e.guarantee))
            pairs = skbench.leaderboard(items, cluster=cluster).comparison.estimate
            rows["leaderboard"].append(
                (pairs.low[0], pairs.high[0], pairs.guarantee)
                if pairs.labels[0] == ("a", "b")
                else (-pairs.high[0], -pairs.low[0], pairs.guarantee)
            )
        for name, found in rows.items():
            low, high, guarantees = (np.array(x) for x in zip(*found, strict=True))
            guarantee = pd.Series(guarantees).mode()[0]
            yield name, guarantee, corner, kind, n, *measured(low, high, np.full(len(low), truth))


TASKS = pd.DataFrame({"model": "m", "task": [f"t{i}" for i in range(4)]})


def audit_rest(rng, small):
    """Yield one row for each setting of tasks, runs and labeled rows."""
    bootstrap = skbench.TaskBootstrap(1000, random_state=0)
    hierarchical = skbench.HierarchicalBetaBinomial(random_state=0, n_draws=1000)
    for p, n in [(0.7, 50)] if small else [(0.7, 50), (0.7, 10), (0.95, 20), (0.99, 50)]:
        corner = f"accuracy {p}, n = {n}"
        kind = "plain" if n * min(p, 1 - p) >= 10 else "misfit"
        for estimator, n_draws in ((bootstrap, N_DRAWS), (hierarchical, N_DRAWS)):
            found = []
            for _ in range(n_draws // 5 if small else n_draws):
                e = estimator.fit(TASKS, rng.binomial(n, p, 4) / n, n=n).estimate()
                found.append((e.low[0], e.high[0], e.guarantee))
            low, high, guarantees = (np.array(x) for x in zip(*found, strict=True))
            name = type(estimator).__name__
            yield name, guarantees[0], corner, kind, n, *measured(low, high, np.full(len(low), p))
        # Ten bootstrap samples of a test set of n items.
        k = rng.binomial(n, p, N_ALIKE)
        runs = rng.binomial(n, (k / n)[:, None], (N_ALIKE, 10)) / n
        e = skbench.RepeatedRuns().fit(pd.DataFrame({"model": np.arange(N_ALIKE)}), runs).estimate()
        found = measured(e.low, e.high, np.full(N_ALIKE, p))
        yield "RepeatedRuns", e.guarantee, corner, kind, n, *found
        yield "ConfusionPosterior", *audited_confusion(rng, p, n, corner, kind)
        yield "pass_at_k", *audited_runs(rng, p, n, corner, kind)
    yield "DirectEstimator, population", *audited_part(rng)
    yield "UnitLevelModel", *audited_bank(rng, 10 if small else 100)
    yield from audit_judged(rng, small)
    yield from audit_judged_groups(rng, small)


def audited_confusion(rng, p, n, corner, kind):
    """Audit accuracies from confusion matrices with two thirds positive rows."""
    positive = 2 * n // 3
    tp, tn = rng.binomial(positive, p, N_ALIKE), rng.binomial(n - positive, p, N_ALIKE)
    X = pd.DataFrame({"model": np.arange(N_ALIKE), "task": "t", "tp": tp, "fn": positive - tp})
    X = X.assign(fp=n - positive - tn, tn=tn)
    draws = skbench.ConfusionPosterior("accuracy", random_state=0, n_draws=1000).fit(X)
    e = draws.estimate()
    return e.guarantee, corner, kind, n, *measured(e.low, e.high, np.full(N_ALIKE, p))


def audited_runs(rng, p, n, corner, kind, n_models=100, n_runs=5):
    """Audit pass@1 of items with different difficulties, five runs each."""
    chance = rng.beta(5 * p, 5 * (1 - p), (n_models, n))
    model, item = np.indices(chance.shape).reshape(2, -1)
    counts = pd.DataFrame({"model": model, "item": item, "n_runs": n_runs})
    counts["n_correct"] = rng.binomial(n_runs, chance).ravel()
    e = skbench.pass_at_k(counts, k=1)
    return e.guarantee, corner, kind, n, *measured(e.low, e.high, np.full(n_models, p))


def audited_part(rng, n=20, n_all=50):
    """Audit means of all 50 items of a benchmark, estimated from 20 items."""
    scores = (rng.random((N_ALIKE, n_all)) < 0.7) * 1.0
    rows = pd.DataFrame({"g": np.repeat(np.arange(N_ALIKE), n), "score": scores[:, :n].ravel()})
    g = summarize_items(rows, "g")
    e = skbench.DirectEstimator().fit(**g.fit_args).estimate(population=n_all)
    found = measured(e.low, e.high, scores.mean(axis=1))
    return e.guarantee, f"{n} of {n_all} items", "accuracy", n, *found


def audited_bank(rng, n_draws, n_past=11, n_items=200, n_asked=30):
    """Audit a new model on 30 items of a bank of 200 items with 11 earlier models."""
    rows = pd.MultiIndex.from_product([range(n_past + 1), range(n_items)], names=["model", "item"])
    rows, found = rows.to_frame(index=False), []
    for _ in range(n_draws):
        easiness, skill = rng.normal(0, 1.5, n_items), rng.normal(0, 0.7, n_past + 1)
        latent = easiness[rows["item"]] + skill[rows["model"]]
        rows["score"] = (rng.random(len(rows)) < 1 / (1 + np.exp(-latent))) * 1
        new = rows[rows["model"] == n_past]
        asked = new.iloc[rng.permutation(n_items)[:n_asked]]
        bank = skbench.ItemBank().fit(rows[rows["model"] < n_past])
        model = skbench.UnitLevelModel(bank).fit(asked[["model", "item"]], asked["score"])
        e = model.estimate(by="model")
        found.append((e.low[0], e.high[0], new["score"].mean(), e.guarantee))
    low, high, truth, guarantees = (np.array(x) for x in zip(*found, strict=True))
    return guarantees[0], "30 of 200 items", "plain", n_asked, *measured(low, high, truth)


def audit_judged(rng, small):
    n_draws = 40 if small else N_DRAWS
    makers = {
        "ClassicalMean": skbench.ClassicalMean,
        "PPIMean": skbench.PPIMean,
        "StratifiedPPI": skbench.StratifiedPPI,
        "ChainRulePPI": skbench.ChainRulePPI,
        "RoganGladen": skbench.RoganGladen,
        "ChainRulePPI, side by side": partial(skbench.ChainRulePPI, verdicts="side by side"),
        "MonteCarloPPI": _corrected_mean,
    }
    for p, n in [(0.7, 40)] if small else [(0.7, 40), (0.7, 15), (0.95, 40)]:
        for name, make in makers.items():
            found = []
            for _ in range(n_draws):
                truth = (rng.random(600) < p) * 1.0
                judge = np.where(rng.random(600) < 0.85, truth, 1 - truth)
                X = judge if name == "ChainRulePPI" else judge[:, None]
                X = pd.DataFrame({"judge": judge}) if name == "MonteCarloPPI" else X
                y = np.where(np.arange(600) < n, truth, np.nan)
                if name == "ChainRulePPI, side by side":
                    X, y = 2 * judge - 1, 2 * y - 1
                try:
                    e = make().fit(X, y).estimate()
                except ValueError:
                    continue
                found.append((e.low[0], e.high[0], e.guarantee))
            if found:
                low, high, guarantees = (np.array(x) for x in zip(*found, strict=True))
                kind = "plain" if n * min(p, 1 - p) >= 10 else "misfit"
                truth = np.full(len(low), 2 * p - 1 if "side by side" in name else p)
                corner = f"{n} labels, true value {p}"
                yield name, guarantees[0], corner, kind, n, *measured(low, high, truth)


def _corrected_mean():
    """Return the judge's mean plus its mean error, as a statistic of two means."""
    parts = {
        "judged": Mean("judge", "unlabeled"),
        "missed": Mean(lambda table: table["y"] - table["judge"], "labeled"),
    }
    return skbench.MonteCarloPPI(parts, lambda judged, missed: judged + missed, random_state=0)


def audit_judged_groups(rng, small, n_groups=N_ALIKE // 4, n_rows=60, n=10):
    """Audit groups with ten labels each."""
    makers = {
        "GroupedPPI": skbench.GroupedPPI(),
        "GroupedPPI(ClassicalMean)": skbench.GroupedPPI(skbench.ClassicalMean()),
        'GroupedPPI(power="per group")': skbench.GroupedPPI(power="per group"),
    }
    distributions = {"accuracy 0.7": (binary(0.7), 0.7, "accuracy"), **DISTRIBUTIONS}
    for corner, (draw, mean, kind) in distributions.items():
        if small and kind != "accuracy":
            continue
        scores = draw(rng, (n_groups, n_rows))
        judge = scores + 0.5 * np.std(scores) * rng.normal(size=scores.shape)
        y = np.where(np.arange(n_rows) < n, scores, np.nan).ravel()
        rows = judge.ravel()[:, None], y, np.repeat(np.arange(n_groups), n_rows)
        for name, make in makers.items():
            e = make.fit(*rows).estimate()
            found = measured(e.low, e.high, np.full(n_groups, mean))
            yield name, e.guarantee, f"{corner}, {n} labels", kind, n, *found


# Estimators with more than MOST_ERROR times the error of the direct estimates in some setting.
# They warn if the estimated risk shows the loss.
WORSE_THAN_DIRECT = {
    "SyntheticRegression": "it ignores the direct estimates, as documented",
    "JamesStein": "one factor for all groups",
    "FayHerriot": "one variance for all groups",
    "EmpiricalBayes": "one variance, also for the groups of a broken topic",
}

# Public intervals without a row, and the reason.
WITHOUT = {
    "Draws": "quantiles of given draws: TaskBootstrap, HierarchicalBetaBinomial",
    "compare_estimators": "of risks: tests/assessment/test_compare_estimators.py",
    "differences": "of given draws",
    "IntervalPipeline": "that of its last step",
    "MeanRankScore": 'guarantee "none", as defined by EuroEval',
    "SequentialComparison": "confidence sequences: tests/comparison/test_sequential.py",
    "SequentialMean": "confidence sequences: tests/comparison/test_sequential.py",
    "WeightSimplex": "of given draws, over all weights",
    "rank_confidence_sets": "family errors: benchmarks/rank_sets.py",
    "BradleyTerry": 'guarantee "model": tests/comparison/test_votes.py',
    "extremes": "of given draws: tests/comparison/test_extremes.py",
    "trend": "as compare_models: tests/comparison/test_trend.py, benchmarks/trend.py",
    "gate": "that of compare_models, or of a given Estimate",
}


def measured(low, high, truth):
    """Return coverage of known intervals, their share, mean width, share of width 0, number."""
    known = np.isfinite(low) & np.isfinite(high)
    if not known.any():
        return np.nan, 0.0, np.nan, 0.0, 0
    low, high, truth = low[known], high[known], truth[known]
    covered = np.mean((low <= truth + 1e-12) & (truth - 1e-12 <= high))
    return covered, known.mean(), np.mean(high - low), np.mean(high == low), known.sum()


KEYS = ["interval", "guarantee", "corner", "kind", "n", "level"]
COLUMNS = [*KEYS, "coverage", "known"]
COLUMNS += ["width", "no_width", "trials", "error", "direct_error"]


def audit(small=False, seed=0, only=""):
    """Return one row per interval and setting."""
    rng = np.random.default_rng(seed)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = list(alike_corners(rng, small))
        sets = [c for _ in range(1 if small else N_SETS) for c in set_corners(rng, small)]
        for name, estimator, scope in group_rows():
            if only not in name:
                continue
            levels = LEVELS.get(name, (LEVEL,))
            for corner, data in sets if scope.endswith("set") else plain:
                if not fits(data, scope):
                    continue
                for level, guarantee, *figures in fitted(estimator, data, levels) or ():
                    shown = name if level == LEVEL else f"{name}({100 * level:.0f}%)"
                    rows.append((shown, guarantee, corner, data.kind, data.n, level, *figures))
        others = [] if only else [*audit_pairs(rng, small), *audit_rest(rng, small)]
        rows += [(*row[:5], LEVEL, *row[5:], np.nan, np.nan) for row in others]
    table = pd.DataFrame(rows, columns=COLUMNS)
    means = table.groupby(KEYS, sort=False, as_index=False).mean()
    return means.assign(trials=table.groupby(KEYS, sort=False)["trials"].sum().to_numpy())


def verdicts(table):
    """Summarize each interval and guarantee over settings, with the verdict."""
    found = []
    for (name, guarantee, level), rows in table.groupby(
        ["interval", "guarantee", "level"], sort=False
    ):
        spoken = rows
        if "accuracies" in guarantee:
            by_size = rows.groupby("n", as_index=False)
            spoken = by_size.agg(coverage=("coverage", "mean"), trials=("trials", "sum"))
        elif "skewed" in guarantee:
            spoken = rows[rows["kind"] == "plain"]
        elif guarantee in ("posterior", "model"):
            spoken = rows[rows["kind"].isin(("plain", "accuracy"))]
        worst = rows.loc[rows["coverage"].fillna(1).idxmin()]
        # Groups of one data set share items and a fit, so they count half.
        error = np.sqrt(level * (1 - level) / np.maximum(spoken["trials"] / 2, 1))
        broken = (spoken["coverage"] < HOLDS[level] - 2 * error).any() or rows["no_width"].max() > 0
        verdict = "no guarantee" if guarantee == "none" else "no" if broken else "yes"
        found.append(
            {
                "interval": name,
                "guarantee": guarantee,
                "median": rows["coverage"].median(),
                "corner": worst["corner"],
                "worst": worst["coverage"],
                "least": spoken["coverage"].min(),
                "width": _relative_width(table, rows),
                "no_width": rows["no_width"].max(),
                "error": (rows["error"] / rows["direct_error"]).max(),
                "error_corner": _worst_error(rows),
                "holds": verdict,
            }
        )
    return pd.DataFrame(found)


def _worst_error(rows):
    """Return the setting with the largest error relative to the direct estimates."""
    ratio = rows["error"] / rows["direct_error"]
    return rows.loc[ratio.idxmax(), "corner"] if ratio.notna().any() else ""


def _relative_width(table, rows):
    """Return the median width relative to the narrowest interval with correct coverage.

    Only the level 0.95 counts, because all intervals have it.
    """
    ratios, holds = [], (table["level"] == LEVEL) & (table["coverage"] >= HOLDS[LEVEL])
    for row in rows[rows["level"] == LEVEL].itertuples():
        rivals = table[holds & (table["corner"] == row.corner)]
        if len(rivals) and rivals["width"].min() > 0:
            ratios.append(row.width / rivals["width"].min())
    return np.median(ratios) if ratios else np.nan


def public_intervals():
    """Return the names of public classes and functions that compute intervals."""
    for name in skbench.__all__:
        thing = getattr(skbench, name)
        if inspect.isfunction(thing):
            # Annotations are strings in the scope of the module of the function.
            annotation = str(inspect.signature(thing).return_annotation).removesuffix(" | None")
            thing = vars(sys.modules[thing.__module__]).get(annotation, object)
            if thing in (skbench.Draws, skbench.Estimate, skbench.GroupSummary):
                if thing is skbench.Estimate:
                    yield name
                continue
        elif not isinstance(thing, type) or thing is skbench.Estimate or hasattr(thing, "plot"):
            continue
        fields = getattr(thing, "__dataclass_fields__", ())
        members = {*dir(thing), *fields, *getattr(thing, "_fields", ())}
        if members & {"estimate", "interval", "update"} or members >= {"low", "high"}:
            yield name


def as_rst(found):
    lines = [
        ".. list-table:: Coverage of intervals in the settings of ``benchmarks/promises.py``, "
        "95% unless noted",
        "   :header-rows: 1",
        "   :widths: 24 22 8 8 22 8 8 8",
        "",
    ]
    head = ("interval", "guarantee", "median coverage", "lowest coverage", "worst setting")
    head += ("relative width", "relative error", "holds")
    cells = [
        (row.interval, row.guarantee, f"{row.median:.3f}", f"{row.worst:.3f}", row.corner)
        + (*("" if np.isnan(x) else f"{x:.2f}" for x in (row.width, row.error)), row.holds)
        for row in found.itertuples()
    ]
    for row in (head, *cells):
        lines += [f"   {'* ' if i == 0 else '  '}- {cell}".rstrip() for i, cell in enumerate(row)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="fewer and smaller settings")
    parser.add_argument("--only", default="", help="part of the names of group estimators")
    arguments = parser.parse_args()
    table = audit(arguments.small, only=arguments.only)
    if arguments.only:
        by_corner = table.assign(error=table["error"] / table["direct_error"])
        shown = ["interval", "corner", "coverage", "width", "error"]
        print(by_corner[shown].round(3).to_string(index=False), "\n")
    result = verdicts(table)
    print(result.round(3).to_string())
    if not (arguments.small or arguments.only):
        OUT.write_text(as_rst(result))
    if not arguments.only:
        printed.run(arguments.small)


if __name__ == "__main__":
    main()
