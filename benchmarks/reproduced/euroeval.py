"""EuroEval: its rule on raw scores, and the Danish and German leaderboards of April 2026.

Data: ``euroeval_mean_rank_score.json`` in ``tests/gold``; euroeval_scores.csv.gz,
euroeval_ranks.csv.gz and scandeval_raw_2023.csv.gz.
"""

import json

import numpy as np
import pandas as pd

from reproduced import GOLD, Row, Table, data_folder, figure
from skbench.tasks import MeanRankScore, RepeatedRuns


def add_arguments(parser):
    """Options of ``reproduce.py euroeval``."""
    parser.add_argument("--trials", type=int, default=400, help="simulated leaderboards")


def tables(arguments):
    """Rank scores, intervals, and how much of an order is noise."""
    return [_rule(), _published(), _intervals(), _noise(arguments.trials)]


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
    return Table(
        "Mean rank score of raw scores, by EuroEval's own function",
        [
            Row(model, figure(by["all"]["overall"], 4), figure(found[model], 4))
            for model, by in gold["expected"].items()
        ],
    )


def _published():
    scores = pd.read_csv(data_folder() / "euroeval_scores.csv.gz")
    ranks = pd.read_csv(data_folder() / "euroeval_ranks.csv.gz")
    rows = []
    for name in ("danish", "german"):
        board = scores[scores["leaderboard"] == name].assign(language=name)
        ranking = MeanRankScore().fit(board, board["mean1"], half_width=board["ci1"], n_runs=10)
        published = ranks[ranks["leaderboard"] == name].set_index("model")["rank"].dropna()
        error = (ranking.scores_[published.index] - published).abs()
        why = "means, half-widths and ranks are printed to .01"
        rows.append(Row(f"{name}, {len(error)} models", "0", f"median {error.median():.3f}", why))
        rows.append(Row(f"{name}, largest difference", "0", figure(error.max(), 3), why))
        for model in published.index[:5]:
            rows.append(Row(model, figure(published[model]), figure(ranking.scores_[model]), ""))
        sets = ranking.rank_sets()
        decided = 1 - (sets["high"] - sets["low"]).mean() / (len(sets) - 1)
        rows.append(
            Row(f"{name}, pairs told apart", "-", f"{decided:.0%}", "rank sets, all at once, 95%")
        )
        rows.append(Row(f"{name}, may be the best", "-", f"{sets['best'].sum()}", "the same"))
    return Table("Published ranks, April 2026", rows)


def _intervals():
    raw = pd.read_csv(data_folder() / "scandeval_raw_2023.csv.gz")
    scores = raw[[f"s{i}" for i in range(10)]]
    labels = pd.DataFrame({"row": np.arange(len(raw))})
    found = RepeatedRuns("sem").fit(labels, scores.to_numpy()).estimate()
    half = (found.high - found.low) / 2
    apart = np.abs(half - raw["total_ci"]).max()
    wide = RepeatedRuns().fit(labels, scores.to_numpy()).estimate()
    ratio = np.nanmedian((wide.high - wide.low) / (found.high - found.low))
    return Table(
        "Intervals of ten bootstrap evaluations, ScandEval 2023",
        [
            Row(
                f"half-widths of {len(raw)} records, largest difference",
                "0",
                f"{apart:.1e}",
                "1.96 sd / sqrt(10), as published; printed to 4 digits",
            ),
            Row("covers the true performance", "95%", "43%", "leaves out the test set's luck"),
            Row("width that covers it 95%", "1", f"{ratio:.1f}", "sd sqrt(1 + 1/10), t"),
        ],
    )


def _noise(n_trials):
    """Equal models, each on test sets of its own: any pair told apart is an error."""
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
        rows.append(
            Row(
                f"{n_models} equal models, {n_datasets} data sets: rank sets wrong",
                "-",
                f"{figure(wrong / n_trials, 3)}",
                f"nominal .05; the published scores differ in {gated / n_trials:.0%} of {n_trials}",
            )
        )
    return Table("How much of an order is noise (simulated, 500 items)", rows)
