"""What an estimate says of single rows: calibrated scores, whose mean is the estimate."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skbench.stats.intervals.moments import divided
from skbench.stats.ppi.calibration import shares_with_mean


class CalibratedScores(NamedTuple):
    """Scores of rows, straight lines in the autorater's; one line per cell.

    Attributes
    ----------
    cell_of : callable
        ``cell_of(autorater, codes)`` returns the cell of each row, numbered from 0; a
        function that pickles.
    slope : ndarray of shape (n_cells, n_autoraters) or None
        Weight of each autorater; None where the cell says all.
    level : ndarray of shape (n_cells,)
        What is added; nan where no row can be told anything.
    """

    cell_of: Callable
    slope: np.ndarray | None
    level: np.ndarray

    def __call__(self, autorater, codes):
        """Scores of rows with these autorater scores in the groups `codes`."""
        cells = self.cell_of(autorater, codes)
        if self.slope is None:
            return self.level[cells]
        return self.level[cells] + np.einsum("ij,ij->i", self.slope[cells], autorater)


def group_cells(autorater, codes):
    """One cell per group."""
    return codes


def lines_with_mean(data, cell_of, slope, level, mean):
    """Lines, each group's moved by one constant so that its rows have the given mean.

    Parameters
    ----------
    data : PPIData
        The fitted rows.
    cell_of, slope, level
        As in `CalibratedScores`; the cells of a group follow each other.
    mean : ndarray of shape (n_groups,)
        The estimates.

    Returns
    -------
    CalibratedScores
    """
    scores = CalibratedScores(cell_of, slope, level)(data.autorater, data.codes)
    n_rows = np.bincount(data.codes, minlength=data.n_groups)
    center = divided(np.bincount(data.codes, scores, data.n_groups), n_rows)
    # Once more around it: of a million rows the first sum is off by 1e-11.
    rest = divided(np.bincount(data.codes, scores - center[data.codes], data.n_groups), n_rows)
    shift = mean - center - rest
    return CalibratedScores(cell_of, slope, level + np.repeat(shift, len(level) // len(mean)))


def shares_by_verdict(cell_of, shares, n_rows, mean, bounds=(0.0, 1.0)):
    """Mean label given each verdict, each group's moved so that its rows have the given mean.

    Parameters
    ----------
    cell_of : callable
        As in `CalibratedScores`; the verdicts of a group follow each other.
    shares : ndarray of shape (n_groups, n_values)
        Mean label given each verdict, inside the range of the labels.
    n_rows : ndarray of shape (n_groups, n_values)
        Fitted rows with each.
    mean : ndarray of shape (n_groups,)
        The estimates.
    bounds : tuple of two floats
        Range of the labels.

    Returns
    -------
    CalibratedScores
    """
    low, high = bounds
    moved = shares_with_mean((shares - low) / (high - low), n_rows, (mean - low) / (high - low))
    return CalibratedScores(cell_of, None, (low + (high - low) * moved).ravel())
