"""The unknown means and proportions that `MonteCarloPPI` puts together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skbench._checks import require_columns
from skbench._types import Selector
from skbench._warnings import warn
from skbench.stats.ppi.posteriors import (
    k_proportion_draws,
    mean_draws,
    proportion_draws,
)


class _Parameter:
    """Selected rows of a table; one number each unless `cells` says otherwise."""

    def __init__(
        self,
        selector: Selector,
        rows: Literal["labeled", "unlabeled", "all"] = "labeled",
        given: Callable[[pd.DataFrame], ArrayLike] | None = None,
    ) -> None:
        self.selector = selector
        self.rows = rows
        self.given = given

    def cells(self, name: str, table: pd.DataFrame) -> np.ndarray:
        """Its value in every selected row, of shape (n_selected, 1)."""
        return _numbers(name, _selected(self, table))[:, None]


class Mean(_Parameter):
    """A population mean, with a normal or Student t posterior.

    Parameters
    ----------
    selector : str or callable
        A column of the table, or a function from the table to one number per row. The
        table has the columns of `X` and the human label as ``"y"``.
    rows : {"labeled", "unlabeled", "all"}, default="labeled"
        Which rows the table has.
    given : callable, default=None
        Function from the table to one bool per row: the rows to keep.

    Notes
    -----
    Normal above 30 rows, Student's t with ``n - 1`` degrees of freedom up to 30
    (`skbench.stats.posteriors.mean_draws`). With three rows (two degrees of
    freedom) its variance is infinite.

    Examples
    --------
    >>> rectifier = Mean(lambda t: t["y"] - t["judge"])
    """

    def posterior(self, name: str, table: pd.DataFrame) -> Any:
        """What draws and nodes need: the sample's mean, variance and size."""
        values = _numbers(name, _selected(self, table))
        if values.size < 2:
            raise ValueError(
                f"The mean {name!r} has {values.size} rows, and a spread takes two. Choose other "
                "rows, or label more."
            )
        if values.size <= 3:
            warn(
                f"The mean {name!r} has {values.size} rows: its posterior has no finite variance, "
                "and standard_error_ says nothing. Use the interval."
            )
        if np.ptp(values) == 0:
            warn(
                f"The mean {name!r} has the same value in all {values.size} rows: nothing tells "
                "how far other rows would be, and intervals miss its uncertainty. Take Proportion "
                "for shares of 0 and 1, or label more."
            )
        return values.mean(), values.var(ddof=1), values.size

    @staticmethod
    def draws(posterior: Any, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Draws of shape (n_draws,)."""
        return mean_draws(*posterior, n_draws, rng)


class Proportion(_Parameter):
    """A probability, with the beta posterior of Jeffreys' prior.

    Parameters
    ----------
    selector : str or callable
        A column of the table, or a function from the table to one 0 or 1 (False or
        True) per row. The table has the columns of `X` and the human label as ``"y"``.
    rows : {"labeled", "unlabeled", "all"}, default="labeled"
        Which rows the table has.
    given : callable, default=None
        Function from the table to one bool per row: the rows to keep, for a
        conditional probability.

    Examples
    --------
    >>> right_when_yes = Proportion("y", given=lambda t: t["judge"] == "yes")
    """

    def posterior(self, name: str, table: pd.DataFrame) -> Any:
        """Successes and trials."""
        values = _numbers(name, _selected(self, table))
        if not np.isin(values, (0, 1)).all():
            strange = values[~np.isin(values, (0, 1))][0]
            raise ValueError(
                f"The proportion {name!r} needs 0 and 1 (or False and True), but a row has "
                f"{strange:g}. Use Mean, or a selector that compares."
            )
        _refuse_no_rows(f"The proportion {name!r}", values.size)
        return values.sum(), values.size

    @staticmethod
    def draws(posterior: Any, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Draws of shape (n_draws,)."""
        return proportion_draws(*posterior, n_draws, rng)


class KProportion(_Parameter):
    """Probabilities of K values, with a Dirichlet posterior; they sum to 1.

    Parameters
    ----------
    selector : str or callable
        A column of the table, or a function from the table to one value per row. The
        table has the columns of `X` and the human label as ``"y"``.
    values : sequence
        The values, in the order that the statistic gets their probabilities.
    rows : {"labeled", "unlabeled", "all"}, default="labeled"
        Which rows the table has.
    given : callable, default=None
        Function from the table to one bool per row: the rows to keep.

    Notes
    -----
    The statistic gets an array of shape (n_draws, K); the prior is ``1/K`` for each.

    Examples
    --------
    >>> verdicts = KProportion("judge", ["yes", "no", "unsure"], rows="unlabeled")
    """

    def __init__(
        self,
        selector: Selector,
        values: Sequence[Any],
        rows: Literal["labeled", "unlabeled", "all"] = "labeled",
        given: Callable[[pd.DataFrame], ArrayLike] | None = None,
    ) -> None:
        super().__init__(selector, rows, given)
        self.values = values

    def posterior(self, name: str, table: pd.DataFrame) -> Any:
        """How often each value occurs."""
        if len(set(self.values)) < len(self.values):
            raise ValueError(
                f"The proportions {name!r} name a value twice: {list(self.values)}. Rows would "
                "count twice; name each value once."
            )
        column = pd.Series(np.asarray(_selected(self, table), dtype=object))
        _refuse_no_rows(f"The proportions {name!r}", len(column))
        strange = column[~column.isin(list(self.values))]
        if len(strange):
            raise ValueError(
                f"The proportions {name!r} are those of {list(self.values)}, but a row has "
                f"{strange.iloc[0]!r}. Add it to values, or leave those rows out by given."
            )
        return np.array([int((column == value).sum()) for value in self.values])

    def cells(self, name: str, table: pd.DataFrame) -> np.ndarray:
        """Which value every selected row has, of shape (n_selected, n_values)."""
        column = np.asarray(_selected(self, table), dtype=object)
        return np.stack([column == value for value in self.values], axis=1).astype(float)

    @staticmethod
    def draws(posterior: Any, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Draws of shape (n_draws, n_values)."""
        return k_proportion_draws(posterior, n_draws, rng)


def _refuse_no_rows(what, n_rows):
    if n_rows == 0:
        raise ValueError(
            f"{what} of no rows: rows and given leave none, and the prior alone would be the "
            "answer. Choose other rows, or label more."
        )


def kept(parameter, table):
    """Which rows the parameter is learned from, as bools."""
    if parameter.given is None:
        return np.ones(len(table), dtype=bool)
    return np.asarray(parameter.given(table), dtype=bool)


def _selected(parameter, table):
    """The selected values of the rows that are kept."""
    if parameter.given is not None:
        table = table[kept(parameter, table)]
    if callable(parameter.selector):
        return parameter.selector(table)
    require_columns(table.columns, [parameter.selector], "The table")
    return table[parameter.selector]


def _numbers(name, values):
    try:
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"The parameter {name!r} must select numbers. Use KProportion for names, or a "
            "selector that compares."
        ) from None
    bad = ~np.isfinite(numbers)
    if bad.any():
        raise ValueError(
            f"The parameter {name!r} selects {int(bad.sum())} missing or infinite values of "
            f"{numbers.size}. Choose its rows: labels are missing from the unlabeled ones."
        )
    return numbers
