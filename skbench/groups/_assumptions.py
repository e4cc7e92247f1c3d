"""How numbers came about, where nobody said: what is assumed, and what is warned of."""

import warnings

import numpy as np
import pandas as pd

from skbench._checks import are_counts, check_named, plain
from skbench._columns import role_column
from skbench.containers import Sampling
from skbench.stats.intervals import binomial

_OWN_ANSWERS = ("smoothed", "plug-in", "agresti", "pooled")
_ROUNDING = 0.05  # of a variance, which may have been printed with two digits
_SAY_SO = "Pass sampling=g.sampling of the GroupSummary g they come from"


def check_sampling(sampling, z, n, labels):
    """Refuse what is no `Sampling`, or sizes that cannot be those that it speaks of.

    Raises
    ------
    TypeError
        If it is no `Sampling`.
    ValueError
        If a size is larger than it can be with its clusters.

    Warns
    -----
    UserWarning
        If there are no sizes, or right and wrong answers that are not whole numbers.
    """
    if not isinstance(sampling, Sampling):
        raise TypeError(
            f"sampling must be a skbench.containers.Sampling, got {type(sampling).__name__}. "
            "summarize_items gives one, as the attribute sampling of its result."
        )
    if n is None:
        warnings.warn(
            "n is missing, so direct estimates are taken for normal with sigma2 as it is, not for "
            f"means of few {sampling.outcome} scores. Pass n=..., n_independent of the summary.",
            stacklevel=4,
        )
        return
    if sampling.outcome == "binomial" and not are_counts(z, n):
        warnings.warn(
            "sampling says that scores are right and wrong answers, but some y * n are no whole "
            "numbers (rounded, or percentages?), so direct estimates are taken for normal with "
            "sigma2 as it is. Pass the unrounded shares of right answers.",
            stacklevel=4,
        )
    most = sampling.most_independent
    if most is not None and np.any(n > most):
        first = int(np.argmax(n > most))
        raise ValueError(
            f"n is {n[first]:g} in group {plain(labels[first])!r}, but the items come in clusters, "
            f"of which no group has more than {most} independent ones: n counts items. Pass "
            "n_independent of the GroupSummary as n."
        )


def warn_of_unknown_correlation(sampling):
    """Warn where models answered the same items, and how their errors correlate is not known."""
    if sampling.items_shared and sampling.item_correlation is None:
        warnings.warn(
            "Models may have answered the same items, and how their errors correlate is not known: "
            "they are taken as independent, so intervals are too short if items are shared. Item "
            "rows with an id for each item settle it.",
            stacklevel=4,
        )


def topics_of_shared_items(X, model, topic):
    """Topics that the columns of X show, where models are known to share their items.

    Parameters
    ----------
    X : DataFrame or ndarray of shape (n_groups, n_features)
        Features.
    model, topic : str or None
        Columns of models and topics.

    Returns
    -------
    ndarray of shape (n_groups,) or None

    Warns
    -----
    UserWarning
        If there are no such columns.
    """
    column = role_column(X, topic)
    if column is None or role_column(X, model) is None:
        warnings.warn(
            "sampling says that models answered the same items, but neither groups nor columns "
            f"{model!r} and {topic!r} of X tell the topics: what should be kept together is taken "
            "as independent, and intervals come out too short. Pass groups=...",
            stacklevel=4,
        )
        return None
    check_named(f"Column {column!r} of X", X[column], X.index)
    return X[column].to_numpy()


def assumed_sampling(X, z, sigma2, n, groups, *, moderates, reads_correlation, reads_topics):
    """The `Sampling` that plain numbers are taken to come from.

    Parameters
    ----------
    X : DataFrame or ndarray of shape (n_groups, n_features)
        Features.
    z : ndarray of shape (n_groups,)
        Direct estimates.
    sigma2 : ndarray of shape (n_groups,) or None
        Sampling variances; None where they are one known number.
    n : ndarray of shape (n_groups,) or None
        Sizes.
    groups : ndarray of shape (n_groups,) or None
        Topics.
    moderates, reads_correlation, reads_topics : bool
        What the estimator would have made use of.

    Returns
    -------
    Sampling

    Warns
    -----
    UserWarning
        Once, of all that the result may depend on.
    """
    outcome = "binomial" if are_counts(z, n) else "continuous"
    assumed = []
    if outcome == "binomial" and sigma2 is not None and not _of_answers(z, sigma2, n):
        assumed.append(
            "every y * n is a whole number, so scores are taken for right and wrong answers to "
            "independent items, of which sigma2 is not the variance (clusters?)"
        )
    if outcome == "continuous" and moderates and sigma2 is not None and n is not None:
        assumed.append("sigma2 is taken as known, not as estimated from the few scores of a group")
    if reads_correlation and _shared(X, groups):
        assumed.append(
            "models seem to have answered the same items, and their errors are taken as independent"
        )
    if reads_topics and groups is None and _shared(X, None):
        assumed.append(
            "several models stand on one topic and groups was not given either, so topics are read "
            "as features like any other, and folds may split them"
        )
    if assumed:
        warnings.warn(
            f"sampling was not given: {'; '.join(assumed)}. {_SAY_SO}, or "
            f"sampling=Sampling({outcome!r}{', items_shared=True' * (groups is not None)}) to "
            "confirm it.",
            stacklevel=5,
        )
    return Sampling(outcome, items_shared=groups is not None)


def warn_of_unsaid_topics(X):
    """Warn of topics that several models share, which transformers may hide from the last step.

    Parameters
    ----------
    X : DataFrame or ndarray of shape (n_groups, n_features)
        What the first step gets.

    Warns
    -----
    UserWarning
        If `X` has columns model and topic, and several models stand on one topic.
    """
    if _shared(X, None):
        warnings.warn(
            "Neither groups nor sampling was given, and several models stand on one topic of X: "
            "if they answered the same items, folds may split what belongs together and intervals "
            f"come out too short. Pass groups=X['topic'] too. {_SAY_SO}.",
            stacklevel=3,
        )


def _of_answers(z, sigma2, n):
    """Whether these may be sampling variances of shares of right answers."""
    if len(sigma2) > 1 and np.ptp(sigma2) == 0:
        return True  # one number for all groups, known from elsewhere
    k = np.round(z * n)
    return any(
        np.allclose(sigma2, binomial.sampling_variance(k, n, kind), rtol=_ROUNDING, atol=0)
        for kind in _OWN_ANSWERS
    )


def _shared(X, groups):
    """Whether several rows stand on one topic that the caller named, or several models."""
    if groups is not None:
        return len(pd.unique(pd.Series(groups))) < len(groups)
    if not isinstance(X, pd.DataFrame) or not {"model", "topic"} <= set(X.columns):
        return False
    return X["model"].groupby(X["topic"].to_numpy(), observed=True).nunique().max() > 1
