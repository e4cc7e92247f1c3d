"""Mixed models as estimators: contract, edge cases, new groups, item correlation."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from reference.linear_mixed_dense import DenseMixedModel
from scipy.special import logit
from scipy.stats import norm
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from skbench import (
    DirectEstimator,
    GaussianMixedModel,
    LogisticMixedModel,
    Sampling,
    item_correlation,
    make_items,
    summarize_items,
)
from skbench.stats import mixed
from skbench.stats.intervals.binomial import sampling_variance


class CountedLogisticMixedModel(LogisticMixedModel):
    """scikit-learn's checks fit any numbers; this rounds them to counts of 20 items."""

    def fit(self, X, y, sigma2=None, n=None, groups=None, sampling=None):
        """Squash `y` to whole numbers of right answers, where it is fit to be fitted."""
        numbers = pd.to_numeric(pd.Series(np.asarray(y).ravel()), errors="coerce")
        if np.asarray(y).dtype.kind in "biufO" and np.all(np.isfinite(numbers)):
            y = np.round(20 / (1 + np.exp(-np.asarray(y, dtype=float)))) / 20
            n = np.full(len(y), 20)
        return super().fit(X, y, 1.0, n, groups, sampling)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


@parametrize_with_checks([GaussianMixedModel(sampling_variance=1.0), CountedLogisticMixedModel()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        GaussianMixedModel(sampling_variance=1.0, kernels="auto"),
        CountedLogisticMixedModel(kernels="auto"),
    ]
)
def test_scikit_learn_checks_with_kernels(estimator, check):
    check(estimator)


EVERY = {
    "logistic": LogisticMixedModel(),
    "logistic-kernels": LogisticMixedModel(kernels=["difficulty"]),
    "gaussian": GaussianMixedModel(),
    "gaussian-kernels": GaussianMixedModel(kernels="auto"),
}
every_estimator = pytest.mark.parametrize("estimator", EVERY.values(), ids=EVERY.keys())


@pytest.fixture(scope="module")
def groups():
    """20 topics x 3 models of binary items, with a feature that says something."""
    rng = np.random.default_rng(5)
    topic, model = np.divmod(np.arange(60), 3)
    n = rng.integers(5, 40, size=60)
    X = pd.DataFrame(
        {"topic": [f"t{t:02d}" for t in topic], "model": np.array(list("ABC"))[model]},
        index=pd.Index([f"group {i}" for i in range(60)], name="group"),
    )
    X["difficulty"] = rng.uniform(size=20)[topic]
    k = rng.binomial(n, 0.8 - 0.4 * X["difficulty"] + 0.1 * (X["model"] == "B"))
    return {"X": X, "y": k / n, "sigma2": sampling_variance(k, n), "n": n, "groups": X["topic"]}


def finite_and_ordered(estimate):
    numbers = estimate.to_frame()[["value", "low", "high", "standard_error"]].to_numpy()
    assert np.isfinite(numbers).all()
    assert (numbers >= 0).all()
    assert (numbers[:, :3] <= 1).all()
    assert (estimate.low <= estimate.value).all()
    assert (estimate.value <= estimate.high).all()
    assert (estimate.low < estimate.high).all()


@every_estimator
def test_estimates(estimator, groups):
    estimate = clone(estimator).fit(**groups).estimate(0.9)
    assert estimate.labels.equals(groups["X"].index)
    assert estimate.guarantee == "posterior"
    finite_and_ordered(estimate)


@every_estimator
def test_fit_predict_level_order_pickle_and_inputs(estimator, groups):
    before = groups["X"].copy()
    fitted = clone(estimator).fit(**groups)
    estimate = fitted.estimate()
    np.testing.assert_array_equal(clone(estimator).fit_predict(**groups), estimate.value)
    narrow = fitted.estimate(0.5)
    assert (estimate.high - estimate.low > narrow.high - narrow.low).all()
    again = pickle.loads(pickle.dumps(fitted)).estimate()
    np.testing.assert_array_equal(again.low, estimate.low)
    order = np.random.default_rng(0).permutation(60)
    shuffled = {
        name: v.iloc[order] if name in ("X", "groups") else v[order] for name, v in groups.items()
    }
    other = clone(estimator).fit(**shuffled).estimate().to_frame().loc[estimate.labels]
    np.testing.assert_allclose(other["value"], estimate.value, rtol=1e-7)
    pd.testing.assert_frame_equal(groups["X"], before)


