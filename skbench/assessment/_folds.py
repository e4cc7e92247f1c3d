"""Cross-validation for tables with few labeled rows."""

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
    """K-fold in which every training and test set contains labeled rows.

    If one row in a hundred has a human label, plain folds may contain no labeled row, and scores on
    such folds are undefined.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the folds.

    Raises
    ------
    ValueError
        If `n_splits` is below 2.

    Notes
    -----
    Labeled rows are assigned to the folds in turn, then the other rows. The numbers of labeled rows
    differ by at most one between folds, also within each group if `groups` is given. `groups` are
    strata here: they are spread over the folds, unlike in scikit-learn's GroupKFold. The folds
    depend only on the numbers, not on the order of rows and columns; names only break ties.

    **When not to use it.** If several rows belong to one question, training and test sets must not
    share questions; use `sklearn.model_selection.GroupKFold`.

    Examples
    --------
    >>> import numpy as np
    >>> from skbench.assessment import LabeledKFold
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
        """Return the number of folds."""
        return self.n_splits

    def split(
        self, X: Table, y: ArrayLike, groups: ArrayLike | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield (train, test) positions.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_features)
            Judge (autorater) scores; their content orders the rows.
        y : array-like of shape (n_rows,)
            Human labels; nan or None for unlabeled rows.
        groups : array-like of shape (n_rows,), default=None
            Group of each row, spread over all folds.

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
                f"n_splits={self.n_splits} needs at least as many labels, but y has "
                f"{labeled.sum()}. Label more rows, or lower n_splits."
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
