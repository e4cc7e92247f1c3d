"""Cross-fitting: prior means from regressions that exclude the group itself."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import BaseCrossValidator, check_cv

from skbench._checks import check_named, check_same_index
from skbench._columns import informative_columns, nominal_columns
from skbench._jobs import results
from skbench._order import content_order, shuffled
from skbench._progress import steps
from skbench._random import as_generator, seeded_splitter
from skbench._types import AtLeastTwo, Count, RandomState, Table, checked
from skbench._warnings import warn
from skbench.groups._regressors import held_out


@checked
class CrossFitKFold(BaseCrossValidator):
    """Split groups into random folds repeatedly, for cross-fitting.

    In every repeat, each group is in exactly one test fold.

    Parameters
    ----------
    n_splits : int, default=2
        Folds per repeat; 2 is the split of Ignatiadis and Wager (2019).
    n_repeats : int, default=8
        Number of random splits. Averaging over 8 splits removes most of the noise of a single
        split. More than 16 splits have no further benefit.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the splits.
    stratify : str, default=None
        Column of `X` whose levels are spread equally over the folds, such as the task. Topics
        (`groups`) stay whole; the first row of a topic gives its level.
    keep_groups : bool, default=True
        Whether `groups` (topics) stay whole. False splits the rows themselves, which reproduces
        Fogliato et al. (2024) and is wrong if models share items.

    Notes
    -----
    The folds do not depend on the order of rows and columns or on names, unless features and `y`
    are equal. Given `y`, all assignments to folds are equally probable, so a fold contains no
    information about `y`. There must be at least `n_splits` rows or topics.

    **When not to use it.** To evaluate regressors by cross-validation, use
    `sklearn.model_selection.KFold` and its variants.

    References
    ----------
    .. [1] Ignatiadis and Wager (2019). Covariate-powered empirical Bayes
       estimation. NeurIPS 32.

    Examples
    --------
    >>> import numpy as np
    >>> from skbench import CrossFitKFold
    >>> cv = CrossFitKFold(n_splits=2, n_repeats=1, random_state=0)
    >>> topics = np.array(["a", "a", "b", "b"])
    >>> for _, test in cv.split(np.zeros((4, 1)), groups=topics):
    ...     print(topics[test])
    ['a' 'a']
    ['b' 'b']
    """

    __metadata_request__split = {"groups": True}
    _ties = ()

    def __init__(
        self,
        n_splits: AtLeastTwo = 2,
        n_repeats: Count = 8,
        random_state: RandomState = None,
        *,
        stratify: str | None = None,
        keep_groups: bool = True,
    ) -> None:
        self.n_splits = n_splits
        self.n_repeats = n_repeats
        self.random_state = random_state
        self.stratify = stratify
        self.keep_groups = keep_groups

    def get_n_splits(
        self, X: Table | None = None, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> int:
        """Return the number of (train, test) pairs: ``n_splits * n_repeats``."""
        return self.n_splits * self.n_repeats

    def split(
        self, X: Table, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield (train, test) positions, repeat after repeat.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_groups, n_features)
            Features; their content orders the rows.
        y : array-like of shape (n_groups,), default=None
            Direct estimates; they order rows with equal features.
        groups : array-like of shape (n_groups,), default=None
            Units that folds keep together.

        Yields
        ------
        train, test : ndarray of int

        Raises
        ------
        ValueError
            If there are fewer rows, or distinct `groups`, than folds, `groups` has missing entries,
            or the number of folds or repeats is less than allowed.
        """
        check_same_index(X=X, y=y, groups=groups)
        if not self.keep_groups:
            groups = None
        if groups is not None:
            groups = check_named("groups", groups)
        rows = content_order(X, y, self._ties, groups)
        # Numbered by first occurrence, so that names of topics or strata have no effect.
        members, units = pd.factorize(rows if groups is None else groups[rows])
        if len(units) < self.n_splits:
            what = "rows" if groups is None else "distinct groups (topics)"
            raise ValueError(
                f"Cross-fitting with {self.n_splits} folds needs at least {self.n_splits} {what}, "
                f"got n_samples = {len(rows)} with {len(units)} {what}."
            )
        strata = self._strata(X, rows, members, len(units))
        mixed = shuffled(np.arange(len(rows)))
        rows, members = rows[mixed], members[mixed]
        for rng in as_generator(self.random_state).spawn(self.n_repeats):
            order = rng.permutation(len(units))
            order = order[np.argsort(strata[order], kind="stable")]
            fold_of_unit = np.empty(len(units), dtype=int)
            fold_of_unit[order] = np.arange(len(units)) % self.n_splits
            fold = fold_of_unit[members]
            for k in range(self.n_splits):
                yield rows[fold != k], rows[fold == k]

    def _breaking_ties_by(self, columns):
        """A copy that orders rows of equal content by these columns (see `content_order`)."""
        tied = copy.copy(self)
        tied._ties = columns
        return tied

    def _strata(self, X, rows, members, n_units):
        if self.stratify is None:
            return np.zeros(n_units)
        if self.stratify not in getattr(X, "columns", []):
            raise ValueError(
                f"X has no column {self.stratify!r} to stratify folds by. Pass a DataFrame with "
                "that column, or another stratify=... (task=... of as_published)."
            )
        codes = pd.factorize(np.asarray(X[self.stratify])[rows])[0]
        first = np.unique(members, return_index=True)[1]
        return codes[first]


