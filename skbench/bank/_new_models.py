"""What is known of new models before any total: copies, random samples, and assisted estimates."""

import numpy as np
import pandas as pd

from skbench._warnings import warn
from skbench.bank.choose import answer_variance
from skbench.containers import GroupSummary, Sampling
from skbench.items.rows import CHANCE
from skbench.stats.item_response.assisted import assisted_mean
from skbench.stats.item_response.unit_prediction import item_scores, without_topics

_PRIOR_ITEMS = 4.0  # items' worth of the variance that the model expects of a residual
_LEAST_ITEMS = 30
_COPY = 0.97
_LEAST_MINORITY = 5  # answers of the rarer kind, without which agreement proves nothing
_ODD_SAMPLE = 4.5  # standard errors
_OPPOSITE = {"easier": "harder", "less predictable": "more predictable"}
_ROUNDING = 1e-12  # relative, of squares of easiness


def warn_of_copies(bank, name, fitted):
    """Warn where a new model answers all but the same as an earlier one."""
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
            f"{correlation[nearest]:.2f} on {n[nearest]} items). If they are the same, use "
            f"bank.without([{earlier!r}])."
        )


def features_of(bank):
    """What may be odd of items asked, less its means by topic, and its variances there."""
    k = len(bank.topics_)
    size = np.bincount(bank.topic_codes_, minlength=k)
    kinds = {"easier": bank.easiness_, "less predictable": answer_variance(bank)}
    found = {}
    for kind, feature in kinds.items():
        away = feature - (np.bincount(bank.topic_codes_, feature, k) / size)[bank.topic_codes_]
        spread = np.bincount(bank.topic_codes_, away**2, k) / np.maximum(size - 1, 1)
        spread[spread <= _ROUNDING * np.mean(feature**2)] = 0
        found[kind] = away, spread, size
    return found


def warn_of_sample(features, name, fitted, sampled):
    """Whether the items asked may be a random sample of those of their topics."""
    if sampled != "auto":
        return sampled == "random"
    if fitted.designed:
        return True
    away = {kind: _away(fitted, *feature) for kind, feature in features.items()}
    away |= {_OPPOSITE[kind]: -size for kind, size in away.items()}
    kind = max(away, key=away.get)
    if away[kind] <= _ODD_SAMPLE:
        return True
    warn(
        f"The items that model {name!r} was asked are {kind} to earlier models than the others of "
        f"their topics, by {away[kind]:.1f} standard errors: no random sample. The estimate trusts "
        f"the model and nothing corrects it. Keep the column {CHANCE!r} of choose_items, or pass "
        "sampled='random' if they are random."
    )
    return False


def _away(fitted, away, spread, size):
    """How many standard errors a feature of the items asked is above that of random ones."""
    known = fitted.position >= 0
    n = np.bincount(fitted.topic[known], minlength=len(size))
    # Under random sampling the sums are independent, with these variances.
    variance = np.sum(n * (1 - n / size) * spread)
    return away[fitted.position[known]].sum() / np.sqrt(variance) if variance > 0 else 0.0


def summary_of(estimator):
    """The `GroupSummary` of the models and topics with items asked."""
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
    """Estimates of the topics of one model, as a table."""
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
