"""Confidence sets for ranks, and groups of models that are not significantly different."""

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

MOST_GROUPS = 1_000  # groups that get letters; hundreds of models on few items have 100,000


@dataclass(frozen=True, eq=False, repr=False)
class RankConfidenceSets(Printed):
    """Confidence sets for the ranks of models.

    Attributes
    ----------
    estimate : ndarray of shape (n_models,)
        Estimated score of each model.
    low, high : ndarray of int of shape (n_models,)
        Best and worst rank in the confidence set of each model; 1 is the best.
    better : ndarray of bool of shape (n_models, n_models)
        Entry (j, k): model `j` is significantly better than model `k`.
    labels : pandas.Index of length n_models
        Names of the models.
    confidence_level : float
        Probability that the sets cover the true ranks.
    kind : {"simultaneous", "marginal"}
        Whether this probability holds for all models together or for each model.
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
        """Return the models that may be among the `tau` best.

        Parameters
        ----------
        tau : int, default=1
            Number of models that count as the best.

        Returns
        -------
        pandas.Index
            Labels of the models with a best possible rank of at most `tau`. With simultaneous
            sets, this set contains all of the `tau` truly best models, ties included, with the
            confidence level. With marginal sets, this holds for each of them separately.
        """
        return self.labels[self.low <= tau]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per model: estimate, low, high, and whether it may be the best."""
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
    """Compute confidence sets for the ranks of models.

    Parameters
    ----------
    estimate : Estimate, Series or array-like of shape (n_models,)
        Scores of the models. Higher is better. An `Estimate` already has standard errors.
    standard_error : array-like of shape (n_models,), default=None
        Standard errors of independent estimates.
    covariance : array-like of shape (n_models, n_models), default=None
        Covariance matrix of the estimates, in place of `standard_error`, for models that answered
        the same items.
    df : float or array-like of shape (n_models,) or (n_models, n_models), default=None
        Degrees of freedom (items or clusters minus 1) of each model or of each pairwise difference.
        Degrees of freedom of single models are combined by Welch's formula. None treats standard
        errors as known.
    confidence_level : float, default=0.95
        Probability that the sets cover the true ranks.
    kind : {"simultaneous", "marginal"}, default="simultaneous"
        Whether coverage is simultaneous for all models, or holds for each model separately.
        Marginal sets are smaller.
    method : {"bonferroni", "mogstad"}, default="bonferroni"
        Critical values: t quantiles at the Bonferroni level, or simulated quantiles of the
        largest standardized difference under normal errors [1]_.
    stepdown : bool, default=True
        With "mogstad", whether to use the step-down refinement.
    n_draws : int, default=10_000
        With "mogstad", number of simulations.
    random_state : None, int, RandomState or Generator, default=None
        With "mogstad", seed of the simulations.

    Returns
    -------
    RankConfidenceSets

    Raises
    ------
    ValueError
        If both or neither of `standard_error` and `covariance` are given, a number is out of
        range, `df` is combined with "mogstad", or labels differ or are not unique.

    Warns
    -----
    UserWarning
        If a standard error is 0, or `df` is below 9.

    Notes
    -----
    The lower end of a model's set is 1 plus the number of significantly better models. The upper
    end is the number of models minus the number of significantly worse models [1]_.
    For exactly tied models, coverage means that the set contains every rank that they share.

    "bonferroni" compares ``|x_j - x_k| / s_jk`` with the ``1 - alpha / (2 m)`` quantile of the t
    distribution. Here ``m = M (M - 1) / 2`` is the number of pairs. For marginal sets, `m` is the
    number of pairs that include a given model, ``m = M - 1``. `leaderboard` uses the same
    Bonferroni level, but compares binary scores by McNemar's exact test. With `df` and at least 3
    clusters, the familywise error rate was at most 0.058 in simulations (nominal 0.05,
    benchmarks/rank_sets.py). "mogstad" is the published procedure. It treats standard errors as
    known. With 5 equal models on 10 clusters, its familywise error rate was 0.175.

    If you have per-item scores, use `leaderboard`. It estimates the covariance and the degrees of
    freedom.

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
            raise ValueError(
                'df= needs method="bonferroni": "mogstad" takes standard errors as known.'
            )
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
    """`RankConfidenceSets` from simultaneous verdicts on all pairs of an `Estimate`.

    `place` replaces the estimates if some may be infinite.
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
    """The letters of each model, as lists; empty if there are more than `MOST_GROUPS` groups."""
    groups = _groups(sets, MOST_GROUPS)
    letters = np.array(_letters(len(groups)), dtype=object)
    return [list(letters[row]) if len(groups) <= MOST_GROUPS else [] for row in groups.T]


