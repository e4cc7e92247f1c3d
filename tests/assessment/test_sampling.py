"""One repetition's summary against `summarize_items` on the same rows, and the draws."""

import numpy as np
import pandas as pd
import pytest
from reference.study_slow import rows_of_sample
from scipy.stats import chi2, hypergeom

from skbench import make_items, summarize_items
from skbench.assessment._design import design
from skbench.assessment._population import population
from skbench.assessment._sampling import draw, drawn_rows, summary_of, sums_of_rows

BY = ["model", "topic"]
VARIANCES = ["smoothed", "plug-in", "pooled", "agresti", "model"]


def make_rows(score="binary", shared_items=True, missing=0.0, seed=0):
    """Items of 4 models and 6 topics, in random order, some answers missing."""
    items = make_items(
        4, 6, [40, 44, 48, 60, 41, 80], score=score, shared_items=shared_items, random_state=seed
    ).items
    rng = np.random.default_rng(seed)
    items["length"] = rng.normal(5, 1, len(items)).round(2)
    items["hard"] = items["item"].str.len() + rng.integers(3, size=len(items))
    return items[rng.random(len(items)) >= missing].sample(frac=1, random_state=seed)


def laid_out(items, features=None, share_items="auto", n_items=8, replace=False):
    full = population(items, BY, "score", "item", "model", features, share_items)
    return design(full, n_items, replace)


def same_summary(ours, theirs, item_correlation=True):
    """Equal in everything an estimator sees; sums come in another order, hence 1e-12."""
    assert ours.labels.equals(theirs.labels)
    for name in ("z", "sigma2", "n", "n_independent"):
        np.testing.assert_allclose(
            getattr(ours, name), getattr(theirs, name), rtol=1e-12, atol=1e-15, err_msg=name
        )
    assert ours.outcome == theirs.outcome
    assert (ours.groups is None) == (theirs.groups is None)
    if ours.groups is not None:
        np.testing.assert_array_equal(ours.groups, theirs.groups)
    pd.testing.assert_frame_equal(ours.X, theirs.X, rtol=1e-12, atol=1e-15)
    if item_correlation and theirs.item_correlation is not None:
        pd.testing.assert_frame_equal(ours.item_correlation, theirs.item_correlation, rtol=1e-10)
    else:
        assert ours.item_correlation is None
    if theirs.variance_noise is not None:
        np.testing.assert_allclose(ours.variance_noise, theirs.variance_noise, rtol=1e-9)
    else:
        assert ours.variance_noise is None


def item_ids(items, plan, rows, by):
    """Ids of drawn rows of the score matrix, by topic or group: read off by hand."""
    p, drawn = plan.population, {}
    for unit, (start, stop) in enumerate(zip(p.starts[:-1], p.starts[1:], strict=True)):
        labels = p.labels[p.unit == unit]
        key = tuple(labels[0]) if by == BY else (labels[0][1],)
        chosen = np.logical_and.reduce([items[name] == k for name, k in zip(by, key, strict=True)])
        ids = items.loc[chosen, "item"]
        # Shared items stand in sorted order, others as they came.
        ids = sorted(ids.unique()) if by != BY else ids.tolist()
        mine = rows[(rows >= start) & (rows < stop)] - start
        drawn[key] = [ids[i] for i in mine]
    return drawn


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("variance", VARIANCES)
def test_shared_binary_summary_is_that_of_the_rows(variance, missing):
    items = make_rows(missing=missing)
    plan = laid_out(items, n_items=7)
    rows = drawn_rows(plan, False, np.random.default_rng(1))
    ours = summary_of(plan.population, sums_of_rows(plan.population, rows, plan.n_items), variance)
    chosen = rows_of_sample(items, ["topic"], "item", item_ids(items, plan, rows, ["topic"]))
    same_summary(ours, summarize_items(chosen, BY, variance=variance))


