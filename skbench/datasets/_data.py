"""What the functions of this room return, and the check they share."""

from dataclasses import dataclass
from operator import index

import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class ItemData:
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

    def __repr__(self):
        title = self.DESCR.splitlines()[0]
        return (
            f"ItemData: {title}\n{len(self.items)} rows of items, {len(self.truth)} groups, "
            f"features of topics: {', '.join(self.features.columns)}"
        )


def check_count(value, name):
    """The integer `value`, which must be at least 1."""
    try:
        count = index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}.") from None
    if count < 1:
        raise ValueError(f"{name} must be at least 1, got {count}.")
    return count
