"""Means from few labels and many scores of a judge: difference estimates, strata, chain rule."""

from skbench.stats.ppi._difference import (
    DifferenceEstimate,
    clustered_difference_estimate,
    difference_estimate,
    labeled_mean,
)
from skbench.stats.ppi._few_labels import explained_share, t_interval_is_narrower
from skbench.stats.ppi._finite import finite_difference_estimate
from skbench.stats.ppi._groups import independent_feature, within_regression
from skbench.stats.ppi._power import clustered_share, tuned_power, weighted_power

__all__ = [
    "DifferenceEstimate",
    "clustered_difference_estimate",
    "clustered_share",
    "difference_estimate",
    "explained_share",
    "finite_difference_estimate",
    "independent_feature",
    "labeled_mean",
    "t_interval_is_narrower",
    "tuned_power",
    "weighted_power",
    "within_regression",
]
