"""Other packages on the same files: errors, coverage and verdicts, each in its own environment.

    python benchmarks/rivals.py make FOLDER            # samples of digits-C, and their truth
    ENVIRONMENT/bin/python benchmarks/rivals.py run NAME FOLDER
    ENVIRONMENT/bin/python benchmarks/rivals.py judge NAME FOLDER
    python benchmarks/rivals.py table FOLDER

For `run` NAME is skbench, skbench_with_features (the corruption and its severity), inspect_ai,
evalstats, truescore, rliable or autorank; an environment needs the package and pandas. A file
has ten images for each of fifty topics, answered by five classifiers; the other images are the
truth. Groups are models on topics, models are means over topics; a verdict on a pair of models is
wrong if the truth is the other way round.

For `judge` it is skbench, truescore, glide (glide-py; Python 3.12) or ppi_python: the mean of 300
answers of which people labeled 30, with an autorater that is right 9 times in 10, or never more
often than a coin; 400 files each for accuracies of .7, .95 and .99. Where a package refuses a
file, as with labels that are all alike, it counts as not covered, and in no other column.
"""

import json
import sys
import time
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

N_FILES, N_IMAGES = 20, 10
N_JUDGED, N_ANSWERS, N_LABELED = 400, 300, 30
ACCURACIES, RIGHT = (0.7, 0.95, 0.99), (0.9, 0.5)


def make(folder):
    from skbench import load_digits_c, sample_items

    folder.mkdir(parents=True, exist_ok=True)
    data = load_digits_c()
    items = data.items
    data.features.to_csv(folder / "features")
    for number in range(N_FILES):
        sample = sample_items(items, N_IMAGES, random_state=number)
        truth = items.drop(index=sample.index).groupby(["model", "topic"])["score"].mean()
        sample[["model", "topic", "item", "score"]].to_csv(folder / f"{number}.csv", index=False)
        truth.to_csv(folder / f"{number}.truth")


def alone(items, by, interval):
    """An interval for each group from its own scores."""
    found = {}
    for name, scores in items.groupby(by)["score"]:
        found[name] = [float(scores.mean()), *map(float, interval(scores.to_numpy()))]
    return found


def wide(items):
    return items.pivot(index=["topic", "item"], columns="model", values="score")


def by_signs(names, difference, clear):
    """The better model of every pair that is decided."""
    pairs = combinations(names, 2)
    return {
        pair: pair[0] if d > 0 else pair[1]
        for pair, d, is_clear in zip(pairs, difference, clear, strict=True)
        if is_clear
    }


def run_skbench_with_features(items):
    features = pd.read_csv(Path(sys.argv[-1]) / "features", index_col=0)
    return run_skbench(items, features)


def run_skbench(items, features=None):
    from skbench import MixedModel, leaderboard, summarize_items

    g = summarize_items(items, by=["model", "topic"], features=features)
    e = MixedModel().fit(**g.fit_args).estimate()
    items = items.assign(item=items["topic"] + " " + items["item"].astype(str))
    board = leaderboard(items)
    groups, models = (
        {
            name: [float(x) for x in row]
            for name, *row in zip(e.labels, e.value, e.low, e.high, strict=True)
        }
        for e in (e, board.estimate)
    )
    pairs, verdicts = board.comparison.estimate, board.comparison.verdict
    decided = {
        tuple(pair): pair[0] if verdict == "better" else pair[1]
        for pair, verdict in zip(pairs.labels, verdicts, strict=True)
        if verdict in ("better", "worse")
    }
    return groups, models, decided


def run_inspect_ai(items):
    from inspect_ai.scorer import SampleScore, Score, ci

    def interval(scores):
        told = ci()([SampleScore(score=Score(value=float(x))) for x in scores])
        return told["lower"], told["upper"]

    return alone(items, ["model", "topic"], interval), alone(items, "model", interval), None


def run_evalstats(items):
    import evalstats

    rng = np.random.default_rng(0)

    def interval(scores):
        told = evalstats.mean_ci(scores, rng=rng)
        return told.ci_low, told.ci_high

    table = wide(items)
    scores, names = table.to_numpy(dtype=float).T, list(table)
    told = evalstats.all_pairwise(scores, names, rng=rng)
    decided = {}
    for a, b in combinations(names, 2):
        pair = told.get(a, b)
        if pair.ci_low > 0 or pair.ci_high < 0:
            decided[a, b] = a if pair.ci_low > 0 else b
    return alone(items, ["model", "topic"], interval), alone(items, "model", interval), decided


def run_truescore(items):
    from truescore import holm, mcnemar, wilson_interval

    def interval(scores):
        told = wilson_interval(int(scores.sum()), len(scores))
        return told.low, told.high

    table = wide(items)
    told = [mcnemar(table[a].to_numpy(), table[b].to_numpy()) for a, b in combinations(table, 2)]
    difference = [table[a].mean() - table[b].mean() for a, b in combinations(table, 2)]
    clear = holm([x.p_value for x in told]) < 0.05
    decided = by_signs(table, difference, clear)
    return alone(items, ["model", "topic"], interval), alone(items, "model", interval), decided


