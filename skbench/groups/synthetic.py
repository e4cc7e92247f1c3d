"""Synthetic regression: estimate each group by a regression on features."""

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

    Such predictions are called synthetic estimates in small area estimation. The items of a group
    influence its estimate only through the regression.

    Parameters
    ----------
    regressor : estimator, {"xgboost", "lightgbm", "ridge"} or None, default=None
        Any scikit-learn regressor. None is XGBoost with depth and number of trees tuned by
        2-fold cross-validation. Text columns of a frame are one-hot encoded unless the regressor
        has its own transformer.
    weight_by_precision : bool, default=False
        Whether to weight groups by ``1 / sigma2``.
    sampling_variance : float, default=None
        Known sampling variance of all groups, used if `fit` gets no `sigma2`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the regressor and of the split behind the intervals.
    n_jobs : int, default=None
        Number of folds fitted in parallel (joblib).

    Attributes
    ----------
    regressor_ : estimator
        Regressor fitted to all groups.
    prior_variance_ : float
        Variance of the true performances around the regression, from held-out groups.
    z_, sigma2_, n_, labels_
        The fitted groups.

    Raises
    ------
    ValueError
        If there are fewer than two groups (or topics).

    See Also
    --------
    EmpiricalBayes : Combine the same regression with the direct estimate of each group.

    Notes
    -----
    The method is that of [1]_, section 3 and A.1. As there, the regression is fitted to all groups,
    so the estimate of a group uses its own direct estimate. The interval is ``f(X) +- c sqrt(A)``.
    Here `c` is the normal quantile and `A` the prior variance, estimated by a 2-fold cross-fit. The
    standard error uses this estimate. The interval uses the mean of the plausible values of `A`,
    given the number of groups or topics (`skbench.stats.robust_eb.plausible_prior_variances`). The
    guarantee is "model": coverage holds if performances are normal around the regression.

    **When not to use it.** For anything except reproducing a paper or a baseline, because its error
    does not vanish for large groups. With 50 items per group and uninformative features, its
    squared error was 16 times that of the direct estimates. With the trees of the paper it was 6
    times as large (:doc:`/user_guide/reproducing_the_paper`).

    References
    ----------
    .. [1] Fogliato, Patil, Akpinar and Monfort (2024). Precise Model
       Benchmarking with Only a Few Observations.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from skbench import SyntheticRegression
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
        """Return the settings of Fogliato et al. (2024), A.1.

        Parameters
        ----------
        task : str, default="topic"
            Column of `X` that stratifies the tuning of the trees.
        random_state : int, RandomState, Generator or None, default=0
            Seed of the folds and of the trees.

        Returns
        -------
        SyntheticRegression
            XGBoost with number and depth of trees tuned by 2-fold cross-validation, stratified by
            task, on features and indicators of models and tasks.

        Notes
        -----
        `EmpiricalBayes.as_published` uses the same trees. The paper does not report the grid (here
        10, 30 or 100 trees of depth 2 or 4) and compares no interval of this estimator. Its
        intercepts of models and tasks are indicators here; its mean embeddings are `embed_groups`.
        Without the column `task`, set ``regressor__cv`` to unstratified folds.

        **When not to use it.** Use it only to reproduce the paper.
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
        return np.zeros(len(self.z_))  # ignores that the regression used the group itself

    def _value(self, X, z, sigma2, n):
        return predictions(self.regressor_, X)

    def _bounds(self, X, z, sigma2, n, confidence_level):
        return self._around(self._value(X, z, sigma2, n), confidence_level)

    def _around(self, prior_mean, confidence_level):
        error = np.full(len(prior_mean), np.sqrt(self.prior_variance_))
        low, high = normal_interval(prior_mean, np.sqrt(self._plausible_variance), confidence_level)
        return Bounds(low, high, error)

    @property
    def _plausible_variance(self):
        """Mean of the plausible prior variances, in case `A` is 0 by chance."""
        A, units = self.prior_variance_, self._n_independent
        return robust_eb.plausible_prior_variances(A, self.sigma2_, units)[:, 0].mean()


def trees_as_published(task, random_state):
    """XGBoost tuned as in Fogliato et al. (2024), with our own grid because they report none."""
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
    """Fit to all rows, in an order that depends only on their content."""
    rows = shuffled(content_order(encoded.X, z, [weights]))
    return encoded.fitted(z, weights, rows)
