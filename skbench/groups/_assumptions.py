"""How numbers came about, where nobody said: what is assumed, and what is warned of."""

from itertools import combinations

import numpy as np
import pandas as pd

from skbench._checks import are_counts, plain
from skbench._columns import nominal_columns
from skbench._warnings import warn
from skbench.containers import Sampling
from skbench.stats.intervals import binomial

_OWN_ANSWERS = ("smoothed", "plug-in", "agresti", "pooled")
_ROUNDING = 0.05  # of a variance, which may have been printed with two digits
_SAY_SO = "Pass sampling=g.sampling of the GroupSummary g they come from"


def settled_sampling(estimator, sampling, X, sigma2, given, groups):
    """The `Sampling` that the caller gave, checked; else what is assumed, with a warning."""
    z, n = estimator.z_, estimator.n_
    sigma2 = None if np.ndim(given) == 0 else sigma2  # one number for all groups is known
    if sampling is None:
        return _assumed(estimator, X, z, sigma2, n, groups)
    _check(sampling, z, sigma2, n, estimator.labels_)
    unknown = sampling.items_shared and sampling.item_correlation is None
    if estimator._reads_correlation and unknown:
        warn(
            "Models may have answered the same items, and how their errors correlate is not known: "
            "they are taken as independent, so intervals are too short if items are shared. Item "
            "rows with an id for each item settle it."
        )
    if estimator._reads_groups and groups is None and sampling.items_shared:
        warn(
            "sampling says that models answered the same items, but groups was not given: rows "
            "that rest on the same items are taken as independent, and intervals come out too "
            "short. Pass groups=..., the topic of each row; a search of scikit-learn hands it on "
            "only with set_config(enable_metadata_routing=True)."
        )
    return sampling


def _check(sampling, z, sigma2, n, labels):
    """Refuse sizes that the clusters of a `Sampling` exclude; warn of contradictions."""
    if n is None:
        warn(
            "n is missing, so direct estimates are taken for normal with sigma2 as it is, not for "
            f"means of few {sampling.outcome} scores. Pass n=..., n_independent of the summary."
        )
        return
    if sampling.outcome == "binomial" and not are_counts(z, n):
        warn(
            "sampling says that scores are right and wrong answers, but some y * n are no whole "
            "numbers (rounded, or percentages?), so direct estimates are taken for normal with "
            "sigma2 as it is. Pass the unrounded shares of right answers."
        )
    elif sampling.outcome == "binomial" and sigma2 is not None and _contradict(z, sigma2, n):
        warn(
            "sigma2 contradicts the counts: sampling says that scores are right and wrong answers "
            "to n independent items, of which sigma2 is not the variance. Where answers are "
            "counted, the counts decide. Pass the sigma2 of the summary, or "
            'sampling=Sampling("clustered") if items depend on each other.'
        )
    most = sampling.most_independent
    if most is not None and np.any(n > most):
        first = int(np.argmax(n > most))
        raise ValueError(
            f"n is {n[first]:g} in group {plain(labels[first])!r}, but the items come in clusters, "
            f"of which no group has more than {most} independent ones: n counts items. Pass "
            "n_independent of the GroupSummary as n."
        )


def _assumed(estimator, X, z, sigma2, n, groups):
    """The `Sampling` that plain numbers are taken to come from; warns once of all it assumes."""
    outcome = "binomial" if are_counts(z, n) else "continuous"
    assumed = []
    known = sigma2 is None or (len(sigma2) > 1 and np.ptp(sigma2) == 0)  # from elsewhere
    if outcome == "binomial" and not known and not _of_answers(z, sigma2, n):
        assumed.append(
            "every y * n is a whole number, so scores are taken for right and wrong answers to "
            "independent items, of which sigma2 is not the variance (clusters?)"
        )
    if outcome == "continuous" and estimator._moderates and sigma2 is not None and n is not None:
        assumed.append("sigma2 is taken as known, not as estimated from the few scores of a group")
    may_be_shares = np.all((z >= 0) & (z <= 1))
    if outcome == "continuous" and estimator._reads_bounds and n is not None and may_be_shares:
        assumed.append(
            "scores are taken to have no bounds, so intervals do not allow for rare failures that "
            "were not seen (DirectEstimator(bounds=(0, 1)) does)"
        )
    shares = _crossed(X) if groups is None else pd.Series(groups).duplicated().any()
    if estimator._reads_correlation and shares:
        assumed.append(
            "models seem to have answered the same items, and their errors are taken as independent"
        )
    if estimator._reads_groups and groups is None and (crossed := _crossed(X)):
        assumed.append(
            f"columns {crossed[0]!r} and {crossed[1]!r} of X look like models and the topics that "
            "they share, but groups was not given either, so rows that may rest on the same items "
            "are taken as independent (pass groups=, the topic of each row)"
        )
    if assumed:
        warn(
            f"sampling was not given: {'; '.join(assumed)}. {_SAY_SO}, or "
            f"sampling=Sampling({outcome!r}{', items_shared=True' * (groups is not None)}) to "
            "confirm it."
        )
    return Sampling(outcome, items_shared=groups is not None)


def warn_of_unsaid_topics(X, seen):
    """Warn of models and topics in X that transformers hide from the last step."""
    crossed = _crossed(X)
    if crossed and not {f"{name}" for name in crossed} <= seen:
        warn(
            f"Neither groups nor sampling was given, and columns {crossed[0]!r} and {crossed[1]!r} "
            "of X look like models and the topics that they share: if models answered the same "
            "items, folds may split what belongs together and intervals come out too short. Pass "
            f"groups=, the topic of each row. {_SAY_SO}."
        )


def _of_answers(z, sigma2, n):
    """Whether these are sampling variances of shares of right answers, as usually estimated."""
    k = np.round(z * n)
    return any(
        np.allclose(sigma2, binomial.sampling_variance(k, n, kind), rtol=_ROUNDING, atol=0)
        for kind in _OWN_ANSWERS
    )


def _contradict(z, sigma2, n):
    """Whether variances are on average half, or twice, what so many answers would have."""
    ratio = np.mean(n * sigma2) / np.mean(n * binomial.sampling_variance(np.round(z * n), n))
    return not 0.5 <= ratio <= 2 and not _of_answers(z, sigma2, n)


def _crossed(X):
    """Two columns of names of which no pair occurs twice, as of models and topics; else None."""
    for pair in combinations(nominal_columns(X), 2):
        alone = [X[name].duplicated().any() for name in pair]
        if all(alone) and not X.duplicated(list(pair)).any():
            return pair
    return None
