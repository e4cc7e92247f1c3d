"""Inverse covariances of blocks: in full, or a diagonal less a few columns where that is all.

Arrays may have more axes in front of those named here: one fit of several.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from skbench.stats.mixed._structure import Kinds, Noise, apply

_SMALL = 32  # size up to which matrices are inverted all at once
_ENTRIES = 100_000  # of the matrices that are worked on at a time
_FAINT = 1e-4  # precision times variance below which ``1 - (1 - small)`` would lose digits


class Law(NamedTuple):
    """What decides the matrices of each kind of blocks.

    W : ndarray of shape (n_kinds, B), precisions of the pseudo-observations
    own : ndarray of shape (n_kinds or 1, B), variances of interactions
    topic : ndarray of shape (n_kinds or 1,), variances of the effects of blocks
    noise : Noise or None, that observations share
    kinds : Kinds, which blocks these are
    """

    W: np.ndarray
    own: np.ndarray
    topic: np.ndarray
    noise: Noise | None
    kinds: Kinds = Kinds()

    def part(self, rows):
        """The law of some kinds; what all have in common stays as it is."""
        noise = None
        if self.noise is not None:
            scale, shared, factor = self.noise
            noise = Noise(_some(scale, rows, -2), _some(shared, rows), _some(factor, rows))
        W, own = (_some(x, rows, -2) for x in (self.W, self.own))
        return Law(W, own, _some(self.topic, rows, -1), noise, self.kinds)

    def total(self):
        """Covariance of the latent values plus the noise that they share."""
        noise = 0.0 if self.noise is None else self.noise.covariance()
        one = np.eye(self.W.shape[-1])
        return noise + self.topic[..., None, None] + self.own[..., None] * one


def precision_of(law):
    """``V^-1`` of each kind of blocks, with ``V = total + 1 / W``.

    Parameters
    ----------
    law : Law

    Returns
    -------
    Full or Factored
        With the same methods.
    """
    if law.noise is None or law.noise.factor is not None:
        return _factored(law)
    return Full(law, *_in_parts(_inverses, law))


class Full(NamedTuple):
    """Matrices of shape (n_kinds, B, B)."""

    law: Law
    matrices: np.ndarray
    log_determinant: np.ndarray

    def dense(self):
        """The matrices."""
        return self.matrices

    def diagonal(self):
        """Of shape (n_kinds, B)."""
        return np.diagonal(self.matrices, axis1=-2, axis2=-1)

    def sums(self):
        """Of the columns, of shape (n_kinds, B)."""
        return self.matrices.sum(axis=-1)

    def times(self, kinds, values):
        """Matrices of kinds times values of blocks, of shape (n_blocks, B)."""
        return kinds.times(self.matrices, values)

    def added(self, kinds):
        """Sum over blocks."""
        return kinds.counted(self.matrices, -3).sum(axis=-3)

    def information(self, design):
        """``X' P X``."""
        return design.information_of_all(self.matrices)

    def noisy_variances(self, known):
        """Posterior variances with the noise, and what observations leave of the fixed part."""
        return _in_parts(_noisy_variances, self.law, self.matrices, known.dense())

    def latent_variances(self, known):
        """Posterior variances without the noise, and covariances with the values that have it."""
        return _in_parts(_latent_variances, self.law, self.matrices, known.dense())


