"""Estimators inside pipelines and searches, and regressors inside estimators."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import StackingRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    cross_val_score,
    cross_validate,
)
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from xgboost import XGBRegressor

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    FayHerriot,
    IntervalPipeline,
    MixedModel,
    StructuredRegression,
    SyntheticRegression,
    make_items,
    summarize_items,
)

METADATA = ("sigma2", "n", "groups", "sampling")


@pytest.fixture(scope="module")
def groups():
    """80 groups of 5 models on 16 topics; X has text and number columns."""
    rng = np.random.default_rng(0)
    labels = pd.MultiIndex.from_product(
        [list("ABCDE"), [f"t{i:02}" for i in range(16)]], names=["model", "topic"]
    )
    X = labels.to_frame()
    X["length"] = np.tile(rng.normal(size=16), 5)
    truth = 0.5 + 0.1 * X["length"] + 0.05 * pd.factorize(X["model"])[0]
    z = (truth + 0.05 * rng.normal(size=80)).to_numpy()
    return {
        "X": X,
        "y": z,
        "sigma2": rng.uniform(0.002, 0.003, size=80),
        "groups": X["topic"].to_numpy(),
    }


@pytest.fixture(scope="module")
def numbers(groups):
    return groups["X"][["length"]].to_numpy()


@pytest.mark.parametrize("routing", [False, True])
def test_pipeline_with_empirical_bayes_last(groups, numbers, routing):
    eb = EmpiricalBayes(Ridge(), random_state=0)
    pipe = Pipeline([("scale", StandardScaler()), ("eb", clone(eb))])
    alone = eb.fit_predict(StandardScaler().fit_transform(numbers), groups["y"], groups["sigma2"])
    with config_context(enable_metadata_routing=routing):
        key = "sigma2" if routing else "eb__sigma2"
        pipe.fit(numbers, groups["y"], **{key: groups["sigma2"]})
        np.testing.assert_allclose(pipe[-1].estimate().value, alone)
        value = pipe.predict(numbers, z=groups["y"], sigma2=groups["sigma2"])
    assert value.shape == (80,)


@pytest.mark.parametrize("routing", [False, True])
def test_interval_pipeline_follows_the_contract(groups, routing):
    steps = [
        (
            "encode",
            make_column_transformer(
                (OneHotEncoder(sparse_output=False), ["model"]), (StandardScaler(), ["length"])
            ),
        ),
        ("eb", EmpiricalBayes(Ridge(), random_state=0)),
    ]
    with config_context(enable_metadata_routing=routing):
        pipe = IntervalPipeline(steps).fit(**groups)
        estimate = pipe.estimate(0.9)
        interval = pipe.predict_interval(
            groups["X"], z=groups["y"], sigma2=groups["sigma2"], confidence_level=0.9
        )
        again = clone(pipe).fit_predict(**groups)
    assert estimate.labels.equals(groups["X"].index)
    inner = EmpiricalBayes(Ridge(), random_state=0).fit(
        pipe[0].transform(groups["X"]), groups["y"], groups["sigma2"], groups=groups["groups"]
    )
    np.testing.assert_allclose(estimate.low, inner.estimate(0.9).low)
    np.testing.assert_array_equal(again, estimate.value)
    assert (interval[:, 0] < interval[:, 1]).all()


def test_regressor_with_its_own_encoder_gets_the_frame(groups):
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["model", "topic"]), remainder="passthrough"
    )
    regressor = make_pipeline(encoder, XGBRegressor(n_estimators=20, max_depth=2))
    eb = EmpiricalBayes(regressor, cv=2, random_state=0).fit(**groups)
    assert list(eb.regressor_.feature_names_in_) == ["model", "topic", "length"]
    assert eb.predict(groups["X"].iloc[:3]).shape == (3,)


def test_text_columns_are_encoded_for_a_bare_regressor(groups):
    eb = EmpiricalBayes(Ridge(1e-6), cv=KFold(4, shuffle=True, random_state=0))
    encoded = pd.get_dummies(groups["X"], dtype=float)
    by_hand = clone(eb).fit(encoded, groups["y"], groups["sigma2"])
    np.testing.assert_allclose(
        eb.fit(groups["X"], groups["y"], groups["sigma2"]).prior_mean_,
        by_hand.prior_mean_,
        rtol=1e-6,  # Ridge solves two equivalent systems
    )


def test_text_that_only_names_the_topic_is_left_out(groups):
    eb = EmpiricalBayes(LinearRegression(), random_state=0).fit(**groups)
    assert eb.regressor_[0].nominal == ["model"]
    assert eb.regressor_[-1].n_features_in_ == 6


def test_names_alone_give_a_common_mean(groups):
    X = groups["X"][["topic"]].iloc[:16]
    eb = EmpiricalBayes(Ridge(), cv=KFold(2)).fit(X, groups["y"][:16], groups["sigma2"][:16])
    z = groups["y"][:16]
    np.testing.assert_allclose(eb.prior_mean_, np.repeat([z[8:].mean(), z[:8].mean()], 8))


@pytest.mark.parametrize("routing", [False, True])
def test_grid_search_slices_sigma2(groups, numbers, routing):
    grid = {"regressor__max_depth": [1, 2]}
    eb = EmpiricalBayes(XGBRegressor(n_estimators=10), cv=2, random_state=0)
    with config_context(enable_metadata_routing=routing):
        search = GridSearchCV(eb, grid, cv=3, error_score="raise")
        search.fit(numbers, groups["y"], sigma2=groups["sigma2"])
        scores = cross_val_score(
            eb, numbers, groups["y"], cv=3, params={"sigma2": groups["sigma2"]}
        )
    assert search.best_params_["regressor__max_depth"] in (1, 2)
    assert np.isfinite(search.best_estimator_.predict_interval(numbers)).all()
    assert scores.shape == (3,)


@pytest.fixture(scope="module")
def answers():
    """Right and wrong answers of four models to shared items."""
    data = make_items(4, 12, 10, random_state=0)
    return summarize_items(data.items, ["model", "topic"], features=data.features)


@pytest.mark.parametrize("kind", [pytest.param(Pipeline, marks=pytest.mark.slow), IntervalPipeline])
def test_default_scores_of_pipelines_with_routing(answers, kind):
    g, metadata = answers, {name: answers.fit_args[name] for name in METADATA}
    numbers = make_column_transformer((StandardScaler(), ["feature"]))
    mixed = kind([("same", FunctionTransformer()), ("last", MixedModel())])
    ridge = kind([("numbers", numbers), ("last", EmpiricalBayes(Ridge(), cv=2, random_state=0))])
    with config_context(enable_metadata_routing=True):
        for pipe in (clone(mixed), clone(ridge)):
            pipe.fit(g.X, g.z, **metadata)
            assert pipe.score(g.X, g.z) < pipe.score(g.X, g.z, sigma2=g.sigma2)
            scores = cross_val_score(pipe, g.X, g.z, cv=GroupKFold(3), params=metadata)
            kept = cross_validate(
                pipe, g.X, g.z, cv=GroupKFold(3), params=metadata, return_estimator=True
            )
            np.testing.assert_array_equal(kept["test_score"], scores)
            assert np.isfinite(scores).all()
            assert all(e[-1].sampling_ == g.sampling for e in kept["estimator"])
        grid = {"last__regressor__alpha": [1e-3, 1e6]}
        search = GridSearchCV(clone(ridge), grid, cv=GroupKFold(3), error_score="raise")
        search.fit(g.X, g.z, **metadata)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_[-1].sampling_ is g.sampling


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 25), marks=pytest.mark.slow)])
def test_no_search_on_few_items_is_lost(seeds):
    grid = {"regressor__alpha": [0.1, 1e5]}
    eb = EmpiricalBayes(Ridge(), cv=2, random_state=0)
    for seed in seeds:
        data = make_items(5, 20, 10, topic_std=0.3, random_state=seed)
        g = summarize_items(data.items, ["model", "topic"], features=data.features)
        metadata = {name: g.fit_args[name] for name in METADATA}
        with config_context(enable_metadata_routing=True):
            search = GridSearchCV(eb, grid, cv=GroupKFold(5), refit=False, error_score="raise")
            found = search.fit(g.X[["feature"]], g.z, **metadata).cv_results_
        for fold in range(5):
            assert np.isfinite(found[f"split{fold}_test_score"]).all()


@pytest.mark.slow
def test_stacking_with_a_final_estimator_that_takes_the_noise(answers):
    g, metadata = answers, {name: answers.fit_args[name] for name in METADATA}
    members = [("eb", EmpiricalBayes(Ridge(), random_state=0)), ("mixed", MixedModel())]
    final = SyntheticRegression(Ridge(), random_state=0)
    with config_context(enable_metadata_routing=True):
        stack = StackingRegressor(members, final, cv=GroupKFold(3)).fit(g.X, g.z, **metadata)
        scores = cross_validate(stack, g.X, g.z, cv=GroupKFold(3), params=metadata)["test_score"]
    assert stack.final_estimator_.sampling_ is g.sampling
    assert stack.named_estimators_["mixed"].shared_effect_variance_ > 0
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    "regressor",
    [
        Ridge(),
        make_pipeline(StandardScaler(), Ridge()),
        GridSearchCV(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1]}, cv=2),
    ],
)
@pytest.mark.parametrize("routing", [False, True])
def test_weights_reach_the_regressor(groups, numbers, regressor, routing):
    sigma2 = np.where(np.arange(80) < 40, 1e-6, 1.0)
    z = np.where(np.arange(80) < 40, 1.0, 0.0)
    with config_context(enable_metadata_routing=routing):
        sr = SyntheticRegression(regressor, weight_by_precision=True, random_state=0)
        plain = SyntheticRegression(regressor, random_state=0).fit(numbers, z, sigma2)
        weighted = sr.fit(numbers, z, sigma2)
    # Half of the groups are known almost exactly to be 1.
    assert weighted.predict(numbers).mean() > 0.9 > plain.predict(numbers).mean()


def test_warns_of_ignored_weights(groups, numbers):
    sr = SyntheticRegression(KNeighborsRegressor(), weight_by_precision=True)
    with pytest.warns(UserWarning, match="KNeighborsRegressor.*sample_weight"):
        sr.fit(numbers, groups["y"], groups["sigma2"])


def test_no_precision_weight_is_infinite(groups, numbers):
    """A group without noise weighs as the least noisy one."""
    sigma2 = groups["sigma2"].copy()
    sigma2[1] = sigma2.min()
    found = []
    for own in (sigma2[1], 0.0):
        sigma2[0] = own
        sr = SyntheticRegression(Ridge(), weight_by_precision=True, random_state=0)
        found.append(sr.fit(numbers, groups["y"], sigma2).predict(numbers))
    np.testing.assert_allclose(*found)


def test_tiny_variances_do_not_flatten_xgboost(groups, numbers):
    sr = SyntheticRegression(
        XGBRegressor(n_estimators=50), weight_by_precision=True, random_state=0
    )
    sr.fit(numbers, groups["y"], 1e6 * groups["sigma2"])
    assert np.ptp(sr.predict(numbers)) > 0.1


def test_lightgbm_preset_learns_from_few_groups(numbers):
    x = numbers[:40]
    eb = EmpiricalBayes("lightgbm", cv=2, random_state=0).fit(x, x[:, 0], sigma2=0.01)
    assert np.ptp(eb.prior_mean_) > 0.5


def test_open_seeds_are_filled_and_the_users_object_is_not_touched(groups):
    regressor = XGBRegressor(n_estimators=10, subsample=0.5)
    first, second, third = (
        EmpiricalBayes(regressor, cv=2, random_state=seed).fit(**groups).prior_mean_
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, second)
    assert (first != third).any()
    assert regressor.random_state is None
    assert not hasattr(regressor, "feature_importances_")


@pytest.mark.parametrize("seed", [0, 12])
def test_errors_of_the_regressor_name_the_columns(groups, seed):
    """Whether the missing value stands in the first fold to learn from, or the one held out."""
    X = groups["X"][["length"]].where(groups["X"]["length"] > groups["X"]["length"].min())
    with pytest.raises(ValueError) as caught:
        EmpiricalBayes(Ridge(), cv=2, random_state=seed).fit(X, groups["y"], groups["sigma2"])
    assert "length (float64)" in caught.value.__notes__[0]


def test_categories_reach_a_regressor_that_supports_them(groups):
    from lightgbm import LGBMRegressor

    X = groups["X"].astype({"model": "category"})[["model", "length"]]
    lgbm = LGBMRegressor(n_estimators=5, min_child_samples=2, verbose=-1)
    eb = EmpiricalBayes(lgbm, cv=2, random_state=0).fit(X, groups["y"], groups["sigma2"])
    assert eb.regressor_.booster_.pandas_categorical == [list("ABCDE")]


READ_CATEGORIES = [
    MixedModel(),
    EmpiricalBayes("ridge", random_state=0),
    StructuredRegression(alphas=8, random_state=0),
    FayHerriot(),
]


# Before pandas 3, "str" makes a word of None.
STR = pytest.param("str", marks=pytest.mark.skipif(pd.__version__ < "3", reason="pandas < 3"))


@pytest.mark.parametrize("dtype", [STR, "object", "string", "category"])
def test_a_missing_name_is_a_level_of_its_own(groups, dtype):
    size = np.where(groups["X"]["length"] > 0, "large", "small").astype(object)
    named, with_gap = (
        groups["X"].assign(size=np.where(size == "small", gap, size)) for gap in ("unknown", None)
    )
    with_gap = with_gap.astype({"size": dtype})
    fay_herriot = [FayHerriot().fit(**groups | {"X": X}).estimate() for X in (named, with_gap)]
    np.testing.assert_allclose(fay_herriot[0].value, fay_herriot[1].value)
    boosted = EmpiricalBayes(cv=2, random_state=0).fit(**groups | {"X": with_gap})
    encoder = boosted.regressor_[0]
    assert pd.isna(encoder.levels_[encoder.nominal.index("size")]).sum() == 1


@pytest.mark.parametrize(
    "regressor", ["lightgbm", "xgboost", XGBRegressor()], ids=lambda r: str(r)[:12]
)
def test_names_of_models_may_hold_any_character(groups, regressor):
    names = dict(zip("ABCDE", ["a:b", "a,b", "a[1]", 'a{"', "a<b"], strict=True))
    X = groups["X"].assign(model=groups["X"]["model"].map(names))
    eb = EmpiricalBayes(regressor, cv=2, random_state=0).fit(**groups | {"X": X})
    assert np.ptp(eb.predict(X)) > 0.1


@pytest.mark.parametrize("preset", ["lightgbm", "xgboost", "ridge"])
@pytest.mark.parametrize("kind", ["numbers", "categories"])
def test_names_of_features_may_hold_any_character(groups, preset, kind):
    length = groups["X"]["length"]
    X = pd.DataFrame({"a b": length, "a_b": length**2, "a:[<": -length})
    if kind == "categories":
        X["k:{"] = pd.Categorical(groups["X"]["model"])
    plain = X.set_axis([f"column_{i}" for i in range(X.shape[1])], axis=1)
    eb = EmpiricalBayes(preset, cv=2, random_state=0)
    found, expected = (clone(eb).fit(**groups | {"X": table}) for table in (X, plain))
    np.testing.assert_array_equal(found.prior_mean_, expected.prior_mean_)
    np.testing.assert_array_equal(found.predict(X), expected.predict(plain))


def test_text_and_categories_side_by_side_reach_the_preset_that_supports_both(groups):
    large = np.where(groups["X"]["length"] > 0, "large: yes", "large: no")
    X = groups["X"].assign(size=pd.Categorical(large), model="llama3:" + groups["X"]["model"])
    eb = EmpiricalBayes("lightgbm", cv=2, random_state=0).fit(**groups | {"X": X})
    assert eb.regressor_[-1][-1].booster_.pandas_categorical == [["large: no", "large: yes"]]
    assert np.ptp(eb.predict(X)) > 0.1


@pytest.mark.parametrize("estimator", READ_CATEGORIES, ids=str)
def test_a_feature_may_be_called_as_a_level_is(groups, estimator):
    levels = groups["X"]["model"].replace("A", "size")
    plain, clash = (
        groups["X"].assign(model=levels).rename(columns={"length": name})
        for name in ("length", "model_size")
    )
    found = [clone(estimator).fit(**groups | {"X": X}).estimate().value for X in (plain, clash)]
    np.testing.assert_allclose(*found, rtol=1e-6)


DAYS = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(80) % 16, unit="D")


@pytest.mark.parametrize("estimator", READ_CATEGORIES[:-1], ids=str)
@pytest.mark.parametrize(
    ("values", "message"),
    [
        (DAYS, r"'released'.*datetime64"),
        (DAYS.tz_localize("UTC"), "'released'"),
        (DAYS - DAYS[0], r"'released'.*timedelta64"),
        (DAYS.date, "'released'"),
        (DAYS.to_period("M"), "'released'"),
        ([1, "a"] * 40, "'released'.*1, 'a'"),
    ],
)
def test_columns_that_no_regression_reads_are_refused_by_name(groups, estimator, values, message):
    X = groups["X"].assign(released=values)
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(**groups | {"X": X})


def test_fay_herriot_predicts_new_topics_from_the_other_columns(groups):
    new = groups["X"].head(3).assign(topic="unseen")
    with pytest.raises(ValueError, match="'topic'.*'unseen'"):
        FayHerriot().fit(**groups | {"groups": None}).predict(new)
    fh = FayHerriot().fit(**groups)
    np.testing.assert_array_equal(fh.predict(new), fh.predict(groups["X"].head(3)))


def test_every_estimator_in_an_interval_pipeline(numbers, groups):
    for last in (DirectEstimator(), FayHerriot(), SyntheticRegression(Ridge())):
        pipe = IntervalPipeline([("scale", StandardScaler()), ("last", last)])
        estimate = pipe.fit(numbers, groups["y"], groups["sigma2"]).estimate()
        assert len(estimate) == 80
        assert "sk-container" in pipe._repr_html_()


def crossed_summary():
    data = make_items(n_models=4, n_topics=12, n_items=10, random_state=0)
    return summarize_items(data.items, ["model", "topic"], features=data.features)


def test_columns_that_the_last_step_names_reach_it_or_are_missed():
    g = crossed_summary()
    scaled = ("scale", StandardScaler(), ["feature"])
    kept = ColumnTransformer([scaled], remainder="passthrough")
    fitted = IntervalPipeline([("columns", kept), ("last", MixedModel())])
    renamed = g.X.rename(columns={"topic": "my__topic"})
    named = IntervalPipeline([("same", "passthrough"), ("last", MixedModel(topic="my__topic"))])
    assert np.isfinite(named.fit(**g.fit_args | {"X": renamed}).estimate().low).all()
    with pytest.raises(ValueError, match="set_output"):
        fitted.fit(**g.fit_args)  # an array, without names of columns
    kept.set_output(transform="pandas")
    expected = MixedModel().fit(**g.fit_args).estimate()
    np.testing.assert_allclose(fitted.fit(**g.fit_args).estimate().low, expected.low)
    names = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["model", "topic"]), remainder="passthrough"
    )
    hidden = IntervalPipeline([("names", names), ("last", EmpiricalBayes(Ridge(), cv=2))])
    with pytest.warns(UserWarning, match="'model'.*'topic'.*groups="):
        names.set_output(transform="pandas")
        hidden.fit(g.X, g.z, g.sigma2)
    for output in ("default", "pandas"):
        dropped = ColumnTransformer([scaled]).set_output(transform=output)
        with pytest.raises(ValueError, match="passthrough"):
            IntervalPipeline([("columns", dropped), ("last", MixedModel())]).fit(**g.fit_args)


def test_score_takes_its_arguments_in_one_order():
    g = crossed_summary()
    whole = IntervalPipeline([("same", "passthrough"), ("last", MixedModel())]).fit(**g.fit_args)
    alone = MixedModel().fit(**g.fit_args)
    weight = np.linspace(1, 2, len(g))
    for routing in (False, True):
        with config_context(enable_metadata_routing=routing):
            assert whole.score(g.X, g.z, g.sigma2) == alone.score(g.X, g.z, g.sigma2)
    assert whole.score(g.X, g.z, g.sigma2, weight) == alone.score(g.X, g.z, g.sigma2, weight)
