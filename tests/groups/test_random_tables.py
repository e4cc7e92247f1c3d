"""The mixed model on tables of every shape: finite, ordered, no warning."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from skbench import MixedModel, Sampling, summarize_items


def random_items(rng):
    """Answers of 1 to 6 models to a few items of 1 to 31 topics, some of them certain."""
    n_models, n_topics = rng.integers(1, 7), rng.integers(1, 32)
    topic = rng.choice([0, 0.5, 3]) * rng.normal(size=(n_topics, 1))
    model = rng.choice([0, 0.5, 2]) * rng.normal(size=(1, n_models))
    p = expit(topic + model + 0.3 * rng.normal(size=(n_topics, n_models)))
    p[:, 0] *= rng.random() < 0.8
    sizes = rng.integers(1, rng.choice([2, 3, 6, 21]), size=n_topics)
    of_topic = np.repeat(np.arange(n_topics), sizes)
    right = rng.random((sizes.sum(), n_models)) < p[of_topic]
    wide = pd.DataFrame(right.astype(int), columns=[f"m{j}" for j in range(n_models)])
    wide.insert(0, "topic", [f"t{t:02d}" for t in of_topic])
    wide.insert(1, "item", np.arange(len(wide)))
    items = wide.melt(["topic", "item"], var_name="model", value_name="score")
    return items if rng.random() < 0.7 else items.sample(frac=0.9, random_state=0)


def random_features(rng, topics):
    """Useful, useless, equal, huge, missing and text columns; or none at all."""
    table = pd.DataFrame(index=pd.Index(topics, name="topic"))
    x = rng.normal(size=len(topics))
    columns = {
        "x": x,
        "twin": -2 * x,
        "constant": np.ones(len(topics)),
        "huge": 1e9 * rng.normal(size=len(topics)),
        "missing": np.where(rng.random(len(topics)) < 0.3, np.nan, x),
        "kind": rng.choice(["a", "b"], len(topics)),
    }
    for name, values in columns.items():
        if rng.random() < 0.4:
            table[name] = values
    return table if table.shape[1] else None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_tables_of_every_shape(seed):
    rng = np.random.default_rng(seed)
    items = random_items(rng)
    features = random_features(rng, sorted(items["topic"].unique()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        data = summarize_items(items, ["model", "topic"], features=features).fit_args
        for estimator in (MixedModel(), MixedModel(kernels=None)):
            e = estimator.fit(**data).estimate()
            assert np.isfinite(e.standard_error).all()
            assert ((0 <= e.low) & (e.low <= e.value) & (e.value <= e.high) & (e.high <= 1)).all()
            new = estimator.predict(data["X"].iloc[:2].assign(topic="new"))
            assert ((0 <= new) & (new <= 1)).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_numbers_of_every_size(seed):
    rng = np.random.default_rng(seed)
    n_models, n_topics = rng.integers(1, 6), rng.integers(2, 40)
    kept = rng.permutation(n_models * n_topics)[: max(3, rng.integers(n_models * n_topics))]
    topic, model = np.divmod(kept, n_models)
    X = pd.DataFrame({"model": [f"m{j}" for j in model], "topic": [f"t{t}" for t in topic]})
    for name in "abc"[: rng.integers(4)]:
        X[name] = 10.0 ** rng.integers(-8, 9) * rng.normal(size=n_topics)[topic]
    if rng.random() < 0.3:
        X["number of the model"] = model
    unit = 10.0 ** rng.integers(-6, 7)
    z = unit * (rng.normal(size=len(X)) + rng.normal(size=n_topics)[topic])
    exact = rng.random() < 0.5
    sigma2 = unit**2 * (np.zeros(len(X)) if exact else rng.choice([0, 1e-12, 0.1, 1, 100], len(X)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        models = X["model"].unique()
        matrix = pd.DataFrame(0.5 + 0.5 * np.eye(len(models)), models, models)
        for correlation in (None, matrix):
            sampling = Sampling("continuous", items_shared=True, item_correlation=correlation)
            e = MixedModel().fit(X, z, sigma2, groups=X["topic"], sampling=sampling).estimate()
            assert np.isfinite(e.standard_error).all()
            assert ((e.low <= e.value) & (e.value <= e.high)).all()
            if exact:
                np.testing.assert_allclose(e.value, z, rtol=0, atol=1e-4 * np.ptp(z))
