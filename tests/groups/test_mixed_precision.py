"""The mixed model on simulated sets: precision, coverage, outliers, fall-back, draws."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from scipy.stats import norm, spearmanr
from sklearn.exceptions import ConvergenceWarning

from skbench import DirectEstimator, MixedModel, Sampling, make_items, summarize_items

OWN_ITEMS = Sampling("binomial", items_shared=False)


def simulated(seed, *, features=True, **shape):
    """A summary of simulated items, and the true accuracies."""
    data = make_items(**shape, random_state=seed)
    features = data.features if features else None
    g = summarize_items(data.items, ["model", "topic"], features=features)
    return g, data.truth.loc[list(g.labels)].to_numpy()


def test_item_correlation_travels_and_counts():
    g, truth = simulated(0, n_models=5, n_topics=40, n_items=12)
    errors = []
    for sampling in (g.sampling, Sampling("binomial", items_shared=True)):
        fitted = MixedModel().fit(**g.fit_args | {"sampling": sampling})
        value, low, high, _ = fitted.estimate().to_frame().iloc[:, :4].to_numpy(float).T
        errors.append(np.mean(np.square((value - truth) / (high - low))))
        assert (fitted.shared_effect_variance_ > 0) == (sampling is g.sampling)
    # Forgetting the items that models share takes the luck of a topic's items for the topic.
    assert errors[0] < errors[1]


@pytest.mark.slow
@pytest.mark.parametrize("features", [True, False])
def test_more_precise_than_direct_and_covered(features):
    ratios, hits = [], []
    for seed in range(8):
        g, truth = simulated(seed, n_models=5, n_topics=40, n_items=10, features=features)
        e = MixedModel().fit(**g.fit_args).estimate()
        ratios.append(np.mean((e.value - truth) ** 2) / np.mean((g.z - truth) ** 2))
        hits.append(np.mean((e.low <= truth) & (truth <= e.high)))
    assert max(ratios) < (0.6 if features else 0.8)
    # Held to the low side only: inflation widens. Groups of a topic are dependent.
    assert np.mean(hits) > 0.95 - 3.3 * np.std(hits, ddof=1) / np.sqrt(8)


@pytest.mark.slow
def test_stein_estimates_the_error():
    """Mean of `squared_error_` against the truth, over 20 draws."""
    differences = []
    for seed in range(20):
        g, truth = simulated(seed, n_models=3, n_topics=40, n_items=12)
        fitted = MixedModel().fit(**g.fit_args)
        error = np.mean((fitted.estimate().value - truth) ** 2)
        differences.append((np.mean(fitted.squared_error_) - error) / np.mean(g.sigma2))
    mean, sem = np.mean(differences), np.std(differences, ddof=1) / np.sqrt(20)
    # Two variances are learned and scales are curved: within .1 of the sampling variance.
    assert abs(mean) < 0.1 + 3 * sem


def finite_and_ordered(estimate):
    numbers = estimate.to_frame()[["value", "low", "high", "standard_error"]].to_numpy(float)
    assert np.isfinite(numbers).all()
    assert ((estimate.low <= estimate.value) & (estimate.value <= estimate.high)).all()


@pytest.mark.parametrize("k", [0, 10])
def test_all_right_or_all_wrong(k):
    data = make_items(3, 8, 10, random_state=0)
    g = summarize_items(data.items.assign(score=k // 10), ["model", "topic"])
    estimate = MixedModel().fit(**g.fit_args).estimate()
    assert (np.where(k == 0, estimate.low, estimate.high) == k / 10).all()
    assert np.abs(estimate.value - k / 10).max() < 0.1
    direct = DirectEstimator().fit(**g.fit_args).estimate()
    assert (estimate.high - estimate.low).max() < 0.5 * (direct.high - direct.low).min()


def test_ends_are_0_or_1_where_all_answers_are_alike():
    g, _ = simulated(0, n_models=4, n_topics=20, n_items=4)
    e, (right, wrong) = MixedModel().fit(**g.fit_args).estimate(), (g.z == 1, g.z == 0)
    assert right.sum() > 3 and wrong.sum() > 3
    assert_array_equal(e.high == 1, right)
    assert_array_equal(e.low == 0, wrong)


def test_clustered_items():
    data = make_items(3, 15, 24, cluster_size=4, cluster_correlation=0.9, random_state=2)
    g = summarize_items(data.items, ["model", "topic"], cluster="cluster", features=data.features)
    fitted = MixedModel().fit(**g.fit_args)
    assert fitted.family_ == "gaussian"
    finite_and_ordered(fitted.estimate())
    with pytest.raises(ValueError):
        fitted.estimate(population=100)


def test_features_may_be_text_or_missing():
    g, _ = simulated(0, n_models=3, n_topics=16, n_items=10)
    topic, own = g.X["topic"].astype(str), g.fit_args
    kind = np.where(topic < "topic-08", "easy", "hard")
    features = g.X.assign(kind=kind, length=g.X["feature"].where(topic != "topic-03"))
    fitted = MixedModel().fit(**own | {"X": features})
    finite_and_ordered(fitted.estimate())
    assert np.isfinite(fitted.predict(features.assign(kind="new"))).all()
    filled = features.assign(length=features["length"].fillna(features["length"].mean()))
    other = MixedModel().fit(**own | {"X": filled}).estimate()
    # Only the spread of the feature is another: a mean stands where nothing was known.
    assert_allclose(other.value, fitted.estimate().value, atol=0.02)


def test_kernels_use_features():
    rng = np.random.default_rng(0)
    topic, model = np.divmod(np.arange(200), 4)
    x = np.linspace(-2, 2, 50)
    p = expit(1.5 * np.sin(2 * x)[topic] + 0.3 * rng.normal(size=200))
    X = pd.DataFrame({"model": model.astype(str), "topic": topic.astype(str), "x": x[topic]})
    data = {"y": rng.binomial(8, p) / 8, "n": np.full(200, 8), "sampling": OWN_ITEMS}
    fitted = [MixedModel(kernels=kernels).fit(X, **data) for kernels in (["x"], None)]
    error = [np.mean((m.estimate().value - p) ** 2) for m in fitted]
    assert error[0] < 0.9 * error[1]
    new = pd.DataFrame({"model": "0", "topic": "new", "x": [0.785, -0.785]})
    assert_allclose(fitted[0].predict(new), [0.8, 0.2], atol=0.12)


def crossed(n_models, n_topics):
    topic, model = np.divmod(np.arange(n_models * n_topics), n_models)
    return pd.DataFrame({"model": model, "topic": topic}).astype(str), model, topic


def broken_set(n_topics, n=20, seed=0):
    """Right answers of 4 models near .85, but for one cell at .1, as a summary's arguments."""
    X, _, _ = crossed(4, n_topics)
    p = np.where(np.arange(len(X)) == 1, 0.1, 0.85)
    z = np.random.default_rng(seed).binomial(n, p) / n
    return {"X": X, "y": z, "n": np.full(len(X), n), "sampling": OWN_ITEMS}


