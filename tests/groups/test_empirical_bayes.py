import warnings

import numpy as np
import pandas as pd
import pytest
from reference.cva_slow import noncoverage_slow
from scipy.stats import binom, norm
from skbench.stats.binomial import sampling_variance
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold

from skbench import (
    CrossFitKFold,
    DirectEstimator,
    EmpiricalBayes,
    FayHerriot,
    Sampling,
    SyntheticRegression,
    make_items,
    summarize_items,
)
from skbench.groups.empirical_bayes import PRIOR_VARIANCES
from skbench.stats import shrinkage
from skbench.stats.shrinkage import robust_eb


def simulated(n_groups=300, prior=None, seed=0):
    """Normal groups around a line; `prior` draws the deviations from it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_groups, 1))
    sigma2 = rng.uniform(0.5, 2, n_groups) * 0.01
    deviation = rng.normal(0, 0.1, n_groups) if prior is None else prior(rng, n_groups)
    truth = 0.2 + 0.5 * X[:, 0] + deviation
    return X, truth + np.sqrt(sigma2) * rng.normal(size=n_groups), sigma2, truth


@pytest.mark.parametrize("method", PRIOR_VARIANCES)
def test_prior_variance_comes_from_held_out_residuals(method):
    X, z, sigma2, _ = simulated(100)
    eb = EmpiricalBayes(LinearRegression(), cv=KFold(2), prior_variance=method)
    eb.fit(X, z, sigma2)
    residuals, correction = z - eb.prior_mean_, PRIOR_VARIANCES[method][0]
    parts = [slice(0, 50), slice(50, 100)] if method == "moments" else [slice(None)]
    moments = [
        robust_eb.prior_moments(residuals[part], sigma2[part], correction=correction)
        for part in parts
    ]
    np.testing.assert_allclose(eb.prior_variance_, np.mean([m.prior_variance for m in moments]))
    np.testing.assert_allclose(eb.kurtosis_, np.mean([m.kurtosis for m in moments]))


def test_estimates_are_averages_over_splits():
    X, z, sigma2, _ = simulated(60)
    eb = EmpiricalBayes(LinearRegression(), random_state=0).fit(X, z, sigma2)
    assert eb._prior_means.shape == (8, 60)
    by_split = [
        shrinkage.posterior_mean(z, f, sigma2, A)
        for f, A in zip(eb._prior_means, eb._prior_variances, strict=True)
    ]
    np.testing.assert_allclose(eb.estimate().value, np.mean(by_split, axis=0))


def test_intervals_are_those_of_stats():
    X, z, sigma2, _ = simulated(60)
    cv = KFold(2)
    for kind in ("robust", "parametric"):
        eb = EmpiricalBayes(LinearRegression(), cv=cv, interval=kind).fit(X, z, sigma2)
        estimate = eb.estimate(0.9)
        A, kurtosis = eb.prior_variance_, eb.kurtosis_
        if kind == "robust":
            half = robust_eb.robust_half_width(A, sigma2, kurtosis, 0.9)
        else:
            # Values that A may have, by the quantiles of a normal distribution that is cut at 0.
            error = np.sqrt(2 / np.sum((A + sigma2) ** -2.0))
            share = norm.cdf(-A / error)
            values = norm.ppf(share + (1 - share) * (np.arange(32) + 0.5) / 32, A, error)
            w = values[:, None] / (values[:, None] + sigma2)
            variance = np.mean(w, axis=0) * sigma2 + np.var(w, axis=0) * (z - eb.prior_mean_) ** 2
            known = A * sigma2 / (A + sigma2)
            half = norm.ppf(0.95) * np.sqrt(np.maximum(variance, known))
        np.testing.assert_allclose(estimate.high - estimate.value, half)
        np.testing.assert_allclose(estimate.standard_error, np.sqrt(A * sigma2 / (A + sigma2)))


def test_known_kurtosis_is_used():
    X, z, sigma2, _ = simulated(60)
    widths = []
    for kurtosis in (1.0, 3.0, np.inf):
        eb = EmpiricalBayes(LinearRegression(), cv=KFold(2), kurtosis=kurtosis)
        estimate = eb.fit(X, z, sigma2).estimate()
        widths.append(np.mean(estimate.high - estimate.low))
    assert widths[0] < widths[1] < widths[2]


def test_length_optimal_is_not_longer():
    X, z, sigma2, _ = simulated(100)
    robust, best = (
        EmpiricalBayes(LinearRegression(), cv=KFold(2), interval=kind).fit(X, z, sigma2).estimate()
        for kind in ("robust", "length-optimal")
    )
    assert np.mean(best.high - best.low) < np.mean(robust.high - robust.low)
    np.testing.assert_array_equal(best.value, robust.value)


def test_perfect_regression_shrinks_all_the_way_and_none_not_at_all():
    X, z, sigma2, _truth = simulated(400, prior=lambda rng, n: np.zeros(n))
    eb = EmpiricalBayes(LinearRegression(), random_state=0).fit(X, z, sigma2)
    assert eb.shrinkage_factor_.max() < 0.15
    wild = EmpiricalBayes(DummyRegressor(), random_state=0).fit(X, 1000 * z, sigma2)
    np.testing.assert_allclose(wild.estimate().value, 1000 * z, atol=0.01)


def test_more_precise_than_both_parts():
    X, z, sigma2, truth = simulated(400)
    eb = EmpiricalBayes(LinearRegression(), random_state=0).fit(X, z, sigma2)
    error = np.mean((eb.estimate().value - truth) ** 2)
    assert error < 0.75 * np.mean((z - truth) ** 2)
    assert error < 0.75 * np.mean((eb.prior_mean_ - truth) ** 2)


PRIORS = {
    "normal": None,
    "two points": lambda rng, n: rng.choice([-0.1, 0.1], n),
    "few far away": lambda rng, n: np.where(rng.uniform(size=n) < 0.1, rng.normal(0, 0.3, n), 0),
    "skewed": lambda rng, n: 0.1 * (rng.exponential(size=n) - 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS.keys())
@pytest.mark.parametrize("interval", ["robust", "length-optimal"])
@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_robust_intervals_cover_on_average_whatever_the_prior(prior, interval, scale):
    X, z, sigma2, truth = simulated(4000, prior)
    eb = EmpiricalBayes(LinearRegression(), cv=2, interval=interval, random_state=0)
    estimate = eb.fit(X, scale * z, scale**2 * sigma2).estimate()
    hits = (estimate.low <= scale * truth) & (scale * truth <= estimate.high)
    assert hits.mean() >= binom.ppf(0.0005, 4000, 0.95) / 4000
    assert estimate.guarantee == "average over groups"
    direct = 2 * norm.ppf(0.975) * scale * np.sqrt(sigma2)
    assert np.mean(estimate.high - estimate.low) < 1.02 * np.mean(direct)


def test_parametric_intervals_cover_under_a_normal_prior():
    X, z, sigma2, truth = simulated(4000)
    eb = EmpiricalBayes(LinearRegression(), cv=2, interval="parametric", random_state=0)
    estimate = eb.fit(X, z, sigma2).estimate()
    hits = (estimate.low <= truth) & (truth <= estimate.high)
    low, high = binom.ppf([0.0005, 0.9995], 4000, 0.95) / 4000
    assert low <= hits.mean() <= high
    assert estimate.guarantee == "model"


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [
        EmpiricalBayes(LinearRegression(), interval="parametric", random_state=0),
        SyntheticRegression(LinearRegression(), random_state=0),
        FayHerriot(),
    ],
)
@pytest.mark.filterwarnings("ignore:The prior variance")
def test_few_topics_are_covered_though_their_spread_is_guessed(estimator):
    """Twelve topics of four models; a prior variance from twelve is not to be believed."""
    hits = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        topic = np.arange(48) % 12
        truth = rng.normal(0, 0.05, 12)[topic] + rng.normal(0, 0.02, 48)
        z = truth + 0.1 * rng.normal(size=48)
        e = estimator.fit(np.ones((48, 1)), z, np.full(48, 0.01), groups=topic).estimate()
        hits.append(np.mean((e.low <= truth) & (truth <= e.high)))
    print(type(estimator).__name__, np.mean(hits))
    assert np.mean(hits) >= 0.93


def binary_groups(n, span, seed=0):
    """3000 groups of n answers each, accuracies uniform over a span."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(*span, 3000)
    X = (truth + rng.normal(0, 0.1, 3000))[:, None]
    k = rng.binomial(n, truth)
    p = (k + 1) / (n + 2)
    return (X, k / n, p * (1 - p) / n, np.broadcast_to(n, 3000)), truth


