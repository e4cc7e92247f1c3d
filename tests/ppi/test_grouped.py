import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from reference.adaptive_shrinkage import adaptive_shrinkage, reviews
from reference.grouped_ppi_loop import (
    estimates,
    feature_without_shared_luck,
    shared_slope,
    shrunk_variances,
)
from reference.ppi_sets import ends
from scipy.special import expit
from scipy.stats import binom
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from skbench import EmpiricalBayes
from skbench.datasets import make_judged_items
from skbench.ppi import ChainRulePPI, ClassicalMean, GroupedPPI, PPIMean, StratifiedPPI


def rows_of(data):
    """Arguments of `fit` from simulated items."""
    return data.items[["autorater"]], data.items["human"], data.items["group"]


@pytest.fixture(scope="module")
def judged():
    """20 groups of different sizes with 4 to 40 labels."""
    rng = np.random.default_rng(0)
    return make_judged_items(
        20, rng.integers(90, 200, 20), rng.integers(4, 40, 20), drift=0.5, random_state=0
    )


@pytest.fixture(scope="module")
def scored():
    """The same groups with a continuous judge."""
    return make_judged_items(12, 150, [30] * 6 + [60] * 6, score="continuous", random_state=1)


# Estimates and intervals ------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "source"),
    [
        (PPIMean(), "judged"),
        (PPIMean(interval="t"), "judged"),
        (PPIMean(), "scored"),
        (PPIMean(interval="z"), "judged"),
        (ClassicalMean(), "judged"),
        (ClassicalMean("t"), "scored"),
        (StratifiedPPI(n_strata=3, power_tuning=True), "scored"),
        (StratifiedPPI(), "scored"),
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
            warnings.simplefilter("ignore")  # a group with equal labels
            alone = clone(estimator).fit(X[rows], y[rows])
        one = alone.estimate(0.9)
        # Sums over single groups and over all groups differ by rounding.
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
    if (
        estimator.get_params().get("interval") != "auto"
    ):  # which has the names of all methods in use
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
    # Only the sampling variance of the answers remains.
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


def test_groups_without_labels_are_listed_and_excluded(few):
    no_label = "2 of 10 .*'group-0'.*summary_"
    with pytest.warns(UserWarning, match=no_label), pytest.warns(UserWarning, match="'group-1'"):
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


def test_one_label_borrows_the_variance_of_other_groups(few):
    borrowed = "2 of 10 .*'group-1'"
    with pytest.warns(UserWarning, match=borrowed), pytest.warns(UserWarning, match="'group-0'"):
        fitted = GroupedPPI().fit(*rows_of(few))
    estimate = fitted.estimate()
    one = np.flatnonzero(fitted.n_labeled_ == 1)
    assert np.isfinite(estimate.low[one]).all() and np.isfinite(estimate.high[one]).all()
    assert (estimate.standard_error[one] > np.nanmedian(estimate.standard_error[3:8])).all()
    assert estimate.guarantee == "average over groups"
    assert (fitted.summary_.n_independent[fitted.summary_.n == 1] == 1).all()


def test_an_estimate_beyond_the_range_keeps_its_width():
    """One positive label with a negative verdict: the mean would be 1.5."""
    autorater = np.tile([0.0, 1.0], 20)
    y = np.r_[np.tile([0.0, 1.0], 5), np.full(10, np.nan), 1.0, np.full(19, np.nan)]
    with pytest.warns(UserWarning, match="'h'"):
        estimate = GroupedPPI().fit(autorater, y, np.repeat(["g", "h"], 20)).estimate()
    assert estimate.value[1] == estimate.high[1] == 1
    assert 1 - estimate.low[1] == pytest.approx(1.96 * estimate.standard_error[1], rel=1e-3)


def test_borrowed_intervals_cover():
    """Normal scores of equal variance, which is almost known from 2000 labels of other groups."""
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


def test_all_rows_may_be_one_group(judged):
    X, y, _ = rows_of(judged)
    together, alone = GroupedPPI(power="per group").fit(X, y), PPIMean().fit(X, y)
    np.testing.assert_allclose(ends(together), ends(alone))
    np.testing.assert_allclose(together.predict(X), alone.predict(X))


def test_bad_input(judged, few):
    X, y, groups = rows_of(judged)
    single = y.where(~groups[y.notna()].duplicated().reindex(y.index, fill_value=True))
    with pytest.raises(ValueError):
        GroupedPPI().fit(X, single, groups)
    with pytest.warns(UserWarning, match="power_tuning=False"):
        GroupedPPI(PPIMean(power_tuning=False)).fit(X, y, groups)


# The summary ------------------------------------------------------------------------


def test_summary_of_all_rows(judged):
    X, y, groups = rows_of(judged)
    fitted = GroupedPPI().fit(X, y, groups)
    rows = X["autorater"].to_numpy(float), y.to_numpy(), groups.to_numpy()
    value, *variances = estimates(*rows)
    summary = fitted.summary_
    np.testing.assert_allclose(summary.z, value, rtol=1e-10)
    np.testing.assert_allclose(summary.sigma2, shrunk_variances(*variances), rtol=1e-10)
    np.testing.assert_array_equal(summary.n, y.groupby(groups).count())
    np.testing.assert_array_equal(summary.n_independent, summary.n)
    assert summary.outcome == "continuous"
    expected = feature_without_shared_luck(*rows)
    np.testing.assert_allclose(summary.X["autorater mean"], expected, rtol=1e-10)


def test_classical_summary_ignores_the_judge(judged):
    X, y, groups = rows_of(judged)
    fitted = GroupedPPI(ClassicalMean(), features=judged.features).fit(X, y, groups)
    by_group = y.groupby(groups)
    n = by_group.count().to_numpy()
    np.testing.assert_allclose(fitted.summary_.z, by_group.mean(), rtol=1e-12)
    expected = shrunk_variances(by_group.var().to_numpy(), np.ones(20), 0.0, n)
    np.testing.assert_allclose(fitted.summary_.sigma2, expected, rtol=1e-10)
    assert list(fitted.summary_.X.columns) == ["feature"]
    assert GroupedPPI(ClassicalMean()).fit(X, y, groups).summary_.X is None


def correlations(data, fitted):
    """Correlation of the errors of estimates with those of the feature and of the mean score."""
    truth, items = data.truth.to_numpy(), data.items
    error = fitted.summary_.z - truth
    feature = fitted.features_["autorater mean"]
    means = items["autorater"].groupby(items["group"]).mean()
    # Errors exclude the part that depends on the true mean.
    residuals = [x - np.poly1d(np.polyfit(truth, x, 1))(truth) for x in (feature, means)]
    return [np.corrcoef(error, residual)[0, 1] for residual in residuals]


@pytest.mark.slow
@pytest.mark.parametrize("accuracy", [0.99, 0.95, 0.8])
def test_errors_of_estimate_and_feature_are_uncorrelated(accuracy):
    data = make_judged_items(
        3000, 100, 10, sensitivity=accuracy, specificity=accuracy, random_state=8
    )
    removed, plain = correlations(data, GroupedPPI().fit(*rows_of(data)))
    assert abs(removed) < 3.5 / np.sqrt(3000)
    assert plain > {0.99: 0.7, 0.95: 0.4, 0.8: 0.15}[accuracy]


@pytest.mark.slow
def test_feature_errors_are_removed_with_clusters():
    """Four copies of each answer; as many independent rows would have half the error."""
    data = make_judged_items(1500, 60, 10, sensitivity=0.95, specificity=0.95, random_state=8)
    copies = data.items.loc[np.repeat(np.arange(len(data.items)), 4)]
    clusters = np.repeat(np.arange(len(data.items)), 4)
    X, y, groups = copies[["autorater"]], copies["human"], copies["group"]
    fitted = GroupedPPI().fit(X, y, groups, cluster=clusters)
    assert fitted.summary_.outcome == "clustered"
    once = GroupedPPI().fit(*rows_of(data))
    # Averages over groups are weighted by the degrees of freedom of Bell and McCaffrey.
    np.testing.assert_allclose(fitted.features_, once.features_, atol=0.03)
    removed, plain = correlations(data, fitted)
    assert abs(removed) < 3.5 / np.sqrt(1500)
    assert plain > 0.4


@pytest.mark.slow
def test_features_of_large_and_small_groups_have_one_slope():
    n_items, n_labeled = np.tile([40, 400], 1500), np.tile([20, 40], 1500)
    data = make_judged_items(
        3000, n_items, n_labeled, sensitivity=0.9, specificity=0.9, random_state=1
    )
    features = GroupedPPI().fit(*rows_of(data)).features_
    truth, gaps = data.truth.to_numpy(), []
    plain = data.items["autorater"].groupby(data.items["group"]).mean()
    for x in (features["autorater mean"].to_numpy(), plain.to_numpy()):
        lines = [np.polyfit(x[kind::2], truth[kind::2], 1, cov=True) for kind in (0, 1)]
        error = np.sqrt(sum(cov[0, 0] for _, cov in lines))
        gaps.append((lines[1][0][0] - lines[0][0][0]) / error)
    assert abs(gaps[0]) < 3.5
    assert gaps[1] > 7  # the error of 40 answers reduces the slope


# Exactly these rows -----------------------------------------------------------------------


@pytest.mark.parametrize("tuned", [False, True])
def test_estimates_of_these_rows_over_all_samples(tuned):
    """All samples of 3 of 7 rows: no bias, and the exact variance for known power."""
    rng = np.random.default_rng(3)
    y, f = rng.normal(size=7), rng.normal(size=7)
    values, variances = [], []
    for chosen in itertools.combinations(range(7), 3):
        labels = np.where(np.isin(np.arange(7), chosen), y, np.nan)
        ppi = fit_quietly(PPIMean(tuned, population="rows"), f, labels)
        plain = fit_quietly(PPIMean(tuned), f, labels)
        assert ppi.estimate_ == plain.estimate_ and ppi.lambda_ == plain.lambda_
        values.append(ppi.estimate_)
        variances.append(ppi.standard_error_**2)
    if not tuned:
        assert np.mean(values) == pytest.approx(y.mean(), abs=1e-12)
        assert np.mean(variances) == pytest.approx(np.var(values), rel=1e-10)


def test_all_rows_labeled_have_no_uncertainty():
    y = np.arange(5.0)
    ppi = fit_quietly(PPIMean(population="rows"), y, y)
    assert ppi.standard_error_ == 0 and ends(ppi) == (2.0, 2.0)
    with pytest.raises(ValueError):
        PPIMean(population="rows").fit(y, y, cluster=np.arange(5) // 2)


def test_labels_needed_for_these_rows():
    rng = np.random.default_rng(0)
    f, y = rng.normal(size=100), rng.normal(size=100)
    labels = np.where(np.arange(100) < 30, y + f, np.nan)
    ppi = PPIMean(population="rows").fit(f, labels)
    low, high = ends(ppi)
    assert ppi.labels_needed(high - low) == 30
    assert 30 < ppi.labels_needed((high - low) / 3) < ppi.labels_needed(1e-9) == 100
    # The mean label of this many of 100 rows has the same standard error.
    variance = np.var(labels[:30], ddof=1) * (1 / ppi.effective_sample_size_ - 1 / 100)
    assert ppi.standard_error_**2 == pytest.approx(variance, rel=1e-9)


def test_summary_of_these_rows(judged):
    X, y, groups = rows_of(judged)
    fitted = GroupedPPI(PPIMean(population="rows")).fit(X, y, groups)
    means = X["autorater"].groupby(groups).mean()
    np.testing.assert_allclose(fitted.summary_.X["autorater mean"], means, rtol=1e-12)
    plain = GroupedPPI().fit(X, y, groups)
    np.testing.assert_array_equal(fitted.summary_.z, plain.summary_.z)
    assert (fitted.summary_.sigma2 < plain.summary_.sigma2).all()


@pytest.mark.slow
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


def mean_of_rows(noise, bias, seeds):
    """Errors relative to adaptive shrinkage, and coverage, for these rows and by default."""
    found = []
    for seed in seeds:
        f, y, codes, truth = reviews(np.random.default_rng(seed), noise, bias)
        row = [np.mean((adaptive_shrinkage(f, y, codes) - truth) ** 2)]
        for estimator in (PPIMean(population="rows"), None):
            grouped = GroupedPPI(estimator).fit(f, y, codes)
            eb = EmpiricalBayes(LinearRegression(), random_state=seed)
            for e in (grouped.estimate(), eb.fit(**grouped.summary_.fit_args).estimate()):
                row += [
                    np.mean((e.value - truth) ** 2),
                    np.mean((e.low <= truth) & (truth <= e.high)),
                ]
        found.append(row)
    other, *own = np.mean(found, axis=0)
    names = ("direct", "direct_covered", "eb", "eb_covered")
    these = dict(zip(names, own[:4], strict=True))
    default = dict(zip(names, own[4:], strict=True))
    print(
        f"\nnoise {noise} bias {bias}: x 1000, adaptive shrinkage {1e3 * other:.2f}; these rows "
        f"{1e3 * these['eb']:.2f}, covered {these['eb_covered']:.3f}, without shrinkage "
        f"{1e3 * these['direct']:.2f}, {these['direct_covered']:.3f}; by default "
        f"{1e3 * default['eb']:.2f}, {default['eb_covered']:.3f}"
    )
    return other, these, default


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "bias"), [(0.3, 0.1), (0.6, 0.1), (0.6, 0.03), (1.0, 0.3), (1.0, 0.1)]
)
def test_mean_of_these_rows(noise, bias):
    other, these, default = mean_of_rows(noise, bias, range(12))
    assert these["eb"] < 0.8 * other
    assert default["eb"] < other
    assert 0.925 < these["eb_covered"] < 0.975
    # Few labels per group, so each end adds one label at its bound.
    assert 0.925 < these["direct_covered"] < 0.999


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
    with pytest.raises(ValueError):
        GroupedPPI(features=judged.features.drop("group-03")).fit(X, y, groups)
    twice = judged.features.rename(columns={"feature": "autorater mean"})
    with pytest.raises(ValueError):
        GroupedPPI(features=twice).fit(X, y, groups).summary_  # noqa: B018


