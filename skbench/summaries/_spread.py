"""How far groups differ in the spread of their scores."""

import narwhals as nw

from skbench.stats.moderated import spread
from skbench.summaries._rows import SCORE, collected, with_score

_AWAY, _SIZE = "_skbench_away", "_skbench_size"
_POWERS = {"_skbench_square": 2, "_skbench_fourth": 4}


def spread_of_rows(frame, by, score, sigma2, variance):
    """How far the sampling variances of item rows in memory may be believed, else None.

    Parameters
    ----------
    frame : narwhals frame
        Item rows without missing scores; None is returned for those that are not in memory.
    by : list of str
        Columns that define the groups.
    score : str
        Column of scores.
    sigma2 : ndarray of shape (n_groups,)
        Sampling variances of the groups, in sorted order.
    variance : str
        As in `summarize_items`.

    Returns
    -------
    Spread or None
    """
    if not isinstance(frame, nw.DataFrame):
        return None
    away = nw.col(SCORE) - nw.col(SCORE).mean().over(*by)
    rows = with_score(frame, score).with_columns(away.alias(_AWAY))
    rows = rows.with_columns((nw.col(_AWAY) ** power).alias(n) for n, power in _POWERS.items())
    sums = rows.group_by(by).agg(nw.len().alias(_SIZE), *[nw.col(n).sum() for n in _POWERS])
    table = collected(sums, by)
    n, squares, fourth_powers = (table[name].to_numpy() for name in (_SIZE, *_POWERS))
    return spread(n, squares, fourth_powers, sigma2, variance)
