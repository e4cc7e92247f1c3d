"""Groups unlike their peers: what is told of them before anything else."""

import numpy as np

from skbench.containers import LISTED
from skbench.report import tables

_MOST = 10  # groups that are told by name


def unlike_groups(groups):
    """Rows of the groups that are unlike their peers, the surest first.

    Parameters
    ----------
    groups : DataFrame
        From `tables.group_table`.

    Returns
    -------
    DataFrame
        Empty where there are none, or where the method does not tell.
    """
    listed = groups[groups["unlike_peers"] > LISTED]
    return listed.sort_values("unlike_peers", ascending=False, kind="stable")


def unlike_in_words(groups):
    """One line per group that is unlike its peers, under a heading.

    Parameters
    ----------
    groups : DataFrame
        From `tables.group_table`.

    Returns
    -------
    list of str
        Empty where there is none; the direct interval stands beside the estimate.
    """
    listed = unlike_groups(groups)
    if listed.empty:
        return []
    decimals = tables.decimals_for(groups["direct"])
    count = (
        "1 group is unlike its" if len(listed) == 1 else f"{len(listed)} groups are unlike their"
    )
    rows = [_in_words(row, decimals) for row in listed.head(_MOST).itertuples()]
    more = len(listed) - len(rows)
    return [
        f"{count} peers, as probable as said, and little is borrowed then; look at the items:",
        *(f"  {row}" for row in rows),
        *([f"  and {more} more: column unlike_peers of --json"] if more else []),
    ]


def _in_words(row, decimals):
    name = ", ".join(str(part) for part in (row.model, row.topic) if part is not None)

    def told(value, low, high):
        ends = (tables.rounded(x, decimals) for x in (value, low, high))
        return "{} [{}, {}]".format(*ends)

    direct = told(row.direct, row.direct_low, row.direct_high)
    estimate = told(row.estimate, row.low, row.high)
    # Rounded down: a probability of 1 is not known.
    sure = np.floor(100 * row.unlike_peers) / 100
    return f"{name} (n = {row.n:g}): direct {direct}, estimate {estimate}, probability {sure:.2f}"
