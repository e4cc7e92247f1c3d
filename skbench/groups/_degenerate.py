"""Groups that no prior can be learned from."""

import numpy as np

from skbench._warnings import warn
from skbench.stats.intervals.moments import ROUNDING
from skbench.stats.shrinkage.stein import squared_errors

_FEWEST = 10  # groups, whose errors tell a risk from luck
_RISK = "The estimated squared error of these estimates is above that of the direct ones"


def refuse_noiseless(z, sigma2):
    """Refuse groups of which none has noise, which is all there is to remove."""
    if np.all(sigma2 <= (ROUNDING * np.max(np.abs(z), initial=0)) ** 2):
        raise ValueError(
            "Every sigma2 is 0, so there is no noise to remove. "
            'Use DirectEstimator, or variance="smoothed" in the summary.'
        )


def warn_of_noiseless(sigma2):
    """Warn the caller of `fit` of groups whose intervals have no width."""
    noiseless = int(np.sum(sigma2 == 0))
    if noiseless:
        warn(
            f"{noiseless} of {len(sigma2)} groups have sigma2 = 0: they are taken for exact and "
            'their intervals have no width. A summary with variance="smoothed" avoids this.'
        )
    return noiseless > 0


def warn_of_risk(value, standard_error, z, noise):
    """Warn the caller of `estimate` of estimates that seem to be worse than the direct ones."""
    if len(z) < _FEWEST or not np.any(noise):
        return
    lost = squared_errors(value, standard_error**2, z, noise) - noise
    # By two standard errors of it: one, as where estimates are moved, is chance too often.
    if np.mean(lost) > 2 * np.std(lost) / np.sqrt(len(lost)):
        warn(
            f"{_RISK}: some groups are outlying. Take MixedModel, "
            "which moves to the direct estimates where it must, or DirectEstimator."
        )


def warn_of_degenerate_cases(z, sigma2, prior_variances, method):
    """Warn the caller of `fit` of data that leave nothing to shrink, or to tell apart."""
    if not warn_of_noiseless(sigma2) and np.any(prior_variances == 0):
        warn(
            f"The prior variance ({method}) is estimated as 0 in some splits: "
            "the estimates there are the regression alone and the intervals have no width. "
            'prior_variance="pmt" is never 0.'
        )
    if np.ptp(z) == 0 and len(z) > 1:
        warn(f"All {len(z)} direct estimates are equal ({z[0]:g}): nothing tells the groups apart.")
