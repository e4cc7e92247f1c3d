"""`shrinkage_risk`: Stein's risk estimate of prior variances, with the same prior mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skbench._checks import check_column, check_option, check_same_index
from skbench.assessment._comparison import RiskComparison
from skbench.assessment._sample_size import variance_with_fewer
from skbench.containers import GroupSummary
from skbench.stats import shrinkage
from skbench.stats.shrinkage import risk

_NUMERIC = (int, float, np.number)


def shrinkage_risk(
    summary: GroupSummary,
    prior_mean: ArrayLike,
    prior_variance: str | float | Sequence[str | float] = shrinkage.PRIOR_VARIANCE_METHODS,
) -> RiskComparison:
    """Estimate the risk of amounts of shrinkage towards the same prior mean.

    Parameters
    ----------
    summary : GroupSummary
        The groups.
    prior_mean : array-like of shape (n_groups,)
        Prior means that did not see the group's own direct estimate, such as
        ``EmpiricalBayes().fit(...).prior_mean_``, on the scale of the score.
    prior_variance : str, float or list of them, default=all methods
        What to compare: names of estimators of the prior variance `A`, see
        `skbench.stats.shrinkage.prior_variance`, and values of `A`; ``inf`` is no
        shrinkage and 0 the prior mean alone.

    Returns
    -------
    RiskComparison
        The first of `prior_variance` is the reference.

    Raises
    ------
    ValueError
        If a method is unknown or an `A` negative, a prior mean not finite, or its index
        not that of the summary.

    Notes
    -----
    Binary scores: `skbench.stats.risk.leave_one_out_loss`, the risk with one item
    less. Others: Stein's estimate, `skbench.stats.risk.stein_loss`, for sampling
    variances that are known; with variances from fewer than some 30 items it comes
    out too small, and `split_items_risk` is better. What estimating `A` costs is in
    both (`skbench.stats.risk.empirical_bayes_slope`).

    Exact only as far as the prior means are independent of the group's own items:
    cross-fitted with folds by topic where models share items. Averages of several
    cross-fits are a little better than the prior mean they are judged as.

    When not to use it: to choose `A` by the smallest risk and then report that
    risk, which is too good (``prior_variance="sure"`` chooses like this).

    References
    ----------
    .. [1] Stein (1981). Estimation of the mean of a multivariate normal
       distribution. Annals of Statistics 9.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skbench import EmpiricalBayes, make_items, shrinkage_risk, summarize_items
    >>> data = make_items(4, 30, 10, random_state=0)
    >>> g = summarize_items(data.items, ["model", "topic"], features=data.features)
    >>> eb = EmpiricalBayes(Ridge(), random_state=0).fit(**g.fit_args)
    >>> shrinkage_risk(g, eb.prior_mean_, ["reml", "moments", 0.0, float("inf")]).risk.round(4)
    reml       0.0083
    moments    0.0075
    A=0        0.0083
    A=inf      0.0252
    dtype: float64
    """
    check_same_index(summary=summary.to_frame(), prior_mean=prior_mean)
    prior_mean = check_column("prior_mean", prior_mean, summary.labels)
    scored = summary.n > 1 if summary.outcome == "binomial" else np.ones(len(summary), bool)
    if not scored.any():
        raise ValueError("Every group has a single item: nothing is left to judge shrinkage by.")
    if isinstance(prior_variance, (str, *_NUMERIC)):
        prior_variance = [prior_variance]
    if len(prior_variance) == 0:
        raise ValueError("prior_variance is empty: pass at least one method or number to judge.")
    columns, variance = {}, None
    for choice in prior_variance:
        name, A = _resolved(choice, summary.z - prior_mean, summary.sigma2)
        estimated = isinstance(choice, str)
        columns[name], variance = _losses(summary, prior_mean, A, estimated, scored)
    topics = np.arange(len(summary)) if summary.groups is None else np.asarray(summary.groups)
    share = 1.0
    if summary.outcome == "binomial":
        n = summary.n[scored]
        share = float(np.sum(n - 1) / np.sum(n))
    return RiskComparison(
        losses=pd.DataFrame(columns, index=summary.labels[scored]),
        variance=variance,
        topics=topics[scored],
        items_share=share,
        reference=next(iter(columns)),
    )


def _losses(summary, prior_mean, A, estimated, scored):
    """Unbiased losses of shrinkage by one `A`, and of no shrinkage, of some groups."""
    z, sigma2, f = summary.z[scored], summary.sigma2[scored], prior_mean[scored]
    weight = np.ones(len(z)) if np.isinf(A) else shrinkage.shrinkage_factor(A, sigma2)
    slope = risk.empirical_bayes_slope(z - f, sigma2, A) if estimated else weight
    if summary.outcome != "binomial":
        return risk.stein_loss(f + weight * (z - f), z, sigma2, slope), sigma2

    def rule(z, sigma2):
        return z if np.isinf(A) else shrinkage.posterior_mean(z, f, sigma2, A)

    n = summary.n[scored].astype(float)
    k = np.round(z * n)
    losses, variance = risk.leave_one_out_loss(rule, k, n, variance_with_fewer(sigma2, k, n))
    return losses + 2 * (slope - weight) * variance, variance


def _resolved(choice, residuals, sigma2):
    """Name and value of a prior variance given by either."""
    if isinstance(choice, str):
        check_option("prior_variance", choice, shrinkage.PRIOR_VARIANCE_METHODS)
        return choice, shrinkage.prior_variance(residuals, sigma2, choice)
    if not isinstance(choice, _NUMERIC) or not choice >= 0:
        raise ValueError(
            f"prior_variance must hold names of methods and numbers >= 0, got {choice!r}."
        )
    return f"A={choice:g}", float(choice)
