"""Columns of features: which name things, which say something, how they become numbers."""

from contextlib import suppress

import numpy as np
import pandas as pd
from pandas.api.types import (
    infer_dtype,
    is_extension_array_dtype,
    is_integer_dtype,
    is_numeric_dtype,
)
from sklearn.base import BaseEstimator, TransformerMixin

from skbench._checks import DATES, check_named, floats, kind_of, plain, refuse_huge
from skbench._warnings import warn

ENCODER = "encoder"  # name of the step in front of a regressor
# Kinds of object columns that are numbers; all missing is "empty".
_NUMBERS_OF_PYTHON = ("integer", "floating", "decimal", "mixed-integer-float", "empty")
_READ_CATEGORIES = ("XGB", "LGBM", "HistGradientBoosting", "CatBoost")  # names of classes


def role_column(X, role):
    """Name of the column that plays a role such as "model", None where there is none."""
    if role is None or not isinstance(X, pd.DataFrame):
        return None
    if role in X.columns:
        return role
    prefixed = [name for name in X.columns if str(name).endswith(f"__{role}")]
    if len(prefixed) > 1:
        raise ValueError(
            f"Several columns of X may be the {role!r}: {', '.join(map(repr, prefixed))}. Rename "
            "all but one of them."
        )
    return prefixed[0] if prefixed else None


def named_column(X, name, default):
    """Column of X that the caller named; None where it is None, or the default and not there."""
    column = role_column(X, name)
    if column is None and name not in (None, default):
        there = list(X.columns) if isinstance(X, pd.DataFrame) else "an array without names"
        raise ValueError(
            f"{default}={name!r} names a column that X lacks. X has {there}. Pass the name of a "
            f"column, or {default}=None."
        )
    return column


class Levels:
    """The names of models, or of topics, and which of them each row has."""

    def __init__(self, X, column, given=None):
        self.column = column
        if column is None and given is None:
            self.names, self.codes = pd.Index([None]), np.zeros(len(X), dtype=int)
            return
        self.codes, names = pd.factorize(given if column is None else self._of(X), sort=True)
        self.names = pd.Index(names)

    def positions(self, X):
        """Position of the level of each row of another X, -1 where it is new."""
        if isinstance(X, pd.DataFrame) and self.column in X.columns:
            return self.names.get_indexer(pd.Index(self._of(X)))
        return np.zeros(len(X), dtype=int) if len(self.names) == 1 else np.full(len(X), -1)

    def _of(self, X):
        check_named(f"Column {self.column!r} of X", X[self.column], X.index)
        return X[self.column]

    def refuse_others(self, groups):
        """Raise a ValueError if groups are not the levels under other names."""
        pairs = pd.DataFrame({"level": self.codes, "group": np.asarray(groups)}).drop_duplicates()
        twice = pairs["level"].duplicated(keep=False) | pairs["group"].duplicated(keep=False)
        if twice.any():
            level, group = pairs[twice].iloc[0]
            raise ValueError(
                f"groups contradict column {self.column!r} of X: rows of "
                f"{plain(self.names[level])!r} and of group {plain(group)!r} are not the same. "
                "Pass topic=None to take the groups as topics (of each prompt or language, say), "
                f"or groups=X[{self.column!r}]."
            )


def warn_of_numbered_names(X):
    """Warn of models or topics that are numbers, which regressions read as quantities."""
    for role in ("model", "topic"):
        name = role_column(X, role)
        if name is not None and is_integer_dtype(X[name]):
            warn(
                f"Column {name!r} of X holds whole numbers, which a regression reads as a "
                f"quantity: {role} 2 lies between 1 and 3. If they are names, make them text, "
                f"X.astype({{{name!r}: str}})."
            )


def as_pandas(X):
    """pandas, its numbers those of numpy, for dataframes of any kind; anything else as it is."""
    if not isinstance(X, pd.DataFrame) and hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not isinstance(X, pd.DataFrame):
        return X
    kinds = [isinstance(dtype, np.dtype) and dtype.kind != "O" for dtype in X.dtypes]
    columns = [None if of_numpy else _of_numpy(X.iloc[:, at]) for at, of_numpy in enumerate(kinds)]
    if all(new is None for new in columns):
        return X
    columns = [X.iloc[:, at] if new is None else new for at, new in enumerate(columns)]
    return pd.concat(columns, axis=1).set_axis(X.columns, axis=1)


