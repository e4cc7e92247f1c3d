"""Is a new model new, and are its items a random sample?"""

import warnings

import numpy as np

_LEAST_ITEMS = 30
_COPY = 0.97
_LEAST_MINORITY = 5  # answers of the rarer kind, without which agreement proves nothing
_ODD_SAMPLE = 4.5  # standard errors
_ROUNDING = 1e-12  # relative, of squares of easiness


def warn_of_copies(bank, name, fitted):
    """Warn where a new model answers all but the same as an earlier one."""
    known = fitted.position >= 0
    y, past = fitted.y[known], bank.scores_[fitted.position[known]]
    if fitted.noise is None and min(y.sum(), len(y) - y.sum()) < _LEAST_MINORITY:
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
        warnings.warn(
            f"Model {name!r} answers like the earlier model {earlier!r} (correlation "
            f"{correlation[nearest]:.2f} on {n[nearest]} items). If they are the same, use "
            f"bank.without([{earlier!r}]).",
            stacklevel=4,
        )


def warn_of_sample(bank, name, fitted, sampled):
    """Whether the items asked may be a random sample of those of their topics."""
    if sampled != "auto":
        return sampled == "random"
    if fitted.designed:
        return True
    known = fitted.position >= 0
    position, topic = fitted.position[known], fitted.topic[known]
    k = len(bank.topics_)
    size = np.bincount(bank.topic_codes_, minlength=k)
    mean = np.bincount(bank.topic_codes_, bank.easiness_, k) / size
    away = (bank.easiness_ - mean[bank.topic_codes_]) ** 2
    spread = np.bincount(bank.topic_codes_, away, k) / np.maximum(size - 1, 1)
    n = np.bincount(topic, minlength=k)
    # Under random sampling the sums are independent, with these variances.
    spread[spread <= _ROUNDING * np.mean(bank.easiness_**2)] = 0
    variance = np.sum(n * (1 - n / size) * spread)
    excess = np.sum(bank.easiness_[position] - mean[topic])
    if variance <= 0 or abs(excess) <= _ODD_SAMPLE * np.sqrt(variance):
        return True
    kind = "easier" if excess > 0 else "harder"
    warnings.warn(
        f"The items that model {name!r} was asked are {kind} to earlier models than the others of "
        f"their topics, by {abs(excess) / np.sqrt(variance):.1f} standard errors: no random "
        "sample. The estimate trusts the model and nothing corrects it. Choose items at random "
        "(choose_items), or pass sampled='random' if you did.",
        stacklevel=4,
    )
    return False
