"""The regressor inside: default, text columns, seeds, weights."""

import warnings

import numpy as np
import pandas as pd
from pandas.api.types import is_string_dtype
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from skbench._checks import check_option

_ENCODER = "text encoder"
_DEPTHS = (2, 3, 4)
_MAX_TREES = 200
_LEARNING_RATE = 0.1
_PATIENCE = 10  # rounds without improvement before boosting stops


class TunedXGBRegressor(RegressorMixin, BaseEstimator):
    """XGBoost with depth and number of trees chosen by 2-fold cross-validation.

    Parameters
    ----------
    random_state : int, default=None
        Seed of the folds and of XGBoost.
    n_jobs : int, default=1
        Threads of XGBoost; one is fastest for a few hundred groups.

    Attributes
    ----------
    booster_ : xgboost.Booster
        Fitted on all rows.
    max_depth_, n_estimators_ : int
        What cross-validation chose.

    Notes
    -----
    Fogliato et al. (2024), A.1, tune the same two numbers but do not print their
    grid. Here depth is 2, 3 or 4 and up to 200 trees are grown at learning rate
    0.1, until 10 more trees no longer lower the cross-validated error.
    """

    def __init__(self, random_state=None, n_jobs=1):
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y, sample_weight=None):
        """Choose depth and number of trees, then boost on all rows."""
        import xgboost

        X, y = validate_data(self, X, y, dtype=float, y_numeric=True, ensure_all_finite="allow-nan")
        data = xgboost.DMatrix(X, y, weight=sample_weight)
        shuffled = KFold(2, shuffle=True, random_state=self.random_state)
        folds = list(shuffled.split(X)) if len(X) >= 4 else []
        self.max_depth_, self.n_estimators_ = self._tuned(data, folds)
        self.booster_ = xgboost.train(self._settings(self.max_depth_), data, self.n_estimators_)
        return self

    def predict(self, X):
        """Predict rows of features."""
        import xgboost

        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=float, ensure_all_finite="allow-nan")
        return self.booster_.predict(xgboost.DMatrix(X)).astype(float)

    def _tuned(self, data, folds):
        """Depth and number of trees with the least mean error over the folds."""
        if not folds:
            return _DEPTHS[0], _PATIENCE
        parts = [(data.slice(train), data.slice(test)) for train, test in folds]
        errors = {}
        for depth in _DEPTHS:
            history = self._held_out_errors(depth, parts)
            errors[depth, int(np.argmin(history)) + 1] = min(history)
        return min(errors, key=errors.get)

    def _held_out_errors(self, depth, parts):
        """Mean error after each tree, until 10 more no longer lower it."""
        # xgboost.cv does the same, but its callbacks cost as much as the trees.
        import xgboost

        boosters = [xgboost.Booster(self._settings(depth), part) for part in parts]
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

    def _settings(self, depth):
        return {
            "max_depth": depth,
            "eta": _LEARNING_RATE,
            "nthread": self.n_jobs,
            "seed": self.random_state or 0,
        }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _lightgbm_preset():
    """LightGBM whose leaves fit in a few dozen groups: its own defaults need 40."""
    from lightgbm import LGBMRegressor

    return LGBMRegressor(
        n_estimators=100,
        learning_rate=0.05,
        num_leaves=7,
        min_child_samples=5,
        n_jobs=1,
        verbose=-1,
    )


_PRESETS = {"xgboost": TunedXGBRegressor, "lightgbm": _lightgbm_preset}


def prepared_regressor(regressor, X, groups, seed):
    """An unfitted copy of the regressor, ready for these features.

    Parameters
    ----------
    regressor : estimator, "xgboost", "lightgbm" or None
        What the user asked for; None is "xgboost".
    X : DataFrame or ndarray of shape (n_groups, n_features)
        Features; only their columns matter.
    groups : array-like of shape (n_groups,) or None
        What folds keep together.
    seed : int
        Fills every ``random_state`` that the user left open.

    Returns
    -------
    estimator
        Text columns are one-hot encoded in front of a regressor that brings no
        transformer of its own.
    """
    if regressor is None or isinstance(regressor, str):
        name = regressor or "xgboost"
        check_option("regressor", name, _PRESETS)
        regressor = _PRESETS[name]()
    else:
        regressor = clone(regressor)
    open_parameters = {
        name: seed if name.endswith("random_state") else 1
        for name, value in regressor.get_params().items()
        if value is None and name.split("__")[-1] in ("random_state", "n_jobs")
    }
    regressor.set_params(**open_parameters)
    if isinstance(X, pd.DataFrame) and text_columns(X) and not _has_transformer(regressor):
        return Pipeline([(_ENCODER, text_encoder(X, groups)), ("regressor", regressor)])
    return regressor