def test_several_autoraters_and_names(judged):
    X, y, groups = rows_of(judged)
    two = X.assign(other=np.random.default_rng(0).random(len(X)))
    assert list(GroupedPPI().fit(two, y, groups).features_) == ["autorater mean", "other mean"]
    unnamed = GroupedPPI().fit(two.to_numpy(float), y, groups)
    assert list(unnamed.features_) == ["autorater 0 mean", "autorater 1 mean"]
    assert list(GroupedPPI().fit(two["other"], y, groups).features_) == ["other mean"]
    assert unnamed.lambda_.shape == (20, 2)


def test_categories_become_proportions():
    data = make_judged_items(6, 80, 20, abstention=0.2, random_state=10)
    fitted = GroupedPPI(ChainRulePPI(), random_state=0).fit(*rows_of(data))
    assert list(fitted.features_) == ["autorater = u", "autorater = y"]
    assert fitted.features_["autorater = u"].mean() == pytest.approx(0.2, abs=0.06)


# Symmetry and contract --------------------------------------------------------------


def test_seed_goes_to_the_estimator(judged):
    rows = rows_of(judged)
    drawn = ChainRulePPI("draws", n_draws=50)
    one, other, again = (GroupedPPI(drawn, random_state=seed).fit(*rows) for seed in (1, 2, 1))
    np.testing.assert_array_equal(one.estimate_, again.estimate_)
    assert (one.estimate_ != other.estimate_).any()
    own = clone(drawn).set_params(random_state=2)
    kept = GroupedPPI(own, random_state=1).fit(*rows)
    np.testing.assert_array_equal(kept.estimate_, other.estimate_)


