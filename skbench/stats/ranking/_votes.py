"""Pairwise votes: counts, and the models that they connect."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph


class Votes(NamedTuple):
    """Votes between two models; a row may represent several equal votes.

    Attributes
    ----------
    first, second : ndarray of int of shape (n_rows,)
        Positions of the two models.
    outcome : ndarray of shape (n_rows,)
        1 if the first model won, 0.5 for a tie, 0 if the second won; nan if only the judge
        voted.
    features : ndarray of shape (n_rows, n_features)
        Covariates of the vote, such as the difference in length of the answers.
    cluster : ndarray of int of shape (n_rows,)
        Cluster of dependent votes, from 0; the row number for independent votes.
    count : ndarray of shape (n_rows,)
        Number of equal clusters that the row's cluster represents.
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
        """The votes in these rows."""
        return Votes(*(None if column is None else column[rows] for column in self))


def count_votes(first, second, outcome, n_models, judge=None):
    """Count equal independent votes, as `Votes` without features and with first < second.

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
    swapped = first > second
    halves = [
        np.nan_to_num(np.round(2 * np.where(swapped, 1 - x, x)), nan=3).astype(int)
        for x in (outcome, outcome if judge is None else judge)
    ]
    places = np.where(swapped, [second, first], [first, second])
    shape = (4, 4, n_models, n_models)
    codes, count = np.unique(np.ravel_multi_index([*halves, *places], shape), return_counts=True)
    *halves, first, second = np.unravel_index(codes, shape)
    outcome, verdict = (np.where(x == 3, np.nan, x / 2) for x in halves)
    features, rows = np.empty((len(codes), 0)), np.arange(len(codes))
    judge = None if judge is None else verdict
    return Votes(first, second, outcome, features, rows, count, judge)


def count_wins(votes, n_models):
    """Number of votes that each model won against each other model, ties as halves.

    Parameters
    ----------
    votes : Votes
        Votes of any kind.
    n_models : int
        Number of models.

    Returns
    -------
    ndarray of shape (n_models, n_models)
        Wins of the row's model against the column's.

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
    """Find the models with finite ratings: the largest strongly connected group of wins.

    Parameters
    ----------
    wins : ndarray of shape (n_models, n_models)
        As returned by `count_wins`.

    Returns
    -------
    ndarray of shape (n_models,)
        0 for the largest group of models in which each model has a chain of wins (or ties) over
        every other; inf for models with such a chain over the group but not in reverse, -inf for
        the opposite case; nan if there is no chain.

    Notes
    -----
    The likelihood has a maximum if and only if all models form one such group [1]_.

    References
    ----------
    .. [1] Ford (1957). Solution of a ranking problem from binary comparisons. American
       Mathematical Monthly 64, 28-33.

    Examples
    --------
    Model 2 won its only vote, and model 3 has no votes.

    >>> standing(np.array([[0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]))
    array([ 0.,  0., inf, nan])
    """
    beats = np.isfinite(csgraph.shortest_path(sparse.csr_array(wins > 0), unweighted=True))
    group = beats & beats.T
    one = np.argmax(group.sum(axis=1))
    cases = group[one], beats[:, one], beats[one]
    return np.select(cases, [0.0, np.inf, -np.inf], np.nan)


def favor_squares(votes, design):
    """Squared scores of one added cluster per model in which the judge is biased for the model.

    Parameters
    ----------
    votes : Votes
        Human votes.
    design : sparse array of shape (n_rows, n_parameters)
        Derivatives of the log odds of each vote.

    Returns
    -------
    ndarray of shape (n_parameters, n_parameters)
        Sum over the models of the mean, over the clusters with votes of the model, of the square
        of the sum of their scores.

    Examples
    --------
    >>> votes = count_votes(np.array([0, 0]), np.array([1, 1]), np.array([1.0, 0]), 2)
    >>> favor_squares(votes, sparse.csr_array([[1.0, -1.0], [1.0, -1.0]]))
    array([[ 2., -2.],
           [-2.,  2.]])
    """
    n_models = 1 + max(votes.first.max(), votes.second.max())
    codes = np.concatenate([votes.cluster * n_models + x for x in (votes.first, votes.second)])
    codes, at = np.unique(codes, return_inverse=True)
    count, model = np.zeros(len(codes)), codes % n_models
    count[at] = np.tile(votes.count, 2)
    signs = sparse.csr_array((np.repeat([1.0, -1.0], len(at) // 2), (at, np.arange(len(at)))))
    scores = signs @ sparse.vstack([design, design])
    share = sparse.diags_array(count / np.bincount(model, count)[model])
    return (scores.T @ share @ scores).toarray()
