"""Check the features of groups; frames keep their columns, arrays become floats."""

import pandas as pd
from sklearn.utils.validation import column_or_1d, validate_data

from skbench._checks import as_array, check_rows
from skbench._columns import as_pandas, nominal_columns


def training_data(estimator, X, y):
    """Checked features and direct estimates for `fit`."""
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    X = features(estimator, X, reset=True)
    return X, column_or_1d(as_array(y), warn=True)


def features(estimator, X, reset=False):
    """Checked features of groups, in the fitted columns unless reset."""
    X = as_pandas(X)
    if isinstance(X, pd.DataFrame):
        check_rows(X)
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if reset:
            estimator._text = nominal_columns(X)
        return X
    if reset:
        estimator._text = []
    _refuse_text(X)
    if estimator._text:
        raise ValueError(
            "X is an array without column names, but fit had text or categories in column "
            f"{estimator._text[0]!r}. Pass a DataFrame with the columns of fit."
        )
    return validate_data(estimator, X, reset=reset, dtype=float)


def _refuse_text(X):
    array = as_array(X)
    texts = [v for v in array.ravel() if isinstance(v, str)] if array.dtype.kind in "OU" else []
    if texts:
        raise ValueError(
            f"X is an array with text, such as {texts[0]!r}, but without column names. Pass a "
            'DataFrame; in a pipeline, call set_output(transform="pandas") on the transformers.'
        )
