"""Bradley-Terry ratings of models from pairwise votes, by logistic regression on counts."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.stats import norm

from skbench.stats.ranking._votes import Votes as Votes
from skbench.stats.ranking._votes import count_votes as count_votes
from skbench.stats.ranking._votes import count_wins as count_wins
from skbench.stats.ranking._votes import favor_squares
from skbench.stats.ranking._votes import standing as standing

_MOST_STEPS = 50  # more would be needed only for odds above 10^10
_SINGULAR = 1e-9  # eigenvalue of the information, scaled to a diagonal of 1
_LEAST_POWER = 0.01  # least weight of a judge
_CONVERGED = 1e-22  # of the Newton decrement, per vote


class RatingFit(NamedTuple):
    """Fitted Bradley-Terry model, with parameters of models, features and, last, log(ties).

    Attributes
    ----------
    standing : ndarray of shape (n_models,)
        `standing` of the models. Models without a finite rating have nan in the other fields.
    coefficients : ndarray of shape (n_parameters,)
        Ratings, which sum to 0, then coefficients of the features, then the logarithm of
        Davidson's parameter if it was fitted.
    covariance : ndarray of shape (n_parameters, n_parameters)
        Sandwich covariance.
    n_effective : ndarray of shape (n_parameters,)
        Effective number of clusters (or of votes) for each parameter.
    power : float
        Weight of the judge's verdicts, from 0 to 1.
    gain : float
        Inverse of the mean ratio of the ratings' variances to those from human votes only.
    """

    standing: np.ndarray
    coefficients: np.ndarray
    covariance: np.ndarray
    n_effective: np.ndarray
    power: float
    gain: float


def outcome_chances(log_odds, log_ties=-np.inf):
    """Probabilities that the second model wins, of a tie, and that the first model wins.

    Parameters
    ----------
    log_odds : ndarray of shape (n,)
        Rating of the first model minus that of the second, with covariates.
    log_ties : float, default=-inf
        Logarithm of Davidson's parameter [1]_; -inf for no ties.

    Returns
    -------
    ndarray of shape (3, n)

    Notes
    -----
    Proportional to ``exp(-d / 2)``, ``nu`` and ``exp(d / 2)`` for log odds `d`.

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
        As returned by `outcome_chances`.

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
    """Standard errors of the differences between all pairs of ratings.

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
    """Additional independent votes that decide each pair if the estimated difference is true.

    Parameters
    ----------
    rating : ndarray of shape (n_models,)
        Ratings in logits.
    error : ndarray of shape (n_models, n_models)
        Standard errors of the differences.
    log_ties : float
        As in `outcome_chances`.
    alpha, power : float
        Significance level and power of the test of a pair.

    Returns
    -------
    ndarray of shape (n_models, n_models)
        nan on the diagonal.

    Notes
    -----
    The information ``1 / error^2`` on a difference `d` must become ``(z / d)^2``, with the sum `z`
    of the normal quantiles of ``1 - alpha / 2`` and the power. A vote adds its `outcome_variance`.

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


