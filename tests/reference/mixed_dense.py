"""The Gaussian part of the mixed model with explicit matrices over all groups."""

import numpy as np


def coefficient_columns(design):
    """The columns of all coefficients: of each model, then the common ones."""
    of_model = np.eye(design.n_models)[design.model]
    own = (of_model[:, :, None] * design.own[:, None, :]).reshape(len(of_model), -1)
    return np.hstack([own, design.common])


class DenseSolution:
    """Everything that `skbench.stats.mixed` has, from the same arguments as its `Solution`."""

    def __init__(self, design, variances, weights, sites, noise_scale):
        topic = design.topic
        same = np.equal.outer(topic, topic).astype(float)
        Z = coefficient_columns(design)
        Z = [Z[:, design.batches == b] for b in range(design.batch.max() + 1)]
        self.kernels = [
            same / weights.topic[topic],
            np.diag(1 / weights.group),
            same * (design.shared @ design.shared.T),
            *(columns @ columns.T for columns in Z),
        ]
        self.K = np.tensordot(variances, self.kernels, 1)
        self.noise = same * np.outer(noise_scale, noise_scale) * (design.shared @ design.shared.T)
        W = np.diag(1 / sites.precision)
        self.P = np.linalg.inv(self.K + self.noise + W)
        self.alpha = self.P @ sites.mean
        self.latent = self.K @ self.alpha
        self.latent_covariance = self.K - self.K @ self.P @ self.K
        whole = self.K + self.noise
        self.noisy_variance = np.diag(whole - whole @ self.P @ whole)

    def log_likelihood(self, values):
        """Of the pseudo-observations, effects of models integrated over."""
        _, determinant = np.linalg.slogdet(self.P)
        return (determinant - values @ self.P @ values) / 2