class Factored(NamedTuple):
    """``diag(weight) - (weight columns) (weight columns)'``, where noise has few directions.

    share : ndarray of shape (n_kinds, B), ``1 / (1 + W own)``
    weight : ndarray of shape (n_kinds, B), ``W share``
    columns : ndarray of shape (n_kinds, B, r), those of topic and noise, orthogonalized: `r`
        is the rank of the noise and one more. What observations leave of each latent value
        plus noise, ``1 - total P``, is ``diag(share) (1 - columns (weight columns)')``.
    """

    law: Law
    log_determinant: np.ndarray
    share: np.ndarray
    weight: np.ndarray
    columns: np.ndarray

    @property
    def _weighted(self):
        return self.weight[..., None] * self.columns

    def dense(self):
        """The matrices, of shape (n_kinds, B, B)."""
        weighted = self._weighted
        matrices = -weighted @ np.swapaxes(weighted, -1, -2)
        diagonal = np.arange(self.weight.shape[-1])
        matrices[..., diagonal, diagonal] += self.weight
        return matrices

    def diagonal(self):
        """Of shape (n_kinds, B)."""
        return self.weight * (1 - self.weight * np.sum(self.columns**2, axis=-1))

    def sums(self):
        """Of the columns, of shape (n_kinds, B)."""
        weighted = self._weighted
        return self.weight - apply(weighted, weighted.sum(axis=-2))

    def times(self, kinds, values):
        """Matrices of kinds times values of blocks, of shape (n_blocks, B)."""
        weighted = self._weighted[..., kinds.member, :, :]
        drawn = np.swapaxes(weighted, -1, -2) @ values[..., None]
        return self.weight[..., kinds.member, :] * values - (weighted @ drawn)[..., 0]

    def added(self, kinds):
        """Sum over blocks."""
        rows = np.swapaxes(self._weighted, -1, -2)
        several = (*rows.shape[:-3], -1, rows.shape[-1])
        counted = kinds.counted(rows, -3).reshape(several)
        weight = kinds.counted(self.weight, -2).sum(axis=-2)
        diagonal = weight[..., None] * np.eye(weight.shape[-1])
        return diagonal - np.swapaxes(rows.reshape(several), -1, -2) @ counted

    def information(self, design):
        """``X' P X``."""
        return design.information_of_few(self.weight, self._weighted)

    def noisy_variances(self, known):
        """Posterior variances with the noise, and what observations leave of the fixed part."""
        own, share, columns = self.law.own, self.share, self.columns
        rows = np.ones_like(share), -columns
        spread = share**2 * _quadratic(known, self._weighted, rows, rows)
        return share * (own + share * np.sum(columns**2, axis=-1)) + spread, spread

    def latent_variances(self, known):
        """Posterior variances without the noise, and covariances with the values that have it."""
        own, topic, share = self.law.own, self.law.topic[..., None], self.share
        weighted, sums = self._weighted, self.sums()
        all_sums = own * sums + topic * sums.sum(axis=-1, keepdims=True)
        explained = own * (own * self.diagonal() + topic * sums) + topic * all_sums
        left = own * (1 - np.sum(weighted * self.columns, axis=-1))
        left = share * (left + topic * (1 - apply(self.columns, weighted.sum(axis=-2))))
        along = np.concatenate([weighted, sums[..., None]], axis=-1)
        down = np.broadcast_to(topic, sums.shape)[..., None]
        latent = share, np.concatenate([own[..., None] * weighted, -down], axis=-1)
        noisy = share, np.concatenate([-share[..., None] * self.columns, 0 * down], axis=-1)
        variance = _least(own + topic - explained) + _quadratic(known, along, latent, latent)
        return variance, _least(left) + _quadratic(known, along, latent, noisy)


def _factored(law):
    share = 1 / (1 + law.W * law.own)
    weight = law.W * share
    columns = np.broadcast_to(np.sqrt(law.topic)[..., None], share.shape)[..., None]
    if law.noise is not None:
        noise = law.noise.scale[..., None] * law.noise.factor
        noise = np.broadcast_to(noise, (*share.shape, noise.shape[-1]))
        columns = np.concatenate([noise, columns], axis=-1)
    rows = np.swapaxes(columns, -1, -2)
    inner = np.eye(columns.shape[-1]) + rows @ (weight[..., None] * columns)
    root = np.linalg.cholesky(inner)
    log_determinant = 2 * np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(axis=-1)
    log_determinant -= np.log(share).sum(axis=-1)
    columns = np.swapaxes(np.linalg.solve(root, rows), -1, -2)
    return Factored(law, log_determinant, share, weight, columns)


def _quadratic(known, along, first, second):
    """``a K b'`` with rows ``a = number e_i + factors along'`` of two tables, for all i."""
    acted = known.times(along)
    (number, factors), (other, others) = first, second
    found = number * other * known.diagonal()
    found += number * np.sum(others * acted, axis=-1) + other * np.sum(factors * acted, axis=-1)
    return found + np.sum((factors @ (np.swapaxes(along, -1, -2) @ acted)) * others, axis=-1)