@pytest.mark.parametrize("family", ["binomial", "gaussian"])
def test_a_broken_cell_is_covered_listed_and_in_the_frame(family):
    data = broken_set(20) | {"sigma2": np.full(80, 0.006)}
    fitted = MixedModel(family).fit(**data)
    e = fitted.estimate()
    assert e.is_outlying.tolist() == [False, True] + [False] * 78
    assert e.low[1] <= 0.1 <= e.high[1] and abs(e.value[1] - 0.1) < 0.1
    assert_array_equal(e.to_frame()["outlier_probability"], e.outlier_probability)
    assert_array_equal(fitted.outlier_probability_, e.outlier_probability)
    assert fitted.outlier_probability_[1] > 0.9
    # It is the cell, and not its topic.
    assert fitted.topic_outlier_probability_.max() < 0.3
    # The others are shrunk as if it were not there.
    others = np.arange(80) != 1
    errors = (np.mean(np.square(x - 0.85)[others]) for x in (e.value, data["y"]))
    assert next(errors) < 0.3 * next(errors)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "least"), [(10, 0.75), (20, 0.85), (50, 0.85)])
def test_broken_cells_are_listed_and_covered(n, least):
    hits, listed, false = [], [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, _, topic = crossed(4, 20)
        eta = 1.7 + 0.4 * rng.normal(size=20)[topic] + np.tile(0.2 * rng.normal(size=4), 20)
        p = expit(eta + 0.2 * rng.normal(size=80))
        odd = np.arange(80) == seed
        p[odd] = 0.1
        k = rng.binomial(n, p)
        e = MixedModel().fit(X, k / n, n=np.full(80, n), sampling=OWN_ITEMS).estimate()
        hits.append((e.low <= 0.1)[odd] & (0.1 <= e.high)[odd])
        listed.append(e.is_outlying[odd])
        false.append(np.mean(e.is_outlying[~odd]))
    print(f"n = {n}: covered {np.mean(hits):.3f}, listed {np.mean(listed):.3f}")
    # Lower ends of the bands of 60 sets at .93.
    assert np.mean(hits) >= 0.83
    assert np.mean(listed) >= least
    assert np.mean(false) <= 0.005


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("family", ["binomial", "gaussian"])
def test_a_broken_topic_is_listed_and_covered(family, seed):
    rng = np.random.default_rng(seed)
    X, model, topic = crossed(5, 30)
    p = expit(1.5 + 0.3 * model / 5 + 0.4 * rng.normal(size=30)[topic])
    p[topic == 7] = 0.05
    z = rng.binomial(20, p) / 20
    data = {"y": z, "sigma2": np.full(150, 0.006), "n": np.full(150, 20), "sampling": OWN_ITEMS}
    fitted = MixedModel(family).fit(X, **data)
    outlying, e = fitted.topic_outlier_probability_, fitted.estimate()
    assert outlying.idxmax() == "7" and outlying["7"] > 0.5
    assert outlying.drop("7").max() < 0.2
    assert not e.is_outlying.any()
    inside = (e.low <= p) & (p <= e.high)
    assert inside[topic == 7].all() and inside.mean() > 0.9


@pytest.mark.parametrize("family", ["binomial", "gaussian"])
def test_a_new_group_may_be_an_outlier(family):
    rng = np.random.default_rng(0)
    X, _, _ = crossed(4, 20)
    n = np.full(80, 20)
    z = rng.binomial(n, rng.beta(25, 5, 80)) / n
    sigma2 = (z * n + 1) / 22 * (1 - (z * n + 1) / 22) / n
    fitted = MixedModel(family).fit(X, z, sigma2, n, sampling=OWN_ITEMS)
    new = pd.DataFrame({"model": ["0", "0"], "topic": ["new", "newer"]})
    own = {"z": [0.1, 0.85], "sigma2": [0.006, 0.006], "n": [20, 20]}
    broken, ordinary = fitted.predict(new, **own)
    assert broken < 0.2 and abs(ordinary - 0.85) < 0.03
    low, high = fitted.predict_interval(new, **own).T
    assert low[0] < 0.1 < high[0] < 0.4 and high[1] - low[1] < 0.25


def sparse_failures(seed=0, often=0.3, low=0.02, high=0.98):
    """Nearly everything is right, or wrong: there is little to shrink toward."""
    X, _, _ = crossed(4, 20)
    rng = np.random.default_rng(seed)
    p = np.where(rng.random(80) < often, low, high)
    y = rng.binomial(10, p) / 10
    return {"X": X, "y": y, "n": np.full(80, 10), "sampling": OWN_ITEMS}, p


def test_moves_to_the_direct_estimates_where_these_are_better():
    data, _ = sparse_failures()
    with pytest.warns(UserWarning, match="100%.*squared error"):
        fitted = MixedModel().fit(**data)
    e = fitted.estimate()
    assert fitted.direct_weight_ == 1 and e.method == "mixed model, 100% direct"
    assert_allclose(e.value, data["y"])
    assert ((e.low <= e.value) & (e.value <= e.high)).all()
    ends = fitted.predict_interval(data["X"], data["y"], n=data["n"])
    assert ((ends[:, 0] <= data["y"]) & (data["y"] <= ends[:, 1])).all()


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_intervals_cover_where_estimates_are_moved(level):
    """Direct ones cover .95 of the groups at .99: one wrong of ten excludes .995."""
    hits = []
    for seed in range(12):
        data, truth = sparse_failures(seed, often=0.1, low=0.3, high=0.995)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            fitted = MixedModel().fit(**data)
        e = fitted.estimate(level)
        hits.append(np.mean((e.low <= truth) & (truth <= e.high)))
    # Groups of a set err together: the band is that of 12 sets' means. Conservative where counts
    # have few values, so held to the low side.
    assert np.mean(hits) > level - 3.3 * np.std(hits, ddof=1) / np.sqrt(12)


def test_moves_in_part(monkeypatch):
    X, z, n = (broken_set(20)[name] for name in ("X", "y", "n"))
    plain = MixedModel().fit(**broken_set(20))
    monkeypatch.setattr("skbench.stats.shrinkage.stein.weight_of_direct", lambda *_: 0.4)
    with pytest.warns(UserWarning, match="40%"):
        fitted = MixedModel().fit(**broken_set(20))
    e, own = fitted.estimate(), plain.estimate()
    assert_allclose(e.value, 0.6 * own.value + 0.4 * z)
    assert_allclose(e.low, np.minimum(own.low, e.value))
    assert_allclose(e.high, np.maximum(own.high, e.value))
    new = X.assign(topic="new")
    assert_allclose(fitted.predict(new), plain.predict(new))  # nothing is known but the model
    expected = 0.6 * plain.predict(new, z=z, n=n) + 0.4 * z
    assert_allclose(fitted.predict(new, z=z, n=n), expected)


def test_draws_of_few_topics_are_as_uncertain_as_the_direct_estimates():
    data = broken_set(2, n=10)
    with pytest.warns(UserWarning, match="topics"):
        fitted = MixedModel(random_state=0).fit(**data)
    direct = DirectEstimator().fit(**data)
    draws = fitted.sample(4000, random_state=0).values
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    e = direct.estimate()
    assert_allclose(fitted.estimate().low, e.low)
    # Jeffreys' intervals beside Wilson's.
    assert_allclose(high - low, e.high - e.low, rtol=0.25)
    whole, expected = fitted.estimate(population=40), direct.estimate(population=40)
    assert_allclose(whole.high - whole.low, expected.high - expected.low, atol=0.1)


def test_three_topics_never_widen():
    for seed in range(5):
        data = broken_set(3, n=10, seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            e = MixedModel().fit(**data).estimate()
        direct = DirectEstimator().fit(**data).estimate()
        assert np.mean(e.high - e.low) <= np.mean(direct.high - direct.low) + 1e-12


def test_warns_where_the_loop_did_not_converge(monkeypatch):
    monkeypatch.setattr("skbench.stats.mixed._fit._MOST_ROUNDS", 2)
    with pytest.warns(ConvergenceWarning, match="2 iterations"):
        fitted = MixedModel().fit(**broken_set(20))
    assert fitted.n_iter_ == 2
    finite_and_ordered(fitted.estimate())


N_DRAWS = 20_000
SAMPLED = {
    "counts": lambda: simulated(1, n_models=4, n_topics=20, n_items=8)[0].fit_args,
    "scores": lambda: scores_of(simulated(1, n_models=4, n_topics=20, n_items=8)[0]),
    "broken": lambda: broken_set(20),
}


def scores_of(g):
    return g.fit_args | {"sampling": Sampling("continuous", items_shared=True), "n": None}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:n ")
@pytest.mark.parametrize("name", SAMPLED)
def test_draws_have_the_law_of_the_intervals(name):
    data = SAMPLED[name]()
    fitted = MixedModel().fit(**data)
    draws, e = fitted.sample(N_DRAWS, random_state=0), fitted.estimate(0.9)
    assert draws.values.shape == (N_DRAWS, 80) and draws.kind == "posterior"
    assert draws.labels[0].equals(e.labels)
    below = np.stack(
        [np.mean(draws.values < e.low, axis=0), np.mean(draws.values > e.high, axis=0)]
    )
    # Where no answer is right the interval starts at 0, and where all are it ends at 1.
    at_end = np.stack([e.low == 0, e.high == 1])
    assert (below[at_end] == 0).all()
    # Four standard errors of 5%, for 160 of them.
    assert_allclose(below[~at_end], 0.05, atol=4 * np.sqrt(0.05 * 0.95 / N_DRAWS))
    assert_allclose(draws.values.mean(axis=0), e.value, atol=0.02)


def test_draws_are_reproducible_and_independent_of_the_order_of_rows():
    data = SAMPLED["counts"]()
    fitted, order = MixedModel().fit(**data), np.random.default_rng(0).permutation(80)
    first = fitted.sample(50, random_state=3)
    assert_array_equal(fitted.sample(50, random_state=3).values, first.values)
    assert (fitted.sample(50, random_state=4).values != first.values).any()
    changed = {name: data[name][order] for name in ("y", "sigma2", "n", "groups")}
    other = MixedModel().fit(**data | changed | {"X": data["X"].iloc[order]})
    second = other.sample(50, random_state=3)
    assert_allclose(second.values, first.values[:, order], rtol=1e-6)
    with pytest.raises(ValueError):
        fitted.sample(0)


def test_errors_of_one_topic_go_together():
    X, _, topic = crossed(4, 20)
    rng = np.random.default_rng(0)
    p = expit(0.5 + 1.2 * rng.normal(size=20)[topic] + 0.1 * rng.normal(size=80))
    data = {"y": rng.binomial(4, p) / 4, "n": np.full(80, 4), "sampling": OWN_ITEMS}
    draws = MixedModel().fit(X, **data).sample(4000, random_state=0).values
    correlation = spearmanr(draws).statistic
    same = np.equal.outer(topic, topic) & ~np.eye(80, dtype=bool)
    assert correlation[same].min() > 0.1
    assert correlation[same].mean() > 0.3
    other = ~np.equal.outer(topic, topic)
    assert abs(correlation[other].mean()) < 0.1


def answers(rng, p, n_items, correlation):
    """Right and wrong answers of models, in rows of items; errors have this correlation."""
    common = np.sqrt(correlation) * rng.normal(size=(n_items, 1))
    own = np.sqrt(1 - correlation) * rng.normal(size=(n_items, len(p)))
    right = common + own < norm.ppf(p)
    item, model = np.divmod(np.arange(right.size), len(p))
    names = [f"m{m:02d}" for m in model]
    columns = {
        "model": names,
        "topic": "distribution",
        "item": item,
        "score": right.ravel().astype(int),
    }
    return pd.DataFrame(columns)


@pytest.mark.slow
def test_models_of_one_topic_err_together():
    """The correlation of their errors was lost: intervals covered .79 of 20 models."""
    hits = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        p = expit(1 + 0.3 * rng.normal(size=20))
        g = summarize_items(answers(rng, p, 50, 0.6), ["model", "topic"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            e = MixedModel().fit(**g.fit_args).estimate()
        hits.append(np.mean((e.low <= p) & (p <= e.high)))
    # A topic's models err together, so the band is that of 40 sets' means.
    assert np.mean(hits) > 0.95 - 3.3 * np.std(hits, ddof=1) / np.sqrt(40)
    assert np.mean(hits) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("n_models", [1, 2, 4])
def test_models_that_were_not_fitted_are_covered(n_models):
    hits = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        topics, models = rng.normal(size=12) * 0.7, rng.normal(size=n_models + 1) * 0.8
        X, _, _ = crossed(n_models + 1, 12)
        model, topic = X["model"].astype(int), X["topic"].astype(int)
        p = expit(models[model] + topics[topic] + 0.3 * rng.normal(size=len(X)))
        fitted = (model < n_models).to_numpy()
        z = rng.binomial(50, p[fitted]) / 50
        n = np.full(fitted.sum(), 50)
        estimator = MixedModel().fit(X[fitted], z, n=n, sampling=OWN_ITEMS)
        low, high = estimator.predict_interval(X[~fitted]).T
        hits.append(np.mean((low <= p[~fitted]) & (p[~fitted] <= high)))
    # The groups of the new model are covered, or missed, together.
    assert np.mean(hits) > 0.95 - 3.3 * np.std(hits, ddof=1) / np.sqrt(30)
    assert np.mean(hits) > 0.88


def test_a_new_topic_after_a_single_one_is_uncertain():
    X, k, n = pd.DataFrame({"model": list("abc"), "topic": "distribution"}), [30, 33, 36], [50] * 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fitted = MixedModel().fit(X, np.array(k) / 50, n=n, sampling=OWN_ITEMS)
    low, high = fitted.predict_interval(X.assign(topic="art")).T
    assert (low < 0.25).all() and (high > 0.85).all()


@pytest.mark.parametrize("population", [20, 21, 200, 10_000])
def test_totals_of_groups_with_no_or_only_right_answers_end_at_0_and_1(population):
    X, _, _ = crossed(4, 20)
    z = np.where(np.arange(80) % 4 == 0, 1.0, 0.7)
    z[5] = 0.0
    e = (
        MixedModel()
        .fit(X, z, n=np.full(80, 20), sampling=OWN_ITEMS)
        .estimate(population=population)
    )
    assert (e.high[z == 1] == 1).all() and e.low[5] == 0


def test_draws_move_with_the_estimates():
    data, _ = sparse_failures()
    with pytest.warns(UserWarning, match="100%"):
        fitted = MixedModel().fit(**data)
    draws = fitted.sample(4000, random_state=0).values
    inside = (data["y"] > 0) & (data["y"] < 1)
    assert_allclose(draws.mean(axis=0)[inside], data["y"][inside], atol=0.03)


def test_warns_of_unknown_sampling():
    X, k, n = crossed(3, 8)[0], np.full(24, 7), np.full(24, 10)
    with pytest.warns(UserWarning, match="item_correlation"):
        MixedModel().fit(X, k / n, n=n, sampling=Sampling("binomial", items_shared=True))
    with pytest.warns(UserWarning, match=r"y \* n"):
        fitted = MixedModel().fit(X, k / n + 0.001, 0.02, n, sampling=OWN_ITEMS)
    assert fitted.family_ == "gaussian"


def test_scores_that_are_alike_are_as_uncertain_as_their_noise():
    """Their spread is the unit of the prior, which must not fall below the noise."""
    X, _, _ = crossed(4, 12)
    z = 0.5 + 0.001 * np.random.default_rng(0).normal(size=48)
    e = MixedModel().fit(X, z, 0.01, sampling=Sampling("continuous")).estimate()
    # The error of the mean of all 48 is .1 / sqrt(48).
    assert (e.high - e.low > 2 * 1.96 * 0.1 / np.sqrt(48)).all()
    alike = MixedModel().fit(X, np.full(48, 0.5), 0.0, sampling=Sampling("continuous"))
    assert np.isfinite(alike.estimate().to_frame()[["value", "low", "high"]].to_numpy()).all()
