"""Check `sampling`, or assume it from plain numbers with a warning."""

from itertools import combinations

import numpy as np
import pandas as pd

from skbench._checks import are_counts, plain
from skbench._columns import nominal_columns
from skbench._warnings import warn
from skbench.containers import Sampling
from skbench.stats.intervals import binomial

_BINOMIAL_VARIANCES = ("smoothed", "plug-in", "agresti", "pooled")
_ROUNDING = 0.05  # relative error of a variance that was printed with two digits
_PASS_SAMPLING = "Pass sampling=g.sampling of the GroupSummary g"


def settled_sampling(estimator, sampling, X, sigma2, given, groups):
    """Return the checked `Sampling` of the caller, or an assumed one with a warning."""
    z, n = estimator.z_, estimator.n_
    sigma2 = None if np.ndim(given) == 0 else sigma2  # a single number counts as known
    if sampling is None:
        return _assumed(estimator, X, z, sigma2, n, groups)
    _check(sampling, z, sigma2, n, estimator.labels_)
    unknown = sampling.items_shared and sampling.item_correlation is None
    if estimator._reads_correlation and unknown:
        warn(
            "Models may have answered the same items, but sampling has no item_correlation. Their "
            "errors count as independent, so intervals are too short if items are shared. Pass "
            "item rows with an id per item."
        )
    if estimator._reads_groups and groups is None and sampling.items_shared:
        warn(
            "groups is missing although sampling has items_shared=True, so rows that share items "
            "count as independent and intervals are too short. Pass groups=..., the topic of each "
            "row. A scikit-learn search passes it only with "
            "set_config(enable_metadata_routing=True)."
        )
    return sampling


def _check(sampling, z, sigma2, n, labels):
    """Raise an error if `n` exceeds the number of clusters; warn of contradictions."""
    if n is None:
        warn(
            "n is missing, so direct estimates count as normal with variance sigma2, not as means "
            f"of few {sampling.outcome} scores. Pass n=..., n_independent of the summary."
        )
        return
    if sampling.outcome == "binomial" and not are_counts(z, n):
        warn(
            "sampling is 'binomial', but some y * n are not whole numbers (rounded, or "
            "percentages?), so direct estimates count as normal with variance sigma2. Pass the "
            "unrounded shares of correct answers."
        )
    elif sampling.outcome == "binomial" and sigma2 is not None and _contradict(z, sigma2, n):
        warn(
            "sampling is 'binomial', but sigma2 is not the variance of shares of correct answers "
            "to n independent items. Methods for counts ignore sigma2. Pass the sigma2 of the "
            'summary, or sampling=Sampling("clustered") if items depend on each other.'
        )
    most = sampling.most_independent
    if most is not None and np.any(n > most):
        first = int(np.argmax(n > most))
        raise ValueError(
            f"n is {n[first]:g} in group {plain(labels[first])!r}, but sampling has at most {most} "
            "independent clusters per group. Pass n_independent of the GroupSummary as n, not "
            "the number of items."
        )


def _assumed(estimator, X, z, sigma2, n, groups):
    """The `Sampling` assumed for plain numbers; one warning lists all assumptions."""
    outcome = "binomial" if are_counts(z, n) else "continuous"
    assumed = []
    known = sigma2 is None or (len(sigma2) > 1 and np.ptp(sigma2) == 0)
    if outcome == "binomial" and not known and not _of_answers(z, sigma2, n):
        assumed.append(
            "scores are correct or incorrect answers to independent items because every y * n is "
            "a whole number, although sigma2 is not their variance (clusters?)"
        )
    if outcome == "continuous" and estimator._moderates and sigma2 is not None and n is not None:
        assumed.append("sigma2 is known and not estimated from few scores per group")
    may_be_shares = np.all((z >= 0) & (z <= 1))
    if outcome == "continuous" and estimator._reads_bounds and n is not None and may_be_shares:
        assumed.append(
            "scores have no bounds, so intervals do not allow for unobserved rare failures "
            "(DirectEstimator(bounds=(0, 1)) does)"
        )
    shares = _crossed(X) if groups is None else pd.Series(groups).duplicated().any()
    if estimator._reads_correlation and shares:
        assumed.append("errors of models are independent, although models seem to share items")
    if estimator._reads_groups and groups is None and (crossed := _crossed(X)):
        assumed.append(
            f"rows do not share items, although columns {crossed[0]!r} and {crossed[1]!r} of X "
            "look like models and shared topics (pass groups=, the topic of each row)"
        )
    if assumed:
        warn(
            f"sampling is missing, so skbench assumes that {'; '.join(assumed)}. {_PASS_SAMPLING}, "
            f"or sampling=Sampling({outcome!r}{', items_shared=True' * (groups is not None)}) to "
            "confirm this."
        )
    return Sampling(outcome, items_shared=groups is not None)


def warn_of_missing_groups(X, seen):
    """Warn of models and topics in X that transformers hide from the last step."""
    crossed = _crossed(X)
    if crossed and not {f"{name}" for name in crossed} <= seen:
        warn(
            f"groups and sampling are missing, but columns {crossed[0]!r} and {crossed[1]!r} of X "
            "look like models and shared topics. If models share items, folds may split topics "
            f"and intervals are too short. Pass groups=, the topic of each row. {_PASS_SAMPLING}."
        )


def _of_answers(z, sigma2, n):
    """Whether sigma2 is a usual estimate of the variance of shares of correct answers."""
    k = np.round(z * n)
    return any(
        np.allclose(sigma2, binomial.sampling_variance(k, n, kind), rtol=_ROUNDING, atol=0)
        for kind in _BINOMIAL_VARIANCES
    )


def _contradict(z, sigma2, n):
    """Whether variances are, on average, less than half or more than twice the binomial ones."""
    ratio = np.mean(n * sigma2) / np.mean(n * binomial.sampling_variance(np.round(z * n), n))
    return not 0.5 <= ratio <= 2 and not _of_answers(z, sigma2, n)


def _crossed(X):
    """Two text columns without duplicate pairs, such as models and topics; else None."""
    for pair in combinations(nominal_columns(X), 2):
        repeated = [X[name].duplicated().any() for name in pair]
        if all(repeated) and not X.duplicated(list(pair)).any():
            return pair
    return None