@every_estimator
def test_new_groups(estimator, groups):
    fitted = clone(estimator).fit(**groups)
    X = groups["X"].iloc[:4].copy()
    known = fitted.predict_interval(X)
    X["topic"] = "unseen"
    new_topic = fitted.predict_interval(X)
    X["model"] = "unseen"
    new_model = fitted.predict_interval(X)
    # Each thing that is not known makes the interval wider.
    width = [np.ptp(ends, axis=1) for ends in (known, new_topic, new_model)]
    assert (width[0] < width[1]).all()
    assert (width[1] < width[2]).all()
    own = {"z": groups["y"][:4], "sigma2": groups["sigma2"][:4], "n": groups["n"][:4]}
    posterior, ends = fitted.predict(X, **own), fitted.predict_interval(X, **own)
    prior = fitted.predict(X)
    between = (posterior - prior) * (own["z"] - posterior)
    assert (between >= -1e-9).all()
    assert (np.ptp(ends, axis=1) < width[2]).all()
    assert ((ends >= 0) & (ends <= 1)).all()


def test_topic_comes_from_groups_or_from_its_column(groups):
    by_column = LogisticMixedModel().fit(**(groups | {"groups": None}))
    by_groups = LogisticMixedModel(topic="absent").fit(**groups)
    np.testing.assert_array_equal(by_column.estimate().low, by_groups.estimate().low)
    X = groups["X"].iloc[:3]
    np.testing.assert_array_equal(by_column.predict(X), by_groups.predict(X))


def test_logistic_model_needs_counts_only(groups):
    expected = LogisticMixedModel().fit(**groups).estimate()
    found = LogisticMixedModel().fit(**(groups | {"sigma2": None})).estimate()
    np.testing.assert_array_equal(found.high, expected.high)
    fitted, X = LogisticMixedModel().fit(**groups), groups["X"].iloc[:4]
    z, sigma2, n = (groups[name][:4] for name in ("y", "sigma2", "n"))
    np.testing.assert_array_equal(fitted.predict(X, z=z, n=n), fitted.predict(X, z, sigma2, n))
    np.testing.assert_array_equal(
        fitted.predict_interval(X, z=z, n=n), fitted.predict_interval(X, z, sigma2, n)
    )
    with pytest.raises(ValueError, match="sigma2 is missing"):
        fitted.predict(X, z)


@pytest.mark.parametrize(
    ("estimator", "changed", "message"),
    [
        (LogisticMixedModel(), {"n": None}, "needs group sizes, for the number of right answers"),
        (LogisticMixedModel(), {"y": np.full(60, 0.123)}, "binary scores.*GaussianMixedModel"),
        (LogisticMixedModel(item_correlation="estimate"), {}, "sampling knows nothing of them"),
        (LogisticMixedModel(item_correlation=1.5), {}, "must be a correlation matrix"),
        (LogisticMixedModel(item_correlation=np.eye(2)), {}, r"shape \(2, 2\), but there are 3"),
        (LogisticMixedModel(item_correlation="guess"), {}, "item_correlation must be one of"),
        (
            LogisticMixedModel(kernels=["lenght"]),
            {},
            "kernels names column 'lenght', which X lacks",
        ),
        (
            LogisticMixedModel(kernels=["difficulty"]),
            {"X": pd.DataFrame({"difficulty": [np.inf] + 59 * [1.0]}), "groups": None},
            "finite numbers or text, but column 'difficulty'",
        ),
        (LogisticMixedModel(calibration="cv"), {}, "calibration must be one of"),
        (
            LogisticMixedModel(item_correlation=0.3),
            {"groups": np.repeat([0, 1], 30)},
            "Model A occurs more than once in topic 0",
        ),
        (
            LogisticMixedModel(item_correlation=pd.DataFrame([[1.0]], ["A"], ["A"])),
            {},
            "no row and column for model 'B'",
        ),
        (GaussianMixedModel(), {"sigma2": None}, "sigma2 is missing"),
    ],
)
def test_refuses(estimator, changed, message, groups):
    with pytest.raises(ValueError, match=message):
        estimator.fit(**(groups | changed))


