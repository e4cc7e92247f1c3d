"""EuroEval's five criteria for an aggregate score, measured on its own leaderboards.

The text applies them to three rules: mean score, mean rank and mean rank score.
"""

import numpy as np
import pandas as pd
from scipy.stats import ttest_ind_from_stats

from reproduced import NOT_PRINTED, Row, Table, data_folder, figure, quoted
from skbench.stats.ranking.rank_scores import welch_rank_scores
from skbench.tasks import MeanRankScore

N_BEST = 20


def boards():
    """Return the leaderboards by language, one row per model and data set."""
    scores = pd.read_csv(data_folder() / "euroeval_scores.csv.gz")
    scores["language"] = scores["leaderboard"]
    return {name: scores[scores["leaderboard"] == name] for name in ("danish", "german")}


def ranked(board):
    """Return the mean rank score of a leaderboard."""
    return MeanRankScore().fit(board, board["mean1"], half_width=board["ci1"], n_runs=10)


def five_criteria():
    """Yield one table per criterion."""
    listed = boards()
    fits = {name: ranked(board) for name, board in listed.items()}
    each = [(name, listed[name], fit) for name, fit in fits.items()]
    rows = [row for one in each for row in _task_shares(*one)]
    yield Table("The five criteria: Task Fairness", rows)
    yield _two_languages(listed, fits)
    rows = [*_equal_models(), *(row for one in each for row in _pairs(*one))]
    yield Table("The five criteria: Robustness", rows)
    rows = [row for one in each for row in _magnitudes(*one)]
    yield Table("The five criteria: Magnitude Preservation", rows)
    first = listed["danish"], fits["danish"]
    rows = [*_one_joins(*first), _joins_ten(*first), _champion(*first), _better_half(*first)]
    yield Table("The five criteria: Minimal Change", rows)


def _row(what, here, why=""):
    return Row(what, NOT_PRINTED, here, why)


def _finite(fit):
    return fit.scores_[np.isfinite(fit.scores_)]


def _task_tables(board, fit):
    """Return scores by model and task for each of the three rules; lower is better."""
    points, models = _points(board), _finite(fit).index
    tables = {"mean score": -points, "mean rank": points.rank(ascending=False)}
    tables = {rule: table.T.groupby("task").mean().T for rule, table in tables.items()}
    tables["mean rank score"] = fit.task_scores_.droplevel("language", axis=1)
    return {rule: table.loc[models] for rule, table in tables.items()}


def _points(board):
    return board.pivot_table(index="model", columns=["task", "dataset"], values="mean1")


def _task_shares(name, board, fit):
    """Return the share of each task in the variance of the overall scores."""
    best = _finite(fit).index[:N_BEST]
    return [
        _row(
            f"{name}, share of a task in the variance of the {rule}{who}",
            _least_and_most(table.loc[models]),
            f"equal shares would be {1 / table.shape[1]:.0%}",
        )
        for who, models in (("", slice(None)), (f", best {N_BEST}", best))
        for rule, table in _task_tables(board, fit).items()
    ]


def _least_and_most(tasks):
    """Return the covariance of each task with the mean over tasks, relative to its variance."""
    covariance = tasks.cov().sum()
    share = (covariance / covariance.sum()).sort_values()
    return f"{share.iloc[0]:.0%} to {share.iloc[-1]:.0%} ({share.index[-1]})"


def _two_languages(listed, fits):
    """Compare language scores of models on both leaderboards, as published and separately."""
    both = _finite(fits["danish"]).index.intersection(_finite(fits["german"]).index)
    alone = {name: board[board["model"].isin(both)] for name, board in listed.items()}
    found = {
        "as published": [_task_tables(listed[name], fits[name]) for name in listed],
        "these models only": [_task_tables(board, ranked(board)) for board in alone.values()],
    }
    why = {
        "mean score": "in points; each language has other data sets",
        "mean rank": "the boards list different models; the Danish board lists more",
        "mean rank score": "same answers; the boards list different models",
    }
    rows = []
    for what, (first, second) in found.items():
        for rule in first:
            gap = first[rule].mean(axis=1)[both] - second[rule].mean(axis=1)[both]
            text = f"{figure(gap.mean())}; {(gap < 0).mean():.0%}"
            title = f"{rule}, mean of Danish minus German; share better in Danish: {what}"
            rows.append(_row(title, text, why[rule] if what == "as published" else ""))
    title = f"The five criteria: Comparison, {len(both)} models on both boards (lower is better)"
    return Table(title, rows)


