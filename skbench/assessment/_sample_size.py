"""`sample_size_ratio`: the gain of shrinkage in items, without refitting."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from skbench._types import Estimator, Level, checked
from skbench.containers import GroupSummary
from skbench.stats import shrinkage
from skbench.stats.intervals import binomial
from skbench.stats.shrinkage import risk, sample_size

if TYPE_CHECKING:
    from skbench.stats.shrinkage.sample_size import SampleSizeRatio


_BINOMIAL_VARIANCES = ("smoothed", "plug-in", "agresti")  # from the group's own answers
_STEP = 1e-4  # relative step of the parameter in the numerical derivative of the risk


class _Rule(NamedTuple):
    """Shrinkage toward a prior mean, with one estimated parameter."""

    prior_mean: np.ndarray
    parameter: float
    weight: object  # weight(parameter, sigma2) of the direct estimates
    slope_beyond: np.ndarray  # slope of each estimate in its own z by way of the parameter
    influence: np.ndarray  # influence of each group on the parameter, times n_groups


@checked
def sample_size_ratio(
    estimator: Estimator, summary: GroupSummary, confidence_level: Level = 0.95
) -> SampleSizeRatio | None:
    """Return how many times the items direct estimates would need for the same precision.

    Parameters
    ----------
    estimator : EmpiricalBayes, JamesStein or MixedModel
        Estimator, fitted to the summary.
    summary : GroupSummary
        Groups with binary scores.
    confidence_level : float, default=0.95
        Confidence level of the interval.

    Returns
    -------
    SampleSizeRatio or None
        value, low and high. None if there is no formula, that is, for other estimators or other
        scores. `estimated_risk` and `compare_estimators` find the ratio for those by refitting.

    Raises
    ------
    ValueError
        If the estimator was fitted to another summary.

    Notes
    -----
    The ratio is the mean squared error of the direct estimates over that of the estimator, over all
    groups. The error of direct estimates is proportional to 1 / n. The risk is that of
    `skbench.stats.risk.leave_one_out_loss` with prior mean or center held fixed, extrapolated from
    n - 1 to n items. Groups with one item are ignored. Variances from the group's own answers are
    recomputed without the item. The interval is a jackknife over topics that also varies the
    estimated amount of shrinkage; :doc:`/user_guide/effective_sample_size` reports its coverage.

    For `MixedModel`, Stein's estimates of its squared errors are used. If models share items and
    the item correlation is unknown, there is no ratio.

    **When not to use it.** The ratio does not hold for single groups. Groups near their prior mean
    gain more, groups far from it less.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skbench import EmpiricalBayes, make_items, summarize_items
    >>> from skbench.assessment import sample_size_ratio
    >>> data = make_items(4, 60, 10, random_state=0)
    >>> g = summarize_items(data.items, ["model", "topic"], features=data.features)
    >>> eb = EmpiricalBayes(Ridge(), random_state=0).fit(**g.fit_args)
    >>> print(sample_size_ratio(eb, g))
    as good as 3.3 times the items (2.3 to 6.2)
    """
    check_is_fitted(estimator)
    if not hasattr(estimator, "z_"):
        return None  # pipelines do not keep their fitted groups
    if len(estimator.z_) != len(summary) or np.any(estimator.z_ != summary.z):
        raise ValueError("The estimator was fitted to other groups than those of the summary.")
    usable = summary.n > 1
    if summary.outcome != "binomial" or not usable.any():
        return None
    groups = np.arange(len(summary)) if summary.groups is None else np.asarray(summary.groups)
    topics = pd.factorize(groups[usable])[0]
    if hasattr(estimator, "squared_error_"):
        if summary.groups is not None and summary.item_correlation is None:
            return None  # MixedModel then treated correlated errors as independent
        losses = estimator.squared_error_[usable]
        sigma2 = binomial.unbiased_variance(np.round(summary.z * summary.n), summary.n)[usable]
        return sample_size.sample_size_ratio(losses, sigma2, topics, confidence_level)
    rule = _rule_of(estimator, summary)
    if rule is None:
        return None
    n = summary.n[usable].astype(float)
    losses, influenced, sigma2 = _losses(rule, summary, usable)
    ratio = sample_size.sample_size_ratio(losses + influenced, sigma2, topics, confidence_level)
    return sample_size.ratio_with_more_items(ratio, np.sum(n - 1) / np.sum(n))


def _losses(rule, summary, usable):
    """Losses, influences by way of the shared parameter, and unbiased variances."""
    beyond = rule.slope_beyond[usable]

    def at(parameter):
        weight = functools.partial(rule.weight, parameter)
        return leave_one_out_losses(summary, usable, rule.prior_mean, weight, beyond)

    losses, sigma2 = at(rule.parameter)
    step = _STEP * rule.parameter
    change = 0.0
    if step > 0:
        up, down = (at(rule.parameter + sign * step)[0].mean() for sign in (1, -1))
        change = (up - down) / (2 * step)
    influence = rule.influence[usable]
    return losses, change * (influence - influence.mean()), sigma2


def leave_one_out_losses(summary, scored, prior_mean, weight, slope_beyond):
    """Unbiased losses of shrinkage with ``weight(sigma2)``, and unbiased variances.

    `slope_beyond` is the slope of the estimates in their own z, minus the weight.
    """
    n = summary.n[scored].astype(float)
    k = np.round(summary.z[scored] * n)
    f = prior_mean[scored]
    losses, sigma2 = risk.leave_one_out_loss(
        lambda z, sigma2: f + weight(sigma2) * (z - f),
        k,
        n,
        _variance_with_fewer(summary.sigma2[scored], k, n),
    )
    return losses + 2 * slope_beyond * sigma2, sigma2


def _variance_with_fewer(sigma2, k, n):
    """The method that gives these variances from the group's own answers, else the variances."""
    for method in _BINOMIAL_VARIANCES:
        if np.allclose(sigma2, binomial.sampling_variance(k, n, method), rtol=1e-6, atol=0):
            return method
    return sigma2


def _rule_of(estimator, summary):
    if hasattr(estimator, "center_"):
        return _james_stein(estimator, summary)
    known = all(hasattr(estimator, name) for name in ("prior_mean_", "shrinkage_factor_"))
    return _empirical_bayes(estimator, summary) if known else None


def _empirical_bayes(estimator, summary):
    A = estimator.prior_variance_
    residuals = summary.z - estimator.prior_mean_
    slope = risk.empirical_bayes_slope(residuals, summary.sigma2, A)
    with np.errstate(invalid="ignore"):  # groups with one item are not used
        noise = binomial.unbiased_variance(np.round(summary.z * summary.n), summary.n)
    return _Rule(
        prior_mean=estimator.prior_mean_,
        parameter=A,
        weight=shrinkage.shrinkage_factor,
        slope_beyond=slope - shrinkage.shrinkage_factor(A, summary.sigma2),
        influence=residuals**2 - noise,
    )


def _james_stein(estimator, summary):
    center, w = estimator.center_, estimator.shrinkage_factor_
    sigma2 = np.maximum(summary.sigma2, summary.sigma2[summary.sigma2 > 0].min())
    slope = risk.james_stein_slope(summary.z, sigma2, estimator.center)
    scaled = (summary.z - center) ** 2 / sigma2
    # w = 1 - d / S, so dw = (1 - w) dS / S, and S is a sum over groups.
    influence = (1 - w) * len(summary) * scaled / scaled.sum() if w > 0 else 0 * scaled
    return _Rule(
        prior_mean=np.full(len(summary), center),
        parameter=w,
        weight=lambda w, sigma2: w,
        slope_beyond=slope - w,
        influence=influence,
    )
