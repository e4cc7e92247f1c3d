"""The design of mixed models, as the products that they need and no others."""

from typing import NamedTuple

import numpy as np

_ENTRIES = 100_000  # that are worked on at a time


class Design(NamedTuple):
    """Which coefficients act on which latent value.

    A table of all columns would be mostly zeros where each model has coefficients of its
    own, and the same row again and again where features are those of the topic.

    own : ndarray of shape (n_blocks, B, n_own), columns that each slot has for itself
    shared : ndarray of shape (n_blocks, n_shared), columns that are the same in a block
    rest : ndarray of shape (n_blocks, B, n_rest), all others
    order : ndarray of int of shape (n_coefficients,), which columns these are: those
        of the first slot, of the second and so on, the shared ones, the rest
    is_identity : bool, whether each slot has one coefficient, and that is all
    """

    own: np.ndarray
    shared: np.ndarray
    rest: np.ndarray
    order: np.ndarray
    is_identity: bool

    def _parts(self, coefficients):
        """Coefficients (rows of a matrix) of the three parts."""
        n_own = self.own.shape[1] * self.own.shape[2]
        return np.split(coefficients, [n_own, n_own + self.shared.shape[1]])

    def _some_slots(self):
        """Slots to work on at a time: as many as stay in the cache with all others."""
        step = max(1, _ENTRIES // max(1, self.own.size))
        return [slice(at, at + step) for at in range(0, self.own.shape[1], step)]

    def times(self, coefficients):
        """The design times coefficients, of shape (..., n_blocks, B)."""
        if self.is_identity:
            shape = (*coefficients.shape[:-1], *self.own.shape[:2])
            return np.broadcast_to(coefficients[..., None, :], shape)
        return _each(self._times, coefficients, 1)

    def _times(self, coefficients):
        own, shared, rest = self._parts(coefficients)
        values = np.einsum("tbj,bj->tb", self.own, own.reshape(self.own.shape[1:]))
        return values + (self.shared @ shared)[:, None] + self.rest @ rest

    def collected(self, values):
        """The transposed design times values of shape (..., n_blocks, B)."""
        return values.sum(axis=-2) if self.is_identity else _each(self._collected, values, 2)

    def _collected(self, values):
        parts = [
            np.einsum("tbj,tb->bj", self.own, values).ravel(),
            self.shared.T @ values.sum(axis=1),
            _stacked(self.rest).T @ values.ravel(),
        ]
        return np.concatenate(parts)

    def information(self, precision, kinds):
        """``X' P X`` with the precisions of the kinds of blocks."""
        if self.is_identity:
            return precision.added(kinds)
        return _each(self._information, precision.dense(), 3)

    def _information(self, precision):
        own, shared, rest = self.own, self.shared, self.rest
        n_blocks, size, n_own = own.shape
        among = np.empty((size, n_own, size * n_own))
        for slots in self._some_slots():
            seen = precision[:, slots].swapaxes(0, 1)[..., None] * own
            seen = seen.reshape(len(seen), n_blocks, size * n_own)
            among[slots] = own[:, slots].transpose(1, 2, 0) @ seen
        sums = precision.sum(axis=2)
        to_shared = (own * sums[:, :, None]).reshape(n_blocks, -1).T @ shared
        whole = shared.T @ (sums.sum(axis=1)[:, None] * shared)
        known = precision @ rest
        to_rest = _stacked(own.transpose(1, 2, 0) @ known.transpose(1, 0, 2))
        between = shared.T @ known.sum(axis=1)
        return np.block(
            [
                [_stacked(among), to_shared, to_rest],
                [to_shared.T, whole, between],
                [to_rest.T, between.T, _stacked(rest).T @ _stacked(known)],
            ]
        )

    def covariance(self, matrix):
        """``X C X'`` within each block, of shape (..., n_blocks or 1, B, B)."""
        if self.is_identity:
            return matrix[..., None, :, :]
        return _each(self._covariance, matrix, 2)

    def _covariance(self, matrix):
        own, shared, rest = self.own, self.shared, self.rest
        n_blocks, size, n_own = own.shape
        flat = own.reshape(n_blocks, -1)
        own_rows, shared_rows, rest_rows = self._parts(matrix)
        found = np.empty((n_blocks, size, size))
        among = self._parts(own_rows.T)[0]
        among = among.T.reshape(size, n_own, size * n_own)
        for slots in self._some_slots():
            acted = own[:, slots].swapaxes(0, 1) @ among[slots] * flat
            acted = acted.reshape(*acted.shape[:2], size, n_own)
            found[:, slots] = acted.sum(axis=3).swapaxes(0, 1)
        to_own, to_shared, to_rest = self._parts(shared_rows.T)
        one_sided = _summed((shared @ to_own.T) * flat, own)
        one_sided += (rest @ (shared @ to_rest.T)[:, :, None])[:, :, 0]
        found += one_sided[:, :, None] + one_sided[:, None, :]
        found += np.sum((shared @ to_shared) * shared, axis=1)[:, None, None]
        if rest.shape[2]:
            to_own, _, to_rest = self._parts(rest_rows.T)
            acted = (_stacked(rest) @ to_own.T).reshape(n_blocks, size, size, n_own)
            across = np.einsum("tijk,tjk->tij", acted, own)
            found += across + np.swapaxes(across, 1, 2)
            found += (_stacked(rest) @ to_rest).reshape(rest.shape) @ np.swapaxes(rest, 1, 2)
        return found


def _each(function, values, n_axes):
    """Results for all in front of the last few axes."""
    if values.ndim == n_axes:
        return function(values)
    return np.stack([function(each) for each in values])


def _summed(values, own):
    return values.reshape(own.shape).sum(axis=2)


def _stacked(blocks):
    """All rows of all blocks: one product with them is faster than one per block."""
    return blocks.reshape(blocks.shape[0] * blocks.shape[1], blocks.shape[2])


def design_of(indicators, columns, filled):
    """The design of models' indicators and columns.

    Parameters
    ----------
    indicators : ndarray of shape (n_blocks, B, n_models)
    columns : ndarray of shape (n_blocks, B, n_columns)
        0 where a slot is empty.
    filled : ndarray of bool of shape (n_blocks, B)
        Which slots are not; what the design has for the others does not matter.

    Returns
    -------
    Design
    """
    table = np.concatenate([indicators, columns], axis=2)
    n_blocks, size = filled.shape
    used = np.any(table != 0, axis=0)
    single = used.sum(axis=0) == 1
    counts = np.bincount(used.argmax(axis=0)[single], minlength=size)
    if size == 1 or counts.min() < counts.max() or counts.max() == 0:
        single[:] = False
    own_at = np.flatnonzero(single)
    own_at = own_at[np.argsort(used.argmax(axis=0)[own_at], kind="stable")]
    own = np.stack([table[:, slot, at] for slot, at in enumerate(own_at.reshape(size, -1))], axis=1)
    first = table[np.arange(n_blocks), filled.argmax(axis=1)]
    alike = (table == first[:, None]) | ~filled[:, :, None]
    same = ~single & alike.all(axis=(0, 1))
    rest = ~single & ~same
    order = np.concatenate([own_at, np.flatnonzero(same), np.flatnonzero(rest)])
    alone = own.shape[2] == 1 and not same.any() and not rest.any() and bool(np.all(own == 1))
    return Design(own, first[:, same], table[:, :, rest], order, alone)
