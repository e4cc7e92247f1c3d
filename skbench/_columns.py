"""Feature columns: their roles, which of them are informative, and their encoding."""

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
# Numeric kinds of object columns; a column of missing values only is "empty".
_NUMERIC_KINDS = ("integer", "floating", "decimal", "mixed-integer-float", "empty")
_READ_CATEGORIES = ("XGB", "LGBM", "HistGradientBoosting", "CatBoost")  # prefixes of class names


def role_column(X, role):
    """Return the name of the column with a role such as "model", or None."""
    if role is None or not isinstance(X, pd.DataFrame):
        return None
    if role in X.columns:
        return role
    prefixed = [name for name in X.columns if str(name).endswith(f"__{role}")]
    if len(prefixed) > 1:
        raise ValueError(
            f"Several columns of X may be the {role!r} column: {', '.join(map(repr, prefixed))}. "
            "Rename all but one of them."
        )
    return prefixed[0] if prefixed else None


def named_column(X, name, default):
    """Return the column of X with this name, or None if the name is None or an absent default."""
    column = role_column(X, name)
    if column is None and name not in (None, default):
        is_frame = isinstance(X, pd.DataFrame)
        found = f"Its columns are {list(X.columns)}" if is_frame else "X is an array without names"
        raise ValueError(
            f"{default}={name!r} is not a column of X. {found}. Pass the name of a column, or "
            f"{default}=None."
        )
    return column


class Levels:
    """The distinct models or topics of a table, and the code of each row."""

    def __init__(self, X, column, given=None):
        self.column = column
        if column is None and given is None:
            self.names, self.codes = pd.Index([None]), np.zeros(len(X), dtype=int)
            return
        self.codes, names = pd.factorize(given if column is None else self._of(X), sort=True)
        self.names = pd.Index(names)

    def positions(self, X):
        """Return the position of each row's level in another X, or -1 for a new level."""
        if isinstance(X, pd.DataFrame) and self.column in X.columns:
            return self.names.get_indexer(pd.Index(self._of(X)))
        return np.zeros(len(X), dtype=int) if len(self.names) == 1 else np.full(len(X), -1)

    def _of(self, X):
        check_named(f"Column {self.column!r} of X", X[self.column], X.index)
        return X[self.column]

    def refuse_others(self, groups):
        """Raise a ValueError if groups and levels partition the rows differently."""
        pairs = pd.DataFrame({"level": self.codes, "group": np.asarray(groups)}).drop_duplicates()
        twice = pairs["level"].duplicated(keep=False) | pairs["group"].duplicated(keep=False)
        if twice.any():
            level, group = pairs[twice].iloc[0]
            raise ValueError(
                f"groups contradict column {self.column!r} of X: the rows of "
                f"{plain(self.names[level])!r} are not the rows of group {plain(group)!r}. "
                f"Pass groups=X[{self.column!r}], or pass topic=None to use the groups as topics."
            )


def warn_of_numbered_names(X):
    """Warn if models or topics are integers, because a regression treats them as quantities."""
    for role in ("model", "topic"):
        name = role_column(X, role)
        if name is not None and is_integer_dtype(X[name]):
            warn(
                f"Column {name!r} of X holds integers, so a regression treats {role} as a "
                f"quantity. If they are names, convert them to text: X.astype({{{name!r}: str}})."
            )


def as_pandas(X):
    """Convert dataframes of any library to pandas with numpy numbers; return others unchanged."""
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
    """Convert a nullable, Arrow, sparse or object column of numbers; None for other columns."""
    if column.dtype == object:
        is_number = infer_dtype(column) in _NUMERIC_KINDS
        with suppress(OverflowError):  # older pandas, for integers too large for a float
            column = column.infer_objects()
        if is_number and column.dtype == object:  # decimals
            column = pd.Series(floats("X", column), column.index)
        return column if is_number else None
    if not is_extension_array_dtype(column.dtype) or not is_numeric_dtype(column.dtype):
        return None
    missing = {"dtype": float, "na_value": np.nan} if column.isna().any() else {}
    return pd.Series(column.to_numpy(**missing), column.index)


def text_columns(X):
    """Return the names of text columns, without categorical columns; arrays have none."""
    return [c for c in nominal_columns(X) if not _is_category(X[c])]


def nominal_columns(X):
    """Return the names of text and categorical columns; arrays have none."""
    if not isinstance(X, pd.DataFrame):
        return []
    return [c for c in X.columns if _is_category(X[c]) or kind_of(X[c]) == "string"]


def _is_category(column):
    return isinstance(column.dtype, pd.CategoricalDtype)


def informative_columns(X, groups, nominal):
    """Return the columns that can help to predict a held-out row."""
    units = np.arange(len(X)) if groups is None else pd.factorize(groups)[0]
    return [
        c
        for c in X.columns
        if X[c].nunique(dropna=False) > 1
        and not (c in nominal and _levels_within_units(X[c], units))
    ]


def _levels_within_units(column, units):
    codes, levels = pd.factorize(np.asarray(column, dtype=object))
    unit_of, known = np.empty(len(levels), dtype=int), codes >= 0
    unit_of[codes[known]] = units[known]
    return bool(np.all(unit_of[codes[known]] == units[known]))


def indicator_encoder(X, groups, nominal, drop=None):
    """Return a transformer that encodes nominal columns as indicators and keeps the others."""
    names = informative_columns(X[nominal], groups, nominal)
    return IndicatorEncoder(names, [c for c in X.columns if c not in nominal], drop)


