"""Items of a benchmark: discrimination, wrong keys, copies, and the reliability of all together."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit
from scipy.stats import f, false_discovery_control, norm, t

from skbench.stats.item_response._families import centered, models_along, residual_correlation

_MOST_COMPONENTS, _MODELS_EACH, _ITEMS_EACH = 5, 8, 50
_ALIKE = 50  # items of much the same difficulty
_FEWEST_ITEMS = 30  # of which the usual discrimination can be learned
_FEWEST_MODELS = 8  # effective ones
_UNSURE_MODELS = 20  # effective ones of families: how many there are is itself an estimate
_USUAL_ITEMS = 50.0  # keyed rightly for sure, worth as many as this: the prior of the share
_CLEARLY, _VERY_CLEARLY = 0.1, 0.02  # p-values of an item's own discrimination
_LARGEST = 0.95  # correlation
_UNRELATED = 0.7  # effective models of all, below which there are families
_ROUNDS = 4  # of items left out of the models' scores


class Discrimination(NamedTuple):
    """Item-rest correlations; arrays of shape (n_items,)."""

    value: np.ndarray  # nan for items without spread
    low: np.ndarray
    high: np.ndarray
    p_value: np.ndarray  # one-sided, of a correlation that is not negative


class Reliability(NamedTuple):
    """Cronbach's alpha with its interval."""

    value: float
    low: float
    high: float


def item_rest_correlation(scores, counted=None):
    """Correlation of each item with the models' mean over the other items.

    Parameters
    ----------
    scores : ndarray of shape (n_items, n_models)
        Scores, nan where a model did not answer.
    counted : ndarray of bool of shape (n_items,), default=None
        Items that count in the models' means. None: all.

    Returns
    -------
    ndarray of shape (n_items,)
        nan for items with one score throughout.

    Notes
    -----
    The corrected item-total correlation (Lord and Novick 1968, section 15.5): the item itself is
    left out. Scores are taken less their item's mean, so that models may have answered different
    items.

    Examples
    --------
    >>> scores = np.array([[0.0, 1, 1], [0, 1, 1], [1, 0, 0], [1, 1, 1]])
    >>> item_rest_correlation(scores).round(2)
    array([ 0., 0., -1.,  nan])
    """
    own, known = centered(scores)
    counted = np.ones(len(own), bool) if counted is None else counted
    total, n = own[counted].sum(axis=0), known[counted].sum(axis=0)
    mine = counted[:, None] & known
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = (total - np.where(mine, own, 0.0)) / (n - mine)
        rest = centered(np.where(known, rest, np.nan))[0]
        scale = np.sqrt(np.sum(rest**2, axis=1) * np.sum(own**2, axis=1))
        found = np.sum(rest * own, axis=1) / scale
    tiny = (1e-12 * np.nanmax(np.abs(scores), initial=0)) ** 2 * scores.shape[1]
    found = np.where(np.sum(rest**2, axis=1) > tiny, found, 0.0)  # else but for rounding
    varied = np.ptp(np.where(known, own, 0.0), axis=1) > np.sqrt(tiny)
    return np.where(varied, np.clip(found, -1, 1), np.nan)


def effective_models(scores):
    """How many independent models tell as much of an item as these.

    Parameters
    ----------
    scores : ndarray of shape (n_items, n_models)
        Scores, nan where a model did not answer.

    Returns
    -------
    float
        From 1 to n_models: near the number of families where models are versions of one another.

    Notes
    -----
    ``M^2 / sum r^2`` over all pairs of models, a model with itself among them, with `r` the
    correlation of their residuals: the effective number of dimensions. Residuals are standardized,
    of a Rasch model for scores of two values, else of additive effects of items and models. What
    chance adds to the sum, and what centering does, are taken off.

    Examples
    --------
    >>> alone = np.random.default_rng(0).normal(size=(500, 8))
    >>> [round(effective_models(x)) for x in (alone, np.repeat(alone, 3, axis=1))]
    [8, 7]
    """
    r, both = residual_correlation(scores)
    m = len(r)
    apart = ~np.eye(m, dtype=bool)
    # Centering by items makes independent models correlate by -1 / (M - 1).
    excess = (r + 1 / max(m - 1, 1)) ** 2 - 1 / np.maximum(both, 1)
    return float(np.clip(m**2 / (m + max(excess[apart].sum(), 0.0)), 1.0, m))


