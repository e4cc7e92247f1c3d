"""`embed_groups`: features of groups from their items' texts."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.base import clone

from skbench._checks import check_by, names_of, require_columns
from skbench._types import Count, Names, RandomState, Rows, Transformer, checked
from skbench.items.rows import collected, opened, refuse_missing


@checked
def embed_groups(
    items: Rows,
    by: Names,
    text: Names = "text",
    *,
    transformer: Transformer | None = None,
    n_components: Count = 16,
    random_state: RandomState = 0,
) -> pd.DataFrame:
    """Compute the mean embedding of the items of each group, as a table of features.

    Parameters
    ----------
    items : dataframe
        One row per model and item, in any dataframe that narwhals reads.
    by : str or list of str
        Columns that define the groups of the table. They may be some of the `by` columns of
        `summarize_items`. If models share items, the topic is enough.
    text : str or list of str, default="text"
        The text column, or a list of numeric columns whose means are computed without embedding.
    transformer : transformer, default=None
        An object whose ``fit_transform`` turns a list of texts into a sparse or dense matrix. It
        is cloned. The default is a TF-IDF vectorizer and a truncated singular value
        decomposition.
    n_components : int, default=16
        Dimensions of the default embedding. There are fewer if there are fewer words or texts.
    random_state : int, default=0
        Seed of the default embedding.

    Returns
    -------
    DataFrame of shape (n_groups, n_dimensions)
        A table for ``summarize_items(features=...)``. The index is `by`. The columns are
        ``embedding_00`` and so on, or the numeric columns in `text`.

    Raises
    ------
    ValueError
        If a column or a value is missing or has the wrong type, or if the transformer does not
        return a matrix of finite numbers with one row per text.

    Notes
    -----
    Each different text is embedded once, in alphabetical order, and counts in its group as often
    as it occurs. If model and topic are `by` columns of `summarize_items`, each level has an
    intercept. Then these are the features of [1]_, A.1, which uses BERT embeddings.

    The embedding is fitted on all texts and does not use scores. Columns that come with the
    answers, such as confidence, have means that depend on the sampled items. A table treats these
    means as known, but ``summarize_items(features=[...])`` lets `estimated_risk` recompute them.

    When not to use it: with only a few topics, because the embeddings cannot be interpolated.

    References
    ----------
    .. [1] Fogliato, Patil, Akpinar and Monfort (2024). Precise Model
       Benchmarking with Only a Few Observations.

    Examples
    --------
    >>> import pandas as pd
    >>> from skbench import embed_groups
    >>> items = pd.DataFrame({
    ...     "topic": ["law", "law", "art"],
    ...     "text": ["who may sue", "may a court", "who painted it"]})
    >>> embed_groups(items, "topic", n_components=2).round(2)
           embedding_00  embedding_01
    topic
    art            0.52         -0.79
    law            0.75          0.31
    """
    by = check_by(by)
    texts = names_of(text)
    rows = item_columns(items, [*by, *texts])
    refuse_missing(rows)
    table = item_embedding(rows, text, transformer, n_components, random_state)
    keys = [rows[name].to_numpy() for name in by]
    return table.groupby(keys, sort=True).mean().rename_axis(index=by)


def item_embedding(rows, text, transformer, n_components, random_state):
    """Return the embedding of each row as a DataFrame."""
    if not isinstance(text, str):
        return pd.DataFrame({name: _numbers(rows, name) for name in text})
    wrong = next((words for words in rows[text] if not isinstance(words, str)), None)
    if wrong is not None:
        raise ValueError(
            f"{text!r} must contain texts, but has {wrong!r}. Pass numeric columns as a list: "
            f"text=[...]."
        )
    texts = sorted(rows[text].unique())
    matrix = _embedded(texts, transformer, n_components, random_state)
    width = len(str(matrix.shape[1] - 1))
    names = [f"embedding_{number:0{max(width, 2)}d}" for number in range(matrix.shape[1])]
    return pd.DataFrame(matrix[pd.Index(texts).get_indexer(rows[text])], columns=names)


def item_columns(items, columns):
    """Return columns of any dataframe as a pandas frame."""
    frame = opened(items)
    require_columns(frame.collect_schema().names(), columns)
    return collected(frame.select(list(dict.fromkeys(columns))))


def _embedded(texts, transformer, n_components, random_state):
    """Return a matrix with one row per text."""
    if transformer is None:
        matrix = _singular_vectors(texts, n_components, random_state)
    else:
        matrix = clone(transformer).fit_transform(texts)
    matrix = matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
    if matrix.ndim != 2 or len(matrix) != len(texts) or matrix.shape[1] == 0:
        raise ValueError(
            f"The transformer returned an array of shape {matrix.shape} for {len(texts)} different "
            "texts. It must return a matrix with one row per text."
        )
    matrix = matrix.astype(float)
    unknown = ~np.isfinite(matrix).all(axis=1)
    if unknown.any():
        raise ValueError(
            f"The transformer returned missing or infinite numbers for {int(unknown.sum())} of "
            f"{len(texts)} different texts, such as {texts[int(np.argmax(unknown))]!r}."
        )
    return matrix


def _singular_vectors(texts, n_components, random_state):
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
    most = min(words.shape) - 1
    if most < 1:
        return words
    svd = TruncatedSVD(min(n_components, most), random_state=random_state)
    # scikit-learn may be configured to return frames.
    vectors = np.asarray(svd.fit_transform(words))
    # The signs of singular vectors are arbitrary and differ between versions of the solver, so
    # make the first of the largest loadings positive. Loadings within rounding count as equal.
    size = abs(svd.components_)
    first = (size > (1 - 1e-6) * size.max(axis=1, keepdims=True)).argmax(axis=1)
    return vectors * np.sign(svd.components_[np.arange(len(first)), first])


def _numbers(rows, name):
    if not (pd.api.types.is_numeric_dtype(rows[name]) or pd.api.types.is_bool_dtype(rows[name])):
        raise ValueError(f"{name!r} must be numeric, but has {rows[name].iloc[0]!r}.")
    numbers = rows[name].to_numpy(dtype=float)
    infinite = int(np.isinf(numbers).sum())
    if infinite:
        raise ValueError(
            f"{infinite} of {len(rows)} rows have an infinite {name!r}. Replace the values, or "
            "remove the rows."
        )
    return numbers