@every_estimator
@pytest.mark.parametrize("column", ["model", "topic"])
def test_models_and_topics_need_names(estimator, column, groups):
    X = groups["X"].copy()
    X.loc["group 7", column] = None
    message = f"Column '{column}' of X has no name in 1 of 60 rows, the first is row 'group 7'"
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(**(groups | {"X": X, "groups": None}))
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(**groups).predict(X)


def table(n_models, n_topics, n, k, missing=()):
    topic, model = np.divmod(np.arange(n_models * n_topics), n_models)
    X = pd.DataFrame({"model": [f"m{m:03d}" for m in model], "topic": [f"t{t}" for t in topic]})
    keep = ~np.isin(np.arange(len(X)), list(missing))
    n = np.broadcast_to(np.asarray(n), len(X))[keep]
    k = np.broadcast_to(np.asarray(k), len(X))[keep]
    return {"X": X[keep], "y": k / n, "sigma2": sampling_variance(k, n), "n": n}


def drawn(size, p=0.6, n=10, seed=0):
    return np.random.default_rng(seed).binomial(n, p, size)


FIRST_MODEL_WRONG = drawn(24) * (np.arange(24) % 3 > 0)
FIRST_TOPIC_RIGHT = np.where(np.arange(60) < 3, 10, drawn(60))
EDGES = {
    "all right": table(3, 8, 10, 10),
    "all wrong, one item": table(3, 20, 1, 0),
    "a model always wrong": table(3, 8, 10, FIRST_MODEL_WRONG),
    "a topic always right": table(3, 20, 10, FIRST_TOPIC_RIGHT),
    "one item each": table(4, 15, 1, drawn(60, n=1)),
    "one model": table(1, 40, 10, drawn(40)),
    "one topic": table(5, 1, 10, drawn(5)),
    "two topics": table(4, 2, 10, drawn(8)),
    "one group": table(1, 1, 10, 8),
    "60 models": table(60, 13, 10, drawn(780)),
    "200 models": table(200, 13, 10, drawn(2600)),
    "topics without some models": table(4, 15, 10, drawn(60), missing=range(3, 50, 3)),
    "each topic with one model": table(
        3, 6, 10, drawn(18), missing=set(range(18)) - {0, 4, 8, 9, 13, 17}
    ),
    "equal accuracies": table(4, 15, 10, 6),
    "one to a million items": table(
        3, 14, 10 ** np.tile([0, 3, 6], 14), np.tile([1, 999, 300_000], 14)
    ),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("correlation", [None, 0.3])
@pytest.mark.parametrize("kind", [LogisticMixedModel, GaussianMixedModel])
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(data, id=name, marks=pytest.mark.slow if name == "200 models" else ())
        for name, data in EDGES.items()
    ],
)
def test_edges(data, kind, correlation):
    if data is EDGES["200 models"] and kind is GaussianMixedModel and correlation:
        # Told a correlation that the counts do not have, so many models do worse than alone.
        with pytest.warns(UserWarning, match="The estimated squared error"):
            kind(item_correlation=correlation).fit(**data).estimate()
        warnings.filterwarnings("ignore", "The estimated squared error")
    with np.errstate(all="raise", under="ignore"):
        fitted = kind(item_correlation=correlation).fit(**data)
        finite_and_ordered(fitted.estimate())
        new = data["X"].iloc[:1].assign(topic="new")
        assert np.isfinite(fitted.predict_interval(new)).all()
        assert 0 <= fitted.predict(new)[0] <= 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [LogisticMixedModel, GaussianMixedModel])
