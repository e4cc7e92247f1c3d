"""Checks of new models (copies, random samples), and model-assisted estimates of their topics."""

import numpy as np
import pandas as pd

from skbench._warnings import warn
from skbench.bank.choose import answer_variance
from skbench.containers import GroupSummary, Sampling
from skbench.items.rows import CHANCE
from skbench.stats.item_response.assisted import assisted_mean
from skbench.stats.item_response.unit_prediction import item_scores, without_topics

_PRIOR_ITEMS = 4.0  # weight, in items, of the residual variance that the model expects
_LEAST_ITEMS = 30
_COPY = 0.97  # correlation of answers from which a model looks like a copy
_LEAST_MINORITY = 5  # answers of the rarer kind needed to detect a copy
_NOT_RANDOM = 4.5  # standard errors from which a sample is clearly not random
_OPPOSITE = {"easier": "harder", "less predictable": "more predictable"}
_ROUNDING = 1e-12  # relative, of squares of easiness


def warn_of_copies(bank, name, fitted):
    """Warn if a new model gave almost the same answers as an earlier one."""
    known = fitted.position >= 0
    y, past = fitted.y[known], bank.scores_[fitted.position[known]]
    if fitted.is_answers and min(y.sum(), len(y) - y.sum()) < _LEAST_MINORITY:
        return
    both = np.isfinite(past)
    n = both.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        away = np.where(both, past - np.nansum(past, axis=0) / n, 0)
        mine = np.where(both, y[:, None] - (both * y[:, None]).sum(axis=0) / n, 0)
        scale = np.sqrt((away**2).sum(axis=0) * (mine**2).sum(axis=0))
        correlation = np.where((n >= _LEAST_ITEMS) & (scale > 0), (away * mine).sum(0) / scale, 0)
    nearest = int(np.argmax(correlation))
    if correlation[nearest] > _COPY:
        earlier = bank.models_[nearest]
        warn(
            f"Model {name!r} answers like the earlier model {earlier!r} (correlation "
            f"{correlation[nearest]:.2f} on {n[nearest]} items). If they are versions of the same "
            f"model, use bank.without([{earlier!r}])."
        )


def features_of(bank):
    """Item features to test a sample: deviations from topic means, and variances."""
    k = len(bank.topics_)
    size = np.bincount(bank.topic_codes_, minlength=k)
    kinds = {"easier": bank.easiness_, "less predictable": answer_variance(bank)}
    found = {}
    for kind, feature in kinds.items():
        deviation = feature - (np.bincount(bank.topic_codes_, feature, k) / size)[bank.topic_codes_]
        variance = np.bincount(bank.topic_codes_, deviation**2, k) / np.maximum(size - 1, 1)
        variance[variance <= _ROUNDING * np.mean(feature**2)] = 0
        found[kind] = deviation, variance, size
    return found


def warn_of_sample(features, name, fitted, sampled):
    """Whether the answered items may be a random sample of their topics; warn if clearly not."""
    if sampled != "auto":
        return sampled == "random"
    if fitted.designed:
        return True
    z = {kind: _z_score(fitted, *feature) for kind, feature in features.items()}
    z |= {_OPPOSITE[kind]: -value for kind, value in z.items()}
    kind = max(z, key=z.get)
    if z[kind] <= _NOT_RANDOM:
        return True
    warn(
        f"The items of model {name!r} are not a random sample: for earlier models they are {kind} "
        f"than the rest of their topics (by {z[kind]:.1f} standard errors), so the estimate "
        f"depends on the statistical model alone. Keep the column {CHANCE!r} of choose_items, or "
        "pass sampled='random' if they are random."
    )
    return False


def _z_score(fitted, deviation, variance, size):
    """Standard errors by which a feature of the answered items exceeds its mean."""
    known = fitted.position >= 0
    n = np.bincount(fitted.topic[known], minlength=len(size))
    # Under random sampling the sums are independent, with these variances.
    total = np.sum(n * (1 - n / size) * variance)
    return deviation[fitted.position[known]].sum() / np.sqrt(total) if total > 0 else 0.0


def summary_of(estimator):
    """The `GroupSummary` of all models and topics with answers."""
    every = [_of_model(estimator, name) for name in estimator.models_]
    table = pd.concat(every, ignore_index=True)
    keys = [estimator.model, estimator.topic]
    table = table.set_index(keys, drop=False)
    several = len(estimator.models_) > 1
    return GroupSummary(
        z=table["z"],
        sigma2=table["sigma2"],
        n=table["n"],
        labels=table.index,
        X=table[[*keys, "bank"]],
        groups=table[estimator.topic].to_numpy() if several else None,
        sampling=Sampling("continuous", items_shared=several),
    )


def _of_model(estimator, name):
    """Table of model-assisted estimates of the topics of one model."""
    bank, fitted, design = estimator.bank, estimator._fits[name], estimator._design
    known = fitted.position >= 0
    position, topic = fitted.position[known], fitted.topic[known]
    k = len(bank.topics_)
    plain = without_topics(fitted.fit)
    answers = fitted.is_answers
    ones = np.ones(len(bank.items_))
    f = item_scores(plain, design.bank, bank.topic_codes_, ones)
    residual = fitted.y[known] - f[position]
    shape = f * (1 - f) if answers else np.ones(len(f))
    size = np.bincount(bank.topic_codes_, minlength=k)
    n = np.bincount(topic, minlength=k)
    by_topic = np.bincount(topic, residual, k) / np.maximum(n, 1)
    within = np.sum((residual - by_topic[topic]) ** 2) + _PRIOR_ITEMS * shape[position].mean()
    freedom = shape[position].sum() * (1 - np.sum(n > 0) / max(len(position), 1))
    factor = within / (freedom + _PRIOR_ITEMS * shape[position].mean())
    residual_variance = factor * np.bincount(bank.topic_codes_, shape, k) / size
    mean_f = np.bincount(bank.topic_codes_, f, k) / size
    found = assisted_mean(residual, fitted.weight[known], topic, mean_f, size, residual_variance)
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
