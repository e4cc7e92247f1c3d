import warnings

import numpy as np
import pandas as pd
import pytest
from reference.grouped_ppi_loop import estimates, shared_slope, shrunk_variances
from scipy.special import expit
from scipy.stats import binom
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from skbench import DirectEstimator, EmpiricalBayes
from skbench.datasets import make_judged_items
from skbench.ppi import ChainRulePPI, ClassicalMean, GroupedPPI, PPIMean, StratifiedPPI
from skbench.ppi._group_summary import set_aside


def rows_of(data):
    """What `fit` takes, of simulated items."""
    return data.items[["autorater"]], data.items["human"], data.items["group"]


@pytest.fixture(scope="module")
def judged():
    """20 groups of different size with 4 to 40 labels."""
    rng = np.random.default_rng(0)
    return make_judged_items(
        20, rng.integers(90, 200, 20), rng.integers(4, 40, 20), drift=0.5, random_state=0
    )


@pytest.fixture(scope="module")
def scored():
    """The same with a continuous autorater."""
    return make_judged_items(12, 150, [30] * 6 + [60] * 6, score="continuous", random_state=1)


# Estimates and intervals ------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "source"),
    [
        (PPIMean(), "judged"),
        (PPIMean(), "scored"),
        (PPIMean(interval="z"), "judged"),
        (ClassicalMean(), "judged"),
        (ClassicalMean("t"), "scored"),
        (StratifiedPPI(n_strata=3, power_tuning=True), "scored"),
        (ChainRulePPI(), "judged"),
    ],
    ids=str,
)
def test_one_pass_is_the_loop(estimator, source, request):
    X, y, groups = rows_of(request.getfixturevalue(source))
    together = GroupedPPI(estimator, power="per group").fit(X, y, groups)
    estimate = together.estimate(0.9)
    for g, name in enumerate(together.labels_):
        rows = groups == name
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a group whose labels are all alike
            alone = clone(estimator).fit(X[rows], y[rows])
        one = alone.estimate(0.9)
        # Sums over one group and over all in one go round differently.
        for found, expected in (
            (together.estimate_[g], alone.estimate_),
            (together.standard_error_[g], alone.standard_error_),
            (estimate.low[g], one.low[0]),
            (estimate.high[g], one.high[0]),
            (together.lambda_[g], alone.lambda_),
            (together.rectifier_[g], alone.rectifier_),
            (together.effective_sample_size_[g], alone.effective_sample_size_),
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        assert together.n_labeled_[g] == alone.n_labeled_
        assert together.n_unlabeled_[g] == alone.n_unlabeled_
    assert estimate.method == one.method
    assert estimate.guarantee == one.guarantee
    assert estimate.labels.equals(pd.Index(sorted(groups.unique()), name="group"))


@pytest.mark.parametrize("source", ["judged", "scored"])
def test_shared_power_is_one_regression(source, request):
    X, y, groups = rows_of(request.getfixturevalue(source))
    fitted = GroupedPPI().fit(X, y, groups)
    f, y, groups = X["autorater"].to_numpy(float), y.to_numpy(), groups.to_numpy()
    value = estimates(f, y, groups)[0]
    np.testing.assert_allclose(fitted.estimate_, np.clip(value, 0, 1), rtol=1e-10)
    n, N = fitted.n_labeled_, fitted.n_unlabeled_
    np.testing.assert_allclose(
        fitted.lambda_[:, 0], shared_slope(f, y, groups) * N / (n + N), rtol=1e-10
    )
    assert fitted.estimator_.power_tuning == "pooled"


def test_useless_and_perfect_autoraters():
    data = make_judged_items(30, 400, 20, random_state=2)
    X, y, groups = rows_of(data)
    noise = np.random.default_rng(0).integers(0, 2, len(X))
    assert np.all(GroupedPPI().fit(noise, y, groups).lambda_ < 0.1)  # 4 standard errors of 0
    human = make_judged_items(30, 400, 400, random_state=2).items["human"]
    perfect = GroupedPPI().fit(human, y, groups)
    # All that is left is the noise of the answers themselves.
    expected = human.groupby(groups).mean()
    np.testing.assert_allclose(perfect.estimate_, expected, atol=0.05)


# Groups with few labels -------------------------------------------------------------


@pytest.fixture(scope="module")
def few():
    return make_judged_items(10, 60, [0, 1, 2, 5, 5, 5, 5, 5, 0, 1], random_state=3)


def fit_quietly(estimator, *rows, **keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(*rows, **keywords)


def test_groups_without_labels_are_listed_and_left_out(few):
    no_label = "2 of 10 groups have no human label, the first is 'group-0'"
    with pytest.warns(UserWarning, match=no_label), pytest.warns(UserWarning, match="too few"):
        fitted = GroupedPPI(features=few.features).fit(*rows_of(few))
    assert list(fitted.unlabeled_groups_) == ["group-0", "group-8"]
    assert len(fitted.summary_) == 8
    assert list(fitted.labels_) == list(few.truth.index)
    row = fitted.estimate().to_frame().loc["group-0", ["value", "low", "high", "standard_error"]]
    assert row.isna().all()
    chain = fit_quietly(GroupedPPI(ChainRulePPI()), *rows_of(few)).estimate().to_frame()
    assert chain.loc["group-0", ["value", "low", "high", "standard_error"]].isna().all()
    assert fitted.features_.notna().all(axis=None)
    eb = fit_quietly(EmpiricalBayes(LinearRegression()), **fitted.summary_.fit_args)
    assert np.isfinite(eb.predict(fitted.features_.loc[fitted.unlabeled_groups_])).all()


def test_one_label_borrows_the_spread_of_the_others(few):
    borrowed = "2 of 10 groups have too few labels .* 'group-1'"
    with pytest.warns(UserWarning, match=borrowed), pytest.warns(UserWarning, match="no human"):
        fitted = GroupedPPI().fit(*rows_of(few))
    estimate = fitted.estimate()
    one = np.flatnonzero(fitted.n_labeled_ == 1)
    assert np.isfinite(estimate.low[one]).all() and np.isfinite(estimate.high[one]).all()
    assert (estimate.standard_error[one] > np.nanmedian(estimate.standard_error[3:8])).all()
    assert estimate.guarantee == "average over groups"
    assert (fitted.summary_.n_independent[fitted.summary_.n == 1] == 1).all()


def test_borrowed_intervals_cover():
    """Normal scores of equal spread: with 2000 labels elsewhere it is as good as known."""
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(500), 100)
    truth = rng.normal(size=500)
    y = truth[groups] + rng.normal(size=len(groups))
    autorater = y + 0.5 * rng.normal(size=len(groups))
    place = np.arange(len(groups)) % 100
    y = np.where(place < np.where(groups < 400, 1, 20), y, np.nan)
    estimate = fit_quietly(GroupedPPI(), autorater, y, groups).estimate()
    hits = ((estimate.low <= truth) & (truth <= estimate.high))[:400]
    low, high = binom.ppf([0.0005, 0.9995], 400, 0.95) / 400
    assert low <= hits.mean() <= high


def test_bad_input(judged, few):
    X, y, groups = rows_of(judged)
    with pytest.raises(ValueError, match="groups is missing: pass the group of each row"):
        GroupedPPI().fit(X, y)
    with pytest.raises(ValueError, match="power must be one of .* got 'tuned'"):
        GroupedPPI(power="tuned").fit(X, y, groups)
    single = y.where(~groups[y.notna()].duplicated().reindex(y.index, fill_value=True))
    with pytest.raises(ValueError, match="No group has two labels"):
        GroupedPPI().fit(X, single, groups)
    with pytest.raises(ValueError, match="None of the .* rows has a human label"):
        GroupedPPI().fit(X, y * np.nan, groups)
    with pytest.raises(ValueError, match="indexes of X and groups differ"):
        GroupedPPI().fit(X, y, groups[::-1])
    with pytest.raises(ValueError, match="autorater scores are infinite"):
        GroupedPPI().fit(X.replace(1, np.inf), y, groups)
    with pytest.raises(ValueError, match=r"strictly between 0 and 1, got 95"):
        GroupedPPI().fit(X, y, groups).estimate(95)
    with pytest.warns(UserWarning, match="power_tuning=False trusts the autorater fully"):
        GroupedPPI(PPIMean(power_tuning=False)).fit(X, y, groups)


# The summary ------------------------------------------------------------------------


def in_summary(fitted, X, y, groups, clusters=None):
    """Which rows the estimates of the summary are made from."""
    data = fitted.estimator_._read(X, y, groups, clusters, None)
    return ~set_aside(data, np.random.default_rng(fitted._seed))


def test_summary_of_the_kept_rows(judged):
    X, y, groups = rows_of(judged)
    fitted = GroupedPPI(random_state=5).fit(X, y, groups)
    kept = in_summary(fitted, X, y, groups)
    f, labels = X["autorater"].to_numpy(float)[kept], y.to_numpy()[kept]
    value, *variances = estimates(f, labels, groups.to_numpy()[kept])
    summary = fitted.summary_
    np.testing.assert_allclose(summary.z, value, rtol=1e-10)
    np.testing.assert_allclose(summary.sigma2, shrunk_variances(*variances), rtol=1e-10)
    np.testing.assert_array_equal(summary.n, y.groupby(groups).count())
    np.testing.assert_array_equal(summary.n_independent, summary.n)
    assert summary.outcome == "continuous"
    means = X["autorater"][~kept].groupby(groups[~kept]).mean()
    np.testing.assert_allclose(summary.X["autorater mean"], means, rtol=1e-12)


def test_classical_summary_knows_nothing_of_the_autorater(judged):
    X, y, groups = rows_of(judged)
    fitted = GroupedPPI(ClassicalMean(), features=judged.features).fit(X, y, groups)
    by_group = y.groupby(groups)
    n = by_group.count().to_numpy()
    np.testing.assert_allclose(fitted.summary_.z, by_group.mean(), rtol=1e-12)
    expected = shrunk_variances(by_group.var().to_numpy(), np.ones(20), 0.0, n)
    np.testing.assert_allclose(fitted.summary_.sigma2, expected, rtol=1e-10)
    assert list(fitted.summary_.X.columns) == ["feature"]
    assert GroupedPPI(ClassicalMean()).fit(X, y, groups).summary_.X is None


def test_rows_set_aside(judged):
    X, y, groups = rows_of(judged)
    fitted = GroupedPPI(random_state=6).fit(X, y, groups)
    kept = in_summary(fitted, X, y, groups)
    assert kept[y.notna()].all()
    free = y.isna()
    n_free, n_kept = free.groupby(groups).sum(), (free & kept).groupby(groups).sum()
    n_labels = y.groupby(groups).count()
    np.testing.assert_array_equal(n_kept, np.minimum(4 * n_labels, n_free // 2))


def test_clusters_are_set_aside_whole():
    data = make_judged_items(8, 120, 12, random_state=7)
    X, y, groups = rows_of(data)
    clusters = np.arange(len(X)) // 4
    fitted = GroupedPPI(random_state=0).fit(X, y, groups, clusters=clusters)
    kept = pd.Series(in_summary(fitted, X, y, groups, clusters))
    assert (kept.groupby(clusters).nunique() == 1).all()
    assert kept[y.notna()].all()
    assert 0 < kept[y.isna()].mean() < 1
    assert fitted.summary_.outcome == "clustered"


def test_errors_of_estimate_and_feature_are_independent():
    """No correlation between what z and what the feature get wrong."""
    data = make_judged_items(3000, 100, 10, sensitivity=0.95, specificity=0.95, random_state=8)
    fitted = GroupedPPI(random_state=8).fit(*rows_of(data))
    truth = data.truth.to_numpy()
    error = fitted.summary_.z - truth
    feature_error = fitted.features_["autorater mean"] - (0.05 + 0.9 * truth)
    assert abs(np.corrcoef(error, feature_error)[0, 1]) < 3.5 / np.sqrt(3000)
    # From the same rows they have nearly half in common.
    shared = fitted.estimate_ - truth
    same_rows = data.items.groupby("group")["autorater"].mean().to_numpy() - (0.05 + 0.9 * truth)
    assert np.corrcoef(shared, same_rows)[0, 1] > 0.2


@pytest.mark.parametrize("accuracy", [0.95, 0.75, 0.5])
def test_variances_are_right_on_average(accuracy):
    n_labeled = np.repeat([2, 10, 40], 1500)
    data = make_judged_items(
        4500, 80, n_labeled, sensitivity=accuracy, specificity=accuracy, random_state=9
    )
    summary = GroupedPPI(random_state=9).fit(*rows_of(data)).summary_
    squares = (summary.z - data.truth.to_numpy()) ** 2
    for n in (2, 10, 40):
        gap, known = (squares - summary.sigma2)[n_labeled == n], summary.sigma2[n_labeled == n]
        assert abs(gap.mean()) < 3.5 * gap.std() / np.sqrt(1500)
        assert abs(gap.mean()) < 0.15 * known.mean()


def test_summary_goes_into_every_estimator(judged):
    summary = GroupedPPI(features=judged.features).fit(*rows_of(judged)).summary_
    for estimator in (EmpiricalBayes(LinearRegression(), random_state=0), DirectEstimator()):
        estimate = fit_quietly(estimator, **summary.fit_args).estimate()
        assert np.isfinite(estimate.low).all() and estimate.labels.equals(summary.labels)


# Features ---------------------------------------------------------------------------


def test_features_are_joined_by_label(judged):
    X, y, groups = rows_of(judged)
    shuffled = judged.features.sample(frac=1, random_state=0)
    fitted = GroupedPPI(features=shuffled).fit(X, y, groups)
    np.testing.assert_array_equal(
        fitted.features_["feature"], judged.features.loc[fitted.labels_, "feature"]
    )
    column = GroupedPPI(features=shuffled.reset_index()).fit(X, y, groups)
    pd.testing.assert_series_equal(column.features_["feature"], fitted.features_["feature"])
    arrays = GroupedPPI(features=judged.features).fit(X.to_numpy(), y, groups.to_numpy())
    assert list(arrays.features_.columns) == ["autorater mean", "feature"]
    with pytest.raises(ValueError, match="no row for group='group-03'"):
        GroupedPPI(features=judged.features.drop("group-03")).fit(X, y, groups)
    twice = judged.features.rename(columns={"feature": "autorater mean"})
    with pytest.raises(ValueError, match="features has a column 'autorater mean'"):
        GroupedPPI(features=twice).fit(X, y, groups).summary_  # noqa: B018


def test_several_autoraters_and_names(judged):
    X, y, groups = rows_of(judged)
    two = X.assign(other=np.random.default_rng(0).random(len(X)))
    assert list(GroupedPPI().fit(two, y, groups).features_) == ["autorater mean", "other mean"]
    unnamed = GroupedPPI().fit(two.to_numpy(float), y, groups)
    assert list(unnamed.features_) == ["autorater 0 mean", "autorater 1 mean"]
    assert list(GroupedPPI().fit(two["other"], y, groups).features_) == ["other mean"]
    assert unnamed.lambda_.shape == (20, 2)


def test_categories_are_told_by_their_shares():
    data = make_judged_items(6, 80, 20, abstention=0.2, random_state=10)
    fitted = GroupedPPI(ChainRulePPI(), random_state=0).fit(*rows_of(data))
    assert list(fitted.features_) == ["autorater = u", "autorater = y"]
    assert fitted.features_["autorater = u"].mean() == pytest.approx(0.2, abs=0.06)


# Symmetry and contract --------------------------------------------------------------


def test_rows_may_come_in_any_order(judged):
    X, y, groups = rows_of(judged)
    order = np.random.default_rng(0).permutation(len(X))
    first = GroupedPPI(random_state=0).fit(X, y, groups)
    second = GroupedPPI(random_state=0).fit(X.iloc[order], y.iloc[order], groups.iloc[order])
    # Sums are taken in another order; one estimate is 0.
    np.testing.assert_allclose(first.estimate_, second.estimate_, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(first.summary_.z, second.summary_.z, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(first.features_, second.features_, rtol=1e-12)


def test_units_of_the_score_do_not_matter(scored):
    X, y, groups = rows_of(scored)
    plain = GroupedPPI(random_state=0).fit(X, y, groups)
    moved = GroupedPPI(random_state=0).fit(10 * X + 2, 10 * y - 4, groups)
    np.testing.assert_allclose(moved._result.value, 10 * plain._result.value - 4, rtol=1e-9)
    np.testing.assert_allclose(moved.lambda_, plain.lambda_, rtol=1e-9)
    # Rows are set aside by their content, so others are; variances go with the square.
    ratio = moved.summary_.sigma2.mean() / plain.summary_.sigma2.mean()
    assert ratio == pytest.approx(100, rel=0.05)


def test_seed_matters_for_the_summary_only(judged):
    rows = rows_of(judged)
    one, other, again = (GroupedPPI(random_state=seed).fit(*rows) for seed in (1, 2, 1))
    np.testing.assert_array_equal(one.summary_.z, again.summary_.z)
    assert (one.summary_.z != other.summary_.z).any()
    np.testing.assert_array_equal(one.estimate_, other.estimate_)


def test_weights_and_clusters_are_passed_on(judged):
    X, y, groups = rows_of(judged)
    equal = GroupedPPI(PPIMean(power_tuning=True), random_state=0).fit(
        X, y, groups, sample_weight=np.full(len(X), 2.0)
    )
    plain = GroupedPPI().fit(X, y, groups)
    np.testing.assert_allclose(equal.estimate_, plain.estimate_, atol=0.02)
    own = GroupedPPI().fit(X, y, groups, clusters=np.arange(len(X)))
    np.testing.assert_allclose(own.estimate_, plain.estimate_, rtol=1e-10)


def test_fitting_again_forgets_the_first_fit(judged, scored):
    fitted = GroupedPPI(random_state=0).fit(*rows_of(judged))
    assert len(fitted.summary_) == 20
    fitted.fit(*rows_of(scored))
    assert len(fitted.summary_) == len(fitted.features_) == 12


def test_inputs_stay_as_they_were_and_estimator_too(judged):
    X, y, groups = rows_of(judged)
    before = X.copy(), y.copy(), groups.copy()
    inner = PPIMean()
    fitted = GroupedPPI(inner, features=judged.features).fit(X, y, groups)
    pd.testing.assert_frame_equal(X, before[0])
    pd.testing.assert_series_equal(y, before[1])
    pd.testing.assert_series_equal(groups, before[2])
    assert inner.power_tuning is True and not hasattr(inner, "estimate_")
    again = clone(fitted).fit(X, y, groups)
    np.testing.assert_array_equal(again.estimate_, fitted.estimate_)
    assert set(fitted.get_params(deep=False)) == {"estimator", "power", "features", "random_state"}


# The bridge to empirical Bayes ------------------------------------------------------

AUTORATERS = {
    "good": {"sensitivity": 0.95, "specificity": 0.95},
    "weak": {"sensitivity": 0.75, "specificity": 0.7},
    "noise": {"sensitivity": 0.5, "specificity": 0.5},
    "drifting": {"drift": 1.0},
    "score": {"score": "continuous"},
}


def bridge(seeds, regressor=LinearRegression, **settings):
    """MSE of PPI++, of EB on it and of EB without it; coverage of EB on it."""
    results = []
    for seed in seeds:
        data = make_judged_items(200, 200, 10, random_state=seed, **settings)
        truth = data.truth.to_numpy()

        def shrunk(estimator, data=data, seed=seed):
            grouped = GroupedPPI(estimator, features=data.features, random_state=seed)
            grouped.fit(*rows_of(data))
            inner = None if regressor is None else regressor()
            eb = EmpiricalBayes(inner, random_state=seed)
            return grouped.estimate_, eb.fit(**grouped.summary_.fit_args).estimate()

        ppi, eb = shrunk(None)
        _, without = shrunk(ClassicalMean())
        errors = [np.mean((value - truth) ** 2) for value in (ppi, eb.value, without.value)]
        results.append([*errors, np.mean((eb.low <= truth) & (truth <= eb.high))])
    return np.mean(results, axis=0)


def test_bridge_to_empirical_bayes():
    ppi, eb, without, coverage = bridge(range(3), **AUTORATERS["good"])
    assert eb < 0.5 * ppi
    assert eb < 0.85 * without
    assert coverage >= 0.93
    _, eb, without, coverage = bridge(range(3), **AUTORATERS["noise"])
    assert eb < 1.05 * without
    assert coverage >= 0.93


def test_a_useless_autorater_leaves_whole_counts():
    """Shares of right answers stay shares where the shared weight is within chance of 0."""
    kept = []
    for seed in range(20):
        data = make_judged_items(100, 60, 10, sensitivity=0.5, specificity=0.5, random_state=seed)
        summary = GroupedPPI(random_state=seed).fit(*rows_of(data)).summary_
        counts = 10 * summary.z
        kept.append(np.allclose(counts, np.round(counts), rtol=0, atol=1e-9))
    # A useless one passes for useful once in 40, and as often with the wrong sign.
    assert sum(kept) >= binom.ppf(1e-3, 20, 0.95)
    good = make_judged_items(100, 60, 10, random_state=0)
    counts = 10 * GroupedPPI(random_state=0).fit(*rows_of(good)).summary_.z
    assert not np.allclose(counts, np.round(counts), rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("intercept", [0.0, 2.0, 4.0])
@pytest.mark.parametrize("autorater", AUTORATERS)
def test_bridge_in_every_cell(autorater, intercept):
    ppi, eb, without, coverage = bridge(range(20), intercept=intercept, **AUTORATERS[autorater])
    print(
        f"\n{autorater}, middle accuracy {expit(intercept):.2f}: MSE x 1e4 {1e4 * eb:.1f}, "
        f"{eb / ppi:.2f} of PPI++ alone, {eb / without:.3f} of EB without; coverage {coverage:.3f}"
    )
    assert eb < 0.5 * ppi
    # Corrected estimates are no counts any more, which at .98 costs 5 % by itself.
    assert eb < (1.10 if intercept == 4 and autorater != "noise" else 1.05) * without
    assert coverage >= 0.93


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_bridge_with_the_default_regressor():
    ppi, eb, without, coverage = bridge(range(2), regressor=None, **AUTORATERS["good"])
    assert eb < 0.5 * ppi
    assert eb < 0.85 * without
    assert coverage >= 0.93
    _, eb, without, coverage = bridge(range(2), regressor=None, **AUTORATERS["noise"])
    assert eb < 1.05 * without
    assert coverage >= 0.93
