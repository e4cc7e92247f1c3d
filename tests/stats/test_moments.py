import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2

from skbench.stats.moments import divided, satterthwaite_df


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
