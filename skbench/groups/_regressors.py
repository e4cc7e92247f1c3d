"""Regressors of the estimators: presets, encoding of text, seeds, weights."""

from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_array, check_is_fitted, has_fit_parameter, validate_data

from skbench._columns import (
    ENCODER,
    NumberedColumns,
    encoding,
    nominal_columns,
    refuse_unreadable,
    text_columns,
    warn_of_numbered_names,
    with_indicators,
)
from skbench._random import is_frozen, seeded
from skbench._warnings import warn

_PENALTIES = np.geomspace(0.1, 1000, 9)
_TIE = 1e-9  # relative difference of errors that is due to rounding
_DEPTHS = (2, 3, 4)
_MAX_TREES = 200
_LEARNING_RATE = 0.1
_SMALL = 0.01  # standard deviation below which absolute thresholds of XGBoost matter
_LARGE = 1e15  # scores whose sums of squares overflow in XGBoost (32 bits)
_PATIENCE = 10  # rounds without improvement before boosting stops


class TunedXGBRegressor(RegressorMixin, BaseEstimator):
    """XGBoost with depth and number of trees chosen by 2-fold cross-validation."""

    def __init__(self, random_state=None, n_jobs=1):
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y, sample_weight=None):
        """Choose depth and number of trees, then boost on all rows."""
        return self._boost(*self._checked(X, y), sample_weight)

    def held_out(self, X, y, sample_weight, new):
        """Fit, and predict new rows; the input is checked already."""
        return self._boost(X, y, sample_weight)._predicted(new)

    def _boost(self, X, y, sample_weight):
        # If two columns split equally well, trees take the first. Order columns by content, so
        # that names of levels and the order of columns have no effect.
        mixed = np.random.default_rng(0).normal(size=len(X)) @ np.nan_to_num(X)
        self._order = np.argsort(mixed, kind="stable")
        data, self._unit = self._data(X[:, self._order], y, sample_weight)
        shuffled = KFold(2, shuffle=True, random_state=self.random_state)
        folds = list(shuffled.split(y)) if len(y) >= 4 else []
        self.max_depth_, self.n_estimators_ = self._best(data, folds)
        self.booster_ = self._booster(self.max_depth_, data)
        for tree in range(self.n_estimators_):
            self.booster_.update(data, tree)
        return self

    def predict(self, X):
        """Predict rows of features."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=float, ensure_all_finite="allow-nan")
        return self._predicted(X)

    def _predicted(self, X):
        return self.booster_.inplace_predict(X[:, self._order]).astype(float) * self._unit

    def _checked(self, X, y):
        return validate_data(self, X, y, dtype=float, y_numeric=True, ensure_all_finite="allow-nan")

    def _data(self, X, y, sample_weight=None):
        """Rows for XGBoost, and the unit of their scores."""
        import xgboost

        unit = _unit_of(y)
        return xgboost.DMatrix(X, y / unit, weight=sample_weight), unit

    def _best(self, data, folds):
        """Depth and number of trees with the smallest mean error over the folds."""
        if not folds:
            return _DEPTHS[0], _PATIENCE
        parts = [(data.slice(train), data.slice(test)) for train, test in folds]
        errors = {}
        for depth in _DEPTHS:
            history = self._held_out_errors(depth, parts)
            errors[depth, int(np.argmin(history)) + 1] = min(history)
        return min(errors, key=errors.get)

    def _held_out_errors(self, depth, parts):
        """Mean error after each tree, until 10 more trees bring no improvement."""
        boosters = [self._booster(depth, *part) for part in parts]
        history = []
        for tree in range(_MAX_TREES):
            total = 0.0
            for booster, (train, test) in zip(boosters, parts, strict=True):
                booster.update(train, tree)
                total += float(booster.eval_set([(test, "test")], tree).rsplit(":", 1)[1])
            history.append(total / len(parts))
            if tree - int(np.argmin(history)) >= _PATIENCE:
                break
        return history

    def _booster(self, depth, *data):
        """A booster without trees, equivalent to those of `xgboost.train` and `xgboost.cv`."""
        import xgboost

        settings = {
            "max_depth": depth,
            "eta": _LEARNING_RATE,
            "nthread": self.n_jobs,
            "seed": self.random_state or 0,
        }
        return xgboost.Booster(settings, data)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _unit_of(y):
    """Power of 2 that rescales very small or very large scores; else 1."""
    spread, largest = np.std(y), np.max(np.abs(y))
    if largest > _LARGE:
        return 2.0 ** np.round(np.log2(largest))
    rounding = np.finfo(float).eps * largest
    return 2.0 ** np.round(np.log2(spread)) if 4 * rounding < spread < _SMALL else 1.0


def _lightgbm_preset():
    """LightGBM with leaves for a few dozen groups; its defaults need 40 groups."""
    from lightgbm import LGBMRegressor

    small = LGBMRegressor(
        n_estimators=100,
        learning_rate=0.05,
        num_leaves=7,
        min_child_samples=5,
        n_jobs=1,
        verbose=-1,
    )
    return make_pipeline(NumberedColumns(), small)


class _StrictRidgeCV(RidgeCV):
    """Take the largest of equally good penalties, so that rounding has no effect."""

    def fit(self, X, y, sample_weight=None):
        with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 of a single row
            super().fit(X, y, sample_weight)
            errors = self.cv_results_.mean(axis=0)
            alike = ~(errors > (1 + _TIE) * errors.min())
            largest = self.alphas[np.flatnonzero(alike)[-1]]
            if largest != self.alpha_:
                again = RidgeCV([largest]).fit(X, y, sample_weight)
                self.alpha_, self.coef_, self.intercept_ = largest, again.coef_, again.intercept_
        return self


def _ridge_preset():
    """Ridge regression on standardized features, with generalized cross-validation."""
    return make_pipeline(
        SimpleImputer(), StandardScaler(), _StrictRidgeCV(_PENALTIES, store_cv_results=True)
    )


_PRESETS = {"xgboost": TunedXGBRegressor, "lightgbm": _lightgbm_preset, "ridge": _ridge_preset}
_KNOWS_CATEGORIES = ("lightgbm",)


def prepared_regressor(regressor, X, groups, seed):
    """An unfitted copy of the regressor for these features."""
    warn_of_numbered_names(X)
    preset = "xgboost" if regressor is None else regressor
    if isinstance(preset, str):
        refuse_unreadable(X)
        nominal = text_columns(X) if preset in _KNOWS_CATEGORIES else nominal_columns(X)
        regressor = _PRESETS[preset]()
        return encoding(_on_one_core(seeded(regressor, seed)), X, groups, nominal)
    if not any(hasattr(part, "transform") for part in regressor.get_params().values()):
        refuse_unreadable(X)
    return with_indicators(_on_one_core(seeded(regressor, seed)), X, groups)


def _on_one_core(regressor):
    """The regressor with any unset `n_jobs` set to 1."""
    parameters = regressor.get_params()
    open_jobs = [
        name
        for name, value in parameters.items()
        if value is None and name.split("__")[-1] == "n_jobs" and not is_frozen(name, parameters)
    ]
    return regressor.set_params(**dict.fromkeys(open_jobs, 1)) if open_jobs else regressor


class Encoded(NamedTuple):
    """A regressor without its encoder, the features, and their encoded columns."""

    encoder: BaseEstimator | None
    regressor: BaseEstimator
    X: pd.DataFrame | np.ndarray
    columns: pd.DataFrame | np.ndarray

    @classmethod
    def once(cls, regressor, X):
        """Encode the features once for all fits."""
        if isinstance(regressor, Pipeline) and regressor.steps[0][0] == ENCODER:
            encoder, regressor = (step for _, step in regressor.steps)
            encoder = clone(encoder).fit(X)
            return cls(encoder, regressor, X, encoder.transform(X))
        return cls(None, regressor, X, X)

    def for_folds(self):
        """Columns for `held_out`."""
        if isinstance(self.regressor, TunedXGBRegressor):
            # Check once, because a check in each fold costs as much as a few trees.
            return check_array(self.columns, dtype=float, ensure_all_finite="allow-nan")
        return self.columns

    def fitted(self, z, weights, rows):
        """The regressor with its encoder, fitted to some groups."""
        inner = fit_regressor(clone(self.regressor), self.columns, z, weights, rows)
        if self.encoder is None:
            return inner
        return Pipeline([(ENCODER, self.encoder), ("regressor", inner)])


def precision_weights(sigma2):
    """Weights 1 / sigma2 with mean 1; noiseless groups get the largest weight of the others."""
    noisy = sigma2 > 0
    if not noisy.any():
        return np.ones_like(sigma2)
    least = sigma2[noisy].min()
    weights = least / np.maximum(sigma2, least)  # 1 / sigma2 may overflow
    return weights / weights.mean()


def rows_of(X, positions):
    """Rows of a frame or an array."""
    return X.iloc[positions] if isinstance(X, pd.DataFrame) else X[positions]


def predictions(regressor, X):
    """Predictions of a fitted regressor, a float array of shape (n_groups,)."""
    with _columns_named(X):
        return np.asarray(regressor.predict(X), dtype=float).ravel()


@contextmanager
def _columns_named(X):
    """Add the columns of X to errors of the regressor."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if isinstance(X, pd.DataFrame):
            kinds = ", ".join(f"{name} ({dtype})" for name, dtype in X.dtypes.items())
            error.add_note(f"Columns passed to the regressor: {kinds}.")
        raise