def encoded_once(regressor, X):
    """The regressor without its text encoder, and the columns that the encoder makes of X.

    Encoding looks at no scores, so it need not be learned fold by fold, which takes ten
    times as long as a ridge regression. A level that a fold has not seen is a column of
    zeros there.

    Parameters
    ----------
    regressor : estimator
        From `prepared_regressor`; one without an encoder of ours is left alone.
    X : DataFrame or ndarray of shape (n_groups, n_features)
        Features.

    Returns
    -------
    regressor : estimator
    X : DataFrame or ndarray of shape (n_groups, n_columns)
    """
    if not isinstance(regressor, Pipeline) or regressor.steps[0][0] != _ENCODER:
        return regressor, X
    encoder, inner = (step for _, step in regressor.steps)
    columns = clone(encoder).fit_transform(X)
    is_numeric = all(dtype.kind in "buif" for dtype in columns.dtypes)
    return inner, columns.to_numpy(dtype=float) if is_numeric else columns


def text_columns(X):
    """Names of the columns of a frame that hold text; categories are not text."""
    categories = X.select_dtypes("category").columns
    return [c for c in X.columns.difference(categories, sort=False) if is_string_dtype(X[c])]


def informative_columns(X, groups):
    """Columns that can tell a held-out row something.

    Parameters
    ----------
    X : DataFrame of shape (n_groups, n_features)
        Features.
    groups : array-like of shape (n_groups,) or None
        What folds keep together; None for single rows.

    Returns
    -------
    list
        Names of columns that vary, without text columns whose every level occurs
        in one row, or in one of `groups`: they only name it.
    """
    units = np.arange(len(X)) if groups is None else np.asarray(groups)
    text = text_columns(X)
    return [
        c
        for c in X.columns
        if X[c].nunique(dropna=False) > 1 and not (c in text and _levels_within_units(X[c], units))
    ]


def text_encoder(X, groups, drop=None):
    """Transformer of a frame: text columns to indicators, the rest as it is.

    A text column whose every level occurs in one row, or in one of `groups`, is
    left out: held-out rows never have a level that the training rows had.

    Parameters
    ----------
    X : DataFrame of shape (n_groups, n_features)
        Training features.
    groups : array-like of shape (n_groups,) or None
        What folds keep together; None for single rows.
    drop : {None, "first"}, default=None
        As in `sklearn.preprocessing.OneHotEncoder`.

    Returns
    -------
    ColumnTransformer
    """
    text = text_columns(X)
    names = [c for c in informative_columns(X, groups) if c in text]
    others = [c for c in X.columns if c not in text]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False, drop=drop)
    parts = [(encoder, names), ("passthrough", others)]
    if not names and not others:
        # Nothing is left to learn from: a constant column makes any regressor a mean.
        parts = [(FunctionTransformer(_constant_column), list(X.columns))]
    transformer = make_column_transformer(*parts, verbose_feature_names_out=False)
    return transformer.set_output(transform="pandas")


def _constant_column(X):
    return pd.DataFrame({"constant": np.ones(len(X))}, index=X.index)


def _levels_within_units(column, units):
    spread = pd.Series(units).groupby(np.asarray(column, dtype=object)).nunique()
    return bool((spread == 1).all())


def _has_transformer(regressor):
    return any(hasattr(part, "transform") for part in regressor.get_params().values())


def precision_weights(sigma2):
    """Weights 1 / sigma2 with mean 1; noiseless groups weigh as the best noisy one."""
    noisy = sigma2 > 0
    if not noisy.any():
        return np.ones_like(sigma2)
    weights = 1 / np.maximum(sigma2, sigma2[noisy].min())
    return weights / weights.mean()


def fit_regressor(regressor, X, z, weights=None):
    """Fit, with weights where the regressor can take them.

    Parameters
    ----------
    regressor : estimator
        Fitted in place.
    X : DataFrame or ndarray of shape (n_groups, n_features)
        Features.
    z : ndarray of shape (n_groups,)
        Direct estimates.
    weights : ndarray of shape (n_groups,), default=None
        Sample weights.

    Returns
    -------
    estimator

    Warns
    -----
    UserWarning
        If weights were asked for but the regressor takes none.
    """
    keywords = {}
    if weights is not None:
        name = _weight_keyword(regressor)
        if name is None:
            warnings.warn(
                f"{type(regressor).__name__} takes no sample_weight, so weight_by_precision "
                "has no effect on it.",
                stacklevel=2,
            )
        else:
            keywords[name] = weights
    try:
        if not keywords:
            return regressor.fit(X, z)
        # The keyword names a step by itself; routing would refuse it.
        with config_context(enable_metadata_routing=False):
            return regressor.fit(X, z, **keywords)
    except (ValueError, TypeError) as error:
        if isinstance(X, pd.DataFrame):
            kinds = ", ".join(f"{name} ({dtype})" for name, dtype in X.dtypes.items())
            error.add_note(f"The regressor was given these columns: {kinds}.")
        raise


def _weight_keyword(regressor):
    """How `fit` of a regressor, a pipeline or a search calls the weights."""
    if has_fit_parameter(regressor, "sample_weight"):
        return "sample_weight"
    if isinstance(regressor, Pipeline):
        name, last = regressor.steps[-1]
        inner = _weight_keyword(last)
        return inner and f"{name}__{inner}"
    if hasattr(regressor, "param_grid") or hasattr(regressor, "param_distributions"):
        return _weight_keyword(regressor.estimator)
    return None
