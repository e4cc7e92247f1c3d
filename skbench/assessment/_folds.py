"""Cross-validation of methods that learn from a few labeled rows among many."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator

from skbench._checks import as_array, check_named, check_same_index, one_column
from skbench._order import content_order
from skbench._random import as_generator
from skbench._types import AtLeastTwo, RandomState, Table, checked


@checked
class LabeledKFold(BaseCrossValidator):
    """K-fold in which every fold, and what is left for training, holds labeled rows.

    Plain folds of a table in which one row in a hundred has a human label can come
    out without a single one, and what is scored or fitted on them is undefined.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the deal.

    Raises
    ------
    ValueError
        If `n_splits` is below 2.

    Notes
    -----
    Labeled rows are dealt to the folds in turn, then the others. Folds differ by at most one in
    the number of their labeled rows, also within any one group if `groups` are given. `groups` are
    strata here: they are spread over the folds, not kept together as by scikit-learn's GroupKFold.
    The folds follow from the numbers, in any order of rows and columns; names only break ties.

    When not to use it: where several rows belong to one question, which should not be in training
    and test at once (`sklearn.model_selection.GroupKFold`).

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([1, np.nan, 0, np.nan, np.nan, np.nan, np.nan, np.nan])
    >>> for train, test in LabeledKFold(2, random_state=0).split(np.arange(8)[:, None], y):
    ...     print(np.sum(~np.isnan(y[train])), np.sum(~np.isnan(y[test])), len(test))
    1 1 4
    1 1 4
    """

    __metadata_request__split = {"groups": True}

    def __init__(self, n_splits: AtLeastTwo = 5, *, random_state: RandomState = None) -> None:
        self.n_splits = n_splits
        self.random_state = random_state

    def get_n_splits(
        self, X: Table | None = None, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> int:
        """Number of folds."""
        return self.n_splits

    def split(
        self, X: Table, y: ArrayLike, groups: ArrayLike | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield (train, test) positions.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_features)
            Autorater scores; their content orders the rows.
        y : array-like of shape (n_rows,)
            Labels, nan (or None) where there is none.
        groups : array-like of shape (n_rows,), default=None
            Group of each row, to be spread over all folds.

        Yields
        ------
        train, test : ndarray of int

        Raises
        ------
        ValueError
            If lengths differ or there are fewer labeled rows than folds.
        """
        check_same_index(X=X, y=y, groups=groups)
        y = one_column("y", [] if y is None else y)
        y = y.astype(float) if y.dtype.kind == "f" else y  # of any precision
        groups = None if groups is None else check_named("groups", groups)
        labeled = ~np.asarray(pd.isna(y))
        if labeled.sum() < self.n_splits:
            raise ValueError(
                f"{self.n_splits} folds need a labeled row each, but y has {labeled.sum()} labels. "
                "Label more rows, or lower n_splits."
            )
        table = X if isinstance(X, pd.DataFrame) else pd.DataFrame(as_array(X))
        columns = pd.concat([table.reset_index(drop=True), pd.Series(y)], axis=1)
        rows = as_generator(self.random_state).permutation(content_order(columns, groups=groups))
        strata = pd.factorize((labeled if groups is None else groups)[rows])[0]
        fold = np.empty(len(labeled), dtype=int)
        order = rows[np.lexsort([strata, ~labeled[rows]])]
        fold[order] = np.arange(len(fold)) % self.n_splits
        for k in range(self.n_splits):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)
