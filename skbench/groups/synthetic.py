"""Synthetic regression: every group by a regression on the features."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skbench._order import content_order, shuffled
from skbench._random import as_generator
from skbench._types import Estimator, Jobs, NonNegative, RandomState, checked
from skbench.groups._base import Bounds, GroupEstimator
from skbench.groups._regressors import (
    Encoded,
    precision_weights,
    predictions,
    prepared_regressor,
)
from skbench.groups.crossfit import CrossFitKFold, as_splitter, cross_fit
from skbench.stats.intervals.means import normal_interval
from skbench.stats.shrinkage import robust_eb

_PUBLISHED_GRID = {"xgbregressor__n_estimators": (10, 30, 100), "xgbregressor__max_depth": (2, 4)}


@checked
class SyntheticRegression(GroupEstimator):
    """Estimate each group by a regression of direct estimates on features.

    Parameters
    ----------
    regressor : estimator, {"xgboost", "lightgbm", "ridge"} or None, default=None
        Any scikit-learn regressor. None is XGBoost with depth and number of
        trees tuned by 2-fold cross-validation. Text columns of a frame are
        one-hot encoded unless the regressor brings its own transformer.
    weight_by_precision : bool, default=False
        Weigh groups by ``1 / sigma2``.
    sampling_variance : float, default=None
        Known common sampling variance, where `fit` gets no `sigma2`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the regressor and of the split behind the intervals.
    n_jobs : int, default=None
        Folds fitted at the same time (joblib).

    Attributes
    ----------
    regressor_ : estimator
        Fitted on all groups.
    prior_variance_ : float
        Variance of the true performances around the regression, from residuals
        of groups that the regression had not seen.
    z_, sigma2_, n_, labels_
        The fitted groups.

    Raises
    ------
    ValueError
        With fewer than two groups (or topics).

    Notes
    -----
    Section 3 and A.1 of [1]_. As there, the regression is fitted on all groups,
    so the estimate of a group has seen its own direct estimate. The interval
    is ``f(X) +- z sqrt(A)``, with `A` from a 2-fold cross-fit, or rather the mean of the values
    that it may well have, given so many groups (or topics)
    (`skbench.stats.robust_eb.plausible_prior_variances`); the standard error is that at `A`
    itself. Its guarantee is "model": that the performances scatter normally around the regression.

    When not to use it: alone. Its error does not vanish for large groups: with 50 items
    each and features that say nothing it was 16 times that of the direct estimator, and 6 times
    with the paper's trees (:doc:`/user_guide/reproducing_the_paper`). `EmpiricalBayes` uses the
    same regression as a starting point and corrects it group by group.

    References
    ----------
    .. [1] Fogliato, Patil, Akpinar and Monfort (2024). Precise Model
       Benchmarking with Only a Few Observations.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.linspace(0, 1, 6)[:, None]
    >>> synthetic = SyntheticRegression(LinearRegression())
    >>> synthetic.fit(X, 0.2 + 0.5 * X[:, 0], sigma2=0.01).predict([[0.5]]).round(3)
    array([0.45])
    """

    _method = "synthetic regression"
    _guarantee = "model"
    _watches_risk = True

    def __init__(
        self,
        regressor: Estimator | Literal["xgboost", "lightgbm", "ridge"] | None = None,
        *,
        weight_by_precision: bool = False,
        sampling_variance: NonNegative | None = None,
        random_state: RandomState = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.regressor = regressor
        self.weight_by_precision = weight_by_precision
        self.sampling_variance = sampling_variance
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def as_published(cls, task: str = "topic", random_state: RandomState = 0) -> Self:
        """The settings of Fogliato et al. (2024), A.1.

        Parameters
        ----------
        task : str, default="topic"
            Column of `X` by which the tuning of the trees is stratified.
        random_state : int, RandomState, Generator or None, default=0
            Seed of the folds and of the trees.

        Returns
        -------
        SyntheticRegression
            XGBoost with number and depth of trees tuned by 2-fold cross-validation, stratified
            by task, on features and indicators of models and tasks.

        Notes
        -----
        `EmpiricalBayes.as_published` has the same trees. The paper leaves open the grid (here 10,
        30 or 100 trees of depth 2 or 4). Names are indicators, its intercepts of models and tasks;
        its mean embeddings are `embed_groups`. It compares no interval of this estimator. Without
        the column `task`, set ``regressor__cv`` to folds that need no strata. When not to use it:
        for anything but reproducing the paper.
        """
        return cls(trees_as_published(task, random_state), random_state=random_state)

    def _fit(self, X, groups):
        seed, fold_seed = as_generator(self.random_state).integers(2**31, size=2)
        regressor = self._unfitted_regressor(X, groups, int(seed))
        weights = precision_weights(self.sigma2_) if self._weighted else None
        splitter = as_splitter(2, int(fold_seed), (self.sigma2_, self.n_))
        encoded = Encoded.once(regressor, X)
        prior_means, _ = cross_fit(encoded, self.z_, weights, splitter, groups, self.n_jobs)
        residuals = self.z_ - prior_means[0]
        self.prior_variance_ = robust_eb.prior_moments(residuals, self.sigma2_).prior_variance
        self._n_independent = self._n_units(groups)
        self.regressor_ = fit_on_all(encoded, self.z_, weights)
        self.prior_mean_ = self._value(X, None, None, None)

    def _unfitted_regressor(self, X, groups, seed):
        return prepared_regressor(self.regressor, X, groups, seed)

    @property
    def _weighted(self):
        return self.weight_by_precision

    def _fitted_value(self):
        return self.prior_mean_.copy()

    def _fitted_bounds(self, confidence_level):
        return self._around(self.prior_mean_, confidence_level)

    def _posterior_errors(self, bounds):
        return np.zeros(len(self.z_))  # what the regression has seen of a group is not reckoned

    def _value(self, X, z, sigma2, n):
        return predictions(self.regressor_, X)

    def _bounds(self, X, z, sigma2, n, confidence_level):
        return self._around(self._value(X, z, sigma2, n), confidence_level)

    def _around(self, prior_mean, confidence_level):
        error = np.full(len(prior_mean), np.sqrt(self.prior_variance_))
        low, high = normal_interval(prior_mean, np.sqrt(self._doubted_variance), confidence_level)
        return Bounds(low, high, error)

    @property
    def _doubted_variance(self):
        """Mean of the prior variances that may well be: one that is 0 by chance is not believed."""
        A, units = self.prior_variance_, self._n_independent
        return robust_eb.plausible_prior_variances(A, self.sigma2_, units)[:, 0].mean()


def trees_as_published(task, random_state):
    """XGBoost as Fogliato et al. (2024) tune it; the grid is ours, they print none."""
    from xgboost import XGBRegressor

    nominal = make_column_selector(dtype_exclude=["number", "bool"])
    indicators = (OneHotEncoder(handle_unknown="ignore", sparse_output=False), nominal)
    columns = make_column_transformer(indicators, remainder="passthrough")
    return GridSearchCV(
        make_pipeline(columns.set_output(transform="default"), XGBRegressor()),
        _PUBLISHED_GRID,
        cv=CrossFitKFold(2, 1, random_state, stratify=task),
        scoring="neg_mean_squared_error",
    )


def fit_on_all(encoded, z, weights):
    """Fit on all rows, in an order that depends on their content only."""
    rows = shuffled(content_order(encoded.X, z, [weights]))
    return encoded.fitted(z, weights, rows)