def test_useless_features(kind):
    data = table(4, 15, 10, drawn(60)) | {"sampling": Sampling()}
    x = np.repeat(np.random.default_rng(0).normal(size=15), 4)
    X = data["X"].assign(a=x, b=2 * x, c=-x, constant=1.0, flag=x > 0)
    with np.errstate(all="raise", under="ignore"):
        finite_and_ordered(kind(kernels="auto").fit(**(data | {"X": X})).estimate())
        none = kind(kernels="auto").fit(**data)
        constant = kind(kernels=["constant"]).fit(
            **(data | {"X": X[["model", "topic", "constant"]]})
        )
    assert len(none.kernel_variances_) == 0
    # A constant leaves nothing but the crossed effects; the two ways stop 1e-4 apart.
    np.testing.assert_allclose(constant.estimate().value, none.estimate().value, atol=1e-3)


def test_equal_accuracies_are_pooled():
    estimate = LogisticMixedModel().fit(**table(4, 40, 10, 6)).estimate()
    np.testing.assert_allclose(estimate.value, 0.6, atol=0.005)
    assert (estimate.high - estimate.low).max() < 0.25


def test_one_model_shrinks_to_its_mean():
    data = table(1, 40, 10, drawn(40, np.random.default_rng(1).beta(6, 3, 40)))
    fitted = LogisticMixedModel().fit(**data)
    assert fitted.topic_variance_ == 0
    assert fitted.interaction_variance_ > 0
    shrunk = (fitted.estimate().value - data["y"]) * (data["y"].mean() - data["y"])
    assert (shrunk >= -0.01).all()


@pytest.fixture(scope="module")
def shared():
    return make_items(n_models=5, n_topics=40, n_items=12, random_state=0)


def test_item_correlation_travels(shared):
    g = summarize_items(shared.items, ["model", "topic"])
    R = item_correlation(shared.items)
    pd.testing.assert_frame_equal(g.item_correlation, R)
    arguments = g.fit_args
    auto = LogisticMixedModel().fit(**arguments)
    given = LogisticMixedModel(item_correlation=R).fit(**arguments)
    np.testing.assert_array_equal(auto.estimate().low, given.estimate().low)
    wide = shared.items.pivot(index=["topic", "item"], columns="model", values="score")
    residuals = wide - wide.groupby("topic").transform("mean")
    # Raw correlations lie around the common one that they are drawn to.
    raw = residuals.corr().to_numpy()
    assert abs(auto.item_correlation_.mean() - raw.mean()) < 0.01
    own = summarize_items(shared.items.assign(item=range(len(shared.items))), ["model", "topic"])
    assert own.item_correlation is None


@pytest.mark.parametrize("column", ["model", "topic", "item"])
def test_correlation_of_rows_without_a_name_is_refused(shared, column):
    items = shared.items.copy()
    items[column] = items[column].astype(object)
    items.loc[3, column] = None
    message = f"Column '{column}' has no name in 1 of 2400 rows, the first is row 3"
    with pytest.raises(ValueError, match=message):
        item_correlation(items)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (np.inf, "1 of 2400 rows have a missing or infinite 'score'"),
        (np.nan, "1 of 2400 rows have a missing or infinite 'score'"),
        ("no", "'score' must be numeric, but row 3 has 'no'"),
    ],
)
def test_correlation_of_scores_that_are_no_numbers_is_refused(shared, score, message):
    items = shared.items.astype({"score": object if score == "no" else float})
    items.loc[3, "score"] = score
    with pytest.raises(ValueError, match=message):
        item_correlation(items)


def test_correlation_of_no_rows_or_a_lazy_frame_is_refused(shared):
    polars = pytest.importorskip("polars")
    with pytest.raises(ValueError, match="items has no rows"):
        item_correlation(shared.items.iloc[:0])
    with pytest.raises(ValueError, match="rows in memory, but LazyFrame is lazy"):
        item_correlation(polars.from_pandas(shared.items).lazy())


def test_features_with_a_correlation_can_be_joined(shared):
    X = summarize_items(shared.items, ["model", "topic"]).fit_args["X"]
    assert len(pd.concat([X, X])) == 2 * len(X)


def test_correlation_of_any_frame(shared):
    polars = pytest.importorskip("polars")
    R = item_correlation(polars.from_pandas(shared.items))
    np.testing.assert_allclose(R, item_correlation(shared.items), rtol=1e-12)


