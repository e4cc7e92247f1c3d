"""`choose_items`: choose the items of a bank that a new model answers."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import expit

from skbench._checks import check_bank
from skbench._random import as_generator
from skbench._types import Bank, Count, RandomState, checked
from skbench.items.rows import CHANCE
from skbench.stats.item_response.sampling import allocate, systematic_sample

_LEAST_PROBABILITY = 0.25  # relative to equal probabilities
_LEVELS = np.linspace(0.05, 0.95, 10)  # quantile levels of the abilities of earlier models


@checked
def choose_items(
    bank: Bank,
    n_items: Count,
    topics: Literal["topic"] | None = "topic",
    *,
    chances: Literal["informative", "equal"] = "informative",
    random_state: RandomState = None,
) -> pd.DataFrame:
    """Draw a random sample of items for the evaluation of a new model.

    The sample is systematic, stratified by topic and ordered by predicted easiness.

    When not to use it: to select only the most informative items. The sample is random.
    ``chances="informative"`` only makes such items more probable.

    Parameters
    ----------
    bank : ItemBank
        Fitted item bank.
    n_items : int
        Total number of items.
    topics : "topic" or None, default="topic"
        With "topic", each topic has a proportional share of the items, and at least two items if
        `n_items` is large enough. None ignores topics and uses the easiness alone.
    chances : {"informative", "equal"}, default="informative"
        Inclusion probabilities within a topic. "informative" gives higher probabilities to items
        whose outcome is hard to predict. Use "informative" only with estimators that weight by
        ``inclusion_probability``, such as `UnitLevelModel`. With "equal", all items of a topic have
        the same probability, so the unweighted mean of a topic is unbiased.
    random_state : int, RandomState, Generator or None, default=None
        Source of the random start.

    Returns
    -------
    DataFrame of shape (n_items, 3)
        Columns topic, item and inclusion_probability. Keep inclusion_probability with the answers,
        because `UnitLevelModel.fit` uses it.

    Raises
    ------
    ValueError
        If the bank has fewer than `n_items` items.

    Notes
    -----
    A systematic sample [1]_ by topic and easiness is drawn from a random start, so each item has
    exactly its stated inclusion probability. The inclusion probabilities in a topic add up to the
    topic's expected sample size. With "informative", a quarter of this sum is spread equally over
    the topic's items. The rest is spread in proportion to the expected variance ``p (1 - p)`` of an
    answer.

    References
    ----------
    .. [1] Särndal, Swensson and Wretman (1992). Model Assisted Survey Sampling, section 3.4.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skbench import ItemBank
    >>> past = pd.DataFrame({"model": np.repeat(["ada", "bob"], 40), "item": [*range(40)] * 2,
    ...                      "score": [1] * 30 + [0] * 10 + [1] * 10 + [0] * 30})
    >>> chosen = choose_items(ItemBank().fit(past), 4, random_state=0)
    >>> chosen["inclusion_probability"].round(2).tolist()
    [0.11, 0.11, 0.11, 0.09]
    """
    check_bank(bank)
    n_bank = len(bank.items_)
    if n_items > n_bank:
        raise ValueError(f"The bank has only {n_bank} items, fewer than the {n_items} to choose.")
    rng = as_generator(random_state)
    codes = np.zeros(n_bank, dtype=int) if topics is None else bank.topic_codes_
    variance = answer_variance(bank)
    counts = np.bincount(codes)
    size = (allocate(n_items, counts, counts) / counts)[codes]
    if chances == "informative":
        of_topic = np.bincount(codes, variance) / counts
        size *= _LEAST_PROBABILITY + (1 - _LEAST_PROBABILITY) * variance / of_topic[codes]
    order = _serpentine_order(bank.easiness_, codes, n_items, rng)
    taken, probability = systematic_sample(size[order], n_items, rng)
    rows, own = order[taken], probability[taken]
    chosen = bank.items_.iloc[rows].assign(**{CHANCE: own})
    return chosen.iloc[np.argsort(rows)].reset_index(drop=True)


def _serpentine_order(easiness, codes, n_items, rng):
    """Order of items by topic and easiness, every second topic in reverse."""
    # The order within each step of the sample is random, so any two items can be drawn together.
    turned = np.where(codes % 2 == 0, easiness, -easiness)
    shuffled = rng.permutation(len(easiness))
    order = shuffled[np.lexsort([turned[shuffled], codes[shuffled]])]
    step = np.arange(len(order)) * n_items // len(order)
    return order[np.lexsort([rng.random(len(order)), step])]


def answer_variance(bank):
    """Variance of an answer around its prediction, averaged over the earlier models."""
    if not bank.binary_:
        return np.ones(len(bank.items_))
    abilities = np.quantile(bank.ability_ - bank.easiness_.mean(), _LEVELS)
    p = expit(bank.easiness_[:, None] + abilities)
    return np.mean(p * (1 - p), axis=1)
