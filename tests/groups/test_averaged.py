import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skbench import (
    AveragedEstimator,
    CrossFitKFold,
    CrossFitMixedModel,
    DirectEstimator,
    EmpiricalBayes,
    FayHerriot,
    GaussianMixedModel,
    IntervalPipeline,
    JamesStein,
    LogisticMixedModel,
    Sampling,
    SyntheticRegression,
    make_items,
    summarize_items,
)
from skbench.stats import scales
from skbench.stats.intervals.binomial import unbiased_variance

CHECKED = [
    CrossFitMixedModel(sampling_variance=1.0, cv=2),
    AveragedEstimator([JamesStein(), CrossFitMixedModel()], sampling_variance=1.0),
]


@pytest.mark.slow
@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([AveragedEstimator(sampling_variance=1.0)])
def test_scikit_learn_checks_of_the_default(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    return make_items(n_models=3, n_topics=16, n_items=10, random_state=0)


@pytest.fixture(scope="module")
def g(data):
    return summarize_items(data.items, ["model", "topic"], features=data.features)


@pytest.fixture(scope="module")
def fitted(g):
    return AveragedEstimator(random_state=0).fit(**g.fit_args)


def test_value_is_the_weighted_mean_of_the_members(g, fitted):
    mixed, trees = (member.estimate().value for member in fitted.estimators_)
    assert_allclose(fitted.estimate().value, (2 * mixed + trees) / 3)
    own = AveragedEstimator([JamesStein(), DirectEstimator()], weights=[3, 1]).fit(**g.fit_args)
    shrunk, direct = (member.estimate().value for member in own.estimators_)
    assert_allclose(own.estimate().value, (3 * shrunk + direct) / 4)
    assert_array_equal(AveragedEstimator([DirectEstimator()] * 2).fit(**g.fit_args).weights_, 0.5)
    kinds = [type(member) for member in fitted.estimators_]
    assert kinds == [LogisticMixedModel, CrossFitMixedModel]


def test_interval_is_the_mean_interval_widened(g):
    members = [JamesStein(), DirectEstimator()]
    averaged = AveragedEstimator(members).fit(**g.fit_args)
    both = [member.estimate(0.9) for member in averaged.estimators_]
    value, low, high, mean_error = (
        np.mean([getattr(e, name) for e in both], axis=0)
        for name in ("value", "low", "high", "standard_error")
    )
    errors = [np.sqrt(e.standard_error**2 + (e.value - value) ** 2) for e in both]
    averaged.inflation_ = 1.5
    estimate = averaged.estimate(0.9)
    assert_allclose(estimate.standard_error, 1.5 * np.mean(errors, axis=0))
    factor = 1.5 * np.mean(errors, axis=0) / mean_error
    assert_allclose(estimate.low, np.clip(value - factor * (value - low), 0, 1))
    assert_allclose(estimate.high, np.clip(value + factor * (high - value), 0, 1))
    assert estimate.guarantee == "average over groups"


def test_copies_of_one_estimator_change_nothing(g):
    one = JamesStein().fit(**g.fit_args).estimate()
    four = AveragedEstimator([JamesStein()] * 4).fit(**g.fit_args)
    four.inflation_ = 1.0
    for end in ("value", "low", "high", "standard_error"):
        assert_allclose(getattr(four.estimate(), end), getattr(one, end))


def test_more_precise_than_direct_and_than_its_members(data, g, fitted):
    truth = data.truth.loc[list(g.labels)].to_numpy()
    error = np.mean((fitted.estimate().value - truth) ** 2)
    assert error < 0.6 * np.mean((g.z - truth) ** 2)
    errors = [np.mean((m.estimate().value - truth) ** 2) for m in fitted.estimators_]
    assert error < np.mean(errors)  # convexity: always so, whatever the draw


@pytest.mark.slow
def test_stein_knows_the_error():
    """Mean of `squared_error_` against the truth, over 20 draws."""
    differences = []
    for seed in range(20):
        data = make_items(3, 40, 12, random_state=seed)
        g = summarize_items(data.items, ["model", "topic"], features=data.features)
        averaged = AveragedEstimator([LogisticMixedModel(), CrossFitMixedModel()], random_state=0)
        averaged.fit(**g.fit_args)
        truth = data.truth.loc[list(g.labels)].to_numpy()
        error = np.mean((averaged.estimate().value - truth) ** 2)
        differences.append((np.mean(averaged.squared_error_) - error) / np.mean(g.sigma2))
    mean, sem = np.mean(differences), np.std(differences, ddof=1) / np.sqrt(20)
    # Two variances are learned and scales are curved: within .1 of the sampling variance.
    assert abs(mean) < 0.1 + 3 * sem


def test_topics_are_kept_together_and_said_aloud(g):
    X = pd.DataFrame(np.asarray(g.X), columns=g.X.columns).infer_objects()
    X["feature"] = X["feature"].astype(float)
    with pytest.warns(UserWarning, match="folds keep topics together"):
        fitted = AveragedEstimator([CrossFitMixedModel("ridge")]).fit(X, g.z, g.sigma2, g.n)
    assert_array_equal(fitted.groups_, X["topic"])
    with pytest.warns(UserWarning, match="cv was given without groups: folds may split a topic"):
        split = EmpiricalBayes(Ridge(), cv=2).fit(X, g.z, g.sigma2, g.n)
    assert split.groups_ is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        EmpiricalBayes(Ridge(), random_state=0).fit(X, g.z, g.sigma2, g.n, X["topic"])
        own = make_items(3, 12, 10, shared_items=False, random_state=0)
        unshared = summarize_items(own.items, ["model", "topic"], features=own.features)
        assert EmpiricalBayes(Ridge()).fit(**unshared.fit_args).groups_ is None


def test_new_groups(g, fitted):
    X = g.fit_args["X"].iloc[:6]
    prior = fitted.predict(X)
    posterior = fitted.predict(X, z=g.z[:6], sigma2=g.sigma2[:6], n=g.n[:6])
    ends = fitted.predict_interval(X, z=g.z[:6], sigma2=g.sigma2[:6], n=g.n[:6])
    wide = fitted.predict_interval(X)
    assert ((0 <= prior) & (prior <= 1)).all()
    assert ((ends[:, 0] < posterior) & (posterior < ends[:, 1])).all()
    assert np.mean(np.diff(ends)) < np.mean(np.diff(wide))
    # Between the prior and the direct estimate, as far as the members' scales are straight.
    nearer = np.abs(posterior - g.z[:6]) <= np.abs(prior - g.z[:6]) + 0.02
    assert nearer.all()


def test_bounds_of_the_members_end_at_0_and_1_for_new_groups_too():
    X, z, n = np.arange(8.0)[:, None], np.array([0, 1, 0, 1, 0.5, 1, 0, 1]), np.full(8, 2)
    averaged = AveragedEstimator([JamesStein(center=0.5), FayHerriot()]).fit(X, z, 0.08, n)
    estimate = averaged.estimate()
    again = averaged.predict_interval(X, z, 0.08, n)
    assert_allclose(again, np.column_stack([estimate.low, estimate.high]))


def test_a_member_may_be_a_pipeline(g):
    X = g.X[["feature"]]
    pipeline = IntervalPipeline([("scale", StandardScaler()), ("eb", EmpiricalBayes(Ridge()))])
    averaged = AveragedEstimator([pipeline, JamesStein()], random_state=0)
    averaged.fit(**g.fit_args | {"X": X})
    bare = clone(averaged).set_params(estimators=[EmpiricalBayes(Ridge()), JamesStein()])
    bare.fit(**g.fit_args | {"X": StandardScaler().fit_transform(X)})
    assert_allclose(averaged.estimate().low, bare.estimate().low)
    assert_allclose(
        averaged.predict_interval(X, g.z, g.sigma2, g.n),
        bare.predict_interval(StandardScaler().fit_transform(X), g.z, g.sigma2, g.n),
    )


def test_reproducible_and_pickles(g, fitted):
    again = AveragedEstimator(random_state=0).fit(**g.fit_args).estimate()
    assert_array_equal(again.low, fitted.estimate().low)
    assert_array_equal(pickle.loads(pickle.dumps(fitted)).estimate().high, again.high)
    assert clone(fitted).get_params()["random_state"] == 0


@pytest.mark.parametrize("score", ["binary", "continuous"])
@pytest.mark.parametrize("n_models, n_topics", [(1, 12), (1, 1), (2, 1), (3, 2)])
def test_few_groups_and_one_model(score, n_models, n_topics):
    data = make_items(n_models, n_topics, 8, score=score, random_state=1)
    g = summarize_items(data.items, ["model", "topic"], features=data.features)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        estimate = AveragedEstimator(random_state=0).fit(**g.fit_args).estimate()
    table = estimate.to_frame()[["value", "low", "high", "standard_error"]].to_numpy()
    assert np.isfinite(table).all()
    assert ((estimate.low <= estimate.value) & (estimate.value <= estimate.high)).all()


@pytest.mark.parametrize("k", [0, 10])
def test_all_right_or_all_wrong(k):
    data = make_items(3, 8, 10, random_state=0)
    items = data.items.assign(score=k // 10)
    g = summarize_items(items, ["model", "topic"])
    estimate = AveragedEstimator(random_state=0).fit(**g.fit_args).estimate()
    assert ((estimate.low <= k / 10) & (k / 10 <= estimate.high + 0.05)).all()
    assert np.abs(estimate.value - k / 10).max() < 0.1


def test_clustered_items():
    data = make_items(3, 15, 24, cluster_size=4, cluster_correlation=0.9, random_state=2)
    g = summarize_items(data.items, ["model", "topic"], cluster="cluster", features=data.features)
    averaged = AveragedEstimator(random_state=0).fit(**g.fit_args)
    assert np.isfinite(averaged.estimate().high).all()


def test_refuses_nothing_to_average(g):
    with pytest.raises(ValueError, match="estimators is empty"):
        AveragedEstimator([]).fit(**g.fit_args)


@pytest.mark.parametrize("weights", [[1], [1, -1], [0, 0], [[1, 1]], [1, np.inf]])
def test_refuses_weights(g, weights):
    with pytest.raises(ValueError, match="weights must be 2 nonnegative numbers"):
        AveragedEstimator([JamesStein()] * 2, weights=weights).fit(**g.fit_args)


def test_features_may_be_text_or_missing(g):
    X = g.fit_args["X"]
    topic = X["topic"].astype(str)
    features = X.assign(
        kind=np.where(topic < "topic-08", "easy", "hard"),
        length=X["feature"].where(topic != "topic-03"),
    )
    fitted = AveragedEstimator(random_state=0).fit(**(g.fit_args | {"X": features}))
    assert np.isfinite(fitted.estimate().high).all()
    assert np.isfinite(fitted.predict(features.assign(kind="new"))).all()


class Constant(Ridge):
    """Predicts 0 whatever it is taught."""

    def predict(self, X):
        return np.zeros(len(X))


def test_around_nothing_it_is_the_gaussian_mixed_model(g):
    numeric = g.fit_args | {"X": g.fit_args["X"][["model", "topic"]].assign(constant=0.0)}
    z, sigma2 = scales.anscombe(g.z, g.sigma2, g.n)
    mixed = GaussianMixedModel().fit(numeric["X"], z, sigma2, groups=g.groups, sampling=g.sampling)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a constant regression
        around = CrossFitMixedModel(Constant(), random_state=0).fit(**numeric)
    e = mixed.estimate()
    expected = scales.from_scale_mean(e.value, e.standard_error**2, "arcsine")
    expected += scales.from_anscombe(e.value, sigma2) - scales.from_scale(e.value, "arcsine")
    assert_allclose(around.estimate().value, expected, rtol=1e-9)
    assert_allclose(around.estimate().low, scales.from_anscombe(e.low, sigma2), rtol=1e-9)


@pytest.mark.parametrize("z", [-0.1, 1.2])
def test_binary_scores_outside_0_and_1_are_refused(g, z):
    mixed = CrossFitMixedModel(Ridge(), cv=2).fit(**g.fit_args)
    with pytest.raises(ValueError, match=f"z must be between 0 and 1 .* such as {z}"):
        mixed.predict(g.X.iloc[:2], [0.5, z], g.sigma2[:2], g.n[:2])


def test_own_splitter(g):
    cv = CrossFitKFold(n_splits=3, n_repeats=2, random_state=1)
    assert len(CrossFitMixedModel(cv=cv).fit(**g.fit_args).effects_) == 2


@pytest.mark.slow
def test_covers_on_average():
    hits = []
    for seed in range(30):
        data = make_items(4, 30, 10, random_state=seed)
        g = summarize_items(data.items, ["model", "topic"], features=data.features)
        e = AveragedEstimator(random_state=0).fit(**g.fit_args).estimate()
        truth = data.truth.loc[list(g.labels)].to_numpy()
        hits.append(np.mean((e.low <= truth) & (truth <= e.high)))
    # Groups of a topic are dependent: the spread over seeds is the yardstick.
    assert np.mean(hits) > 0.94 - 3 * np.std(hits, ddof=1) / np.sqrt(30)


@pytest.mark.parametrize(
    "estimator",
    [
        CrossFitMixedModel("ridge", random_state=0),
        EmpiricalBayes(Ridge(1e-6), scale="arcsine", cv=4),
    ],
)
def test_regressions_that_leave_the_scale_end_at_its_end(estimator):
    """A line through a cliff predicts less than nothing: that is nothing, not its reflection."""
    x = np.linspace(-1, 1, 40)
    z = np.where(x < 0.6, 0.0, 1.0)
    X = pd.DataFrame({"x": x})
    sigma2 = unbiased_variance(np.full(40, 1), np.full(40, 2)) / 2
    e = estimator.fit(X, z, sigma2, n=np.full(40, 2)).estimate()
    assert ((e.low <= e.value) & (e.value <= e.high)).all()
    # Falling lines reflected would rise to the left. One of the random splits may leave a bump.
    assert (np.diff(e.value[:15].reshape(3, 5).mean(axis=1)) >= -1e-9).all()
    new = estimator.predict(pd.DataFrame({"x": [-3.0, -1.0]}))
    # Nothing, but for the variance around it; reflected it would be .3 and more.
    assert new[0] <= max(new[1], 0.02) + 1e-9


def test_named_pairs_can_be_searched(g):
    ridge = EmpiricalBayes(Ridge(), cv=2, random_state=0)
    pairs = AveragedEstimator([("a", ridge), ("b", JamesStein())])
    assert pairs.get_params()["a__regressor__alpha"] == 1.0
    search = GridSearchCV(pairs, {"a__regressor__alpha": [1.0, 50.0]}, cv=GroupKFold(2))
    search.fit(**g.fit_args | {"X": g.X[["topic", "model", "feature"]]})
    alpha = search.best_params_["a__regressor__alpha"]
    best = search.best_estimator_.named_estimators_["a"]
    assert best.regressor.alpha == alpha and best.sampling_.item_correlation is not None
    assert ridge.regressor.alpha == 1.0
    changed = clone(pairs).set_params(b=DirectEstimator(), a__cv=4)
    assert [type(e).__name__ for _, e in changed.estimators] == [
        "EmpiricalBayes",
        "DirectEstimator",
    ]
    assert changed.get_params()["a__cv"] == 4 and pairs.get_params()["a__cv"] == 2
    assert "b" not in AveragedEstimator([JamesStein()]).get_params()


def test_one_estimator_is_an_average_of_one(g):
    alone = EmpiricalBayes(Ridge(), random_state=0)
    one = AveragedEstimator(alone).fit(**g.fit_args).estimate()
    assert_allclose(one.value, alone.fit(**g.fit_args).estimate().value, rtol=1e-12)


@pytest.mark.parametrize(
    ("estimators", "error", "message"),
    [
        (Ridge(), TypeError, r"AveragedEstimator\(\[\('ridge', EmpiricalBayes\(Ridge\(\)\)\)"),
        ([("a", JamesStein()), ("b", Ridge())], TypeError, r"Ridge \('b'\) is no estimator"),
        ([("a", JamesStein()), ("a", JamesStein())], ValueError, "a name of its own"),
        ("direct", TypeError, "list of such pairs, .* got str"),
    ],
)
def test_refuses_what_is_no_estimator_of_groups(g, estimators, error, message):
    with pytest.raises(error, match=message):
        AveragedEstimator(estimators).fit(**g.fit_args)


def broken_set(n_topics, n=20, seed=0):
    """Right answers of 4 models near .85, but for one cell at .1, as a summary's arguments."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame([(m, t) for m in range(4) for t in range(n_topics)], columns=list("mt"))
    X = X.rename(columns={"m": "model", "t": "topic"}).astype(str)
    p = np.full(len(X), 0.85)
    p[1] = 0.1
    z = rng.binomial(n, p) / n
    sampling = Sampling("binomial", items_shared=False)
    return {"X": X, "y": z, "sigma2": 0.01, "n": np.full(len(X), n), "sampling": sampling}


def test_a_broken_cell_is_covered_listed_and_in_the_frame():
    e = AveragedEstimator(random_state=0).fit(**broken_set(20)).estimate()
    assert e.is_unlike.tolist() == [False, True] + [False] * 78
    assert e.low[1] <= 0.1 <= e.high[1] and abs(e.value[1] - 0.1) < 0.1
    assert_array_equal(e.to_frame()["unlike_peers"], e.unlike_peers)
    members = AveragedEstimator([DirectEstimator()]).fit(**broken_set(20)).estimate()
    assert members.unlike_peers is None and not members.is_unlike.any()


def test_moves_to_the_direct_estimates_where_these_are_better():
    data = broken_set(20, n=400) | {"sigma2": 0.0003}
    data["y"] = np.linspace(0.1, 0.9, 80)
    constant = SyntheticRegression(DummyRegressor())
    with pytest.warns(UserWarning, match="direct ones: their estimated squared error is smaller"):
        averaged = AveragedEstimator([constant]).fit(**data)
    estimate, direct = averaged.estimate(), DirectEstimator().fit(**data).estimate()
    share = averaged.direct_weight_
    assert share > 0.95 and estimate.method == f"average of 1, {share:.0%} direct"
    assert_allclose(estimate.value, share * direct.value + (1 - share) * constant_of(averaged))
    assert np.abs(estimate.value - direct.value).max() < 0.03


def constant_of(averaged):
    return averaged.estimators_[0].estimate().value


def test_three_topics_never_widen():
    for seed in range(5):
        data = broken_set(3, n=10, seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            e = AveragedEstimator(random_state=0).fit(**data).estimate()
        direct = DirectEstimator().fit(**data).estimate()
        assert np.mean(e.high - e.low) <= np.mean(direct.high - direct.low) + 1e-12


@pytest.mark.slow
def test_nearly_perfect_groups_are_covered():
    topic, model = np.divmod(np.arange(80), 4)
    X = pd.DataFrame({"model": model, "topic": topic}).astype(str)
    hits = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        p = np.where(rng.random(80) < 0.1, 0.3, 0.995)
        k = rng.binomial(10, p)
        smooth = (k + 1) / 12
        data = dict(y=k / 10, sigma2=smooth * (1 - smooth) / 10, n=np.full(80, 10))
        sampling = Sampling(outcome="binomial")
        fitted = CrossFitMixedModel(random_state=0).fit(X, **data, groups=topic, sampling=sampling)
        e = fitted.estimate()
        hits.append((e.low <= p) & (p <= e.high))
    # .09 by the sine alone; groups of a set err together, so the band is that of 6 sets' means.
    assert np.mean(hits) > 0.93
