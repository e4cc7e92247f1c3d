"""Columns of rows in memory as numbers, found once for all that is counted by them."""

from importlib.util import find_spec

import narwhals as nw
import numpy as np
import pandas as pd
from scipy import sparse

from skbench._checks import LARGEST, check_named
from skbench.items.rows import SCORE, _plain, checked_scores, with_score

_ARROW = nw.Implementation.POLARS, nw.Implementation.PYARROW  # text is told apart in place


class CodedRows:
    """Codes of each row's value among the sorted distinct ones of a column, column by column.

    Missing values are refused, or one more value, the last.
    """

    def __init__(self, frame, *, refuses_missing=True):
        self.frame = frame
        self.refuses_missing = refuses_missing
        self._found = {}

    def codes(self, name):
        """Codes of a column."""
        codes, values = self._of(name)
        if not self.lacks(name):
            return codes
        if self.refuses_missing:
            check_named(f"Column {name!r}", pd.Series(self.frame[name].to_numpy()))
        return np.where(codes < 0, len(values), codes)

    def values(self, name):
        """Sorted distinct values of a column."""
        return self._of(name)[1]

    def lacks(self, name):
        """Whether a value of a column is missing."""
        return self._of(name)[0].min(initial=0) < 0

    def together(self, names):
        """Codes of each row's combination of values among the sorted distinct ones."""
        names = tuple(dict.fromkeys(names))
        if not names:
            return np.zeros(len(self.frame), dtype=np.intp)
        if names not in self._found:
            *before, last = names
            codes = self.codes(last)
            if before:
                codes = self.together(before) * (len(self.values(last)) + 1) + codes
                codes = pd.factorize(codes, sort=True)[0]
            self._found[names] = codes
        return self._found[names]

    def number(self, names):
        """How many combinations of values there are."""
        return int(self.together(names).max(initial=-1)) + 1

    def most_answers(self, per, by):
        """Most values of `by` that one combination has, and most rows of one such answer."""
        own = self.together(()) if by is None else self._of(by)[0] + 1  # a missing one counts, too
        cells = self.together(per), own
        # Sorts each combination's answers, and only where they are in disorder.
        answers = sparse.coo_array((np.ones(len(cells[0]), dtype=np.int32), cells)).tocsr()
        return np.diff(answers.indptr).max(), answers.data.max()

    def index(self, names, codes):
        """The combinations of `together` as an index with one level per column."""
        if len(names) == 1:
            return self.values(names[0]).rename(names[0])
        row = _first(codes)
        levels, parts = zip(*((self.values(x), self.codes(x)[row]) for x in names), strict=True)
        return pd.MultiIndex(levels, parts, names=names)

    def checked(self, labels, score):
        """Scores as floats; refuses those of `checked_scores`, and missing labels."""
        found = np.asarray(with_score(self.frame, score)[SCORE].to_numpy(), dtype=float)
        if not len(found) or not np.all(np.abs(found) <= LARGEST) or any(map(self.lacks, labels)):
            checked_scores(self.frame, labels, score)
        return found

    def _of(self, name):
        if name not in self._found:
            self._found[name] = _coded(self.frame[name])
        return self._found[name]


def _coded(column):
    """Codes and sorted distinct values, of the same type from every engine."""
    if column.implementation in _ARROW and find_spec("pyarrow"):
        array = column.to_arrow()
        array = array.combine_chunks() if hasattr(array, "combine_chunks") else array
        if hasattr(array, "dictionary"):
            array = array.dictionary_decode()
        codes = array.dictionary_encode().indices.fill_null(-1).to_numpy().astype(np.intp)
    else:
        is_pandas = column.implementation is nw.Implementation.PANDAS
        codes = pd.factorize(column.to_native() if is_pandas else column.to_numpy())[0]
    values = pd.Index(_plain(column[_first(codes)]), tupleize_cols=False)
    try:
        places, values = pd.factorize(values, sort=True)
    except TypeError as error:
        raise TypeError(
            f"Column {column.name!r} holds values without an order: {error}. Turn it into text."
        ) from error
    return np.append(places, -1)[codes], values


def _first(codes):
    """The first row of each code."""
    first = np.empty(codes.max(initial=-1) + 2, dtype=np.intp)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return first[:-1]
