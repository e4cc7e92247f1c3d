"""Shrinkage of many means: prior variance, robust intervals, Fay-Herriot, risk."""

from skbench.stats.shrinkage._normal import (
    PRIOR_VARIANCE_METHODS,
    JamesSteinFit,
    james_stein,
    posterior_mean,
    prior_variance,
    shrinkage_factor,
)

__all__ = [
    "PRIOR_VARIANCE_METHODS",
    "JamesSteinFit",
    "james_stein",
    "posterior_mean",
    "prior_variance",
    "shrinkage_factor",
]
