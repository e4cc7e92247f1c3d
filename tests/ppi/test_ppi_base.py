import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference.ppi_sets import ends
from sklearn.base import clone

from skbench.ppi import GroupedPPI
from skbench.ppi.difference import ClassicalMean, PPIMean
from skbench.ppi.stratified import StratifiedPPI

ESTIMATORS = [ClassicalMean(), PPIMean(), PPIMean(False), StratifiedPPI()]


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    f = rng.random(500)
    y = np.where(rng.random(500) < 0.2, rng.random(500) < f, np.nan)
    return pd.DataFrame({"judge": f, "human": y}, index=pd.Index(range(1000, 1500), name="item"))


def test_labels_in_a_table_of_one_column(table):
    want = ends(PPIMean().fit(table["judge"], table["human"]))
    for y in (table[["human"]], pl.DataFrame({"human": table["human"].to_numpy()})):
        assert ends(PPIMean().fit(table["judge"], y)) == want


def test_bad_weights(table):
    known = ~table["human"].isna().to_numpy()
    weights = np.where(known, 2.0, np.nan)
    PPIMean().fit(table["judge"], table["human"], sample_weight=weights)
    first = int(np.argmax(known))
    for bad in (np.nan, 0.0, -1.0, np.inf):
        weights[first] = bad
        with pytest.raises(ValueError):
            PPIMean().fit(table["judge"], table["human"], sample_weight=weights)
    with pytest.raises(ValueError):
        PPIMean().fit(table["judge"], table["human"], sample_weight=[1.0, 2.0])


def test_clusters_never_span_groups(table):
    by, cluster = np.arange(500) % 2, np.arange(500) // 6
    shared, apart = (
        GroupedPPI().fit(table["judge"], table["human"], by, cluster=c)
        for c in (cluster, 2 * cluster + by)
    )
    assert_array_equal(shared.standard_error_, apart.standard_error_)


# -- how many labels ---------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_clusters_of_one_row_change_nothing(estimator, table):
    plain = clone(estimator).fit(table[["judge"]], table["human"])
    same = clone(estimator).fit(table[["judge"]], table["human"], cluster=table.index)
    assert ends(same) == ends(plain)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_equal_weights_change_nothing(estimator, table):
    plain = clone(estimator).fit(table[["judge"]], table["human"])
    weight = table["human"].notna() / 0.2  # weights of unlabeled rows are ignored
    same = clone(estimator).fit(table[["judge"]], table["human"], sample_weight=weight)
    assert ends(same) == ends(plain)


def test_effective_sample_size_is_what_the_classical_mean_needs():
    rng = np.random.default_rng(1)
    n, N = 4000, 400_000
    f = rng.normal(size=n + N)
    y = np.where(np.arange(n + N) < n, 0.8 * f + 0.6 * rng.normal(size=n + N), np.nan)
    e = PPIMean().fit(f, y)
    # Correlation .8: the residual variance is .36 (+ .64 n / N).
    assert_allclose(e.effective_sample_size_, n / (0.36 + 0.64 * n / N), rtol=0.1)
    assert_allclose(ClassicalMean().fit(f, y).effective_sample_size_, n)


def test_labels_needed_are_enough_and_no_more(table):
    rng = np.random.default_rng(2)
    f = rng.normal(size=20_000)
    truth = f + rng.normal(size=20_000)
    y = np.where(np.arange(20_000) < 100, truth, np.nan)
    e = PPIMean().fit(f, y)
    width = ends(e)[1] - ends(e)[0]
    assert e.labels_needed(width * 1.0001) == 100
    assert e.labels_needed(width) in (100, 101)
    half = e.labels_needed(width / 2)
    assert 390 < half < 450  # the unlabeled part is fixed, and t quantiles decrease
    again = PPIMean().fit(f, np.where(np.arange(20_000) < half, truth, np.nan))
    assert_allclose(ends(again)[1] - ends(again)[0], width / 2, rtol=0.1)
    assert e.labels_needed(width, 0.99) > 100 > e.labels_needed(width, 0.8)


def test_some_widths_are_out_of_reach(table):
    e = PPIMean(False).fit(table["judge"], table["human"])
    unlabeled = table["judge"][table["human"].isna()]
    floor = unlabeled.std() / np.sqrt(len(unlabeled))
    assert e.labels_needed(3.9 * floor) == np.inf
    assert np.isfinite(e.labels_needed(4.1 * floor))
