"""`RiskComparison`: estimated mean squared errors of several methods."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from skbench._printed import Printed, PrintedTable
from skbench._types import Level, NonNegative, checked
from skbench.stats.shrinkage import sample_size

if TYPE_CHECKING:
    from skbench.stats.shrinkage.sample_size import SampleSizeRatio


@dataclass(frozen=True, eq=False, repr=False)
class RiskComparison(Printed):
    """Estimated mean squared errors of several estimators, and their differences.

    Returned by `estimated_risk` and `leave_out_covariates`.

    Parameters
    ----------
    losses : DataFrame of shape (n_groups, n_estimators)
        Unbiased estimates of the squared error of each group, in squared score units. Single values
        are noisy and may be negative. All are nan for an estimator that failed.
    variance : ndarray of shape (n_groups,)
        Sampling variances of the direct estimates, on the same items.
    topics : ndarray of shape (n_groups,)
        Groups with the same entry are dependent.
    items_share : float
        Share of the items that the estimators were fitted to. The risks are those of evaluations
        of that size.
    reference : str
        Estimator that differences and ratios refer to.
    errors : dict of str to str, default={}
        Error messages of estimators that failed.

    Notes
    -----
    Standard errors come from a delete-one-topic jackknife. They cover the sampling of topics and
    items.

    **When not to use it.** With about a dozen topics, the risks and their standard errors are too
    uncertain to choose between estimators.

    Examples
    --------
    >>> from skbench import DirectEstimator, JamesStein, estimated_risk, make_items
    >>> items = make_items(3, 20, 10, topic_std=0.3, random_state=0).items
    >>> comparison = estimated_risk(
    ...     {"direct": DirectEstimator(), "James-Stein": JamesStein()},
    ...     items, ["model", "topic"], n_splits=5, random_state=0)
    >>> difference, standard_error = comparison.difference("James-Stein", "direct")
    >>> difference < -2 * standard_error
    True
    """

    losses: pd.DataFrame
    variance: np.ndarray
    topics: np.ndarray
    items_share: float
    reference: str
    errors: dict = field(default_factory=dict)

    @property
    def risk(self) -> pd.Series:
        """Estimated mean squared error of each estimator (Series)."""
        return self.losses.mean(axis=0, skipna=False)

    @property
    def standard_error(self) -> pd.Series:
        """Standard error of each risk (Series)."""
        return np.sqrt(pd.Series(np.diag(self.covariance), self.losses.columns))

    @property
    def covariance(self) -> pd.DataFrame:
        """Covariance matrix of the risks (DataFrame)."""
        names = self.losses.columns
        codes = pd.factorize(self.topics)[0]
        matrix = sample_size.jackknife_mean(self.losses.to_numpy(), codes)[1]
        return pd.DataFrame(matrix, names, names)

    @checked
    def difference(self, first: str, second: str) -> tuple[float, float]:
        """Return the risk of one estimator minus that of another, and its standard error.

        Parameters
        ----------
        first, second : str
            Names of estimators.

        Returns
        -------
        difference, standard_error : float
        """
        V = self.covariance
        variance = V.loc[first, first] + V.loc[second, second] - 2 * V.loc[first, second]
        difference = self.risk[first] - self.risk[second]
        return float(difference), float(np.sqrt(max(variance, 0.0)))

    @checked
    def choice(self, n_standard_errors: NonNegative = 1.0) -> str:
        """Return the name of the estimator with the smallest risk after a penalty for uncertainty.

        Parameters
        ----------
        n_standard_errors : float, default=1.0
            Penalty in standard errors of the difference to the reference.

        Returns
        -------
        str
            The reference, unless another estimator is better by that many standard errors.
        """
        bounds = {self.reference: 0.0}
        for name in self.losses:
            difference, error = self.difference(name, self.reference)
            # nan (a single topic, or a failed candidate) is never less than 0.
            if difference + n_standard_errors * error < 0:
                bounds[name] = difference + n_standard_errors * error
        return min(bounds, key=bounds.get)

    @checked
    def sample_size_ratio(self, name: str, confidence_level: Level = 0.95) -> SampleSizeRatio:
        """Return how many times the items the direct estimator would need.

        Parameters
        ----------
        name : str
            Name of the estimator.
        confidence_level : float, default=0.95
            Confidence level of the interval.

        Returns
        -------
        SampleSizeRatio
            value, low and high; see `skbench.stats.sample_size.sample_size_ratio`. The ratio is
            extrapolated from the share of the items that the estimator was fitted to.
        """
        codes = pd.factorize(self.topics)[0]
        losses = self.losses[name].to_numpy()
        ratio = sample_size.sample_size_ratio(losses, self.variance, codes, confidence_level)
        return sample_size.ratio_with_more_items(ratio, self.items_share)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per estimator, in their original order.

        Returns
        -------
        DataFrame
            risk and standard_error; ratio, difference and difference_standard_error to the
            reference; sample_size_ratio.
        """
        differences = [self.difference(name, self.reference) for name in self.losses]
        return pd.DataFrame(
            {
                "risk": self.risk,
                "standard_error": self.standard_error,
                "ratio": self.risk / self.risk[self.reference],
                "difference": [difference for difference, _ in differences],
                "difference_standard_error": [error for _, error in differences],
                "sample_size_ratio": [self.sample_size_ratio(name).value for name in self.losses],
            },
            index=self.losses.columns.rename("estimator"),
        )

    def _printed(self):
        n_topics = pd.unique(self.topics).size
        topics = f" in {n_topics} topics" if n_topics < len(self.losses) else ""
        head = (
            f"Risk of {self.losses.shape[1]} estimators over {len(self.losses)} groups{topics}, "
            f"each from {100 * self.items_share:.0f}% of the items; "
            f"differences to {self.reference!r}"
        )
        failures = [f"{name} failed: {error}" for name, error in self.errors.items()]
        return [head, PrintedTable(self.to_frame(), most=None), *failures]
