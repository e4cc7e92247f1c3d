"""Correlation of the errors of models on shared items."""

from __future__ import annotations

import narwhals as nw
import numpy as np
import pandas as pd

from skbench._checks import require_columns
from skbench._types import Names, Rows, checked
from skbench._warnings import warn_of_memory
from skbench.items.codes import CodedRows
from skbench.items.rows import as_frame, refuse_lists, with_item_key
from skbench.stats.clusters import item_correlation as correlations

_BYTES_OF_A_CELL = 50
_OWN_ITEMS = "Pass item=None to summarize_items if models share hardly any items."


@checked
def item_correlation(
    items: Rows,
    model: str = "model",
    topic: Names | None = "topic",
    item: str = "item",
    score: str = "score",
    cluster: str | None = None,
) -> pd.DataFrame:
    """Estimate the correlation between models of the errors caused by shared items.

    Parameters
    ----------
    items : dataframe
        One row per model and item, in any eager dataframe that narwhals reads. Several rows of a
        model and item are averaged.
    model : str, default="model"
        The model column.
    topic : str or list of str or None, default="topic"
        The topic columns. "topic" may be absent.
    item : str, default="item"
        The column of item ids, unique within a topic.
    score : str, default="score"
        The score column.
    cluster : str, default=None
        The column of clusters of dependent items. Sums over clusters are then correlated, which
        gives much larger correlations than single items.

    Returns
    -------
    DataFrame of shape (n_models, n_models)
        Correlation matrix, with the models in sorted order.

    Raises
    ------
    ValueError
        If a column is missing, if a score is missing, infinite or not numeric, or if a label is
        missing.

    Notes
    -----
    Each score is centered by the model's mean in the topic. The correlation is pooled over topics
    and shrunk toward a common value (`skbench.stats.item_correlation.item_correlation`). If models
    answer the same items, their direct estimates have correlated errors, because a sample of hard
    items lowers all of them. `summarize_items` puts the matrix into `Sampling`, where `MixedModel`
    uses it.

    When not to use it: if every model has different items. The correlation is then 0, and the
    estimate is only noise.

    Examples
    --------
    >>> import pandas as pd
    >>> items = pd.DataFrame({
    ...     "model": ["ada"] * 6 + ["bob"] * 6, "topic": "law", "item": [*range(6)] * 2,
    ...     "score": [1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1],
    ... })
    >>> item_correlation(items).round(2)
    model   ada   bob
    model
    ada    1.00  0.33
    bob    0.33  1.00
    """
    units = None if cluster in (None, item) else [cluster]
    frame, key = with_item_key(_in_memory(items), item, topic, model=model)
    names = [model, *key, *(units or [])]
    require_columns(frame.columns, [*names, score])
    refuse_lists(frame, names)
    rows = CodedRows(frame)
    products = products_of(rows, rows.checked([], score), model, key[:-1], key, units)
    names = rows.values(model).rename(model)
    return pd.DataFrame(correlations.correlation_of_products(products), names, names)


def products_of(rows, scores, model, topic, key, units):
    """Return `error_products` of items with this key, or of clusters in the columns `units`."""
    column, models = rows.codes(model), rows.values(model)
    row = rows.together([*topic, *key])
    shape = row.max() + 1, len(models)
    warn_of_memory(_BYTES_OF_A_CELL * np.prod(shape), _OWN_ITEMS)
    cell = row * len(models) + column
    scores = scores - scores.min(initial=np.inf)  # keeps the precision of large scores
    answers = np.bincount(cell, minlength=np.prod(shape))
    sums = np.bincount(cell, scores, minlength=np.prod(shape))
    table = np.divide(sums, answers, out=np.full(len(sums), np.nan), where=answers > 0)
    topic_of_item = np.zeros(shape[0], dtype=int)
    if topic:
        topic_of_item[row] = rows.together(topic)
    of_items = [table.reshape(shape), topic_of_item]
    if units not in (None, key):
        cluster_of_item = np.empty(shape[0], dtype=int)
        cluster_of_item[row] = rows.together([*topic, *units])
        of_items.append(cluster_of_item)
    return correlations.error_products(*of_items)


def _in_memory(items):
    frame = as_frame(items)
    if isinstance(frame, nw.LazyFrame):
        raise ValueError(
            f"item_correlation needs rows in memory, but {type(items).__name__} is lazy. Collect "
            "the columns into a dataframe first."
        )
    return frame
