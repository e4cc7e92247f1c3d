"""Effects of a mixed model, and their Gaussian solution by topic."""

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse import csr_array

# Order of the variances: topics, interactions, effects of correlated models, models, kernels.
TOPIC, OWN, ALIKE, MODELS, KERNELS = 0, 1, 2, 3, slice(4, None)
OUTLYING_VARIANCE = 2.5**2  # interaction of an outlying group, on the scale of the model
_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class Design:
    """Effects of each group; groups are sorted by topic.

    Attributes
    ----------
    topic : ndarray of int of shape (n_groups,)
        Codes from 0, ascending.
    has_topics : bool
        Whether the groups of a topic share an effect.
    model : ndarray of int of shape (n_groups,)
        Codes from 0.
    own : ndarray of shape (n_groups, n_own)
        Columns with separate coefficients for each model; the first is 1.
    common : ndarray of shape (n_groups, n_common)
        Columns with coefficients common to all models.
    batch : ndarray of int of shape (n_own + n_common,)
        0 for effects of models, then the number of the kernel.
    shared : ndarray of shape (n_groups, n_factors)
        Factors of the errors on shared items.
    own_share : ndarray of shape (n_groups,)
        Share of the sampling noise that is not shared.
    """

    topic: np.ndarray
    has_topics: bool
    model: np.ndarray
    own: np.ndarray
    common: np.ndarray
    batch: np.ndarray
    shared: np.ndarray
    own_share: np.ndarray

    # Cached properties do not change between iterations.

    @cached_property
    def n_topics(self):
        return int(self.topic[-1]) + 1

    @property
    def n_effects(self):
        """Number of effect columns of a topic: its own, then those of correlated models."""
        return 1 + self.shared.shape[1]

    @cached_property
    def n_models(self):
        return int(self.model.max()) + 1

    @cached_property
    def Z(self):
        """The columns of models, and their transpose."""
        Z = in_blocks(self.own, self.model, self.n_models)
        return Z, Z.T

    @cached_property
    def empty_B(self):
        """Sparsity pattern of the columns of topics, and its transpose; values change."""
        n_columns = 1 + 2 * self.shared.shape[1]
        B = in_blocks(np.zeros((len(self.topic), n_columns)), self.topic, self.n_topics)
        return B, B.T

    @cached_property
    def crossed(self):
        """Position in ``B' Z`` of each product of a topic column and a model column of a group."""
        B, Z = self.empty_B[0], self.Z[0]
        rows, columns = (x.indices.reshape(len(self.topic), -1).astype(int) for x in (B, Z))
        return rows[:, :, None] * Z.shape[1] + columns[:, None, :]

    @cached_property
    def batches(self):
        """Batch of each coefficient: `n_own` per model, then the common ones."""
        n_own = self.own.shape[1]
        return np.append(np.tile(self.batch[:n_own], self.n_models), self.batch[n_own:])


class Rows(NamedTuple):
    """Groups: their topic with its columns, their model with its columns, and common columns."""

    topic: np.ndarray
    of_topic: np.ndarray
    model: np.ndarray
    own: np.ndarray
    common: np.ndarray

    def products(self, of_topics, coefficients):
        """Each column times its effect, side by side."""
        of_models, of_all = np.split(coefficients, [len(coefficients) - self.common.shape[1]])
        of_models = of_models.reshape(-1, self.own.shape[1])[self.model]
        of_topics = of_topics.reshape(-1, self.of_topic.shape[1])[self.topic]
        parts = self.of_topic * of_topics, self.own * of_models, self.common * of_all
        return np.concatenate(parts, axis=1)


def by_batch(values, batch):
    """Sums over models and over each kernel, on the last axis."""
    return values @ np.equal.outer(batch, np.arange(1 + batch.max()))


def in_blocks(columns, block, n_blocks):
    """Columns of groups as a sparse matrix with separate columns for each topic or model."""
    n_groups, n_columns = columns.shape
    places = block[:, None] * n_columns + np.arange(n_columns)
    starts = np.arange(n_groups + 1) * n_columns
    return csr_array(
        (columns.ravel(), places.ravel(), starts), shape=(n_groups, n_blocks * n_columns)
    )


def _filled(empty, columns):
    """A sparse matrix with the same pattern and other values."""
    found = copy(empty)
    found.data = columns.ravel()
    return found


class Sites(NamedTuple):
    """Pseudo-observations of the groups: precisions and means, arrays of shape (n_groups,)."""

    precision: np.ndarray
    mean: np.ndarray


class Weights(NamedTuple):
    """Divisors of the variances of interactions, (n_groups,), and of topics, (n_topics,)."""

    group: np.ndarray
    topic: np.ndarray


