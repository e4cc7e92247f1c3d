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
    is_repeated : bool, whether own columns, few of them, are the same in all slots of a block
    """

    own: np.ndarray
    shared: np.ndarray
    rest: np.ndarray
    order: np.ndarray
    is_identity: bool
    is_repeated: bool

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
        own, shared, rest = (part.T for part in self._parts(coefficients.T))
        own = own.reshape(*own.shape[:-1], *self.own.shape[1:])
        values = np.einsum("tbj,...bj->...tb", self.own, own)
        values += (shared @ self.shared.T)[..., None]
        return values + (rest @ _stacked(self.rest).T).reshape(values.shape)

    def collected(self, values):
        """The transposed design times values of shape (..., n_blocks, B)."""
        if self.is_identity:
            return values.sum(axis=-2)
        front = values.shape[:-2]
        parts = [
            np.einsum("tbj,...tb->...bj", self.own, values).reshape(*front, -1),
            values.sum(axis=-1) @ self.shared,
            values.reshape(*front, -1) @ _stacked(self.rest),
        ]
        return np.concatenate(parts, axis=-1)

    def information(self, precision, kinds):
        """``X' P X`` with the precisions of the kinds of blocks."""
        return precision.added(kinds) if self.is_identity else precision.information(self)

    def information_of_few(self, weight, columns):
        """``X' P X`` where ``P`` is ``diag(weight) - columns columns'`` in each block."""
        size = self._gathered_size(columns)
        return _few_at_a_time(self._information_of_few, size, 2, weight, columns)

    def _information_of_few(self, weight, columns):
        drawn = self._gathered(columns)
        drawn = drawn.reshape(*drawn.shape[:-3], -1, drawn.shape[-1])
        return self._weighted(weight) - np.swapaxes(drawn, -1, -2) @ drawn

    def _gathered_size(self, tables):
        return self.own.shape[0] * tables.shape[-1] * len(self.order)

    def _gathered(self, tables):
        """``X' A`` of tables of shape (..., n_blocks, B, r), transposed: (..., n_blocks, r, K)."""
        turned = np.swapaxes(tables, -1, -2)
        own = turned[..., None] * self.own[:, None]
        parts = [
            own.reshape(*turned.shape[:-1], -1),
            turned.sum(axis=-1)[..., None] * self.shared[:, None],
            turned @ self.rest,
        ]
        return np.concatenate(parts, axis=-1)

    def _weighted(self, weight):
        """``X' diag(weight) X``."""
        (_, size, n_own), front = self.own.shape, weight.shape[:-2]
        turned, slot = self.own.transpose(1, 2, 0), np.arange(size)
        own, rest = weight[..., None] * self.own, weight[..., None] * self.rest
        among = np.zeros((*front, size, n_own, size, n_own))
        of_slot = turned @ np.swapaxes(own, -2, -3)
        among[..., slot, :, slot, :] = np.moveaxis(of_slot, -3, 0)
        return self._assembled(among, own, weight.sum(axis=-1), rest)

    def _assembled(self, among, own, sums, rest):
        """``X' P X`` from that of the own columns, and ``P`` times all columns.

        own : ndarray of shape (..., n_blocks, B, n_own), columns of each slot, times sums of P
        sums : ndarray of shape (..., n_blocks), of all of P
        rest : ndarray of shape (..., n_blocks, B, n_rest)
        """
        (n_blocks, size, n_own), front = self.own.shape, sums.shape[:-1]
        shared, n_all, n_rest = self.shared, size * n_own, self.rest.shape[2]
        own_at, shared_at = slice(n_all), slice(n_all, n_all + shared.shape[1])
        rest_at = slice(shared_at.stop, None)
        to_rest = self.own.transpose(1, 2, 0) @ np.swapaxes(rest, -2, -3)
        to_shared = np.swapaxes(own.reshape(*front, n_blocks, n_all), -1, -2) @ shared
        found = np.empty((*front, len(self.order), len(self.order)))
        found[..., own_at, own_at] = among.reshape(*front, n_all, n_all)
        found[..., own_at, shared_at] = to_shared
        found[..., own_at, rest_at] = to_rest.reshape(*front, n_all, n_rest)
        found[..., shared_at, shared_at] = shared.T @ (sums[..., None] * shared)
        found[..., shared_at, rest_at] = shared.T @ rest.sum(axis=-2)
        stacked = rest.reshape(*front, n_blocks * size, n_rest)
        found[..., rest_at, rest_at] = _stacked(self.rest).T @ stacked
        for above, below in ((own_at, shared_at), (own_at, rest_at), (shared_at, rest_at)):
            found[..., below, above] = np.swapaxes(found[..., above, below], -1, -2)
        return found

    def information_of_all(self, matrices):
        """``X' P X`` of matrices of shape (..., n_blocks, B, B)."""
        return _few_at_a_time(self._information, self._all_pairs(), 3, matrices)

    def _all_pairs(self):
        n_blocks, size, n_own = self.own.shape
        return n_blocks * size**2 * max(1, n_own)

    def _information(self, precision):
        (n_blocks, size, n_own), front = self.own.shape, precision.shape[:-3]
        if self.is_repeated:
            pairs = self._pairs().T @ precision.reshape(*front, n_blocks, size**2)
            pairs = pairs.reshape(*front, n_own, n_own, size, size)
            among = np.moveaxis(pairs, (-2, -1), (-4, -2))
        else:
            among = self._among(precision)
        sums = precision.sum(axis=-1)
        own = sums[..., None] * self.own
        return self._assembled(among, own, sums.sum(axis=-1), precision @ self.rest)

    def _pairs(self):
        """Products of two of the columns that all slots have, (n_blocks, n_own^2)."""
        own = self.own[:, 0]
        return (own[:, :, None] * own[:, None, :]).reshape(len(own), -1)

    def _among(self, precision):
        """``X' P X`` of the own columns."""
        (_, size, n_own), front = self.own.shape, precision.shape[:-3]
        among = np.empty((*front, size, n_own, size * n_own))
        for slots in self._some_slots():
            seen = np.swapaxes(precision[..., slots, :], -2, -3)[..., None] * self.own
            seen = seen.reshape(*seen.shape[:-2], size * n_own)
            among[..., slots, :, :] = self.own[:, slots].transpose(1, 2, 0) @ seen
        return among

    def covariance(self, matrix):
        """``X C X'`` within each block."""
        return Known(self, matrix)

    def _covariance(self, matrix):
        (n_blocks, size, n_own), front = self.own.shape, matrix.shape[:-2]
        shared, rest, flat = self.shared, self.rest, self.own.reshape(n_blocks, -1)
        n_all, n_shared = size * n_own, shared.shape[1]
        among = matrix[..., :n_all, :n_all]
        if self.is_repeated:
            pairs = among.reshape(*front, size, n_own, size, n_own)
            pairs = np.moveaxis(pairs, (-4, -2), (-2, -1))
            found = self._pairs() @ pairs.reshape(*front, n_own**2, size**2)
            found = found.reshape(*front, n_blocks, size, size)
        else:
            found = self._own_covariance(among.reshape(*front, size, n_own, n_all))
        common = shared @ matrix[..., n_all : n_all + n_shared, :]
        own, same, other = np.split(common, [n_all, n_all + n_shared], axis=-1)
        one_sided = (own * flat).reshape(*front, n_blocks, size, n_own).sum(axis=-1)
        one_sided += (rest @ other[..., None])[..., 0]
        found += one_sided[..., :, None] + one_sided[..., None, :]
        found += np.sum(same * shared, axis=-1)[..., None, None]
        if rest.shape[2]:
            rows = matrix[..., n_all + n_shared :, :]
            acted = (_stacked(rest) @ rows[..., :n_all]).reshape(*found.shape, n_own)
            across = np.einsum("...tijk,tjk->...tij", acted, self.own)
            found += across + np.swapaxes(across, -1, -2)
            acted = (_stacked(rest) @ rows[..., n_all + n_shared :]).reshape(*front, *rest.shape)
            found += acted @ np.swapaxes(rest, 1, 2)
        return found

    def _own_covariance(self, among):
        """``X C X'`` of the own columns."""
        (n_blocks, size, n_own), front = self.own.shape, among.shape[:-3]
        flat = self.own.reshape(n_blocks, -1)
        found = np.empty((*front, n_blocks, size, size))
        for slots in self._some_slots():
            acted = self.own[:, slots].swapaxes(0, 1) @ among[..., slots, :, :] * flat
            acted = acted.reshape(*acted.shape[:-1], size, n_own)
            found[..., slots, :] = np.swapaxes(acted.sum(axis=-1), -2, -3)
        return found

    def _acted(self, matrix, tables):
        """``X C X'`` times tables of shape (..., n_blocks, B, r)."""
        rows = self._gathered(tables)
        rows = (rows.reshape(*rows.shape[:-3], -1, rows.shape[-1]) @ matrix).reshape(rows.shape)
        n_own = self.own.shape[1] * self.own.shape[2]
        own, shared, rest = np.split(rows, [n_own, n_own + self.shared.shape[1]], axis=-1)
        own = own.reshape(*own.shape[:-1], *self.own.shape[1:])
        values = np.sum(own * self.own[:, None], axis=-1)
        values += (shared @ self.shared[..., None]) + rest @ np.swapaxes(self.rest, -1, -2)
        return np.swapaxes(values, -1, -2)

    def _variances(self, matrix):
        """The diagonal of ``X C X'``, of shape (..., n_blocks, B)."""
        (_, size, n_own), front = self.own.shape, matrix.shape[:-2]
        n_all, n_shared, slot = size * n_own, self.shared.shape[1], np.arange(size)
        from_own = matrix[..., :n_all, :].reshape(*front, size, n_own, matrix.shape[-1])
        among = from_own[..., :n_all].reshape(*front, size, n_own, size, n_own)
        among = np.moveaxis(among[..., slot, :, slot, :], 0, -3)
        common = matrix[..., n_all:, n_all:]
        rest, turned = self.rest.swapaxes(0, 1), self.own.swapaxes(0, 1)
        to_shared = from_own[..., n_all : n_all + n_shared] @ self.shared.T
        acted = turned @ among + 2 * np.swapaxes(to_shared, -1, -2)
        acted += 2 * rest @ np.swapaxes(from_own[..., n_all + n_shared :], -1, -2)
        found = np.swapaxes(np.sum(acted * turned, axis=-1), -1, -2)
        acted = self.shared @ common[..., :n_shared, :n_shared]
        found += np.sum(acted * self.shared, axis=-1)[..., None]
        if rest.shape[2]:
            acted = _stacked(self.rest) @ common[..., n_shared:, n_shared:]
            acted = acted.reshape(*front, *self.rest.shape)
            acted += 2 * (self.shared @ common[..., :n_shared, n_shared:])[..., None, :]
            found += np.sum(acted * self.rest, axis=-1)
        return found


