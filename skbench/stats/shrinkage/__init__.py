"""Shrinkage of many means: prior variance, robust intervals, Fay-Herriot, risk."""

from skbench.stats.shrinkage._normal import (
    PRIOR_VARIANCE_METHODS,
    JamesSteinFit,
    generalized_least_squares,
    james_stein,
    posterior_mean,
    prior_variance,
    shrinkage_factor,
    smallest_prior_variance,
    stein_risk,
    trace_of_design,
)

__all__ = [
    "PRIOR_VARIANCE_METHODS",
    "JamesSteinFit",
    "generalized_least_squares",
    "james_stein",
    "posterior_mean",
    "prior_variance",
    "shrinkage_factor",
    "smallest_prior_variance",
    "stein_risk",
    "trace_of_design",
]
