"""How the errors of models on shared items hang together."""

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
_OWN_ITEMS = "Pass item=None to summarize_items where models have hardly an item in common."


@checked
def item_correlation(
    items: Rows,
    model: str = "model",
    topic: Names | None = "topic",
    item: str = "item",
    score: str = "score",
    cluster: str | None = None,
) -> pd.DataFrame:
    """Correlation across models of the errors that shared items cause.

    Parameters
    ----------
    items : dataframe
        One row per (model, item), in any eager dataframe that narwhals reads. Not
        changed. Several rows of a model on one item are averaged.
    model : str, default="model"
        Column that names the model.
    topic : str or list of str or None, default="topic"
        Column or columns of the topic; "topic" may be absent.
    item : str, default="item"
        Column of item ids, unique within a topic.
    score : str, default="score"
        Column of scores.
    cluster : str, default=None
        Column of clusters of dependent items. The errors of models then correlate through the
        clusters, far more than item by item.

    Returns
    -------
    DataFrame of shape (n_models, n_models)
        Correlation matrix, models in sorted order.

    Raises
    ------
    ValueError
        If a column is missing, a score is missing, infinite or not numeric, or a model,
        topic or item has no name.

    Notes
    -----
    The correlation of scores less their model's mean in the topic, pooled over
    topics and shrunk toward one common value; with clusters, of its sums over each cluster. See
    `skbench.stats.item_correlation.item_correlation`. Where models are asked the same items,
    their direct estimates err together: an unlucky draw of hard items lowers all.
    `MixedModel` takes the matrix from `Sampling`; `summarize_items` puts it there.

    When not to use it: where every model has items of its own. It is 0 then, and
    the estimate is noise.

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
    """`error_products` of items with this key, or of units, clusters of them or the items."""
    column, models = rows.codes(model), rows.values(model)
    row = rows.together([*topic, *key])
    shape = row.max() + 1, len(models)
    warn_of_memory(_BYTES_OF_A_CELL * np.prod(shape), _OWN_ITEMS)
    cell = row * len(models) + column
    scores = scores - scores.min(initial=np.inf)  # differences of large scores are kept
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
            f"item_correlation needs rows in memory, but {type(items).__name__} is lazy. Select "
            "the columns, and collect them into a dataframe first."
        )
    return frame
