"""What the functions of this room return, and the checks they share."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from skbench._printed import Printed


@dataclass(frozen=True, eq=False, repr=False)
class ItemData(Printed):
    """Item rows together with the truth about every group.

    Not a `sklearn.utils.Bunch`: that is a dict, whose method `items` would hide
    the field.

    Attributes
    ----------
    items : DataFrame
        One row per (model, item), or per judged answer.
    truth : Series
        True performances, score units, indexed by (model, topic) or by group.
    features : DataFrame
        What is known about each topic (group), indexed by it.
    DESCR : str
        A description.

    Examples
    --------
    >>> from skbench import make_items
    >>> make_items(n_models=2, n_topics=3, n_items=4, random_state=0)
    ItemData: Simulated binary scores of 2 models on 3 topics
    24 rows of items, 6 groups, features of topics: feature
    """

    items: pd.DataFrame
    truth: pd.Series
    features: pd.DataFrame
    DESCR: str

    def _printed(self):
        return [
            f"ItemData: {self.DESCR.splitlines()[0]}",
            f"{len(self.items)} rows of items, {len(self.truth)} groups, "
            f"features of topics: {', '.join(self.features.columns)}",
        ]


def counts_of(values, name, unit, names, minimum=1):
    """One whole number for each of the names of a unit, such as topics; at least `minimum`."""
    counts = np.asarray(values)
    if counts.dtype.kind not in "iu":
        raise ValueError(f"{name} must be an integer or one per {unit}, got {values!r}.")
    if counts.ndim and counts.shape != (len(names),):
        raise ValueError(
            f"{name} has shape {counts.shape}, but there are {len(names)} {unit}s. "
            f"Pass one number, or one per {unit}."
        )
    counts = np.broadcast_to(counts, len(names)).astype(np.int64)
    if counts.min() < minimum:
        least = names[counts.argmin()]
        raise ValueError(f"{name} must be at least {minimum}, but {least!r} has {counts.min()}.")
    return counts


def numbered(kind, size):
    """Names such as topic-07, all of one length."""
    width = len(str(size - 1))
    return [f"{kind}-{i:0{width}d}" for i in range(size)]


def item_ids(owners, kind, numbers):
    """Ids such as law/item-07, of one length after the owner's name."""
    width = len(str(numbers.max()))
    pairs = zip(owners, numbers, strict=True)
    return np.array([f"{owner}/{kind}-{number:0{width}d}" for owner, number in pairs], object)
