"""Estimate any function of means and proportions by Monte Carlo integration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skbench._checks import (
    as_array,
    check_option,
    check_same_index,
)
from skbench._documented import Documented
from skbench._random import as_generator
from skbench._types import AtLeastTwo, Level, RandomState, checked
from skbench.containers import Draws, Estimate
from skbench.ppi._data import label_column
from skbench.ppi.parameters import kept

if TYPE_CHECKING:
    from skbench.ppi.parameters import KProportion, Mean, Proportion


_ROWS = ("labeled", "unlabeled", "all")
_LABEL = "y"
_METHODS = {"draws": "Monte Carlo", "bootstrap": "bootstrap"}
_BATCH_CELLS = 2**22  # rows drawn at once


@checked
class MonteCarloPPI(Documented, BaseEstimator):
    """Estimate any function of means and proportions, such as a ratio of two means.

    Name the means and proportions, and select the (labeled or unlabeled) rows from which each is
    estimated. Then write the quantity of interest as a function of them. The result is its
    posterior distribution.

    Parameters
    ----------
    parameters : dict of str to Mean, Proportion or KProportion
        The unknown means and proportions, by name.
    statistic : callable
        Function with the names of `parameters` as arguments. Each argument is an array with draws
        on the first axis. The function returns one number per draw, or one row per draw for
        several quantities.
    n_draws : int, default=10_000
        Number of draws. With 10,000 draws the ends of a 95% interval have a simulation error of
        about 2% of a standard deviation.
    random_state : None, int, RandomState or Generator, default=None
        Seed of the draws.
    integration : {"draws", "bootstrap"}, default="draws"
        "draws" samples the parameters from their posteriors. "bootstrap" has no priors. The
        bootstrap samples labeled and unlabeled rows with replacement and uses their means and
        proportions.

    Attributes
    ----------
    labels_ : pandas.RangeIndex of length n_quantities
        Numbers of the quantities.
    draws_ : Draws
        Posterior draws (or bootstrap replicates) of the quantities.
    estimate_, standard_error_ : float or ndarray of shape (n_quantities,)
        Mean and standard deviation of the draws.
    n_labeled_, n_unlabeled_ : int
        Numbers of rows.

    Raises
    ------
    ValueError
        If no row has a label, a selector names an unknown column or returns values of the wrong
        kind, or the statistic does not return one finite number per draw.

    Warns
    -----
    UserWarning
        If a mean has at most three rows, or the same value in all rows.

    Notes
    -----
    The method is that of [1]_, sections 2.2 and 4.1.2. It assumes that the parameters are
    independent. This holds if no two are estimated from the same rows of the same column. For
    example, estimate the mean verdict from ``rows="unlabeled"``. The bootstrap of section 5.4.3
    does not need independence. With a few hundred labels, its interval is almost the same as that
    of the draws. If few rows with some verdict are labeled, the bootstrap interval is too short.

    When not to use it: for a mean or proportion alone (`PPIMean`, `StratifiedPPI` and
    `ChainRulePPI` need no draws); for clustered rows; for a ratio if its denominator can be 0.

    References
    ----------
    .. [1] Hofer, Maynez, Dhingra, Fisch, Globerson and Cohen (2024). Bayesian
       Prediction-Powered Inference.

    Examples
    --------
    The ratio of the mean ratings of long and short answers:

    >>> import numpy as np
    >>> import pandas as pd
    >>> from skbench import MonteCarloPPI
    >>> from skbench.ppi import Mean
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"judge": rng.random(2000), "long": rng.random(2000) < 0.5})
    >>> y = np.where(np.arange(2000) < 200, X["judge"] + 0.1 * X["long"], np.nan)
    >>> long, short = (lambda t: t["long"]), (lambda t: ~t["long"])
    >>> parts = {
    ...     "judged_long": Mean("judge", "unlabeled", long),
    ...     "judged_short": Mean("judge", "unlabeled", short),
    ...     "missed_long": Mean(lambda t: t["y"] - t["judge"], given=long),
    ...     "missed_short": Mean(lambda t: t["y"] - t["judge"], given=short),
    ... }
    >>> def ratio(judged_long, judged_short, missed_long, missed_short):
    ...     return (judged_long + missed_long) / (judged_short + missed_short)
    >>> better = MonteCarloPPI(parts, ratio, random_state=0).fit(X, y)
    >>> e = better.estimate()
    >>> print(f"{e.value[0]:.2f} [{e.low[0]:.2f}, {e.high[0]:.2f}]")
    1.21 [1.15, 1.27]
    """

    def __init__(
        self,
        parameters: Mapping[str, Mean | Proportion | KProportion],
        statistic: Callable[..., Any],
        n_draws: AtLeastTwo = 10_000,
        random_state: RandomState = None,
        *,
        integration: Literal["draws", "bootstrap"] = "draws",
    ) -> None:
        self.parameters = parameters
        self.statistic = statistic
        self.n_draws = n_draws
        self.random_state = random_state
        self.integration = integration

    def fit(self, X: pd.DataFrame, y: ArrayLike) -> Self:
        """Draw from the posterior of the statistic.

        Parameters
        ----------
        X : DataFrame of shape (n_rows, n_columns), or array-like
            The columns that selectors use. An array has the columns ``"x0"``, ``"x1"`` and so on.
        y : array-like of shape (n_rows,)
            Human labels of any kind; nan or None where a row has no label.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            See the class.
        """
        tables = _tables(X, y)
        self.n_labeled_, self.n_unlabeled_ = len(tables["labeled"]), len(tables["unlabeled"])
        posteriors = {}
        for name, parameter in self.parameters.items():
            check_option(f"rows of {name!r}", parameter.rows, _ROWS)
            posteriors[name] = parameter.posterior(name, tables[parameter.rows])
        rng = as_generator(self.random_state)
        if self.integration == "bootstrap":
            draws = _resampled(self.parameters, tables, self.n_draws, rng)
        else:
            draws = {
                name: self.parameters[name].draws(posterior, self.n_draws, rng)
                for name, posterior in posteriors.items()
            }
        values = self._statistic(draws)
        self._is_scalar = values.ndim == 1
        values = values.reshape(self.n_draws, -1)
        self.labels_ = pd.RangeIndex(values.shape[1])
        kind = "bootstrap" if self.integration == "bootstrap" else "posterior"
        self.draws_ = Draws(values, self.labels_, kind)
        found = self.estimate()
        self.estimate_, self.standard_error_ = (
            float(column[0]) if self._is_scalar else np.array(column)
            for column in (found.value, found.standard_error)
        )
        return self

    def estimate(self, confidence_level: Level = 0.95) -> Estimate:
        """Return the estimates with their intervals.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Posterior probability of each interval.

        Returns
        -------
        Estimate
            One entry per quantity. The interval is nan if all rows have the same value.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If the confidence level is outside (0, 1).
        """
        check_is_fitted(self)
        found = replace(
            self.draws_.interval(confidence_level),
            method=f"{_METHODS[self.integration]} ({self.n_draws} draws)",
        )
        # Equal rows give no information about the variance.
        known = found.high > found.low
        ends = (np.where(known, x, np.nan) for x in (found.low, found.high, found.standard_error))
        return replace(found, **dict(zip(("low", "high", "standard_error"), ends, strict=True)))

    def _statistic(self, arguments):
        values = np.asarray(self.statistic(**arguments), dtype=float)
        if values.ndim not in (1, 2) or len(values) != self.n_draws:
            raise ValueError(
                f"The statistic returned an array of shape {values.shape} for {self.n_draws} "
                "draws. It must return one number or one row per draw. Sum over axis 1, not over "
                "axis 0."
            )
        if not np.isfinite(values).all():
            raise ValueError(
                f"The statistic is not finite in {int((~np.isfinite(values)).sum())} of "
                f"{values.size} values. Check whether it divides by 0."
            )
        return values


def _tables(X, y):
    """Labeled, unlabeled and all rows, with the label as a column."""
    check_same_index(X=X, y=y)
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not isinstance(X, pd.DataFrame):
        X = as_array(X)
        X = X[:, None] if X.ndim == 1 else X
        X = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    if _LABEL in X.columns:
        raise ValueError(
            f"X has a column {_LABEL!r}, but this name is reserved for the human label. Rename it."
        )
    labels = pd.Series(label_column(y, "MonteCarloPPI")).to_numpy()
    table = X.assign(**{_LABEL: labels})
    labeled = table[_LABEL].notna()
    if not labeled.any():
        raise ValueError(
            f"None of the {len(X)} rows has a human label in y. Label a random sample of rows."
        )
    return {"labeled": table[labeled], "unlabeled": table[~labeled], "all": table}


def _resampled(parameters, tables, n_draws, rng):
    """Means and proportions of bootstrap samples of the labeled and of the unlabeled rows."""
    n = {rows: len(tables[rows]) for rows in ("labeled", "unlabeled")}
    cells, keep = {}, {}
    for name, parameter in parameters.items():
        table = tables[parameter.rows]
        keep[name] = np.flatnonzero(kept(parameter, table))
        cells[name] = parameter.cells(name, table)
    labeled_first = np.argsort(tables["all"][_LABEL].isna().to_numpy(), kind="stable")
    # The table "all" keeps the input order, but the counts start with the labeled rows.
    place = {"all": np.argsort(labeled_first), "labeled": np.arange(n["labeled"])}
    place["unlabeled"] = n["labeled"] + np.arange(n["unlabeled"])
    parts = {name: [] for name in parameters}
    size = max(1, _BATCH_CELLS // max(sum(n.values()), 1))
    for start in range(0, n_draws, size):
        batch = min(size, n_draws - start)
        counts = np.concatenate(
            [rng.multinomial(m, np.full(m, 1 / m), batch) for m in n.values() if m], axis=1
        )
        for name, parameter in parameters.items():
            weight = counts[:, place[parameter.rows][keep[name]]]
            total = weight.sum(axis=1, keepdims=True)
            weight = np.where(total > 0, weight, 1)
            share = weight @ cells[name] / weight.sum(axis=1, keepdims=True)
            parts[name].append(share if hasattr(parameter, "values") else share[:, 0])
    return {name: np.concatenate(part) for name, part in parts.items()}
