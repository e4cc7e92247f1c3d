"""How the errors of models on shared items hang together."""

from __future__ import annotations

from importlib.util import find_spec

import narwhals as nw
import numpy as np
import pandas as pd

from skbench._checks import check_named, require_columns
from skbench._types import Names, Rows, checked
from skbench.items.rows import (
    SCORE,
    as_frame,
    checked_scores,
    refuse_lists,
    with_item_key,
    with_score,
)
from skbench.stats.clusters import item_correlation as correlations

_ARROW = nw.Implementation.POLARS, nw.Implementation.PYARROW  # text is told apart in place


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
    return correlation_of(checked_scores(frame, [], score), model, key[:-1], key, score, units)


def correlation_of(frame, model, topic, key, score, units):
    """`item_correlation` of items with this key, and of units, clusters of them or the items."""
    frame = with_score(frame, score)
    column, models = _codes(frame, model)
    topic_of_row = _codes_of_pairs([0 * column, *(_codes(frame, name)[0] for name in topic)])
    row = _codes_of_pairs([topic_of_row, *(_codes(frame, name)[0] for name in key)])
    shape = row.max() + 1, len(models)
    cell = np.ravel_multi_index((row, column), shape)
    scores = frame[SCORE].to_numpy()
    scores = scores - scores.min(initial=np.inf)  # differences of large scores are kept
    answers = np.bincount(cell, minlength=np.prod(shape))
    sums = np.bincount(cell, scores, minlength=np.prod(shape))
    table = np.divide(sums, answers, out=np.full(len(sums), np.nan), where=answers > 0)
    topic_of_item = np.empty(shape[0], dtype=int)
    topic_of_item[row] = topic_of_row
    of_items = [table.reshape(shape), topic_of_item]
    if units not in (None, key):
        cluster_of_item = np.empty(shape[0], dtype=int)
        cluster_of_item[row] = _codes_of_pairs([topic_of_row, _codes(frame, units[0])[0]])
        of_items.append(cluster_of_item)
    matrix = correlations.item_correlation(*of_items)
    names = pd.Index(models, name=model)
    return pd.DataFrame(matrix, index=names, columns=names)


def _in_memory(items):
    frame = as_frame(items)
    if isinstance(frame, nw.LazyFrame):
        raise ValueError(
            f"item_correlation needs rows in memory, but {type(items).__name__} is lazy. Select "
            "the columns, and collect them into a dataframe first."
        )
    return frame


def _codes(frame, name):
    """Number of each row's value among the sorted distinct ones of a column, and these."""
    column = frame[name]
    if column.dtype == nw.String and frame.implementation in _ARROW and find_spec("pyarrow"):
        encoded = column.to_arrow().dictionary_encode()
        if encoded.null_count == 0:
            names = np.array(encoded.dictionary.to_pylist(), dtype=object)
            order = np.argsort(names)
            check_named(f"Column {name!r}", pd.Series(names))
            return np.argsort(order)[encoded.indices.to_numpy()], names[order]
    values = pd.Series(column.to_numpy())
    check_named(f"Column {name!r}", values)
    return pd.factorize(values, sort=True)


def _codes_of_pairs(columns):
    """Number of each row among the distinct combinations of some columns of codes."""
    codes = 0
    for column in columns:
        codes, _ = pd.factorize(codes * (column.max() + 1) + column, sort=True)
    return codes