def binary_coverage(n, span):
    arguments, truth = binary_groups(n, span)
    eb = EmpiricalBayes(LinearRegression(), cv=2, random_state=0).fit(*arguments)
    estimate = eb.estimate()
    assert estimate.low.min() >= 0
    assert estimate.high.max() <= 1
    assert np.mean((estimate.value - truth) ** 2) < np.mean((arguments[1] - truth) ** 2)
    return np.mean((estimate.low <= truth) & (truth <= estimate.high))


@pytest.mark.parametrize("n", [2, 5, 20])
@pytest.mark.parametrize("span", [(0.01, 0.99), (0.9, 0.99), (0.01, 0.1)])
def test_binary_groups_are_covered_on_average(n, span):
    assert binary_coverage(n, span) >= binom.ppf(0.0005, 3000, 0.95) / 3000


def test_groups_of_one_item_are_covered_if_others_have_more():
    n = np.where(np.arange(3000) % 2, 1, 5)
    coverage = binary_coverage(n, (0.01, 0.99))
    assert coverage >= binom.ppf(0.0005, 3000, 0.95) / 3000


def test_one_binary_item_per_group_is_not_enough():
    arguments, _ = binary_groups(1, (0.1, 0.9))
    with pytest.raises(ValueError, match="n >= 2"):
        EmpiricalBayes(LinearRegression()).fit(*arguments)