def fit_regressor(regressor, X, z, weights, rows):
    """Fit to some groups, with weights if the regressor accepts them."""
    X, z, keywords = rows_of(X, rows), z[rows], {}
    if weights is not None:
        name = _weight_keyword(regressor)
        if name is None:
            warn(
                f"{type(regressor).__name__} has no sample_weight, so weight_by_precision "
                "has no effect."
            )
        else:
            keywords[name] = weights[rows]
    with _columns_named(X):
        if not keywords:
            return regressor.fit(X, z)
        # The keyword already names the step; metadata routing would reject it.
        with config_context(enable_metadata_routing=False):
            return regressor.fit(X, z, **keywords)


def held_out(regressor, X, z, weights, train, test):
    """Fit a regressor to some groups, and predict other groups."""
    if isinstance(regressor, TunedXGBRegressor):
        weights = None if weights is None else weights[train]
        return regressor.held_out(X[train], z[train], weights, X[test])
    fit_regressor(regressor, X, z, weights, train)
    return predictions(regressor, rows_of(X, test))


def _weight_keyword(regressor):
    """Name of the weights in `fit` of a regressor, a pipeline or a search."""
    if has_fit_parameter(regressor, "sample_weight"):
        return "sample_weight"
    if isinstance(regressor, Pipeline):
        name, last = regressor.steps[-1]
        inner = _weight_keyword(last)
        return inner and f"{name}__{inner}"
    if hasattr(regressor, "param_grid") or hasattr(regressor, "param_distributions"):
        return _weight_keyword(regressor.estimator)
    return None
