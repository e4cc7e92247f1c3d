"""Functions of draws: printed tables, brute force, what they refuse."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from reference.vtab import CATEGORIES, COLUMNS, printed_table, vtab_rows
from walks import one_in

from skbench import Draws
from skbench.tasks import (
    HierarchicalBetaBinomial,
    TaskBootstrap,
    aggregate,
    differences,
    normalize_scores,
    rank_models,
    rank_probabilities,
)

MODELS = pd.Index(["ada", "bob", "cyd"], name="model")
TASKS = pd.MultiIndex.from_tuples(
    [("text", "law"), ("text", "art"), ("code", "sort"), ("math", "add")],
    names=["category", "task"],
)


@pytest.fixture
def draws():
    values = np.random.default_rng(0).uniform(size=(50, 3, 4))
    return Draws(values, (MODELS, TASKS), "bootstrap")


@pytest.fixture(scope="module")
def rows(gold_folder):
    return vtab_rows(gold_folder)


@pytest.fixture(scope="module")
def vtab(rows):
    return TaskBootstrap(20_000, random_state=0).fit(rows, rows["k"] / rows["n"], n=rows["n"])


@pytest.fixture(scope="module")
def hundreds(rows):
    """Two hundred bootstraps of 100 draws each, normalized by their own bounds as the paper does."""
    fitted = [
        TaskBootstrap(100, random_state=seed).fit(rows, rows["k"] / rows["n"], n=rows["n"])
        for seed in range(200)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [normalize_scores(boot.draws_, "bootstrap") for boot in fitted]


def one_axis(values, kind="bootstrap"):
    values = np.asarray(values, dtype=float)
    return Draws(values, MODELS[: values.shape[1]], kind)


# Printed tables

ROUNDING = 0.0501  # printed to one digit
INTERPOLATED = {
    "geometric mean": [("Semi-Exemplar-10%", "high"), ("Semi-Rotation-10%", "low")],
}


@pytest.mark.parametrize("by", one_in(len(COLUMNS), COLUMNS))
def test_table_8(vtab, by):
    """Points within .1 and ends within .2, but for two of the 160 ends.

    These are printed as 4.5, half way between two whole ranks: quantiles of 100 draws are
    interpolated at .975 x 99, and rank 5 has a probability of about .025. Of 20,000 draws
    the ends are 4 and 5. Some hundreds of them have the printed ends, as all the others.
    """
    printed = printed_table(8, by)
    drawn = rank_models(vtab, by, random_state=0)
    interval = drawn.interval().to_frame().loc[printed.index]
    point, *ends = printed.to_numpy().T
    np.testing.assert_allclose(interval["value"], point, atol=0.1)
    ours = interval[["low", "high"]].astype(float)
    off = np.abs(ours - np.column_stack(ends)) > 0.2
    assert [tuple(x) for x in off.stack()[lambda o: o].index] == INTERPOLATED.get(by, [])
    hundreds = drawn.values.reshape(200, 100, -1)[:, :, drawn.labels[0].get_indexer(printed.index)]
    many = np.quantile(hundreds, [0.025, 0.975], axis=1)
    assert np.all(np.min(many, axis=1) < np.array(ends) + ROUNDING)
    assert np.all(np.max(many, axis=1) > np.array(ends) - ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("column", [*CATEGORIES, "overall"])
def test_table_9(hundreds, column):
    """The bounds move from bootstrap to bootstrap, and the paper made one: compare with many."""
    printed = printed_table(9, column)
    intervals = []
    for draws in hundreds:
        if column == "overall":
            own = aggregate(draws).interval(0.834).to_frame()
        else:
            own = aggregate(draws, by="category").interval(0.834).to_frame().xs(column, level=1)
        intervals.append(100 * own.loc[printed.index, printed.columns].astype(float))
    ours, expected = np.array(intervals), printed.to_numpy()
    if column == "overall":
        np.testing.assert_allclose(ours.mean(axis=0)[:, 0], expected[:, 0], atol=0.25)
    # Within what one bootstrap of 100 draws differs from the mean of all, and rounding.
    assert np.all(np.abs(expected - ours.mean(axis=0)) < 4 * ours.std(axis=0) + 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("by", COLUMNS)
def test_table_10(hundreds, by):
    printed = printed_table(10, by)
    ours = np.array(
        [
            rank_models(draws, by, random_state=seed)
            .interval()
            .to_frame()
            .loc[printed.index, ["value", "low", "high"]]
            .astype(float)
            for seed, draws in enumerate(hundreds)
        ]
    )
    expected = printed.to_numpy()
    spread = ours[:, :, 0].std(axis=0)
    assert np.all(np.abs(expected[:, 0] - ours.mean(axis=0)[:, 0]) < 0.1 + 2 * spread)
    # Every printed end is that of some bootstrap of 100 draws.
    assert np.all(expected[:, 1:] > ours.min(axis=0)[:, 1:] - ROUNDING)
    assert np.all(expected[:, 1:] < ours.max(axis=0)[:, 1:] + ROUNDING)
    # And within .2 of the typical one; but the smallest of all draws becomes 0 on every task, so
    # geometric means are 0 in some draws, their points move by .2 from bootstrap to bootstrap,
    # and ends are whole ranks: 27 of 32 agree.
    typical = np.abs(expected - np.median(ours, axis=0))[:, 1:] <= 0.2
    assert typical.mean() >= (0.8 if by == "geometric mean" else 1)


def test_bootstrap_bounds_depend_on_the_number_of_draws(vtab, rows, gold_folder):
    reference = json.loads((gold_folder / "longjohn_vtab_bootstrap.json").read_text())
    few = TaskBootstrap(100, random_state=0).fit(rows, rows["k"] / rows["n"], n=rows["n"])
    with pytest.warns(UserWarning, match=r"\(100\)"):
        narrow = aggregate(normalize_scores(few.draws_, "bootstrap")).interval()
    with pytest.warns(UserWarning, match=r"\(20000\)"):
        wide = aggregate(normalize_scores(vtab.draws_, "bootstrap")).interval()
    assert 0.005 < np.abs(wide.value - narrow.value).max() < 0.02
    low, high = np.array(reference["norm_low_high_B20000_seed0"])
    tasks = rows["task"].unique()
    assert vtab.tasks_.get_level_values("task").tolist() == list(tasks)
    # Extremes of two times 20,000 draws.
    np.testing.assert_allclose(vtab.draws_.values.min(axis=(0, 1)), low, atol=0.02)
    np.testing.assert_allclose(vtab.draws_.values.max(axis=(0, 1)), high, atol=0.02)


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("unweighted", None),
        ("wstr95", {"natural": 0.025, "specialized": 0.025, "structured": 0.95}),
    ],
)
def test_rank_probabilities_of_vtab(vtab, gold_folder, name, weights):
    path = gold_folder / f"longjohn_rankprob_{name}.csv"
    header, *lines = path.read_text().splitlines()
    models = header.removeprefix("# rows=").split(";")
    expected = np.array([line.split(",") for line in lines], dtype=float)
    ours = rank_probabilities(rank_models(vtab, weights=weights)).loc[models]
    # Five standard deviations of the difference between shares of 10,000 and of 20,000 draws.
    band = 5 * np.sqrt(expected * (1 - expected) * (1 / 10_000 + 1 / 20_000)) + 5e-4
    assert np.all(np.abs(ours - expected) < band)


# Aggregates


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (None, [0.25, 0.25, 0.25, 0.25]),
        ("category", [1 / 6, 1 / 6, 1 / 3, 1 / 3]),
        ({"code": 0.5, "text": 0.3, "math": 0.2}, [0.15, 0.15, 0.5, 0.2]),
        ({"sort": 0.4, "add": 0.3, "law": 0.2, "art": 0.1}, [0.2, 0.1, 0.4, 0.3]),
        (pd.Series({"sort": 0.4, "add": 0.3, "law": 0.2, "art": 0.1}), [0.2, 0.1, 0.4, 0.3]),
    ],
)
def test_weights(draws, weights, expected):
    ours = aggregate(draws, weights)
    np.testing.assert_allclose(ours.values, draws.values @ np.array(expected), rtol=1e-13)
    assert ours.labels == (MODELS,) and ours.kind == "bootstrap"


def test_category_means_are_one_task_per_category(draws):
    means = aggregate(draws, by="category")
    assert means.labels[1].tolist() == ["text", "code", "math"]
    np.testing.assert_allclose(means.values[..., 0], draws.values[..., :2].mean(axis=-1))
    np.testing.assert_allclose(
        aggregate(means).values, aggregate(draws, "category").values, rtol=1e-13
    )
    weights = {"text": 0.5, "code": 0.2, "math": 0.3}
    np.testing.assert_allclose(
        aggregate(means, weights).values, aggregate(draws, weights).values, rtol=1e-13
    )


def test_a_category_of_known_tasks_is_known_if_others_are_not(draws):
    values = draws.values.copy()
    values[:, :, 3] = np.nan
    means = aggregate(Draws(values, draws.labels, "bootstrap"), by="category")
    assert np.isfinite(means.values[..., :2]).all() and np.isnan(means.values[..., 2]).all()


def test_normalisation_by_given_bounds(draws):
    chance = {"law": 0.25, "art": 0.5, "sort": 0.0, "add": 0.1}
    low = np.array([0.25, 0.5, 0.0, 0.1])
    expected = (draws.values - low) / (1 - low)
    for bound in (chance, pd.Series(chance)[::-1]):
        ours = normalize_scores(draws, (bound, 1))
        np.testing.assert_allclose(ours.values, expected, rtol=1e-13)
    np.testing.assert_array_equal(normalize_scores(draws, (0, 1)).values, draws.values)


def test_normalisation_by_the_bootstrap_spans_0_to_1(draws):
    with pytest.warns(UserWarning, match=r"\(50\)"):
        ours = normalize_scores(draws, "bootstrap").values
    np.testing.assert_array_equal(ours.min(axis=(0, 1)), 0)
    np.testing.assert_array_equal(ours.max(axis=(0, 1)), 1)


# Differences


def test_three_comparisons_are_at_9833():
    values = np.random.default_rng(0).normal([0.8, 0.75, 0.5], 0.02, (4000, 3))
    d = differences(one_axis(values))
    assert d.confidence_level == pytest.approx(0.98333333)
    assert d.labels.tolist() == [("ada", "bob"), ("ada", "cyd"), ("bob", "cyd")]
    expected = np.quantile(values[:, 0] - values[:, 2], [0.05 / 6, 1 - 0.05 / 6])
    np.testing.assert_allclose([d.low[1], d.high[1]], expected, rtol=1e-12)
    assert all(word in d.method for word in ("bootstrap", "Bonferroni", "95%", "3"))
    single = differences(one_axis(values), correction="none")
    assert single.confidence_level == 0.95
    assert np.all(single.low > d.low) and np.all(single.high < d.high)


def test_pairs_keep_their_order_and_sign():
    values = np.random.default_rng(0).normal([0.8, 0.75, 0.5], 0.02, (4000, 3))
    d = differences(one_axis(values, "posterior"), [("cyd", "ada"), ["bob", "ada"]])
    np.testing.assert_allclose(d.value, [-0.3, -0.05], atol=0.003)
    assert d.guarantee == "posterior" and d.confidence_level == 0.975
    assert d.labels.tolist() == [("cyd", "ada"), ("bob", "ada")]


def test_differences_within_rounding_are_0():
    scores = np.array([[0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1], [0.5, 0.4]])
    assert scores[0, 0] != scores[0, 1]
    e = differences(one_axis(np.repeat(scores, [1000, 1000], axis=0)), correction="none")
    assert e.low[0] == 0


def test_stored_posterior_draws_remain_a_posterior():
    X = pd.DataFrame({"model": list("AABB"), "task": ["law", "add"] * 2})
    X["category"] = ["text", "math"] * 2
    bayes = HierarchicalBetaBinomial(n_draws=200, random_state=0).fit(X, [0.5, 0.6, 0.7, 0.8], n=10)
    for function in (aggregate, rank_models):
        assert function(bayes).kind == function(bayes.draws_).kind == "posterior"


def test_warning_of_thin_tails():
    values = np.random.default_rng(0).normal(size=(400, 3))
    with pytest.warns(UserWarning, match="1200"):
        differences(one_axis(values))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        differences(one_axis(values), correction="none")


# Ranks


def test_ranks_of_draws(draws):
    ranks = rank_models(draws)
    means = draws.values.mean(axis=-1)
    expected = 1 + (means[:, None, :] > means[:, :, None]).sum(axis=-1)
    np.testing.assert_array_equal(ranks.values, expected)
    weighted = rank_models(draws, weights={"text": 0, "code": 1, "math": 0})
    np.testing.assert_array_equal(
        weighted.values[:, 0], 3 - (draws.values[:, :1, 2] > draws.values[:, 1:, 2]).sum(axis=1)
    )


def test_noise_has_a_seed():
    X = pd.DataFrame({"model": list("aabb"), "task": list("stst")})
    boot = TaskBootstrap(40).fit(X, [0.5] * 4, sigma2=1e-30)
    ours = rank_models(boot, "noisy average rank", random_state=0).values
    again = rank_models(boot, "noisy average rank", random_state=0).values
    np.testing.assert_array_equal(ours, again)
    assert len(np.unique(ours[:, 0])) == 3  # 1, 1.5 and 2 all occur


# Errors


@pytest.mark.parametrize(
    "weights",
    [
        [0.25, 0.25, 0.25, 0.25],
        {"law": 0.5, "art": 0.5, "sort": np.nan, "add": 0},
        {"law": 0.5, "art": 0.5, "sort": 0.5, "add": 0.5},
        {"text": 0.5, "code": 0.5},
        {"law": 0.5, "art": 0.5},
        {"text": 0.5, "code": 0.3, "math": 0.1, "verse": 0.1},
        {"text": 1.5, "code": -0.5, "math": 0},
        "task",
        1.0,
    ],
)
def test_errors_of_weights(draws, weights):
    with pytest.raises(ValueError):
        aggregate(draws, weights)
    with pytest.raises(ValueError):
        rank_models(draws, weights=weights)


def without_categories(draws):
    return Draws(draws.values, (MODELS, TASKS.droplevel(0)), "bootstrap")


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda d: aggregate(without_categories(d), by="category"), ValueError),
        (lambda d: aggregate(without_categories(d), "category"), ValueError),
        (lambda d: aggregate(d, "category", by="category"), ValueError),
        (lambda d: aggregate(aggregate(d)), TypeError),
        (lambda d: normalize_scores(d, (0.5, 0.5)), ValueError),
        (lambda d: normalize_scores(d, ({"law": 0.1}, 1)), ValueError),
        (lambda d: normalize_scores(d, ([0, 0, 0, 0], 1)), ValueError),
        (lambda d: normalize_scores(d, (dict(law=0, art=0, sort=2, add=0), 1)), ValueError),
        (lambda d: normalize_scores(d, (0, np.inf)), ValueError),
        (lambda d: differences(aggregate(d), [("ada", "dan")]), ValueError),
        (lambda d: differences(aggregate(d), [("ada", "ada")]), ValueError),
        (lambda d: differences(aggregate(d), [("ada", "bob", "cyd")]), ValueError),
        (lambda d: differences(aggregate(d), []), ValueError),
        (lambda d: differences(one_axis(d.values[:, :1, 0])), ValueError),
        (lambda d: differences(d), TypeError),
        (
            lambda d: rank_models(Draws(d.values - 0.5, d.labels, d.kind), "geometric mean"),
            ValueError,
        ),
        (lambda d: rank_probabilities(aggregate(d)), ValueError),
        (lambda d: rank_probabilities(rank_models(d, "average rank")), ValueError),
    ],
)
def test_errors(draws, call, error):
    with pytest.raises(error):
        call(draws)