def test_names_of_columns_decide_nothing():
    names = ["system", "subject"]
    data = make_items(n_models=5, n_topics=12, n_items=10, random_state=0)
    g = summarize_items(data.items, ["model", "topic"], features=data.features)
    X = g.X.set_axis([*names, *g.X.columns[2:]], axis=1)
    for estimator in (EmpiricalBayes("ridge", random_state=0), FayHerriot()):
        expected = estimator.fit(**g.fit_args).estimate()
        renamed = estimator.fit(**g.fit_args | {"X": X}).estimate()
        np.testing.assert_array_equal(renamed.low, expected.low)
        alone = g.fit_args | {"X": X, "sampling": None, "groups": None}
        with pytest.warns(UserWarning, match=f"{names[1]!r} of X.*groups="):
            estimator.fit(**alone)
        with pytest.warns(UserWarning, match="groups.*items_shared"):
            estimator.fit(**alone | {"sampling": g.sampling})


def test_variances_that_contradict_the_counts_are_warned_of():
    data = make_items(n_models=5, n_topics=12, n_items=10, random_state=0)
    for variance in ("smoothed", "plug-in", "pooled", "agresti", "model"):
        g = summarize_items(data.items, ["model", "topic"], variance=variance)
        with warnings.catch_warnings():
            warnings.filterwarnings("error", ".*sigma2")
            DirectEstimator().fit(**g.fit_args)
        with pytest.warns(UserWarning, match="sigma2"):
            DirectEstimator().fit(**g.fit_args | {"sigma2": 9 * g.sigma2})


def test_as_published_by_hand():
    """Trees tuned by task, one split of the groups themselves, equation (7) in each fold."""
    data = make_items(n_models=3, n_topics=8, n_items=20, random_state=0)
    g = summarize_items(data.items, ["model", "topic"], variance="plug-in", features=data.features)
    eb = EmpiricalBayes.as_published().fit(**g.fit_args)
    halves = np.asarray(eb.groups_), []
    value = np.empty(len(g.z))
    for train, test in eb.cv.split(g.X, g.z):
        halves[1].append(set(halves[0][train]) & set(halves[0][test]))
        f = clone(eb.regressor).fit(g.X.iloc[train], g.z[train]).predict(g.X.iloc[test])
        A = max(0, np.mean((g.z[test] - f) ** 2 - g.sigma2[test]))
        value[test] = f + A / (A + g.sigma2[test]) * (g.z[test] - f)
    assert all(halves[1])  # topics stand on both sides, as the paper has it
    np.testing.assert_allclose(eb.estimate().value, np.clip(value, 0, 1), atol=1e-6)
    assert repr(SyntheticRegression.as_published().regressor) == repr(eb.regressor)
    # So each topic has an intercept (A.1), which topics that are held out whole could not use.
    for other, n_columns in ((eb.set_params(regressor=Ridge()), 12), (EmpiricalBayes(Ridge()), 4)):
        assert other.fit(**g.fit_args).regressor_[-1].coef_.shape == (n_columns,)


