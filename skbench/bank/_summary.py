"""Assisted estimates by model and topic, for the estimators of groups."""

import numpy as np
import pandas as pd

from skbench.containers import GroupSummary, Sampling
from skbench.stats.item_response.assisted import assisted_mean
from skbench.stats.item_response.unit_prediction import item_scores, without_topics

_PRIOR_ITEMS = 4.0  # items' worth of the variance that the model expects of a residual


def summary_of(estimator):
    """The `GroupSummary` of the models and topics with items asked."""
    every = [_of_model(estimator, name) for name in estimator.models_]
    table = pd.concat(every, ignore_index=True)
    keys = [estimator.model, estimator.topic]
    labels = pd.MultiIndex.from_frame(table[keys])
    X = table[[*keys, "bank"]].set_axis(labels)
    several = len(estimator.models_) > 1
    return GroupSummary(
        z=table["z"],
        sigma2=table["sigma2"],
        n=table["n"],
        labels=labels,
        X=X,
        groups=table[estimator.topic].to_numpy() if several else None,
        sampling=Sampling("continuous", items_shared=several),
    )


def _of_model(estimator, name):
    """Estimates of the topics of one model, as a table."""
    bank, fitted, design = estimator.bank, estimator._fits[name], estimator._design
    known = fitted.position >= 0
    position, topic = fitted.position[known], fitted.topic[known]
    k = len(bank.topics_)
    plain = without_topics(fitted.fit)
    answers = fitted.noise is None
    ones = np.ones(len(bank.items_))
    f = item_scores(plain, design.bank, bank.topic_codes_, ones, answers)
    residual = fitted.y[known] - f[position]
    shape = f * (1 - f) if answers else np.ones(len(f))
    size = np.bincount(bank.topic_codes_, minlength=k)
    n = np.bincount(topic, minlength=k)
    by_topic = np.bincount(topic, residual, k) / np.maximum(n, 1)
    within = np.sum((residual - by_topic[topic]) ** 2) + _PRIOR_ITEMS * shape[position].mean()
    freedom = shape[position].sum() * (1 - np.sum(n > 0) / max(len(position), 1))
    factor = within / (freedom + _PRIOR_ITEMS * shape[position].mean())
    spread = factor * np.bincount(bank.topic_codes_, shape, k) / size
    mean_f = np.bincount(bank.topic_codes_, f, k) / size
    found = assisted_mean(residual, fitted.weight[known], topic, mean_f, size, spread)
    asked = n > 0
    return pd.DataFrame(
        {
            estimator.model: name,
            estimator.topic: np.asarray(bank.topics_)[asked],
            "z": design.center + design.scale * found.value[asked],
            "sigma2": design.scale**2 * found.variance[asked],
            "n": n[asked],
            "bank": design.center + design.scale * mean_f[asked],
        }
    )
