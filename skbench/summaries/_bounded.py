"""Direct estimates of bounded scores with intervals that cover at every group size."""

from __future__ import annotations

import numpy as np

from skbench._checks import check_by, check_within, require_columns
from skbench._random import as_generator
from skbench._types import Bounds, Level, Names, RandomState, Rows, checked
from skbench.containers import Estimate
from skbench.items.rows import (
    SCORE,
    checked_scores,
    collected,
    group_labels,
    opened,
    warn_of_unequal_probabilities,
    with_item_key,
)
from skbench.stats.intervals import means
from skbench.summaries._sharing import check_single_answers

_TOO_FEW_TO_BET = 5  # with fewer scores, betting rejects almost no mean


@checked
def betting_estimate(
    items: Rows,
    by: Names,
    score: str = "score",
    *,
    model: str = "model",
    item: str = "item",
    topic: Names | None = "topic",
    bounds: Bounds = (0, 1),
    confidence_level: Level = 0.95,
    random_state: RandomState = None,
) -> Estimate:
    """Estimate group means of bounded scores, with intervals that keep their coverage.

    Parameters
    ----------
    items : dataframe
        One row per independent item, as for `summarize_items`.
    by : str or list of str
        Columns that define the groups.
    score : str, default="score"
        The score column.
    model, item : str, default="model", "item"
        The model and item columns. If they exist, repeated items in a group raise an error.
    topic : str or list of str or None, default="topic"
        Topic columns, needed if item ids start again in every topic. "topic" may be absent.
    bounds : tuple of two floats, default=(0, 1)
        Lowest and highest score by the definition of the metric.
    confidence_level : float, default=0.95
        Minimum coverage in each group.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the order in which the scores of a group are used. The interval depends slightly
        on it.

    Returns
    -------
    Estimate
        Estimates with the guarantee "each group".

    Raises
    ------
    ValueError
        As in `summarize_items`, or if a score is outside `bounds`.

    Notes
    -----
    The interval is the hedged betting interval of Waudby-Smith and Ramdas
    (`skbench.stats.means.betting_interval`). Groups of fewer than 5 items have
    `skbench.stats.means.bounded_interval`, which is shorter there. Unlike t intervals, both keep
    their coverage if scores pile up at one end. If only summaries are available, use
    ``DirectEstimator(interval="bounded")``.

    When not to use it: for binary scores (Wilson intervals are shorter), for dependent items, or
    if the bounds were taken from the data.

    Examples
    --------
    >>> import pandas as pd
    >>> items = pd.DataFrame({"topic": ["law"] * 40, "score": [0.0, 0.1, 0.0, 0.2] * 10})
    >>> betting_estimate(items, "topic", random_state=0).high.round(2)
    array([0.17])
    """
    by = check_by(by)
    frame, key = with_item_key(opened(items), item, topic, by, model)
    names = frame.collect_schema().names()
    require_columns(names, [*by, score])
    frame = checked_scores(frame, by, score)
    warn_of_unequal_probabilities(frame, by)
    if item in names and item not in by:
        check_single_answers(frame, by, score, model if model in names else None, key)
    rows = collected(frame.select([*by, SCORE]), [*by, SCORE])
    scores = rows[SCORE].to_numpy()
    check_within(f"values of {score!r} lie", scores, bounds)
    keys = group_labels(rows, by)
    codes, labels = keys.factorize()
    labels.names = keys.names
    n, total, squares = (np.bincount(codes, weights) for weights in (None, scores, scores**2))
    low, high = means.betting_interval(
        scores, codes, len(labels), confidence_level, *bounds, rng=as_generator(random_state)
    )
    few = n < _TOO_FEW_TO_BET
    low[few], high[few] = means.bounded_interval(
        total[few] / n[few], n[few], confidence_level, *bounds
    )
    return Estimate(
        value=total / n,
        low=low,
        high=high,
        standard_error=np.sqrt(means.pooled_mean_variance(total, squares, n)),
        confidence_level=confidence_level,
        labels=labels,
        method="direct (betting)",
        guarantee="each group",
    )
