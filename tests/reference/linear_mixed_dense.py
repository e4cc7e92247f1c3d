"""The Gaussian mixed model with one explicit matrix for everything."""

import numpy as np
from scipy.optimize import minimize


class DenseMixedModel:
    """z ~ N(X mu, sum_j variances[j] kernels[j] + noise), flat or normal prior of mu."""

    def __init__(self, z, noise, X, kernels, prior_precision=0.0):
        self.z, self.noise, self.X, self.kernels = z, noise, X, kernels
        self.prior_precision = prior_precision

    def restricted_log_likelihood(self, variances):
        V = np.tensordot(variances, self.kernels, 1) + self.noise
        inverse = np.linalg.inv(V)
        information = self.X.T @ inverse @ self.X + self.prior_precision * np.eye(self.X.shape[1])
        mu = np.linalg.solve(information, self.X.T @ inverse @ self.z)
        residual = self.z - self.X @ mu
        value = np.linalg.slogdet(V)[1] + np.linalg.slogdet(information)[1]
        square = residual @ inverse @ residual + self.prior_precision * mu @ mu
        return -0.5 * (value + square)

    def best_variances(self, prior_std, start):
        def loss(log_variances):
            variances = np.exp(log_variances)
            penalty = np.sum(variances / np.square(prior_std)) / 2
            return penalty - self.restricted_log_likelihood(variances)

        options = {"xatol": 1e-7, "fatol": 1e-10, "maxiter": 5000}
        return np.exp(minimize(loss, np.log(start), method="Nelder-Mead", options=options).x)

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