def discrimination(scores, n_effective, confidence_level=0.95, counted=None):
    """Item-rest correlations with intervals and p-values.

    Parameters
    ----------
    scores : ndarray of shape (n_items, n_models)
        Scores, nan where a model did not answer.
    n_effective : float
        Effective number of models, of `effective_models`.
    confidence_level : float, default=0.95
        Level of the intervals.
    counted : ndarray of bool of shape (n_items,), default=None
        As in `item_rest_correlation`.

    Returns
    -------
    Discrimination

    Notes
    -----
    Fisher's z with variance ``1 / (n - 3)`` and a t test with ``n - 2`` degrees of freedom, `n` the
    effective number of the models that answered the item. From -1 to 1, and nan, where `n` does not
    suffice.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=(40, 30)) + rng.normal(size=30)
    >>> found = discrimination(scores, 30.0)
    >>> bool(np.mean(found.low > 0) > 0.8), bool(found.p_value.min() > 0.05)
    (True, True)
    """
    value = item_rest_correlation(scores, counted)
    n = np.isfinite(scores).sum(axis=1) * n_effective / scores.shape[1]
    inside = np.clip(value, -1 + 1e-12, 1 - 1e-12)
    with np.errstate(invalid="ignore", divide="ignore"):
        reach = norm.isf((1 - confidence_level) / 2) / np.sqrt(np.maximum(n - 3, 0))
        low, high = (np.tanh(np.arctanh(inside) + side * reach) for side in (-1, 1))
        df = np.where(n > 2, n - 2, np.nan)
        p_value = t.cdf(inside * np.sqrt(df / (1 - inside**2)), df)
    return Discrimination(value, low, high, p_value)


class Reversed(NamedTuple):
    """Items whose scores look reversed; arrays of shape (n_items,)."""

    flagged: np.ndarray
    probability: np.ndarray  # nan where there are too few items
    discrimination: Discrimination  # flagged items do not count in the models' means
    n_effective: float  # of `effective_models`


