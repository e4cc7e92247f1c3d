"""The binomial mixed model by a long Markov chain, at given variances and share of outliers.

``k ~ Binomial(n, expit(mu_model + a_topic + e))``, ``mu ~ N(0, 2.5^2)``,
``a ~ N(0, tau2 / w)`` with ``w ~ Gamma(2, rate 2)``, and ``e ~ N(0, omega2)``, or
``N(0, 2.5^2)`` with probability `share`. Metropolis steps inside Gibbs sampling, many chains at
once.
"""

import numpy as np
from scipy.special import expit, logit

_WIDE = 2.5**2


def posterior_moments(k, n, tau2, omega2, share, n_chains=200, n_sweeps=1500, seed=0):
    """Mean and standard deviation of each accuracy, and probability of being an outlier.

    k, n : ndarray of shape (n_topics, n_models); a third of the sweeps is dropped.
    """
    rng = np.random.default_rng(seed)
    T, M = k.shape
    mu, a, e = np.zeros((n_chains, 1, M)), np.zeros((n_chains, T, 1)), np.zeros((n_chains, T, M))
    outlying, w = np.zeros((n_chains, T, M), bool), np.ones((n_chains, T, 1))
    sums = np.zeros((3, T, M))

    def log_likelihood(eta):
        return k * eta - n * np.logaddexp(0, eta)

    def moved(value, others, log_prior, axis, step):
        new = value + step * rng.standard_normal(value.shape)
        gain = log_likelihood(new + others) - log_likelihood(value + others)
        if axis is not None:
            gain = gain.sum(axis=axis, keepdims=True)
        accepted = np.log(rng.random(value.shape)) < gain + log_prior(new) - log_prior(value)
        return np.where(accepted, new, value)

    for sweep in range(n_sweeps):
        scale = np.where(outlying, _WIDE, omega2)
        step = np.where(outlying, 1.5, 2 * np.sqrt(omega2))
        e = moved(e, mu + a, lambda x: -(x**2) / 2 / scale, None, step)  # noqa: B023
        a = moved(a, mu + e, lambda x: -(x**2) * w / 2 / tau2, 2, 0.6)  # noqa: B023
        mu = moved(mu, a + e, lambda x: -(x**2) / 2 / _WIDE, 1, 0.4)
        # Along the ridges: a model's effect against all topics', a topic's against its groups'.
        shift = 0.5 * rng.standard_normal((n_chains, 1, 1))
        gain = np.sum(mu**2 - (mu + shift) ** 2, axis=2, keepdims=True) / 2 / _WIDE
        gain += np.sum((a**2 - (a - shift) ** 2) * w, axis=1, keepdims=True) / 2 / tau2
        kept = np.log(rng.random(gain.shape)) < gain
        mu, a = np.where(kept, mu + shift, mu), np.where(kept, a - shift, a)
        w = rng.gamma(2.5, 1 / (2 + a**2 / 2 / tau2))
        odds = logit(share) + (np.log(omega2 / _WIDE) + e**2 * (1 / omega2 - 1 / _WIDE)) / 2
        outlying = rng.random(e.shape) < expit(odds)
        if sweep >= n_sweeps // 3:
            p = expit(mu + a + e)
            sums += [p.mean(axis=0), (p**2).mean(axis=0), expit(odds).mean(axis=0)]
    first, second, outlier = sums / (n_sweeps - n_sweeps // 3)
    return first, np.sqrt(second - first**2), outlier
