"""Metrics by group, compared with fairlearn's MetricFrame: values, intervals, and errors on COMPAS.

The file has 6,172 people in groups by race and sex. The true value of a group is its metric among
all people, if at least 50 people determine it. For samples of 200 and of 500 the script prints:
1. the largest difference between values of `group_metrics` and of `MetricFrame`
2. coverage and mean width of direct intervals, fairlearn's bootstrap and the mixed model
3. squared error of the mixed model and of empirical Bayes relative to the direct estimates
It also prints coverage of the extremes of simulated false positive rates; the highest is the worst.

fairlearn is optional; its part is skipped if it is not installed.

    python benchmarks/metrics.py FOLDER
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from sklearn import metrics as sk

sys.path.insert(0, str(Path(__file__).parents[1]))

from skbench import DirectEstimator, EmpiricalBayes, MixedModel, extremes, group_metrics

try:
    import fairlearn.metrics as fairlearn
except ImportError:
    fairlearn = None

BY = ["sex", "race"]
N_SAMPLES, N_BOOTSTRAPPED, N_BOOT = 20, 10, 100  # a bootstrap takes seconds a sample
LEAST_TRUE = 50  # rows behind a true metric
ENDS = [0.025, 0.975]


def recall(y_true, y_pred):
    return sk.recall_score(y_true, y_pred, zero_division=np.nan)


def false_positive_rate(y_true, y_pred):
    return sk.recall_score(1 - np.asarray(y_true), y_pred, zero_division=np.nan)


def precision(y_true, y_pred):
    return sk.precision_score(y_true, y_pred, zero_division=np.nan)


def f1(y_true, y_pred):
    return sk.f1_score(y_true, y_pred, zero_division=np.nan)


def auc(y_true, y_pred):
    return sk.roc_auc_score(y_true, y_pred) if 0 < np.mean(y_true) < 1 else np.nan


METRICS = {
    "accuracy": sk.accuracy_score,
    "tpr": recall,
    "fpr": false_positive_rate,
    "precision": precision,
    "f1": f1,
    "auc": auc,
}


def columns(people, metric):
    """Return true labels, and predicted labels or scores."""
    return people["two_year_recid"], people["decile_score" if metric == "auc" else "predicted"]


def summary(people, metric):
    return group_metrics(*columns(people, metric), people[BY], metric)


def by_fairlearn(people, metric, n_boot=None):
    """Return MetricFrame values; with `n_boot` also bootstrap intervals."""
    y_true, y_pred = columns(people, metric)
    options = {} if n_boot is None else {"n_boot": n_boot, "ci_quantiles": ENDS, "random_state": 0}
    features = {"sensitive_features": people[BY]}
    frame = fairlearn.MetricFrame(
        metrics=METRICS[metric], y_true=y_true, y_pred=y_pred, **features, **options
    )
    if n_boot is None:
        return frame.by_group
    low, high = frame.by_group_ci
    return pd.DataFrame({"value": frame.by_group, "low": low, "high": high})


def ours(sample, estimator):
    """Return estimates of groups with known metrics, from 0 to 1."""
    e = estimator.fit(**sample.dropna().fit_args).estimate().within(0, 1)
    return e.to_frame()[["value", "low", "high"]]


def studied(people, metric, size):
    """Return estimates with true values over all samples, and seconds, by name."""
    whole = summary(people, metric)
    truth = pd.Series(whole.z, whole.labels)[whole.n >= LEAST_TRUE].rename("truth")
    estimators = {
        "direct": DirectEstimator(),
        "mixed model": MixedModel(model=None, topic=None),
        "empirical Bayes": EmpiricalBayes(random_state=0),
    }
    calls = {name: lambda s, p, e=e: ours(s, e) for name, e in estimators.items()}
    if fairlearn is not None:
        calls["fairlearn"] = lambda s, p: by_fairlearn(p, metric, N_BOOT)
    found, seconds = {name: [] for name in calls}, dict.fromkeys(calls, 0.0)
    for seed in range(N_SAMPLES):
        part = people.sample(size, random_state=seed)
        sample = summary(part, metric)
        known = sample.labels[np.isfinite(sample.z)]
        for name, call in calls.items():
            if name == "fairlearn" and seed >= N_BOOTSTRAPPED:
                continue
            start = time.perf_counter()
            table = call(sample, part)
            seconds[name] += time.perf_counter() - start
            found[name].append(table.reindex(known).join(truth, how="inner"))
    return {name: pd.concat(tables) for name, tables in found.items()}, seconds


def report(people, metric, size):
    """Return one line per estimator."""
    found, seconds = studied(people, metric, size)
    direct = ((found["direct"]["value"] - found["direct"]["truth"]) ** 2).mean()
    for name, table in found.items():
        error = ((table["value"] - table["truth"]) ** 2).mean() / direct
        covered = ((table["low"] <= table["truth"]) & (table["truth"] <= table["high"])).mean()
        width = (table["high"] - table["low"]).mean()
        ratio = "" if name == "fairlearn" else f", error {error:.2f} of direct"
        each = seconds[name] / (N_BOOTSTRAPPED if name == "fairlearn" else N_SAMPLES)
        print(
            f"  {metric:9s} {size} people, {name:15s}: {len(table):4d} groups, "
            f"covered {covered:.3f}, width {width:.2f}{ratio}, {each:.2f} s a sample"
        )


def extremes_of_rates(rate, spread, n_groups, n_rows, n_sets=100):
    """Simulate coverage of worst, best, gap and ratio; rates are normal on the logit scale."""
    rng, covered = np.random.default_rng(0), []
    names = np.array([f"group {i}" for i in range(n_groups)])  # numbers would become a feature
    code = np.repeat(np.arange(n_groups), n_rows)
    for _ in range(n_sets):
        true = expit(logit(rate) + rng.normal(0, spread, n_groups))
        y_true = (rng.random(len(code)) < 0.3).astype(int)
        y_pred = np.where(rng.random(len(code)) < true[code], 1, y_true)
        model = MixedModel().fit(**group_metrics(y_true, y_pred, names[code], "fpr").fit_args)
        draws = model.sample(1000, random_state=0)
        found = extremes(draws, of="both", greater_is_better=False).to_frame()
        truth = [true.max(), true.min(), np.ptp(true), true.min() / true.max()]
        covered.append((found["low"] <= truth) & (truth <= found["high"]))
    shares = ", ".join(
        f"{name} {share:.2f}" for name, share in pd.DataFrame(covered).mean().items()
    )
    print(f"  FPR near {rate}, {n_groups} groups of {n_rows} rows, covered: {shares}")


def main(folder):
    people = pd.read_csv(Path(folder) / "compas_two_years.csv.gz")
    people["predicted"] = (people["decile_score"] >= 5).astype(int)
    if fairlearn is None:
        print("fairlearn is not installed, so its values and intervals are skipped")
    else:
        apart = [
            (summary(people, m).to_frame()["z"] - by_fairlearn(people, m)).abs().max()
            for m in METRICS
        ]
        print(f"values of six metrics differ by at most {max(apart):.1e} from fairlearn")
    for size in (200, 500):
        for metric in METRICS:
            report(people, metric, size)
    for case in (
        (0.03, 0.6, 10, 100),
        (0.2, 0.5, 10, 60),
        (0.2, 0.5, 20, 30),
        (0.03, 0.6, 20, 200),
    ):
        extremes_of_rates(*case)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1])
