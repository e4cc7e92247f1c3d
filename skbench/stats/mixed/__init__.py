"""Mixed models of groups: expectation propagation, penalized variances, outliers."""

from skbench.stats.mixed._effects import Design
from skbench.stats.mixed._fit import MixedFit, fit_mixed
from skbench.stats.mixed._mixtures import Mixture
from skbench.stats.mixed._posterior import group_posterior, joint_draws, new_groups, updated
from skbench.stats.mixed._sites import Counts, Scores

__all__ = [
    "Counts",
    "Design",
    "MixedFit",
    "Mixture",
    "Scores",
    "fit_mixed",
    "group_posterior",
    "joint_draws",
    "new_groups",
    "updated",
]
