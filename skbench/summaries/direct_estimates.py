"""Direct estimates of groups, and their sampling variances, from sums of scores."""

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from skbench.stats.intervals import binomial, means

VARIANCES = ("smoothed", "plug-in", "pooled", "agresti", "model")


def estimates_from_sums(n, total, centered, squared, binary, labels, variance):
    """Return direct estimates, sampling variances and outcome of groups of independent items."""
    if not binary:
        return total / n, means.pooled_mean_variance(centered, squared, n), "continuous"
    return *estimates_of_counts(total, n, labels, variance), "binomial"


def estimates_of_counts(k, n, labels, variance):
    """Return direct estimates and sampling variances of groups of binary scores."""
    fitted = _main_effects(k, n, labels) if variance == "model" else None
    return k / n, binomial.sampling_variance(k, n, variance, prior_mean=fitted)


def _main_effects(k, n, labels):
    """Predict the accuracy of each group by main effects of its labels on the logit scale."""
    overall = logit((k.sum() + 1) / (n.sum() + 2))
    effects = np.full(len(k), overall)
    for level in range(labels.nlevels):
        codes = pd.factorize(labels.get_level_values(level))[0]
        rate = (np.bincount(codes, k) + 1) / (np.bincount(codes, n) + 2)
        effects += (logit(rate) - overall)[codes]
    return expit(effects)
