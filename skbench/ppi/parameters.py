"""The unknown means and proportions that `MonteCarloPPI` combines."""

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
    """A quantity that is estimated from selected rows of a table."""

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
        """Values of the selected rows, of shape (n_selected, 1)."""
        return _numbers(name, _selected(self, table))[:, None]


class Mean(_Parameter):
    """A population mean, with a normal or Student t posterior.

    Parameters
    ----------
    selector : str or callable
        A column of the table, or a function of the table that returns one number per row. The
        table has the columns of `X` and the human label as ``"y"``.
    rows : {"labeled", "unlabeled", "all"}, default="labeled"
        The rows of the table.
    given : callable, default=None
        Function of the table that returns one bool per row. Only rows with True count.

    Notes
    -----
    The posterior is normal with more than 30 rows and Student's t with ``n - 1`` degrees of freedom
    otherwise (`skbench.stats.posteriors.mean_draws`). With three rows (two degrees of freedom) its
    variance is infinite.

    Examples
    --------
    >>> rectifier = Mean(lambda t: t["y"] - t["judge"])
    """

    def posterior(self, name: str, table: pd.DataFrame) -> Any:
        """Mean, variance and size of the sample."""
        values = _numbers(name, _selected(self, table))
        if values.size < 2:
            raise ValueError(
                f"The mean {name!r} has {values.size} rows, but a variance needs two. Select other "
                "rows or label more rows."
            )
        if values.size <= 3:
            warn(
                f"The mean {name!r} has {values.size} rows, so its posterior variance is infinite. "
                "Ignore standard_error_ and use the interval."
            )
        if np.ptp(values) == 0:
            warn(
                f"The mean {name!r} has the same value in all {values.size} rows, so intervals "
                "omit its uncertainty. Use Proportion for values 0 and 1, or label more rows."
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
        A column of the table, or a function of the table that returns 0 or 1 (False or True) per
        row. The table has the columns of `X` and the human label as ``"y"``.
    rows : {"labeled", "unlabeled", "all"}, default="labeled"
        The rows of the table.
    given : callable, default=None
        Function of the table that returns one bool per row. Only rows with True count, which
        gives a conditional probability.

    Examples
    --------
    >>> right_when_yes = Proportion("y", given=lambda t: t["judge"] == "yes")
    """

    def posterior(self, name: str, table: pd.DataFrame) -> Any:
        """Numbers of successes and of trials."""
        values = _numbers(name, _selected(self, table))
        if not np.isin(values, (0, 1)).all():
            other = values[~np.isin(values, (0, 1))][0]
            raise ValueError(
                f"The proportion {name!r} needs 0 and 1 (or False and True), but a row has "
                f"{other:g}. Use Mean, or a selector with a comparison."
            )
        _refuse_no_rows(f"The proportion {name!r}", values.size)
        return values.sum(), values.size

    @staticmethod
    def draws(posterior: Any, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Draws of shape (n_draws,)."""
        return proportion_draws(*posterior, n_draws, rng)


class KProportion(_Parameter):
    """Probabilities of K values that sum to 1, with a Dirichlet posterior.

    Parameters
    ----------
    selector : str or callable
        A column of the table, or a function of the table that returns one value per row. The
        table has the columns of `X` and the human label as ``"y"``.
    values : sequence
        All possible values. They define the order of the probabilities.
    rows : {"labeled", "unlabeled", "all"}, default="labeled"
        The rows of the table.
    given : callable, default=None
        Function of the table that returns one bool per row. Only rows with True count.

    Notes
    -----
    The statistic gets an array of shape (n_draws, K). The prior count of each value is ``1/K``.

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
        """Number of rows with each value."""
        if len(set(self.values)) < len(self.values):
            raise ValueError(
                f"The proportions {name!r} have a repeated value in values={list(self.values)}. "
                "List each value once."
            )
        column = pd.Series(np.asarray(_selected(self, table), dtype=object))
        _refuse_no_rows(f"The proportions {name!r}", len(column))
        other = column[~column.isin(list(self.values))]
        if len(other):
            raise ValueError(
                f"The proportions {name!r} have values={list(self.values)}, but a row has "
                f"{other.iloc[0]!r}. Add it to values=, or exclude those rows with given=."
            )
        return np.array([int((column == value).sum()) for value in self.values])

    def cells(self, name: str, table: pd.DataFrame) -> np.ndarray:
        """Indicators of the values of the selected rows, of shape (n_selected, n_values)."""
        column = np.asarray(_selected(self, table), dtype=object)
        return np.stack([column == value for value in self.values], axis=1).astype(float)

    @staticmethod
    def draws(posterior: Any, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Draws of shape (n_draws, n_values)."""
        return k_proportion_draws(posterior, n_draws, rng)


def _refuse_no_rows(what, n_rows):
    if n_rows == 0:
        raise ValueError(
            f"{what} has no rows, because rows= and given= select none. Select other rows or label "
            "more rows."
        )


def kept(parameter, table):
    """Whether the parameter uses each row."""
    if parameter.given is None:
        return np.ones(len(table), dtype=bool)
    return np.asarray(parameter.given(table), dtype=bool)


def _selected(parameter, table):
    """The selected values of the rows that count."""
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
            f"The parameter {name!r} must select numbers. Use KProportion for names, or a selector "
            "with a comparison."
        ) from None
    bad = ~np.isfinite(numbers)
    if bad.any():
        raise ValueError(
            f"The parameter {name!r} selects {int(bad.sum())} missing or infinite values of "
            f'{numbers.size}. Unlabeled rows have no label, so use rows="labeled" for labels.'
        )
    return numbers
