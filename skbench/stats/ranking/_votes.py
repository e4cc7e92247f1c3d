"""Votes between two models: counted, and which models they connect."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph


class Votes(NamedTuple):
    """Votes between two models; a row may stand for several equal ones.

    Attributes
    ----------
    first, second : ndarray of int of shape (n_rows,)
        Positions of the two models.
    outcome : ndarray of shape (n_rows,)
        1 where the first model won, 0.5 for a tie, 0 where the second won; nan where only the
        judge says.
    features : ndarray of shape (n_rows, n_features)
        Covariates of the vote, such as the difference of the answers' lengths.
    cluster : ndarray of int of shape (n_rows,)
        Cluster of dependent votes, from 0; of independent votes, each row is one.
    count : ndarray of shape (n_rows,)
        Number of equal clusters that the row's cluster stands for.
    judge : ndarray of shape (n_rows,), default=None
        A judge's outcome of the same votes.
    """

    first: np.ndarray
    second: np.ndarray
    outcome: np.ndarray
    features: np.ndarray
    cluster: np.ndarray
    count: np.ndarray
    judge: np.ndarray | None = None

    def at(self, rows):
        """Some of the votes."""
        return Votes(*(None if column is None else column[rows] for column in self))


def count_votes(first, second, outcome, n_models, judge=None):
    """Equal votes in one row each, first < second: independent `Votes` without features.

    Parameters
    ----------
    first, second, outcome, judge
        As in `Votes`, one row per vote.
    n_models : int
        Number of models.

    Returns
    -------
    Votes

    Examples
    --------
    >>> votes = count_votes(np.array([0, 0, 1]), np.array([1, 1, 0]), np.array([1.0, 1, 0.5]), 2)
    >>> votes.count, votes.outcome
    (array([1, 2]), array([0.5, 1. ]))
    """
    turned = first > second
    halves = [
        np.nan_to_num(np.round(2 * np.where(turned, 1 - said, said)), nan=3).astype(int)
        for said in (outcome, outcome if judge is None else judge)
    ]
    places = np.where(turned, [second, first], [first, second])
    shape = (4, 4, n_models, n_models)
    codes, count = np.unique(np.ravel_multi_index([*halves, *places], shape), return_counts=True)
    *halves, first, second = np.unravel_index(codes, shape)
    outcome, verdict = (np.where(x == 3, np.nan, x / 2) for x in halves)
    features, rows = np.empty((len(codes), 0)), np.arange(len(codes))
    judge = None if judge is None else verdict
    return Votes(first, second, outcome, features, rows, count, judge)


def count_wins(votes, n_models):
    """Number of votes that each model won against each other, ties as halves.

    Parameters
    ----------
    votes : Votes
        Votes of any kind.
    n_models : int
        Number of models.

    Returns
    -------
    ndarray of shape (n_models, n_models)
        Of the row's model against the column's.

    Examples
    --------
    >>> count_wins(count_votes(np.array([0, 0]), np.array([1, 1]), np.array([1.0, 0.5]), 2), 2)
    array([[0. , 1.5],
           [0.5, 0. ]])
    """
    wins = np.zeros((n_models, n_models))
    np.add.at(wins, (votes.first, votes.second), votes.count * votes.outcome)
    np.add.at(wins, (votes.second, votes.first), votes.count * (1 - votes.outcome))
    return wins


def standing(wins):
    """Which ratings are finite: where each model stands to the largest group that compares.

    Parameters
    ----------
    wins : ndarray of shape (n_models, n_models)
        As `count_wins` gives them.

    Returns
    -------
    ndarray of shape (n_models,)
        0 in the largest group of models each of which beat or tied with every other, directly or
        through others; inf for models that did so to the group while the group did not to them,
        -inf the other way round; nan where there is neither.

    Notes
    -----
    The likelihood has a maximum if and only if all models are one such group [1]_.

    References
    ----------
    .. [1] Ford (1957). Solution of a ranking problem from binary comparisons. American
       Mathematical Monthly 64, 28-33.

    Examples
    --------
    Model 2 won its only vote, and model 3 met nobody.

    >>> standing(np.array([[0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]))
    array([ 0.,  0., inf, nan])
    """
    beats = np.isfinite(csgraph.shortest_path(sparse.csr_array(wins > 0), unweighted=True))
    group = beats & beats.T
    one = np.argmax(group.sum(axis=1))
    cases = group[one], beats[:, one], beats[one]
    return np.select(cases, [0.0, np.inf, -np.inf], np.nan)
