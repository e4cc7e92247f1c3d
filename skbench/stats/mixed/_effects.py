"""Effects of a mixed model, and their Gaussian solution, topic by topic."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse import csr_array

# Order of the variances: topics, interactions, models that are alike, models, then the kernels.
TOPIC, OWN, ALIKE, MODELS, KERNELS = 0, 1, 2, 3, slice(4, None)
OUTLYING_VARIANCE = 2.5**2  # of an outlying group's interaction, on the scale of the model
_LEAST = 1e-12


class Design(NamedTuple):
    """Which effects each group has; groups of one topic stand together.

    Attributes
    ----------
    topic : ndarray of int of shape (n_groups,)
        Codes from 0, ascending.
    has_topics : bool
        Whether the groups of a topic share an effect.
    Z : ndarray of shape (n_groups, n_coefficients)
        Columns of models and kernels.
    batch : ndarray of int of shape (n_coefficients,)
        0 for columns of models, then the number of the kernel.
    shared : ndarray of shape (n_groups, n_factors)
        Factors of the errors on shared items.
    own_share : ndarray of shape (n_groups,)
        Part of the sampling noise that is not shared.
    """

    topic: np.ndarray
    has_topics: bool
    Z: np.ndarray
    batch: np.ndarray
    shared: np.ndarray
    own_share: np.ndarray

    @property
    def n_topics(self):
        return int(self.topic[-1]) + 1

    @property
    def n_effects(self):
        """Columns of a topic that are effects: its own, then those of models that are alike."""
        return 1 + self.shared.shape[1]

    def by_batch(self, values):
        """Sums over the coefficients of models and of each kernel, on the last axis."""
        return values @ np.equal.outer(self.batch, np.arange(1 + self.batch.max()))


def in_blocks(columns, topic, n_topics):
    """Columns of groups as a sparse matrix with columns of its own for each topic."""
    n_groups, n_columns = columns.shape
    places = topic[:, None] * n_columns + np.arange(n_columns)
    starts = np.arange(n_groups + 1) * n_columns
    return csr_array(
        (columns.ravel(), places.ravel(), starts), shape=(n_groups, n_topics * n_columns)
    )


class Sites(NamedTuple):
    """Pseudo-observations of the groups: precisions and means, arrays of shape (n_groups,)."""

    precision: np.ndarray
    mean: np.ndarray


class Weights(NamedTuple):
    """What the variances of interactions, (n_groups,), and topics, (n_topics,), are divided by."""

    group: np.ndarray
    topic: np.ndarray


class Solution:
    """Posterior of all groups given their pseudo-observations."""

    # Their inverse covariance is P = V^-1 - V^-1 Z H^-1 Z' V^-1 with the blocks of topics
    # V = D + B B', both by Woodbury's identity. D is diagonal: the variances of the interaction
    # and of the pseudo-observation. B has columns for each topic, for models that are alike and
    # for shared noise, Z those of models and kernels. M = I + B' D^-1 B, and alpha = P y.

    def __init__(self, design, variances, weights, sites, noise_scale):
        self.design, self.variances, self.weights = design, variances, weights
        self.sites, self.noise_scale = sites, noise_scale
        self.own_variance = variances[OWN] / weights.group
        self.prior = variances[MODELS:][design.batch]
        topic = np.sqrt(variances[TOPIC] / weights.topic)[design.topic]
        alike = np.sqrt(variances[ALIKE]) * design.shared
        self.columns = np.column_stack([topic, alike, noise_scale[:, None] * design.shared])
        self.B = in_blocks(self.columns, design.topic, design.n_topics)
        self.D_inverse = (sites.precision / (1 + sites.precision * self.own_variance))[:, None]
        inner = self.by_topic(self.B.T @ (self.D_inverse * self.columns))
        self.M_inverse = np.linalg.inv(np.eye(inner.shape[1]) + inner)
        self.own_within = self.B @ self.M_inverse.reshape(self.B.shape[1], -1)
        self.BVZ = self._within(self.B.T @ (self.D_inverse * design.Z))
        self.VZ = self.D_inverse * (design.Z - self.B @ self.BVZ)
        H_root = cholesky(design.Z.T @ self.VZ + np.diag(1 / self.prior), lower=True)
        self.H_root_inverse = solve_triangular(H_root, np.eye(len(H_root)), lower=True)
        self.H_inverse = self.H_root_inverse.T @ self.H_root_inverse
        self.alpha = self.times(sites.mean[:, None])[:, 0]
        within = np.sum(self.columns * self.own_within, axis=1, keepdims=True)
        left = (self.D_inverse - self.D_inverse**2 * within)[:, 0]
        self.diagonal = left - np.sum((self.VZ @ self.H_root_inverse.T) ** 2, axis=1)
        self.latent = self.parts().sum(axis=1)

    def by_topic(self, values):
        """Rows in the order of the columns of `B`, as (n_topics, n_columns, n_vectors)."""
        return values.reshape(self.design.n_topics, -1, values.shape[1])

    def _within(self, values):
        """``M^-1`` times such rows."""
        return (self.M_inverse @ self.by_topic(values)).reshape(values.shape)

    def times(self, values):
        """`P` times values of shape (n_groups, n_vectors)."""
        scaled = self.D_inverse * values
        left = scaled - self.D_inverse * (self.B @ self._within(self.B.T @ scaled))
        return left - self.VZ @ (self.H_inverse @ (self.VZ.T @ values))

    def of_columns(self, which):
        """``B' P B`` of some columns within each topic, of shape (n_topics, n, n)."""
        by_model = self.by_topic(self.BVZ @ self.H_root_inverse.T)[:, which]
        own = self.M_inverse[:, which, which]
        return np.eye(own.shape[1]) - own - by_model @ by_model.transpose(0, 2, 1)

    def parts(self):
        """``v K alpha`` of each variance, (n_groups, 4 + n_kernels): posterior means of effects."""
        effects = self.by_topic(self.B.T @ self.alpha[:, None])[self.design.topic, :, 0]
        effects = (effects * self.columns)[:, : self.design.n_effects]
        own, alike = self.own_variance * self.alpha, effects[:, 1:].sum(axis=1)
        batches = self.design.by_batch(self.design.Z * self.coefficients())
        return np.column_stack([effects[:, 0], own, alike, batches])

    def traces(self):
        """``v tr P K`` of each variance, of shape (4 + n_kernels,)."""
        left = self.of_columns(slice(self.design.n_effects))
        topic, *alike = np.diagonal(left.sum(axis=0))
        batches = self.design.by_batch(1 - np.diag(self.H_inverse) / self.prior)
        return np.array([topic, self.own_variance @ self.diagonal, sum(alike), *batches])

    def coefficients(self):
        """Posterior means of the coefficients of models and kernels."""
        return self.prior * (self.design.Z.T @ self.alpha)

    def cavity(self):
        """Mean and variance of each group, with shared noise, by what the others say."""
        variance = np.maximum(1 / self.diagonal - 1 / self.sites.precision, _LEAST)
        return self.sites.mean - self.alpha / self.diagonal, variance

    def cavities(self):
        """The same for an ordinary and for an outlying group."""
        mean, variance = self.cavity()
        others = np.maximum(variance - self.own_variance, 0)
        return (mean, others + self.variances[OWN]), (mean, others + OUTLYING_VARIANCE)
