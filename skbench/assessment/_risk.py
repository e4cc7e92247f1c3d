"""`estimated_risk`: mean squared error without known true values."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skbench._checks import check_column, check_option, check_same_index
from skbench._jobs import results
from skbench._progress import steps
from skbench._random import as_generator
from skbench._types import AtLeastTwo, Count, Jobs, Names, RandomState, Rows, checked
from skbench._warnings import warn
from skbench.assessment._candidate import Candidate, answers_of, estimators_of_groups
from skbench.assessment._risk_comparison import RiskComparison
from skbench.assessment._sample_size import leave_one_out_losses
from skbench.assessment._splits import Data
from skbench.containers import GroupSummary
from skbench.stats import shrinkage
from skbench.stats.shrinkage import risk

_NUMERIC = (int, float, np.number)


@checked
def estimated_risk(
    candidates: Any,
    items: Rows | GroupSummary,
    by: Names | None = None,
    *,
    method: Literal["split items", "sure"] = "split items",
    prior_mean: ArrayLike | None = None,
    reference: str | None = None,
    n_splits: AtLeastTwo = 10,
    n_repeats: Count = 1,
    random_state: RandomState = None,
    n_jobs: Jobs = None,
    **summary_options: Any,
) -> RiskComparison:
    """Estimate mean squared errors without known true values.

    Compare estimators, or prior variances (amounts of shrinkage).

    Parameters
    ----------
    candidates : dict of str to estimator, list of (str, estimator), or one estimator
        Estimators of groups, not fitted; they are copied. With ``method="sure"``, one or several
        prior variances `A` instead: numbers, or names of methods as in
        `skbench.stats.shrinkage.prior_variance`. With ``inf`` nothing is shrunk, and
        with 0 every estimate is the prior mean.
    items : dataframe or GroupSummary
        One row per (model, item). A summary is enough if models share no items. Then
        skbench splits counts of correct answers like the answers themselves, and other means as
        normal variables with known variance.
    by : str or list of str, default=None
        Columns that define the groups; required with a dataframe.
    method : {"split items", "sure"}, default="split items"
        "split items" splits the items of every group into folds. The estimators are fitted without
        one fold. Their estimates are compared with the direct estimates of that fold. "sure" is
        Stein's unbiased risk estimate for shrinkage toward one prior mean. It does not refit any
        estimator.
    prior_mean : array-like of shape (n_groups,), default=None
        Required for "sure": prior means that do not use the group's own direct estimate, such as
        ``EmpiricalBayes().fit(...).prior_mean_``.
    reference : str, default=None
        Candidate that the others are compared with. None is the first.
    n_splits : int, default=10
        Number of folds of "split items".
    n_repeats : int, default=1
        Number of independent repeats of "split items". Each fits every estimator `n_splits` times.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the splits, and of unset random states inside the estimators, at any depth. The
        order of the rows has no effect.
    n_jobs : int, default=None
        Number of folds processed in parallel (joblib).
    **summary_options
        Further arguments of `summarize_items`: score, model, item, cluster, variance, features.
        With a summary, only `variance`.

    Returns
    -------
    RiskComparison

    Raises
    ------
    ValueError
        If no group has two items, only a summary is given although models share items, or item ids
        are missing. With "sure", if `prior_mean` is missing, or a prior variance is negative or has
        an unknown name.
    TypeError
        If `candidates` are not estimators, or an argument needs item rows.

    Warns
    -----
    UserWarning
        If an estimator fails on part of the items. Its risk is nan.

    Notes
    -----
    **"split items"** [1]_. The expected value of ``(estimate - z_out)^2`` exceeds the mean squared
    error by the variance of ``z_out``; `skbench.stats.risk.split_loss` subtracts it. All answers to
    one item, and all items of one cluster, are in the same fold. Features that are means of item
    columns are recomputed in each fold; tables of features are not. The estimated risk is that of
    estimators fitted on all folds but one, so it is slightly larger than the risk with all items.

    **"sure"** [2]_. For binary scores, `skbench.stats.risk.leave_one_out_loss` estimates the risk
    with one item less. For other scores, `skbench.stats.risk.stein_loss` is too small if variances
    come from fewer than about 30 items. Both risks include the error from estimating `A`. Prior
    means must not depend on the group's own items: cross-fit by topic if models share items.

    **When not to use it.** It cannot separate candidates that differ by a few percent (see
    `compare_estimators`). The smallest of several estimated risks is too small on average.

    References
    ----------
    .. [1] Neufeld, Dharamshi, Gao and Witten (2024). Data thinning for
       convolution-closed distributions. Journal of Machine Learning Research 25.
    .. [2] Stein (1981). Estimation of the mean of a multivariate normal
       distribution. Annals of Statistics 9.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skbench import (
    ...     DirectEstimator, EmpiricalBayes, estimated_risk, make_items, summarize_items)
    >>> data = make_items(4, 30, 10, random_state=0)
    >>> estimators = {"direct": DirectEstimator(), "EB": EmpiricalBayes(Ridge())}
    >>> found = estimated_risk(
    ...     estimators, data.items, ["model", "topic"], features=data.features, random_state=0)
    >>> bool(found.risk["EB"] < found.risk["direct"])
    True
    >>> g = summarize_items(data.items, ["model", "topic"], features=data.features)
    >>> eb = EmpiricalBayes(Ridge(), random_state=0).fit(**g.fit_args)
    >>> amounts = ["moments", 0.0, float("inf")]
    >>> estimated_risk(amounts, g, method="sure", prior_mean=eb.prior_mean_).risk.round(4)
    moments    0.0077
    A=0        0.0088
    A=inf      0.0252
    dtype: float64
    """
    data = Data(items, by, summary_options)
    if method == "sure":
        return _shrinkage_risk(candidates, data, prior_mean, reference)
    if prior_mean is not None:
        raise ValueError('prior_mean needs method="sure". Omit it to compare estimators.')
    estimators = estimators_of_groups(candidates)
    reference = next(iter(estimators)) if reference is None else reference
    check_option("reference", reference, estimators)
    candidates = {name: Candidate(estimator) for name, estimator in estimators.items()}
    return split_risk(candidates, data, reference, n_splits, n_repeats, random_state, n_jobs)


def split_risk(candidates, data, reference, n_splits, n_repeats, random_state, n_jobs):
    """RiskComparison of candidates, each fitted without one fold at a time."""
    rng = as_generator(random_state)
    splits, seeds = rng.spawn(2)
    n_parts = n_splits * n_repeats
    parts = data.parts(n_splits, n_repeats, splits)
    calls = ((candidates, part, int(seeds.integers(2**31))) for part in parts)
    n_groups = len(data.summary)
    sums = np.zeros((n_groups, len(candidates) + 2))
    weights, errors = np.zeros(n_groups), {}
    judged = results(_judged, calls, n_parts, n_jobs)
    for at, columns, n_out, failures in steps(judged, "refits", n_parts):
        sums[at] += n_out[:, None] * columns
        weights[at] += n_out
        errors = failures | errors
    scored = weights > 0
    if not scored.any():
        raise ValueError(
            "No group has two items (or two clusters of items), so no group can be split. "
            "Pass groups with more items."
        )
    means = sums[scored] / weights[scored, None]
    share, variance = means[:, :2].T
    _warn_of_failures(errors)
    return RiskComparison(
        losses=pd.DataFrame(means[:, 2:], data.summary.labels[scored], list(candidates)),
        variance=variance,
        topics=data.topics[scored],
        items_share=float(np.average(share, weights=data.summary.n[scored])),
        reference=reference,
        errors=errors,
    )


def _judged(candidates, part, seed):
    """Share of items and loss of direct estimates in one part, then losses of candidates."""
    scored = part.n_out > 0
    # Warnings are dropped, because the fit to all items repeats them.
    answers, notes = answers_of(candidates, lambda variance: part.summary, seed)
    columns = [part.share, part.sigma2]
    for name in candidates:
        value = answers[name].value if name in answers else np.full(len(part.summary), np.nan)
        columns.append(risk.split_loss(value, part.summary.z, part.z_out, part.sigma2))
    errors = {name: message for name, kind, message in notes if kind == "error"}
    return part.position[scored], np.column_stack(columns)[scored], part.n_out[scored], errors


def _warn_of_failures(errors):
    for name, error in errors.items():
        warn(f"{name!r} failed on part of the items, so its risk is nan. {error}")


def _shrinkage_risk(prior_variances, data, prior_mean, reference):
    """RiskComparison of prior variances by Stein's estimate."""
    if prior_mean is None:
        raise ValueError('method="sure" needs prior_mean=..., the target of the shrinkage.')
    summary = data.summary
    check_same_index(summary=summary.to_frame(), prior_mean=prior_mean)
    prior_mean = check_column("prior_mean", prior_mean, summary.labels)
    binary = summary.outcome == "binomial"
    scored = summary.n > 1 if binary else np.ones(len(summary), bool)
    if not scored.any():
        raise ValueError("Every group has a single item. The risk needs groups with two or more.")
    if isinstance(prior_variances, (str, *_NUMERIC)):
        prior_variances = [prior_variances]
    if len(prior_variances) == 0:
        raise ValueError("candidates is empty. Pass at least one prior variance or method name.")
    columns, variance = {}, None
    for choice in prior_variances:
        name, A = _resolved(choice, summary.z - prior_mean, summary.sigma2)
        estimated = isinstance(choice, str)
        columns[name], variance = _losses(summary, prior_mean, A, estimated, scored)
    reference = next(iter(columns)) if reference is None else reference
    check_option("reference", reference, columns)
    n = summary.n[scored]
    return RiskComparison(
        losses=pd.DataFrame(columns, index=summary.labels[scored]),
        variance=variance,
        topics=data.topics[scored],
        items_share=float(np.sum(n - 1) / np.sum(n)) if binary else 1.0,
        reference=reference,
    )


def _losses(summary, prior_mean, A, estimated, scored):
    """Unbiased losses of shrinkage with one `A`, and sampling variances, of the scored groups."""
    z, sigma2, f = summary.z[scored], summary.sigma2[scored], prior_mean[scored]

    def factor(sigma2):
        return np.ones(len(sigma2)) if np.isinf(A) else shrinkage.shrinkage_factor(A, sigma2)

    weight = factor(sigma2)
    slope = risk.empirical_bayes_slope(z - f, sigma2, A) if estimated else weight
    if summary.outcome != "binomial":
        return risk.stein_loss(f + weight * (z - f), z, sigma2, slope), sigma2
    return leave_one_out_losses(summary, scored, prior_mean, factor, slope - weight)


def _resolved(choice, residuals, sigma2):
    """Name and value of a prior variance."""
    if isinstance(choice, str):
        check_option("prior variance", choice, shrinkage.PRIOR_VARIANCE_METHODS)
        return choice, shrinkage.prior_variance(residuals, sigma2, choice)
    if not isinstance(choice, _NUMERIC) or not choice >= 0:
        raise ValueError(
            f"A prior variance must be a method name or a number >= 0, got {choice!r}."
        )
    return f"A={choice:g}", float(choice)
