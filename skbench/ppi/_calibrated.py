"""What an estimate says of single rows: calibrated scores, whose mean is the estimate."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skbench.stats.intervals.moments import divided
from skbench.stats.ppi.calibration import shares_with_mean


class CalibratedScores(NamedTuple):
    """Scores of rows, straight lines in the autorater's; one line per cell."""

    cell_of: Callable  # cell_of(autorater, codes) numbers cells from 0, and pickles
    slope: np.ndarray  # (n_cells, n_autoraters)
    level: np.ndarray  # nan where nothing is known of a cell

    def __call__(self, autorater, codes):
        """Scores of rows with these autorater scores in the groups `codes`."""
        cells = self.cell_of(autorater, codes)
        return self.level[cells] + np.einsum("ij,ij->i", self.slope[cells], autorater)


def group_cells(autorater, codes):
    """One cell per group."""
    return codes


def lines_with_mean(data, cell_of, slope, level, mean):
    """Lines, each group's moved by one constant so that its fitted rows have the given mean."""
    scores = CalibratedScores(cell_of, slope, level)(data.autorater, data.codes)
    n_rows = np.bincount(data.codes, minlength=data.n_groups)
    center = divided(np.bincount(data.codes, scores, data.n_groups), n_rows)
    # Once more around it: of a million rows the first sum is off by 1e-11.
    rest = divided(np.bincount(data.codes, scores - center[data.codes], data.n_groups), n_rows)
    shift = mean - center - rest
    return CalibratedScores(cell_of, slope, level + np.repeat(shift, len(level) // len(mean)))


def shares_by_verdict(cell_of, shares, n_rows, mean, bounds, autorater, codes):
    """Mean label given each verdict, moved on the logit scale so that fitted rows have `mean`."""
    low, high = bounds
    moved = shares_with_mean((shares - low) / (high - low), n_rows, (mean - low) / (high - low))
    return (low + (high - low) * moved).ravel()[cell_of(autorater, codes)]