def _least(variance):
    """Rounding may leave nothing, or less, of the variance of what is known exactly."""
    return np.maximum(variance, 0)


def _in_parts(function, law, *arrays):
    """Results for a few kinds after the other: three times faster where caches are too small."""
    n_kinds, size = law.W.shape[-2:]
    step = max(1, _ENTRIES // (size**2 * law.W[..., 0, 0].size))
    if n_kinds <= step:
        return function(law, *arrays)
    parts = []
    for at in range(0, n_kinds, step):
        rows = slice(at, at + step)
        parts.append(function(law.part(rows), *(_some(x, rows) for x in arrays)))
    axis = law.W.ndim - 2
    return [np.concatenate(results, axis=axis) for results in zip(*parts, strict=True)]


def _some(values, rows, axis=-3):
    """Values of some kinds, that stand on this axis."""
    if values is None or values.shape[axis] == 1:
        return values
    return values[(..., rows, *[slice(None)] * (-axis - 1))]


def _inverses(law):
    """``V^-1``, and the log determinants of ``1 + W^1/2 total W^1/2``."""
    root = np.sqrt(law.W)
    scaled = root[..., :, None] * law.total() * root[..., None, :]
    diagonal = np.arange(law.W.shape[-1])
    scaled[..., diagonal, diagonal] += 1
    inner, log_determinant = inverse(scaled)
    return root[..., :, None] * inner * root[..., None, :], log_determinant


def _noisy_variances(law, precision, known):
    total = law.total()
    left = _left(law.W, total, precision)
    spread = np.sum(_product(left, known) * left, axis=-1)
    return np.sum(left * total, axis=-1) + spread, spread


def _latent_variances(law, precision, known):
    own, topic = law.own, law.topic[..., None]
    left = _left(law.W, law.total(), precision)
    gain = own[..., None] * precision + (topic * precision.sum(axis=-2))[..., None, :]
    explained = own * np.diagonal(gain, axis1=-2, axis2=-1) + topic * gain.sum(axis=-1)
    latent_left = np.eye(law.W.shape[-1]) - gain
    acted = _product(latent_left, known)
    # Cut at 0, though noise that explains the latent value away may leave less.
    common = _least(own * np.diagonal(left, axis1=-2, axis2=-1) + topic * left.sum(axis=-1))
    variance = _least(own + topic - explained) + np.sum(acted * latent_left, axis=-1)
    return variance, common + np.sum(acted * left, axis=-1)


def inverse(matrices):
    """Inverses of positive definite matrices, and their log determinants.

    Large ones by Cholesky factors: twice as fast, and as exact where they are nearly singular.
    """
    size = matrices.shape[-1]
    if size <= _SMALL:
        return np.linalg.inv(matrices), np.linalg.slogdet(matrices)[1]
    found, log_determinant = np.empty(matrices.shape), np.empty(matrices.shape[:-2])
    for at in np.ndindex(log_determinant.shape):
        # Of the transposed, which is the same: LAPACK and numpy order entries differently.
        factor, failed = lapack.dpotrf(matrices[at].T, lower=1, clean=0)
        if failed:
            raise np.linalg.LinAlgError("covariance matrix is not positive definite")
        log_determinant[at] = 2 * np.log(np.diagonal(factor)).sum()
        found[at] = lapack.dpotri(factor, lower=1, overwrite_c=1)[0].T
    upper = np.triu(np.ones((size, size), dtype=bool))
    return np.where(upper, found, np.swapaxes(found, -1, -2)), log_determinant


def _left(W, total, precision):
    """``1 - total P``: what the observations leave of each latent value plus shared noise."""
    enough = W * np.diagonal(total, axis1=-2, axis2=-1) > _FAINT
    left = np.divide(precision, W[..., None], out=np.zeros_like(precision), where=enough[..., None])
    if not enough.all():
        np.copyto(left, np.eye(W.shape[-1]) - total @ precision, where=~enough[..., None])
    return left


def _product(matrices, others):
    """Products of matrices, where the others may be one and the same for all kinds."""
    if others.shape[-3] > 1:
        return matrices @ others
    *front, n_kinds, rows, size = matrices.shape
    return (matrices.reshape(*front, n_kinds * rows, size) @ others[..., 0, :, :]).reshape(
        matrices.shape
    )
