"""Risks by brute force: item by item, cluster by cluster, count by count."""

import numpy as np
from scipy.stats import binom

from skbench.stats.intervals.binomial import sampling_variance


def leave_one_out(rule, k, n, variance="smoothed"):
    """Mean over all items of (estimate without it - item)^2, less the item's own noise."""
    losses = []
    for g in range(len(k)):
        items = np.repeat([1.0, 0.0], [k[g], n[g] - k[g]])
        noise = items.var(ddof=1)
        total = 0.0
        for left_out in range(n[g]):
            rest = np.delete(items, left_out)
            z = np.array([rest.mean()])
            sigma2 = sampling_variance([rest.sum()], [rest.size], variance)
            estimate = rule(z, sigma2)[0]
            total += (estimate - items[left_out]) ** 2 - (z[0] - items[left_out]) ** 2
        losses.append(total / n[g] + noise / (n[g] - 1))
    return np.array(losses)


def exact_risk(rule, p, n, variance="smoothed"):
    """E (rule(K / n) - p)^2 for K ~ Binomial(n, p), summed over all counts."""
    k = np.arange(n + 1)
    estimate = rule(k / n, sampling_variance(k, n, variance))
    return np.sum(binom.pmf(k, n, p) * (estimate - p) ** 2)


def jackknife(statistic, values, clusters):
    """Delete-one-cluster jackknife standard error of any statistic of rows."""
    names = np.unique(clusters)
    without = np.array([statistic(values[clusters != name]) for name in names])
    m = len(names)
    return np.sqrt((m - 1) / m * np.sum((without - without.mean(axis=0)) ** 2, axis=0))
