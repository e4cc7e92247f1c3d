"""EuroEval: its rule on raw scores, the leaderboards of April 2026, and its five criteria.

Data: ``euroeval_mean_rank_score.json`` in ``tests/gold``; euroeval_scores.csv.gz,
euroeval_ranks.csv.gz and scandeval_raw_2023.csv.gz.
"""

import json
import warnings

import numpy as np
import pandas as pd
from scipy.stats import t as student_t

from reproduced import (
    GOLD,
    NOT_PRINTED,
    Row,
    Table,
    data_folder,
    figure,
    from_one,
    quoted,
)
from reproduced.criteria import boards, five_criteria, ranked
from skbench.tasks import MeanRankScore, RepeatedRuns

LEADERBOARDS = "EuroEval leaderboards"
RECORDS = ("NbAiLab/nb-bert-base on swerec (mcc)", "xlm-roberta-large on scala-nb (mcc)")


def add_arguments(parser):
    """Add the options of ``reproduce.py euroeval``."""
    parser.add_argument("--trials", type=from_one, default=200, help="simulated leaderboards")


def tables(arguments):
    """Yield rank scores, intervals, rankings of equal models, and the criteria."""
    yield _rule()
    yield _published()
    yield _intervals()
    yield _noise(arguments.trials)
    yield from five_criteria()


def _rule():
    gold = json.loads((GOLD / "euroeval_mean_rank_score.json").read_text())
    rows = pd.DataFrame(
        [
            (model, dataset, task, language, score)
            for language, tasks in gold["config"].items()
            for task, datasets in tasks.items()
            for dataset in datasets
            for model in gold["raw"]
            for score in gold["raw"][model][dataset]
        ],
        columns=["model", "dataset", "task", "language", "score"],
    )
    found = MeanRankScore().fit(rows).scores_
    printed = {
        model: quoted("EuroEval function", "mean rank score", model, "overall")
        for model in gold["expected"]
    }
    return Table(
        "Mean rank score of raw scores, by EuroEval's own function",
        [Row(model, cell, figure(found[model], 4)) for model, cell in printed.items()],
    )


def _published():
    ranks = pd.read_csv(data_folder() / "euroeval_ranks.csv.gz")
    rows = []
    for name, board in boards().items():
        ranking = ranked(board)
        published = ranks[ranks["leaderboard"] == name].set_index("model")["rank"].dropna()
        found = ranking.scores_[published.index]
        error = (found - published).abs()
        for model in published.index[:5]:
            cell = quoted(LEADERBOARDS, name, model, "rank")
            rows.append(Row(f"{name}, {model}", cell, figure(found[model])))
        rows.append(
            Row(
                f"{name}, median and largest difference of {len(error)} models",
                NOT_PRINTED,
                "-",
                _not_the_same(board, found),
                f"{error.median():.3f}, {error.max():.3f}",
            )
        )
        sets = ranking.rank_sets()
        decided = 1 - (sets["high"] - sets["low"]).mean() / (len(sets) - 1)
        why = "simultaneous 95% rank sets"
        rows += [
            Row(f"{name}, pairs distinguished", NOT_PRINTED, f"{decided:.0%}", why),
            Row(f"{name}, may be the best", NOT_PRINTED, f"{sets['best'].sum()}", why),
        ]
    return Table("Published ranks, April 2026", rows)


