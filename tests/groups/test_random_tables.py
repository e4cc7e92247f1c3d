"""The default and the mixed model on tables of every shape: finite, ordered, no warning."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from skbench import AveragedEstimator, LogisticMixedModel, summarize_items


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
        for estimator in (AveragedEstimator(random_state=0), LogisticMixedModel(kernels="auto")):
            e = estimator.fit(**data).estimate()
            assert np.isfinite(e.standard_error).all()
            assert ((0 <= e.low) & (e.low <= e.value) & (e.value <= e.high) & (e.high <= 1)).all()
            new = estimator.predict(data["X"].iloc[:2].assign(topic="new"))
            assert ((0 <= new) & (new <= 1)).all()
