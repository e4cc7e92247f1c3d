"""How many items each unit gives, and which groups are too small for that."""

import numbers
from typing import NamedTuple

import numpy as np
import pandas as pd

from skbench._checks import plain
from skbench.assessment._population import Population

PROPORTIONAL = "proportional"
# Fogliato et al. (2024), section 4.2 and C.1: the smallest group with 50 items gives 10,
# and groups of equal samples have at least four times as many items as are drawn.
_SMALLEST, _ITEMS_OF_SMALLEST, _LEAST_RATIO = 50, 10, 4


class Design(NamedTuple):
    """A population whose groups are all large enough, and what is drawn of it.

    Attributes
    ----------
    population : Population
        The groups that are kept.
    n_items : ndarray of int of shape (n_units,)
        Items drawn of each unit.
    dropped : DataFrame
        Groups that are too small, by label: their number of items, and why.
    """

    population: Population
    n_items: np.ndarray
    dropped: pd.DataFrame


def check_n_items(n_items):
    """Refuse what is no design: a count, a share of the items, or "proportional"."""
    is_number = isinstance(n_items, numbers.Real) and not isinstance(n_items, bool)
    is_count = is_number and n_items >= 1 and n_items == int(n_items)
    if not (n_items == PROPORTIONAL or is_count or (is_number and 0 < n_items < 1)):
        raise ValueError(
            f"n_items must be a number of items per group, a share of them between 0 and 1, or "
            f"{PROPORTIONAL!r}; got {n_items!r}."
        )


def design(population, n_items, replace):
    """Decide what is drawn of each unit, and drop the groups that are too small.

    Parameters
    ----------
    population : Population
        All groups.
    n_items : int, float or "proportional"
        See `RepeatedSamplingStudy`.
    replace : bool
        Whether items are drawn with replacement.

    Returns
    -------
    Design

    Raises
    ------
    ValueError
        If no group is large enough.
    """
    drawn = _sizes(population.unit_sizes, n_items)
    available = np.minimum(population.sizes, population.unit_sizes[population.unit])
    why = _reasons(drawn[population.unit], available, n_items, replace)
    kept = why == ""
    dropped = pd.DataFrame({"items": population.sizes, "why": why}, index=population.labels)[~kept]
    if not kept.any():
        largest = int(np.argmax(population.sizes))
        raise ValueError(
            f"No group is large enough for n_items={n_items!r}: the largest is "
            f"{plain(population.labels[largest])!r} with {population.sizes[largest]} items "
            f"({why[largest]}). Draw fewer items, or draw with replace=True."
        )
    units = np.unique(population.unit[kept])
    return Design(population.keep(kept), drawn[units], dropped)


def _sizes(unit_sizes, n_items):
    if n_items != PROPORTIONAL and n_items >= 1:
        return np.full(len(unit_sizes), int(n_items))
    share = n_items
    if n_items == PROPORTIONAL:
        large = unit_sizes[unit_sizes >= _SMALLEST]
        if not len(large):
            raise ValueError(
                f"n_items={PROPORTIONAL!r} takes {_ITEMS_OF_SMALLEST} items of the smallest group "
                f"with at least {_SMALLEST}, but the largest has {unit_sizes.max()}. Give the "
                "share of the items to draw, such as n_items=0.2."
            )
        share = _ITEMS_OF_SMALLEST / large.min()
    return np.round(share * unit_sizes).astype(int)


def _reasons(drawn, available, n_items, replace):
    """Why each group cannot take part; an empty text where it can."""
    if replace:
        return np.where(drawn == 0, "no item would be drawn", "").astype(object)
    is_equal = n_items != PROPORTIONAL and n_items >= 1
    needed = _LEAST_RATIO * drawn if is_equal else drawn + 1
    too_few = f"fewer than {_LEAST_RATIO} x {n_items} items"
    return np.select(
        [drawn == 0, is_equal & (available < needed), available < needed],
        ["no item would be drawn", too_few, "the sample would be all items, hence the truth"],
        default="",
    ).astype(object)