@pytest.mark.slow
def test_shared_items_need_folds_by_topic():
    """Random folds learn the noise that models share: intervals cover too little."""
    coverage = {"topic": [], "random": []}
    for seed in range(4):
        data = make_items(n_models=8, n_topics=40, n_items=10, item_std=2.0, random_state=seed)
        g = summarize_items(data.items, ["model", "topic"])
        assert g.groups is not None
        X = pd.get_dummies(g.X, dtype=float)  # topics included, as a user might
        truth = np.asarray(data.truth.loc[g.labels]).ravel()
        for folds, groups in (("topic", g.groups), ("random", None)):
            eb = EmpiricalBayes(Ridge(0.1), random_state=seed)
            estimate = eb.fit(X, g.z, g.sigma2, groups=groups).estimate()
            coverage[folds].append(np.mean((estimate.low <= truth) & (truth <= estimate.high)))
    assert np.mean(coverage["topic"]) >= 0.92  # 160 topics in all, errors shared within each
    assert np.mean(coverage["random"]) < np.mean(coverage["topic"]) - 0.05


def test_new_groups_use_the_learned_prior():
    X, z, sigma2, _truth = simulated(2000)
    eb = EmpiricalBayes(LinearRegression(), random_state=0).fit(X, z, sigma2)
    new_X, new_z, new_sigma2, new_truth = simulated(2000, seed=1)
    prior = eb.predict(new_X)
    np.testing.assert_allclose(prior, eb.regressor_.predict(new_X))
    posterior = eb.predict(new_X, z=new_z, sigma2=new_sigma2)
    w = eb.prior_variance_ / (eb.prior_variance_ + new_sigma2)
    np.testing.assert_allclose(posterior, prior + w * (new_z - prior))
    for arguments in ({}, {"z": new_z, "sigma2": new_sigma2}):
        low, high = eb.predict_interval(new_X, **arguments).T
        hits = (low <= new_truth) & (new_truth <= high)
        assert hits.mean() >= binom.ppf(0.0005, 2000, 0.95) / 2000
    assert hits.mean() < 0.98  # with z; without, any prior of this kurtosis is allowed for
    assert eb.predict_interval(new_X[:1], z=[5.0], sigma2=[0.0]).tolist() == [[5.0, 5.0]]


def test_one_group_cannot_be_shrunk():
    with pytest.raises(ValueError, match="2 .*n_samples = 1"):
        EmpiricalBayes(Ridge()).fit([[1.0]], [0.5], 0.01)


def test_warns_of_plug_in_variance_of_perfect_groups():
    X = np.arange(10.0)[:, None]
    z = np.array([1, 1, 0.5, 0.4, 0.6, 0.3, 0.7, 0, 0.2, 0.9])
    with pytest.warns(UserWarning, match="3 of 10 .*sigma2 = 0"):
        eb = EmpiricalBayes(Ridge(), random_state=0).fit(X, z, z * (1 - z) / 10)
    estimate = eb.estimate()
    np.testing.assert_allclose(estimate.value[[0, 1, 7]], [1, 1, 0])
    np.testing.assert_allclose(estimate.low[[0, 1, 7]], [1, 1, 0])


