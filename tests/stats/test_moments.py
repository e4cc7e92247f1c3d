import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2

from skbench.stats.intervals.moments import (
    complement_moments,
    divided,
    group_moments,
    satterthwaite_df,
)


def rows_in_groups(seed=0):
    """Two columns in 4 groups in no order. One group has no rows."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat([0, 1, 3], [5, 9, 30]))
    return 100 + rng.normal(size=(44, 2)) @ [[1.0, 0.5], [0.0, 2.0]], codes


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("in_order", [False, True])
def test_moments_group_by_group(in_order, weighted):
    columns, codes = rows_in_groups()
    codes = np.sort(codes) if in_order else codes
    weights = np.random.default_rng(1).uniform(1, 2, 44) if weighted else None
    found = group_moments(columns, codes, 4, weights)
    assert_array_equal(found.n, [5, 9, 0, 30])
    assert np.isnan(found.mean[2]).all()
    for group in (0, 1, 3):
        own = codes == group
        share = None if weights is None else weights[own]
        assert_allclose(found.mean[group], np.average(columns[own], axis=0, weights=share))
        products = own.sum() * np.cov(columns[own].T, aweights=share, ddof=0)
        assert_allclose(found.products[group], products, rtol=1e-9)


def test_moments_of_the_rest():
    columns, codes = rows_in_groups()
    out = np.flatnonzero((np.arange(44) % 4 == 0) | (codes == 0))  # group 0 has no rest
    rest = np.setdiff1d(np.arange(44), out)
    found = complement_moments(columns, out, codes, 4)
    expected = group_moments(columns[rest], codes[rest], 4)
    assert_array_equal(found.n, expected.n)
    assert_allclose(found.mean, expected.mean)
    assert_allclose(found.products, expected.products, rtol=1e-9)


def test_equal_numbers_do_not_vary():
    sizes = np.arange(2, 100)
    codes = np.repeat(np.arange(98), sizes)
    columns = np.where(codes % 2, 0.1, 426.1)[:, None]
    assert_array_equal(group_moments(columns, codes, 98).products, 0)
    first = np.cumsum(sizes) - sizes
    columns[first] = 1e3 / 3
    assert_array_equal(complement_moments(columns, first, codes, 98).products, 0)


def test_satterthwaite_has_the_variance_of_the_sum():
    rng = np.random.default_rng(0)
    variances, df = rng.random((5, 4)), rng.integers(1, 30, (5, 4))
    # A variance estimate is v / df times a chi-squared variable of df degrees.
    expected = np.sum((variances / df) ** 2 * chi2(df).var(), axis=1)
    total, freedom = variances.sum(axis=1), satterthwaite_df(variances, df)
    assert_allclose((total / freedom) ** 2 * chi2(freedom).var(), expected)


def test_satterthwaite_passes_over_parts_without_variance():
    freedom = satterthwaite_df([[0.2, 0.0], [0.0, 0.0], [0.2, np.nan]], [7, 3])
    assert_array_equal(freedom, [7, np.nan, np.nan])


def test_a_quotient_by_nothing_is_unknown():
    # Divisors are sizes and variances: one below 0 is rounding, or an empty group less 1.
    assert_array_equal(divided([1, 0, 3], [0, 0, -2]), [np.nan, np.nan, np.nan])