@pytest.mark.parametrize("features", [None, "length", ["hard", "length"], "table"])
@pytest.mark.parametrize("score", ["binary", "continuous"])
def test_features_are_those_of_the_drawn_rows(score, features):
    items = make_rows(score=score, missing=0.1)
    if features == "table":
        features = pd.DataFrame({"topic": items["topic"].unique()})
        features["size"] = np.arange(len(features))
    plan = laid_out(items, features)
    rows = drawn_rows(plan, False, np.random.default_rng(2))
    sample = sums_of_rows(plan.population, rows, plan.n_items)
    chosen = rows_of_sample(items, ["topic"], "item", item_ids(items, plan, rows, ["topic"]))
    same_summary(
        summary_of(plan.population, sample, "smoothed"),
        summarize_items(chosen, BY, features=features),
    )


@pytest.mark.parametrize("score", ["binary", "continuous"])
@pytest.mark.parametrize("shared_items", [True, False])
def test_groups_drawn_apart_are_summarised_apart(score, shared_items):
    items = make_rows(score=score, shared_items=shared_items)
    plan = laid_out(items, share_items=False)
    rows = drawn_rows(plan, False, np.random.default_rng(3))
    ours = summary_of(
        plan.population, sums_of_rows(plan.population, rows, plan.n_items), "smoothed"
    )
    chosen = rows_of_sample(items, BY, "item", item_ids(items, plan, rows, BY))
    # The ids of two models' rows may coincide by chance, but nothing was drawn together.
    same_summary(ours, summarize_items(chosen.drop(columns="item"), ["model", "topic"], model="-"))


def test_wide_and_long_tables_are_one():
    items = make_rows(missing=0.1)
    wide = items.pivot(index=["topic", "item"], columns="model", values="score").reset_index()
    models = sorted(items["model"].unique())
    long = population(items, BY, "score", "item", "model", None, "auto")
    other = population(wide, BY, models, "item", "model", None, "auto")
    assert long.labels.equals(other.labels)
    np.testing.assert_array_equal(long.scores, other.scores)
    np.testing.assert_array_equal(long.starts, other.starts)


def test_truth_is_the_full_mean():
    items = make_rows(score="continuous", missing=0.3)
    plan = laid_out(items, n_items=5)
    truth = items.groupby(BY)["score"].mean().loc[list(plan.population.labels)]
    np.testing.assert_allclose(plan.population.truth, truth, rtol=1e-12)


def test_no_item_is_drawn_twice_without_replacement():
    plan = laid_out(make_rows())
    rng = np.random.default_rng(0)
    for _ in range(50):
        rows = drawn_rows(plan, False, rng)
        assert len(np.unique(rows)) == len(rows) == plan.n_items.sum()
        unit = np.searchsorted(plan.population.starts, rows, side="right") - 1
        np.testing.assert_array_equal(np.bincount(unit), plan.n_items)


@pytest.mark.parametrize("replace", [False, True])
def test_every_item_is_drawn_equally_often(replace):
    plan = laid_out(make_rows(), replace=replace)
    rng = np.random.default_rng(1)
    n_draws = 1000
    drawn = sum(
        np.bincount(drawn_rows(plan, replace, rng), minlength=len(plan.population.scores))
        for _ in range(n_draws)
    )
    share = np.repeat(plan.n_items / plan.population.unit_sizes, plan.population.unit_sizes)
    factor = 1 if replace else 1 - share
    distance = np.sum((drawn - n_draws * share) ** 2 / (n_draws * share * factor))
    # Nearly a chi-square variable with one degree of freedom per item; far tails of it.
    low, high = chi2.ppf([1e-6, 1 - 1e-6], len(share))
    assert 0.9 * low < distance < 1.1 * high