def test_warns_of_zero_prior_variance():
    z = np.array([0.5, 0.51, 0.49, 0.5, 0.52, 0.48])
    with pytest.warns(UserWarning, match="prior_variance='moments'.* 0"):
        eb = EmpiricalBayes(Ridge(), prior_variance="moments", random_state=0).fit(
            np.arange(6.0)[:, None], z, 1.0
        )
    assert eb.prior_variance_ == 0
    default = EmpiricalBayes(Ridge(), random_state=0).fit(np.arange(6.0)[:, None], z, 1.0)
    assert default.prior_variance_ > 0
    assert (default.estimate().low < default.estimate().high).all()


def test_folds_without_variance_do_not_hide_the_intervals_of_new_groups():
    rng = np.random.default_rng(4)
    X, z = np.zeros((20, 1)), np.r_[np.full(10, 5.0), rng.normal(5.0, 0.1, 10)]
    z[:10] += rng.normal(0, 3, 10) - 0.5
    eb = EmpiricalBayes(DummyRegressor(), cv=KFold(2), prior_variance="moments")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        eb.fit(X, z, 1.0)
    assert 0 in eb._prior_variances and eb.prior_variance_ > 0
    assert np.isfinite(eb.predict_interval(X, z=z, sigma2=np.ones(20))).all()


@pytest.mark.parametrize("cv", [CrossFitKFold(), KFold(2, shuffle=True)])
def test_seed_reaches_open_splitters(cv):
    X, z, sigma2, _ = simulated(40)
    one, two = (EmpiricalBayes(Ridge(), cv=cv, random_state=0).fit(X, z, sigma2) for _ in "ab")
    np.testing.assert_array_equal(one.prior_mean_, two.prior_mean_)
    assert cv.random_state is None


def test_warns_of_equal_direct_estimates():
    X = np.arange(6.0)[:, None]
    with pytest.warns(UserWarning, match="6 direct estimates"):
        eb = EmpiricalBayes(Ridge(), random_state=0).fit(X, np.full(6, 0.5), 0.01)
    np.testing.assert_allclose(eb.estimate().value, 0.5)


def test_default_regressor_learns_and_shrinks():
    X, z, sigma2, truth = simulated(150)
    value = EmpiricalBayes(random_state=0).fit(X, z, sigma2).estimate().value
    error = np.mean((value - truth) ** 2)
    assert error < 0.8 * np.mean((z - truth) ** 2)


@pytest.mark.slow
def test_real_groups_beat_the_direct_estimator(data_folder):
    """MMLU-Pro, items drawn without replacement, ten models on the same items."""
    wide = pd.read_csv(data_folder / "mmlu_pro_dev.csv.gz").rename(columns={"question_id": "item"})
    models = wide.columns[wide.columns.get_loc("lsa15") + 1 :]
    features = [c for c in wide.columns if c.startswith("lsa")]
    truth = (
        wide.melt(["src", "item"], models, "model", "score")
        .groupby(["model", "src"])["score"]
        .mean()
    )
    ratios, coverages, widths = [], [], []
    for seed in range(4):
        drawn = wide.groupby("src").sample(frac=0.2, random_state=seed)
        items = drawn.melt(["src", "item", *features], models, "model", "score")
        g = summarize_items(items, ["model", "src"], features=features)
        mu = truth.loc[g.labels].to_numpy()
        direct = DirectEstimator().fit(**g.fit_args).estimate()
        eb = EmpiricalBayes(random_state=seed).fit(**g.fit_args).estimate()
        ratios.append(np.mean((eb.value - mu) ** 2) / np.mean((direct.value - mu) ** 2))
        coverages.append(np.mean((eb.low <= mu) & (mu <= eb.high)))
        widths.append(np.mean(eb.high - eb.low) / np.mean(direct.high - direct.low))
    assert max(ratios) < 1
    assert np.mean(ratios) < 0.65
    assert np.mean(coverages) >= 0.94
    assert np.mean(widths) <= 0.9


