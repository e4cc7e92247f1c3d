"""`embed_groups`: features of groups from the texts of their items."""

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
    """Mean embedding of the items of each group, as a table of features.

    Parameters
    ----------
    items : dataframe
        One row per (model, item), in any dataframe that narwhals reads.
    by : str or list of str
        Columns that define the groups of the table; some of those given to
        `summarize_items` will do. Where models share items that is the topic: the
        texts are the same for all models.
    text : str or list of str, default="text"
        Column of texts; or numeric columns, whose means are taken as they are.
    transformer : transformer, default=None
        Anything with ``fit_transform`` from a list of texts to a matrix, sparse or
        dense; it is cloned. None is a TF-IDF vectorizer and a truncated singular
        value decomposition.
    n_components : int, default=16
        Dimensions of the default embedding; fewer where there are fewer words or
        texts.
    random_state : int, default=0
        Seed of the default embedding.

    Returns
    -------
    DataFrame of shape (n_groups, n_dimensions)
        Indexed by `by`, columns ``embedding_00``, ... (or the numeric columns given
        as `text`): ready for ``summarize_items(features=...)``.

    Raises
    ------
    ValueError
        If a column is missing, has no value in some row, or is not of its kind; if the
        transformer returns no matrix of finite numbers with one row per text.

    Notes
    -----
    Each different text is embedded once, in alphabetical order, and counts in its group
    as often as it occurs. With model and topic among the `by` columns of `summarize_items`, which
    become one intercept per level, these are the features of [1]_, A.1 (there with
    BERT embeddings).

    The embedding is fitted on all texts and never sees a score. Means of columns that
    come with the answers, such as confidence, do depend on which items were drawn; in
    a table they are taken as known, while ``summarize_items(features=[...])`` lets
    `estimated_risk` make them anew.

    When not to use it: with a handful of topics, which have nothing to be
    interpolated between.

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
    """Embedding of every row, a DataFrame; rows with the same text have the same."""
    if not isinstance(text, str):
        return pd.DataFrame({name: _numbers(rows, name) for name in text})
    wrong = next((words for words in rows[text] if not isinstance(words, str)), None)
    if wrong is not None:
        raise ValueError(
            f"{text!r} must hold texts, but has {wrong!r}. Numeric columns that embed the items "
            f"already are given as a list: text=[...]."
        )
    texts = sorted(rows[text].unique())
    matrix = _embedded(texts, transformer, n_components, random_state)
    width = len(str(matrix.shape[1] - 1))
    names = [f"embedding_{number:0{max(width, 2)}d}" for number in range(matrix.shape[1])]
    return pd.DataFrame(matrix[pd.Index(texts).get_indexer(rows[text])], columns=names)


def item_columns(items, columns):
    """The named columns of any dataframe as a pandas frame."""
    frame = opened(items)
    require_columns(frame.collect_schema().names(), columns)
    return collected(frame.select(list(dict.fromkeys(columns))))


def _embedded(texts, transformer, n_components, random_state):
    """Matrix with one row per text."""
    if transformer is None:
        matrix = _singular_vectors(texts, n_components, random_state)
    else:
        matrix = clone(transformer).fit_transform(texts)
    matrix = matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
    if matrix.ndim != 2 or len(matrix) != len(texts) or matrix.shape[1] == 0:
        raise ValueError(
            f"The transformer made an array of shape {matrix.shape} of {len(texts)} different "
            "texts. It must return one row per text, with the same number of columns for each."
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
    # A frame, if scikit-learn is set to return frames.
    vectors = np.asarray(svd.fit_transform(words))
    # The signs of singular vectors are arbitrary and differ between versions of the solver: the
    # first of the largest loadings is positive, where equal ones differ by their rounding only.
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
            f"{infinite} of {len(rows)} rows have an infinite {name!r}. Fill them in, or leave the "
            "rows out."
        )
    return numbers
