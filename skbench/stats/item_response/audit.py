"""Audit of items: discrimination, wrong keys, copies, and reliability of the benchmark."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit
from scipy.stats import f, false_discovery_control, norm, t

from skbench.stats.item_response._families import centered, models_along, residual_correlation

_MOST_COMPONENTS, _MODELS_EACH, _ITEMS_EACH = 5, 8, 50
_SIMILAR = 50  # items of similar difficulty
_FEWEST_ITEMS = 30  # needed to estimate the distribution of the features
_FEWEST_MODELS = 8  # effective models
_UNSURE_MODELS = 20  # effective models: below this, their number is uncertain if families exist
_PRIOR_ITEMS = 50.0  # weight, in correctly keyed items, of the prior of the share of wrong keys
_CLEARLY, _VERY_CLEARLY = 0.1, 0.02  # p-values of an item's own discrimination
_LARGEST = 0.95  # correlation
_UNRELATED = 0.7  # effective models per model, below which there are families
_ROUNDS = 4  # of excluding flagged items from the models' means


class Discrimination(NamedTuple):
    """Item-rest correlations; arrays of shape (n_items,)."""

    value: np.ndarray  # nan for items with equal scores
    low: np.ndarray
    high: np.ndarray
    p_value: np.ndarray  # one-sided test that the correlation is not negative


class Reliability(NamedTuple):
    """Cronbach's alpha with its interval."""

    value: float
    low: float
    high: float


def item_rest_correlation(scores, counted=None):
    """Correlation of each item with the models' means over the other items.

    Parameters
    ----------
    scores : ndarray of shape (n_items, n_models)
        Scores; nan if a model did not answer.
    counted : ndarray of bool of shape (n_items,), default=None
        Items included in the models' means. None includes all.

    Returns
    -------
    ndarray of shape (n_items,)
        Correlations; nan for items with the same score from every model.

    Notes
    -----
    This is the corrected item-total correlation (Lord and Novick 1968, section 15.5), which
    excludes the item itself from the mean. The item's mean is subtracted from its scores, so that
    models may have answered different items.

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
    found = np.where(np.sum(rest**2, axis=1) > tiny, found, 0.0)  # 0 up to rounding
    varied = np.ptp(np.where(known, own, 0.0), axis=1) > np.sqrt(tiny)
    return np.where(varied, np.clip(found, -1, 1), np.nan)


def effective_models(scores):
    """Number of independent models that give the same information about an item.

    Parameters
    ----------
    scores : ndarray of shape (n_items, n_models)
        Scores; nan if a model did not answer.

    Returns
    -------
    float
        Effective number of models, from 1 to n_models. If models are versions of one another, it is
        close to the number of families.

    Notes
    -----
    ``M^2 / sum r^2`` over all pairs of models including each model with itself, where `r` is the
    correlation of their residuals. This is the effective number of dimensions. The residuals are
    standardized; they come from a Rasch model for scores with two values, and otherwise from
    additive effects of items and models. The sum is corrected for chance and for centering.

    Examples
    --------
    >>> alone = np.random.default_rng(0).normal(size=(500, 8))
    >>> [round(effective_models(x)) for x in (alone, np.repeat(alone, 3, axis=1))]
    [8, 7]
    """
    r, both = residual_correlation(scores)
    m = len(r)
    apart = ~np.eye(m, dtype=bool)
    # Centering by items gives independent models a correlation of -1 / (M - 1).
    excess = (r + 1 / max(m - 1, 1)) ** 2 - 1 / np.maximum(both, 1)
    return float(np.clip(m**2 / (m + max(excess[apart].sum(), 0.0)), 1.0, m))


def discrimination(scores, n_effective, confidence_level=0.95, counted=None):
    """Item-rest correlations with intervals and p-values.

    Parameters
    ----------
    scores : ndarray of shape (n_items, n_models)
        Scores; nan if a model did not answer.
    n_effective : float
        Effective number of models, from `effective_models`.
    confidence_level : float, default=0.95
        Confidence level of the intervals.
    counted : ndarray of bool of shape (n_items,), default=None
        As in `item_rest_correlation`.

    Returns
    -------
    Discrimination

    Notes
    -----
    The intervals use Fisher's z with variance ``1 / (n - 3)``; the p-values use a t test with ``n -
    2`` degrees of freedom. Here `n` is the effective number of models that answered the item. If
    `n` is too small, the interval is -1 to 1 and the p-value is nan.

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
    discrimination: Discrimination  # the models' means exclude flagged items
    n_effective: float  # from `effective_models`


