"""Cross-validation of methods that learn from a few labeled rows among many."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils.validation import check_consistent_length

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
    The folds do not depend on the order of the rows.

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
        check_consistent_length(X, y, groups)
        labeled = ~np.asarray(pd.isna(np.asarray(y)))
        if labeled.sum() < self.n_splits:
            raise ValueError(
                f"{self.n_splits} folds need a labeled row each, but y has {labeled.sum()} labels. "
                "Label more rows, or lower n_splits."
            )
        # Sorted, so that the codes do not depend on the order of the rows.
        strata = pd.factorize(np.asarray(labeled if groups is None else groups), sort=True)[0]
        rows = as_generator(self.random_state).permutation(_content_order(X, y, groups))
        fold = np.empty(len(labeled), dtype=int)
        order = rows[np.lexsort([strata[rows], ~labeled[rows]])]
        fold[order] = np.arange(len(fold)) % self.n_splits
        for k in range(self.n_splits):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


def _content_order(X, y, groups):
    """Positions of the rows in an order that depends on their content only."""
    table = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    columns = [table.reset_index(drop=True)]
    columns += [pd.Series(np.asarray(part)) for part in (y, groups) if part is not None]
    return np.argsort(
        pd.util.hash_pandas_object(pd.concat(columns, axis=1), index=False), kind="stable"
    ).to_numpy()
