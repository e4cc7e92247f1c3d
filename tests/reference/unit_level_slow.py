"""The unit-level model by importance sampling from its prior: slow, and obviously right."""

import numpy as np
from scipy.special import expit


def posterior(y, X, topic, mean, precision, topic_std, n_draws, rng):
    """Draws from the prior with weights: coefficients, log odds of the items, log evidence."""
    beta = mean + rng.normal(size=(n_draws, X.shape[1])) / np.sqrt(precision)
    shape = n_draws, topic.max() + 1
    stds = [topic_std, 3 * topic_std, max(2.5, 3 * topic_std)]
    effect = rng.normal(size=shape) * rng.choice(stds, p=[0.93, 0.06, 0.01], size=shape)
    eta = beta @ X.T + effect[:, topic]
    likelihood = np.prod(np.where(y == 1, expit(eta), expit(-eta)), axis=1)
    return beta, eta, likelihood / likelihood.sum(), np.log(likelihood.mean())