def test_more_precise_than_direct_and_covered():
    ratios, hits = [], []
    for seed in range(8):
        data = make_items(n_models=5, n_topics=40, n_items=10, random_state=seed)
        g = summarize_items(data.items, ["model", "topic"])
        truth = data.truth.loc[g.labels].to_numpy()
        estimate = LogisticMixedModel().fit(**g.fit_args).estimate()
        direct = DirectEstimator().fit(**g.fit_args).estimate()
        ratios.append(np.mean((estimate.value - truth) ** 2) / np.mean((direct.value - truth) ** 2))
        hits.append(np.mean((estimate.low <= truth) & (truth <= estimate.high)))
    assert max(ratios) < 0.8
    # Held to the low side only: the calibration widens.
    assert np.mean(hits) > 0.95 - 3.3 * np.std(hits, ddof=1) / np.sqrt(8)


def test_calibration_only_widens(groups):
    calibrated = LogisticMixedModel().fit(**groups)
    plain = LogisticMixedModel(calibration=None).fit(**groups)
    assert plain.calibration_ == 1
    assert calibrated.calibration_ >= 1
    np.testing.assert_array_equal(calibrated.estimate().value, plain.estimate().value)
    assert (calibrated.estimate().low <= plain.estimate().low).all()


@pytest.mark.parametrize(
    ("kind", "scale"), [(LogisticMixedModel, logit), (GaussianMixedModel, np.positive)]
)
def test_calibration_multiplies_posterior_variances(kind, scale, groups):
    fitted, new = kind().fit(**groups), groups["X"].assign(topic="new")

    def widths():
        estimate = fitted.estimate(0.5)
        ends = (estimate.low, estimate.high), fitted.predict_interval(new, confidence_level=0.5).T
        return np.array([scale(high) - scale(low) for low, high in ends])

    before = widths()
    fitted.calibration_ *= 2
    assert_allclose(widths(), np.sqrt(2) * before)


@pytest.mark.parametrize("kind", [LogisticMixedModel, GaussianMixedModel])
def test_models_of_one_topic_are_exchangeable(kind):
    data = table(6, 1, 10, drawn(6))
    found, expected = (
        kind().fit(**data | {"X": X}).estimate().to_frame()
        for X in (data["X"], data["X"][["topic"]].assign(topic=list("abcdef")))
    )
    assert_allclose(found[["value", "low"]], expected[["value", "low"]])


def kernels_between(X, others, reference):
    """Smooth, linear and linear within a model, written out."""
    center, scale = reference[["a", "b"]].mean(), reference[["a", "b"]].std(ddof=0)
    x, y, r = (((t[["a", "b"]] - center) / scale).to_numpy() for t in (X, others, reference))
    distances = np.sum((r[:, None] - r) ** 2, axis=2)
    bandwidth = np.median(distances[distances > 1e-9])
    same = np.equal.outer(X["model"].to_numpy(), others["model"].to_numpy())
    smooth = np.exp(-np.sum((x[:, None] - y) ** 2, axis=2) / bandwidth)
    return np.array([smooth, x @ y.T / 2, np.where(same, x @ y.T / 2, 0)])


