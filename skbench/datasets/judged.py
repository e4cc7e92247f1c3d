"""Simulated answers with an LLM judge's verdicts and a few human labels."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from skbench._random import as_generator
from skbench._types import Count, NonNegative, OpenShare, RandomState, Range, checked
from skbench.datasets._data import ItemData, counts_of, item_ids, numbered

_VERDICTS = np.array(["n", "y", "u"], object)


@checked
def make_judged_items(
    n_groups: Count = 20,
    n_items: ArrayLike = 200,
    n_labeled: ArrayLike = 20,
    *,
    intercept: float = 0.0,
    group_std: NonNegative = 1.0,
    feature_noise: NonNegative = 0.5,
    sensitivity: OpenShare = 0.9,
    specificity: OpenShare = 0.9,
    abstention: Annotated[float, Range(0, 1, "low")] = 0.0,
    drift: NonNegative = 0.0,
    score: Literal["binary", "continuous"] = "binary",
    random_state: RandomState = None,
) -> ItemData:
    """Simulate answers of a model, all with an LLM judge's verdict and some with a human label.

    An answer in group g is correct with log odds ``intercept + effect of g``, where the effects
    are normal with mean 0. The judge (autorater) judges all answers and makes errors. Human
    labels are always correct and cover a random sample of the answers.

    Parameters
    ----------
    n_groups : int, default=20
        Number of groups (topics).
    n_items : int or array-like of shape (n_groups,), default=200
        Number of answers per group, including labeled answers.
    n_labeled : int or array-like of shape (n_groups,), default=20
        Number of answers per group with a human label. 0 is allowed.
    intercept : float, default=0.0
        Log odds of a correct answer in an average group.
    group_std : float, default=1.0
        Standard deviation of the group effects, in log odds.
    feature_noise : float, default=0.5
        Standard deviation of the difference between the feature of a group and its effect, in
        log odds.
    sensitivity, specificity : float in (0, 1), default=0.9
        Probability that the judge accepts a correct answer, and that it rejects an incorrect one.
        With ``sensitivity = 1 - specificity``, its verdicts are pure noise.
    abstention : float in [0, 1), default=0.0
        Probability that the judge abstains, independent of the answer.
    drift : float, default=0.0
        Standard deviation of the judge's leniency between groups, in log odds. In a lenient
        group, the judge accepts more correct and more incorrect answers.
    score : {"binary", "continuous"}, default="binary"
        Whether the judge returns a binary verdict or a score in (0, 1). With the same seed, it
        accepts the answers whose score exceeds 0.5.
    random_state : None, int, RandomState or Generator, default=None
        Seed. Groups are drawn first, so `truth` does not depend on the parameters of the judge
        and the labels.

    Returns
    -------
    ItemData
        With attributes

        - items : DataFrame, one row per answer, with columns `group`, `item`,
          `autorater` (0 or 1; "y", "n" or "u" if `abstention` is positive; or a
          score) and `human` (1 correct, 0 incorrect, nan without a label).
        - truth : Series of probabilities of a correct answer, indexed by group.
        - features : DataFrame indexed by group, column `feature`.
        - DESCR : str, description of the data.

    Raises
    ------
    ValueError
        If a count is not an integer, if a count or probability is out of range, if `intercept` is
        not finite, if a group has fewer items than labels, or if a continuous judge abstains.

    See Also
    --------
    make_items : Simulate scores of several models without a judge.

    Notes
    -----
    The score is ``expit(m + leniency + L)``, where L is standard logistic and m is the log odds of
    acceptance: ``logit(sensitivity)`` for correct and ``-logit(specificity)`` for incorrect
    answers.

    When not to use it: as evidence that a method works with a real judge, because a real judge's
    errors depend on more than the correctness of the answer.

    Examples
    --------
    >>> from skbench.datasets import make_judged_items
    >>> data = make_judged_items(3, 50, [0, 1, 10], random_state=0)
    >>> data.items.groupby("group")["human"].count().tolist()
    [0, 1, 10]
    """
    groups = numbered("group", n_groups)
    n_items = counts_of(n_items, "n_items", "group", groups)
    n_labeled = counts_of(n_labeled, "n_labeled", "group", groups, minimum=0)
    _check_enough(n_items, n_labeled, groups)
    if score == "continuous" and abstention > 0:
        raise ValueError("A continuous judge cannot abstain. Set abstention=0.")

    rng = as_generator(random_state)
    effect = group_std * rng.standard_normal(n_groups)
    feature = effect + feature_noise * rng.standard_normal(n_groups)
    leniency = drift * rng.standard_normal(n_groups)
    truth = expit(intercept + effect)

    group = np.repeat(np.arange(n_groups), n_items)
    number = np.concatenate([np.arange(size) for size in n_items])
    right = rng.random(len(group)) < truth[group]
    mean = np.where(right, logit(sensitivity), -logit(specificity)) + leniency[group]
    latent = mean + rng.logistic(size=len(group))
    abstains = rng.random(len(group)) < abstention
    labeled = _few_of_each(group, n_labeled, rng)

    index = pd.Index(groups, name="group")
    return ItemData(
        items=pd.DataFrame(
            {
                "group": np.array(groups, object)[group],
                "item": item_ids(np.array(groups, object)[group], "item", number),
                "autorater": _verdicts(latent, abstains, score, abstention),
                "human": np.where(labeled, right, np.nan),
            }
        ),
        truth=pd.Series(truth, index=index, name="truth"),
        features=pd.DataFrame({"feature": feature}, index=index),
        DESCR=(
            f"Simulated answers in {n_groups} groups with verdicts of a {score} judge, "
            f"{n_labeled.sum()} of {len(group)} with human labels"
        ),
    )


def _few_of_each(group, n_labeled, rng):
    """Return which items are labeled: `n_labeled` random items of each group."""
    place = pd.Series(rng.random(len(group))).groupby(group).rank(method="first")
    return place.to_numpy() <= n_labeled[group]


def _verdicts(latent, abstains, score, abstention):
    """Return the judge's verdicts or scores from the log odds of its scores."""
    if score == "continuous":
        return expit(latent)
    accepts = (latent > 0).astype(int)
    return _VERDICTS[np.where(abstains, 2, accepts)] if abstention > 0 else accepts


def _check_enough(n_items, n_labeled, groups):
    if np.any(n_labeled > n_items):
        at = int(np.argmax(n_labeled > n_items))
        raise ValueError(
            f"{groups[at]!r} has {n_items[at]} items, fewer than n_labeled={n_labeled[at]}."
        )