def test_fplib_gives_intervals_where_residuals_are_nearly_equal():
    rng = np.random.default_rng(0)
    z = 0.5 + 1e-4 * rng.normal(size=20)
    eb = EmpiricalBayes(Ridge(), prior_variance="fplib", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # that the prior variance is 0, or a root of less
        estimate = eb.fit(rng.normal(size=(20, 1)), z, 1.0).estimate()
    assert (estimate.standard_error > 0).all()
    assert (estimate.low < estimate.high).all()


@pytest.mark.parametrize(
    "eb",
    [
        EmpiricalBayes(Ridge(), prior_variance="moments"),
        EmpiricalBayes.as_published().set_params(regressor=Ridge()),
    ],
    ids=["moments", "as_published"],
)
def test_equations_two_to_ten_to_the_letter(eb):
    """Both halves in numpy; the half-widths miss .05 in the worst case, found by brute force."""
    X, z, sigma2, _ = simulated(24, seed=5)
    halves = KFold(2, shuffle=True, random_state=0)
    estimate = eb.set_params(cv=halves).fit(X, z, sigma2).estimate()
    half_width, kurtoses = (estimate.high - estimate.low) / 2, []
    np.testing.assert_allclose(estimate.low + half_width, estimate.value)
    for train, test in halves.split(X):
        mean, center, s2 = X[train].mean(axis=0), z[train].mean(), sigma2[test]
        design = X[train] - mean
        coef = np.linalg.solve(design.T @ design + np.eye(1), design.T @ (z[train] - center))
        f = center + (X[test] - mean) @ coef
        e = z[test] - f
        A = max(np.mean(e**2 - s2), 0)
        kurtoses.append(max(np.mean(e**4 - 6 * s2 * e**2 + 3 * s2**2) / A**2, 1))
        value = s2 / (s2 + A) * f + A / (s2 + A) * z[test]
        np.testing.assert_allclose(estimate.value[test], value, rtol=1e-12)
        critical = half_width[test] / (A / (s2 + A) * np.sqrt(s2))
        pairs = np.column_stack([critical, s2 / A])
        missed = [noncoverage_slow(*pair, kurtoses[-1]) for pair in pairs]
        np.testing.assert_allclose(missed, 0.05, rtol=1e-8)
    assert min(kurtoses) > 1


def test_equation_nine_without_spread_has_no_width():
    X, z = np.zeros((20, 1)), np.tile([0.5, 0.6], 10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        eb = EmpiricalBayes(LinearRegression(), cv=2, prior_variance="none", random_state=0)
        estimate = eb.fit(X, z, 0.05).estimate()
    assert eb.prior_variance_ == 0
    np.testing.assert_allclose(estimate.high - estimate.low, 0, atol=1e-12)


def test_topics_may_be_called_by_words_and_numbers():
    X, z, sigma2, _ = simulated(40)
    topic = np.arange(40) // 4
    named = np.where(topic % 2, topic.astype(str).astype(object), topic.astype(object))
    for options in ({}, {"cv": GroupKFold(5)}, {"interval": "fab"}):
        eb = EmpiricalBayes(Ridge(), random_state=0, **options)
        found = [eb.fit(X, z, sigma2, groups=names).estimate().low for names in (named, [*named])]
        np.testing.assert_array_equal(*found)
    # The number 1 and the text "1" are two topics, in a list too.
    eb.fit(X, z, sigma2, groups=[name for i in range(20) for name in (i, str(i))])
    assert pd.Series(eb.groups_).nunique() == 40


def test_warns_of_estimates_worse_than_direct_ones():
    rng = np.random.default_rng(0)
    p = np.where(np.arange(80) % 10 == 3, 0.3, 0.995)
    k = rng.binomial(10, p)
    smoothed = (k + 1) / 12
    X = pd.DataFrame({"topic": np.arange(80) % 20, "model": np.arange(80) // 20}).astype(str)
    data = {"X": X, "sigma2": smoothed * (1 - smoothed) / 10, "n": np.full(80, 10)}
    eb = EmpiricalBayes(Ridge(), random_state=0)
    options = {"groups": X["topic"], "sampling": Sampling("binomial", items_shared=True)}
    with pytest.warns(UserWarning, match="squared error.*MixedModel"):
        eb.fit(y=k / 10, **data, **options).estimate()
    ordinary = rng.binomial(10, rng.uniform(0.5, 0.9, 80)) / 10
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data["sigma2"] = sampling_variance(10 * ordinary, 10)
        eb.fit(y=ordinary, **data, **options).estimate()
