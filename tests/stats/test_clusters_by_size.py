"""Sums over clusters of equal size give the same results as the clusters."""

import numpy as np
import pandas as pd
import pytest

from skbench.stats.clusters.clustered import cluster_robust_by_size, cluster_robust_variance


def by_size(sums, sizes, codes):
    rows = pd.DataFrame({"code": codes, "size": sizes, "sum": sums, "square": np.square(sums)})
    table = rows.groupby(["code", "size"], as_index=False).agg(
        sum=("sum", "sum"), square=("square", "sum"), count=("sum", "size")
    )
    columns = ("sum", "square", "count", "size", "code")
    return [table[name].to_numpy() for name in columns]


@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_same_as_from_the_clusters(offset):
    rng = np.random.default_rng(0)
    codes = np.sort(rng.integers(0, 7, 300))
    sizes = rng.integers(1, 6, 300)
    sums = sizes * offset + rng.normal(size=300) * sizes
    expected = cluster_robust_variance(sums, sizes, codes, 8)
    found = cluster_robust_by_size(*by_size(sums, sizes, codes), 8)
    for name in expected._fields:
        # Residuals are differences of sums that are 10 to 20 times larger.
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-13)


@pytest.mark.parametrize("score", [1.0, 0.4, 1 / 3, 0.1])
def test_equal_scores_have_no_variance(score):
    sizes = np.array([1, 2, 3, 3, 7, 7, 7])
    found = cluster_robust_by_size(*by_size(score * sizes, sizes, np.zeros(7, int)), 1)
    assert found.variance[0] == 0


def test_one_cluster_or_none_has_no_variance():
    found = cluster_robust_by_size([2.0], [4.0], [1], [3], [0], 2)
    assert np.isnan(found.variance).all() and np.isnan(found.df).all()
    assert found.n_clusters.tolist() == [1, 0]
