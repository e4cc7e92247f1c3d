"""Simulated evaluations with known true values."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import expit

from skbench._random import as_generator
from skbench._types import Count, NonNegative, RandomState, Range, Share, checked
from skbench.datasets._data import ItemData, counts_of, item_ids, numbered

# The variance of a continuous score with mean p is p (1 - p) / (1 + _BETA_SIZE).
_BETA_SIZE = 5.0
# The number of quadrature nodes grows with the standard deviation of difficulties.
_MAX_ITEM_STD = 100


@checked
def make_items(
    n_models: Count = 5,
    n_topics: Count = 20,
    n_items: ArrayLike = 30,
    *,
    intercept: float = 0.0,
    topic_std: NonNegative = 1.0,
    model_std: NonNegative = 0.5,
    interaction_std: NonNegative = 0.3,
    item_std: Annotated[float, Range(0, _MAX_ITEM_STD)] = 1.0,
    shared_items: bool = True,
    score: Literal["binary", "continuous"] = "binary",
    cluster_size: Count = 1,
    cluster_correlation: Share = 0.5,
    feature_noise: NonNegative = 0.5,
    random_state: RandomState = None,
) -> ItemData:
    """Simulate an evaluation of several models on several topics.

    The log odds of model m on item i of topic t are ``intercept + model effect + topic effect +
    interaction of m and t - difficulty of i``, where all effects are normal with mean 0. They are
    the log odds of a correct answer, or of the mean of a continuous score.

    Parameters
    ----------
    n_models, n_topics : int, default=5 and 20
        Numbers of models and topics.
    n_items : int or array-like of shape (n_topics,), default=30
        Number of items per topic.
    intercept : float, default=0.0
        Log odds of an average model on an average item of an average topic. 0 corresponds to an
        accuracy of 0.5, and 2 to about 0.9.
    topic_std : float, default=1.0
        Standard deviation of the topic effects, in log odds.
    model_std : float, default=0.5
        Standard deviation of the model effects, in log odds.
    interaction_std : float, default=0.3
        Standard deviation of the model-by-topic interactions, in log odds.
    item_std : float, default=1.0
        Standard deviation of the difficulties of items, in log odds.
    shared_items : bool, default=True
        Whether all models answer the same items. If not, every model has different items with
        different difficulties.
    score : {"binary", "continuous"}, default="binary"
        Binary scores are 0 or 1. Continuous scores have a beta distribution with the same mean p
        and variance p (1 - p) / 6.
    cluster_size : int, default=1
        Number of items in a cluster, such as questions about one text. Clusters are within
        topics, and the last one of a topic may be smaller.
    cluster_correlation : float in [0, 1], default=0.5
        Correlation of the difficulties of two items in a cluster. The true values do not depend
        on it.
    feature_noise : float, default=0.5
        Standard deviation of the difference between the feature of a topic and its effect, in
        log odds. With 0 the feature is the effect. With values much larger than `topic_std` it is
        noise.
    random_state : None, int, RandomState or Generator, default=None
        Seed. Effects of models and topics are drawn first, so `truth` does not depend on
        `n_items`, `shared_items`, `score` and the clusters.

    Returns
    -------
    ItemData
        With attributes

        - items : DataFrame, one row per model and item, with columns `model`,
          `topic`, `item`, `cluster` (different for every item if `cluster_size`
          is 1) and `score`.
        - truth : Series of true values, indexed by model and topic. A true value
          is the expected score over the distribution of items, not the mean over
          the sampled items.
        - features : DataFrame indexed by topic, column `feature`.
        - DESCR : str, description of the data.

    Raises
    ------
    ValueError
        If a count is not an integer of at least 1, if a standard deviation is negative or not
        finite, if `item_std` exceeds 100, if `intercept` is not finite, if `n_items` does not
        have shape (n_topics,), if `cluster_correlation` is outside [0, 1], or if `score` is
        unknown.

    See Also
    --------
    load_digits_c : Compute the results of real classifiers on real images.

    Notes
    -----
    A true value is the integral of the logistic function of the log odds over the normal
    distribution of difficulties, computed by quadrature. If models share items, the errors of
    their direct estimates are correlated within a topic, as in real evaluations.

    When not to use it: as evidence that a method works on real evaluations, because real effects
    are neither normal nor independent.

    Examples
    --------
    >>> from skbench.datasets import make_items
    >>> data = make_items(n_models=2, n_topics=3, n_items=[5, 10, 20], random_state=0)
    >>> len(data.items), list(data.items.columns)
    (70, ['model', 'topic', 'item', 'cluster', 'score'])
    >>> data.truth.index.names
    FrozenList(['model', 'topic'])
    """
    models, topics = numbered("model", n_models), numbered("topic", n_topics)
    n_items = counts_of(n_items, "n_items", "topic", topics)

    rng = as_generator(random_state)
    topic_effect = topic_std * rng.standard_normal(n_topics)
    model_effect = model_std * rng.standard_normal(n_models)
    interaction = interaction_std * rng.standard_normal((n_models, n_topics))
    feature = topic_effect + feature_noise * rng.standard_normal(n_topics)
    log_odds = intercept + model_effect[:, None] + topic_effect + interaction

    layout = _layout(n_items, cluster_size)
    difficulty = item_std * _difficulties(
        layout, cluster_correlation, 1 if shared_items else n_models, rng
    )
    scores = _draw_scores(log_odds[:, layout["topic"]] - difficulty, score, rng)

    labels = pd.MultiIndex.from_product([models, topics], names=["model", "topic"])
    return ItemData(
        items=_rows(models, topics, layout, scores, shared_items),
        truth=pd.Series(_expected_score(log_odds, item_std).ravel(), index=labels, name="truth"),
        features=pd.DataFrame({"feature": feature}, index=pd.Index(topics, name="topic")),
        DESCR=f"Simulated {score} scores of {n_models} models on {n_topics} topics",
    )


def _layout(n_items, cluster_size):
    """Return topic, number within the topic and cluster of every item of one model."""
    topic = np.repeat(np.arange(len(n_items)), n_items)
    number = np.arange(n_items.sum()) - np.repeat(n_items.cumsum() - n_items, n_items)
    within = number // cluster_size
    n_clusters = -(-n_items // cluster_size)
    first = n_clusters.cumsum() - n_clusters
    return {
        "topic": topic,
        "number": number,
        "cluster_within": within,
        "cluster": first[topic] + within,
    }


def _difficulties(layout, correlation, n_sets, rng):
    """Draw standard normal difficulties of shape (n_sets, n_items), correlated in clusters."""
    cluster = layout["cluster"]
    common = rng.standard_normal((n_sets, cluster[-1] + 1))[:, cluster]
    own = rng.standard_normal((n_sets, len(cluster)))
    return np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own


def _draw_scores(log_odds, score, rng):
    mean = expit(log_odds)
    if score == "binary":
        return (rng.random(mean.shape) < mean).astype(int)
    # expit(-x) instead of 1 - expit(x), which rounds to 0 from x = 37.
    return rng.beta(_BETA_SIZE * mean, _BETA_SIZE * expit(-log_odds))


def _expected_score(log_odds, item_std):
    """Return the mean of expit(log_odds - item_std * N(0, 1)), elementwise."""
    # The trapezoidal rule with this step is accurate to 1e-13 (test_truth_is_the_integral).
    step = 0.5 / max(item_std, 1)
    nodes = np.arange(-9, 9 + step, step)
    weights = np.exp(-(nodes**2) / 2)
    return expit(log_odds[..., None] - item_std * nodes) @ (weights / weights.sum())


def _rows(models, topics, layout, scores, shared_items):
    """Return the long frame of items, model by model."""
    topic = np.array(topics, object)[layout["topic"]]

    def ids(kind, number):
        if shared_items:
            return np.tile(item_ids(topic, kind, number), len(models))
        owners = [f"{t}/{model}" for model in models for t in topic]
        return item_ids(owners, kind, np.tile(number, len(models)))

    return pd.DataFrame(
        {
            "model": np.repeat(np.array(models, object), len(topic)),
            "topic": np.tile(topic, len(models)),
            "item": ids("item", layout["number"]),
            "cluster": ids("cluster", layout["cluster_within"]),
            "score": scores.ravel(),
        }
    )
