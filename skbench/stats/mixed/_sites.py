"""Binomial likelihoods as Gaussian pseudo-observations: expectation propagation."""

import numpy as np
from scipy.special import expit

_NODES, _WEIGHTS = np.polynomial.hermite.hermgauss(24)
_LOG_WEIGHTS = np.log(_WEIGHTS) + _NODES**2
_MODE_STEPS = 40
_MODE_STEP = 1e-5  # relative size of the last: the next would be its square
_LARGEST_LOG = 700.0  # whose exponential is a number
_AT_ONCE = 1024  # groups with 24 nodes each


def tilted_moments(k, n, mean, variance):
    """Moments of a log odds with a normal prior after `k` right answers of `n`.

    Parameters
    ----------
    k, n : ndarray
        Right answers and items; fractions are powers of the likelihood.
    mean, variance : ndarray
        Normal prior of the log odds.

    Returns
    -------
    mean, variance, log_mass : ndarray
        Posterior mean and variance, and ``log int p^k (1 - p)^(n - k) dN``.
    """
    flat = [np.ravel(x) for x in np.broadcast_arrays(k, n, mean, variance)]
    return tuple(x.reshape(np.shape(mean)) for x in in_parts(_AT_ONCE, _moments_of_a_few, *flat))


def in_parts(size, function, *arrays):
    """Results of a function of rows, `size` rows after the other: their nodes stay in the cache."""
    starts = range(0, max(1, len(arrays[0])), size)
    parts = [
        function(*(None if x is None else x[start : start + size] for x in arrays))
        for start in starts
    ]
    return parts[0] if len(parts) == 1 else [np.concatenate(x) for x in zip(*parts, strict=True)]


def _moments_of_a_few(k, n, mean, variance):
    points, weights, log_mass = tilted_law(k, n, mean, variance)
    tilted_mean = weighted_sums(weights, points)
    tilted_variance = weighted_sums(weights, (points - tilted_mean[:, None]) ** 2)
    return tilted_mean, tilted_variance, log_mass


def tilted_law(k, n, mean, variance):
    """Nodes of `tilted_rule`, weights that add up to 1, and the log of what they added up to."""
    points, log_weights = tilted_rule(k, n, mean, variance)
    # Next to the mode nothing is much smaller than the largest, which takes longer to find.
    top = log_weights[:, len(_NODES) // 2]
    weights = np.exp(log_weights - top[:, None])
    mass = weights @ np.ones(len(_NODES))
    weights /= mass[:, None]
    return points, weights, top + np.log(mass)


def weighted_sums(weights, values):
    """Sums along the second axis of two tables' products, without a table of these."""
    return np.einsum("ij,ij->i", weights, values)


def tilted_rule(k, n, mean, variance):
    """Nodes and log weights of Gauss-Hermite quadrature at the mode of the posterior."""
    center = _mode(k, n, mean, variance)
    p = expit(center)
    spread = np.sqrt(2 / (n * p * (1 - p) + 1 / variance))
    points = center[..., None] + spread[..., None] * _NODES
    # log(1 + e^x) to an absolute 1e-16, a quarter of the time of np.logaddexp.
    log_both = np.maximum(points, np.log(1 + np.exp(np.minimum(points, _LARGEST_LOG))))
    log_likelihood = k[..., None] * points - n[..., None] * log_both
    log_prior = -0.5 * (points - mean[..., None]) ** 2 / variance[..., None]
    scale = np.log(spread) - 0.5 * np.log(2 * np.pi * variance)
    return points, log_likelihood + log_prior + _LOG_WEIGHTS + scale[..., None]


def _mode(k, n, mean, variance):
    """Where ``k x - n log(1 + e^x) - (x - mean)^2 / (2 variance)`` peaks."""
    # The slope is 0 between these: at the prior mean it is variance (k - n p) away at most.
    low, high = mean - variance * (n - k), mean + variance * k
    precision, own = 1 / variance, (k + 0.5) * (n - k + 0.5) / (n + 1)
    x = (precision * mean + own * np.log((k + 0.5) / (n - k + 0.5))) / (precision + own)
    x = np.clip(x, low, high)
    for _ in range(_MODE_STEPS):
        p = expit(x)
        right = n * p
        slope = k - right - (x - mean) * precision
        rises = slope >= 0
        low, high = np.where(rises, x, low), np.where(rises, high, x)
        new = x + slope / (right * (1 - p) + precision)
        inside = (new >= low) & (new <= high)
        new = np.where(inside, new, (low + high) / 2)
        if np.all(np.abs(new - x) <= _MODE_STEP * (1 + np.abs(x))):
            return new
        x = new
    return x


def updated_sites(k, n, W, b, noisy_mean, noisy_variance):
    """Pseudo-observations that give each posterior the moments of its exact likelihood.

    Parameters
    ----------
    k, n : ndarray
        Right answers and items.
    W, b : ndarray
        Present precisions of the pseudo-observations, and precisions times values.
    noisy_mean, noisy_variance : ndarray
        Their present posterior.

    Returns
    -------
    W, b : ndarray
        New pseudo-observations.
    """
    mean, variance = cavity(W, b, noisy_mean, noisy_variance)
    tilted_mean, tilted_variance, _ = tilted_moments(k, n, mean, variance)
    # A binomial likelihood is log concave: it only adds precision, but for rounding.
    new_W = np.where(n > 0, np.maximum(1 / tilted_variance - 1 / variance, 0), 0)
    new_b = np.where(new_W > 0, tilted_mean / tilted_variance - mean / variance, 0)
    return new_W, new_b


def site_evidence(k, n, W, b, noisy_mean, noisy_variance):
    """What the log evidence gains from exact likelihoods in place of pseudo-observations.

    Parameters
    ----------
    As in `updated_sites`.

    Returns
    -------
    float, or ndarray for several fits
        Sum over sites of ``log int f(x) N(x; cavity) dx``, less the same integral of
        the pseudo-observation ``exp(b x - W x^2 / 2)``.
    """
    mean, variance = cavity(W, b, noisy_mean, noisy_variance)
    _, _, log_mass = tilted_moments(k, n, mean, variance)
    pseudo = noisy_mean**2 / noisy_variance - mean**2 / variance
    pseudo += np.log(noisy_variance / variance)
    return np.sum(np.where(n > 0, log_mass - pseudo / 2, 0), axis=-1)


def cavity(W, b, noisy_mean, noisy_variance):
    """Mean and variance of the latent values without their own pseudo-observation."""
    left = np.maximum(1 - W * noisy_variance, 1e-14)
    variance = noisy_variance / left
    return (noisy_mean - noisy_variance * b) / left, variance