def reversed_items(scores, confidence_level=0.95):
    """Items that fit the others if their scores are turned around: keyed wrongly.

    Parameters
    ----------
    scores : ndarray of shape (n_items, n_models)
        Scores, nan where a model did not answer.
    confidence_level : float, default=0.95
        1 less the false discovery rate of the items that are flagged.

    Returns
    -------
    Reversed

    Notes
    -----
    Not all items with negative discrimination are keyed wrongly: some hard ones are solved by weak
    models by chance. What items are like is learned from all of them: features `x` that change
    their sign with the key (mean score less the middle of the scale; Fisher's z of the item-rest
    correlation; the leading components of the scores less their item's mean, one per eight models
    beyond eight and at most five) follow ``(1 - s) N(m, C) + s N(-m, C)``, fitted by expectation
    maximization. The probability of a reversed key is ``s e / (s e + 1 - s)`` with
    ``log e = -2 x' C^-1 m``. The most probable ones are flagged, as long as their
    probabilities of a right key average at most ``1 - confidence_level`` (the Bayesian false
    discovery rate, Efron 2010, Large-Scale Inference, chapter 5), and if their own discrimination
    is below 0 with ``p < 0.1``. With fewer than 30 items with spread, by the p-values alone
    (Benjamini and Hochberg 1995).

    Here models count as effective ones: as many as `effective_models` says, and at most ``M / v``,
    with `v` the variance of a contrast of the models in units of that of independent ones (less
    its standard error). Models of one family score alike, so that what they share adds up where
    models are ordered by their scores. The contrast is the squares of their mean scores, less the
    line through these (items of unlike slopes make models correlate along the line itself). With
    fewer than eight, no item is flagged; with fewer than twenty that are less than .7 of all
    models, ``p < 0.02`` is needed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = expit(rng.normal(1, 1, (300, 1)) + rng.normal(0, 1.5, 60))
    >>> scores = rng.binomial(1, p).astype(float)
    >>> scores[:5] = 1 - scores[:5]
    >>> np.flatnonzero(reversed_items(scores).flagged)
    array([0, 1, 2, 3, 4])
    """
    own, _ = centered(scores)
    low, high = np.nanmin(scores), np.nanmax(scores)
    level = 2 * (np.nanmean(scores, axis=1) - low) / max(high - low, 1e-300) - 1
    flagged = np.zeros(len(scores), bool)
    n_effective = effective_models(scores)  # of all: without those flagged, models look less alike
    fewest = min(n_effective, models_along(scores))
    rate, enough = 1 - confidence_level, fewest >= _FEWEST_MODELS
    unsure = fewest < min(_UNSURE_MODELS, _UNRELATED * scores.shape[1])
    clear = _VERY_CLEARLY if unsure else _CLEARLY
    for _ in range(_ROUNDS):
        found = discrimination(scores, n_effective, confidence_level, ~flagged)
        p_value = discrimination(scores, fewest, confidence_level, ~flagged).p_value
        varied = np.isfinite(found.value)
        clearly = varied & (p_value < clear) & enough
        probability = np.full(len(scores), np.nan)
        before, flagged = flagged, np.zeros(len(scores), bool)
        if varied.sum() >= _FEWEST_ITEMS:
            z = np.arctanh(np.clip(found.value, -_LARGEST, _LARGEST))
            k = _n_components(varied.sum(), fewest)
            _, axes = np.linalg.eigh(own[~before].T @ own[~before])
            x = np.column_stack([level, z, own @ axes[:, len(axes.T) - k :]])[varied]
            probability[varied] = _reversed_probability(x)
            rows = np.flatnonzero(clearly)
            rows = rows[np.argsort(-probability[rows], kind="stable")]
            share = np.cumsum(1 - probability[rows]) / np.arange(1, len(rows) + 1)
            flagged[rows[share <= rate]] = True
        elif enough and clearly.any():
            tested = np.flatnonzero(np.isfinite(p_value))
            flagged[tested] = false_discovery_control(p_value[tested]) < rate
        if np.array_equal(before, flagged):
            break
    return Reversed(flagged, probability, found, n_effective)