class Covariances(NamedTuple):
    """Posterior covariances of the effects.

    Attributes
    ----------
    topics : ndarray of shape (n_topics * n_columns, n_columns)
        Covariances of the effects of each topic.
    crossed : ndarray of shape (n_topics * n_columns, n_coefficients)
        Minus their covariances with the coefficients.
    coefficients : ndarray of shape (n_coefficients, n_coefficients)
    """

    topics: np.ndarray
    crossed: np.ndarray
    coefficients: np.ndarray

    def with_sums(self, B, rows):
        """Covariances of topic columns (`in_blocks`) with the sum of all effects of each group."""
        return self.of_topics(B, rows.of_topic) - self._crossed(B, rows)

    def of_sums(self, B, Z, rows):
        """Variance of the sum of all effects of each group."""
        found = self.of_topics(B, rows.of_topic) - 2 * self._crossed(B, rows)
        n_own, n_all = rows.own.shape[1], Z.shape[1]
        models = np.arange(n_all // n_own)
        of_models, of_all = self.coefficients[:n_all], self.coefficients[n_all:, n_all:]
        of_own = of_models[:, :n_all].reshape(-1, n_own, len(models), n_own)[models, :, models]
        found += np.sum((Z @ of_own.reshape(-1, n_own)) * rows.own, axis=1)
        by_common = rows.common @ of_all + 2 * (Z @ of_models[:, n_all:])
        return found + np.sum(by_common * rows.common, axis=1)

    def of_topics(self, B, other):
        """Covariances of topic columns with other columns of each group's topic."""
        return np.sum((B @ self.topics) * other, axis=1)

    def _crossed(self, B, rows):
        n_all, n_own = self.crossed.shape[1] - rows.common.shape[1], rows.own.shape[1]
        part = B.data.reshape(len(rows.topic), -1)
        own = self.crossed[:, :n_all].reshape(-1, part.shape[1], n_all // n_own, n_own)
        found = np.einsum("gi,gij,gj->g", part, own[rows.topic, :, rows.model], rows.own)
        by_common = B @ self.crossed[:, n_all:]
        return found + np.sum(by_common * rows.common, axis=1)


class Solution:
    """Posterior of all groups given their pseudo-observations."""

    # The inverse covariance is P = V^-1 - V^-1 Z H^-1 Z' V^-1 with topic blocks V = D + B B', both
    # by Woodbury's identity. D is diagonal: the variances of the interaction and of the
    # pseudo-observation. B has columns for each topic, for correlated models and for shared noise;
    # Z has columns for models and kernels. M = I + B' D^-1 B, and alpha = P y. The coefficients of
    # Z have the posterior covariance H^-1. Effects of topics have the additional covariance M^-1.
    # No matrix of all groups and all coefficients is formed.

    def __init__(self, design, variances, weights, sites, noise_scale):
        self.design, self.variances, self.weights = design, variances, weights
        self.sites, self.noise_scale = sites, noise_scale
        self.own_variance = variances[OWN] / weights.group
        self.prior = variances[MODELS:][design.batches]
        topic = np.sqrt(variances[TOPIC] / weights.topic)[design.topic]
        alike = np.sqrt(variances[ALIKE]) * design.shared
        columns = np.column_stack([topic, alike, noise_scale[:, None] * design.shared])
        self.rows = Rows(design.topic, columns, design.model, design.own, design.common)
        self.B, self.B_T = (_filled(empty, columns) for empty in design.empty_B)
        self.D_inverse = (sites.precision / (1 + sites.precision * self.own_variance))[:, None]
        inner = self.by_topic(self.B_T @ (self.D_inverse * columns))
        self.M_inverse = np.linalg.inv(np.eye(inner.shape[1]) + inner)
        BDZ, ZDZ = self._products()
        self.BVZ = self._within(BDZ)
        H_root = cholesky(ZDZ - BDZ.T @ self.BVZ + np.diag(1 / self.prior), lower=True)
        H_root_inverse = solve_triangular(H_root, np.eye(len(H_root)), lower=True)
        H_inverse = H_root_inverse.T @ H_root_inverse
        crossed = self.BVZ @ H_inverse
        topics = self.by_topic(crossed) @ self.by_topic(self.BVZ).transpose(0, 2, 1)
        topics = (self.M_inverse + topics).reshape(len(crossed), -1)
        self.covariances = Covariances(topics, crossed, H_inverse)
        alpha, *means = self.solved(sites.mean[:, None])
        self.alpha, self.of_topics, self.coefficients = (x[:, 0] for x in (alpha, *means))
        D_inverse, within = (
            self.D_inverse[:, 0],
            self.covariances.of_sums(self.B, design.Z[0], self.rows),
        )
        self.diagonal = D_inverse - D_inverse**2 * within
        self.parts = self._parts()
        self.latent = self.parts.sum(axis=1)

    def _products(self):
        """``B' D^-1 Z`` and ``Z' D^-1 Z``."""
        design, (Z, Z_T), n_own = self.design, self.design.Z, self.design.own.shape[1]
        own, common = self.D_inverse * design.own, self.D_inverse * design.common
        n_all, size = Z.shape[1], self.B.shape[1] * Z.shape[1]
        products = self.rows.of_topic[:, :, None] * own[:, None, :]
        BDZ = np.empty((self.B.shape[1], len(self.prior)))
        BDZ[:, :n_all] = np.bincount(design.crossed.ravel(), products.ravel(), size).reshape(
            -1, n_all
        )
        BDZ[:, n_all:] = self.B_T @ common
        ZDZ, rows = np.zeros((len(self.prior), len(self.prior))), np.arange(n_all)[:, None]
        ZDZ[rows, rows // n_own * n_own + np.arange(n_own)] = Z_T @ own
        ZDZ[:n_all, n_all:] = Z_T @ common
        ZDZ[n_all:, :n_all] = ZDZ[:n_all, n_all:].T
        ZDZ[n_all:, n_all:] = design.common.T @ common
        return BDZ, ZDZ

    def by_topic(self, values):
        """Rows in the order of the columns of `B`, reshaped to (n_topics, n_columns, n_vectors)."""
        return values.reshape(self.design.n_topics, -1, values.shape[1])

    def _within(self, values):
        """``M^-1`` times such rows."""
        return (self.M_inverse @ self.by_topic(values)).reshape(values.shape)

    def solved(self, values):
        """`P` times values of shape (n_groups, n_vectors), and the effects of topics and of Z."""
        scaled = self.D_inverse * values
        of_topics, left = self._products_with(scaled)
        coefficients = self.covariances.coefficients @ left
        of_topics = self._within(of_topics) - self.BVZ @ coefficients
        fitted = self.of_effects(of_topics, coefficients)
        fitted *= self.D_inverse
        scaled -= fitted
        return scaled, of_topics, coefficients

    def of_effects(self, of_topics, coefficients):
        """Sums of effects, `B` and `Z` times values, of shape (n_groups, n_vectors)."""
        found = self.of_coefficients(coefficients)
        found += self.B @ of_topics
        return found

    def _products_with(self, scaled):
        """``B' D^-1`` and ``Z' V^-1`` times values, given ``D^-1`` times the values."""
        of_topics, common = self.B_T @ scaled, self.design.common.T @ scaled
        left = np.concatenate([self.design.Z[1] @ scaled, common])
        return of_topics, left - self.BVZ.T @ of_topics

    def information(self):
        """``X' P X`` of the columns X of `parts`."""
        scaled = self.D_inverse * self.parts
        of_topics, left = self._products_with(scaled)
        found = self.parts.T @ scaled - of_topics.T @ self._within(of_topics)
        return found - left.T @ self.covariances.coefficients @ left

    def of_coefficients(self, values):
        """`Z` times values of shape (n_coefficients, n_vectors)."""
        Z, n_own = self.design.Z[0], self.design.Z[0].shape[1]
        found = Z @ values[:n_own]
        if len(values) > n_own:
            found += self.design.common @ values[n_own:]
        return found

    @property
    def model_effects(self):
        return self.coefficients[self.design.batches == 0]

    def of_columns(self, which):
        """``B' P B`` of some columns within each topic, of shape (n_topics, n, n)."""
        own = self.by_topic(self.covariances.topics)[:, which, which]
        return np.eye(own.shape[1]) - own

    def _parts(self):
        """``v K alpha`` of each variance, (n_groups, 4 + n_kernels): posterior means of effects."""
        products = self.rows.products(self.of_topics, self.coefficients)
        batches = by_batch(products[:, self.rows.of_topic.shape[1] :], self.design.batch)
        own, alike = self.own_variance * self.alpha, products[:, 1 : self.design.n_effects]
        return np.column_stack([products[:, 0], own, alike.sum(axis=1), batches])

    def traces(self):
        """``v tr P K`` of each variance, of shape (4 + n_kernels,)."""
        left = self.of_columns(slice(self.design.n_effects))
        topic, *alike = np.diagonal(left.sum(axis=0))
        batches = 1 - np.diag(self.covariances.coefficients) / self.prior
        batches = by_batch(batches, self.design.batches)
        return np.array([topic, self.own_variance @ self.diagonal, sum(alike), *batches])

    def cavity(self):
        """Mean and variance of each group given all other groups, including shared noise."""
        variance = np.maximum(1 / self.diagonal - 1 / self.sites.precision, _LEAST)
        return self.sites.mean - self.alpha / self.diagonal, variance

    def cavities(self):
        """The cavity of each group as an ordinary and as an outlying group."""
        mean, variance = self.cavity()
        others = np.maximum(variance - self.own_variance, 0)
        return (mean, others + self.variances[OWN]), (mean, others + OUTLYING_VARIANCE)