class Known(NamedTuple):
    """Covariance within each block of what coefficients predict there, ``X C X'``.

    design : Design
    matrix : ndarray of shape (..., n_coefficients, n_coefficients)
    """

    design: Design
    matrix: np.ndarray

    def dense(self):
        """Of shape (..., n_blocks or 1, B, B)."""
        if self.design.is_identity:
            return self.matrix[..., None, :, :]
        pairs = self.design._all_pairs()
        return _few_at_a_time(self.design._covariance, pairs, 2, self.matrix)

    def times(self, tables):
        """Times tables of shape (..., n_blocks, B, r)."""
        if self.design.is_identity:
            return _product(self.matrix, tables)
        size = self.design._gathered_size(tables)
        return _few_at_a_time(self.design._acted, size, 2, self.matrix, tables)

    def diagonal(self):
        """Of shape (..., n_blocks or 1, B)."""
        if self.design.is_identity:
            return np.diagonal(self.matrix, axis1=-2, axis2=-1)[..., None, :]
        size = self.design.own.size + self.design.rest.size
        return _few_at_a_time(self.design._variances, size, 2, self.matrix)


def _product(matrix, tables):
    """One matrix times the tables of all blocks."""
    *front, n_blocks, size, rank = tables.shape
    rows = np.moveaxis(tables, -3, -2).reshape(*front, size, n_blocks * rank)
    return np.moveaxis((matrix @ rows).reshape(*front, size, n_blocks, rank), -2, -3)


def _few_at_a_time(function, entries, n_axes, *arrays):
    """Results for all in front of axes, a few after the other where one has many entries."""
    step = max(1, _ENTRIES // max(1, entries))
    if arrays[0].ndim == n_axes or len(arrays[0]) <= step:
        return function(*arrays)
    starts = range(0, len(arrays[0]), step)
    return np.concatenate([function(*(x[at : at + step] for x in arrays)) for at in starts])


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
    of_first = own[np.arange(n_blocks), filled.argmax(axis=1)][:, None]
    repeated = own.shape[2] <= size and np.all((own == of_first) | ~filled[:, :, None])
    own = np.repeat(of_first, size, axis=1) if repeated else own
    return Design(own, first[:, same], table[:, :, rest], order, alone, bool(repeated))
