"""Clusters that models share: their errors correlate through the clusters."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import binom
from skbench.stats.item_correlation import item_correlation

from skbench import MixedModel, summarize_items
from skbench.summaries import item_correlation as of_rows

N_MODELS = 4


def clustered(rng, n_topics, n_clusters, size, cluster_std=1.0):
    """Item rows of models on topics of a few clusters, and the true means of the groups."""
    shape = n_topics, n_clusters, size
    models = rng.normal(0.5, 0.5, N_MODELS)
    topics = rng.normal(0, 0.4, (n_topics, N_MODELS)) + rng.normal(0, 0.4, (n_topics, 1))
    hard = rng.normal(0, cluster_std, (n_topics, n_clusters, 1, 1))
    eta = models + topics[:, None, None, :] + np.broadcast_to(hard, (*shape, 1))
    right = rng.random((*shape, N_MODELS)) < expit(eta)
    index = pd.MultiIndex.from_product(
        [range(n) for n in shape], names=["topic", "cluster", "item"]
    )
    wide = pd.DataFrame(right.reshape(-1, N_MODELS).astype(float), index).reset_index()
    wide["item"] += 1000 * wide["cluster"] + 100_000 * wide["topic"]
    rows = wide.melt(["topic", "cluster", "item"], var_name="model", value_name="score")
    rows["cluster"] += 1000 * rows["topic"]
    nodes, weights = np.polynomial.hermite_e.hermegauss(21)
    expected = np.einsum(
        "k,ktm->tm", weights / weights.sum(),
        expit((models + topics)[None] + cluster_std * nodes[:, None, None]),
    )  # fmt: skip
    return rows, expected


def coverage(n_sets, *design):
    hits = []
    for seed in range(n_sets):
        rows, truth = clustered(np.random.default_rng(seed), *design)
        summary = summarize_items(rows, ["model", "topic"], cluster="cluster")
        e = MixedModel(random_state=0).fit(**summary.fit_args).estimate()
        at = np.array([truth[topic, model] for model, topic in e.labels])
        hits.append((e.low <= at) & (at <= e.high))
    return np.mean(hits)


def test_cluster_totals_correlate_where_items_hardly_do():
    rows, _ = clustered(np.random.default_rng(0), 30, 3, 10)
    by_item = of_rows(rows).to_numpy()
    by_cluster = of_rows(rows, cluster="cluster").to_numpy()
    apart = ~np.eye(N_MODELS, dtype=bool)
    assert by_item[apart].mean() < 0.3 < 0.45 < by_cluster[apart].mean()
    found = summarize_items(rows, ["model", "topic"], cluster="cluster").item_correlation
    np.testing.assert_allclose(found, by_cluster)


def test_clusters_of_one_item_change_nothing():
    rng = np.random.default_rng(1)
    scores, topic = rng.normal(size=(40, 3)) + rng.normal(size=(40, 1)), np.arange(40) // 10
    alone = item_correlation(scores, topic, np.arange(40))
    np.testing.assert_allclose(alone, item_correlation(scores, topic))


def test_correlation_of_cluster_totals_by_hand():
    rng = np.random.default_rng(2)
    scores, topic, cluster = rng.normal(size=(40, 2)), np.zeros(40, int), np.arange(40) // 4
    totals = (scores - scores.mean(axis=0)).reshape(10, 4, 2).sum(axis=1)
    expected = totals[:, 0] @ totals[:, 1] / np.sqrt(np.prod(np.sum(totals**2, axis=0)))
    assert item_correlation(scores, topic, cluster)[0, 1] == pytest.approx(expected)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "design",
    [(30, 3, 10), (10, 3, 10), (20, 8, 5), (20, 2, 10)],
    ids=lambda d: "x".join(map(str, d)),
)
def test_the_default_covers_with_few_clusters(design):
    n_sets = 400 // design[0]
    # Groups of a set hang together: a fifth as many independent ones.
    n = n_sets * design[0] * N_MODELS // 5
    assert coverage(n_sets, *design) >= binom.ppf(0.001, n, 0.93) / n
