"""Bradley-Terry ratings of models from votes between two: a logistic regression on counts."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

_MOST_STEPS = 100
_SINGULAR = 1e-9  # share of its first information that a direction keeps at least
_CONVERGED = 1e-18  # of the Newton decrement, per vote
_ROUNDING = 1e-12  # of the log-likelihood


class Votes(NamedTuple):
    """Votes between two models; a row may stand for several equal ones.

    Attributes
    ----------
    first, second : ndarray of int of shape (n_rows,)
        Positions of the two models.
    outcome : ndarray of shape (n_rows,)
        1 where the first model won, 0.5 for a tie, 0 where the second won.
    count : ndarray of shape (n_rows,)
        Number of votes that a row stands for.
    weight : ndarray of shape (n_rows,)
        Weight of each of them.
    features : ndarray of shape (n_rows, n_features)
        Covariates of the vote, such as the difference of the answers' lengths.
    cluster : ndarray of int of shape (n_rows,) or None
        Cluster of dependent votes; None takes all votes as independent.
    """

    first: np.ndarray
    second: np.ndarray
    outcome: np.ndarray
    count: np.ndarray
    weight: np.ndarray
    features: np.ndarray
    cluster: np.ndarray | None


class RatingFit(NamedTuple):
    """Fitted Bradley-Terry model; its parameters are models, features and, last, log(ties).

    Attributes
    ----------
    coefficients : ndarray of shape (n_parameters,)
        Ratings, which sum to 0, coefficients of the features, and with Davidson's ties the
        logarithm of their parameter.
    inverse : ndarray of shape (n_parameters, n_parameters)
        Inverse of the information, for the ratings up to a constant: the covariance of
        differences of independent votes.
    covariance : ndarray of shape (n_parameters, n_parameters)
        Sandwich covariance.
    n_effective : ndarray of shape (n_parameters,)
        Effective number of clusters (of votes, without clusters) behind each parameter.
    """

    coefficients: np.ndarray
    inverse: np.ndarray
    covariance: np.ndarray
    n_effective: np.ndarray


def count_votes(first, second, outcome, n_models):
    """Equal votes in one row each, `Votes` without features, weights and clusters.

    Parameters
    ----------
    first, second, outcome
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
    (array([2., 1.]), array([1. , 0.5]))
    """
    halves = np.round(2 * outcome).astype(int)
    cells = np.bincount((first * n_models + second) * 3 + halves, minlength=3 * n_models**2)
    filled = np.flatnonzero(cells)
    pair, halves = np.divmod(filled, 3)
    ones, none = np.ones(len(filled)), np.empty((len(filled), 0))
    return Votes(*np.divmod(pair, n_models), halves / 2, cells[filled] * 1.0, ones, none, None)


def standing(first, second, outcome, n_models):
    """Which ratings are finite: where each model stands to the largest group that compares.

    Parameters
    ----------
    first, second, outcome, n_models
        As in `count_votes`.

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

    >>> standing(np.array([0, 1, 2]), np.array([1, 0, 0]), np.array([1.0, 1.0, 1.0]), 4)
    array([ 0.,  0., inf, nan])
    """
    not_lost, not_won = outcome > 0, outcome < 1
    winner = np.concatenate([first[not_lost], second[not_won]])
    loser = np.concatenate([second[not_lost], first[not_won]])
    shape = n_models, n_models
    beats = sparse.csr_array((np.ones(len(winner)), (winner, loser)), shape=shape)
    _, group = csgraph.connected_components(beats, directed=True, connection="strong")
    inside = group == np.argmax(np.bincount(group))
    start = int(np.argmax(inside))
    above, below = (
        np.isin(np.arange(n_models), csgraph.breadth_first_order(graph, start)[0])
        for graph in (beats.T.tocsr(), beats)
    )
    return np.select([inside, above, below], [0.0, np.inf, -np.inf], np.nan)


def outcome_chances(log_odds, log_ties=-np.inf):
    """Chances that the second model wins, of a tie, and that the first wins.

    Parameters
    ----------
    log_odds : ndarray of shape (n,)
        Rating of the first model less that of the second, covariates included.
    log_ties : float, default=-inf
        Logarithm of Davidson's parameter [1]_; -inf for no ties.

    Returns
    -------
    ndarray of shape (3, n)

    Notes
    -----
    In the proportions ``exp(-d / 2) : nu : exp(d / 2)`` for log odds `d`.

    References
    ----------
    .. [1] Davidson (1970). On extending the Bradley-Terry model to accommodate ties in paired
       comparison experiments. Journal of the American Statistical Association 65, 317-328.

    Examples
    --------
    >>> outcome_chances(np.array([0.0]), np.log(2.0)).ravel()
    array([0.25, 0.5 , 0.25])
    """
    d = np.asarray(log_odds, dtype=float)
    logs = np.stack([-d / 2, np.full_like(d, log_ties), d / 2])
    return np.exp(logs - np.logaddexp.reduce(logs, axis=0))


def outcome_variance(chances):
    """Variance of the outcome of a vote.

    Parameters
    ----------
    chances : ndarray of shape (3, n)
        As `outcome_chances` gives them.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> outcome_variance(np.array([[0.5], [0.0], [0.5]]))
    array([0.25])
    """
    lost, tie, won = chances
    return won * lost + tie * (won + lost) / 4


def fit_ratings(votes, n_models, davidson=False):
    """Maximum likelihood ratings with a cluster-robust covariance.

    Parameters
    ----------
    votes : Votes
        Of models that all compare: their `standing` is 0.
    n_models : int
        Number of models.
    davidson : bool, default=False
        Whether ties have a parameter of their own; else each is half a win of both models.

    Returns
    -------
    RatingFit

    Raises
    ------
    ValueError
        If features cannot be told apart from the models or each other, or decide every vote.

    Notes
    -----
    Newton's method on the log-likelihood of a logistic regression, whose score for the log odds
    of a vote is its outcome less the expected one, with and without Davidson's ties. The sandwich
    is ``A G A`` with the inverse information `A` and the squared scores `G`, summed by cluster.

    A cluster counts for a parameter by its share `p_c` of the parameter's information.
    ``1 / sum p_c^2`` is the effective number `C` of clusters; standard errors are multiplied by
    ``sqrt(C / (C - 1))``, and t intervals have ``C - 1`` degrees of freedom, at least 1. This is
    CR2 for equal clusters, and for any two.

    Examples
    --------
    Of four votes the first model won three.

    >>> votes = count_votes(*np.array([[0] * 4, [1] * 4, [1, 1, 1, 0]]), 2)
    >>> fit = fit_ratings(votes, 2)
    >>> print((fit.coefficients[0] - fit.coefficients[1]).round(6), np.log(3).round(6))
    1.098612 1.098612
    """
    design, weight = _design(votes, n_models, davidson), votes.count * votes.weight
    found = np.zeros(design.shape[1])
    at, unit = _evaluated(design, votes, found, davidson), None
    for _ in range(_MOST_STEPS):
        # The ratings sum to 0: any number added to their block leaves the steps as they are.
        information = at.information.copy()
        information[:n_models, :n_models] += weight.sum() / n_models**2
        if unit is None:
            unit = np.sqrt(np.maximum(np.diag(information), np.finfo(float).tiny))
        if not np.linalg.eigvalsh(information / np.outer(unit, unit))[0] > _SINGULAR:
            break
        inverse = np.linalg.inv(information)
        step = inverse @ at.gradient
        if step @ at.gradient < _CONVERGED * weight.sum():
            n_effective = _effective_numbers(design, votes, at.rows, inverse, davidson)
            scale = np.sqrt(n_effective / (n_effective - 1))
            meat = _squared_scores(design, votes, at.rows, davidson)
            covariance = inverse @ meat @ inverse * np.outer(scale, scale)
            return RatingFit(found, inverse, covariance, n_effective)
        after = _evaluated(design, votes, found + step, davidson)
        while not after.likelihood > at.likelihood - _ROUNDING * abs(at.likelihood):
            step /= 2
            after = _evaluated(design, votes, found + step, davidson)
        found, at = found + step, after
    raise ValueError(
        "The covariates cannot be told apart from the models or from each other, or they decide "
        "every vote. Leave some of them out."
    )


class _Evaluated(NamedTuple):
    likelihood: float
    gradient: np.ndarray
    information: np.ndarray
    rows: tuple  # residuals of outcome and tie, variances of both, and their covariance


def _design(votes, n_models, davidson):
    """Derivatives of the log odds of each row by the parameters, sparse."""
    n = len(votes.first)
    columns = np.column_stack([votes.first, votes.second]).ravel()
    models = np.tile([1.0, -1.0], n), columns, np.arange(0, 2 * n + 1, 2)
    blocks = [sparse.csr_array(models, shape=(n, n_models)), sparse.csr_array(votes.features)]
    return sparse.hstack([*blocks, sparse.csr_array((n, int(davidson)))]).tocsr()


def _evaluated(design, votes, coefficients, davidson):
    """Log-likelihood, its derivatives, and what they are sums of."""
    log_ties = coefficients[-1] if davidson else -np.inf
    d, is_tie, weight = design @ coefficients, votes.outcome == 0.5, votes.count * votes.weight
    chances = outcome_chances(d, log_ties)
    _, tie, won = chances
    mean, variance = won + tie / 2, outcome_variance(chances)
    residual, tie_residual = votes.outcome - mean, is_tie - tie
    tie_variance, both = tie * (1 - tie), tie * (0.5 - mean)
    total = np.logaddexp(np.logaddexp(d / 2, -d / 2), log_ties)
    likelihood = weight @ ((votes.outcome - 0.5) * d - total)
    gradient = design.T @ (weight * residual)
    information = (design.T @ design.multiply((weight * variance)[:, None])).toarray()
    if davidson:
        likelihood += log_ties * (weight @ is_tie)
        gradient[-1] = weight @ tie_residual
        information[-1] = information[:, -1] = design.T @ (weight * both)
        information[-1, -1] = weight @ tie_variance
    rows = residual, tie_residual, variance, tie_variance, both
    return _Evaluated(likelihood, gradient, information, rows)


def _squared_scores(design, votes, rows, davidson):
    """Sum of the squared scores of independent votes, or of clusters."""
    weight = votes.weight * (np.sqrt(votes.count) if votes.cluster is None else 1.0)
    scores = design.multiply((weight * rows[0])[:, None]).tocsr()
    if davidson:
        ties = sparse.csr_array((weight * rows[1])[:, None])
        scores = sparse.hstack([scores[:, :-1], ties]).tocsr()
    if votes.cluster is not None:
        members = np.ones(len(weight)), (votes.cluster, np.arange(len(weight)))
        scores = sparse.csr_array(members) @ scores
    return (scores.T @ scores).toarray()


def _effective_numbers(design, votes, rows, inverse, davidson):
    """Effective number of clusters, or votes, behind each parameter."""
    _, _, variance, tie_variance, both = rows
    numbers = np.empty(len(inverse))
    for k, influence in enumerate(inverse):
        by_odds, by_tie = design @ influence, influence[-1] * davidson
        share = variance * by_odds**2 + by_tie * (2 * both * by_odds + tie_variance * by_tie)
        share *= votes.weight**2
        squares = votes.count @ share**2
        if votes.cluster is not None:
            squares = np.sum(np.bincount(votes.cluster, share) ** 2)
        numbers[k] = (votes.count @ share) ** 2 / squares
    return numbers