def _of_numpy(column):
    """Numbers of a nullable, an Arrow, a sparse or an object column; None of any other column."""
    if column.dtype == object:
        is_number = infer_dtype(column) in _NUMBERS_OF_PYTHON
        with suppress(OverflowError):  # older pandas, of whole numbers beyond any float
            column = column.infer_objects()
        if is_number and column.dtype == object:  # decimals
            column = pd.Series(floats("X", column), column.index)
        return column if is_number else None
    if not is_extension_array_dtype(column.dtype) or not is_numeric_dtype(column.dtype):
        return None
    missing = {"dtype": float, "na_value": np.nan} if column.isna().any() else {}
    return pd.Series(column.to_numpy(**missing), column.index)


def text_columns(X):
    """Names of the columns that hold text; categories are not text, and an array has none."""
    return [c for c in nominal_columns(X) if not _is_category(X[c])]


def nominal_columns(X):
    """Names of the columns that hold text or categories; an array has none."""
    if not isinstance(X, pd.DataFrame):
        return []
    return [c for c in X.columns if _is_category(X[c]) or kind_of(X[c]) == "string"]


def _is_category(column):
    return isinstance(column.dtype, pd.CategoricalDtype)


def informative_columns(X, groups):
    """Columns that can tell a held-out row something."""
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
    """Transformer of a frame: nominal columns to indicators, the rest as it is."""
    names = [c for c in informative_columns(X, groups) if c in nominal]
    return IndicatorEncoder(names, [c for c in X.columns if c not in nominal], drop)


def with_indicators(regressor, X, groups):
    """A regressor behind an encoder of text, where it brings no transformer of its own."""
    if not isinstance(X, pd.DataFrame):
        return regressor  # an array has no text
    if any(hasattr(part, "transform") for part in regressor.get_params().values()):
        return regressor
    nominal = text_columns(X) if _reads_categories(regressor) else nominal_columns(X)
    return encoding(regressor, X, groups, nominal)


def _reads_categories(regressor):
    """Whether a regressor, or one inside it, is of boosted trees that read categories."""
    parts = [regressor, *regressor.get_params().values()]
    names = [name for part in parts for kind in type(part).__mro__ for name in [kind.__name__]]
    return any(name.startswith(_READ_CATEGORIES) for name in names)


def encoding(regressor, X, groups, nominal):
    """A regressor behind an encoder of these columns, or itself where there are none."""
    from sklearn.pipeline import Pipeline

    if not nominal:
        return regressor
    steps = [(ENCODER, indicator_encoder(X, groups, nominal)), ("regressor", regressor)]
    return Pipeline(steps)


