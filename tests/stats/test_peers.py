"""Formulas against other packages, on fresh random input (install the test-peers extra)."""

import numpy as np
import pytest

from skbench.stats.intervals import binomial

pytestmark = pytest.mark.peers

METHODS = {
    "wilson": "wilson",
    "clopper_pearson": "beta",
    "jeffreys": "jeffreys",
    "agresti_coull": "agresti_coull",
    "wald": "normal",
}


@pytest.mark.parametrize(("ours", "theirs"), METHODS.items())
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_binomial_intervals_are_those_of_statsmodels(ours, theirs, level):
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    rng = np.random.default_rng(0)
    n = rng.integers(1, 500, 200)
    k = rng.integers(1, n + 1) - rng.integers(0, 2, 200)
    low, high = getattr(binomial, f"{ours}_interval")(k, n, level)
    expected = [
        proportion.proportion_confint(a, b, 1 - level, theirs) for a, b in zip(k, n, strict=True)
    ]
    np.testing.assert_allclose(np.column_stack([low, high]), expected, rtol=1e-10, atol=1e-12)
