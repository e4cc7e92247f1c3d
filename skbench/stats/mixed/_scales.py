"""Scale mixtures of the effects: probabilities of outlying groups and topics."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, softmax

from skbench.stats.mixed._effects import OUTLYING_VARIANCE, TOPIC, Weights

PRIOR_SHARE = 0.01  # prior share of outlying groups
_PRIOR_GROUPS = 40.0  # weight of this share, in groups
_REPETITIONS = 20
# Weights of a t distribution with 4 degrees of freedom, on a log scale.
TOPIC_WEIGHTS = np.geomspace(0.004, 4.5, 12)
LOG_TOPIC_PRIOR = 2 * np.log(TOPIC_WEIGHTS) - 2 * TOPIC_WEIGHTS
_OUTLYING_WEIGHT = 0.1  # below, a topic's standard deviation is more than 3 times tau


class Outliers(NamedTuple):
    """Probabilities of being outlying."""

    share: float
    group: np.ndarray
    topic_weights: np.ndarray

    @property
    def topic(self):
        """Probability that each topic's standard deviation is more than 3 times tau."""
        return self.topic_weights[:, TOPIC_WEIGHTS < _OUTLYING_WEIGHT].sum(axis=1)

    def moved(self, weights, interaction):
        """`Weights` a third of the way, in logs, to their expectations; larger steps oscillate."""
        group = 1 - self.group * (1 - interaction / OUTLYING_VARIANCE)
        topic = self.topic_weights @ TOPIC_WEIGHTS
        return Weights(np.cbrt(weights.group**2 * group), np.cbrt(weights.topic**2 * topic))


def no_outliers(design):
    """`Outliers` of normal effects."""
    none = np.zeros((design.n_topics, len(TOPIC_WEIGHTS)))
    return Outliers(0.0, np.zeros(len(design.topic)), none)


def outliers(solution, likelihood, share):
    """`Outliers` of a `Solution`; the fixed-point iteration of their share starts at `share`."""
    ordinary, outlying = (likelihood.tilted(*cavity).log_mass for cavity in solution.cavities())
    for _ in range(_REPETITIONS):
        group = expit(logit(share) + outlying - ordinary)
        share = (group.sum() + PRIOR_SHARE * _PRIOR_GROUPS) / (len(group) + _PRIOR_GROUPS)
    return Outliers(float(share), group, _topic_weights(solution))


def _topic_weights(solution):
    """Probabilities of the weights of each topic, given its groups."""
    tau2 = solution.variances[TOPIC]
    if tau2 == 0:
        return np.tile(softmax(LOG_TOPIC_PRIOR), (solution.design.n_topics, 1))
    own = tau2 / solution.weights.topic
    precision = solution.of_columns(slice(1))[:, 0, 0] / own  # 1' P 1
    seen = np.bincount(solution.design.topic, solution.alpha) / precision
    variance = np.maximum(1 / precision - own, 0)[:, None] + tau2 / TOPIC_WEIGHTS
    log_density = -0.5 * (np.log(variance) + seen[:, None] ** 2 / variance)
    return softmax(log_density + LOG_TOPIC_PRIOR, axis=1)
