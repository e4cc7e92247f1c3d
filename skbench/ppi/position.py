"""Do pairwise judges favor what they see first?"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from skbench._checks import check_named, plain, require_columns
from skbench._types import Level, Names, Rows, checked
from skbench.items.rows import as_frame, with_item_key


@checked
def position_bias(
    rows: Rows,
    verdict: str = "winner",
    first: str = "first",
    item: str | None = None,
    *,
    topic: Names | None = "topic",
    a: str = "model_a",
    b: str = "model_b",
    confidence_level: Level = 0.95,
) -> dict[str, Any]:
    """How much a pairwise judge favors the answer that it is shown first.

    Parameters
    ----------
    rows : dataframe
        One row per verdict on a pair, in any dataframe that narwhals reads.
    verdict : str, default="winner"
        Column of the winner: `a`, `b`, or anything else for a tie.
    first : str, default="first"
        Column of who was shown first: `a` or `b`.
    item : str, default=None
        Column of the pair, where pairs were shown in both orders.
    topic : str or list of str or None, default="topic"
        Columns of topics, which may be absent, where ids of pairs start again in each.
    a, b : str, default="model_a" and "model_b"
        How the two are called in these columns.
    confidence_level : float, default=0.95
        Nominal level.

    Returns
    -------
    dict
        `bias` (-1 to 1: share of verdicts for whoever is first, less that for whoever is
        second, were both orders equally common) with `low` and `high`, `n_items`, and
        `inconsistent`, the share of pairs shown in both orders whose winner changed (nan
        without `item`).

    Notes
    -----
    Half the difference of the mean verdict for a between the two orders: paired by item
    where items were shown in both, Welch's otherwise. Which of the two is better drops out.
    When not to use it: where the order was chosen by who was expected to win.

    Examples
    --------
    >>> rows = pd.DataFrame({"pair": [0, 0, 1, 1, 2, 2], "first": ["model_a", "model_b"] * 3,
    ...                      "winner": ["model_a", "model_b", "model_a", "model_a", "tie", "tie"]})
    >>> found = position_bias(rows, item="pair")
    >>> print(round(found["bias"], 3), round(found["inconsistent"], 3))
    0.333 0.333
    """
    frame, key = as_frame(rows, in_memory=True), []
    if item is not None:
        frame, key = with_item_key(frame, item, topic)
    wanted = [verdict, first, *key]
    require_columns(frame.columns, wanted, "rows")
    table = pd.DataFrame({name: frame[name].to_list() for name in wanted})
    strange = ~table[first].isin([a, b])
    if strange.any():
        raise ValueError(
            f"{first!r} must hold {a!r} or {b!r}, got {plain(table[first][strange].iloc[0])!r}."
        )
    wins = table[verdict].map({a: 1.0, b: -1.0}).fillna(0.0)
    if table[first].nunique() < 2:
        raise ValueError(
            f"Only {plain(table[first].iloc[0])!r} is shown first: no bias can be told."
        )
    unknown = {"bias": np.nan, "low": np.nan, "high": np.nan, "inconsistent": np.nan}
    if item is not None:
        for name in key:
            check_named(f"Column {name!r}", table[name])
        by_item = wins.groupby([table[name] for name in (*key, first)]).mean().unstack().dropna()
        x, y = (by_item[name].to_numpy() / 2 for name in (a, b))
        n, compared = len(x), stats.ttest_rel
        if n < 2:
            return unknown | {"n_items": n}
        inconsistent = float((np.sign(x) != np.sign(y)).mean())
    else:
        x, y = (wins[table[first] == name].to_numpy() / 2 for name in (a, b))
        n, inconsistent = len(wins), np.nan
        compared = partial(stats.ttest_ind, equal_var=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # verdicts all alike have no interval
        test = compared(x, y)
    low, high = np.clip(test.confidence_interval(confidence_level), -1, 1)
    if not np.isfinite(test.statistic):
        low, high = np.nan, np.nan
    bias = float(x.mean() - y.mean())
    return {"bias": bias, "low": float(low), "high": float(high), "n_items": n,
            "inconsistent": inconsistent}  # fmt: skip
