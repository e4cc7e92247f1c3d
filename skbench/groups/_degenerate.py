"""Errors and warnings for degenerate groups."""

import numpy as np

from skbench._warnings import warn
from skbench.stats.intervals.moments import ROUNDING
from skbench.stats.shrinkage.stein import squared_errors

_FEWEST = 10  # groups needed to estimate the risk


def refuse_noiseless(z, sigma2):
    """Raise an error if no group has sampling noise."""
    if np.all(sigma2 <= (ROUNDING * np.max(np.abs(z), initial=0)) ** 2):
        raise ValueError(
            "Every sigma2 is 0, so there is nothing to shrink. "
            'Use DirectEstimator, or variance="smoothed" in the summary.'
        )


def warn_of_noiseless(sigma2):
    """Warn of groups whose intervals have no width; return whether there are any."""
    noiseless = int(np.sum(sigma2 == 0))
    if noiseless:
        warn(
            f"{noiseless} of {len(sigma2)} groups have sigma2 = 0, so their intervals have no "
            'width. Use variance="smoothed" in the summary.'
        )
    return noiseless > 0


def warn_of_risk(value, standard_error, z, noise):
    """Warn of estimates that seem to be worse than the direct estimates."""
    if len(z) < _FEWEST or not np.any(noise):
        return
    lost = squared_errors(value, standard_error**2, z, noise) - noise
    # Two standard errors: one is exceeded by chance too often.
    if np.mean(lost) > 2 * np.std(lost) / np.sqrt(len(lost)):
        warn(
            "The estimated squared error is larger than that of the direct estimates, probably "
            "because some groups are outliers. Use MixedModel, which allows for outliers, or "
            "DirectEstimator."
        )


def warn_of_degenerate_cases(z, sigma2, prior_variances, method):
    """Warn of data without variation between groups."""
    if not warn_of_noiseless(sigma2) and np.any(prior_variances == 0):
        warn(
            f"The prior variance (prior_variance={method!r}) is estimated as 0 in some splits, so "
            "these estimates equal the regression and their intervals have no width. "
            'Use prior_variance="pmt", which is never 0.'
        )
    if np.ptp(z) == 0 and len(z) > 1:
        warn(f"All {len(z)} direct estimates equal {z[0]:g}, so the groups do not differ.")