def test_hypergeometric_draws_are_those_of_rows():
    items = make_rows(shared_items=False)
    plan = laid_out(items)
    p = plan.population
    assert p.topics is None
    rng = np.random.default_rng(2)
    n_draws = 800
    fast = np.array([draw(plan, False, rng).total for _ in range(n_draws)])
    right = np.rint(p.truth * p.sizes).astype(int)
    law = hypergeom(p.sizes, right, plan.n_items)
    error = np.sqrt(law.var() / n_draws)
    # Five standard errors over 24 groups.
    assert np.all(np.abs(fast.mean(axis=0) - law.mean()) < 5 * error + 1e-12)
    rows = np.array(
        [sums_of_rows(p, drawn_rows(plan, False, rng), plan.n_items).total for _ in range(n_draws)]
    )
    assert np.all(np.abs(rows.mean(axis=0) - law.mean()) < 5 * error + 1e-12)
    spread = law.var() * np.sqrt(2 / n_draws)
    assert np.all(np.abs(fast.var(axis=0) - law.var()) < 6 * spread + 1e-12)
    assert np.all(np.abs(rows.var(axis=0) - law.var()) < 6 * spread + 1e-12)


def test_with_replacement_the_counts_are_binomial():
    plan = laid_out(make_rows(shared_items=False), n_items=60, replace=True)
    assert len(plan.dropped) == 0  # more items than some groups have
    rng = np.random.default_rng(4)
    totals = np.array([draw(plan, True, rng).total for _ in range(800)])
    p = plan.population.truth
    variance = 60 * p * (1 - p)
    assert np.all(np.abs(totals.mean(axis=0) - 60 * p) < 5 * np.sqrt(variance / 800) + 1e-12)
    assert np.all(np.abs(totals.var(axis=0) - variance) < 6 * variance * np.sqrt(2 / 800) + 1e-12)


def test_all_models_get_the_same_items():
    items = make_rows()
    items["score"] = items.groupby("topic")["item"].transform(
        lambda ids: ids.rank(method="dense") % 2
    )
    plan = laid_out(items)
    sample = draw(plan, False, np.random.default_rng(0))
    z = pd.Series(sample.total / sample.n, index=plan.population.labels)
    assert (z.groupby("topic").nunique() == 1).all() and z.nunique() > 1


# Designs


def sizes_table(sizes, n_models=2):
    return pd.concat(
        pd.DataFrame(
            {
                "model": f"m{m}",
                "topic": f"t{t}",
                "item": np.arange(size),
                "score": np.arange(size) % 2,
            }
        )
        for t, size in enumerate(sizes)
        for m in range(n_models)
    )


def test_proportional_design_gives_ten_items_of_the_smallest_large_group():
    plan = laid_out(sizes_table([100, 50, 400, 20, 2]), n_items="proportional")
    assert plan.n_items.tolist() == [20, 10, 80, 4]  # a fifth; two items round to none
    assert plan.dropped["items"].tolist() == [2, 2]
    assert plan.dropped["why"].unique().tolist() == ["no item would be drawn"]
    assert plan.dropped.index.tolist() == [("m0", "t4"), ("m1", "t4")]


def test_equal_design_drops_groups_with_less_than_four_times_the_items():
    plan = laid_out(sizes_table([39, 40, 41]), n_items=10)
    assert plan.population.unit_sizes.tolist() == [40, 41]
    assert plan.dropped.index.get_level_values("topic").unique().tolist() == ["t0"]
    assert plan.dropped["why"].iloc[0] == "fewer than 4 x 10 items"


def test_a_model_with_few_answers_is_dropped_alone():
    items = sizes_table([60, 60])
    few = (items["model"] == "m1") & (items["topic"] == "t0") & (items["item"] >= 30)
    plan = laid_out(items[~few], n_items=10)
    assert plan.dropped.index.tolist() == [("m1", "t0")]
    assert plan.n_items.tolist() == [10, 10]


def test_a_sample_that_would_be_the_truth_is_dropped():
    plan = laid_out(sizes_table([2, 40]), n_items=0.9)
    assert plan.n_items.tolist() == [36]
    assert plan.dropped["why"].iloc[0] == "the sample would be all items, hence the truth"


def test_no_group_large_enough_names_the_largest():
    with pytest.raises(ValueError, match=r"the largest is \('m0', 't1'\) with 30 items"):
        laid_out(sizes_table([20, 30]), n_items=10)
    with pytest.raises(ValueError, match="the largest has 30"):
        laid_out(sizes_table([20, 30]), n_items="proportional")