def test_weights_and_clusters_are_passed_on(judged):
    X, y, groups = rows_of(judged)
    equal = GroupedPPI(PPIMean(power_tuning=True), random_state=0).fit(
        X, y, groups, sample_weight=np.full(len(X), 2.0)
    )
    plain = GroupedPPI().fit(X, y, groups)
    np.testing.assert_allclose(equal.estimate_, plain.estimate_, atol=0.02)
    own = GroupedPPI().fit(X, y, groups, cluster=np.arange(len(X)))
    np.testing.assert_allclose(own.estimate_, plain.estimate_, rtol=1e-10)


def test_fitting_again_forgets_the_first_fit(judged, scored):
    fitted = GroupedPPI(random_state=0).fit(*rows_of(judged))
    assert len(fitted.summary_) == 20
    fitted.fit(*rows_of(scored))
    assert len(fitted.summary_) == len(fitted.features_) == 12


# The bridge to empirical Bayes ------------------------------------------------------

AUTORATERS = {
    "good": {"sensitivity": 0.95, "specificity": 0.95},
    "weak": {"sensitivity": 0.75, "specificity": 0.7},
    "noise": {"sensitivity": 0.5, "specificity": 0.5},
    "drifting": {"drift": 1.0},
    "score": {"score": "continuous"},
}


