"""Prediction-powered adaptive shrinkage, and reviews of many products to try it on."""

import numpy as np


def adaptive_shrinkage(f, y, codes):
    """Power-tuned estimates drawn to the autorater's mean, as far as their risk says.

    Li and Ignatiadis (2025), Prediction-Powered Adaptive Shrinkage Estimation: the power of
    each group from its own labels; one amount of shrinkage for all by their unbiased
    risk estimate, which knows that estimate and autorater mean are correlated.
    """
    estimates, centers, variances, covariances = [], [], [], []
    for g in range(codes.max() + 1):
        rows = codes == g
        labeled = rows & ~np.isnan(y)
        unlabeled = rows & np.isnan(y)
        n, N = labeled.sum(), unlabeled.sum()
        common = np.cov(y[labeled], f[labeled])
        spread = np.var(f[rows], ddof=1)
        power = np.clip(N / (n + N) * common[0, 1] / spread, 0, 1)
        estimates.append(power * f[unlabeled].mean() + np.mean(y[labeled] - power * f[labeled]))
        centers.append(f[unlabeled].mean())
        residual = common[0, 0] + power**2 * spread - 2 * power * common[0, 1]
        variances.append(max(residual / n + power**2 * spread / N, 1e-12))
        covariances.append(power * spread / N)
    z, center, s2, shared = map(np.array, (estimates, centers, variances, covariances))

    def risk(prior_variance):
        w = prior_variance / (prior_variance + s2)
        return np.mean((2 * w - 1) * s2 + 2 * (1 - w) * shared + (1 - w) ** 2 * (z - center) ** 2)

    w = min(np.exp(np.linspace(-14, 2, 200)), key=risk)
    w = w / (w + s2)
    return w * z + (1 - w) * center


def reviews(rng, noise, bias, n_products=200):
    """Stars of 50 to 200 reviews per product, a fifth known; a model guesses all of them.

    Returns
    -------
    f, y : ndarrays of shape (n_rows,)
        Guesses, off by `noise` for each review and by `bias` for each product, and stars,
        nan where they are hidden.
    codes : ndarray of int of shape (n_rows,)
        Product of each row.
    truth : ndarray of shape (n_products,)
        Mean stars of all reviews, hidden ones included.
    """
    size = rng.integers(50, 200, n_products)
    codes = np.repeat(np.arange(n_products), size)
    liking = 4.2 + 0.35 * rng.standard_normal(n_products)
    stars = np.clip(np.round(liking[codes] + 1.2 * rng.standard_normal(len(codes))), 1, 5)
    off = bias * rng.standard_normal(n_products)[codes] + noise * rng.standard_normal(len(codes))
    order = np.lexsort([rng.random(len(codes)), codes])
    place = np.empty(len(codes), dtype=int)
    place[order] = np.arange(len(codes)) - np.repeat(size.cumsum() - size, size)
    y = np.where(place < size[codes] // 5, stars, np.nan)
    return np.clip(stars + off, 1, 5), y, codes, np.bincount(codes, stars) / size
