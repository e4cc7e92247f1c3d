"""Scales of scores, normalisation and weights."""

from skbench.stats.scales._transforms import (
    from_scale,
    from_scale_mean,
    from_scale_variance,
    scale_derivative,
    to_scale,
    within_scale,
)

__all__ = [
    "from_scale",
    "from_scale_mean",
    "from_scale_variance",
    "scale_derivative",
    "to_scale",
    "within_scale",
]
