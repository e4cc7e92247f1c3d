"""Crossed random effects on the logit scale, for binary scores."""

import numpy as np
from scipy.special import expit

from skbench._checks import are_counts
from skbench.groups._base import Bounds
from skbench.groups._mixed import MixedModel
from skbench.stats import binomial, mixed
from skbench.stats._mixed_sites import tilted_moments


class LogisticMixedModel(MixedModel):
    """Shrink accuracies towards what their model and their topic predict, on the logit scale."""

    _method = "logistic mixed model"
    _guarantee = "posterior"

    def __init__(
        self,
        model="model",
        topic="topic",
        *,
        item_correlation="auto",
        kernels=None,
        calibration="risk",
        sampling_variance=None,
    ):
        self.model = model
        self.topic = topic
        self.item_correlation = item_correlation
        self.kernels = kernels
        self.calibration = calibration
        self.sampling_variance = sampling_variance

    def fit(self, X, y, sigma2=None, n=None, groups=None):
        """Learn from groups with known counts."""
        if sigma2 is None and self.sampling_variance is None and n is not None:
            sigma2 = 0.0
        return super().fit(X, y, sigma2, n, groups)

    def _fit_codes(self, model, topic, correlation, kernels):
        _require_counts(self.z_, self.n_)
        k = np.round(self.z_ * self.n_)
        self.sigma2_ = binomial.sampling_variance(k, self.n_)
        return mixed.crossed_logit(k, self.n_, model, topic, correlation, kernels)

    def _fitted_value(self):
        return self._result.score

    def _fitted_bounds(self, confidence_level):
        fit, factor = self._result, self.calibration_
        variance = factor * fit.variance
        low, high = mixed.skewed_interval(fit.mean, variance, fit.skewness, confidence_level)
        return Bounds(expit(low), expit(high), np.sqrt(factor * fit.score_variance))

    def _value(self, X, z, sigma2, n):
        return mixed.logistic_moments(*self._posterior(X, z, n))[0]

    def _bounds(self, X, z, sigma2, n, confidence_level):
        mean, variance = self._posterior(X, z, n)
        variance = self.calibration_ * variance
        low, high = mixed.skewed_interval(mean, variance, np.zeros_like(mean), confidence_level)
        return Bounds(expit(low), expit(high), np.sqrt(mixed.logistic_moments(mean, variance)[1]))

    def _posterior(self, X, z, n):
        mean, variance = self._prior(X)
        if z is None:
            return mean, variance
        _require_counts(z, n)
        return tilted_moments(np.round(z * n), n, mean, variance)[:2]


def _require_counts(z, n):
    if n is None:
        raise ValueError(
            "LogisticMixedModel needs group sizes, for the number of right answers z * n. "
            "Pass n=..., or use GaussianMixedModel, which goes by sigma2."
        )
    if not are_counts(z, n):
        raise ValueError(
            "LogisticMixedModel needs binary scores: z between 0 and 1 and every z * n a whole "
            "number. For other scores use GaussianMixedModel, which goes by sigma2."
        )