def _not_the_same(board, scores):
    """Return the effects of rounding and of unranked models on the scores."""
    rng = np.random.default_rng(0)
    moved = [board[c] + rng.uniform(-0.005, 0.005, len(board)) for c in ("mean1", "ci1")]
    rounded = board.assign(mean1=moved[0], ci1=moved[1].clip(lower=0))
    others = np.setdiff1d(board["model"].unique(), scores.index)
    out = rng.choice(others, len(others) // 10, replace=False)
    fewer = board[~board["model"].isin(out)]
    by_rounding, by_models = (
        (ranked(other).scores_[scores.index] - scores).abs().max() for other in (rounded, fewer)
    )
    return (
        f"inputs are rounded to 0.01, and rounding moves scores by up to {by_rounding:.3f}. "
        f"Without {len(out)} of {len(others)} unranked models, scores move by up to {by_models:.3f}"
    )


def _intervals():
    raw = pd.read_csv(data_folder() / "scandeval_raw_2023.csv.gz").dropna(subset="total_ci")
    raw.index = raw["model"] + " on " + raw["dataset"] + " (" + raw["metric"] + ")"
    labels, scores = raw[["model", "dataset", "metric"]], raw[[f"s{i}" for i in range(10)]]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*the same score in every run")  # five records
        sem, wide = (RepeatedRuns(i).fit(labels, scores).estimate() for i in ("sem", "bootstrap"))
    z = float(quoted("EuroEval", "Robust Evaluation", "interval", "z"))
    exact = pd.Series(z * sem.standard_error, index=raw.index)
    ours = pd.Series((sem.high - sem.low) / 2, index=raw.index)
    rows = [
        Row(
            f"half-width, {record}",
            quoted(LEADERBOARDS, "ScandEval 2023", record, "half-width"),
            figure(exact[record], 4),
            f'{z} s / sqrt(10); ``RepeatedRuns("sem")`` has {ours[record]:.4f}',
        )
        for record in RECORDS
    ]
    rows += [
        Row(
            f"largest difference of {len(raw)} half-widths, {what}",
            NOT_PRINTED,
            "-",
            why,
            f"{(found - raw['total_ci']).abs().max():.1e}",
        )
        for what, found, why in (
            (f"{z} standard errors", exact, "half-widths and scores are printed to 1e-4"),
            (
                '``RepeatedRuns("sem")``',
                ours,
                f"normal quantile 1.95996 instead of {z}",
            ),
        )
    ]
    ratio = np.nanmedian((wide.high - wide.low) / (sem.high - sem.low))
    why = 'median over the records for the default, ``RepeatedRuns("bootstrap")``'
    rows += [
        *_coverage(),
        Row(
            "relative width of the interval with correct coverage", NOT_PRINTED, f"{ratio:.1f}", why
        ),
    ]
    return Table("Intervals of ten bootstrap evaluations, ScandEval 2023", rows)


def _coverage(n_trials=20_000, n_items=500, accuracy=0.7):
    """Simulate how often each interval covers the true performance over new test sets."""
    rng = np.random.default_rng(0)
    own = rng.binomial(n_items, accuracy, (n_trials, 1)) / n_items
    raw = rng.binomial(n_items, own, (n_trials, 10)) / n_items
    normal = 2 * student_t.cdf(1.96 / np.sqrt(11), 9) - 1
    rows = []
    level = quoted("EuroEval", "Robust Evaluation", "interval", "level")
    for interval, printed, why in (
        ("sem", level, f"ignores the sampling of the test set; {normal:.0%} for normal scores"),
        ("bootstrap", NOT_PRINTED, "nominal 95%: t s sqrt(1 + 1/10), 9 degrees of freedom"),
    ):
        e = RepeatedRuns(interval).fit(pd.DataFrame({"trial": range(n_trials)}), raw).estimate()
        covered = np.mean((e.low <= accuracy) & (accuracy <= e.high))
        what = f'``RepeatedRuns("{interval}")`` covers the true performance'
        rows.append(Row(what, printed, f"{covered:.0%}", why))
    return rows


def _noise(n_trials):
    """Simulate equal models on separate test sets; any distinguished pair is an error."""
    rng = np.random.default_rng(0)
    places = pd.DataFrame(
        [(f"{t}{i}", t, language) for language in ("da", "sv") for t in "ks" for i in range(2)],
        columns=["dataset", "task", "language"],
    )
    places["dataset"] += places["language"]
    rows = []
    for n_models, n_datasets in ((5, 1), (5, 8), (12, 1), (12, 8)):
        X = pd.DataFrame({"model": range(n_models)}).merge(places.iloc[:n_datasets], how="cross")
        wrong = gated = 0
        for _ in range(n_trials):
            own = rng.binomial(500, 0.7, len(X)) / 500
            raw = rng.binomial(500, own[:, None], (len(X), 10)) / 500
            ranking = MeanRankScore().fit(X, raw)
            wrong += not ranking.rank_sets()["best"].all()
            gated += ranking.scores_.iloc[-1] > 1
        share = wrong / n_trials
        rows.append(
            Row(
                f"{n_models} equal models, {n_datasets} data sets: rank sets wrong",
                NOT_PRINTED,
                figure(share, 3, np.sqrt(share * (1 - share) / n_trials)),
                f"nominal 0.05; published scores differ in {gated / n_trials:.0%} of {n_trials} "
                "simulations",
            )
        )
    return Table("Ranking of equal models (simulated, 500 items)", rows)