def _equal_models(n_trials=1500, accuracy=0.7):
    """Simulate how often the rule reports two equally good models as different."""
    rng, n, rows = np.random.default_rng(0), np.full(2, 10), []
    printed = quoted("EuroEval", "Score Aggregation", "mean rank score", "p")
    for n_items in (250, 2000):
        own = rng.binomial(n_items, accuracy, (n_trials, 2)) / n_items
        raw = rng.binomial(n_items, own, (10, n_trials, 2)) / n_items
        moments = zip(raw.mean(axis=0), raw.var(axis=0, ddof=1), strict=True)
        gated = np.mean([welch_rank_scores(m, v, n).max() > 1 for m, v in moments])
        rows.append(
            Row(
                f"two equal models, {n_items:,} items: reported as different",
                printed,
                figure(gated),
                "one-sided as printed, 0.10 two-sided; replicates of one test set are not "
                "independent scores",
                difference="+" + figure(gated - 2 * float(printed)),
            )
        )
    return rows


def _pairs(name, board, fit):
    """Count pairs that the text's test, or rank sets, do not distinguish."""
    alike = shown = apart_at_all = pairs = 0
    models = _finite(fit).index
    first, second = np.triu_indices(len(models), 1)
    for dataset, scores in fit.dataset_scores_.loc[models].items():
        here = board[board["dataset"] == dataset].set_index("model").loc[models]
        mean, sd = here["mean1"].to_numpy(), here["ci1"].to_numpy() / 1.96 * np.sqrt(10)
        sides = [(mean[i], sd[i], 10) for i in (first, second)]
        p = ttest_ind_from_stats(*sides[0], *sides[1], equal_var=False).pvalue
        same = ~(p < 0.10)  # two-sided, so one-sided 0.05 for the better model
        alike += same.sum()
        shown += (scores.to_numpy()[first] != scores.to_numpy()[second])[same].sum()
        apart_at_all += (mean[first] != mean[second])[same].sum()
        pairs += len(first)
    sets = fit.rank_sets()
    apart = 1 - (sets["high"] - sets["low"]).mean() / (len(sets) - 1)
    return [
        _row(
            f"{name}, {alike:,} of {pairs:,} pairs not significantly different on a data set: "
            "scores differ",
            f"{shown / alike:.0%}",
            "the rule tests each model only against the first of its tie",
        ),
        _row(
            f"{name}, the same for the mean score or mean rank",
            f"{apart_at_all / alike:.0%}",
            "any difference of means changes both, but the text calls the mean score robust",
        ),
        _row(
            f"{name}, models that share their overall score with another",
            f"{_finite(fit).duplicated(keep=False).sum()} of {len(models)}",
            f"rank sets do not distinguish {1 - apart:.0%} of the pairs",
        ),
    ]