def _n_components(n_items, n_models):
    more = int(max(n_models - _FEWEST_MODELS, 0)) // _MODELS_EACH
    return min(_MOST_COMPONENTS, more, n_items // _ITEMS_EACH)


def _reversed_probability(x, n_steps=500):
    """Probability of the smaller part of a mixture of a normal and its mirror image."""
    scale = x.std(axis=0)
    x = x / np.where(scale > 0, scale, 1.0)
    mean, share = np.median(x, axis=0), 0.01
    ridge = 1e-6 * np.eye(x.shape[1])
    covariance = np.cov(x.T) + ridge
    for _ in range(n_steps):
        odds = np.log(share / (1 - share)) - 2 * x @ np.linalg.solve(covariance, mean)
        probability = expit(odds)
        new = ((1 - 2 * probability) @ x) / len(x)
        covariance = x.T @ x / len(x) - np.outer(new, new) + ridge
        share = np.clip(probability.sum() / (len(x) + _USUAL_ITEMS), 1e-4, 0.5)
        if np.abs(new - mean).max() < 1e-9:
            break
        mean = new
    return probability


def same_answers(scores, n_effective, rate=0.05):
    """Items with the same score from every model, beyond what chance explains.

    Parameters
    ----------
    scores : ndarray of shape (n_items, n_models)
        Scores, nan where a model did not answer.
    n_effective : float
        Effective number of models, of `effective_models`.
    rate : float, default=0.05
        Number of pairs that may look the same by chance.

    Returns
    -------
    ndarray of int of shape (n_items,)
        Position of the first item of the same scores; an item's own if there is none.

    Notes
    -----
    Few models often answer two items alike. A pair counts if the probability of just these
    scores, times the number of pairs, is below `rate`: the product over models of how often the
    model has that score on about fifty items of the same difficulty, raised to the effective over
    the actual number of models.

    Examples
    --------
    >>> scores = np.random.default_rng(0).normal(size=(20, 6))
    >>> scores[7] = scores[3]
    >>> int(same_answers(scores, 6.0)[7])
    3
    """
    n_items, n_models = scores.shape
    mean = np.nanmean(scores, axis=1)
    log_chance = np.empty(n_items)
    for rows in np.array_split(np.argsort(mean, kind="stable"), -(-n_items // _ALIKE)):
        near = scores[rows]
        count = np.sum(near[:, None] == near, axis=1) - 0.5  # itself is a half
        known = np.isfinite(near)
        log_chance[rows] = np.log(np.where(known, count, len(rows)) / len(rows)).sum(axis=1)
    log_chance *= n_effective / n_models
    rare = log_chance + np.log(max(n_items * (n_items - 1) / 2, 1)) < np.log(rate)
    first = np.arange(n_items)
    seen = {}
    for i in np.flatnonzero(rare):
        first[i] = seen.setdefault(scores[i].tobytes(), i)
    return first


def cronbach_alpha(scores, n_effective=None, confidence_level=0.95):
    """Reliability of the models' means over the items: Cronbach's alpha.

    Parameters
    ----------
    scores : ndarray of shape (n_items, n_models)
        Scores, none missing.
    n_effective : float, default=None
        Effective number of models, for the interval; None: all.
    confidence_level : float, default=0.95
        Level of the interval.

    Returns
    -------
    Reliability
        nan without two models, two items, and a difference between models; the ends also with
        fewer than two effective models.

    Notes
    -----
    ``I / (I - 1) (1 - sum of the items' variances / variance of the totals)`` [1]_, for right and
    wrong answers Kuder and Richardson's formula 20. Interval by the F distribution with ``M - 1``
    and ``(M - 1)(I - 1)`` degrees of freedom [2]_.

    References
    ----------
    .. [1] Cronbach (1951). Coefficient alpha and the internal structure of tests. Psychometrika 16.
    .. [2] Feldt (1965). The approximate sampling distribution of Kuder-Richardson reliability
       coefficient twenty. Psychometrika 30.

    Examples
    --------
    >>> scores = np.array([[0.0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 1]])
    >>> [round(float(x), 3) for x in cronbach_alpha(scores)]
    [0.75, -0.65, 0.983]
    """
    n_items, n_models = scores.shape
    total = np.var(scores.sum(axis=0), ddof=1) if min(n_items, n_models) > 1 else 0.0
    if total <= (1e-12 * np.abs(scores).max(initial=0)) ** 2 * n_items:
        return Reliability(np.nan, np.nan, np.nan)
    alpha = n_items / (n_items - 1) * (1 - np.var(scores, axis=1, ddof=1).sum() / total)
    freedom = (n_models if n_effective is None else n_effective) - 1
    if freedom < 1:  # nothing is known of how totals of such models vary
        return Reliability(float(alpha), np.nan, np.nan)
    tails = (1 - confidence_level) / 2
    low, high = (
        1 - (1 - alpha) * f.ppf(tail, freedom, freedom * (n_items - 1))
        for tail in (1 - tails, tails)
    )
    return Reliability(float(alpha), float(low), float(high))


def items_for_reliability(n_items, reliability, target):
    """Number of items of the same kind that a reliability takes: Spearman and Brown's formula.

    Parameters
    ----------
    n_items : int
        Number of items of the reliability that is known.
    reliability : float or ndarray
        That reliability.
    target : float
        Reliability wanted.

    Returns
    -------
    float or ndarray
        ``n target (1 - r) / (r (1 - target))``; inf where `reliability` is not positive.

    Examples
    --------
    >>> round(float(items_for_reliability(100, 0.8, 0.9)), 6)
    225.0
    """
    r = np.asarray(reliability, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = n_items * target * (1 - r) / (r * (1 - target))
    return np.where(r > 0, needed, np.where(np.isnan(r), np.nan, np.inf))
