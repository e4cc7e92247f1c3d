"""TaskBootstrap: printed tables, exact laws, items and clusters, what it refuses."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from reference.vtab import CATEGORIES, printed_table, vtab_rows
from scipy.stats import binom
from sklearn.exceptions import NotFittedError

from skbench import summarize_items
from skbench.stats.clusters.clustered import clustered_standard_error
from skbench.tasks import (
    TaskBootstrap,
    aggregate,
    differences,
    rank_models,
)


@pytest.fixture(scope="module")
def rows(gold_folder):
    return vtab_rows(gold_folder)


@pytest.fixture(scope="module")
def vtab(rows):
    return TaskBootstrap(random_state=0).fit(rows, rows["k"] / rows["n"], n=rows["n"])


@pytest.fixture(scope="module")
def reference(gold_folder):
    return json.loads((gold_folder / "longjohn_vtab_bootstrap.json").read_text())


def grid(models, tasks):
    """One row per model and task."""
    return pd.DataFrame(
        [(model, task) for model in models for task in tasks], columns=["model", "task"]
    )


def make_items(n_items=60, n_models=2, n_tasks=2, shared=True, seed=0):
    """Item rows whose difficulty is common to the models."""
    rng = np.random.default_rng(seed)
    frames = []
    for task in range(n_tasks):
        difficulty = rng.normal(size=n_items)
        for model in range(n_models):
            own = np.arange(n_items) + (0 if shared else model * n_items)
            score = (difficulty + 0.5 * rng.normal(size=n_items) + 0.3 * model > 0).astype(float)
            frames.append(
                pd.DataFrame(
                    {"model": f"m{model}", "task": f"t{task}", "item": own, "score": score}
                )
            )
    return pd.concat(frames, ignore_index=True)


# Printed tables and recomputed numbers


@pytest.mark.slow
@pytest.mark.parametrize("category", [*CATEGORIES, "overall"])
def test_table_6(vtab, category):
    printed = printed_table(6, category)
    if category == "overall":
        estimate = vtab.estimate(confidence_level=0.834)
    else:
        weights = {name: float(name == category) for name in CATEGORIES}
        estimate = vtab.estimate(weights, confidence_level=0.834)
    ours = 100 * estimate.to_frame()[["value", "low", "high"]].loc[printed.index].astype(float)
    # Printed to .1 from 100 draws, whose mean is within .1 and whose ends are within .2.
    np.testing.assert_allclose(ours["value"], printed["value"], atol=0.1)
    np.testing.assert_allclose(ours, printed, atol=0.2)


@pytest.mark.parametrize("column", range(4))
def test_against_the_recomputation(vtab, reference, column):
    weights = {name: float(i == column) for i, name in enumerate(CATEGORIES)}
    weights = weights if column < 3 else None
    ours = vtab.estimate(weights, 0.834).to_frame().loc[reference["models"]]
    point, error = (np.array(reference[name]) for name in ("point_exact_pct", "se_exact_pct"))
    np.testing.assert_allclose(100 * ours["value"], point[:, column], atol=1e-6)  # 6 digits given
    # The standard deviation of 10,000 draws is known to 1 / sqrt(20000) = .7%.
    np.testing.assert_allclose(100 * ours["standard_error"], error[:, column], rtol=0.03)
    # Quantiles of 10,000 and 20,000 draws differ by about .016 standard errors.
    ends = np.array(reference["boot_ci834_pct"])[:, :, column]
    tolerance = 5 * 0.02 * error[:, column]
    assert np.all(np.abs(100 * ours["low"] - ends[0]) < tolerance)
    assert np.all(np.abs(100 * ours["high"] - ends[1]) < tolerance)
    closed = np.sqrt(
        np.diag(vtab.covariance(weights).loc[reference["models"], reference["models"]])
    )
    # Unbiased variances are larger by n / (n - 1), n >= 711.
    np.testing.assert_allclose(100 * closed, error[:, column], rtol=1 / 1400)


def test_simulation_study_has_the_corrected_interval():
    """Longjohn et al. print (-.059, .097) for it; the upper end is a misprint of .0097 or .008."""
    X = grid("AB", [1, 2, 3])
    k, n = np.array([100, 5000, 10000, 115, 5000, 10000]), np.array([200, 10000, 20000] * 2)
    boot = TaskBootstrap(100_000, random_state=0).fit(X, k / n, n=n)
    d = differences(aggregate(boot))
    np.testing.assert_allclose(d.value, -0.025, atol=5 * 0.0168 / np.sqrt(1e5))
    # Means of three tasks, the first in steps of 1/600: quantiles lie within one such step.
    np.testing.assert_allclose([d.low[0], d.high[0]], [-0.058, 0.008], atol=1 / 600)
    se = np.sqrt(np.array([[1, -1]]) @ boot.covariance().to_numpy() @ np.array([1, -1]))
    np.testing.assert_allclose(se, 0.01682219103182196, rtol=1 / 300)  # n / (n - 1), n >= 200


# Laws


def test_another_seed_has_other_draws():
    X, y = grid("AB", "st"), [0.5, 0.7, 0.1, 0.9]
    one, other = (TaskBootstrap(50, random_state=seed).fit(X, y, n=20) for seed in (3, 4))
    assert np.any(one.draws_.values != other.draws_.values)


@pytest.mark.slow
def test_batches_are_equal_to_all_draws():
    boot = TaskBootstrap(1_050_000, random_state=0)
    boot.fit(grid("AB", "st"), [0.5, 0.7, 0.1, 0.9], n=20)
    batches = [batch.values for batch in boot.iter_draws()]
    assert len(batches) == 2 and np.any(batches[0][:1000] != batches[1][:1000])
    assert np.array_equal(np.concatenate(batches), boot.draws_.values)
    assert np.array_equal(aggregate(boot).values, aggregate(boot.draws_).values)


def test_too_many_draws_are_not_stored():
    boot = TaskBootstrap(30_000_000, random_state=0)
    boot.fit(grid("AB", "st"), [0.5, 0.7, 0.1, 0.9], n=20)
    with pytest.raises(MemoryError):
        boot.draws_  # noqa: B018


def test_normal_draws_of_scores_that_are_not_counts():
    X = grid("AB", ["accuracy", "f1"])
    y, sigma2 = [0.5, 0.61, 0.75, 0.3333], [0.01, 0.0004, 0.01, 0.0009]
    boot = TaskBootstrap(20_000, random_state=0).fit(X, y, sigma2=sigma2, n=20)
    assert boot.kinds_.to_dict() == {"accuracy": "binomial", "f1": "normal"}
    draws = boot.draws_.values
    assert np.all(np.rint(draws[:, :, 0] * 20) == np.round(draws[:, :, 0] * 20, 9))
    np.testing.assert_allclose(draws[:, :, 1].std(axis=0), [0.02, 0.03], rtol=0.03)
    np.testing.assert_allclose(boot.sigma2_, [[0.25 / 19, 0.0004], [0.1875 / 19, 0.0009]])
    everything = TaskBootstrap(20_000, random_state=0).fit(X, y, sigma2)
    np.testing.assert_allclose(everything.draws_.values[:, :, 0].std(axis=0), 0.1, rtol=0.03)


def test_clustered_0_1_scores_are_not_independent():
    """Their sampling variance gives them away."""
    X, n = grid("AB", "st"), 40
    y = np.array([0.5, 0.7, 0.6, 0.8])
    for factor, kind in [(1.0, "binomial"), (2.5, "normal")]:
        boot = TaskBootstrap(10, random_state=0).fit(X, y, factor * y * (1 - y) / n, n)
        assert set(boot.kinds_) == {kind}


def test_summaries_fit_directly():
    items = make_items()
    summary = summarize_items(items, by=["model", "task"])
    args = {name: summary.fit_args[name] for name in ("X", "y", "sigma2", "n")}
    boot = TaskBootstrap(100, random_state=0).fit(**args)
    assert set(boot.kinds_) == {"binomial"}
    expected = items.groupby(["model", "task"])["score"].mean().unstack()
    np.testing.assert_allclose(boot.score_, expected, rtol=1e-14)


@pytest.mark.slow
def test_intervals_cover():
    """Two thousand models with the same true accuracies are as many trials: two seconds."""
    truth, n, n_models = np.array([0.3, 0.5, 0.8, 0.9]), np.array([100, 200, 400, 800]), 2000
    right = np.random.default_rng(0).binomial(n, truth, (n_models, 4))
    boot = TaskBootstrap(1000, random_state=0).fit(
        grid(range(n_models), range(4)), (right / n).ravel(), n=np.tile(n, n_models)
    )
    for weights in ([0.25, 0.25, 0.25, 0.25], [0.1, 0.2, 0.3, 0.4]):
        e = boot.estimate(dict(enumerate(weights)))
        target = truth @ weights
        hits = (e.low <= target) & (target <= e.high)
        low, high = binom.ppf([0.0005, 0.9995], n_models, 0.95) / n_models
        assert low <= hits.mean() <= high


# Items


def test_shared_items_are_resampled_together():
    items = make_items(n_items=200)
    boot = TaskBootstrap(5000, random_state=0).fit_items(items)
    assert set(boot.kinds_) == {"items"}
    wide = items.pivot(index=["task", "item"], columns="model", values="score")
    expected = sum(wide.loc[task].cov() / 200 for task in ("t0", "t1")) / 4
    np.testing.assert_allclose(boot.covariance(), expected, rtol=1e-12)
    drawn = np.cov(aggregate(boot).values.T)
    # A covariance of 5000 draws is known to about 2% of the variances.
    np.testing.assert_allclose(drawn, expected * 199 / 200, atol=0.1 * expected.max().max())
    assert expected.iloc[0, 1] > 0.3 * expected.iloc[0, 0]
    paired = differences(aggregate(boot)).standard_error[0]
    apart = TaskBootstrap(5000, random_state=0, item=None).fit_items(items)
    assert set(apart.kinds_) == {"binomial"}
    assert paired < 0.85 * differences(aggregate(apart)).standard_error[0]
    np.testing.assert_array_equal(apart.score_, boot.score_)


def test_identical_models_never_differ():
    items = make_items(n_models=1)
    twins = pd.concat([items, items.assign(model="twin")])
    boot = TaskBootstrap(400, random_state=0).fit_items(twins)
    np.testing.assert_array_equal(*np.moveaxis(boot.draws_.values, 1, 0))
    d = differences(aggregate(boot))
    assert (d.low[0], d.high[0], d.standard_error[0]) == (0, 0, 0)


def test_unshared_items_are_resampled_independently():
    items = make_items(n_items=100, shared=False)
    boot = TaskBootstrap(4000, random_state=0).fit_items(items)
    correlation = np.corrcoef(aggregate(boot).values.T)[0, 1]
    assert abs(correlation) < 5 / np.sqrt(4000)
    assert boot.covariance().iloc[0, 1] == 0


def test_unshared_continuous_items():
    items = make_items(n_items=50, shared=False)
    items["score"] += np.random.default_rng(1).normal(size=len(items))
    for item in ("item", None):
        boot = TaskBootstrap(4000, random_state=0, item=item).fit_items(items)
        assert set(boot.kinds_) == {"items"}
        expected = items.groupby(["model", "task"])["score"].var().unstack() / 50
        np.testing.assert_allclose(boot.sigma2_, expected, rtol=1e-12)
        np.testing.assert_allclose(
            boot.draws_.values.var(axis=0), expected * 49 / 50, rtol=5 * np.sqrt(2 / 4000)
        )


def test_clusters_are_resampled_whole():
    rng = np.random.default_rng(0)
    passages = np.repeat(np.arange(40), rng.integers(1, 7, 40))
    easy = rng.normal(size=40)[passages]
    items = pd.concat(
        pd.DataFrame(
            {
                "model": model,
                "task": "reading",
                "item": np.arange(passages.size),
                "passage": passages,
                "score": (easy + 0.3 * rng.normal(size=passages.size) > shift).astype(int),
            }
        )
        for model, shift in [("a", 0.0), ("b", 0.4)]
    )
    boot = TaskBootstrap(5000, random_state=0, cluster="passage").fit_items(items)
    assert boot.kinds_.tolist() == ["clusters"]
    scores = items[items["model"] == "a"]["score"]
    closed = clustered_standard_error(scores, passages, kind="cr1")
    np.testing.assert_allclose(boot.sigma2_[0, 0], closed**2, rtol=1e-12)
    # CR0 to first order, here within 5%; ignoring the clusters is 40% too small.
    np.testing.assert_allclose(
        boot.draws_.values[:, 0, 0].std(),
        clustered_standard_error(scores, passages, "cr0"),
        rtol=0.1,
    )
    ignoring = TaskBootstrap(100, random_state=0).fit_items(items)
    assert ignoring.sigma2_[0, 0] < 0.6 * boot.sigma2_[0, 0]
    apart = TaskBootstrap(100, random_state=0, item=None, cluster="passage").fit_items(items)
    np.testing.assert_allclose(apart.sigma2_, boot.sigma2_, rtol=1e-12)
    assert apart.covariance().iloc[0, 1] == 0 < boot.covariance().iloc[0, 1]


def test_repeated_answers_are_clusters_of_their_question():
    items = make_items(n_tasks=1)
    once = TaskBootstrap(10, random_state=0).fit_items(items)
    thrice = TaskBootstrap(10, random_state=0, cluster="item").fit_items(pd.concat([items] * 3))
    np.testing.assert_allclose(thrice.sigma2_, once.sigma2_, rtol=1e-12)


def test_items_have_categories():
    items = make_items()
    items["kind"] = items["task"].map({"t0": "text", "t1": "code"})
    boot = TaskBootstrap(50, random_state=0, category="kind").fit_items(items)
    assert boot.tasks_.tolist() == [("text", "t0"), ("code", "t1")]
    assert aggregate(boot, by="category").labels[1].tolist() == ["text", "code"]


# Edges


def test_one_task_and_one_model():
    boot = TaskBootstrap(2000, random_state=0).fit(grid("A", "s"), [0.5], n=100)
    e = boot.estimate()
    assert len(e) == 1 and 0.39 < e.low[0] < 0.41 and 0.59 < e.high[0] < 0.61
    np.testing.assert_array_equal(rank_models(boot).values, 1)


def test_accuracies_of_0_and_1_are_constant_and_warn():
    X = grid("AB", "st")
    with pytest.warns(UserWarning, match="2 of 4|HierarchicalBetaBinomial"):
        boot = TaskBootstrap(100, random_state=0).fit(X, [0.5, 1, 0.5, 0], n=10)
    np.testing.assert_array_equal(boot.draws_.values[:, :, 1], [[1, 0]] * 100)
    with pytest.warns(UserWarning, match="2 of 4|HierarchicalBetaBinomial"):
        TaskBootstrap(10).fit_items(make_items().assign(score=1))


def test_a_task_without_weight_does_not_count():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the task of one item
        boot = TaskBootstrap(5).fit(grid("AB", "st"), [0.5, 1, 0.3, 0], n=[10, 1, 10, 1])
    covariance = boot.covariance({"s": 1, "t": 0})
    np.testing.assert_allclose(covariance, np.diag([0.25, 0.21]) / 9, rtol=1e-12)


def test_a_task_of_one_cluster_without_weight_does_not_count():
    items = make_items().assign(passage=lambda rows: rows["item"].where(rows["task"] == "t0", 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the task of one cluster
        boot = TaskBootstrap(50, random_state=0, cluster="passage").fit_items(items)
    tasks = items["task"].unique()
    weights = dict.fromkeys(tasks, 0.0) | {"t0": 1.0}
    assert boot.covariance(weights).notna().all(axis=None)
    assert boot.covariance().isna().all(axis=None)


def test_a_single_item_or_cluster_has_no_interval():
    X = grid("AB", "st")
    with pytest.warns(UserWarning, match="2 of 4|HierarchicalBetaBinomial"):
        boot = TaskBootstrap(100, random_state=0).fit(X, [0.5, 1, 0.5, 0], n=[10, 1, 10, 1])
    e = boot.estimate()
    np.testing.assert_array_equal(e.value, [0.75, 0.25])
    assert np.isnan([e.low, e.high, e.standard_error]).all()
    # A task without weight does not count.
    assert np.isfinite(boot.estimate({"s": 1, "t": 0}).low).all()
    with pytest.warns(UserWarning, match="2 of 4|HierarchicalBetaBinomial"):
        TaskBootstrap(10, cluster="book").fit_items(make_items().assign(book=1))


def test_ordinary_input_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TaskBootstrap(10).fit(grid("AB", "st"), [0.5, 0.7, 0.1, 0.9], n=20).estimate()
        TaskBootstrap(10).fit_items(make_items()).estimate()


Y = [0.5, 0.7, 0.1, 0.9]


@pytest.mark.parametrize(
    ("X", "y", "n"),
    [
        (grid("AB", "st"), Y, None),
        (grid("AB", "st"), Y, 13),
        (grid("AB", "st"), [50, 70, 10, 90], 10),
        (grid("AB", "st").iloc[:3], Y[:3], 10),
        (grid("AB", "st").iloc[[0, 1, 1]], Y[:3], 10),
        (grid("AB", "st").assign(category=list("uvuu")), Y, 10),
    ],
)
def test_errors_of_fit(X, y, n):
    with pytest.raises(ValueError):
        TaskBootstrap(5).fit(X, y, n=n)


def partly_shared():
    items = make_items()
    return items.drop(items.index[(items["model"] == "m1") & (items["item"] == 7)])


@pytest.mark.parametrize(
    ("items", "options"),
    [
        (partly_shared(), {}),
        (make_items().query("model == 'm0' or task == 't0'"), {}),
        (make_items().query("model == 'm0' or task == 't0'"), {"item": None}),
        (pd.concat([make_items()] * 2), {}),
        (make_items().drop(columns="item"), {}),
        (make_items(), {"category": "kind"}),
        (make_items().assign(score=np.nan), {}),
        (make_items().assign(text=[None, *["a", "b"] * 119, "a"]), {"cluster": "text"}),
    ],
)
def test_errors_of_items(items, options):
    with pytest.raises(ValueError):
        TaskBootstrap(5, **options).fit_items(items)


def test_nothing_works_before_fit():
    boot = TaskBootstrap()
    for use in (boot.estimate, boot.covariance, lambda: boot.draws_, lambda: aggregate(boot)):
        with pytest.raises(NotFittedError):
            use()


def test_real_items_are_paired(data_folder):
    """The same 27 tasks answered with and without a chain of thought."""
    items = pd.read_csv(data_folder / "bbh_codex.csv.gz")
    names = {"model": "mode", "score": "correct"}
    boot = TaskBootstrap(2000, random_state=0, **names).fit_items(items)
    assert boot.score_.shape == (2, 27)
    wide = items.pivot(index=["task", "item"], columns="mode", values="correct")
    gain = (wide["cot"] - wide["direct"]).groupby("task")
    closed = np.sqrt((gain.var() / gain.size()).sum()) / 27
    d = differences(aggregate(boot))
    np.testing.assert_allclose(d.value, gain.mean().mean(), atol=5 * closed / np.sqrt(2000))
    # The standard deviation of 2000 draws is known to 1.6%; n >= 146 makes .3%.
    np.testing.assert_allclose(d.standard_error, closed, rtol=0.08)
    contrast = np.array([1, -1])
    np.testing.assert_allclose(
        np.sqrt(contrast @ boot.covariance().to_numpy() @ contrast), closed, rtol=1e-12
    )
