"""Structured regression: a weighted lasso on intercepts and features."""

from sklearn.linear_model import LassoCV
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbench.groups._columns import indicator_encoder, nominal_columns, refuse_unreadable
from skbench.groups.synthetic import SyntheticRegression


class StructuredRegression(SyntheticRegression):
    """Estimate each group by a lasso weighted with the precision of the groups.

    Parameters
    ----------
    alphas : int or array-like, default=100
        Penalties to try, or how many, as in `sklearn.linear_model.LassoCV`.
    cv : int, default=5
        Folds that choose the penalty; fewer where there are few groups.
    sampling_variance : float, default=None
        Known common sampling variance, where `fit` gets no `sigma2`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the folds.
    n_jobs : int, default=None
        Folds of the residual variance fitted at the same time (joblib).

    Attributes
    ----------
    regressor_ : Pipeline
        Fitted on all groups; its last step is a LassoCV.
    prior_variance_ : float
        Variance of the true performances around the regression.
    z_, sigma2_, n_, labels_
        The fitted groups.

    Raises
    ------
    ValueError
        If a half of the split has fewer than two groups, as with fewer than four in all.

    Notes
    -----
    Equation (3) of [1]_, after [2]_: least squares with weights ``1 / sigma2``
    and a lasso penalty chosen by cross-validation. Text columns become one
    intercept per level. Columns are standardized, for one penalty to fit
    features in different units; the papers leave this open. The interval is
    that of `SyntheticRegression`.

    When not to use it: alone, where groups are large; it is a synthetic
    regression and its bias stays.

    References
    ----------
    .. [1] Fogliato, Patil, Akpinar and Monfort (2024). Precise Model
       Benchmarking with Only a Few Observations.
    .. [2] Herlihy, Truong, Chouldechova and Dudik (2024). A structured regression
       approach for evaluating model performance across intersectional subgroups.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 1, 12)[:, None]
    >>> lasso = StructuredRegression(random_state=0)
    >>> lasso.fit(X, 0.2 + 0.5 * X[:, 0], sigma2=0.01).predict([[0.5]]).round(2)
    array([0.45])
    """

    _method = "structured regression"

    def __init__(self, alphas=100, cv=5, *, sampling_variance=None, random_state=None, n_jobs=None):
        self.alphas = alphas
        self.cv = cv
        self.sampling_variance = sampling_variance
        self.random_state = random_state
        self.n_jobs = n_jobs

    _weighted = True

    def _unfitted_regressor(self, X, groups, seed):
        n_folds = max(2, min(self.cv, len(X) // 4))
        folds = _KFoldOfFew(n_folds, shuffle=True, random_state=seed)
        lasso = LassoCV(alphas=self.alphas, cv=folds)
        refuse_unreadable(X)
        nominal = nominal_columns(X)
        encoder = [indicator_encoder(X, groups, nominal)] if nominal else []
        return make_pipeline(*encoder, StandardScaler(), lasso)


class _KFoldOfFew(KFold):
    """As many folds as there are rows, where these are fewer."""

    def split(self, X, y=None, groups=None):
        if len(X) < 2:
            raise ValueError(
                "StructuredRegression chooses its penalty by cross-validation in each half of the "
                f"groups and needs two in each half, got n_samples = {len(X)}. With so few groups "
                "use DirectEstimator, which learns nothing from the others."
            )
        n_folds = min(self.n_splits, len(X))
        return KFold(n_folds, shuffle=True, random_state=self.random_state).split(X)
