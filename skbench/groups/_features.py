"""Features of groups, checked: frames keep their columns, arrays become floats."""

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from skbench._checks import check_rows
from skbench._columns import as_pandas


def training_data(estimator, X, y):
    """Features and direct estimates, as the estimator's `fit` reads them."""
    X = as_pandas(X)
    if not isinstance(X, pd.DataFrame):
        _refuse_text(X)
        return validate_data(estimator, X, y, dtype=float, y_numeric=True)
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y, the direct estimates.")
    check_rows(X)
    validate_data(estimator, X, skip_check_array=True)
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    return X, y


def features_of_new(estimator, X):
    """Features of new groups, in the columns that the estimator was fitted on."""
    X = as_pandas(X)
    if isinstance(X, pd.DataFrame):
        check_rows(X)
        validate_data(estimator, X, reset=False, skip_check_array=True)
        return X
    _refuse_text(X)
    return validate_data(estimator, X, reset=False, dtype=float)


def _refuse_text(X):
    texts = [v for v in np.ravel(X) if isinstance(v, str)] if getattr(X, "dtype", 0) == "O" else []
    if texts:
        raise ValueError(
            f"X is an array that holds text, such as {texts[0]!r}, without names of columns. Pass "
            'a DataFrame; in a pipeline, call set_output(transform="pandas") on the transformers.'
        )
