"""The unit-level model by importance sampling from its prior: slow, and obviously right."""

import numpy as np
from scipy.special import expit


def posterior(y, X, topic, prior, n_draws, rng):
    """Draws from the prior with weights: coefficients, log odds of the items, and weights.

    Effects of topics are t distributed with 4 degrees of freedom, on 12 values of its weights; their
    scale has a half-normal law on 12 values even in logs.
    """
    beta = prior.mean + rng.normal(size=(n_draws, X.shape[1])) / np.sqrt(prior.precision)
    stds = np.geomspace(0.03, 2.5, 12)
    chance = stds * np.exp(-(stds**2) / 2)  # the density, times the distance of the values
    std = prior.scale * rng.choice(stds, p=chance / chance.sum(), size=(n_draws, 1))
    weights = np.geomspace(0.004, 4.5, 12)
    chance = weights**2 * np.exp(-2 * weights)
    shape = n_draws, prior.n_topics
    scale = std / np.sqrt(rng.choice(weights, p=chance / chance.sum(), size=shape))
    eta = beta @ X.T + (rng.normal(size=shape) * scale)[:, topic]
    likelihood = np.prod(np.where(y == 1, expit(eta), expit(-eta)), axis=1)
    return beta, eta, likelihood / likelihood.sum()
