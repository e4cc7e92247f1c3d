"""Effects of a mixed model, and the precision of what is seen of them, topic by topic."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse import csr_array

MODEL_VARIANCE = 2.5**2  # prior variance of a model's effect, on the scale of the model
# Order of the variances: topics, interactions, models that are alike, then the kernels.
TOPIC, OWN, ALIKE, KERNELS = 0, 1, 2, slice(3, None)


class Design(NamedTuple):
    """Which effects each group has; groups of one topic stand together.

    topic : ndarray of int of shape (n_groups,), codes from 0, ascending
    has_topics : bool, whether the groups of a topic share an effect
    Z : ndarray of shape (n_groups, n_coefficients), columns of models and kernels
    batch : ndarray of int of shape (n_coefficients,), number of the kernel of each column,
        -1 for models
    shared : ndarray of shape (n_groups, n_factors), factors of the errors on shared items
    own_share : ndarray of shape (n_groups,), part of the sampling noise that is not shared
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

    def exists(self):
        """Which of the variances there are."""
        n_kernels = self.batch.max() + 1
        return np.array([self.has_topics, True, self.n_effects > 1, *[True] * n_kernels])

    def of_coefficients(self, variances):
        """Prior variances of the coefficients."""
        return np.append(variances[KERNELS], MODEL_VARIANCE)[self.batch]

    def by_kernel(self, values):
        """Sums over the coefficients of each kernel, on the last axis."""
        return values @ np.equal.outer(self.batch, np.arange(self.batch.max() + 1))

    def in_blocks(self, columns):
        """Columns of the groups as a sparse matrix with columns of its own for each topic."""
        n_groups, n_columns = columns.shape
        places = self.topic[:, None] * n_columns + np.arange(n_columns)
        starts = np.arange(n_groups + 1) * n_columns
        shape = n_groups, self.n_topics * n_columns
        return csr_array((columns.ravel(), places.ravel(), starts), shape=shape)


class Weights(NamedTuple):
    """What the variances of interactions, (n_groups,), and topics, (n_topics,), are divided by."""

    group: np.ndarray
    topic: np.ndarray


class Precision:
    """Inverse covariance `P` of the pseudo-observations of all groups.

    ``P = V^-1 - V^-1 Z H^-1 Z' V^-1`` with the blocks of topics ``V = D + B B'``, both by
    Woodbury's identity. `D` is diagonal: the variances of the interaction and of the
    pseudo-observation. `B` has columns for each topic, for models that are alike and for shared
    noise, scaled by their standard deviations; `Z` has those of models and kernels.

    Parameters
    ----------
    design : Design
    variances : ndarray of shape (3 + n_kernels,)
    weights : Weights
    sites : ndarray of shape (n_groups,), precisions of the pseudo-observations
    noise_scale : ndarray of shape (n_groups,), standard deviations of the sampling noise
    """

    def __init__(self, design, variances, weights, sites, noise_scale):
        self.design, self.variances = design, variances
        self.own_variance = variances[OWN] / weights.group
        topic = np.sqrt(variances[TOPIC] / weights.topic)[design.topic]
        alike = np.sqrt(variances[ALIKE]) * design.shared
        self.columns = np.column_stack([topic, alike, noise_scale[:, None] * design.shared])
        self.B = design.in_blocks(self.columns)
        self.D_inverse = (sites / (1 + sites * self.own_variance))[:, None]
        inner = self.by_topic(self.B.T @ (self.D_inverse * self.columns))
        self.M_inverse = np.linalg.inv(np.eye(inner.shape[1]) + inner)
        self.BVZ = self._within(self.B.T @ (self.D_inverse * design.Z))
        self.VZ = self.D_inverse * (design.Z - self.B @ self.BVZ)
        self.prior = design.of_coefficients(variances)
        H_root = cholesky(design.Z.T @ self.VZ + np.diag(1 / self.prior), lower=True)
        self.H_root = solve_triangular(H_root, np.eye(len(H_root)), lower=True)
        self.H_inverse = self.H_root.T @ self.H_root

    def by_topic(self, values):
        """Rows in the order of the columns of `B`, as (n_topics, n_columns, n_vectors)."""
        return values.reshape(self.design.n_topics, -1, values.shape[1])

    def _within(self, values):
        """``M^-1 = (I + B' D^-1 B)^-1`` times such rows."""
        return (self.M_inverse @ self.by_topic(values)).reshape(values.shape)

    def times(self, values):
        """`P` times values of shape (n_groups, n_vectors)."""
        scaled = self.D_inverse * values
        left = scaled - self.D_inverse * (self.B @ self._within(self.B.T @ scaled))
        return left - self.VZ @ (self.H_inverse @ (self.VZ.T @ values))

    def diagonal(self):
        """Of `P`, of shape (n_groups,)."""
        within = np.sum(self.columns * self.own_within(), axis=1, keepdims=True)
        left = self.D_inverse - self.D_inverse**2 * within
        return left[:, 0] - np.sum((self.VZ @ self.H_root.T) ** 2, axis=1)

    def own_within(self):
        """Each group's columns times `M^-1`, of shape (n_groups, n_columns)."""
        return self.B @ self.M_inverse.reshape(self.B.shape[1], -1)

    def of_columns(self, which):
        """``B' P B`` of some columns within each topic, of shape (n_topics, n, n)."""
        by_model = self.by_topic(self.BVZ @ self.H_root.T)[:, which]
        own = self.M_inverse[:, which, which]
        return np.eye(own.shape[1]) - own - by_model @ by_model.transpose(0, 2, 1)

    def traces(self, diagonal):
        """``v tr P K`` of each variance, where `diagonal` is that of `P`."""
        effects = self.of_columns(slice(self.design.n_effects))
        effects = np.trace(effects[:, :1, :1].sum(0)), np.trace(effects[:, 1:, 1:].sum(0))
        kernels = self.design.by_kernel(1 - np.diag(self.H_inverse) / self.prior)
        return np.array([effects[0], self.own_variance @ diagonal, effects[1], *kernels])

    def parts(self, alpha):
        """``v K alpha`` of each variance, of shape (n_groups, 3 + n_kernels)."""
        effects = self.by_topic(self.B.T @ alpha[:, None])[self.design.topic, :, 0]
        effects = (effects * self.columns)[:, : self.design.n_effects]
        own, alike = self.own_variance * alpha, effects[:, 1:].sum(axis=1)
        kernels = self.design.by_kernel(self.design.Z * self.coefficients(alpha))
        return np.column_stack([effects[:, 0], own, alike, kernels])

    def coefficients(self, alpha):
        """Posterior means of the coefficients, where ``alpha = P y``."""
        return self.prior * (self.design.Z.T @ alpha)

    def latent(self, alpha):
        """Posterior means of the groups without shared noise, where ``alpha = P y``."""
        models = np.where(self.design.batch < 0, self.coefficients(alpha), 0)
        return self.parts(alpha).sum(axis=1) + self.design.Z @ models
