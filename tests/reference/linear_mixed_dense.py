"""The Gaussian mixed model with one explicit matrix for everything."""

import numpy as np


class DenseMixedModel:
    """z ~ N(X mu, sum_j variances[j] kernels[j] + noise), flat or normal prior of mu."""

    def __init__(self, z, noise, X, kernels, prior_precision=0.0):
        self.z, self.noise, self.X, self.kernels = z, noise, X, kernels
        self.prior_precision = prior_precision

    def posterior(self, variances, cross=None, own=None, design=None):
        """Mean and covariance diagonal of the latent values, or of others."""
        prior = np.tensordot(variances, self.kernels, 1)
        cross = prior if cross is None else cross
        own = np.diag(prior) if own is None else own
        design = self.X if design is None else design
        inverse = np.linalg.inv(prior + self.noise)
        information = self.X.T @ inverse @ self.X + self.prior_precision * np.eye(self.X.shape[1])
        covariance = np.linalg.inv(information)
        mu = covariance @ self.X.T @ inverse @ self.z
        mean = design @ mu + cross @ inverse @ (self.z - self.X @ mu)
        left = design - cross @ inverse @ self.X
        explained = np.diag(cross @ inverse @ cross.T)
        return mean, own - explained + np.diag(left @ covariance @ left.T)
