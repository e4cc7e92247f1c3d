"""Convert the three arrays of ppi-python to one table of rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skbench._checks import check_column, check_same_index, one_column
from skbench.ppi._data import autorater_scores, score_table


def rows_of_arrays(
    Y: ArrayLike, Yhat: ArrayLike, Yhat_unlabeled: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """Convert the three arrays of ppi-python to `X` and `y` of the estimators in this module.

    Parameters
    ----------
    Y : array-like of shape (n,)
        Human labels.
    Yhat : array-like of shape (n,) or (n, n_autoraters)
        Scores of the judges for the same rows.
    Yhat_unlabeled : array-like of shape (N,) or (N, n_autoraters)
        Scores of the judges for the rows without a label.

    Returns
    -------
    X : ndarray of shape (n + N, n_autoraters)
        Scores, labeled rows first.
    y : ndarray of shape (n + N,)
        Labels; nan in rows without a label.

    Raises
    ------
    ValueError
        If lengths or numbers of judges differ, or a label or score is not a finite number.

    Notes
    -----
    ``ppi_mean_ci(Y, Yhat, Yhat_unlabeled, alpha=0.05)`` of ppi-python corresponds to
    ``PPIMean(interval="z").fit(*rows_of_arrays(Y, Yhat, Yhat_unlabeled)).estimate()``. There the
    divisor of variances is n instead of ``n - 1``, the estimate of lambda differs, and the default
    alpha is 0.1.

    When not to use it: for weighted or clustered rows, which need the arguments of `fit`.

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
            raise ValueError(f"{name} has no rows. Call fit with X and y instead.")
    scores = [autorater_scores(score_table(a)) for a in (Yhat, Yhat_unlabeled)]
    if scores[0].shape[1] != scores[1].shape[1]:
        raise ValueError(
            f"Yhat has {scores[0].shape[1]} columns, but Yhat_unlabeled has {scores[1].shape[1]}."
        )
    names = [list(a.columns) for a in (Yhat, Yhat_unlabeled) if hasattr(a, "columns")]
    if len(names) == 2 and names[0] != names[1]:
        raise ValueError(
            f"Yhat has the columns {names[0]}, but Yhat_unlabeled has {names[1]}. Pass the same "
            "columns in the same order."
        )
    return np.concatenate(scores), np.append(Y, np.full(len(Yhat_unlabeled), np.nan))
