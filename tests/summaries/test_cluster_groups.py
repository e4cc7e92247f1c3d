import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score

from skbench import cluster_items, summarize_items


def blobs(sizes, random_state=0, spread=0.3):
    rng = np.random.default_rng(random_state)
    centers = 4.0 * (np.arange(len(sizes))[:, None] >> np.arange(3) & 1)  # corners of a cube
    points = np.repeat(centers, sizes, axis=0)
    points = points + spread * rng.normal(size=points.shape)
    items = pd.DataFrame(points, columns=["x", "y", "z"])
    return items, np.repeat(np.arange(len(sizes)), sizes)


def test_finds_the_number_and_the_members():
    items, truth = blobs([80, 60, 50, 40, 30, 25])
    found = cluster_items(
        items, ["x", "y", "z"], n_clusters=[3, 4, 5, 6, 8, 12], min_items=10, random_state=0
    )
    assert found.silhouette.idxmax() == 6
    assert adjusted_rand_score(found.labels, truth) == 1
    assert found.sizes.to_dict() == {
        "cluster-00": 80,
        "cluster-01": 60,
        "cluster-02": 50,
        "cluster-03": 40,
        "cluster-04": 30,
        "cluster-05": 25,
    }
    assert "6 topics of 25 to 80 items" in repr(found)


def test_silhouette_is_that_of_scikit_learn():
    items, _ = blobs([30, 30])
    found = cluster_items(items, ["x", "y", "z"], n_clusters=2, random_state=0)
    labels = KMeans(2, n_init=3, random_state=0).fit_predict(items)
    assert found.silhouette[2] == pytest.approx(silhouette_score(items, labels))


def test_small_clusters_join_the_nearest():
    points = np.r_[np.zeros(50), np.full(40, 10.0), np.full(3, 13.0), np.full(2, -4.0)]
    items = pd.DataFrame({"x": points + 0.01 * np.random.default_rng(0).normal(size=95)})
    merged = cluster_items(items, ["x"], n_clusters=4, min_items=5, random_state=0)
    assert merged.sizes.tolist() == [52, 43]
    assert (merged.labels[90:93] == merged.labels[50]).all()
    assert (merged.labels[93:] == merged.labels[0]).all()
    kept = cluster_items(items, ["x"], n_clusters=4, min_items=1, random_state=0)
    assert kept.sizes.tolist() == [50, 40, 3, 2]
    assert cluster_items(items, ["x"], n_clusters=4, min_items=1000).sizes.tolist() == [95]


def test_items_have_one_topic_for_all_models():
    texts = ["court judge appeal", "judge statute court", "paint canvas", "canvas museum paint"]
    rows = [(model, i, text) for model in ("ada", "bob") for i, text in enumerate(texts * 3)]
    items = pd.DataFrame(rows, columns=["model", "item", "text"]).sample(frac=1, random_state=0)
    items["score"] = 1
    found = cluster_items(items, n_clusters=2, min_items=1, random_state=0)
    topics = pd.Series(found.labels, index=items["text"].to_numpy())
    assert topics.groupby(level=0).nunique().eq(1).all()
    assert topics["court judge appeal"].iloc[0] == topics["judge statute court"].iloc[0]
    assert topics["paint canvas"].iloc[0] != topics["court judge appeal"].iloc[0]
    assert found.sizes.tolist() == [2, 2]  # four different texts, however often they occur
    g = summarize_items(items.assign(topic=found.labels), ["model", "topic"])
    assert len(g) == 4 and g.groups is not None


def test_equal_items_make_one_topic():
    items = pd.DataFrame({"x": [1.0, 1.0, 1.0], "text": ["same", "same", "same"]})
    with pytest.raises(ValueError):
        cluster_items(items)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_clusters": [30, 40]}, r"got \[30, 40\]"),
        ({"text": ["x", "w"]}, "items .*'w'"),
    ],
)
def test_clustering_refuses(arguments, message):
    items, _ = blobs([30])
    with pytest.raises(ValueError, match=message):
        cluster_items(items, **{"text": ["x", "y"]} | arguments)
