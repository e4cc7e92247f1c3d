"""The three arrays of ppi-python as one table of rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skbench._checks import check_column, check_same_index, one_column
from skbench.ppi._data import autorater_scores, score_table


def rows_of_arrays(
    Y: ArrayLike, Yhat: ArrayLike, Yhat_unlabeled: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """The arguments of ppi-python's functions as `X` and `y` of the estimators here.

    Parameters
    ----------
    Y : array-like of shape (n,)
        Human labels.
    Yhat : array-like of shape (n,) or (n, n_autoraters)
        Autorater scores of the same rows.
    Yhat_unlabeled : array-like of shape (N,) or (N, n_autoraters)
        Autorater scores of the rows without a label.

    Returns
    -------
    X : ndarray of shape (n + N, n_autoraters)
        Autorater scores, labeled rows first.
    y : ndarray of shape (n + N,)
        Labels, nan where there is none.

    Raises
    ------
    ValueError
        If lengths or numbers of autoraters differ, or a label or score is no finite number.

    Notes
    -----
    ``ppi_mean_ci(Y, Yhat, Yhat_unlabeled, alpha=0.05)`` of ppi-python is
    ``PPIMean(interval="z").fit(*rows_of_arrays(Y, Yhat, Yhat_unlabeled)).estimate()`` but for
    its divisor n of variances, n - 1 here, and for its own estimate of the power. Its alpha
    is .1 unless told.

    When not to use it: for labels whose rows are weighted or clustered; pass these to `fit`.

    Examples
    --------
    >>> from skbench import PPIMean
    >>> X, y = rows_of_arrays([1, 0, 1, 1], [0.9, 0.2, 0.7, 0.8], [0.5, 0.6, 0.9, 0.8, 0.4])
    >>> print(f"{PPIMean(power_tuning=False).fit(X, y).estimate_:.2f}")
    0.74
    """
    for name, given in {"Y": Y, "Yhat": Yhat, "Yhat_unlabeled": Yhat_unlabeled}.items():
        check_same_index(**{name: given})
    check_same_index(Y=Y, Yhat=Yhat)
    Y = one_column("Y", Y)
    Y = check_column("Y", Y, range(len(Y)), unit="row")
    for name, given in {"Yhat": Yhat, "Yhat_unlabeled": Yhat_unlabeled}.items():
        if len(given) == 0:
            raise ValueError(f"{name} has no rows. Pass one kind of rows alone to fit, as X and y.")
    scores = [autorater_scores(score_table(a)) for a in (Yhat, Yhat_unlabeled)]
    if scores[0].shape[1] != scores[1].shape[1]:
        raise ValueError(
            f"Yhat has {scores[0].shape[1]} autoraters, but Yhat_unlabeled {scores[1].shape[1]}."
        )
    names = [list(a.columns) for a in (Yhat, Yhat_unlabeled) if hasattr(a, "columns")]
    if len(names) == 2 and names[0] != names[1]:
        raise ValueError(
            f"Yhat is of the autoraters {names[0]}, but Yhat_unlabeled of {names[1]}. Pass both in "
            "one order."
        )
    return np.concatenate(scores), np.append(Y, np.full(len(Yhat_unlabeled), np.nan))