def with_indicators(regressor, X, groups):
    """Put an encoder of text columns before a regressor, unless it contains a transformer."""
    if not isinstance(X, pd.DataFrame):
        return regressor
    if any(hasattr(part, "transform") for part in regressor.get_params().values()):
        return regressor
    nominal = text_columns(X) if _reads_categories(regressor) else nominal_columns(X)
    return encoding(regressor, X, groups, nominal)


def _reads_categories(regressor):
    """Whether a regressor, or one inside it, is a boosted tree model with native categories."""
    parts = [regressor, *regressor.get_params().values()]
    names = [name for part in parts for kind in type(part).__mro__ for name in [kind.__name__]]
    return any(name.startswith(_READ_CATEGORIES) for name in names)


def encoding(regressor, X, groups, nominal):
    """Put an encoder of these columns before a regressor, if there are any columns."""
    from sklearn.pipeline import Pipeline

    if not nominal:
        return regressor
    steps = [(ENCODER, indicator_encoder(X, groups, nominal)), ("regressor", regressor)]
    return Pipeline(steps)


class IndicatorEncoder(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Encode nominal columns as indicators, followed by the other columns unchanged."""

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
        """Return indicators (all 0 for a new level), followed by the other columns."""
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
        """Raise a ValueError if a column has a level that was absent in `fit`."""
        for name, levels in zip(self.nominal, self.levels_, strict=True):
            new = X[name][~_levels(X[[name]])[name].isin(levels).to_numpy()]
            if len(new):
                raise ValueError(
                    f"Column {name!r} of X has the level {plain(new.iloc[0])!r}, but no fitted "
                    "group has it. Drop the column, or fit with groups=... so that topic names "
                    "are not used as features."
                )


class NumberedColumns(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Rename columns to their positions, for regressors that reject some names."""

    def fit(self, X, y=None):
        """Do nothing."""
        return self

    def transform(self, X):
        """Return the same columns under their positions; arrays stay unchanged."""
        return X.set_axis(range(X.shape[1]), axis=1) if isinstance(X, pd.DataFrame) else X

    def __sklearn_is_fitted__(self):
        return True


def _numbers(table):
    return table.to_numpy(dtype=float, na_value=np.nan)


def _levels(X):
    """Return levels as Python objects, with nan as the level of all missing values."""
    return X.astype(object).where(X.notna(), np.nan)


def refuse_unreadable(X):
    """Raise a ValueError if a column has huge numbers, or no numbers, text or categories."""
    if not isinstance(X, pd.DataFrame):
        refuse_huge("Features", X)
        return
    for name in X.columns:
        kind = kind_of(X[name])
        if kind == "number":
            refuse_huge(f"Numbers in column {name!r} of X", X[name].to_numpy())
        if kind in DATES:
            raise ValueError(
                f"Column {name!r} of X holds dates or durations ({kind}). Convert them to numbers, "
                "such as days since the first date, or drop the column."
            )
        if kind in ("complex", "interval", "bytes"):
            raise ValueError(
                f"Column {name!r} of X has the type {kind}. Convert it to text or numbers."
            )
        if kind.startswith("mixed"):
            kinds = ", ".join(map(repr, _one_of_each_type(X[name])))
            raise ValueError(
                f"Column {name!r} of X holds values of several types, such as {kinds}. "
                "Convert all of them to text or to numbers."
            )


def _one_of_each_type(column):
    values = column.dropna()
    return values[~values.map(type).duplicated()].tolist()


def feature_columns(X, others, groups):
    """Return the names or positions of the columns that can help to predict a held-out topic."""
    if not isinstance(X, pd.DataFrame):
        return list(range(X.shape[1]))
    X = X.drop(columns=[c for c in others if c in X.columns])
    nominal = nominal_columns(X)
    informative = informative_columns(X, groups, nominal)
    return [c for c in informative if c in nominal or is_numeric_dtype(X[c])]


class FeatureTable:
    """Convert columns to numbers, with indicators for levels and nan for missing numbers."""

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
        """Return the columns of other groups as an array of shape (n_groups, n_numbers)."""
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
                f"kernels has the key {missing[0]!r}, but X has no such column. "
                f"Its columns are: {', '.join(map(str, X.columns))}."
            )


def _refuse_positions(columns, n_columns):
    for column in columns:
        if not isinstance(column, int | np.integer) or not 0 <= column < n_columns:
            raise ValueError(
                f"kernels has the key {column!r}, but X is an array of {n_columns} columns without "
                "names. Pass positions from 0, or pass a DataFrame."
            )


def _refuse_infinite(column, name):
    numeric = is_numeric_dtype(column)
    if not numeric or np.any(np.isinf(column.to_numpy(dtype=float, na_value=np.nan))):
        raise ValueError(
            f"Column {name!r} in kernels must hold finite numbers or text. "
            "Encode it, or remove it from kernels."
        )


def with_winners(table, names):
    """Join 0/1 columns for the outcomes of pairwise votes into one column of winners."""
    for name in names:
        ends = ("model_a", "model_b", "tie")
        outcomes = {end: f"{name}_{end}" for end in ends if f"{name}_{end}" in table}
        if name in table or not {"model_a", "model_b"} <= set(outcomes):
            continue
        votes = table[list(outcomes.values())].astype(float)
        known, total = votes.notna().all(axis=1), votes.sum(axis=1)
        if not (votes[known].isin((0, 1)).all(axis=None) and (total[known] <= 1).all()):
            raise ValueError(
                f"The columns {', '.join(outcomes.values())} must hold 0 and 1, with at most one "
                "1 per row."
            )
        winner = np.array([*outcomes, "tie"], dtype=object)
        place = np.where(total == 1, votes.fillna(0).to_numpy().argmax(axis=1), len(outcomes))
        table = table.assign(**{name: np.where(known, winner[place], None)})
    return table
