"""Position bias of judges that compare two answers."""

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
    """Estimate how much a pairwise judge favors the answer that is shown first.

    Parameters
    ----------
    rows : dataframe
        One row per verdict on a pair of answers, in any dataframe that narwhals supports.
    verdict : str, default="winner"
        Column of the winner: `a` or `b`. All other values count as ties.
    first : str, default="first"
        Column of the model whose answer was shown first: `a` or `b`.
    item : str, default=None
        Column of pair ids, if pairs were shown in both orders.
    topic : str or list of str or None, default="topic"
        Columns of topics, if pair ids are unique only within a topic. The columns may be absent.
    a, b : str, default="model_a" and "model_b"
        Names of the two models in these columns.
    confidence_level : float, default=0.95
        Nominal coverage of the interval.

    Returns
    -------
    dict
        With the keys

        - `bias`: the proportion of verdicts for the first answer minus that for the second, from
          -1 to 1, with equal weights for both orders;
        - `low`, `high`: ends of its interval;
        - `n_items`: the number of pairs, or the number of verdicts if `item` is None;
        - `inconsistent`: the proportion of pairs whose winner changes with the order, among pairs
          shown in both orders; nan if `item` is None.

    Raises
    ------
    ValueError
        If a column is missing, `first` has values other than `a` and `b`, or the same model is
        always first.

    Notes
    -----
    The bias is half the difference in the mean verdict for `a` between the two orders. It therefore
    does not depend on which model is better. If pairs were shown in both orders, the interval is
    that of a paired t test. Otherwise it is that of Welch's t test.

    When not to use it: if the order depends on the expected winner.

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
    unknown = ~table[first].isin([a, b])
    if unknown.any():
        raise ValueError(
            f"Column {first!r} must contain {a!r} or {b!r}, got "
            f"{plain(table[first][unknown].iloc[0])!r}."
        )
    wins = table[verdict].map({a: 1.0, b: -1.0}).fillna(0.0)
    if table[first].nunique() < 2:
        raise ValueError(
            f"Column {first!r} contains only {plain(table[first].iloc[0])!r}. The bias needs both "
            "orders."
        )
    nothing = {"bias": np.nan, "low": np.nan, "high": np.nan, "inconsistent": np.nan}
    if item is not None:
        for name in key:
            check_named(f"Column {name!r}", table[name])
        by_item = wins.groupby([table[name] for name in (*key, first)]).mean().unstack().dropna()
        x, y = (by_item[name].to_numpy() / 2 for name in (a, b))
        n, compared = len(x), stats.ttest_rel
        if n < 2:
            return nothing | {"n_items": n}
        inconsistent = float((np.sign(x) != np.sign(y)).mean())
    else:
        x, y = (wins[table[first] == name].to_numpy() / 2 for name in (a, b))
        n, inconsistent = len(wins), np.nan
        compared = partial(stats.ttest_ind, equal_var=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # equal verdicts have no interval
        test = compared(x, y)
    low, high = np.clip(test.confidence_interval(confidence_level), -1, 1)
    if not np.isfinite(test.statistic):
        low, high = np.nan, np.nan
    bias = float(x.mean() - y.mean())
    return {"bias": bias, "low": float(low), "high": float(high), "n_items": n,
            "inconsistent": inconsistent}  # fmt: skip
