"""Metrics by group: scikit-learn's and fairlearn's values, intervals that cover, COMPAS."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import binom, norm
from sklearn import metrics as sk

from skbench import DirectEstimator, EmpiricalBayes, JamesStein, MixedModel, group_metrics

METRICS = ("accuracy", "tpr", "fpr", "precision", "f1", "auc")


def of_sklearn(metric, y_true, y_pred, pos_label):
    if metric == "accuracy":
        return sk.accuracy_score(y_true, y_pred)
    if metric == "auc":
        return sk.roc_auc_score(y_true == pos_label, y_pred)
    function = {"precision": sk.precision_score, "f1": sk.f1_score}.get(metric, sk.recall_score)
    true, predicted = (y_true == pos_label) ^ (metric == "fpr"), y_pred == pos_label
    return function(true, predicted, zero_division=np.nan)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    by = {"sex": rng.choice(["f", "m"], 900), "age": rng.choice([20, 30, 40], 900)}
    frame = pd.DataFrame(by, index=rng.permutation(900)).assign(y=rng.integers(2, size=900))
    frame["p"] = np.where(rng.random(900) < 0.75, frame["y"], 1 - frame["y"])
    frame["score"] = np.round(frame["p"] + rng.normal(size=900), 1)
    return frame


CODES = {"numbers": ({}, 1), "words": ({1: "yes", 0: "no"}, "yes"), "three classes": ({}, 2)}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("coded", CODES)
def test_values_are_those_of_scikit_learn(rows, metric, coded):
    code, pos_label = CODES[coded]
    y, p = rows["y"].replace(code), rows["p"].replace(code)
    if coded == "three classes":
        y, p = y + (rows["score"] > 1), p + (rows["score"] > 0.5)
    p = rows["score"] if metric == "auc" else p
    g = group_metrics(y, p, rows[["sex", "age"]], metric, pos_label=pos_label)
    assert list(g.labels.names) == list(g.X) == ["sex", "age"]
    for (sex, age), z in zip(g.labels, g.z, strict=True):
        own = (rows["sex"] == sex) & (rows["age"] == age)
        assert z == pytest.approx(of_sklearn(metric, y[own], p[own], pos_label), abs=1e-12)
    assert (g.sigma2 > 0).all()
    assert g.outcome == ("continuous" if metric in ("f1", "auc") else "binomial")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("metric", METRICS)
def test_every_estimator_takes_it(rows, metric):
    p = rows["score" if metric == "auc" else "p"]
    g = group_metrics(rows["y"], p, rows[["sex", "age"]], metric)
    for estimator in (DirectEstimator(), MixedModel(), EmpiricalBayes(random_state=0)):
        estimate = estimator.fit(**g.fit_args).estimate()
        assert np.isfinite([estimate.value, estimate.low, estimate.high]).all()


def test_codes_of_groups_are_names(rows):
    """Whichever numbers they are, or their text."""
    known = [MixedModel(random_state=0).fit(**group_metrics(
        rows["y"], rows["p"], rows["age"].map(names)).fit_args).estimate().value
        for names in ({20: 1, 30: 2, 40: 3}, {20: 1, 30: 2, 40: 900}, {20: "1", 30: "2", 40: "3"})
    ]  # fmt: skip
    np.testing.assert_allclose(known, [known[0]] * 3)


def test_sizes_are_the_rows_that_the_metric_rests_on(rows):
    y, p = rows["y"] == 1, rows["p"] == 1
    sizes = {"accuracy": len(y), "tpr": y.sum(), "fpr": (~y).sum(), "precision": p.sum(), "f1": (y | p).sum()}  # fmt: skip
    for metric, size in sizes.items():
        assert group_metrics(y, p, rows["sex"], metric).n.sum() == size


@pytest.mark.filterwarnings("ignore:The estimates")  # few groups
@pytest.mark.parametrize(
    ("metric", "known"),
    [("tpr", "abd"), ("fpr", "acde"), ("precision", "acd"), ("f1", "abcd"), ("auc", "ad")],
)
def test_groups_without_a_denominator_are_nan(metric, known):
    y_true, y_pred = [1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0], [1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0]
    with pytest.warns(UserWarning, match="e" if metric != "fpr" else "b"):
        g = group_metrics(y_true, y_pred, list("aaabbccdddee"), metric)
    is_known = [label in known for label in "abcde"]
    for numbers in (np.isfinite(g.z), np.isfinite(g.sigma2), g.n > 0):
        assert list(g.labels) == list("abcde") and list(numbers) == is_known
    lost = g.labels[~np.array(is_known)]
    for estimator in (DirectEstimator(), MixedModel(), EmpiricalBayes(), JamesStein()):
        with pytest.raises(ValueError, match=f"'{lost[0]}'.*dropna"):
            estimator.fit(**g.fit_args)
    kept = g.dropna()
    assert list(kept.labels) == list(kept.X.index) == list(known)
    prior_means = MixedModel().fit(**kept.fit_args).predict(g.X.loc[lost])
    assert len(prior_means) == len(lost) and np.isfinite(prior_means).all()


REFUSED = {
    "words on one side": (["yes", "no"], [1, 0], ["a", "b"], {}),
    "another case": (["yes", "no"], ["Yes", "no"], ["a", "b"], {}),
    "other blanks": (["not ok", "ok", "ok "], ["not ok", "ok", "ok"], ["a", "b", "b"], {}),
    "scores for labels": ([1, 0], [0.7, 0.2], ["a", "b"], {}),
    "deciles for labels": ([1, 0, 0], [7, 1, 3], ["a", "b", "b"], {}),
    "words for scores": ([1, 0], ["x", "y"], ["a", "b"], {"metric": "auc"}),
    "no such label": (["x", "y"], ["x", "y"], ["a", "b"], {"metric": "tpr"}),
    "undefined everywhere": ([0, 0], [1, 0], ["a", "b"], {"metric": "tpr"}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_meant_is_refused(case):
    y_true, y_pred, by, options = REFUSED[case]
    with pytest.raises(ValueError):
        group_metrics(y_true, y_pred, by, **options)


def simulated(metric, n_groups, rng, least=15, most=120, evenly=False):
    """Labels, predictions and groups of some rows each, and the true metric of each group.

    True rates are normal on the logit scale, or spread evenly between two ends.
    """
    group = np.repeat(np.arange(n_groups), rng.integers(least, most + 1, n_groups))
    share, tpr, fpr = (expit(logit(p) + rng.normal(0, 0.5, n_groups)) for p in (0.4, 0.7, 0.2))
    if evenly:
        ends = (0.15, 0.6), (0.4, 0.95), (0.03, 0.4)
        share, tpr, fpr = (rng.uniform(*two, n_groups) for two in ends)
    y = rng.random(len(group)) < share[group]
    if metric == "auc":
        auc = expit(1 + rng.normal(0, 0.5, n_groups))
        if evenly:
            auc = norm.cdf(rng.uniform(0, 2.5, n_groups) / 2**0.5)
        return y, rng.normal(size=len(group)) + (2**0.5 * norm.ppf(auc))[group] * y, group, auc
    predicted = rng.random(len(group)) < np.where(y, tpr[group], fpr[group])
    tp, fp, fn = share * tpr, (1 - share) * fpr, share * (1 - tpr)
    truth = {"accuracy": tp + 1 - share - fp, "tpr": tpr, "fpr": fpr, "precision": tp / (tp + fp), "f1": 2 * tp / (2 * tp + fp + fn)}  # fmt: skip
    return y, predicted, group, truth[metric]


@pytest.mark.filterwarnings("ignore")  # a few groups lack positive rows
@pytest.mark.parametrize("evenly", [False, True])
@pytest.mark.parametrize("metric", METRICS)
def test_direct_intervals_cover(metric, evenly):
    rng = np.random.default_rng(0)
    y, predicted, group, truth = simulated(metric, 4000, rng, evenly=evenly)
    g = group_metrics(y, predicted, group, metric).dropna()
    estimate, truth = DirectEstimator().fit(**g.fit_args).estimate(), truth[g.labels]
    covered = np.mean((estimate.low <= truth) & (truth <= estimate.high))
    assert 0.95 - 3.09 * np.sqrt(0.95 * 0.05 / len(g)) <= covered <= 0.98  # 0.939
    # Its variance is right on average, and shrinkage rests on that.
    assert 0.85 < np.mean((g.z - truth) ** 2) / np.mean(g.sigma2) < 1.15


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # a few groups lack positive rows
@pytest.mark.parametrize("n", [15, 30, 60, 120])
@pytest.mark.parametrize("metric", METRICS)
def test_all_intervals_cover(metric, n):
    rng, covered = np.random.default_rng(n), {}
    # Sets of groups; boosted trees take longest.
    estimators = [(DirectEstimator(), 10, 0.95), (MixedModel(kernels=None), 10, 0.93), (EmpiricalBayes(random_state=0), 3, 0.93)]  # fmt: skip
    for number in range(10):
        y, predicted, group, truth = simulated(metric, 60, rng, n, n)
        g = group_metrics(y, predicted, group, metric).dropna()
        for estimator, n_sets, level in estimators:
            if number < n_sets:
                e = estimator.fit(**g.fit_args).estimate()
                hits = (e.low <= truth[g.labels]) & (truth[g.labels] <= e.high)
                covered.setdefault((type(estimator), level), []).append(hits)
    if (metric, n) == ("auc", 15):  # .89, as the user guide says: variances are a third too large
        del covered[MixedModel, 0.93]
    for (_, level), hits in covered.items():
        hits = np.concatenate(hits)
        assert hits.mean() >= binom.ppf(0.0005, len(hits), level) / len(hits)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("metric", "most"), [("f1", 0.97), ("auc", 0.9)])
def test_noisy_variances_are_moderated(metric, most):
    """Squared error at 15 rows a group, relative to variances taken as they are."""
    rng, errors = np.random.default_rng(0), []
    for _ in range(20):
        y, predicted, group, truth = simulated(metric, 30, rng, 15, 15)
        g = group_metrics(y, predicted, group, metric).dropna()
        believed = replace(g, sampling=replace(g.sampling, variance_noise=None))
        found = [MixedModel(kernels=None).fit(**one.fit_args).estimate() for one in (g, believed)]
        errors.append([np.mean((e.value - truth[g.labels]) ** 2) for e in found])
    moderated, as_they_are = np.mean(errors, axis=0)
    assert moderated < most * as_they_are


@pytest.fixture(scope="module")
def compas(data_folder):
    rows = pd.read_csv(data_folder / "compas_two_years.csv.gz")
    return rows.assign(predicted=(rows["decile_score"] >= 5) * 1)


def compas_metric(rows, metric, by):
    y_pred = rows["decile_score" if metric == "auc" else "predicted"]
    return group_metrics(rows["two_year_recid"], y_pred, rows[by], metric).dropna()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # groups without positives
@pytest.mark.parametrize("metric", METRICS)
def test_shrunken_metrics_of_compas_are_more_precise(compas, metric):
    """500 of 6,172 people in 18 groups by age and race; truth: all people of groups of 50."""
    by, found = ["age_cat", "race"], []
    full = compas_metric(compas, metric, by)
    truth = pd.Series(full.z, full.labels)[full.n >= 50]
    for seed in range(15):
        g = compas_metric(compas.sample(500, random_state=seed), metric, by)
        mixed = MixedModel(model=None, topic=None).fit(**g.fit_args).estimate().within(0, 1)
        found.append(mixed.to_frame().assign(direct=g.z, truth=truth).dropna(subset="truth"))
    found = pd.concat(found)
    errors = (found[["value", "direct"]].sub(found["truth"], axis=0) ** 2).mean()
    assert errors["value"] < 0.75 * errors["direct"]  # measured: 0.19 (auc) to 0.55 (tpr)
    assert found["truth"].between(found["low"], found["high"]).mean() >= 0.9


@pytest.mark.peers
@pytest.mark.parametrize("metric", METRICS)
def test_points_are_those_of_fairlearn(compas, metric):
    fairlearn = pytest.importorskip("fairlearn.metrics")
    theirs = {"tpr": fairlearn.true_positive_rate, "fpr": fairlearn.false_positive_rate}
    compas = compas[~compas["race"].isin(["Asian", "Native American"])]  # it raises, or has 0
    g = compas_metric(compas, metric, ["sex", "race"])
    frame = fairlearn.MetricFrame(
        metrics=theirs.get(metric) or partial(of_sklearn, metric, pos_label=1),
        y_true=compas["two_year_recid"],
        y_pred=compas["decile_score" if metric == "auc" else "predicted"],
        sensitive_features=compas[["sex", "race"]],
    )
    np.testing.assert_allclose(g.z, frame.by_group.loc[list(g.labels)], rtol=0, atol=1e-12)
