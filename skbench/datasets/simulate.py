"""Simulated evaluations whose true performances are known."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import expit

from skbench._random import as_generator
from skbench._types import Count, NonNegative, RandomState, Range, Share, checked
from skbench.datasets._data import ItemData, counts_of, item_ids, numbered

# Variance of a continuous score around its mean p is p (1 - p) / (1 + this).
_BETA_SIZE = 5.0
# The nodes of the truth's quadrature grow with it.
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

    The log odds of model m on item i of topic t are ``intercept + model effect +
    topic effect + interaction of m and t - difficulty of i``, all effects
    normal with mean 0. They are the log odds of a right answer, or of the mean
    of a continuous score.

    Parameters
    ----------
    n_models, n_topics : int, default=5 and 20
        Numbers of models and of topics.
    n_items : int or array-like of shape (n_topics,), default=30
        Items of every topic, or of each.
    intercept : float, default=0.0
        Log odds of the middle model on the middle item of the middle topic; 0
        is a performance of 0.5, 2 one near 0.9.
    topic_std : float, default=1.0
        Standard deviation of the topic effects, in log odds.
    model_std : float, default=0.5
        Standard deviation of the model effects, in log odds.
    interaction_std : float, default=0.3
        Standard deviation of the model-by-topic interactions, in log odds.
    item_std : float, default=1.0
        Standard deviation of the difficulties of items, in log odds.
    shared_items : bool, default=True
        Whether all models answer the same items. If not, every model has items
        with ids and difficulties of their own.
    score : {"binary", "continuous"}, default="binary"
        0 or 1; or a Beta variable in [0, 1] with mean p, the probability of a
        1 in the binary case, and variance p (1 - p) / 6.
    cluster_size : int, default=1
        Items in a cluster (questions about one text, say). Clusters stay within
        a topic; its last one holds what is left over.
    cluster_correlation : float in [0, 1], default=0.5
        Correlation of the difficulties of two items in one cluster. The spread
        of difficulties, hence the truth, does not depend on it.
    feature_noise : float, default=0.5
        Standard deviation of the difference between the feature of a topic and
        its effect, in log odds: 0 reveals the effect, a value large relative to
        `topic_std` hides it.
    random_state : None, int, RandomState or Generator, default=None
        Decides everything. Effects of models and topics are drawn first: the
        truth for one seed is the same whatever `n_items`, `shared_items`,
        `score` and the clusters.

    Returns
    -------
    ItemData
        With attributes

        - items : DataFrame, one row per (model, item), with columns `model`,
          `topic`, `item`, `cluster` (of its own for every item if
          `cluster_size` is 1) and `score`.
        - truth : Series of true performances, indexed by (model, topic): the
          expected score over all items the topic could have had, not only over
          those that were drawn.
        - features : DataFrame indexed by topic, column `feature`.
        - DESCR : str, a description.

    Raises
    ------
    ValueError
        If a count is no whole number of at least 1, a standard deviation is negative or
        not finite, `item_std` above 100, `intercept` not finite, `n_items` not of shape
        (n_topics,), `cluster_correlation` outside [0, 1] or `score` unknown.

    See Also
    --------
    load_digits_c : Real classifiers on real images.

    Notes
    -----
    The truth is the integral of the logistic function of the log odds over the
    normal law of difficulties, by quadrature. With items shared by
    models, errors of the direct estimates are correlated across models within a
    topic, as they are in real evaluations.

    When not to use it: as evidence that a method works on real evaluations,
    whose effects are neither normal nor independent.

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
    """Topic, number within the topic and cluster of every item of one model."""
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
    """Standard normal difficulties, correlated in clusters, shape (n_sets, n_items)."""
    cluster = layout["cluster"]
    common = rng.standard_normal((n_sets, cluster[-1] + 1))[:, cluster]
    own = rng.standard_normal((n_sets, len(cluster)))
    return np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own


def _draw_scores(log_odds, score, rng):
    mean = expit(log_odds)
    if score == "binary":
        return (rng.random(mean.shape) < mean).astype(int)
    # expit(-x) rather than 1 - expit(x), which is 0 from x = 37 on.
    return rng.beta(_BETA_SIZE * mean, _BETA_SIZE * expit(-log_odds))


def _expected_score(log_odds, item_std):
    """Mean of expit(log_odds - item_std * N(0, 1)), elementwise."""
    # The trapezoidal rule with such steps is exact to 1e-13 (test_truth_is_the_integral).
    step = 0.5 / max(item_std, 1)
    nodes = np.arange(-9, 9 + step, step)
    weights = np.exp(-(nodes**2) / 2)
    return expit(log_odds[..., None] - item_std * nodes) @ (weights / weights.sum())


def _rows(models, topics, layout, scores, shared_items):
    """The long frame of items: all items of the first model, then of the next."""
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
