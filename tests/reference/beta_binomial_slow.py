"""The hierarchical beta-binomial model on a plain grid in (log a, log b)."""

import numpy as np
from scipy.special import betaln


def slow_posterior(k, n, log_prior_a, log_prior_b, ends, n_points):
    """Log evidence, posterior means of the accuracies and of (a, b) of one model."""
    log_a = np.linspace(*ends, n_points)
    step = log_a[1] - log_a[0]
    a, b = np.meshgrid(np.exp(log_a), np.exp(log_a), indexing="ij")
    log_density = log_prior_a(a) + log_prior_b(b) + np.log(a) + np.log(b)
    for right, size in zip(k, n, strict=True):
        log_density += betaln(a + right, b + (size - right)) - betaln(a, b)
    peak = log_density.max()
    weight = np.exp(log_density - peak)
    total = weight.sum()
    log_evidence = peak + np.log(total) + 2 * np.log(step)
    means = [
        np.sum(weight * (a + right) / (a + b + size)) / total
        for right, size in zip(k, n, strict=True)
    ]
    return log_evidence, np.array(means), np.array([np.sum(weight * x) / total for x in (a, b)])