@pytest.mark.usefixtures("at_the_maximum")
def test_new_groups_against_explicit_matrices():
    rng = np.random.default_rng(3)
    topic, model = np.divmod(np.arange(90), 3)
    X = pd.DataFrame({"model": np.array(list("ABC"))[model], "topic": topic})
    X["a"], X["b"] = rng.normal(size=(2, 30))[:, topic]
    z = 0.3 * model + np.sin(X["a"]) + (model - 1) * X["b"] + 0.5 * rng.normal(size=30)[topic]
    z = z + 0.3 * rng.normal(size=90)
    mixed_model = GaussianMixedModel(kernels="auto", calibration=None).fit(X, z, 0.05)
    fit, scale = mixed_model._result, np.std(z)
    variances = [fit.topic_variance, fit.interaction_variance, *fit.factor_variances]
    variances = np.array(variances) / scale**2
    assert (variances[[0, 2, 4]] > 1e-4).all()  # what is compared below is not nothing
    same_topic = np.equal.outer(topic, topic).astype(float)
    kernels = np.array([same_topic, np.eye(90), *kernels_between(X, X, X)])
    design = np.equal.outer(model, np.arange(3)).astype(float)
    noise = 0.05 / scale**2 * np.eye(90)
    twin = DenseMixedModel((z - z.mean()) / scale, noise, design, kernels, 1e-8)
    new = pd.DataFrame({"model": list("AACD"), "topic": [-1, -2, -3, -4]})
    new["a"], new["b"] = [0.1, 4.0, -1.0, 0.5], [-0.3, 0.2, 3.0, 1.0]
    known = (new["model"] != "D").to_numpy()
    new_design = np.where(known[:, None], new["model"].to_numpy()[:, None] == list("ABC"), 1 / 3)
    cross = np.tensordot(variances[2:], kernels_between(new, X, X), 1)
    own = np.einsum("j,jgg->g", variances[2:], kernels_between(new, new, X)) + variances[:2].sum()
    mean, variance = twin.posterior(variances, cross, own, new_design.astype(float))
    effects = mixed_model.model_effects_.to_numpy()
    expected = scale**2 * variance + np.where(known, 0, np.var(effects, ddof=1) * 4 / 3)
    assert_allclose(mixed_model.predict(new), z.mean() + scale * mean, rtol=1e-4)
    ends = mixed_model.predict_interval(new, confidence_level=0.9)
    assert_allclose(ends[:, 1] - ends[:, 0], 2 * norm.ppf(0.95) * np.sqrt(expected), rtol=1e-4)


def test_kernels_use_what_features_say():
    rng = np.random.default_rng(0)
    topic, model = np.divmod(np.arange(200), 4)
    x = np.linspace(-2, 2, 50)
    p = 1 / (1 + np.exp(-(1.5 * np.sin(2 * x)[topic] + 0.3 * rng.normal(size=200))))
    X = pd.DataFrame({"model": model.astype(str), "topic": topic.astype(str), "x": x[topic]})
    k = rng.binomial(8, p)
    with_kernels = LogisticMixedModel(kernels="auto").fit(X, k / 8, n=np.full(200, 8))
    without = LogisticMixedModel().fit(X, k / 8, n=np.full(200, 8))
    error = [np.mean((m.estimate().value - p) ** 2) for m in (with_kernels, without)]
    assert error[0] < 0.9 * error[1]
    new = pd.DataFrame({"model": "0", "topic": "new", "x": [0.785, -0.785]})
    np.testing.assert_allclose(with_kernels.predict(new), [0.8, 0.2], atol=0.12)


def test_tables_of_codes_and_frames_agree(groups):
    fitted = LogisticMixedModel().fit(**groups)
    model = pd.factorize(groups["X"]["model"])[0]
    topic = pd.factorize(groups["X"]["topic"])[0]
    k = np.round(groups["y"] * groups["n"])
    fit = mixed.crossed_logit(k, groups["n"], model, topic)
    np.testing.assert_allclose(fitted.estimate().value, fit.score, rtol=1e-9)


@pytest.mark.parametrize("family", [LogisticMixedModel, GaussianMixedModel])
def test_a_new_group_may_be_unlike_the_fitted_ones(family):
    rng = np.random.default_rng(0)
    topic, model = np.divmod(np.arange(80), 4)
    X = pd.DataFrame({"model": model, "topic": topic}).astype(str)
    n = np.full(80, 20)
    z = rng.binomial(n, rng.beta(25, 5, 80)) / n
    fitted = family().fit(X, z, sigma2=(z * n + 1) / 22 * (1 - (z * n + 1) / 22) / n, n=n)
    new = pd.DataFrame({"model": ["0", "0"], "topic": ["new", "newer"]})
    told = {"z": [0.1, 0.85], "sigma2": [0.006, 0.006], "n": [20, 20]}
    broken, ordinary = fitted.predict(new, **told)
    assert broken < 0.2 and abs(ordinary - 0.85) < 0.03
    low, high = fitted.predict_interval(new, **told).T
    assert low[0] < 0.1 < high[0] < 0.4 and high[1] - low[1] < 0.25
