"""`cluster_items`: topics for items without topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from skbench._checks import names_of
from skbench._printed import Printed
from skbench._random import as_generator
from skbench._types import AtLeastTwo, Count, Names, RandomState, Rows, Transformer, checked
from skbench.items.rows import refuse_missing
from skbench.summaries._embeddings import item_columns, item_embedding

_NUMBERS = (5, 10, 15, 20, 30, 40, 60)
_SILHOUETTE_ITEMS = 5000  # sample for the silhouette, whose cost is quadratic
_STARTS = 3


@dataclass(frozen=True, eq=False, repr=False)
class ItemClusters(Printed):
    """Topics found by k-means, and the criterion for their number.

    Parameters
    ----------
    labels : ndarray of str of shape (n_rows,)
        Topic of each row: "cluster-00", "cluster-01" and so on, from the largest to the
        smallest.
    sizes : Series
        Number of different items in each topic.
    silhouette : Series
        Mean silhouette by number of clusters, before small clusters were merged.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> items = pd.DataFrame({"x": np.repeat([0.0, 9.0], [30, 20]) + np.arange(50) / 100})
    >>> clusters = cluster_items(items, ["x"], n_clusters=[2, 3], random_state=0)
    >>> clusters.sizes.tolist()
    [30, 20]
    """

    labels: np.ndarray
    sizes: pd.Series
    silhouette: pd.Series

    def _printed(self):
        found = self.silhouette.idxmax()
        return [
            f"{len(self.sizes)} topics of {self.sizes.min()} to {self.sizes.max()} items; "
            f"k-means with {found} clusters has the largest silhouette, "
            f"{self.silhouette[found]:.3f}"
        ]


@checked
def cluster_items(
    items: Rows,
    text: Names = "text",
    *,
    n_clusters: AtLeastTwo | Sequence[AtLeastTwo] = _NUMBERS,
    min_items: Count = 20,
    transformer: Transformer | None = None,
    n_components: Count = 16,
    random_state: RandomState = None,
) -> ItemClusters:
    """Group items into topics by k-means on embeddings of their texts.

    Parameters
    ----------
    items : dataframe
        One row per model and item, in any dataframe that narwhals reads.
    text : str or list of str, default="text"
        The text column, or a list of numeric columns that are the embedding.
    n_clusters : int or sequence of int, default=(5, 10, 15, 20, 30, 40, 60)
        Number of clusters, or candidates from which the silhouette chooses.
    min_items : int, default=20
        Clusters with fewer items are merged into the cluster with the nearest center.
    transformer : transformer, default=None
        Transformer that embeds the texts, as in `embed_groups`.
    n_components : int, default=16
        Dimensions of the default embedding.
    random_state : int, RandomState, Generator or None, default=None
        Seed of k-means, of the sample for the silhouette and of the default embedding.

    Returns
    -------
    ItemClusters
        Use its `labels` as a column: ``items.assign(topic=cluster_items(items).labels)``.

    Raises
    ------
    ValueError
        If a column or a value is missing, or if no number of clusters is at least 2 and below the
        number of different items.

    Notes
    -----
    The method is that of [1]_ for benchmarks without topics. Each different text, or row of
    numbers, is clustered once, so an item has the same topic for all models. The silhouette uses
    at most 5,000 items. Merging starts with the smallest cluster, and centers are weighted by
    size. The clusters do not depend on the scores, so estimates for them are valid.

    When not to use it: if the benchmark has topics. Clusters have no names, so their meaning must
    be inferred from their texts.

    References
    ----------
    .. [1] Fogliato, Patil, Akpinar and Monfort (2024). Precise Model
       Benchmarking with Only a Few Observations. Section 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skbench import cluster_items
    >>> rng = np.random.default_rng(0)
    >>> centers = np.repeat([0.0, 5.0, 10.0], [50, 30, 5])
    >>> items = pd.DataFrame({"x": centers + 0.5 * rng.normal(size=85)})
    >>> cluster_items(items, ["x"], n_clusters=[2, 3, 4], min_items=10, random_state=0)
    2 topics of 35 to 50 items; k-means with 3 clusters has the largest silhouette, 0.881
    """
    from sklearn.cluster import KMeans

    columns = names_of(text)
    rows = item_columns(items, columns)
    refuse_missing(rows)
    rng = as_generator(random_state)
    codes, first = _different(rows)
    embedding = item_embedding(
        rows.iloc[first].reset_index(drop=True), text, transformer, n_components, _seed(rng)
    ).to_numpy()
    fits, silhouette = {}, {}
    for number in _usable(n_clusters, len(embedding)):
        fits[number] = KMeans(number, n_init=_STARTS, random_state=_seed(rng)).fit_predict(
            embedding
        )
        silhouette[number] = _silhouette(embedding, fits[number], _seed(rng))
    silhouette = pd.Series(silhouette, name="silhouette").rename_axis("n_clusters")
    merged = _merged(embedding, fits[silhouette.idxmax()], min_items)
    names, sizes = _named(merged)
    return ItemClusters(labels=names[codes], sizes=sizes, silhouette=silhouette)


def _different(rows):
    """Return the code of each row's item, and the first row of each item."""
    codes = rows.groupby(list(rows.columns)).ngroup().to_numpy()
    return codes, np.unique(codes, return_index=True)[1]


def _usable(n_clusters, n_items):
    numbers = [n_clusters] if isinstance(n_clusters, int | np.integer) else list(n_clusters)
    usable = [int(number) for number in numbers if 2 <= number < n_items]
    if not usable:
        raise ValueError(
            f"n_clusters must be at least 2 and below the number of different items, {n_items}, "
            f"got {n_clusters!r}."
        )
    return usable


def _silhouette(embedding, labels, seed):
    from sklearn.metrics import silhouette_score

    if np.unique(labels).size < 2:
        return -1.0
    sample = _SILHOUETTE_ITEMS if len(embedding) > _SILHOUETTE_ITEMS else None
    return float(silhouette_score(embedding, labels, sample_size=sample, random_state=seed))


def _merged(embedding, labels, min_items):
    """Merge the smallest cluster into the nearest until none is too small."""
    labels = labels.copy()
    sizes = np.bincount(labels).astype(float)
    sums = np.zeros((len(sizes), embedding.shape[1]))
    np.add.at(sums, labels, embedding)
    while True:
        left = np.flatnonzero(sizes)
        small = left[np.argmin(sizes[left])]
        if sizes[small] >= min_items or len(left) == 1:
            return labels
        others = left[left != small]
        centers = sums[others] / sizes[others, None]
        distances = np.sum((centers - sums[small] / sizes[small]) ** 2, axis=1)
        nearest = others[np.argmin(distances)]
        labels[labels == small] = nearest
        sizes[nearest] += sizes[small]
        sums[nearest] += sums[small]
        sizes[small] = 0


def _named(labels):
    """Return names in order of size, then of the first item, and the sizes."""
    found, first, counts = np.unique(labels, return_index=True, return_counts=True)
    order = np.lexsort([first, -counts])
    width = max(2, len(str(len(found) - 1)))
    names = np.array([f"cluster-{rank:0{width}d}" for rank in range(len(found))], dtype=object)
    rank_of = np.empty(len(found), dtype=int)
    rank_of[order] = np.arange(len(found))
    sizes = pd.Series(counts[order], names, name="items").rename_axis("topic")
    return names[rank_of[np.searchsorted(found, labels)]], sizes


def _seed(rng):
    return int(rng.integers(2**31))