def bridge(seeds, regressor=LinearRegression, **settings):
    """MSE of PPI++, of EB with it and of EB without it; coverage of EB with it."""
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


def test_a_useless_autorater_leaves_whole_counts():
    """Proportions remain proportions if the shared weight is not significant."""
    kept = []
    for seed in range(20):
        data = make_judged_items(100, 60, 10, sensitivity=0.5, specificity=0.5, random_state=seed)
        summary = GroupedPPI(random_state=seed).fit(*rows_of(data)).summary_
        counts = 10 * summary.z
        kept.append(np.allclose(counts, np.round(counts), rtol=0, atol=1e-9))
    # A useless judge is significant once in 40 times, and as often with the wrong sign.
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
    # Corrected estimates are not counts, which alone costs 5% at .98.
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


@pytest.mark.parametrize("estimator", [ClassicalMean(), PPIMean()])
def test_equal_labels_borrow_variance(estimator):
    rng = np.random.default_rng(0)
    n_groups, n = 40, 10
    y = np.where(rng.random((n_groups, n)) < 0.9, 1.0, rng.choice([0, 0.5], (n_groups, n)))
    y[:3] = 1.0
    y *= 7.3  # not a common scale, so without bounds
    judge, groups = y + 0.1 * rng.normal(size=y.shape), np.repeat(np.arange(n_groups), n)
    grouped = GroupedPPI(estimator, power="per group")
    with pytest.warns(UserWarning, match=r"of 40 groups .*\b0\b"):
        e = grouped.fit(judge.ravel()[:, None], y.ravel(), groups).estimate()
    assert (e.high > e.low).all() and (e.standard_error > 0).all()
    assert (e.low[:3] < 0.93 * 7.3).all() and e.guarantee == "each group, unless skewed"
    with pytest.warns(UserWarning):
        alone = estimator.fit(judge[0][:, None], y[0] * 0.5)
    assert np.isnan(ends(alone)).all()  # without variance and bounds the interval is unknown


def test_scores_cut_into_bins_are_a_feature_by_their_mean():
    judged = make_judged_items(6, 60, 20, score="continuous", random_state=0)
    with pytest.warns(UserWarning, match="bins_"):
        fitted = GroupedPPI(ChainRulePPI()).fit(*rows_of(judged))
    assert list(fitted.features_) == list(fitted.summary_.X) == ["autorater mean"]
