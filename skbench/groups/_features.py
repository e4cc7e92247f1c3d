"""Columns of features as numbers: what kernels go by."""

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype
from sklearn.preprocessing import OneHotEncoder

from skbench.groups._regressors import informative_columns


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
    return [c for c in informative_columns(X, groups) if is_numeric_dtype(X[c]) or _is_text(X[c])]


class FeatureTable:
    """Turns columns into numbers: text into indicators, missing numbers stay nan.

    Parameters
    ----------
    X : DataFrame or ndarray of shape (n_groups, n_features)
        Groups whose levels of text count; later ones are no level at all.
    columns : list
        Names, or positions.

    Raises
    ------
    ValueError
        If a column is missing, or holds neither finite numbers nor text.
    """

    def __init__(self, X, columns):
        self.columns = columns
        self._encoders = {
            name: OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(X[[name]])
            for name in columns
            if isinstance(X, pd.DataFrame) and name in X.columns and _is_text(X[name])
        }

    def numbers(self, X):
        """The columns of other groups, an array of shape (n_groups, n_numbers)."""
        if not isinstance(X, pd.DataFrame):
            return np.asarray(X, dtype=float)[:, self.columns]
        missing = [name for name in self.columns if name not in X.columns]
        if missing:
            raise ValueError(
                f"kernels names column {missing[0]!r}, which X lacks. "
                f"Its columns are: {', '.join(map(str, X.columns))}."
            )
        return np.concatenate([self._column(X, name) for name in self.columns], axis=1)

    def _column(self, X, name):
        if name in self._encoders:
            return self._encoders[name].transform(X[[name]])
        numeric = is_numeric_dtype(X[name])
        if not numeric or np.any(np.isinf(X[name].to_numpy(dtype=float, na_value=np.nan))):
            raise ValueError(
                f"kernels needs finite numbers or text, but column {name!r} has others. "
                "Encode it, or leave it out of kernels."
            )
        return X[[name]].to_numpy(dtype=float, na_value=np.nan)


def _is_text(column):
    is_category = isinstance(column.dtype, pd.CategoricalDtype)
    return is_category or pd.api.types.is_string_dtype(column)
