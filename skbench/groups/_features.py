"""Features of groups, checked: frames keep their columns, arrays become floats."""

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype, is_extension_array_dtype, is_numeric_dtype
from sklearn.utils.validation import column_or_1d, validate_data

from skbench._checks import as_array, check_rows, floats


def as_pandas(X):
    """pandas, its numbers those of numpy, for dataframes of any kind; anything else as it is."""
    if not isinstance(X, pd.DataFrame) and hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not isinstance(X, pd.DataFrame):
        return X
    columns = [_of_numpy(X.iloc[:, at]) for at in range(X.shape[1])]
    if all(new is None for new in columns):
        return X
    columns = [X.iloc[:, at] if new is None else new for at, new in enumerate(columns)]
    return pd.concat(columns, axis=1).set_axis(X.columns, axis=1)


def _of_numpy(column):
    """Numbers of a nullable, an Arrow, a sparse or an object column; None of any other column."""
    if column.dtype == object:
        is_number = infer_dtype(column) in ("integer", "floating", "decimal", "mixed-integer-float")
        column = column.infer_objects()
        if is_number and column.dtype == object:  # decimals
            column = pd.Series(floats("X", column), column.index)
        return column if is_number else None
    if not is_extension_array_dtype(column.dtype) or not is_numeric_dtype(column.dtype):
        return None
    missing = {"dtype": float, "na_value": np.nan} if column.isna().any() else {}
    return pd.Series(column.to_numpy(**missing), column.index)


def training_data(estimator, X, y):
    """Features and direct estimates, as the estimator's `fit` reads them."""
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    X = features(estimator, X, reset=True)
    return X, column_or_1d(as_array(y), warn=True)


def features(estimator, X, reset=False):
    """Features of groups, in the columns that the estimator was fitted on unless reset."""
    X = as_pandas(X)
    if isinstance(X, pd.DataFrame):
        check_rows(X)
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return X
    _refuse_text(X)
    return validate_data(estimator, X, reset=reset, dtype=float)


def _refuse_text(X):
    array = as_array(X)
    texts = [v for v in array.ravel() if isinstance(v, str)] if array.dtype.kind in "OU" else []
    if texts:
        raise ValueError(
            f"X is an array that holds text, such as {texts[0]!r}, without names of columns. Pass "
            'a DataFrame; in a pipeline, call set_output(transform="pandas") on the transformers.'
        )
