"""`ItemData`, and checks shared by the data sets."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from skbench._printed import Printed


@dataclass(frozen=True, eq=False, repr=False)
class ItemData(Printed):
    """Per-item scores with the true value of every group.

    This is not a `sklearn.utils.Bunch`, because the method `items` of a dict would hide the
    attribute.

    Attributes
    ----------
    items : DataFrame
        One row per model and item, or per judged answer.
    truth : Series
        True values in score units, indexed by model and topic, or by group.
    features : DataFrame
        Features of each topic (or group), indexed by it.
    DESCR : str
        Description of the data.

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
    """Return one integer of at least `minimum` for each name, such as each topic."""
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
    """Return names such as topic-07, all of the same length."""
    width = len(str(size - 1))
    return [f"{kind}-{i:0{width}d}" for i in range(size)]


def item_ids(owners, kind, numbers):
    """Return ids such as law/item-07, with numbers of the same length."""
    width = len(str(numbers.max()))
    pairs = zip(owners, numbers, strict=True)
    return np.array([f"{owner}/{kind}-{number:0{width}d}" for owner, number in pairs], object)
