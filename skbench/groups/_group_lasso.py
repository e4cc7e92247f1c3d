"""A weighted lasso with an intercept per row, and the choice of its penalty."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

_MAX_ROUNDS = 100  # rounds in which rows cross their thresholds
_STEP_SIZES = 0.5 ** np.arange(12)
_PROXIMAL = 1e-3  # weight of the proximal term, because indicators are collinear
_MAX_PASSES = 500
_LASSO_TOLERANCE = 1e-6  # relative to the squared length of the rows
_LOSS_TOLERANCE = 1e-9  # relative to the loss
_PATH_LENGTH = 20
_ROUNDING = 1e-15


class GroupLasso(RegressorMixin, BaseEstimator):
    """Lasso on features with an intercept per fitted row; new rows have no intercept."""

    def __init__(self, penalty=1.0):
        self.penalty = penalty

    def fit(self, X, y, sample_weight=None):
        """Fit to rows with weights."""
        X, y = validate_data(self, X, y, dtype=float, y_numeric=True)
        refuse_few(len(y))
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
        # From the largest penalty down: a cold start would give every row its own intercept.
        top = max(largest_penalty(X, y, weight), self.penalty)
        path = np.geomspace(top, self.penalty, _PATH_LENGTH) if self.penalty > 0 else [0.0]
        for *_, found in lasso_path(X, y, weight, path):
            self.intercept_, self.coef_ = found
        return self

    def predict(self, X):
        """Predict rows from their features."""
        check_is_fitted(self)
        return self.intercept_ + validate_data(self, X, reset=False, dtype=float) @ self.coef_


class NumberScaler(StandardScaler):
    """Standardize columns, but only center indicators, because they are intercepts."""

    def fit(self, X, y=None, sample_weight=None):
        """Learn means and scales."""
        super().fit(X, y, sample_weight)
        indicator = np.isin(X, (0, 1)).all(axis=0)
        self.scale_ = np.where(indicator, 1.0, self.scale_)
        return self


def refuse_few(n_groups):
    """Raise an error for a single group."""
    if n_groups < 2:
        raise ValueError(
            "StructuredRegression splits the groups into halves and needs two groups in each, "
            f"got n_samples = {n_groups}. Use DirectEstimator for so few groups."
        )


def shrunk_to_zero(residual, threshold):
    """Soft-thresholded residuals."""
    return np.sign(residual) * np.maximum(np.abs(residual) - threshold, 0.0)


def largest_penalty(X, z, weight):
    """The smallest penalty at which all coefficients and intercepts of rows are 0."""
    residual = weight * (z - np.average(z, weights=weight))
    return max(np.abs(X.T @ residual).max(initial=0.0), np.abs(residual).max())


def least_risk(X, z, sigma2, weight, penalties):
    """The penalty with the smallest unbiased estimate of the risk, and that estimate."""
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
    """The penalty with the smallest weighted squared error on held-out rows."""
    errors = np.zeros(len(penalties))
    for train, test in folds:
        refuse_few(len(train))
        path = lasso_path(X[train], z[train], weight[train], penalties)
        for at, (_, (intercept, coef)) in enumerate(path):
            errors[at] += weight[test] @ (z[test] - intercept - X[test] @ coef) ** 2
    return penalties[int(np.argmin(errors))]


def lasso_path(X, z, weight, penalties):
    """Yield each penalty with its intercept and coefficients, the largest penalty first."""
    found = np.average(z, weights=weight), np.zeros(X.shape[1])
    for penalty in penalties:
        found = lasso_of_most(X, z, weight, penalty, found)
        yield penalty, found


def lasso_of_most(X, z, weight, penalty, start):
    """Intercept and coefficients, with an intercept for every row."""
    found = start
    loss = _loss(X, z, weight, penalty, *found)
    if loss <= _ROUNDING**2 * np.sum(weight * z**2):  # constant scores
        return found
    proximal = _PROXIMAL * np.mean(weight @ X**2) if X.shape[1] else 0.0
    for _ in range(_MAX_ROUNDS):
        goal = _with_fixed_sides(X, z, weight, penalty, found, proximal)
        for step in _STEP_SIZES:
            tried = tuple(old + step * (new - old) for old, new in zip(found, goal, strict=True))
            lower = _loss(X, z, weight, penalty, *tried)
            if lower < loss:
                break
        gained, loss = loss - lower, min(loss, lower)
        if gained > 0:
            found = tried
        if gained <= _LOSS_TOLERANCE * loss:
            break
    return found


def _loss(X, z, weight, penalty, intercept, coef):
    """Half the weighted squared error plus the penalty, with optimal intercepts of rows."""
    size, threshold = np.abs(z - intercept - X @ coef), penalty / weight
    near = np.minimum(size, threshold)
    return np.sum(weight * near * (size - near / 2)) + penalty * np.abs(coef).sum()


def _with_fixed_sides(X, z, weight, penalty, found, proximal):
    """Minimizer if no row crosses its threshold, with a proximal term on the coefficients."""
    intercept, coef = found
    residual = z - intercept - X @ coef
    far = np.abs(residual) > penalty / weight
    near = np.where(far, 0.0, weight)
    total = near.sum()
    if total == 0:
        return found
    # The gradient of rows beyond the threshold is the penalty, whatever their distance.
    pull = near * z + np.where(far, penalty * np.sign(residual), 0.0)
    center = near @ X / total
    size = len(coef)
    if size and proximal > 0:
        gram = (X * near[:, None]).T @ X - total * np.outer(center, center)
        root = np.linalg.cholesky(gram + proximal * np.eye(size)).T
        cross = X.T @ pull - center * pull.sum() + proximal * coef
        lasso = Lasso(
            penalty / size,
            fit_intercept=False,
            warm_start=True,
            max_iter=_MAX_PASSES,
            tol=_LASSO_TOLERANCE,
            random_state=0,  # unused, but None would advance the global generator
        )
        lasso.coef_ = coef.copy()
        with warnings.catch_warnings():
            # Single rounds need not converge, because rounds repeat until the loss is stable.
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
