"""Intervals from a few evaluations of a model, each on a bootstrap sample of the test set."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skbench._checks import plain
from skbench._documented import Documented
from skbench._types import Level, checked
from skbench._warnings import warn
from skbench.containers import Estimate
from skbench.stats.intervals.means import normal_interval, t_interval
from skbench.tasks._runs import run_moments


@checked
class RepeatedRuns(Documented, BaseEstimator):
    """Performance estimated from K evaluations, each on a bootstrap sample of the test set.

    When not to use it: for runs that differ only by the random seed, because they contain no
    information about the sampling of items. Use the per-item scores of all runs instead, with the
    item as cluster.

    Parameters
    ----------
    interval : {"bootstrap", "sem"}, default="bootstrap"
        "bootstrap" is a confidence interval for the true performance. "sem" is the interval that
        leaderboards of this kind publish; its coverage is too low.

    Attributes
    ----------
    moments_ : pandas.DataFrame
        Mean, variance (``ddof=1``) and number `n` of the raw scores for each combination of labels.

    Raises
    ------
    ValueError
        If a raw score is missing, infinite or not a number.

    Warns
    -----
    UserWarning
        If a model was evaluated only once, or has the same score in every run. Its interval is nan.

    Notes
    -----
    Let `s` be the standard deviation (``ddof=1``) of the K scores. The score on a bootstrap sample
    varies around the score on the test set, just as that score varies around the true performance.
    The standard error of the mean score is therefore ``s sqrt(1 + 1 / K)``, and the interval is
    ``mean -+ t s sqrt(1 + 1 / K)`` with K - 1 degrees of freedom. The guarantee is "model": with
    few items and scores near 0 or 1, the scores are not normal. At accuracy 0.99, coverage is 0.29
    to 0.43.

    "sem" is ``mean -+ z s / sqrt(K)`` with the normal quantile (1.96, as rounded by leaderboards).
    For K = 10, it covers the true performance in about 43% of cases. Its guarantee is "none".

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"model": ["ada", "bob"]})
    >>> y = [[70.1, 68.9, 71.4, 69.2], [66.0, 67.8, 66.6, 65.2]]
    >>> RepeatedRuns().fit(X, y).estimate().to_frame()[["value", "low", "high"]].round(1)
           value   low  high
    model
    ada     69.9  65.9  73.9
    bob     66.4  62.5  70.3
    """

    def __init__(self, interval: Literal["bootstrap", "sem"] = "bootstrap") -> None:
        self.interval = interval

    def fit(self, X: pd.DataFrame, y: ArrayLike) -> Self:
        """Summarize the raw scores.

        Parameters
        ----------
        X : DataFrame with n_rows rows
            Labels, such as model and dataset. Rows with equal labels are evaluations of the same
            model on the same data.
        y : array-like of shape (n_rows,) or (n_rows, n_runs), or n_rows lists
            Raw scores of each row. The number of runs may differ between rows.

        Returns
        -------
        self
        """
        moments = run_moments(X, y)
        incomplete = moments.index[moments["n_missing"] > 0]
        if len(incomplete):
            raise ValueError(
                f"{plain(incomplete[0])!r} has a missing score. Remove the run, or evaluate it "
                "again."
            )
        constant = moments.index[(moments["variance"] == 0) | (moments["n"] == 1)]
        if len(constant):
            warn(
                f"{len(constant)} of {len(moments)} results have a single run or equal scores in "
                f"all runs, such as {plain(constant[0])!r}. Their intervals are unknown (nan)."
            )
        self.moments_ = moments.drop(columns="n_missing")
        self.labels_ = self.moments_.index
        return self

    def estimate(self, confidence_level: Level = 0.95) -> Estimate:
        """Estimate the mean over the runs, with its interval.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Nominal coverage of the intervals.

        Returns
        -------
        Estimate
            One entry per combination of labels.
        """
        check_is_fitted(self)
        mean, variance, n = self.moments_.to_numpy(dtype=float).T
        if self.interval == "sem":
            error = np.sqrt(variance / n)
            low, high = normal_interval(mean, error, confidence_level)
        else:
            # Equal runs contain no information about their variance.
            error = np.sqrt(np.where(variance == 0, np.nan, variance) * (1 + 1 / n))
            low, high = t_interval(mean, error, n - 1, confidence_level)
        return Estimate(
            value=mean,
            low=low,
            high=high,
            standard_error=error,
            confidence_level=confidence_level,
            labels=self.labels_,
            method=f"repeated runs ({self.interval})",
            guarantee="none" if self.interval == "sem" else "model",
        )
