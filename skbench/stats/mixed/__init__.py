"""Mixed models of groups: expectation propagation, penalized variances, outliers."""

from skbench.stats.mixed._effects import Design as Design
from skbench.stats.mixed._effects import Rows as Rows
from skbench.stats.mixed._fit import MixedFit as MixedFit
from skbench.stats.mixed._fit import fit_mixed as fit_mixed
from skbench.stats.mixed._posterior import group_posterior as group_posterior
from skbench.stats.mixed._posterior import joint_draws as joint_draws
from skbench.stats.mixed._posterior import new_groups as new_groups
from skbench.stats.mixed._posterior import updated as updated
from skbench.stats.mixed._sites import Counts as Counts
from skbench.stats.mixed._sites import Scores as Scores
