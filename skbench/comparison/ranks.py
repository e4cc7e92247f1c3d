"""Ranks that hold up: confidence sets, and groups of models that tie."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, count, islice, product
from string import ascii_lowercase
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skbench._checks import (
    check_column,
    check_same_index,
    floats,
    n_rows,
    refuse_repeats,
)
from skbench._printed import Printed, PrintedTable
from skbench._random import as_generator
from skbench._types import Count, Level, RandomState, checked
from skbench._warnings import warn
from skbench.comparison._pairs import FEW_CLUSTERS
from skbench.containers import Estimate
from skbench.stats.intervals.moments import satterthwaite_df
from skbench.stats.ranking import rank_sets

MOST_GROUPS = 1_000  # of ties that get letters; hundreds of models on few items have 100,000


@dataclass(frozen=True, eq=False, repr=False)
class RankConfidenceSets(Printed):
    """Ranks that each model may truly have.

    Attributes
    ----------
    estimate : ndarray of shape (n_models,)
        Estimated performance of each model.
    low, high : ndarray of int of shape (n_models,)
        Best and worst rank in the confidence set of each model; 1 is the best.
    better : ndarray of bool of shape (n_models, n_models)
        Entry (j, k): model `j` is significantly better than model `k`.
    labels : pandas.Index of length n_models
        Names of the models.
    confidence_level : float
        Probability that the sets hold the true ranks.
    kind : {"simultaneous", "marginal"}
        Whether this holds for all models together or for each.
    """

    estimate: np.ndarray
    low: np.ndarray
    high: np.ndarray
    better: np.ndarray
    labels: pd.Index
    confidence_level: float
    kind: str

    @checked
    def best(self, tau: Count = 1) -> pd.Index:
        """Models that may be among the `tau` best.

        Parameters
        ----------
        tau : int, default=1
            Number of models that count as the best.

        Returns
        -------
        pandas.Index
            Labels of the models whose best possible rank is at most `tau`. With simultaneous
            sets it holds all of the `tau` truly best models with the confidence level, ties
            included; with marginal sets, each of them.
        """
        return self.labels[self.low <= tau]

    def to_frame(self) -> pd.DataFrame:
        """One row per model: estimate, low, high, and whether it may be the best."""
        columns = {
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
            "best": self.low == 1,
        }
        return pd.DataFrame(columns, index=self.labels)

    def __len__(self):
        return len(self.labels)

    def _printed(self):
        kind = f"{100 * self.confidence_level:g}% {self.kind} rank confidence sets"
        best = ", ".join(map(str, self.best()))
        head = f"{kind} of {len(self)} models; may be the best: {best}"
        return [head, PrintedTable(self.to_frame())]


@checked
def rank_confidence_sets(
    estimate: Estimate | pd.Series | ArrayLike,
    standard_error: ArrayLike | None = None,
    *,
    covariance: ArrayLike | None = None,
    df: ArrayLike | None = None,
    confidence_level: Level = 0.95,
    kind: Literal["simultaneous", "marginal"] = "simultaneous",
    method: Literal["bonferroni", "mogstad"] = "bonferroni",
    stepdown: bool = True,
    n_draws: Count = 10_000,
    random_state: RandomState = None,
) -> RankConfidenceSets:
    """Confidence sets for the ranks of models.

    Parameters
    ----------
    estimate : Estimate, Series or array-like of shape (n_models,)
        Performances; high is good. An `Estimate` has its standard errors.
    standard_error : array-like of shape (n_models,), default=None
        Standard errors of independent estimates.
    covariance : array-like of shape (n_models, n_models), default=None
        In place of `standard_error`, covariance of models that answered the same items.
    df : float or array-like of shape (n_models,) or (n_models, n_models), default=None
        Degrees of freedom (items or clusters minus 1): of each model, giving pairs Welch's, or
        of each difference. None takes standard errors as known.
    confidence_level : float, default=0.95
        Probability that the sets hold the true ranks.
    kind : {"simultaneous", "marginal"}, default="simultaneous"
        Whether all sets hold at once, or each separately (shorter sets).
    method : {"bonferroni", "mogstad"}, default="bonferroni"
        Critical values: t quantiles at Bonferroni's level, or simulated ones of the largest
        difference under normal errors [1]_.
    stepdown : bool, default=True
        With "mogstad", whether to retest the pairs not yet significant.
    n_draws : int, default=10_000
        With "mogstad", number of draws.
    random_state : None, int, RandomState or Generator, default=None
        With "mogstad", source of the draws.

    Returns
    -------
    RankConfidenceSets

    Raises
    ------
    ValueError
        If both or none of `standard_error` and `covariance` are given, if a number is out of
        range, if `df` comes with "mogstad", or if labels differ or are not unique.

    Warns
    -----
    UserWarning
        If a standard error is 0, or `df` is below 9.

    Notes
    -----
    A model's set runs from 1 plus the number of models significantly better than it to the
    number of models minus those significantly worse [1]_. It holds all ranks that a model shares
    in exact ties (test_sets_hold_all_ranks_of_exact_ties).

    "bonferroni" compares ``|x_j - x_k| / s_jk`` with the t quantile at level ``1 - alpha / m``
    for the ``m = M (M - 1) / 2`` pairs (``M - 1`` of each model for marginal sets), as
    `leaderboard` does. With `df` it holds from 3 clusters on (benchmarks/rank_sets.py).
    "mogstad" is the published procedure: with 5 equal models on 10 clusters it errs in about a
    fifth of the cases at level 0.95.

    When not to use it: with the answers to single items, for which `leaderboard` estimates
    covariance and degrees of freedom itself.

    References
    ----------
    .. [1] Mogstad, Romano, Shaikh and Wilhelm (2024). Inference for ranks with
       applications to mobility across neighbourhoods and academic achievement
       across countries. Review of Economic Studies 91, 476-518.

    Examples
    --------
    >>> accuracy = pd.Series({"ada": 0.81, "bob": 0.79, "cyd": 0.60})
    >>> sets = rank_confidence_sets(accuracy, [0.02, 0.02, 0.02], df=99)
    >>> sets.to_frame()
         estimate  low  high   best
    ada      0.81    1     2   True
    bob      0.79    1     2   True
    cyd      0.60    3     3  False
    """
    if isinstance(estimate, Estimate):
        if standard_error is None and covariance is None:
            standard_error = estimate.standard_error
        estimate = pd.Series(estimate.value, index=estimate.labels)
    check_same_index(estimate=estimate, standard_error=standard_error, covariance=covariance, df=df)
    labels = estimate.index if isinstance(estimate, pd.Series) else pd.RangeIndex(n_rows(estimate))
    x = check_column("estimate", estimate, labels)
    refuse_repeats("The list of models", labels)
    root, difference_error = _errors(standard_error, covariance, labels)
    together = kind == "simultaneous"
    if method == "mogstad":
        if df is not None:
            raise ValueError('method="mogstad" takes errors as known; df needs "bonferroni".')
        noise = as_generator(random_state).standard_normal((n_draws, len(x))) @ root.T
        found = rank_sets.dominance(
            x, difference_error, noise, confidence_level, together, stepdown
        )
    else:
        freedom = _pair_df(df, np.sum(root**2, axis=1), labels)
        found = rank_sets.single_step(x, difference_error, freedom, confidence_level, together)
    return RankConfidenceSets(
        estimate=x,
        low=1 + found.below.sum(axis=1),
        high=len(x) - found.above.sum(axis=1),
        better=found.above,
        labels=labels,
        confidence_level=confidence_level,
        kind=kind,
    )


def sets_of_verdicts(estimate, better, place=None):
    """`RankConfidenceSets` of an `Estimate`, from simultaneous verdicts on all pairs.

    `place` takes the place of the estimate where it may be infinite.
    """
    return RankConfidenceSets(
        estimate=estimate.value if place is None else place,
        low=1 + better.sum(axis=0),
        high=len(better) - better.sum(axis=1),
        better=better,
        labels=estimate.labels,
        confidence_level=estimate.confidence_level,
        kind="simultaneous",
    )


def letters_of(sets):
    """The letters of each model, as lists; none where there are more groups than help anybody."""
    groups = _groups(sets, MOST_GROUPS)
    letters = np.array(_letters(len(groups)), dtype=object)
    return [list(letters[row]) if len(groups) <= MOST_GROUPS else [] for row in groups.T]


def tied(sets):
    """The letters of each model as one text."""
    return ["".join(letters) for letters in letters_of(sets)]


def _pair_df(df, variance, labels):
    """Degrees of freedom of every difference."""
    n_models = len(labels)
    if df is None:
        return np.full((n_models, n_models), np.inf)
    freedom = floats("df", df)
    if freedom.shape not in [(), (n_models,), (n_models, n_models)]:
        raise ValueError(f"df has shape {freedom.shape}, but there are {n_models} models.")
    if not np.all(freedom >= 1):
        raise ValueError(f"df must be at least 1, got {np.min(freedom):g}.")
    if freedom.min() < FEW_CLUSTERS - 1 and n_models > 1:
        warn(
            f"df is as low as {freedom.min():g}, fewer than {FEW_CLUSTERS} clusters: rank sets are "
            "wide, and rough where scores are skewed."
        )
    if freedom.ndim != 1:
        return np.broadcast_to(freedom, (n_models, n_models))
    both = [np.stack(np.broadcast_arrays(v[:, None], v), axis=-1) for v in (variance, freedom)]
    return np.nan_to_num(satterthwaite_df(*both), nan=np.inf)


def indistinguishable_groups(sets: RankConfidenceSets) -> pd.DataFrame:
    """Groups of models that no test tells apart, as letters (compact letter display).

    Parameters
    ----------
    sets : RankConfidenceSets
        Simultaneous rank confidence sets.

    Returns
    -------
    pandas.DataFrame of bool of shape (n_models, n_groups)
        Members of the groups "a", "b", ...; "a" has the model with the highest estimate.

    Raises
    ------
    ValueError
        If `sets` are marginal: they test each pair twice and may disagree.

    Notes
    -----
    The groups are the maximal sets in which no two models differ significantly; they may
    overlap. ``groups.dot(groups.columns)`` is the string of letters of each model.

    When not to use it: as proof of equality. Few items separate few models.

    Examples
    --------
    >>> accuracy = pd.Series({"ada": 0.86, "bob": 0.80, "cyd": 0.75})
    >>> groups = indistinguishable_groups(rank_confidence_sets(accuracy, [0.02, 0.02, 0.02]))
    >>> dict(groups.dot(groups.columns))
    {'ada': 'a', 'bob': 'ab', 'cyd': 'b'}
    """
    if sets.kind != "simultaneous":
        raise ValueError(
            f"Groups need simultaneous rank confidence sets, got {sets.kind} ones. "
            'Use kind="simultaneous".'
        )
    groups = _groups(sets)
    return pd.DataFrame(groups.T, index=sets.labels, columns=_letters(len(groups)))


def _groups(sets, most=np.inf):
    """Members of the groups, its rows; one more than `most` where there are more."""
    order = np.argsort(-sets.estimate, kind="stable")
    different = (sets.better | sets.better.T)[np.ix_(order, order)]
    cliques = rank_sets.maximal_cliques(~different, most)
    member = np.empty_like(cliques)
    member[:, order] = cliques
    return member


def _errors(standard_error, covariance, labels):
    """A root of the covariance matrix, and the standard errors of all differences."""
    if (standard_error is None) == (covariance is None):
        raise ValueError(
            "Pass either standard_error (independent estimates) or covariance (models that "
            "share items), not both and not neither."
        )
    if covariance is None:
        error = check_column("standard_error", standard_error, labels, minimum=0)
        _warn_of_zeros(error, labels)
        apart = np.hypot(error[:, None], error)
        np.fill_diagonal(apart, 0)
        return np.diag(error), apart
    covariance = _checked_covariance(covariance, labels)
    variance = np.diag(covariance)
    _warn_of_zeros(variance, labels)
    sums = variance[:, None] + variance
    squares = sums - 2 * covariance
    # Models with the same answers differ by rounding alone.
    apart = np.sqrt(np.where(squares > 1e-12 * sums, squares, 0.0))
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0)), apart


def _checked_covariance(covariance, labels):
    """A covariance matrix of the models, or an error."""
    if isinstance(covariance, pd.DataFrame) and not covariance.index.equals(covariance.columns):
        raise ValueError("covariance must have the same labels on its rows and columns.")
    matrix = floats("covariance", covariance)
    if matrix.shape != (len(labels), len(labels)):
        raise ValueError(
            f"covariance has shape {matrix.shape}, but there are {len(labels)} models."
        )
    check_column("variance", np.diag(matrix), labels, minimum=0)
    size = np.abs(matrix).max(initial=0)
    if not np.isfinite(size) or not np.allclose(matrix, matrix.T, rtol=0, atol=1e-9 * size):
        raise ValueError("covariance must be finite and symmetric.")
    lowest = np.linalg.eigvalsh(matrix).min(initial=0)
    if lowest < -1e-9 * size * len(labels):
        raise ValueError(
            f"covariance must have no negative eigenvalue, but has {lowest:g}: "
            "no errors can have these covariances."
        )
    return matrix


def _warn_of_zeros(error, labels):
    """Warn of standard errors of 0."""
    zero = np.flatnonzero(error == 0)
    if zero.size and len(labels) > 1:
        warn(
            f"{zero.size} of {len(labels)} models show no spread, such as {labels[zero[0]]!r}: "
            "their standard errors are unknown, and with 0 for them the ranks look more certain "
            "than they are. A smoothed variance, p (1 - p) / n with p = (k + 1) / (n + 2), is "
            "above 0 at every score."
        )


def _letters(n):
    """a, b, ..., z, aa, ab, ..."""
    words = chain.from_iterable(product(ascii_lowercase, repeat=size) for size in count(1))
    return ["".join(word) for word in islice(words, n)]
