"""Integer codes of columns in memory, computed once for all counts."""

from importlib.util import find_spec

import narwhals as nw
import numpy as np
import pandas as pd
from scipy import sparse

from skbench._checks import LARGEST, check_named
from skbench.items.rows import SCORE, _plain, checked_scores, with_score

_ARROW = nw.Implementation.POLARS, nw.Implementation.PYARROW  # these encode text themselves


class CodedRows:
    """Codes of the values of each column, in the order of its sorted distinct values.

    Missing values raise an error, or have the last code.
    """

    def __init__(self, frame, *, refuses_missing=True):
        self.frame = frame
        self.refuses_missing = refuses_missing
        self._found = {}

    def codes(self, name):
        """Return the code of each row in a column."""
        codes, values = self._of(name)
        if not self.lacks(name):
            return codes
        if self.refuses_missing:
            check_named(f"Column {name!r}", pd.Series(self.frame[name].to_numpy()))
        return np.where(codes < 0, len(values), codes)

    def values(self, name):
        """Return the sorted distinct values of a column."""
        return self._of(name)[1]

    def lacks(self, name):
        """Return whether a column has missing values."""
        return self._of(name)[0].min(initial=0) < 0

    def together(self, names):
        """Return the code of each row's combination of values in several columns."""
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
        """Return the number of distinct combinations of values."""
        return int(self.together(names).max(initial=-1)) + 1

    def most_answers(self, per, by):
        """Return the largest number of values of `by` in a combination, and of rows with both."""
        own = self.together(()) if by is None else self._of(by)[0] + 1  # missing is a value here
        cells = self.together(per), own
        # The sparse array sums repeated entries, and sorts only what is not sorted yet.
        answers = sparse.coo_array((np.ones(len(cells[0]), dtype=np.int32), cells)).tocsr()
        return np.diff(answers.indptr).max(), answers.data.max()

    def index(self, names, codes):
        """Return the combinations of `together` as an index with one level per column."""
        if len(names) == 1:
            return self.values(names[0]).rename(names[0])
        row = _first(codes)
        levels, parts = zip(*((self.values(x), self.codes(x)[row]) for x in names), strict=True)
        return pd.MultiIndex(levels, parts, names=names)

    def checked(self, labels, score):
        """Return scores as floats, after the checks of `checked_scores`."""
        found = np.asarray(with_score(self.frame, score)[SCORE].to_numpy(), dtype=float)
        if not len(found) or not np.all(np.abs(found) <= LARGEST) or any(map(self.lacks, labels)):
            checked_scores(self.frame, labels, score)
        return found

    def _of(self, name):
        if name not in self._found:
            self._found[name] = _coded(self.frame[name])
        return self._found[name]


def _coded(column):
    """Return codes and sorted distinct values, of the same type for every engine."""
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
            f"Column {column.name!r} has values that cannot be sorted: {error}. Convert it to text."
        ) from error
    return np.append(places, -1)[codes], values


def _first(codes):
    """Return the first row of each code."""
    first = np.empty(codes.max(initial=-1) + 2, dtype=np.intp)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return first[:-1]
