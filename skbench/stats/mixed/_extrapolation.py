"""What a fit repeats until nothing moves, and how it gets there in fewer steps."""

from typing import NamedTuple

import numpy as np

from skbench.stats.mixed._structure import Noise

_REMEMBERED = 5  # steps that are combined
_NEAR = 0.3  # length of a step, as a share, from which on changes are about linear
_PATIENCE = 25  # steps after which they are shortened instead: they swing
_FAR = 1.0  # between log variances
_SHORT = 0.2  # of a step
_RIDGE = 1e-10  # relative, of the squares of changes that are all but the same


class State(NamedTuple):
    """Variances and pseudo-observations of a fit, as in `skbench.stats.mixed._fit.BlockFit`."""

    log_variances: np.ndarray
    W: np.ndarray
    b: np.ndarray
    noise: Noise | None

    def _parts(self):
        scale = () if self.noise is None else (self.noise.scale,)
        return self.log_variances, self.W, self.b, *scale

    def units(self):
        """Of the entries of `vector`: one of a log variance weighs as much as one of all W."""
        scale = () if self.noise is None else (self.noise.scale,)
        variance = np.full(len(self.log_variances), self.W.size**-0.5)
        units = variance, self.W, np.sqrt(self.W), *scale
        return np.concatenate([np.where(unit > 0, unit, 1).ravel() for unit in units])

    def vector(self):
        """All numbers in a row."""
        return np.concatenate([part.ravel() for part in self._parts()])

    def with_vector(self, vector):
        """A state of these numbers; itself where they are negative, or far from it."""
        parts = self._parts()
        found = np.split(vector, np.cumsum([part.size for part in parts])[:-1])
        variances, W, b, *scale = (
            x.reshape(part.shape) for x, part in zip(found, parts, strict=True)
        )
        far = np.any(np.abs(variances - self.log_variances) > _FAR)
        if far or any(np.any(part < 0) for part in (W, *scale)):
            return self
        noise = self.noise._replace(scale=scale[0]) if scale else None
        return State(variances, W, b, noise)


class Extrapolation:
    """Steps ``x -> g(x)`` that go on to where ``g(x) - x`` vanishes, if it is linear.

    Anderson's acceleration [1]_: of the last few steps, the combination whose residual is
    least. Counts with shared noise need a third fewer steps with it, and stop nearer to the
    fixed point, which is the same.

    References
    ----------
    .. [1] Walker and Ni (2011). Anderson acceleration for fixed-point iterations. SIAM
       Journal on Numerical Analysis 49.
    """

    def __init__(self, units):
        self._units = units
        self._steps, self._residuals = [], []
        self._patience = _PATIENCE

    def __call__(self, before, after):
        """The state to go on with, after one that a step has led to from another."""
        self._patience -= 1
        new = after.vector()
        if self._patience < 0:
            old = before.vector()
            return after.with_vector(old + _SHORT * (new - old))
        residual = (new - before.vector()) / self._units
        if np.sqrt(np.mean(residual**2)) > _NEAR:
            self._steps, self._residuals = [], []
        self._steps = [*self._steps, new][-_REMEMBERED:]
        self._residuals = [*self._residuals, residual][-_REMEMBERED:]
        if len(self._steps) == 1:
            return after
        changes = np.diff(self._residuals, axis=0)
        square = changes @ changes.T
        square += _RIDGE * np.trace(square) * np.eye(len(square))
        weights = np.linalg.solve(square, changes @ residual)
        return after.with_vector(new - weights @ np.diff(self._steps, axis=0))
