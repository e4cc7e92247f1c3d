"""From expected scores of items to the means of finite populations of them."""

from dataclasses import replace

import numpy as np

from skbench.stats.intervals.finite_population import finite_population_mean


def finite_population(estimate, z, n, sigma2, sizes, binary):
    """An `Estimate` of the means over `sizes` items of each group, `n` of which were asked."""
    item_variance, bounds = n * sigma2, (-np.inf, np.inf)
    if binary:
        middle = np.clip((estimate.low + estimate.high) / 2, 0, 1)
        item_variance, bounds = middle * (1 - middle), (0, 1)
    own = estimate.value, estimate.low, estimate.high, estimate.standard_error
    mean = finite_population_mean(
        z, n, sizes, *own, item_variance, estimate.confidence_level, bounds
    )
    return of_population(estimate, **mean._asdict())


def of_population(estimate, **numbers):
    """The same `Estimate` with the numbers of a finite population, and a name that says so."""
    return replace(
        estimate, **numbers, method=f"{estimate.method}, whole benchmark", sample_size_ratio=None
    )
