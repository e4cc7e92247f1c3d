"""The mixed model as an estimator: contract, edge cases, new groups, outliers, fall-back."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference.linear_mixed_dense import DenseMixedModel
from scipy.optimize import brentq
from scipy.special import logit
from scipy.stats import norm
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from skbench import MixedModel, Sampling
from skbench.stats.intervals.binomial import sampling_variance

OWN_ITEMS, CONTINUOUS = Sampling("binomial", items_shared=False), Sampling("continuous")


class CountedMixedModel(MixedModel):
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


@parametrize_with_checks([MixedModel(sampling_variance=1.0), CountedMixedModel(kernels=None)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


FAMILIES = "binomial", "gaussian"
EVERY = [MixedModel(family, kernels=kernels) for family in FAMILIES for kernels in ("auto", None)]
every_estimator = pytest.mark.parametrize("estimator", EVERY, ids=str)


@pytest.fixture(scope="module")
def groups():
    """20 topics x 3 models of right and wrong answers, with a feature that says something."""
    rng = np.random.default_rng(5)
    topic, model = np.divmod(np.arange(60), 3)
    n = rng.integers(5, 40, size=60)
    X = pd.DataFrame(
        {"topic": [f"t{t:02d}" for t in topic], "model": np.array(list("ABC"))[model]},
        index=pd.Index([f"group {i}" for i in range(60)], name="group"),
    )
    X["difficulty"] = rng.uniform(size=20)[topic]
    k = rng.binomial(n, 0.8 - 0.4 * X["difficulty"] + 0.1 * (X["model"] == "B"))
    metadata = {"groups": X["topic"], "sampling": Sampling("binomial", items_shared=True)}
    return {"X": X, "y": k / n, "sigma2": sampling_variance(k, n), "n": n, **metadata}


def finite_and_ordered(estimate):
    numbers = estimate.to_frame()[["value", "low", "high", "standard_error"]].to_numpy()
    assert np.isfinite(numbers).all()
    assert (numbers >= 0).all() and (numbers[:, :3] <= 1).all()
    assert ((estimate.low <= estimate.value) & (estimate.value <= estimate.high)).all()
    assert (estimate.low < estimate.high).all()


@every_estimator
def test_estimates_level_pickle_and_inputs(estimator, groups):
    before = groups["X"].copy()
    fitted = clone(estimator).fit(**groups)
    estimate, narrow = fitted.estimate(0.9), fitted.estimate(0.5)
    assert estimate.labels.equals(groups["X"].index)
    assert estimate.guarantee == "average over groups"
    finite_and_ordered(estimate)
    assert (estimate.high - estimate.low > narrow.high - narrow.low).all()
    assert_array_equal(clone(estimator).fit_predict(**groups), estimate.value)
    again = pickle.loads(pickle.dumps(fitted)).estimate(0.9)
    assert_array_equal(again.low, estimate.low)
    pd.testing.assert_frame_equal(groups["X"], before)


@every_estimator
def test_names_of_columns_do_not_matter(estimator, groups):
    fitted = clone(estimator).fit(**groups)
    named = groups["X"].rename(columns={"topic": "subject", "model": "system"})
    renamed = clone(estimator).set_params(topic="subject", model="system")
    renamed.fit(**groups | {"X": named})
    assert_array_equal(renamed.estimate().low, fitted.estimate().low)
    assert_array_equal(renamed.predict(named), fitted.predict(groups["X"]))


def test_topics_come_from_groups_or_from_their_column(groups):
    by_column = MixedModel().fit(**groups | {"groups": None})
    by_groups = MixedModel().fit(**groups | {"X": groups["X"].drop(columns="topic")})
    assert_allclose(by_groups.estimate().low, by_column.estimate().low, rtol=1e-12)
    assert list(by_groups.topics_) == list(by_column.topics_)
    codes = groups["X"]["topic"].factorize()[0]
    assert_array_equal(
        MixedModel().fit(**groups | {"groups": codes}).estimate().low, by_column.estimate().low
    )


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
    own = {name: groups["y" if name == "z" else name][:4] for name in ("z", "sigma2", "n")}
    posterior, ends = fitted.predict(X, **own), fitted.predict_interval(X, **own)
    prior = fitted.predict(X)
    # A mean accuracy is between its prior and the direct one up to the bend of the scale.
    bend = 0.005 if fitted.family_ == "binomial" else 1e-9
    assert (posterior >= np.minimum(prior, own["z"]) - bend).all()
    assert (posterior <= np.maximum(prior, own["z"]) + bend).all()
    assert (np.ptp(ends, axis=1) < width[2]).all()
    assert ((ends >= 0) & (ends <= 1)).all()


def test_counts_need_no_variances(groups):
    fitted = MixedModel().fit(**groups)
    assert fitted.family_ == "binomial"
    without = MixedModel().fit(**groups | {"sigma2": None})
    assert_array_equal(without.estimate().high, fitted.estimate().high)
    X, z, sigma2, n = (groups[name][:4] for name in ("X", "y", "sigma2", "n"))
    assert_array_equal(fitted.predict(X, z=z, n=n), fitted.predict(X, z, sigma2, n))
    ends = fitted.predict_interval(X, z, sigma2, n)
    assert_array_equal(fitted.predict_interval(X, z=z, n=n), ends)
    with pytest.raises(ValueError):
        fitted.predict(X, z)
    with pytest.raises(ValueError):
        MixedModel("gaussian").fit(**groups | {"sigma2": None})


def correlated(matrix, names="ABC"):
    frame = pd.DataFrame(matrix, list(names), list(names))
    return {"sampling": Sampling("binomial", items_shared=True, item_correlation=frame)}


TWICE = pd.DataFrame({"topic": ["t0"] * 60, "model": np.tile(list("ABC"), 20)})
PROMPTS = TWICE.assign(topic=np.repeat(range(10), 6), prompt=np.tile(np.repeat(["p", "q"], 3), 10))
REFUSED = [
    (MixedModel("binomial"), {"n": None}, 'family="gaussian"'),
    (MixedModel("binomial"), {"y": np.full(60, 0.123)}, 'family="gaussian"'),
    (MixedModel(), {"sigma2": None, "n": None, "sampling": None}, "sigma2"),
    (MixedModel(model="system"), {}, "model='system'"),
    (MixedModel(topic="subject"), {}, "topic='subject'"),
    (MixedModel(kernels=["missing"]), {}, "'missing'"),
    (MixedModel(kernels=["x"]), {"X": np.ones((60, 1)), "groups": None}, "X .*array"),
    (MixedModel(), {"groups": np.repeat([0, 1], 30)}, "groups.*'topic'"),
    (MixedModel(), {"X": TWICE, "groups": None}, "'A'.*'t0'.*prompt"),
    (MixedModel(), {"X": PROMPTS, "groups": None}, "model=.*topic=None"),
    (MixedModel(), correlated([[1.0]], "A"), "'B'"),
]


@pytest.mark.parametrize(("estimator", "changed", "message"), REFUSED)
def test_refuses(estimator, changed, message, groups):
    with pytest.raises(ValueError, match=message):
        estimator.fit(**groups | changed)


@pytest.mark.parametrize("missing", [np.inf, -np.inf])
def test_refuses_features_that_are_no_numbers(groups, missing):
    X = groups["X"].assign(difficulty=[missing] + 59 * [1.0])
    with pytest.raises(ValueError):
        MixedModel().fit(**groups | {"X": X})


@every_estimator
@pytest.mark.parametrize("column", ["model", "topic"])
def test_models_and_topics_need_names(estimator, column, groups):
    X = groups["X"].copy()
    X.loc["group 7", column] = None
    message = f"'{column}' .*1 of 60 rows .*'group 7'"
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(**groups | {"X": X, "groups": None})
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(**groups).predict(X)


def test_warns_where_topics_of_several_models_are_not_known(groups):
    X, unshared = groups["X"].drop(columns="topic"), {"sampling": OWN_ITEMS, "groups": None}
    with pytest.warns(UserWarning, match="'topic'"):
        found = MixedModel().fit(**groups | unshared | {"X": X})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        confirmed = MixedModel(topic=None).fit(**groups | unshared | {"X": X})
        MixedModel().fit(**groups | unshared | {"X": X.drop(columns="model")})
    assert_array_equal(confirmed.estimate().low, found.estimate().low)
    assert found.topic_variance_ == 0


def table(n_models, n_topics, n, k, missing=()):
    topic, model = np.divmod(np.arange(n_models * n_topics), n_models)
    X = pd.DataFrame({"model": [f"m{m:03d}" for m in model], "topic": [f"t{t}" for t in topic]})
    keep = ~np.isin(np.arange(len(X)), list(missing))
    n = np.broadcast_to(np.asarray(n), len(X))[keep]
    k = np.broadcast_to(np.asarray(k), len(X))[keep]
    data = {"X": X[keep], "y": k / n, "sigma2": sampling_variance(k, n), "n": n}
    return data | {"sampling": OWN_ITEMS}


def drawn(size, p=0.6, n=10, seed=0):
    return np.random.default_rng(seed).binomial(n, p, size)


FIRST_MODEL_WRONG = drawn(24) * (np.arange(24) % 3 > 0)
FIRST_TOPIC_RIGHT = np.where(np.arange(60) < 3, 10, drawn(60))
MILLIONS = 10 ** np.tile([0, 3, 6], 14), np.tile([1, 999, 300_000], 14)
ALONE = set(range(18)) - {0, 4, 8, 9, 13, 17}
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
    "each topic with one model": table(3, 6, 10, drawn(18), missing=ALONE),
    "equal accuracies": table(4, 15, 10, 6),
    "one to a million items": table(3, 14, *MILLIONS),
}


@pytest.mark.filterwarnings("error", "ignore:.*direct estimates")
@pytest.mark.parametrize("common", [None, 0.3])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name == "200 models" else ()) for name in EDGES],
)
def test_edges(name, family, common):
    data, shared = EDGES[name], {}
    if common:
        models = data["X"]["model"].unique()
        matrix = common + (1 - common) * np.eye(len(models))
        shared = correlated(matrix, models) | {"groups": data["X"]["topic"]}
    with np.errstate(all="raise", under="ignore"):
        fitted = MixedModel(family).fit(**data | shared)
        finite_and_ordered(fitted.estimate())
        assert np.isfinite(fitted.sample(10, random_state=0).values).all()
        new = data["X"].iloc[:1].assign(topic="new")
        assert np.isfinite(fitted.predict_interval(new)).all()
        assert 0 <= fitted.predict(new)[0] <= 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("family", FAMILIES)
def test_useless_features(family):
    data = table(4, 15, 10, drawn(60))
    x = np.repeat(np.random.default_rng(0).normal(size=15), 4)
    X = data["X"].assign(a=x, b=2 * x, c=-x, constant=1.0, flag=x > 0)
    with np.errstate(all="raise", under="ignore"):
        finite_and_ordered(MixedModel(family).fit(**data | {"X": X}).estimate())
        none = MixedModel(family).fit(**data)
        constant = MixedModel(family, kernels=["constant"]).fit(**data | {"X": X})
    assert len(none.kernel_variances_) == 0
    assert_allclose(constant.estimate().value, none.estimate().value, rtol=1e-12)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_exact_scores_are_kept_in_any_unit(unit):
    z, sigma2 = unit * np.arange(8.0), unit**2 * np.where(np.arange(8) < 4, 0.0, 0.01)
    with np.errstate(all="raise", under="ignore"):
        e = MixedModel().fit(np.zeros((8, 1)), z, sigma2, sampling=CONTINUOUS).estimate()
    assert np.isfinite(e.low).all() and np.isfinite(e.high).all()
    assert_allclose(e.value[:4], z[:4], atol=1e-4 * unit)


def test_equal_accuracies_are_pooled():
    estimate = MixedModel().fit(**table(4, 40, 10, 6)).estimate()
    assert_allclose(estimate.value, 0.6, atol=0.005)
    assert (estimate.high - estimate.low).max() < 0.25


def test_one_model_shrinks_to_its_mean():
    data = table(1, 40, 10, drawn(40, np.random.default_rng(1).beta(6, 3, 40)))
    fitted = MixedModel().fit(**data)
    assert fitted.topic_variance_ == 0
    assert fitted.interaction_variance_ > 0
    shrunk = (fitted.estimate().value - data["y"]) * (data["y"].mean() - data["y"])
    assert (shrunk >= -0.01).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_models_of_one_topic_are_exchangeable(family):
    data = table(6, 1, 10, drawn(6))
    one = data["X"], data["X"][["topic"]].assign(topic=list("abcdef"))
    found, expected = (MixedModel(family).fit(**data | {"X": X}).estimate() for X in one)
    assert_allclose([found.value, found.low], [expected.value, expected.low])


@pytest.mark.parametrize(("family", "scale"), [("binomial", logit), ("gaussian", np.positive)])
def test_inflation_widens_on_the_scale_of_the_model(family, scale, groups):
    fitted, new = MixedModel(family).fit(**groups), groups["X"].assign(topic="new")
    assert 1 <= fitted.interval_inflation_ <= 2

    def widths():
        e = fitted.estimate(0.5)
        ends = (e.low, e.high), fitted.predict_interval(new, confidence_level=0.5).T
        return np.array([scale(high) - scale(low) for low, high in ends])

    before = widths(), fitted.estimate()
    fitted.interval_inflation_ *= 1.5
    assert_allclose(widths(), 1.5 * before[0])
    assert_array_equal(fitted.estimate().value, before[1].value)
    assert_allclose(fitted.estimate().standard_error, 1.5 * before[1].standard_error)


def kernels_between(X, others, reference):
    """Smooth, linear and linear within a model, written out."""
    center, scale = reference[["a", "b"]].mean(), reference[["a", "b"]].std(ddof=0)
    x, y, r = (((t[["a", "b"]] - center) / scale).to_numpy() for t in (X, others, reference))
    distances = np.sum((r[:, None] - r) ** 2, axis=2)
    bandwidth = np.median(distances[distances > 1e-9])
    same = np.equal.outer(X["model"].to_numpy(), others["model"].to_numpy())
    smooth = np.exp(-np.sum((x[:, None] - y) ** 2, axis=2) / bandwidth)
    return np.array([smooth, x @ y.T / 2, np.where(same, x @ y.T / 2, 0)])


def mixture_quantile(shares, mean, variances, probability):
    def excess(x):
        return shares @ norm.cdf((x - mean) / np.sqrt(variances)) - probability

    return brentq(excess, mean - 50, mean + 50, xtol=1e-12)


def test_new_groups_against_explicit_matrices():
    rng = np.random.default_rng(3)
    topic, model = np.divmod(np.arange(90), 3)
    X = pd.DataFrame({"model": np.array(list("ABC"))[model], "topic": topic})
    X["a"], X["b"] = rng.normal(size=(2, 30))[:, topic]
    z = 0.3 * model + np.sin(X["a"]) + (model - 1) * X["b"] + 0.5 * rng.normal(size=30)[topic]
    z = z + 0.3 * rng.normal(size=90)
    fitted, scale = MixedModel().fit(X, z, 0.05, sampling=CONTINUOUS), np.std(z)
    assert fitted.family_ == "gaussian"
    topics, own, _, _, *kernels = fitted._found.solution.variances
    assert_allclose(scale**2 * np.array(kernels), fitted.kernel_variances_)
    assert min(topics, own, *kernels) > 1e-4  # what is compared below is not nothing
    weights = fitted._found.solution.weights
    of_topic, of_group = 1 / weights.topic[topic], 1 / weights.group
    same_topic = np.equal.outer(topic, topic) * of_topic
    prior = np.array([same_topic, np.diag(of_group), *kernels_between(X, X, X)])
    variances, design = np.array([topics, own, *kernels]), np.equal.outer(model, np.arange(3))
    units, noise = (z - z.mean()) / scale, 0.05 / scale**2 * np.eye(90)
    dense = DenseMixedModel(units, noise, design.astype(float), prior, 2.5**-2)
    new = pd.DataFrame({"model": list("AACDB"), "topic": [-1, -2, -3, -4, 7]})
    new["a"], new["b"] = [0.1, 4.0, -1.0, 0.5, 0.3], [-0.3, 0.2, 3.0, 1.0, 0.7]
    known = (new["model"] != "D").to_numpy()
    new_design = np.where(known[:, None], new["model"].to_numpy()[:, None] == list("ABC"), 1 / 3)
    old = new["topic"].to_numpy() == 7
    of_old_topic = np.outer(old, topic == 7) * topics * of_topic
    cross = np.tensordot(kernels, kernels_between(new, X, X), 1) + of_old_topic
    around = np.einsum("j,jgg->g", kernels, kernels_between(new, new, X))
    around = around + old * topics * of_topic[21]
    mean, variance = dense.posterior(variances, cross, around, new_design.astype(float))
    effects = fitted.model_effects_.to_numpy() / scale
    of_models = (1 + np.sum((effects - effects.mean()) ** 2)) / (3 - 0.5)
    variance = variance + np.where(known, 0, of_models * 4 / 3)
    assert_allclose(fitted.predict(new), z.mean() + scale * mean, rtol=1e-4)
    # Interactions have two scales, new topics those of a t with 4 degrees of freedom.
    w = np.geomspace(0.004, 4.5, 12)
    of_scales = np.outer([1 - fitted.outlier_share_, fitted.outlier_share_], w**2 * np.exp(-2 * w))
    of_scales = of_scales.ravel() / of_scales.sum()
    ends = fitted.predict_interval(new, confidence_level=0.9)
    for g in range(5):
        every = variance[g] + np.repeat([own, 2.5**2], 12) + np.tile(topics / w, 2) * (not old[g])
        expected = [mixture_quantile(of_scales, mean[g], every, p) for p in (0.05, 0.95)]
        away = fitted.interval_inflation_ * (np.array(expected) - mean[g])
        assert_allclose(ends[g], z.mean() + scale * (mean[g] + away), rtol=1e-4)


def test_fitted_groups_against_explicit_matrices():
    rng = np.random.default_rng(4)
    topic, model = np.divmod(np.arange(60), 3)
    X = pd.DataFrame({"model": np.array(list("ABC"))[model], "topic": topic})
    z = 0.3 * model + 0.5 * rng.normal(size=20)[topic] + 0.4 * rng.normal(size=60)
    z[7] -= 4
    fitted, scale = MixedModel().fit(X, z, 0.05, sampling=CONTINUOUS), np.std(z)
    topics, own = fitted._found.solution.variances[:2]
    weights, design = (
        fitted._found.solution.weights,
        np.equal.outer(model, np.arange(3)).astype(float),
    )
    same_topic = np.equal.outer(topic, topic) / weights.topic[topic]
    chances, value = fitted.outlier_probability_, fitted.estimate().value
    assert chances[7] > 0.9
    for g in (0, 7, 8):
        means = []
        for variance in (own, 2.5**2):
            of_group = np.where(np.arange(60) == g, variance, own / weights.group)
            prior = np.array([same_topic, np.diag(of_group)])
            noise = 0.05 / scale**2 * np.eye(60)
            dense = DenseMixedModel((z - z.mean()) / scale, noise, design, prior, 2.5**-2)
            means.append(dense.posterior(np.array([topics, 1.0]))[0][g])
        expected = (1 - chances[g]) * means[0] + chances[g] * means[1]
        assert_allclose(value[g], z.mean() + scale * expected, rtol=1e-6)
