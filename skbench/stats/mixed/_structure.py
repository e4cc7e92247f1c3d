"""What the blocks of a mixed model consist of, and which of them are the same."""

from typing import NamedTuple

import numpy as np

from skbench.stats.mixed._design import Design

_MOST_KINDS = 0.5  # of the blocks, for which keeping count is worth it
_FEW = 0.15  # of the directions, for which keeping them apart is worth it
_NOTHING = 1e-13  # eigenvalue, relative to the largest, that is rounding


class Noise(NamedTuple):
    """Covariance ``D S D`` of the noise that observations of a block share, `D` diagonal.

    scale : ndarray of shape (n_blocks, B), of `D`
    shared : ndarray of shape (n_blocks or 1, B, B), `S`
    factor : ndarray of shape (n_blocks or 1, B, r), ``S = F F'``, or None unless `r` is small
    """

    scale: np.ndarray
    shared: np.ndarray
    factor: np.ndarray | None = None

    def covariance(self):
        """Of shape (n_blocks, B, B)."""
        return self.scale[..., :, None] * self.shared * self.scale[..., None, :]

    def times(self, values):
        """Covariance times values of shape (n_blocks, B)."""
        return self.scale * apply(self.shared, self.scale * values)

    def of(self, kinds):
        """The noise of kinds of blocks."""
        factor = None if self.factor is None else kinds.of(self.factor, -3)
        return Noise(kinds.of(self.scale), kinds.of(self.shared, -3), factor)


def factor_of(shared):
    """Columns `F` with ``F F'`` the matrices, None unless they are few."""
    values, vectors = np.linalg.eigh(shared)
    size = shared.shape[-1]
    rank = int(np.sum(values > _NOTHING * values[:, -1:], axis=1).max(initial=0))
    if rank > size * _FEW:
        return None
    kept = slice(size - rank, None)
    return vectors[:, :, kept] * np.sqrt(np.maximum(values[:, None, kept], 0))


class Kinds(NamedTuple):
    """Blocks that are the same in all but what was seen in them.

    first : ndarray of int of shape (n_kinds,), one block of each kind
    member : ndarray of int of shape (n_blocks,), the kind of each block

    Without them every block is of a kind of its own.
    """

    first: np.ndarray | slice = slice(None)
    member: np.ndarray | slice = slice(None)

    def of(self, values, axis=-2):
        """Values of blocks, on this axis, as those of kinds; what all share stays as it is."""
        if values.shape[axis] == 1:
            return values
        return values[(..., self.first, *[slice(None)] * (-axis - 1))]

    def counted(self, values, axis):
        """Values of kinds, that stand on this axis, times the number of their blocks."""
        if isinstance(self.member, slice):
            return values
        return values * np.bincount(self.member).reshape(-1, *[1] * (-axis - 1))

    def times(self, matrices, values):
        """Matrices of kinds times values of blocks, of shape (n_blocks, B)."""
        if isinstance(self.member, slice):
            return apply(matrices, values)
        product = np.empty_like(values)
        for kind in range(matrices.shape[-3]):
            at = self.member == kind
            product[..., at, :] = apply(matrices[..., kind : kind + 1, :, :], values[..., at, :])
        return product


def kinds_of(W, noise, structure):
    """Which blocks are the same in all but what was seen in them.

    Parameters
    ----------
    W, noise, structure
        As in `posterior`.

    Returns
    -------
    Kinds
        Every block by itself where few are the same, or where their designs differ.
    """
    if not structure.design.is_identity:
        return Kinds()
    shared = [] if noise is None else [noise.scale, noise.shared]
    parts = [W, *shared, structure.own, np.asarray(structure.known)]
    parts.append(np.zeros(1) if structure.topic is None else structure.topic)
    parts = [part.reshape(len(part), -1) for part in parts if part.ndim]
    table = np.concatenate([part for part in parts if len(part) == len(W)], axis=1)
    if np.all(table == table[0]):
        return Kinds(np.zeros(1, dtype=int), np.zeros(len(W), dtype=int))
    _, first, member = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return Kinds(first, member.ravel()) if len(first) <= _MOST_KINDS * len(W) else Kinds()


class Structure(NamedTuple):
    """Which latent values there are and how they hang together.

    topic : ndarray of shape (n_blocks or 1,), factors of the first variance in each block:
        the effect that its values share; None where there is none
    own : ndarray of shape (n_blocks or 1, B), factors of the next variance: interactions
    design : Design
    prior_precision : float, of coefficients whose variance is not learned
    batch : ndarray of int of shape (n_coefficients,), which of the further variances a
        coefficient has; -1 where it is not learned
    known : ndarray of shape (n_blocks, B), variance of interactions besides; 0.0 for nothing
    kinds : Kinds
    """

    topic: np.ndarray | None
    own: np.ndarray
    design: Design
    prior_precision: float
    batch: np.ndarray
    known: np.ndarray | float = 0.0
    kinds: Kinds = Kinds()

    @property
    def n_effects(self):
        """Variances that are not of coefficients."""
        return 1 if self.topic is None else 2

    def own_variance(self, variances):
        """Prior variance of the interaction of each latent value, of shape (n_blocks or 1, B)."""
        return variances[..., self.n_effects - 1, None, None] * self.own + self.known

    def topic_variance(self, variances):
        """Prior variance of the effect of each block, of shape (n_blocks or 1,)."""
        return np.zeros(1) if self.topic is None else variances[..., :1] * self.topic

    def precisions(self, variances):
        """Prior precisions of the coefficients."""
        ones = np.ones_like(variances[..., :1])
        learned = np.concatenate([variances[..., self.n_effects :], ones], axis=-1)[..., self.batch]
        return np.where(self.batch < 0, self.prior_precision, 1 / learned)


def apply(matrices, vectors):
    """Matrices times vectors of blocks, where one matrix may be the same for all."""
    if matrices.shape[-3] == 1:
        return vectors @ np.swapaxes(matrices[..., 0, :, :], -1, -2)
    return (matrices @ vectors[..., None])[..., 0]
