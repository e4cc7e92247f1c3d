"""Prediction-powered means one group at a time, every sum written out."""

import numpy as np


def tuned_power(f, y, f_unlabeled):
    """Weights of the autoraters, by solving the normal equations."""
    n, N = len(y), len(f_unlabeled)
    k = f.shape[1]
    covariance = np.array([np.mean((f[:, j] - f[:, j].mean()) * (y - y.mean())) for j in range(k)])
    spread = np.atleast_2d(np.cov(np.vstack([f, f_unlabeled]).T))
    power = np.linalg.lstsq(spread, covariance, rcond=None)[0] / (1 + n / N)
    return np.clip(power, 0, 1) if k == 1 else power


def difference(f, y, f_unlabeled, power, bounds=None):
    """Estimate and variance; pseudo-labels are really appended."""
    residual = y - f @ power
    value = (f_unlabeled @ power).mean() + residual.mean()
    rows = residual
    if bounds is not None:
        ends = np.repeat(bounds, 2) - (f.mean(axis=0) @ power)
        rows = np.concatenate([residual, ends])
    fixed = np.var(f_unlabeled @ power, ddof=1) / len(f_unlabeled)
    return value, np.var(rows, ddof=1) / len(y) + fixed


def clustered_variance(f, y, labeled, clusters, power):
    """CR2 variance of a difference estimate, cluster by cluster."""
    predicted = f @ power
    rectifier = np.mean((y - predicted)[labeled])
    mean = np.mean(predicted[~labeled])
    n, N = labeled.sum(), (~labeled).sum()
    total = 0.0
    for c in np.unique(clusters):
        human = labeled & (clusters == c)
        judge = ~labeled & (clusters == c)
        error = 0.0
        if human.any():
            error += np.sum((y - predicted - rectifier)[human]) / n / np.sqrt(1 - human.sum() / n)
        if judge.any():
            error += np.sum((predicted - mean)[judge]) / N / np.sqrt(1 - judge.sum() / N)
        total += error**2
    return total


def quantile_strata(scores, reference, n_strata):
    """Bins of one group by numpy's own quantiles."""
    edges = np.unique(np.quantile(scores[reference], np.arange(1, n_strata) / n_strata))
    return np.searchsorted(edges, scores, side="right")


def merged(n_labeled, n_unlabeled, min_count):
    """The set of strata that end up in "miscellaneous", by the rule's own words."""
    rows = [a + b for a, b in zip(n_labeled, n_unlabeled, strict=True)]
    free = [k for k in range(len(rows)) if rows[k] > 0]
    misc = [k for k in free if n_labeled[k] < min_count or n_unlabeled[k] < min_count]
    free = [k for k in free if k not in misc]
    while misc and free:
        if min(sum(n_labeled[k] for k in misc), sum(n_unlabeled[k] for k in misc)) >= min_count:
            break
        smallest = min(free, key=lambda k: rows[k])
        free.remove(smallest)
        misc.append(smallest)
    return set(misc)
