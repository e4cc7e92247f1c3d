"""Prediction-powered estimates of many groups, one group after the other."""

import numpy as np


def shared_slope(f, y, groups):
    """Regression of labels on the autorater, pooled within groups.

    Covariances are sums over labeled rows divided by the degrees of freedom within
    groups plus 1, variances those over all rows by the degrees of freedom within groups.
    """
    covariance = variance = 0.0
    freedom_labels = freedom_rows = 0
    for name in np.unique(groups):
        rows = groups == name
        labeled = rows & ~np.isnan(y)
        covariance += sum((f[labeled] - f[labeled].mean()) * (y[labeled] - y[labeled].mean()))
        variance += sum((f[rows] - f[rows].mean()) ** 2)
        freedom_labels += labeled.sum() - 1
        freedom_rows += rows.sum() - 1
    return (covariance / (freedom_labels + 1)) / (variance / freedom_rows)


def estimates(f, y, groups):
    """Estimate and the two parts of its variance, per group; no smoothing.

    Returns
    -------
    value, residual_variance, pooled_variance, unlabeled_part, n_labeled : ndarrays
        Of length n_groups; pooled are the squares of all groups' residuals at this
        group's power, divided by their degrees of freedom.
    """
    slope = shared_slope(f, y, groups)
    names = np.unique(groups)
    rows = {name: (groups == name) & ~np.isnan(y) for name in names}
    found = []
    for name in names:
        labeled, unlabeled = rows[name], (groups == name) & np.isnan(y)
        n, N = labeled.sum(), unlabeled.sum()
        power = min(max(slope * N / (n + N), 0), 1)
        spread = f[unlabeled] if N >= n else f[groups == name]
        residual = y[labeled] - power * f[labeled]
        everyone = [y[rows[other]] - power * f[rows[other]] for other in names]
        squares = sum(np.sum((r - r.mean()) ** 2) for r in everyone)
        found.append(
            (
                power * f[unlabeled].mean() + residual.mean(),
                residual.var(ddof=1),
                squares / sum(len(r) - 1 for r in everyone),
                power**2 * spread.var(ddof=1) / N,
                n,
            )
        )
    return [np.array(column) for column in zip(*found, strict=True)]


def shrunk_variances(residual_variance, pooled_variance, unlabeled_part, n, borrowed=20):
    """Sampling variances whose residual part is drawn to that of all groups.

    The pooled variances, which differ by power only, are rescaled so that they have the
    groups' own squares in all.
    """
    scale = sum((n - 1) * residual_variance) / sum((n - 1) * pooled_variance)
    own = (n - 1) * residual_variance + borrowed * scale * pooled_variance
    return own / (n - 1 + borrowed) / n + unlabeled_part


def feature_without_shared_luck(f, y, groups):
    """Autorater means whose errors are uncorrelated with those of the estimates.

    The noise of each part by its definition: covariances within groups of labeled rows,
    over the numbers of rows; then the best linear prediction of the noiseless mean.
    """
    value, own, pooled, unlabeled_part, n = estimates(f, y, groups)
    pooled = pooled * sum((n - 1) * own) / sum((n - 1) * pooled)
    names = np.unique(groups)
    rows = [f[groups == name] for name in names]
    labels = [
        (f[(groups == name) & ~np.isnan(y)], y[(groups == name) & ~np.isnan(y)]) for name in names
    ]
    freedom = sum(n - 1)
    variance_y = sum(sum((b - b.mean()) ** 2) for _, b in labels) / freedom
    variance_f = sum(sum((a - a.mean()) ** 2) for a, _ in labels) / freedom
    both = sum(sum((a - a.mean()) * (b - b.mean())) for a, b in labels) / freedom
    size, mean = np.array([len(r) for r in rows]), np.array([r.mean() for r in rows])
    # The unlabeled part too as if groups differed in their numbers of rows only.
    shape = (size - n) / size**2
    variance_z = pooled / n + shape * sum(unlabeled_part) / sum(shape)
    shared = both / size / variance_z  # Cov(mean, z) / Var(z)
    known = variance_y / size / variance_z
    left = variance_f / size - shared**2 * variance_z
    between = mean.var(ddof=1) - np.mean(variance_f / size)
    rest = mean - mean.mean() - shared * (value - value.mean())
    return mean.mean() + between * (1 - known) / (between * (1 - known) ** 2 + left) * rest
