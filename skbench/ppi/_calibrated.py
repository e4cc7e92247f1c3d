"""Calibrated scores of single rows, whose mean equals the estimate."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skbench.stats.intervals.moments import divided
from skbench.stats.ppi.calibration import shares_with_mean


class CalibratedScores(NamedTuple):
    """Calibrated scores as linear functions of the judge's scores, one function per cell."""

    cell_of: Callable  # cell_of(autorater, codes) -> numbers of cells from 0; picklable
    slope: np.ndarray  # (n_cells, n_autoraters)
    level: np.ndarray  # intercepts; nan in unknown cells

    def __call__(self, autorater, codes):
        cells = self.cell_of(autorater, codes)
        return self.level[cells] + np.einsum("ij,ij->i", self.slope[cells], autorater)


def group_cells(autorater, codes):
    return codes


def lines_with_mean(data, cell_of, slope, level, mean):
    """Shift the lines of each group by one constant so that its fitted rows have the given mean."""
    scores = CalibratedScores(cell_of, slope, level)(data.autorater, data.codes)
    n_rows = np.bincount(data.codes, minlength=data.n_groups)
    center = divided(np.bincount(data.codes, scores, data.n_groups), n_rows)
    # A second pass, because the first sum over a million rows has an error of 1e-11.
    rest = divided(np.bincount(data.codes, scores - center[data.codes], data.n_groups), n_rows)
    shift = mean - center - rest
    return CalibratedScores(cell_of, slope, level + np.repeat(shift, len(level) // len(mean)))


def shares_by_verdict(cell_of, shares, n_rows, mean, bounds, autorater, codes):
    """Mean label given each verdict, shifted on the logit scale so that fitted rows have `mean`."""
    low, high = bounds
    moved = shares_with_mean((shares - low) / (high - low), n_rows, (mean - low) / (high - low))
    return (low + (high - low) * moved).ravel()[cell_of(autorater, codes)]
