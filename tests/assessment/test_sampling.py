"""What a study draws: summaries are those of the drawn rows, and the draws are random samples."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, hypergeom
from sklearn.base import BaseEstimator

from skbench import (
    DirectEstimator,
    GroupSummary,
    RepeatedSamplingStudy,
    make_items,
    summarize_items,
)
from skbench.assessment import Candidate

BY = ["model", "topic"]
BITS = ["bits 0", "bits 1"]
SIZES = [40, 44, 48, 60, 41, 80]
VARIANCES = ["smoothed", "plug-in", "pooled", "agresti", "model"]


def make_rows(score="binary", shared_items=True, missing=0.0, seed=0):
    """Items of 4 models and 6 topics in random order; means of the bits tell which were drawn."""
    items = make_items(4, 6, SIZES, score=score, shared_items=shared_items, random_state=seed).items
    rng = np.random.default_rng(seed)
    by = ["topic"] if shared_items else BY
    number = items.groupby(by)["item"].rank(method="dense").astype(int) - 1
    for part, name in enumerate(BITS):
        items[name] = np.where(number // 40 == part, 2.0 ** (number % 40), 0)
    items["number"] = number
    items["length"] = rng.normal(5, 1, len(items)).round(2)
    return items[rng.random(len(items)) >= missing].sample(frac=1, random_state=seed)


class Witness(BaseEstimator):
    """Keeps what it was given in a list of the class."""

    seen = []

    def fit(self, X, y, sigma2, n, groups, sampling):
        Witness.seen.append(GroupSummary(y, sigma2, n, X.index, X, groups, sampling=sampling))
        self.z_ = y
        return self

    def estimate(self, confidence_level):
        return SimpleNamespace(value=self.z_, low=self.z_, high=self.z_, guarantee="none")


def drawn(items, n_repeats=1, variance="smoothed", **options):
    """Summaries that estimators were given, and the study."""
    names = {"replace", "share_items", "n_items", "random_state"} & set(options)
    settings = {"n_items": 8, "random_state": 1} | {name: options.pop(name) for name in names}
    witness = Candidate(Witness(), variance)
    study = RepeatedSamplingStudy({"direct": witness}, n_repeats=n_repeats, **settings)
    Witness.seen.clear()
    study.run(items, **options)
    assert not len(study.failures_)
    return Witness.seen, study


def numbers_of(summary):
    """Numbers of the items of every group, read off the means of the bits."""
    sums = np.rint(summary.X[BITS].to_numpy() * summary.n[:, None]).astype(int)
    return [
        [40 * part + bit for part in (0, 1) for bit in range(40) if own[part] >> bit & 1]
        for own in sums
    ]


def chosen_rows(items, summary):
    """The drawn rows of the table."""
    pairs = [
        (*label, number)
        for label, numbers in zip(summary.labels, numbers_of(summary), strict=True)
        for number in numbers
    ]
    wanted = pd.MultiIndex.from_tuples(pairs)
    return items[pd.MultiIndex.from_frame(items[[*BY, "number"]]).isin(wanted)]


def same_summary(ours, theirs):
    """Equal in all inputs of an estimator; sums have another order, hence 1e-12."""
    assert ours.labels.equals(theirs.labels) and ours.outcome == theirs.outcome
    for name in ("z", "sigma2", "n", "n_independent"):
        np.testing.assert_allclose(
            getattr(ours, name), getattr(theirs, name), rtol=1e-12, atol=1e-15, err_msg=name
        )
    assert (ours.groups is None) == (theirs.groups is None)
    if ours.groups is not None:
        np.testing.assert_array_equal(ours.groups, theirs.groups)
    pd.testing.assert_frame_equal(ours.X, theirs.X, rtol=1e-12, atol=1e-15)
    assert (ours.item_correlation is None) == (theirs.item_correlation is None)
    if ours.item_correlation is not None:
        pd.testing.assert_frame_equal(ours.item_correlation, theirs.item_correlation, rtol=1e-10)
    assert (ours.sampling.variance_noise is None) == (theirs.sampling.variance_noise is None)
    if ours.sampling.variance_noise is not None:
        np.testing.assert_allclose(
            ours.sampling.variance_noise, theirs.sampling.variance_noise, rtol=1e-9
        )


@pytest.mark.parametrize(
    ("score", "variance", "missing"),
    [("continuous", "smoothed", 0.0), ("continuous", "smoothed", 0.2), ("binary", "pooled", 0.0)]
    + [("binary", variance, 0.2) for variance in VARIANCES],
)
def test_summary_is_that_of_the_drawn_rows(score, variance, missing):
    items = make_rows(score, missing=missing)
    features = [*BITS, "length"]
    (ours,), _ = drawn(items, n_items=7, variance=variance, features=features)
    theirs = summarize_items(chosen_rows(items, ours), BY, variance=variance, features=features)
    assert ours.groups is not None
    same_summary(ours, theirs)


@pytest.mark.parametrize("score", ["binary", "continuous"])
@pytest.mark.parametrize("shared_items", [True, False])
def test_groups_sampled_separately_are_summarized_separately(score, shared_items):
    items = make_rows(score, shared_items)
    (ours,), _ = drawn(items, share_items=False, features=BITS)
    # The ids of two models' rows may coincide by chance, but nothing was drawn together.
    chosen = chosen_rows(items, ours).drop(columns="item")
    same_summary(ours, summarize_items(chosen, BY, model="-", features=BITS))


def test_a_table_of_features_is_passed_on():
    items = make_rows()
    table = pd.DataFrame({"topic": sorted(items["topic"].unique()), "size": SIZES})
    (ours,), _ = drawn(items, features=table)
    pd.testing.assert_frame_equal(ours.X, summarize_items(items, BY, features=table).X)


def test_truth_is_the_full_mean():
    items = make_rows(score="continuous", missing=0.3)
    _, study = drawn(items, n_items=5)
    truth = items.groupby(BY)["score"].mean().loc[list(study.truth_.index)]
    np.testing.assert_allclose(study.truth_, truth, rtol=1e-12)


def test_all_models_get_the_same_items():
    (ours,), _ = drawn(make_rows(), features=BITS)
    assert (ours.X[BITS].groupby("topic").nunique() == 1).all(axis=None)


@pytest.mark.slow
def test_every_item_is_drawn_equally_often_and_none_twice():
    n_draws = 150
    items = make_rows().query("model == 'model-0'")
    summaries, _ = drawn(items, n_draws, features=BITS)
    counts = [np.zeros(size) for size in SIZES]
    for summary in summaries:
        for own, numbers in zip(counts, numbers_of(summary), strict=True):
            assert len(numbers) == 8  # a number that came twice would be another number
            own[numbers] += 1
    counts, share = np.concatenate(counts), np.repeat(8 / np.array(SIZES), SIZES)
    distance = np.sum((counts - n_draws * share) ** 2 / (n_draws * share * (1 - share)))
    # Nearly a chi-square variable with one degree of freedom per item; far tails of it.
    low, high = chi2.ppf([1e-6, 1 - 1e-6], len(share))
    assert 0.9 * low < distance < 1.1 * high


@pytest.mark.parametrize(
    ("replace", "by_rows"),
    [
        (False, False),
        pytest.param(False, True, marks=pytest.mark.slow),
        pytest.param(True, False, marks=pytest.mark.slow),
        pytest.param(True, True, marks=pytest.mark.slow),
    ],
)
def test_draws_have_the_law_of_random_samples(replace, by_rows):
    """Binary scores of groups apart are drawn as counts, where no feature needs the rows."""
    n_items, n_draws = 60 if replace else 8, 100
    items = make_rows(shared_items=False)
    features = ["length"] if by_rows else None
    summaries, study = drawn(items, n_draws, n_items=n_items, replace=replace, features=features)
    assert len(study.dropped_) == 0  # with replacement, groups may have fewer items
    totals = n_items * np.array([summary.z for summary in summaries])
    p, sizes = study.truth_.to_numpy(), items.groupby(BY).size().loc[list(study.truth_.index)]
    mean, variance = n_items * p, n_items * p * (1 - p)
    if not replace:
        distribution = hypergeom(sizes, np.rint(p * sizes).astype(int), n_items)
        mean, variance = distribution.mean(), distribution.var()
    # Five standard errors over 24 groups.
    error = np.sqrt(variance / n_draws)
    assert np.all(np.abs(totals.mean(axis=0) - mean) < 5 * error + 1e-12)
    spread = variance * np.sqrt(2 / n_draws)
    assert np.all(np.abs(totals.var(axis=0) - variance) < 6 * spread + 1e-12)


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


def designed(items, n_items):
    """Items of each topic in the only repetition, and the groups that were dropped."""
    study = RepeatedSamplingStudy({"direct": DirectEstimator()}, n_items, 1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        rows = study.run(items).results_
    return rows.groupby("topic", observed=True)["n"].first().to_dict(), study.dropped_


def test_proportional_design_gives_ten_items_of_the_smallest_large_group():
    n, dropped = designed(sizes_table([100, 50, 400, 20, 2]), "proportional")
    # A fifth; two items round to none.
    assert n == {"t0": 20, "t1": 10, "t2": 80, "t3": 4}
    assert dropped["items"].tolist() == [2, 2]
    assert dropped.index.tolist() == [("m0", "t4"), ("m1", "t4")]


def test_equal_design_drops_groups_with_less_than_four_times_the_items():
    n, dropped = designed(sizes_table([39, 40, 41]), 10)
    assert n == {"t1": 10, "t2": 10}
    assert dropped.index.get_level_values("topic").unique().tolist() == ["t0"]


def test_only_a_model_with_few_answers_is_dropped():
    items = sizes_table([60, 60])
    few = (items["model"] == "m1") & (items["topic"] == "t0") & (items["item"] >= 30)
    n, dropped = designed(items[~few], 10)
    assert dropped.index.tolist() == [("m1", "t0")]
    assert n == {"t0": 10, "t1": 10}


def test_a_sample_that_would_be_the_truth_is_dropped():
    n, dropped = designed(sizes_table([2, 40]), 0.9)
    assert n == {"t1": 36} and len(dropped) == 2


def test_no_group_large_enough_names_the_largest():
    with pytest.raises(ValueError, match=r"'t1'.*30"):
        designed(sizes_table([20, 30]), 10)
    with pytest.raises(ValueError, match="30"):
        designed(sizes_table([20, 30]), "proportional")
