import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, norm
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    FayHerriot,
    Sampling,
    SyntheticRegression,
    make_items,
    summarize_items,
)
from skbench.groups.empirical_bayes import PRIOR_VARIANCES
from skbench.stats import scales, shrinkage
from skbench.stats.shrinkage import robust_eb


def simulated(n_groups=300, prior=None, seed=0):
    """Normal groups around a line; `prior` draws the deviations from it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_groups, 1))
    sigma2 = rng.uniform(0.5, 2, n_groups) * 0.01
    deviation = rng.normal(0, 0.1, n_groups) if prior is None else prior(rng, n_groups)
    truth = 0.2 + 0.5 * X[:, 0] + deviation
    return X, truth + np.sqrt(sigma2) * rng.normal(size=n_groups), sigma2, truth


def two_fold_by_hand(X, z, sigma2, cv):
    """Steps (2) to (5) of Fogliato et al., section 4.2, one after the other."""
    value = np.empty(len(z))
    for train, test in cv.split(X):
        f = LinearRegression().fit(X[train], z[train]).predict(X[test])
        A = max(0, np.mean((z[test] - f) ** 2 - sigma2[test]))
        value[test] = f + A / (A + sigma2[test]) * (z[test] - f)
    return value


def test_reproduces_the_steps_of_the_paper():
    X, z, sigma2, _ = simulated()
    eb = EmpiricalBayes(LinearRegression(), cv=KFold(2), prior_variance="moments", pool=False)
    np.testing.assert_allclose(
        eb.fit_predict(X, z, sigma2), two_fold_by_hand(X, z, sigma2, KFold(2))
    )


@pytest.mark.parametrize("method", PRIOR_VARIANCES)
@pytest.mark.parametrize("pool", [True, False])
def test_prior_variance_comes_from_held_out_residuals(method, pool):
    X, z, sigma2, _ = simulated(100)
    eb = EmpiricalBayes(LinearRegression(), cv=KFold(2), prior_variance=method, pool=pool)
    eb.fit(X, z, sigma2)
    residuals = z - eb.prior_mean_
    halves = [slice(0, 50), slice(50, 100)]
    expected = []
    for part in halves if not pool else [slice(None)]:
        if method in ("pmt", "fplib", "none"):
            moments = robust_eb.prior_moments(residuals[part], sigma2[part], correction=method)
            expected.append(moments.prior_variance)
        else:
            expected.append(shrinkage.prior_variance(residuals[part], sigma2[part], method))
    np.testing.assert_allclose(eb.prior_variance_, np.mean(expected))


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
            # Values that A may have, by the quantiles of a normal law that is cut at 0.
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
    with pytest.raises(ValueError, match="kurtosis must be 'estimate' or a number of at least 1"):
        EmpiricalBayes(kurtosis=0.5).fit(X, z, sigma2)


def test_length_optimal_is_not_longer():
    X, z, sigma2, _ = simulated(100)
    robust, best = (
        EmpiricalBayes(LinearRegression(), cv=KFold(2), interval=kind).fit(X, z, sigma2).estimate()
        for kind in ("robust", "length-optimal")
    )
    assert np.mean(best.high - best.low) < np.mean(robust.high - robust.low)
    np.testing.assert_array_equal(best.value, robust.value)


@pytest.mark.parametrize("method", ["pmt", "fplib", "reml"])
def test_proportional_spread_shrinks_t_statistics(method):
    X, z, sigma2, _ = simulated(100)
    options = {"cv": KFold(2), "prior_variance": method}
    eb = EmpiricalBayes(LinearRegression(), spread="proportional", **options).fit(X, z, sigma2)
    sigma = np.sqrt(sigma2)
    # The same regression, then shrinkage of t statistics of variance 1 towards 0.
    t = (z - eb.prior_mean_) / sigma
    on_t = EmpiricalBayes(DummyRegressor(strategy="constant", constant=0.0), **options)
    t_estimate = on_t.fit(np.zeros((100, 1)), t, 1.0).estimate()
    estimate = eb.estimate()
    np.testing.assert_allclose(estimate.value, eb.prior_mean_ + sigma * t_estimate.value)
    np.testing.assert_allclose(estimate.high, eb.prior_mean_ + sigma * t_estimate.high)
    assert np.ptp(eb.shrinkage_factor_) < 1e-12
    assert np.isnan(eb.predict_interval(X)).all()
    again = eb.predict(X[:3], z=z[:3], sigma2=sigma2[:3])
    w = eb.prior_variance_ / (1 + eb.prior_variance_)
    np.testing.assert_allclose(again, (1 - w) * eb.predict(X[:3]) + w * z[:3])
    with pytest.raises(ValueError, match="positive sigma2 in every group"):
        EmpiricalBayes(LinearRegression(), spread="proportional").fit(X, z, 0.0)


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


def binary_coverage(n, span, scale):
    arguments, truth = binary_groups(n, span)
    eb = EmpiricalBayes(LinearRegression(), cv=2, scale=scale, random_state=0).fit(*arguments)
    estimate = eb.estimate()
    assert estimate.low.min() >= 0
    assert estimate.high.max() <= 1
    assert np.mean((estimate.value - truth) ** 2) < np.mean((arguments[1] - truth) ** 2)
    return np.mean((estimate.low <= truth) & (truth <= estimate.high))


@pytest.mark.parametrize("n", [2, 5, 20])
@pytest.mark.parametrize("span", [(0.01, 0.99), (0.9, 0.99), (0.01, 0.1)])
def test_binary_groups_are_covered_on_average(n, span):
    assert binary_coverage(n, span, "identity") >= binom.ppf(0.0005, 3000, 0.95) / 3000


def test_groups_of_one_item_are_covered_if_others_have_more():
    n = np.where(np.arange(3000) % 2, 1, 5)
    coverage = binary_coverage(n, (0.01, 0.99), "identity")
    assert coverage >= binom.ppf(0.0005, 3000, 0.95) / 3000


@pytest.mark.parametrize(
    ("scale", "n", "span", "floor"),
    [
        ("arcsine", 5, (0.01, 0.99), 0.94),
        ("arcsine", 20, (0.01, 0.99), 0.92),
        ("arcsine", 20, (0.9, 0.99), 0.87),
        ("logit", 20, (0.01, 0.99), 0.88),
        ("logit", 20, (0.9, 0.99), 0.75),
    ],
)
def test_coverage_on_other_scales_is_what_the_docstring_says(scale, n, span, floor):
    assert floor < binary_coverage(n, span, scale) < floor + 0.06


@pytest.mark.parametrize(
    ("scale", "interval", "n", "span", "word"),
    [
        ("identity", "robust", 10, (0.9, 0.99), "average over groups"),
        ("arcsine", "robust", 20, (0.01, 0.99), "model"),
        ("arcsine", "robust", 20, (0.9, 0.99), "none"),
        ("logit", "robust", 20, (0.01, 0.99), "model"),
        ("logit", "length-optimal", 10, (0.9, 0.99), "none"),
        ("logit", "parametric", 10, (0.9, 0.99), "none"),
        ("logit", "fab", 10, (0.9, 0.99), "each group"),
    ],
)
def test_scales_promise_what_they_keep(scale, interval, n, span, word):
    arguments, _ = binary_groups(n, span)
    X, z, sigma2, n = (part[:300] for part in arguments)
    eb = EmpiricalBayes(LinearRegression(), scale=scale, interval=interval, random_state=0)
    if word == "none":
        with pytest.warns(UserWarning, match='rarer kind.* Use scale="identity"'):
            eb.fit(X, z, sigma2, n)
    else:
        eb.fit(X, z, sigma2, n)
    assert eb.estimate().guarantee == word


@pytest.mark.parametrize("scale", ["identity", "arcsine", "logit"])
def test_one_binary_item_per_group_cannot_be_told_from_noise(scale):
    arguments, _ = binary_groups(1, (0.1, 0.9))
    with pytest.raises(ValueError, match="With one item in all but one group, spread between"):
        EmpiricalBayes(LinearRegression(), scale=scale).fit(*arguments)


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


def test_arcsine_is_the_binomial_model_on_that_scale():
    (X, z, sigma2, n), _ = binary_groups(12, (0.5, 0.95))
    eb = EmpiricalBayes(LinearRegression(), cv=KFold(2), scale="arcsine")
    estimate = eb.fit(X, z, sigma2, n).estimate()
    theta, w = np.arcsin(np.sqrt(z)), eb.prior_variance_ / (eb.prior_variance_ + 1 / 48)
    center = eb.prior_mean_ + w * (theta - eb.prior_mean_)
    half = robust_eb.robust_half_width(eb.prior_variance_, np.full(3000, 1 / 48), eb.kurtosis_)
    np.testing.assert_allclose(estimate.high, np.sin(np.minimum(center + half, np.pi / 2)) ** 2)
    np.testing.assert_allclose(estimate.value, scales.from_scale_mean(center, w / 48, "arcsine"))


def test_scales_refuse_scores_outside_the_unit_interval():
    X, z, sigma2, _ = simulated(20)
    with pytest.raises(
        ValueError, match="z must be between 0 and 1 for scale='arcsine', but 20 of"
    ):
        EmpiricalBayes(Ridge(), scale="arcsine").fit(X, z + 5, sigma2)
    with pytest.raises(ValueError, match="needs group sizes where sigma2 is 0"):
        EmpiricalBayes(Ridge(), scale="logit").fit(X, np.full(20, 1.0), 0.0)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("prior_variance", "mom"),
        ("interval", "wilson"),
        ("scale", "probit"),
        ("spread", "wide"),
    ],
)
def test_unknown_options(parameter, value):
    X, z, sigma2, _ = simulated(20)
    with pytest.raises(ValueError, match=f"{parameter} must be one of .*got '{value}'"):
        EmpiricalBayes(Ridge(), **{parameter: value}).fit(X, z, sigma2)


def test_one_group_cannot_be_shrunk():
    with pytest.raises(ValueError, match="needs at least 2 rows, got n_samples = 1"):
        EmpiricalBayes(Ridge()).fit([[1.0]], [0.5], 0.01)


def test_plug_in_variance_of_perfect_groups_is_said():
    X = np.arange(10.0)[:, None]
    z = np.array([1, 1, 0.5, 0.4, 0.6, 0.3, 0.7, 0, 0.2, 0.9])
    with pytest.warns(
        UserWarning, match="3 of 10 groups have sigma2 = 0: they are taken for exact"
    ):
        eb = EmpiricalBayes(Ridge(), random_state=0).fit(X, z, z * (1 - z) / 10)
    estimate = eb.estimate()
    np.testing.assert_allclose(estimate.value[[0, 1, 7]], [1, 1, 0])
    np.testing.assert_allclose(estimate.low[[0, 1, 7]], [1, 1, 0])


def test_zero_prior_variance_is_said():
    z = np.array([0.5, 0.51, 0.49, 0.5, 0.52, 0.48])
    with pytest.warns(UserWarning, match="prior variance .moments. is estimated as 0"):
        eb = EmpiricalBayes(Ridge(), prior_variance="moments", random_state=0).fit(
            np.arange(6.0)[:, None], z, 1.0
        )
    assert eb.prior_variance_ == 0
    default = EmpiricalBayes(Ridge(), random_state=0).fit(np.arange(6.0)[:, None], z, 1.0)
    assert default.prior_variance_ > 0
    assert (default.estimate().low < default.estimate().high).all()


def test_equal_direct_estimates_are_said():
    X = np.arange(6.0)[:, None]
    with pytest.warns(UserWarning, match="All 6 direct estimates are equal"):
        eb = EmpiricalBayes(Ridge(), random_state=0).fit(X, np.full(6, 0.5), 0.01)
    np.testing.assert_allclose(eb.estimate().value, 0.5)


def test_default_regressor_learns_and_shrinks():
    X, z, sigma2, truth = simulated(150)
    first, second = (EmpiricalBayes(random_state=0).fit(X, z, sigma2) for _ in range(2))
    np.testing.assert_array_equal(first.estimate().value, second.estimate().value)
    error = np.mean((first.estimate().value - truth) ** 2)
    assert error < 0.8 * np.mean((z - truth) ** 2)


def test_shift_and_rescale():
    X, z, sigma2, _ = simulated(60)
    eb = EmpiricalBayes(LinearRegression(), cv=KFold(2))
    a = eb.fit(X, z, sigma2).estimate()
    b = eb.fit(X, 50 + 10 * z, 100 * sigma2).estimate()
    np.testing.assert_allclose(b.low, 50 + 10 * a.low)


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


def test_equation_nine_to_the_letter():
    """Prior variance, kurtosis and interval of every half, written out."""
    rng = np.random.default_rng(3)
    n_groups, n = 60, np.full(60, 20)
    X = rng.random((n_groups, 1))
    z = rng.binomial(20, np.clip(0.3 + 0.4 * X[:, 0] + 0.1 * rng.normal(size=60), 0, 1)) / 20
    sigma2 = np.maximum(z * (1 - z), 0.01) / 20
    halves = KFold(2, shuffle=True, random_state=0)
    eb = EmpiricalBayes(LinearRegression(), cv=halves, prior_variance="none", pool=False)
    estimate = eb.fit(X, z, sigma2, n=n).estimate()
    for train, test in halves.split(X):
        prior_mean = LinearRegression().fit(X[train], z[train]).predict(X[test])
        e, s2 = z[test] - prior_mean, sigma2[test]
        A = max(np.mean(e**2 - s2), 0)
        kurtosis = max(np.mean(e**4 - 6 * s2 * e**2 + 3 * s2**2) / A**2, 1)
        w = A / (A + s2)
        half_width = robust_eb.cva(s2 / A, kurtosis, 0.95) * w * np.sqrt(s2)
        value = prior_mean + w * e
        np.testing.assert_allclose(estimate.value[test], value, rtol=1e-10)
        np.testing.assert_allclose(
            estimate.high[test], np.minimum(value + half_width, 1), rtol=1e-8
        )


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
    eb = EmpiricalBayes(Ridge(), random_state=0).fit(X, z, sigma2, groups=named)
    assert np.isfinite(eb.estimate().value).all()


def test_nobody_is_looked_for_who_is_unlike_the_others():
    X, z, sigma2, _ = simulated(80)
    z[17] -= 1
    e = EmpiricalBayes(Ridge(), random_state=0).fit(X, z, sigma2).estimate()
    assert e.unlike_peers is None and not e.is_unlike.any()


def test_estimates_worse_than_the_direct_ones_are_said():
    rng = np.random.default_rng(0)
    p = np.where(np.arange(80) % 10 == 3, 0.3, 0.995)
    k = rng.binomial(10, p)
    smoothed = (k + 1) / 12
    X = pd.DataFrame({"topic": np.arange(80) % 20, "model": np.arange(80) // 20}).astype(str)
    data = {"X": X, "sigma2": smoothed * (1 - smoothed) / 10, "n": np.full(80, 10)}
    eb = EmpiricalBayes(Ridge(), random_state=0)
    options = {"groups": X["topic"], "sampling": Sampling("binomial", items_shared=True)}
    with pytest.warns(UserWarning, match="squared error of these estimates is above that of the"):
        eb.fit(y=k / 10, **data, **options).estimate()
    ordinary = rng.binomial(10, rng.uniform(0.5, 0.9, 80)) / 10
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        eb.fit(y=ordinary, **data, **options).estimate()
