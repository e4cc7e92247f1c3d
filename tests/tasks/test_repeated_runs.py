import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, norm
from scipy.stats import t as student_t

from skbench.tasks.repeated_runs import RepeatedRuns

RUNS = [f"s{i}" for i in range(10)]


def fitted(y, interval="bootstrap"):
    X = pd.DataFrame({"model": [f"m{i}" for i in range(len(y))]})
    return RepeatedRuns(interval).fit(X, y)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_bootstrap_interval_is_its_formula(level):
    scores = np.array([70.1, 68.9, 71.4, 69.2])
    estimate = fitted([scores]).estimate(level)
    error = scores.std(ddof=1) * np.sqrt(1 + 1 / 4)
    reach = student_t.ppf((1 + level) / 2, 3) * error
    assert_allclose(estimate.value, scores.mean(), rtol=1e-12)
    assert_allclose(estimate.standard_error, error, rtol=1e-12)
    assert_allclose([estimate.low, estimate.high], scores.mean() + [[-reach], [reach]], rtol=1e-12)
    assert estimate.guarantee == "model"


def test_sem_is_the_published_formula_without_guarantee():
    scores = np.array([70.1, 68.9, 71.4, 69.2])
    estimate = fitted([scores], "sem").estimate()
    # The publishers write 1.96, 2e-5 above the quantile.
    assert_allclose(estimate.high - estimate.value, 1.96 * scores.std(ddof=1) / 2, rtol=3e-5)
    assert estimate.guarantee == "none"


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_scandeval_intervals(data_folder):
    results = pd.read_csv(data_folder / "scandeval_raw_2023.csv.gz")
    labels = results[["model", "dataset", "metric"]]
    estimate = RepeatedRuns("sem").fit(labels, results[RUNS]).estimate()
    assert len(estimate) == len(results) == 3762
    assert estimate.labels.equals(pd.MultiIndex.from_frame(labels))
    assert_allclose(estimate.value, results["total"], rtol=0, atol=1e-3)
    # Of 204 records the mean alone is published.
    published = results["total_ci"].notna().to_numpy()
    assert published.sum() == 3558
    reach = estimate.high - estimate.value
    # With 1.96 instead of the quantile, the rest is rounding: scores and ends have four digits.
    theirs = reach[published] * 1.96 / norm.ppf(0.975)
    assert_allclose(theirs, results["total_ci"][published], rtol=0, atol=1e-4)
    assert_allclose(estimate.value - estimate.low, reach, rtol=1e-9, atol=1e-12)


def test_one_run_has_no_interval_and_warns():
    with pytest.warns(UserWarning, match="1 of 1 .*'ada'"):
        estimate = RepeatedRuns().fit(pd.DataFrame({"model": ["ada"]}), [[1.0]]).estimate()
    assert estimate.value == 1 and np.isnan([estimate.low, estimate.high]).all()


@pytest.mark.parametrize("interval", ["bootstrap", "sem"])
def test_shapes_of_scores_are_the_same(interval):
    table = np.random.default_rng(0).normal(70, 2, (3, 5))
    X = pd.DataFrame({"model": ["ada", "bob", "cyd"], "dataset": "quiz"})
    expected = RepeatedRuns(interval).fit(X, table).estimate()
    lists = pd.Series([list(row) for row in table])
    long = X.loc[np.repeat(X.index, 5)]
    for labels, y in [(X, lists), (X, pd.DataFrame(table)), (long, table.ravel())]:
        estimate = RepeatedRuns(interval).fit(labels, y).estimate()
        assert estimate.labels.equals(expected.labels)
        assert_allclose(estimate.high, expected.high, rtol=1e-12)


def test_numbers_of_runs_may_differ():
    estimate = fitted([[70.0, 71.0, 72.5], [60.0, 61.0]]).estimate()
    alone = fitted([[60.0, 61.0]]).estimate()
    assert_allclose(estimate.low[1], alone.low[0], rtol=1e-12)
    assert list(estimate.labels) == ["m0", "m1"]


def test_labels_that_are_numbers_are_written_as_numbers():
    labels = pd.DataFrame({"model": [7, 8]})
    with pytest.warns(UserWarning, match=" 7[.]"):
        RepeatedRuns().fit(labels, [[1.0, 1.0], [1.0, 2.0]])


def test_constant_scores_warn():
    with pytest.warns(UserWarning, match="1 of 2 .*'m1'"):
        estimate = fitted([[70.0, 71.0], [60.0, 60.0]]).estimate()
    assert estimate.value[1] == 60
    assert np.isnan([estimate.low[1], estimate.high[1], estimate.standard_error[1]]).all()


@pytest.mark.parametrize("runs", [[1.0, np.nan], [], [1.0, np.inf]])
def test_bad_runs_are_refused(runs):
    with pytest.raises(ValueError):
        fitted([runs, [1.0, 2.0]])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("n_items", [200, 1000])
@pytest.mark.parametrize("K", [3, 10])
def test_coverage_of_the_truth(n_items, K):
    """Test sets drawn anew, each evaluated on K bootstrap samples."""
    rng = np.random.default_rng(0)
    n_trials, accuracy = 4000, 0.7
    score = rng.binomial(n_items, accuracy, (n_trials, 1)) / n_items
    raw = rng.binomial(n_items, score, (n_trials, K)) / n_items
    covered = {}
    for interval in ("bootstrap", "sem"):
        estimate = fitted(raw, interval).estimate()
        covered[interval] = np.mean((estimate.low <= accuracy) & (accuracy <= estimate.high))
    print(f"{n_items} items, {K} runs, coverage: {covered}")
    low, high = binom.ppf([0.0005, 0.9995], n_trials, 0.95) / n_trials
    assert max(0.93, low - 0.005) <= covered["bootstrap"] <= high + 0.005  # counts are discrete
    assert covered["sem"] < (0.75 if K == 3 else 0.5)
