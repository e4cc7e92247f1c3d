"""The unit-level model by importance sampling from its prior: slow, and obviously right."""

import numpy as np
from scipy.special import expit


def posterior(y, X, topic, mean, precision, topic_std, n_draws, rng, odd=0.1, wider=3.0):
    """Draws from the prior with weights: coefficients, log odds of the items, log evidence."""
    beta = mean + rng.normal(size=(n_draws, X.shape[1])) / np.sqrt(precision)
    is_odd = rng.random((n_draws, topic.max() + 1)) < odd
    effect = rng.normal(size=is_odd.shape) * topic_std * np.where(is_odd, wider, 1.0)
    eta = beta @ X.T + effect[:, topic]
    likelihood = np.prod(np.where(y == 1, expit(eta), expit(-eta)), axis=1)
    return beta, eta, likelihood / likelihood.sum(), np.log(likelihood.mean())
