"""Columns of features: which name things, which say something, how they become numbers."""

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype, is_numeric_dtype
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

_DATES = ("datetime64", "datetime", "date", "time", "timedelta64", "timedelta", "period")


def text_columns(X):
    """Names of the columns that hold text; categories are not text, and an array has none."""
    return [c for c in nominal_columns(X) if not _is_category(X[c])]


def nominal_columns(X):
    """Names of the columns that hold text or categories; an array has none."""
    if not isinstance(X, pd.DataFrame):
        return []
    return [c for c in X.columns if _is_category(X[c]) or _kind(X[c]) == "string"]


def _is_category(column):
    return isinstance(column.dtype, pd.CategoricalDtype)


def _kind(column):
    """What the values of a column are, missing ones aside, as `pandas.api.types.infer_dtype`."""
    return "number" if is_numeric_dtype(column) else infer_dtype(column, skipna=True)


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
        Names of columns that vary, without nominal columns whose every level occurs
        in one row, or in one of `groups`: they only name it.
    """
    units = np.arange(len(X)) if groups is None else np.asarray(groups)
    nominal = nominal_columns(X)
    return [
        c
        for c in X.columns
        if X[c].nunique(dropna=False) > 1
        and not (c in nominal and _levels_within_units(X[c], units))
    ]


def _levels_within_units(column, units):
    spread = pd.Series(units).groupby(np.asarray(column, dtype=object)).nunique()
    return bool((spread == 1).all())


def indicator_encoder(X, groups, nominal, drop=None):
    """Transformer of a frame: nominal columns to indicators, the rest as it is.

    A nominal column whose every level occurs in one row, or in one of `groups`, is
    left out: held-out rows never have a level that the training rows had.

    Parameters
    ----------
    X : DataFrame of shape (n_groups, n_features)
        Training features.
    groups : array-like of shape (n_groups,) or None
        What folds keep together; None for single rows.
    nominal : list
        Names of the columns to encode.
    drop : {None, "first"}, default=None
        As in `sklearn.preprocessing.OneHotEncoder`.

    Returns
    -------
    ColumnTransformer
        Unfitted.
    """
    names = [c for c in informative_columns(X, groups) if c in nominal]
    others = [c for c in X.columns if c not in nominal]
    if not names and not others:
        # Nothing is left to learn from: a constant column makes any regressor a mean.
        constant = FunctionTransformer(_constant_column)
        return make_column_transformer((constant, list(X.columns))).set_output(transform="pandas")
    return _encoder(names, others, drop)


def _encoder(nominal, others, drop=None):
    indicators = make_pipeline(
        FunctionTransformer(_levels, feature_names_out="one-to-one"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False, drop=drop),
    )
    transformer = make_column_transformer(
        (indicators, nominal), ("passthrough", others), verbose_feature_names_out=False
    )
    return transformer.set_output(transform="pandas")


def _levels(X):
    """Levels as Python objects; whatever stands for a missing one is a level of its own."""
    return X.astype(object).where(X.notna(), np.nan)


def _constant_column(X):
    return pd.DataFrame({"constant": np.ones(len(X))}, index=X.index)


def refuse_unreadable(X):
    """Raise a ValueError that names a column of dates, or of text and numbers in one."""
    for name in X.columns if isinstance(X, pd.DataFrame) else ():
        kind = _kind(X[name])
        if kind in _DATES:
            raise ValueError(
                f"Column {name!r} of X holds dates or durations ({kind}). Pass a number "
                "instead, such as the days since the first, or leave the column out."
            )
        if kind.startswith("mixed"):
            kinds = ", ".join(map(repr, _one_of_each_type(X[name])))
            raise ValueError(
                f"Column {name!r} of X holds values of several kinds, such as {kinds}. "
                "Make them all text or all numbers."
            )


def _one_of_each_type(column):
    values = column.dropna()
    return values[~values.map(type).duplicated()].tolist()


def feature_columns(X, others, groups):
    """Names, or positions, of the columns that say something of a held-out topic.

    Parameters
    ----------
    X : DataFrame or ndarray of shape (n_groups, n_features)
        Features.
    others : list
        Names of columns that are no features.
    groups : ndarray of shape (n_groups,)
        Topics.

    Returns
    -------
    list
    """
    if not isinstance(X, pd.DataFrame):
        return list(range(X.shape[1]))
    X = X.drop(columns=[c for c in others if c in X.columns])
    nominal = nominal_columns(X)
    return [c for c in informative_columns(X, groups) if c in nominal or is_numeric_dtype(X[c])]


class FeatureTable:
    """Turns columns into numbers: levels into indicators, missing numbers stay nan.

    Parameters
    ----------
    X : DataFrame or ndarray of shape (n_groups, n_features)
        Groups whose levels of text and categories count; later ones are no level at all.
    columns : list
        Names, or positions.

    Raises
    ------
    ValueError
        If a column is missing, or holds neither finite numbers nor text.
    """

    def __init__(self, X, columns):
        self.columns = columns
        if isinstance(X, pd.DataFrame):
            self._refuse_missing(X)
            self._nominal = [c for c in nominal_columns(X) if c in columns]
            self._numeric = [c for c in columns if c not in self._nominal]
            self._encoder = _encoder(self._nominal, self._numeric).fit(X)

    def numbers(self, X):
        """The columns of other groups, an array of shape (n_groups, n_numbers)."""
        if not isinstance(X, pd.DataFrame):
            return np.asarray(X, dtype=float)[:, self.columns]
        self._refuse_missing(X)
        for name in self._numeric:
            _refuse_infinite(X[name], name)
        return self._encoder.transform(X).to_numpy(dtype=float, na_value=np.nan)

    def _refuse_missing(self, X):
        missing = [name for name in self.columns if name not in X.columns]
        if missing:
            raise ValueError(
                f"kernels names column {missing[0]!r}, which X lacks. "
                f"Its columns are: {', '.join(map(str, X.columns))}."
            )


def _refuse_infinite(column, name):
    numeric = is_numeric_dtype(column)
    if not numeric or np.any(np.isinf(column.to_numpy(dtype=float, na_value=np.nan))):
        raise ValueError(
            f"kernels needs finite numbers or text, but column {name!r} has others. "
            "Encode it, or leave it out of kernels."
        )
