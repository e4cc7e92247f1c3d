"""What reading found: item rows, and everything that was decided on the way."""

from typing import NamedTuple

import pandas as pd


class ItemRows(NamedTuple):
    """Item rows of files, and how they were read.

    Parameters
    ----------
    items : DataFrame
        One row per (model, item), as `skbench.read_items` gives them.
    columns : dict of str to str or list of str
        Which column of the file plays which role.
    notes : list of str
        Everything that was guessed, chosen, converted, ignored or dropped.
    formats : list of str
        Formats that the rows came in.
    groups : DataFrame or None
        One row per group, where the file holds results of groups: score (the mean), and n
        and k, or standard_error. `items` are then these rows.
    blank : DataFrame or None
        Rows without a score (blank, failed or refused), which `items` leaves out.
    doubts : list of str
        Those of the notes that ask whether all is what it was taken for.

    Notes
    -----
    When not to use it: for the rows alone, which `skbench.read_items` returns.

    Examples
    --------
    >>> ItemRows(pd.DataFrame({"score": [1.0]}), {"score": "acc"}).columns["score"]
    'acc'
    """

    items: pd.DataFrame
    columns: dict
    notes: list = []
    formats: list = []
    groups: pd.DataFrame | None = None
    blank: pd.DataFrame | None = None
    doubts: list = []
