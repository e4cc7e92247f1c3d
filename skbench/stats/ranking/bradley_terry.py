"""Bradley-Terry ratings of models from votes between two: a logistic regression on counts."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.stats import norm

_MOST_STEPS = 50  # more are taken only where odds are beyond 10^10, as if votes were foregone
_SINGULAR = 1e-9  # eigenvalue of the information, scaled to a diagonal of 1
_CONVERGED = 1e-22  # of the Newton decrement, per vote


class Votes(NamedTuple):
    """Votes between two models; a row may stand for several equal ones.

    Attributes
    ----------
    first, second : ndarray of int of shape (n_rows,)
        Positions of the two models.
    outcome : ndarray of shape (n_rows,)
        1 where the first model won, 0.5 for a tie, 0 where the second won.
    features : ndarray of shape (n_rows, n_features)
        Covariates of the vote, such as the difference of the answers' lengths.
    cluster : ndarray of int of shape (n_rows,)
        Cluster of dependent votes, from 0; of independent votes, each row is one.
    count : ndarray of shape (n_rows,)
        Number of equal clusters that the row's cluster stands for.
    """

    first: np.ndarray
    second: np.ndarray
    outcome: np.ndarray
    features: np.ndarray
    cluster: np.ndarray
    count: np.ndarray


class RatingFit(NamedTuple):
    """Fitted Bradley-Terry model; its parameters are models, features and, last, log(ties).

    Attributes
    ----------
    standing : ndarray of shape (n_models,)
        `standing` of the models. What is not finite has nan in all that follows.
    coefficients : ndarray of shape (n_parameters,)
        Ratings, which sum to 0, coefficients of the features, and with Davidson's ties, where
        there are any, the logarithm of their parameter.
    covariance : ndarray of shape (n_parameters, n_parameters)
        Sandwich covariance.
    n_effective : ndarray of shape (n_parameters,)
        Effective number of clusters (of votes, without clusters) behind each parameter.
    """

    standing: np.ndarray
    coefficients: np.ndarray
    covariance: np.ndarray
    n_effective: np.ndarray


def count_votes(first, second, outcome, n_models):
    """Equal votes in one row each: independent `Votes` without features.

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
    (array([1, 2]), array([0.5, 1. ]))
    """
    counts = np.zeros((3, n_models, n_models), dtype=int)
    np.add.at(counts, (np.round(2 * outcome).astype(int), first, second), 1)
    halves, first, second = np.nonzero(counts)
    rows = np.arange(len(first))
    count = counts[halves, first, second]
    return Votes(first, second, halves / 2, np.empty((len(rows), 0)), rows, count)


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


def difference_errors(covariance):
    """Standard errors of the differences of all pairs.

    Parameters
    ----------
    covariance : ndarray of shape (n_models, n_models)
        Covariance of the ratings.

    Returns
    -------
    ndarray of shape (n_models, n_models)

    Examples
    --------
    >>> difference_errors(np.array([[2.0, 0.0], [0.0, 2.0]]))
    array([[0., 2.],
           [2., 0.]])
    """
    own = np.diag(covariance)
    return np.sqrt(np.maximum(own[:, None] + own - 2 * covariance, 0))


def votes_needed(rating, error, log_ties, alpha, power):
    """Further independent votes of each pair that decide it, were the difference the true one.

    Parameters
    ----------
    rating : ndarray of shape (n_models,)
        Ratings in logits.
    error : ndarray of shape (n_models, n_models)
        Standard errors of their differences.
    log_ties : float
        As in `outcome_chances`.
    alpha, power : float
        Level of the test of a pair, and the probability that it decides.

    Returns
    -------
    ndarray of shape (n_models, n_models)
        nan on the diagonal.

    Notes
    -----
    The information ``1 / error^2`` on a difference `d` must become ``(z / d)^2``, `z` the sum of
    the normal quantiles of ``1 - alpha / 2`` and of the power. A vote adds its `outcome_variance`.

    Examples
    --------
    >>> error = np.array([[0.0, 0.5], [0.5, 0.0]])
    >>> votes_needed(np.array([0.2, -0.2]), error, -np.inf, 0.05, 0.8).round()
    array([[ nan, 188.],
           [188.,  nan]])
    """
    d, z = rating[:, None] - rating, norm.isf(alpha / 2) + norm.ppf(power)
    with np.errstate(divide="ignore", invalid="ignore"):
        missing = np.maximum((z / d) ** 2 - 1 / error**2, 0)
        return np.ceil(missing / outcome_variance(outcome_chances(d, log_ties)))


def fit_ratings(votes, n_models, davidson=False):
    """Maximum likelihood ratings with a cluster-robust covariance.

    Parameters
    ----------
    votes : Votes
        Those between models whose `standing` is 0 are used.
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
        If no rating is finite, or all votes are in one cluster; if features cannot be told apart
        from the models or each other, or decide every vote.

    Notes
    -----
    Newton's method on the log-likelihood of a logistic regression, whose score for the log odds
    of a vote is its outcome less the expected one, with and without Davidson's ties. A step that
    changes log odds by up to `r` is multiplied by ``log(1 + r) / r``, which raises the likelihood
    for sure [1]_. The sandwich is ``A G A`` with the inverse information `A` and the squared
    scores `G`, summed by cluster.

    A cluster counts for a parameter by its share `p_c` of the parameter's information.
    ``1 / sum p_c^2`` is the effective number `C` of clusters; standard errors are multiplied by
    ``sqrt(C / (C - 1))``, and t intervals have ``C - 1`` degrees of freedom, at least 1. This is
    CR2 for equal clusters, and for any two.

    References
    ----------
    .. [1] Bach (2010). Self-concordant analysis for logistic regression. Electronic Journal of
       Statistics 4, 384-414.

    Examples
    --------
    Of four votes the first model won three.

    >>> votes = count_votes(*np.array([[0] * 4, [1] * 4, [1, 1, 1, 0]]), 2)
    >>> fit = fit_ratings(votes, 2)
    >>> print((fit.coefficients[0] - fit.coefficients[1]).round(6), np.log(3).round(6))
    1.098612 1.098612
    """
    place = standing(count_wins(votes, n_models))
    used = (place[votes.first] == 0) & (place[votes.second] == 0)
    votes = Votes(*(column[used] for column in votes))
    if np.all(votes.outcome == 0.5):
        raise ValueError("No two models both won and lost against each other: no rating is known.")
    if np.ptp(votes.cluster) == 0:
        raise ValueError("All votes are in one cluster. Leave cluster out, or add votes of others.")
    davidson = davidson and 0.5 in votes.outcome
    design = _design(votes, n_models, davidson)
    finite = np.append(place == 0, np.ones(design.shape[1] - n_models, dtype=bool))
    design = design[:, finite]
    found, information = _maximum(votes, np.sum(place == 0), design, davidson)
    residual, variance = _moments(found, votes, design, davidson)
    inverse = np.linalg.inv(information)
    rows = np.arange(len(votes.count))
    by_cluster = sparse.csr_array((np.sqrt(votes.count), (votes.cluster, rows)))
    scores = by_cluster @ sparse.hstack([*map(sparse.diags_array, residual)]) @ design
    number = _effective_numbers(votes.count, by_cluster, design, variance, inverse)
    scale = np.sqrt(number / (number - 1))
    sandwich = inverse @ (scores.T @ scores) @ inverse * np.outer(scale, scale)
    coefficients, n_effective = np.full((2, len(finite)), np.nan)
    covariance = np.full((len(finite), len(finite)), np.nan)
    coefficients[finite], n_effective[finite] = found, number
    covariance[np.ix_(finite, finite)] = sandwich
    return RatingFit(place, coefficients, covariance, n_effective)


def _design(votes, n_models, davidson):
    """Derivatives of the log odds of all votes, and below these of the logarithm for ties."""
    models = sparse.eye_array(n_models, format="csr")
    odds = sparse.hstack([models[votes.first] - models[votes.second], votes.features])
    ties = sparse.csr_array(np.ones((len(votes.count), int(davidson))))
    return sparse.block_diag([odds, ties], format="csr")


def _maximum(votes, n_models, design, davidson):
    """Coefficients where the likelihood is largest, and the information there."""
    found = np.zeros(design.shape[1])
    for _ in range(_MOST_STEPS):
        residual, variance = _moments(found, votes, design, davidson)
        gradient = design.T @ (votes.count * residual).ravel()
        information = (design.T @ variance.multiply(np.tile(votes.count, 2)) @ design).toarray()
        # The ratings sum to 0: any number added to their block leaves the steps as they are.
        information[:n_models, :n_models] += votes.count.sum() / n_models**2
        unit = np.sqrt(np.maximum(np.diag(information), np.finfo(float).tiny))
        if not np.linalg.eigvalsh(information / np.outer(unit, unit))[0] > _SINGULAR:
            break
        step = np.linalg.solve(information, gradient)
        if step @ gradient < _CONVERGED * votes.count.sum():
            return found, information
        change = np.abs(design @ step).reshape(2, -1).sum(axis=0).max()
        found += step * np.log1p(change) / change
    raise ValueError(
        "The covariates cannot be told apart from the models or from each other, or they decide "
        "every vote. Leave some of them out."
    )


def _moments(coefficients, votes, design, davidson):
    """Residuals of the outcomes and of their ties, and the covariance of both."""
    d, log_ties = (design @ coefficients).reshape(2, -1)
    chances = outcome_chances(d, log_ties if davidson else -np.inf)
    lost, tie, won = chances
    residual = np.stack([votes.outcome - won - tie / 2, (votes.outcome == 0.5) - tie])
    both = sparse.diags_array(tie * (lost - won) / 2)
    own, of_ties = map(sparse.diags_array, (outcome_variance(chances), tie * (1 - tie)))
    return residual, sparse.block_array([[own, both], [both, of_ties]], format="csr")


def _effective_numbers(count, by_cluster, design, variance, inverse):
    """Effective number of clusters behind each parameter."""
    numbers = []
    for influence in inverse:
        pull = design @ influence
        information = (pull * (variance @ pull)).reshape(2, -1).sum(axis=0)
        numbers.append((count @ information) ** 2 / np.sum((by_cluster @ information) ** 2))
    return np.array(numbers)
