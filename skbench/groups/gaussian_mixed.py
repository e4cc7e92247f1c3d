"""Crossed random effects for scores of any kind with known sampling variances."""

import numpy as np
from scipy.stats import norm

from skbench.groups._base import Bounds
from skbench.groups._mixed import MixedModel
from skbench.stats import mixed


class GaussianMixedModel(MixedModel):
    """Shrink direct estimates towards what their model and their topic predict."""

    _method = "Gaussian mixed model"
    _guarantee = "posterior"

    def __init__(
        self,
        model="model",
        topic="topic",
        *,
        item_correlation="auto",
        kernels=None,
        integrate=False,
        calibration="risk",
        sampling_variance=None,
    ):
        self.model = model
        self.topic = topic
        self.item_correlation = item_correlation
        self.kernels = kernels
        self.integrate = integrate
        self.calibration = calibration
        self.sampling_variance = sampling_variance

    def _fit_codes(self, model, topic, correlation, kernels):
        return mixed.crossed_normal(
            self.z_, self.sigma2_, model, topic, correlation, kernels, self.integrate
        )

    def _fitted_value(self):
        return self._result.mean

    def _fitted_bounds(self, confidence_level):
        variance = self.calibration_ * self._result.variance
        return _normal_bounds(self._result.mean, variance, confidence_level)

    def _value(self, X, z, sigma2, n):
        return self._posterior(X, z, sigma2)[0]

    def _bounds(self, X, z, sigma2, n, confidence_level):
        mean, variance = self._posterior(X, z, sigma2)
        return _normal_bounds(mean, self.calibration_ * variance, confidence_level)

    def _posterior(self, X, z, sigma2):
        mean, variance = self._prior(X)
        if z is None:
            return mean, variance
        weight = variance / (variance + sigma2)
        return mean + weight * (z - mean), weight * sigma2

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


def _normal_bounds(mean, variance, confidence_level):
    standard_error = np.sqrt(variance)
    half_width = norm.ppf((1 + confidence_level) / 2) * standard_error
    return Bounds(mean - half_width, mean + half_width, standard_error)
