"""A weighted lasso with one more intercept per row, and the penalty with the least risk."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

_MOST_ROUNDS = 100  # of rows that change sides; the intercepts of rows are exact in any round
_STEPS_TOWARDS = 0.5 ** np.arange(12)
_HELD_BACK = 1e-3  # of the mean square of a column: indicators that add up to one
_MOST_PASSES = 500
_CLOSE = 1e-6  # of the squared length of the rows
_SETTLED = 1e-9  # of the loss
_STEPS = 20
_ROUNDING = 1e-15


class GroupLasso(RegressorMixin, BaseEstimator):
    """Lasso on features and one intercept per row, which rows not fitted do without."""

    def __init__(self, penalty=1.0):
        self.penalty = penalty

    def fit(self, X, y, sample_weight=None):
        """Fit to rows with weights."""
        X, y = validate_data(self, X, y, dtype=float, y_numeric=True)
        refuse_few(len(y))
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
        # From the largest penalty down: from afar, all rows would keep to themselves.
        top = max(largest_penalty(X, y, weight), self.penalty)
        path = np.geomspace(top, self.penalty, _STEPS) if self.penalty > 0 else [0.0]
        for *_, found in lasso_path(X, y, weight, path):
            self.intercept_, self.coef_ = found
        return self

    def predict(self, X):
        """Predict rows by their features alone."""
        check_is_fitted(self)
        return self.intercept_ + validate_data(self, X, reset=False, dtype=float) @ self.coef_


class NumberScaler(StandardScaler):
    """Standardized columns, but indicators only centered: they are intercepts."""

    def fit(self, X, y=None, sample_weight=None):
        """Learn means and scales."""
        super().fit(X, y, sample_weight)
        indicator = np.isin(X, (0, 1)).all(axis=0)
        self.scale_ = np.where(indicator, 1.0, self.scale_)
        return self


def refuse_few(n_groups):
    """Refuse to learn from a single group."""
    if n_groups < 2:
        raise ValueError(
            "StructuredRegression learns from each half of the groups what the other half needs, "
            f"and needs two in each half, got n_samples = {n_groups}. With so few groups "
            "use DirectEstimator, which learns nothing from the others."
        )


def shrunk_to_zero(residual, threshold):
    """Residuals less their thresholds, 0 where they are smaller."""
    return np.sign(residual) * np.maximum(np.abs(residual) - threshold, 0.0)


def largest_penalty(X, z, weight):
    """From which on every coefficient and every row's own intercept is 0."""
    residual = weight * (z - np.average(z, weights=weight))
    return max(np.abs(X.T @ residual).max(initial=0.0), np.abs(residual).max())


def least_risk(X, z, sigma2, weight, penalties):
    """The penalty with the least unbiased estimate of risk, and that risk."""
    risks = []
    for penalty, (intercept, coef) in lasso_path(X, z, weight, penalties):
        residual = z - intercept - X @ coef
        own = shrunk_to_zero(residual, penalty / weight)
        gain = np.ones(len(z))
        others = own == 0
        gain[others] = _leverage(X[others][:, coef != 0], weight[others])
        risks.append(np.sum((residual - own) ** 2 - sigma2 + 2 * sigma2 * gain))
    best = int(np.argmin(risks))
    return penalties[best], risks[best] / len(z)


def least_held_out(X, z, weight, penalties, folds):
    """The penalty with the least weighted squared error on held-out rows."""
    errors = np.zeros(len(penalties))
    for train, test in folds:
        refuse_few(len(train))
        path = lasso_path(X[train], z[train], weight[train], penalties)
        for at, (_, (intercept, coef)) in enumerate(path):
            errors[at] += weight[test] @ (z[test] - intercept - X[test] @ coef) ** 2
    return penalties[int(np.argmin(errors))]


def lasso_path(X, z, weight, penalties):
    """Each penalty with its intercept and coefficients; the largest penalty first."""
    found = np.average(z, weights=weight), np.zeros(X.shape[1])
    for penalty in penalties:
        found = lasso_of_most(X, z, weight, penalty, found)
        yield penalty, found


def lasso_of_most(X, z, weight, penalty, start):
    """Intercept and coefficients where every row has an intercept of its own."""
    found = start
    loss = _loss(X, z, weight, penalty, *found)
    if loss <= _ROUNDING**2 * np.sum(weight * z**2):  # constant scores
        return found
    back = _HELD_BACK * np.mean(weight @ X**2) if X.shape[1] else 0.0
    for _ in range(_MOST_ROUNDS):
        goal = _for_these_sides(X, z, weight, penalty, found, back)
        for step in _STEPS_TOWARDS:
            tried = tuple(old + step * (new - old) for old, new in zip(found, goal, strict=True))
            lower = _loss(X, z, weight, penalty, *tried)
            if lower < loss:
                break
        gained, loss = loss - lower, min(loss, lower)
        if gained > 0:
            found = tried
        if gained <= _SETTLED * loss:
            break
    return found


def _loss(X, z, weight, penalty, intercept, coef):
    """Half the weighted squares and the penalty, where rows' own intercepts are the best."""
    size, threshold = np.abs(z - intercept - X @ coef), penalty / weight
    near = np.minimum(size, threshold)
    return np.sum(weight * near * (size - near / 2)) + penalty * np.abs(coef).sum()


def _for_these_sides(X, z, weight, penalty, found, back):
    """Least loss if no row crossed its threshold, and coefficients were held by `back`."""
    intercept, coef = found
    residual = z - intercept - X @ coef
    far = np.abs(residual) > penalty / weight
    near = np.where(far, 0.0, weight)
    total = near.sum()
    if total == 0:
        return found
    # Rows beyond the threshold pull with the penalty, whatever their distance.
    pull = near * z + np.where(far, penalty * np.sign(residual), 0.0)
    center = near @ X / total
    size = len(coef)
    if size and back > 0:
        gram = (X * near[:, None]).T @ X - total * np.outer(center, center)
        root = np.linalg.cholesky(gram + back * np.eye(size)).T
        cross = X.T @ pull - center * pull.sum() + back * coef
        lasso = Lasso(
            penalty / size,
            fit_intercept=False,
            warm_start=True,
            max_iter=_MOST_PASSES,
            tol=_CLOSE,
            random_state=0,  # never used: without one the global generator is moved
        )
        lasso.coef_ = coef.copy()
        with warnings.catch_warnings():
            # Rounds go on until the loss no longer falls, however far each of them gets.
            warnings.simplefilter("ignore", ConvergenceWarning)
            coef = lasso.fit(root, np.linalg.solve(root.T, cross)).coef_
    return pull.sum() / total - center @ coef, coef


def _leverage(X, weight):
    """Diagonal of the weighted projection on a constant and the columns."""
    if not len(weight):
        return weight
    rows = np.column_stack([np.ones(len(weight)), X]) * np.sqrt(weight)[:, None]
    left, singular, _ = np.linalg.svd(rows, full_matrices=False)
    return np.sum(left[:, singular > 1e-8 * singular[0]] ** 2, axis=1)
