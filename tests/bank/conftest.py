"""Answers of many models to the items of some topics, with known truth."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from skbench import ItemBank


def simulated(n_models, n_topics=6, n_items=50, seed=0, topic_std=0.5, shift=0.0):
    """Item rows: Rasch items, one hidden dimension, models x topics; `shift` makes all easier."""
    rng = np.random.default_rng(seed)
    n = n_topics * n_items
    topic = np.repeat(np.arange(n_topics), n_items)
    easiness = rng.normal(0, 1.5, n) + rng.normal(0, 0.5, n_topics)[topic]
    eta = shift + easiness[:, None] + rng.normal(0.3, 0.8, n_models)
    eta += rng.normal(size=(n, 1)) * rng.normal(0, 0.7, n_models)
    eta += rng.normal(0, topic_std, (n_topics, n_models))[topic]
    score = rng.binomial(1, expit(eta))
    return pd.DataFrame(
        {
            "model": np.repeat([f"m{j:02d}" for j in range(n_models)], n),
            "topic": np.tile([f"t{t}" for t in topic], n_models),
            "item": np.tile(np.arange(n), n_models),
            "score": score.T.ravel(),
        }
    )


@pytest.fixture(scope="session")
def rows():
    return simulated(13)


@pytest.fixture(scope="session")
def past(rows):
    return rows[rows["model"] < "m11"]


@pytest.fixture(scope="session")
def new(rows):
    return rows[rows["model"] == "m12"]


@pytest.fixture(scope="module")
def bank(past):
    return ItemBank().fit(past)