class IndicatorEncoder(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Indicators of the levels of nominal columns, and then the other columns as they are."""

    def __init__(self, nominal, others, drop=None):
        self.nominal = nominal
        self.others = others
        self.drop = drop

    def fit(self, X, y=None):
        """Learn the levels."""
        self.levels_ = []
        if self.nominal:
            from sklearn.preprocessing import OneHotEncoder

            self._encoder = OneHotEncoder(
                handle_unknown="ignore", sparse_output=False, drop=self.drop
            ).set_output(transform="default")
            self.levels_ = self._encoder.fit(_levels(X[self.nominal])).categories_
        return self

    def transform(self, X):
        """Indicators, all 0 where a level is new, and the other columns."""
        if not self.nominal and not self.others:
            return np.ones((len(X), 1))
        others = X[self.others]
        numeric = all(dtype.kind in "buif" for dtype in others.dtypes)
        if not self.nominal:
            return _numbers(others) if numeric else others
        indicators = self._encoder.transform(_levels(X[self.nominal]))
        if numeric:
            return np.column_stack([indicators, _numbers(others)])
        names = [f"_skbench_indicator_{number}" for number in range(indicators.shape[1])]
        return pd.concat([pd.DataFrame(indicators, X.index, names), others], axis=1)

    def refuse_new_levels(self, X):
        """Raise a ValueError that names a level that was not there in `fit`."""
        for name, levels in zip(self.nominal, self.levels_, strict=True):
            new = X[name][~_levels(X[[name]])[name].isin(levels).to_numpy()]
            if len(new):
                raise ValueError(
                    f"Column {name!r} of X holds {plain(new.iloc[0])!r}, a level that no fitted "
                    "group had: nothing is known of its effect. Leave the column out; or fit with "
                    "groups=..., so that names of topics are not read as features."
                )


class NumberedColumns(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Columns of a frame under their numbers, for regressors that refuse some names."""

    def fit(self, X, y=None):
        """Nothing is learned."""
        return self

    def transform(self, X):
        """The same columns; an array as it is."""
        return X.set_axis(range(X.shape[1]), axis=1) if isinstance(X, pd.DataFrame) else X

    def __sklearn_is_fitted__(self):
        return True


def _numbers(table):
    return table.to_numpy(dtype=float, na_value=np.nan)


def _levels(X):
    """Levels as Python objects; whatever stands for a missing one is a level of its own."""
    return X.astype(object).where(X.notna(), np.nan)


def refuse_unreadable(X):
    """Raise a ValueError that names a column that holds no numbers, text or categories.

    So do huge numbers, in an array too.
    """
    if not isinstance(X, pd.DataFrame):
        refuse_huge("Features", X)
        return
    for name in X.columns:
        kind = kind_of(X[name])
        if kind == "number":
            refuse_huge(f"Numbers in column {name!r} of X", X[name].to_numpy())
        if kind in DATES:
            raise ValueError(
                f"Column {name!r} of X holds dates or durations ({kind}). Pass a number "
                "instead, such as the days since the first, or leave the column out."
            )
        if kind in ("complex", "interval", "bytes"):
            raise ValueError(
                f"Column {name!r} of X holds values of type {kind}. Make them text or numbers."
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
    """Names, or positions, of the columns that say something of a held-out topic."""
    if not isinstance(X, pd.DataFrame):
        return list(range(X.shape[1]))
    X = X.drop(columns=[c for c in others if c in X.columns])
    nominal = nominal_columns(X)
    return [c for c in informative_columns(X, groups) if c in nominal or is_numeric_dtype(X[c])]


class FeatureTable:
    """Turns columns into numbers: levels into indicators, missing numbers stay nan."""

    def __init__(self, X, columns):
        self.columns = columns
        if not isinstance(X, pd.DataFrame):
            _refuse_positions(columns, X.shape[1])
        else:
            self._refuse_missing(X)
            self._nominal = [c for c in nominal_columns(X) if c in columns]
            self._numeric = [c for c in columns if c not in self._nominal]
            self._encoder = IndicatorEncoder(self._nominal, self._numeric).fit(X)

    def numbers(self, X):
        """The columns of other groups, an array of shape (n_groups, n_numbers)."""
        if not isinstance(X, pd.DataFrame):
            return np.asarray(X, dtype=float)[:, self.columns]
        self._refuse_missing(X)
        for name in self._numeric:
            _refuse_infinite(X[name], name)
        return np.asarray(self._encoder.transform(X), dtype=float)

    def _refuse_missing(self, X):
        missing = [name for name in self.columns if name not in X.columns]
        if missing:
            raise ValueError(
                f"kernels names column {missing[0]!r}, which X lacks. "
                f"Its columns are: {', '.join(map(str, X.columns))}."
            )


def _refuse_positions(columns, n_columns):
    for column in columns:
        if not isinstance(column, int | np.integer) or not 0 <= column < n_columns:
            raise ValueError(
                f"kernels names column {column!r}, but X is an array of {n_columns} columns, which "
                "have no names. Pass positions from 0, or a DataFrame."
            )


def _refuse_infinite(column, name):
    numeric = is_numeric_dtype(column)
    if not numeric or np.any(np.isinf(column.to_numpy(dtype=float, na_value=np.nan))):
        raise ValueError(
            f"kernels needs finite numbers or text, but column {name!r} has others. "
            "Encode it, or leave it out of kernels."
        )


def with_winners(table, names):
    """Winners of pairs in one column, where they are in one of 0 and 1 for each outcome."""
    for name in names:
        ends = ("model_a", "model_b", "tie")
        outcomes = {end: f"{name}_{end}" for end in ends if f"{name}_{end}" in table}
        if name in table or not {"model_a", "model_b"} <= set(outcomes):
            continue
        said = table[list(outcomes.values())].astype(float)
        known, total = said.notna().all(axis=1), said.sum(axis=1)
        if not (said[known].isin((0, 1)).all(axis=None) and (total[known] <= 1).all()):
            raise ValueError(
                f"Of {', '.join(outcomes.values())} one is 1 in a row, and the others are 0."
            )
        winner = np.array([*outcomes, "tie"], dtype=object)
        place = np.where(total == 1, said.fillna(0).to_numpy().argmax(axis=1), len(outcomes))
        table = table.assign(**{name: np.where(known, winner[place], None)})
    return table