def _magnitudes(name, board, fit):
    """Measure the distances lost by the significance test, and the value of one point."""
    sets = fit.rank_sets()
    lost = sets["distance"] - sets["score"]
    points = _points(board).droplevel("task", axis=1)
    columns = [(points[c].dropna().sort_values(), points[c].std(ddof=0)) for c in points]
    steps = np.concatenate([np.diff(column) / sd for column, sd in columns])
    better = _finite(fit).index[: len(sets) // 2]
    worth = (points.std(ddof=0) / points.loc[better].std(ddof=0)).sort_values()
    return [
        _row(
            f"{name}, distance minus score: mean, largest",
            f"{lost.mean():.3f}, {lost.max():.3f}",
            "in standard deviations; the rule counts nonsignificant differences as 0",
        ),
        _row(
            f"{name}, mean rank: distance between neighbors on a data set, median, largest",
            f"{np.median(steps):.3f}, {steps.max():.3f}",
            "in standard deviations; each distance counts as one rank. The mean score keeps the "
            "distances",
        ),
        _row(
            f"{name}, value of one point if only the better half is listed",
            f"{worth.iloc[0]:.1f} to {worth.iloc[-1]:.1f} times",
            f"smallest on {worth.index[0]}, largest on {worth.index[-1]}",
        ),
    ]


def _one_joins(board, fit):
    """Add each model in turn to all others."""
    full = _finite(fit)
    largest, swapped, ranks = [], [], []
    points = _points(board)
    by_rank = points.rank(ascending=False).mean(axis=1)
    for model in full.index:
        others = full.index.drop(model)
        without = ranked(board[board["model"] != model])
        largest.append((full[others] - without.scores_[others]).abs().max())
        swapped.append(_swaps(full[others].to_numpy(), without.scores_[others].to_numpy()))
        fewer = points.drop(model).rank(ascending=False).mean(axis=1)
        moved = (by_rank - fewer)[others]
        ranks.append((moved.max(), _swaps(by_rank[others].to_numpy(), fewer[others].to_numpy())))
    moves, swaps = zip(*ranks, strict=True)
    return [
        _row(
            f"danish, one of {len(full)} models is added: largest change of another score",
            f"median {np.median(largest):.3f}, largest {max(largest):.3f}",
            _widened(board, fit, full.index[int(np.argmax(largest))]),
        ),
        _row(
            "danish, the same: pairs of other models that swap places",
            f"median {np.median(swapped):.0f}, most {max(swapped)}",
            "none by the mean score, because no other score changes",
        ),
        _row(
            "danish, the same for the mean rank: largest change in ranks, pairs that swap places",
            f"median {np.median(moves):.2f}, largest {max(moves):.2f}; "
            f"median {np.median(swaps):.0f}, most {max(swaps)}",
            "better models on a data set keep their rank there, as in the text",
        ),
    ]


def _joins_ten(board, fit, n_trials=50):
    """Add one model to ten randomly chosen models."""
    rng, moves = np.random.default_rng(0), []
    for _ in range(n_trials):
        new, *others = rng.choice(_finite(fit).index, 11, replace=False)
        small = board[board["model"].isin([new, *others])]
        without = ranked(small[small["model"] != new]).scores_[others]
        moves.append((ranked(small).scores_[others] - without).abs().max())
    return _row(
        "danish, one model is added to 10 others: largest change of another score",
        f"median {np.median(moves):.3f}, largest {max(moves):.3f}",
        f"{n_trials} draws; according to the text, the effect tends to zero with more models",
    )


def _widened(board, fit, model):
    """Describe the largest change by a new model, and its effect on the unit."""
    without = ranked(board[board["model"] != model]).dataset_scores_
    moved = (fit.dataset_scores_.loc[without.index] - without).abs()
    dataset = moved.replace(np.inf, np.nan).max().idxmax()
    means = board[board["dataset"] == dataset].set_index("model")["mean1"].dropna()
    place = int(means.rank(ascending=False)[model])
    return (
        f"{model}, {place} of {len(means)} on {dataset}: the standard deviation there rises from "
        f"{means.drop(model).std(ddof=0):.2f} to {means.std(ddof=0):.2f}"
    )


def _swaps(before, after):
    signs = [np.sign(np.subtract.outer(x, x)) for x in (before, after)]
    return int((signs[0] * signs[1] < 0).sum()) // 2


def _champion(board, fit):
    """Add a model one standard deviation above the best on every data set."""
    full, means = _finite(fit), board.groupby("dataset")["mean1"]
    one = board[board["model"] == full.index[0]]
    new = one.assign(model="new", mean1=one["dataset"].map(means.max() + means.std(ddof=0)))
    moved = ranked(pd.concat([board, new])).scores_[full.index] - full
    return _row(
        "danish, a model one standard deviation above the best is added: scores rise by",
        f"{moved.min():.3f} to {moved.max():.3f}",
        f"all scores are relative to the best; differences change by up to {np.ptp(moved):.3f}",
    )


def _better_half(board, fit):
    """List only the better half of the models."""
    full = _finite(fit)
    better = full.index[: len(full) // 2]
    moved = ranked(board[board["model"].isin(better)]).scores_[better] - full[better]
    return _row(
        f"danish, only the better {len(better)} models listed: scores rise by",
        f"{moved.min():.2f} to {moved.max():.2f}",
        "the standard deviation depends on the listed models",
    )