def fit_ratings(votes, n_models, davidson=False, power=None):
    """Fit maximum likelihood ratings with a cluster-robust covariance.

    Parameters
    ----------
    votes : Votes
        Votes. Only those between models with `standing` 0 by human votes are used.
    n_models : int
        Number of models.
    davidson : bool, default=False
        Whether ties have their own parameter. Otherwise a tie is half a win of each model, which
        is required with a judge.
    power : float, default=None
        Weight of the judge, from 0 to 1. None minimizes the variances.

    Returns
    -------
    RatingFit

    Raises
    ------
    ValueError
        If no rating is finite, all votes are in one cluster, or features are collinear with the
        models or each other, or predict every vote exactly.

    Notes
    -----
    The likelihood is maximized by Newton's method. The score of a vote is its outcome minus the
    expectation. A step that changes log odds by up to `r` is multiplied by ``log(1 + r) / r`` to
    guarantee an increase [1]_. The sandwich covariance is ``A G A`` with the inverse information
    `A` and the squared scores `G`, summed by cluster.

    If cluster c has the share `p_c` of the information on a parameter, ``C = 1 / sum p_c^2`` is the
    effective number of clusters. Standard errors are multiplied by ``sqrt(C / (C - 1))``, as CR2
    does for two or equal clusters, and t intervals have ``C - 1`` degrees of freedom, at least 1.

    With a judge, the estimate is prediction-powered [2]_. Humans decide `n` of `N` votes, chosen at
    random. The estimating equation for weight `l` is: the mean human score minus `l` times the mean
    judge score over these `n`, plus `l` times the mean judge score over all `N`, is 0. The weight
    minimizes the mean, over models, of the ratio of a rating's variance to that from human votes
    only. It is clipped to [0, 1], and halved until ratings are finite and that ratio is at most 1.
    `C` counts human votes.

    A judge that rarely disagrees with humans may not disagree in any of their votes, and still be
    biased. Therefore the squared judge scores, times the weight, include one added disagreement
    for each model: the mean square of a score in its votes, or with clusters the mean squared sum
    over a cluster. For a model that an otherwise perfect judge favors, 95% intervals covered 0.71
    to 0.90 without it, and 0.92 to 1 with it (test_a_judge_with_a_rare_bias).

    References
    ----------
    .. [1] Bach (2010). Self-concordant analysis for logistic regression. Electronic Journal of
       Statistics 4, 384-414.
    .. [2] Angelopoulos, Duchi and Zrnic (2023). PPI++: Efficient Prediction-Powered Inference.

    Examples
    --------
    The first model won three of four votes.

    >>> votes = count_votes(*np.array([[0] * 4, [1] * 4, [1, 1, 1, 0]]), 2)
    >>> fit = fit_ratings(votes, 2)
    >>> print((fit.coefficients[0] - fit.coefficients[1]).round(6), np.log(3).round(6))
    1.098612 1.098612
    """
    human = votes.at(~np.isnan(votes.outcome))
    if np.all(human.outcome == 0.5):
        raise ValueError("All votes are ties, so there are no ratings. Add votes with a winner.")
    place = standing(count_wins(human, n_models))
    human, votes = (x.at((place[x.first] == 0) & (place[x.second] == 0)) for x in (human, votes))
    if np.all(human.outcome == 0.5):
        raise ValueError("No two models both won and lost against each other: no finite rating.")
    if np.ptp(human.cluster) == 0:
        raise ValueError("All votes are in one cluster. Omit cluster=, or add other clusters.")
    davidson = davidson and 0.5 in human.outcome
    n_parameters = n_models + votes.features.shape[1] + davidson
    finite = np.append(place == 0, np.ones(n_parameters - n_models, dtype=bool))
    design = _design(human, n_models, davidson)[:, finite]
    n_rated = np.sum(place == 0)
    found, information = _maximum(human, n_rated, design, davidson)
    sandwich, number = _sandwich(found, information, human, design, davidson)
    own_variance, most = np.diag(sandwich)[:n_rated], 1 if power is None else np.inf
    if votes.judge is None:
        power = 0.0
    else:
        every = _design(votes, n_models, False)[:, finite]
        if power is None:
            power = _tuned_power(found, information, votes, every, own_variance)
        with_judge = _with_judge(votes, every, power, own_variance, most)
        power, found, sandwich, number = with_judge or (0.0, found, sandwich, number)
    coefficients, n_effective = np.full((2, len(finite)), np.nan)
    covariance = np.full((len(finite), len(finite)), np.nan)
    coefficients[finite], n_effective[finite] = found, number
    covariance[np.ix_(finite, finite)] = sandwich
    ratio = _mean_ratio(sandwich, own_variance)
    return RatingFit(place, coefficients, covariance, n_effective, float(power), 1 / ratio)


def _design(votes, n_models, davidson):
    """Derivatives of the log odds of all votes, followed by those of the log tie parameter."""
    models = sparse.eye_array(n_models, format="csr")
    odds = sparse.hstack([models[votes.first] - models[votes.second], votes.features])
    ties = sparse.csr_array(np.ones((len(votes.count), int(davidson))))
    return sparse.block_diag([odds, ties], format="csr")


def _maximum(votes, n_models, design, davidson):
    """Coefficients at the maximum of the likelihood, and their information."""
    found = np.zeros(design.shape[1])
    for _ in range(_MOST_STEPS):
        residual, variance = _moments(found, votes, design, davidson)
        gradient = design.T @ (votes.count * residual).ravel()
        information = (design.T @ variance.multiply(np.tile(votes.count, 2)) @ design).toarray()
        # Ratings sum to 0, so that a constant added to their block does not change the steps.
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
        "The covariates are collinear with the models or each other, or predict every vote "
        "exactly. Remove some of them."
    )


def _moments(coefficients, votes, design, davidson):
    """Residuals of outcomes and ties, and their covariance."""
    d, log_ties = (design @ coefficients).reshape(2, -1)
    chances = outcome_chances(d, log_ties if davidson else -np.inf)
    lost, tie, won = chances
    residual = np.stack([votes.outcome - won - tie / 2, (votes.outcome == 0.5) - tie])
    both = sparse.diags_array(tie * (lost - won) / 2)
    own, of_ties = map(sparse.diags_array, (outcome_variance(chances), tie * (1 - tie)))
    return residual, sparse.block_array([[own, both], [both, of_ties]], format="csr")


