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


def favor_squares(votes, design):
    """Squared scores of one more cluster per model in which a judge favors, or wrongs, the model.

    Parameters
    ----------
    votes : Votes
        Those that people decided.
    design : sparse array of shape (n_rows, n_parameters)
        Derivatives of the log odds of each.

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
