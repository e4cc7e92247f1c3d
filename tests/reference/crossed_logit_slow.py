"""The crossed logit model by nested quadrature: no Gaussian approximation anywhere.

k[t, m] ~ Binomial(n[t, m], expit(mu[m] + a[t] + e[t, m])),
a ~ N(0, tau2), e ~ N(0, omega2), mu ~ N(0, model_variance).
"""

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit, logsumexp

_STANDARD = np.linspace(-6.5, 6.5, 105)  # trapezoid: far beyond double precision at this step
_LOG_WEIGHT = -0.5 * _STANDARD**2 - logsumexp(-0.5 * _STANDARD**2)


class ExactCrossedLogit:
    """Everything at given variances, the fixed effects integrated over a tensor grid."""

    def __init__(self, k, n, tau2, omega2, model_variance, points_per_model=17):
        self.tau, self.model_variance = np.sqrt(tau2), model_variance
        self.inner = [
            [_given_center(k[t, m], n[t, m], np.sqrt(omega2)) for m in range(k.shape[1])]
            for t in range(k.shape[0])
        ]
        mode, covariance = self._mode(k.shape[1])
        root = np.linalg.cholesky(covariance)
        axis = np.linspace(-5.5, 5.5, points_per_model)
        grid = np.stack(np.meshgrid(*[axis] * k.shape[1], indexing="ij"), axis=-1)
        self.mu = mode + grid.reshape(-1, k.shape[1]) @ root.T
        self.log_cell = k.shape[1] * np.log(axis[1] - axis[0]) + np.log(np.diag(root)).sum()

    def log_likelihood(self):
        """Log of the integral over everything but the variances, binomial factors left out."""
        return logsumexp(self._log_joint(self.mu)) + self.log_cell

    def moments(self):
        """Posterior mean and variance of each accuracy."""
        log_weight = self._log_joint(self.mu)
        weight = np.exp(log_weight - logsumexp(log_weight))
        parts = [self._topic_moments(row) for row in self.inner]
        mean = np.array([[weight @ first for first in firsts] for firsts, _ in parts])
        square = np.array([[weight @ second for second in seconds] for _, seconds in parts])
        return mean, square - mean**2

    def _mode(self, n_models):
        def loss(mu):
            return -self._log_joint(mu[None])[0]

        mode = minimize(loss, np.zeros(n_models), method="BFGS").x
        hessian = approx_fprime(mode, lambda mu: approx_fprime(mu, loss, 1e-4), 1e-4)
        return mode, np.linalg.inv((hessian + hessian.T) / 2)

    def _log_joint(self, mu):
        log_prior = -0.5 * np.sum(mu**2, axis=1) / self.model_variance
        log_prior -= 0.5 * mu.shape[1] * np.log(2 * np.pi * self.model_variance)
        return log_prior + sum(self._log_topic(row, mu)[0] for row in self.inner)

    def _log_topic(self, row, mu):
        """Log likelihood of a topic, and of each node of its effect."""
        centers = mu[:, :, None] + self.tau * _STANDARD
        nodes = _LOG_WEIGHT + sum(f[0](centers[:, m]) for m, f in enumerate(row))
        return logsumexp(nodes, axis=1), nodes

    def _topic_moments(self, row):
        total, nodes = self._log_topic(row, self.mu)
        weight = np.exp(nodes - total[:, None])
        centers = self.mu[:, :, None] + self.tau * _STANDARD
        return tuple(
            [np.sum(weight * f[power](centers[:, m]), axis=1) for m, f in enumerate(row)]
            for power in (1, 2)
        )


def _given_center(k, n, omega):
    """Log likelihood, E p and E p^2 of a group as splines of mu + a."""
    center = np.linspace(-25, 25, 2001)
    eta = center[:, None] + omega * _STANDARD
    terms = k * eta - n * np.logaddexp(0, eta) + _LOG_WEIGHT
    total = logsumexp(terms, axis=1)
    weight, p = np.exp(terms - total[:, None]), expit(eta)
    moments = total, np.sum(weight * p, axis=1), np.sum(weight * p**2, axis=1)
    return [CubicSpline(center, values) for values in moments]


def exact_variances(k, n, model_variance, prior_std=(np.inf, np.inf), start=(0.5, 0.3)):
    """Maximum of the exact restricted likelihood in (tau2, omega2), by a simplex search.

    Half-normal priors of the roots, with scales `prior_std`, are part of the criterion.
    """

    def loss(log_variances):
        variances = np.exp(log_variances)
        model = ExactCrossedLogit(k, n, *variances, model_variance, 11)
        return np.sum(variances / np.square(prior_std)) / 2 - model.log_likelihood()

    found = minimize(
        loss, np.log(start), method="Nelder-Mead", options={"xatol": 1e-3, "fatol": 1e-5}
    )
    return np.exp(found.x)


def exact_integrated_means(k, n, model_variance, prior_std, stds):
    """Posterior mean accuracies, averaged over a grid of (tau, omega) even in logs."""
    log_weights, means = [], []
    for tau in stds:
        for omega in stds:
            model = ExactCrossedLogit(k, n, tau**2, omega**2, model_variance, 9)
            log_prior = -0.5 * ((tau / prior_std[0]) ** 2 + (omega / prior_std[1]) ** 2)
            log_weights.append(model.log_likelihood() + log_prior + np.log(tau * omega))
            means.append(model.moments()[0])
    weights = np.exp(log_weights - logsumexp(log_weights))
    return np.tensordot(weights, means, axes=1)


def penalized_quasi_likelihood(k, n, tau2, omega2, model_variance, n_steps=50):
    """Means and variances of the log odds by working responses, with explicit matrices."""
    topic, model = np.divmod(np.arange(k.size), k.shape[1])
    prior = tau2 * (topic[:, None] == topic) + omega2 * np.eye(k.size)
    prior = prior + model_variance * (model[:, None] == model)
    eta, z, size = np.zeros(k.size), (k / n).ravel(), n.ravel()
    for _ in range(n_steps):
        p = np.clip(expit(eta), 0.01, 0.99)
        working = eta + (z - p) / (p * (1 - p))
        gain = prior @ np.linalg.inv(prior + np.diag(1 / (size * p * (1 - p))))
        eta = gain @ working
    return eta.reshape(k.shape), np.diag(prior - gain @ prior).reshape(k.shape)