def tied(sets):
    """The letters of each model, as one string."""
    return ["".join(letters) for letters in letters_of(sets)]


def _pair_df(df, variance, labels):
    """Degrees of freedom of all differences."""
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
            f"df is as low as {freedom.min():g}, which means fewer than {FEW_CLUSTERS} clusters. "
            "Rank sets are wide, and inaccurate if scores are skewed."
        )
    if freedom.ndim != 1:
        return np.broadcast_to(freedom, (n_models, n_models))
    both = [np.stack(np.broadcast_arrays(v[:, None], v), axis=-1) for v in (variance, freedom)]
    return np.nan_to_num(satterthwaite_df(*both), nan=np.inf)


def indistinguishable_groups(sets: RankConfidenceSets) -> pd.DataFrame:
    """Find groups of models that are not significantly different (compact letter display).

    Parameters
    ----------
    sets : RankConfidenceSets
        Simultaneous rank confidence sets.

    Returns
    -------
    pandas.DataFrame of bool of shape (n_models, n_groups)
        Members of the groups "a", "b", ...; "a" contains the model with the highest estimate.

    Raises
    ------
    ValueError
        If `sets` are marginal, because these test each pair twice and may disagree.

    Notes
    -----
    The groups are the maximal sets in which no two models differ significantly. They may
    overlap. ``groups.dot(groups.columns)`` joins the letters of each model.

    When not to use it: as proof of equality. With few items, few differences are significant.

    Examples
    --------
    >>> accuracy = pd.Series({"ada": 0.86, "bob": 0.80, "cyd": 0.75})
    >>> groups = indistinguishable_groups(rank_confidence_sets(accuracy, [0.02, 0.02, 0.02]))
    >>> dict(groups.dot(groups.columns))
    {'ada': 'a', 'bob': 'ab', 'cyd': 'b'}
    """
    if sets.kind != "simultaneous":
        raise ValueError(
            f"Groups need simultaneous rank confidence sets, but these are {sets.kind}. "
            'Use kind="simultaneous".'
        )
    groups = _groups(sets)
    return pd.DataFrame(groups.T, index=sets.labels, columns=_letters(len(groups)))


def _groups(sets, most=np.inf):
    """Members of the groups, one row each; `most` + 1 rows if there are more."""
    order = np.argsort(-sets.estimate, kind="stable")
    different = (sets.better | sets.better.T)[np.ix_(order, order)]
    cliques = rank_sets.maximal_cliques(~different, most)
    member = np.empty_like(cliques)
    member[:, order] = cliques
    return member


def _errors(standard_error, covariance, labels):
    """A square root of the covariance matrix, and the standard errors of all differences."""
    if (standard_error is None) == (covariance is None):
        raise ValueError(
            "Pass exactly one of standard_error= (independent estimates) and covariance= (models "
            "that share items)."
        )
    if covariance is None:
        error = check_column("standard_error", standard_error, labels, minimum=0)
        _warn_of_zeros(error, labels)
        pair_error = np.hypot(error[:, None], error)
        np.fill_diagonal(pair_error, 0)
        return np.diag(error), pair_error
    covariance = _checked_covariance(covariance, labels)
    variance = np.diag(covariance)
    _warn_of_zeros(variance, labels)
    sums = variance[:, None] + variance
    squares = sums - 2 * covariance
    # Differences of models with the same answers are rounding errors.
    pair_error = np.sqrt(np.where(squares > 1e-12 * sums, squares, 0.0))
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0)), pair_error


def _checked_covariance(covariance, labels):
    """The covariance matrix as an array, or an error."""
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
            "this is not a covariance matrix."
        )
    return matrix


def _warn_of_zeros(error, labels):
    zero = np.flatnonzero(error == 0)
    if zero.size and len(labels) > 1:
        warn(
            f"{zero.size} of {len(labels)} models have a standard error of 0, such as "
            f"{labels[zero[0]]!r}, so their ranks look more certain than they are. Use a smoothed "
            "variance, p (1 - p) / n with p = (k + 1) / (n + 2), which is above 0 at every score."
        )


def _letters(n):
    """a, b, ..., z, aa, ab, ..."""
    words = chain.from_iterable(product(ascii_lowercase, repeat=size) for size in count(1))
    return ["".join(word) for word in islice(words, n)]