def run_rliable(items):
    from rliable import library

    def matrix(part):
        return np.stack([x.to_numpy(float) for _, x in part.groupby("topic")["score"]], axis=1)

    scores = {name: matrix(part) for name, part in items.groupby("model")}
    np.random.seed(0)  # noqa: NPY002, what it draws from
    value, ends = library.get_interval_estimates(scores, lambda x: np.array([x.mean()]), reps=2000)
    models = {
        name: [float(value[name][0]), float(ends[name][0, 0]), float(ends[name][1, 0])]
        for name in scores
    }
    return None, models, None


def run_autorank(items):
    from autorank import autorank

    means = items.pivot_table(index="topic", columns="model", values="score")
    result = autorank(means)
    table = result.rankdf["meanrank"]
    names = list(means)
    gap = [table[b] - table[a] for a, b in combinations(names, 2)]
    clear = np.abs(gap) > result.cd if result.pvalue < 0.05 else np.zeros(len(gap), dtype=bool)
    return None, None, by_signs(names, gap, clear)


def run(name, folder):
    warnings.simplefilter("ignore")
    method = globals()[f"run_{name}"]
    rows, started = [], time.process_time()
    for number in range(N_FILES):
        items = pd.read_csv(folder / f"{number}.csv")
        truth = pd.read_csv(folder / f"{number}.truth").set_index(["model", "topic"])["score"]
        groups, models, decided = method(items)
        row = {}
        for kind, found, true in (
            ("group", groups, truth),
            ("model", models, truth.groupby("model").mean()),
        ):
            if found is not None:
                value, low, high = np.array([found[label] for label in true.index]).T
                row[f"{kind}_error"] = float(np.mean((value - true) ** 2))
                row[f"{kind}_covered"] = float(np.mean((low <= true) & (true <= high)))
                row[f"{kind}_width"] = float(np.mean(high - low))
        if decided is not None:
            means = truth.groupby("model").mean()
            wrong = [p for p, best in decided.items() if means[best] < means[list(p)].max()]
            row |= {"decided": len(decided), "wrong": len(wrong)}
        rows.append(row)
    seconds = (time.process_time() - started) / N_FILES
    means = pd.DataFrame(rows).mean().to_dict() | {"seconds": seconds}
    (folder / f"{name}.json").write_text(json.dumps(means))
    print(name, {key: round(value, 4) for key, value in means.items()})


def judged(accuracy, right, seed):
    """Labels of people, nan beyond the first, and verdicts of an autorater."""
    rng = np.random.default_rng(seed)
    human = (rng.random(N_ANSWERS) < accuracy).astype(float)
    judge = np.where(rng.random(N_ANSWERS) < right, human, 1 - human)
    human[N_LABELED:] = np.nan
    return human, judge


def judge_skbench(human, judge):
    from skbench.ppi import PPIMean

    e = PPIMean().fit(judge[:, None], human).estimate()
    return e.value[0], e.low[0], e.high[0]


def judge_truescore(human, judge):
    from truescore import ppi_estimate

    told = ppi_estimate(judge, human[:N_LABELED], np.arange(N_LABELED))
    return told.point, told.low, told.high


def judge_glide(human, judge):
    from glide.estimators import PPIMeanEstimator

    told = PPIMeanEstimator().estimate(human, judge)
    return told.mean, told.confidence_interval.lower_bound, told.confidence_interval.upper_bound


def judge_ppi_python(human, judge):
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    parts = human[:N_LABELED], judge[:N_LABELED], judge[N_LABELED:]
    low, high = ppi_mean_ci(*parts, alpha=0.05)
    return ppi_mean_pointestimate(*parts)[0], low[0], high[0]


def judge(name, folder):
    warnings.simplefilter("ignore")
    method, rows = globals()[f"judge_{name}"], []
    for right in RIGHT:
        for accuracy in ACCURACIES:
            found = []
            for seed in range(N_JUDGED):
                try:
                    found.append(method(*judged(accuracy, right, seed)))
                except ValueError:
                    found.append((np.nan, np.nan, np.nan))
            value, low, high = np.array(found, dtype=float).T
            rows.append(
                {
                    "right": right,
                    "accuracy": accuracy,
                    "refused": float(np.mean(np.isnan(low))),
                    "error": float(np.nanmean((value - accuracy) ** 2)),
                    "covered": float(np.mean((low <= accuracy) & (accuracy <= high))),
                    "width": float(np.nanmean(high - low)),
                    "no width": float(np.mean(high <= low)),
                }
            )
    pd.DataFrame(rows).assign(name=name).to_json(folder / f"{name}.judged", orient="records")


def table(folder):
    rows = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    frame = pd.DataFrame(rows).T
    frame[["group_error", "model_error"]] *= 1000
    print(frame.to_string(float_format="%.3f", na_rep=""))
    judged = [pd.read_json(path) for path in sorted(folder.glob("*.judged"))]
    if judged:
        frame = pd.concat(judged).sort_values(["right", "accuracy"], ascending=[False, True])
        frame["error"] *= 1000
        print(frame.set_index(["right", "accuracy", "name"]).to_string(float_format="%.3f"))


if __name__ == "__main__":
    what, *names = sys.argv[1:]
    {"make": make, "run": run, "judge": judge, "table": table}[what](*names[:-1], Path(names[-1]))