def reversed_items(scores, confidence_level=0.95):
    """Find items with a wrong answer key, which fit the others better if scores are reversed.

    Parameters
    ----------
    scores : ndarray of shape (n_items, n_models)
        Scores; nan if a model did not answer.
    confidence_level : float, default=0.95
        1 minus the false discovery rate of the flagged items.

    Returns
    -------
    Reversed

    Notes
    -----
    A negative discrimination does not imply a wrong key, because weak models solve some hard items
    by chance. Each item has features `x` that change their sign if the key is reversed: its mean
    score minus the middle of the scale, Fisher's z of the item-rest correlation, and leading
    components of the centered scores (one per eight models beyond eight, at most five). They follow
    the mixture ``(1 - s) N(m, C) + s N(-m, C)``, fitted by expectation maximization. The
    probability of a reversed key is ``s e / (s e + 1 - s)`` with ``log e = -2 x' C^-1 m``.

    The most probable items are flagged, under two conditions. Their probabilities of a correct key
    must average at most ``1 - confidence_level`` (the Bayesian false discovery rate, Efron 2010,
    Large-Scale Inference, chapter 5). The discrimination of each must be below 0 with ``p < 0.1``.
    With fewer than 30 items of different scores, only p-values are used (Benjamini and Hochberg
    1995).

    The number of models is here the smaller of `effective_models` and ``M / v``. Here `v` is the
    variance of a contrast of the models relative to independent models, minus its standard error.
    Models of one family score alike, so their common errors add up along the models' ranking. The
    contrast is the squared mean scores minus a line through them, because items of different slopes
    correlate the models along the line itself. With fewer than eight such models, no item is
    flagged. With fewer than 20, and fewer than 0.7 of all models, ``p < 0.02`` is required.

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
    n_effective = effective_models(scores)  # all items: without flagged ones models differ more
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
    """Probability of the smaller component in a mixture of a normal and its mirror image."""
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
        share = np.clip(probability.sum() / (len(x) + _PRIOR_ITEMS), 1e-4, 0.5)
        if np.abs(new - mean).max() < 1e-9:
            break
        mean = new
    return probability


def same_answers(scores, n_effective, rate=0.05):
    """Find items with the same score from every model, beyond agreement by chance.

    Parameters
    ----------
    scores : ndarray of shape (n_items, n_models)
        Scores; nan if a model did not answer.
    n_effective : float
        Effective number of models, from `effective_models`.
    rate : float, default=0.05
        Expected number of pairs that are equal by chance.

    Returns
    -------
    ndarray of int of shape (n_items,)
        Position of the first item with the same scores, or the item's own position.

    Notes
    -----
    With few models, two items often have equal scores by chance. A pair counts if the probability
    of its scores, times the number of pairs, is below `rate`. This probability is a product over
    models of the share of this score among about 50 items of similar difficulty. The product is
    raised to the power ``n_effective / n_models``.

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
    for rows in np.array_split(np.argsort(mean, kind="stable"), -(-n_items // _SIMILAR)):
        near = scores[rows]
        count = np.sum(near[:, None] == near, axis=1) - 0.5  # the item itself counts half
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
        Effective number of models, used for the interval. None uses the number of models.
    confidence_level : float, default=0.95
        Confidence level of the interval.

    Returns
    -------
    Reliability
        nan with fewer than two models or two items, or if models do not differ. With fewer than two
        effective models only the interval is nan.

    Notes
    -----
    ``I / (I - 1) (1 - sum of the item variances / variance of the totals)`` [1]_. For 0/1 scores it
    is formula 20 of Kuder and Richardson. The interval uses the F distribution with ``M - 1`` and
    ``(M - 1)(I - 1)`` degrees of freedom [2]_.

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
    if freedom < 1:  # the variance of the totals is unknown
        return Reliability(float(alpha), np.nan, np.nan)
    tails = (1 - confidence_level) / 2
    low, high = (
        1 - (1 - alpha) * f.ppf(tail, freedom, freedom * (n_items - 1))
        for tail in (1 - tails, tails)
    )
    return Reliability(float(alpha), float(low), float(high))


def items_for_reliability(n_items, reliability, target):
    """Number of similar items needed for a reliability: the Spearman-Brown formula.

    Parameters
    ----------
    n_items : int
        Number of items with the known reliability.
    reliability : float or ndarray
        Known reliability.
    target : float
        Reliability to be reached.

    Returns
    -------
    float or ndarray
        ``n target (1 - r) / (r (1 - target))``; inf if `reliability` is not positive.

    Examples
    --------
    >>> round(float(items_for_reliability(100, 0.8, 0.9)), 6)
    225.0
    """
    r = np.asarray(reliability, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = n_items * target * (1 - r) / (r * (1 - target))
    return np.where(r > 0, needed, np.where(np.isnan(r), np.nan, np.inf))