def as_splitter(cv, random_state, ties=()):
    """The splitter for `cv`: None, an int, or a splitter."""
    if cv is None:
        cv = CrossFitKFold(random_state=random_state)
    elif isinstance(cv, int | np.integer):
        cv = CrossFitKFold(n_splits=cv, n_repeats=1, random_state=random_state)
    cv = seeded_splitter(cv, random_state)
    return cv._breaking_ties_by(ties) if isinstance(cv, CrossFitKFold) else check_cv(cv)


def cross_fit(encoded, z, weights, splitter, groups, n_jobs=None):
    """Out-of-fold predictions and fold numbers, each of shape (n_repeats, n_groups)."""
    splits = list(splits_of(splitter, encoded.X, z, groups))
    folds = _held_out_by(splits, len(z))
    columns = encoded.for_folds()
    calls = (
        (number > 0, clone(encoded.regressor), columns, z, weights, *split)
        for number, split in enumerate(splits)
    )
    folded = results(_held_out, calls, len(splits), n_jobs)
    predicted = list(steps(folded, "folds", len(splits)))
    prior_means, seen = np.empty(folds.shape), np.zeros(len(z), dtype=int)
    for (_, test), values in zip(splits, predicted, strict=True):
        prior_means[seen[test], test] = values
        seen[test] += 1
    # Predictions for a fold of one group are always constant.
    several = [values for values in predicted if len(values) > 1]
    if several and all(np.ptp(values) == 0 for values in several) and np.ptp(z) > 0:
        _warn_constant(pd.DataFrame(encoded.X), groups)
    return prior_means, folds


def splits_of(splitter, X, z, groups):
    """Splits of a splitter; it gets codes instead of the names of `groups`."""
    return splitter.split(X, z, None if groups is None else pd.factorize(groups, sort=True)[0])


def _held_out(checked, *arguments):
    """`held_out`, with the parameters checked in the first fold only."""
    with config_context(skip_parameter_validation=checked or None):
        return held_out(*arguments)


def _held_out_by(splits, n_groups):
    """Number of the fold that holds out each group, of shape (n_repeats, n_groups)."""
    for train, test in splits:
        held = np.bincount(test, minlength=n_groups)
        if held.max(initial=0) > 1 or held[train].any():
            raise ValueError(
                "A fold of cv holds out a group twice, or holds out and fits the same group. Each "
                "fold must hold out distinct groups and fit on the others."
            )
    times = np.bincount(np.concatenate([test for _, test in splits]), minlength=n_groups)
    if np.ptp(times) > 0 or times[0] == 0:
        raise ValueError(_BAD_SPLITTER)
    folds, seen = np.empty((times[0], n_groups), dtype=int), np.zeros(n_groups, dtype=int)
    for number, (_, test) in enumerate(splits):
        folds[seen[test], test] = number
        seen[test] += 1
    return folds


_BAD_SPLITTER = (
    "The folds of cv do not hold out each group equally often. Use KFold, GroupKFold, "
    "RepeatedKFold or LeavePGroupsOut, not ShuffleSplit or TimeSeriesSplit."
)


def _warn_constant(X, groups):
    if informative_columns(X, groups, nominal_columns(X)):
        warn(
            "The regressor predicts the same value for all groups, so the features have no effect. "
            "With few groups, lower its minimum leaf size or its regularization, or pass "
            "regressor='lightgbm' for boosted trees with small leaves."
        )