def _sandwich(found, information, votes, design, davidson, squares=None):
    """Covariance of the coefficients, and the effective number of clusters of each.

    `squares` replaces the squared scores of these votes.
    """
    residual, variance = _moments(found, votes, design, davidson)
    inverse, by_cluster = np.linalg.inv(information), _by_cluster(votes)
    if squares is None:
        scores = by_cluster @ sparse.hstack([*map(sparse.diags_array, residual)]) @ design
        squares = scores.T @ scores
    number = _effective_numbers(votes.count, by_cluster, design, variance, inverse)
    scale = np.sqrt(number / (number - 1))
    return inverse @ squares @ inverse * np.outer(scale, scale), number


def _by_cluster(votes):
    """Matrix that sums rows by cluster; its squares count equal clusters."""
    rows = np.arange(len(votes.count))
    return sparse.csr_array((np.sqrt(votes.count), (votes.cluster, rows)))


def _effective_numbers(count, by_cluster, design, variance, inverse):
    """Effective number of clusters of each parameter."""
    numbers = []
    for influence in inverse:
        pull = design @ influence
        information = (pull * (variance @ pull)).reshape(2, -1).sum(axis=0)
        numbers.append((count @ information) ** 2 / np.sum((by_cluster @ information) ** 2))
    return np.array(numbers)


def _share_of_humans(votes):
    """Whether votes are human, and the share of human votes."""
    human = ~np.isnan(votes.outcome)
    return human, votes.count[human].sum() / votes.count.sum()


def _mean_ratio(sandwich, own_variance):
    """Mean ratio of the ratings' variances to those from human votes only."""
    return float(np.mean(np.diag(sandwich)[: len(own_variance)] / own_variance))


def _with_judge(votes, design, power, own_variance, most):
    """Weight, coefficients, covariance and effective numbers of clusters with a judge, or None.

    The weight is halved until ratings are finite and the mean variance ratio is at most `most`.
    """
    human, share = _share_of_humans(votes)
    human_votes = votes.at(human), design[np.tile(human, 2)]
    while power > _LEAST_POWER:
        weight = (1 - power) * human + power * share
        gains = np.where(human, votes.outcome - power * votes.judge, 0)
        outcome = (gains + power * share * votes.judge) / weight
        both = votes._replace(outcome=outcome, count=votes.count * weight)
        try:
            found, information = _maximum(both, len(own_variance), design, False)
        except ValueError:  # the weighted outcomes have no finite maximum
            power /= 2
            continue
        squares = _squares_with_judge(found, votes, design)
        squares = np.einsum("i,j,iajb", [1, power], [1, power], squares)
        sandwich, number = _sandwich(found, information, *human_votes, False, squares)
        if _mean_ratio(sandwich, own_variance) <= most:
            return power, found, sandwich, number
        power /= 2
    return None


def _squares_with_judge(found, votes, design):
    """Squared scores by cluster of humans and of the judge, and their products.

    The judge's score is centered at its mean over all votes, and multiplied by the share of human
    votes, minus 1 for human votes.
    """
    human, share = _share_of_humans(votes)
    design = design[: len(human)]
    chances = 1 / (1 + np.exp(-(design @ found)))
    judged = votes.judge - chances
    mean = design.T @ (votes.count * judged) / votes.count.sum()
    human_scores = np.where(human, votes.outcome - chances, 0)
    judge_scores = (share - human) * judged
    columns = [sparse.diags_array(x) @ design for x in (human_scores, judge_scores)]
    columns.append(sparse.csr_array((human - share)[:, None]))
    sums = _by_cluster(votes) @ sparse.hstack(columns, format="csr")
    n = len(mean)
    centered = np.eye(2 * n + 1, 2 * n)
    centered[2 * n, n:] = mean
    squares = (centered.T @ (sums.T @ sums) @ centered).reshape(2, n, 2, n)
    squares[1, :, 1] += (1 - share) * favor_squares(votes.at(human), design[human])
    return squares


def _tuned_power(found, information, votes, design, own_variance):
    """Weight of the judge that minimizes the mean variance ratio of the ratings."""
    squares = _squares_with_judge(found, votes, design)
    rows = np.linalg.inv(information)[: len(own_variance)] / np.sqrt(own_variance)[:, None]
    variance = np.einsum("ra,iajb,rb->ij", rows, squares, rows, optimize=True)
    return float(np.clip(-variance[0, 1] / variance[1, 1], 0, 1)) if variance[1, 1] > 0 else 0.0
