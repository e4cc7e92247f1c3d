"""Bootstrap of items, and posteriors of counts and of repeated answers."""

from skbench.stats.resampling._bootstrap import (
    binomial_means,
    distinct_rows,
    normal_means,
    resampled_means,
    two_sided_p_value,
)

__all__ = [
    "binomial_means",
    "distinct_rows",
    "normal_means",
    "resampled_means",
    "two_sided_p_value",
]
