"""Means over a finite population of items."""

from dataclasses import replace

import numpy as np
import pandas as pd

from skbench._checks import check_column, plain, refuse_repeats
from skbench.stats.intervals.finite_population import finite_population_mean


def finite_population(estimate, z, n, sigma2, sizes, binary):
    """Return the `Estimate` of the means over `sizes` items per group, `n` of them evaluated."""
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
    """Return the `Estimate` with other numbers and a method name for finite populations."""
    return replace(
        estimate, **numbers, method=f"{estimate.method}, whole benchmark", sample_size_ratio=None
    )


def check_population(population, n, labels):
    """Return the total number of items per group, from a number, an array or a Series."""
    if isinstance(population, pd.Series):
        names = population.index
        own = names.equals(labels) or names.name not in labels.names
        refuse_repeats("population", names)
        if own and names.nlevels < labels.nlevels:
            raise ValueError(
                "The index of population must have one of the names "
                f"{', '.join(map(str, labels.names))}. Name it, as in "
                f"population.rename_axis({labels.names[-1]!r})."
            )
        population = population.reindex(labels if own else labels.get_level_values(names.name))
    sizes = check_column("population", population, labels, whole=True, allow_scalar=True)
    if np.any(sizes < n):
        first = int(np.argmax(sizes < n))
        raise ValueError(
            f"Group {plain(labels[first])!r} has {n[first]:g} items, but its population is "
            f"{sizes[first]:g}. Pass the number of all its items, evaluated or not."
        )
    return sizes
