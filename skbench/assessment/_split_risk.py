"""`split_items_risk`: mean squared error without the truth, by splitting items."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from skbench._checks import check_option
from skbench._progress import steps
from skbench._random import as_generator
from skbench._types import Names, RandomState, Rows
from skbench.assessment._candidate import Candidate, ask, estimators_of_groups
from skbench.assessment._comparison import RiskComparison
from skbench.assessment._splits import Data, check_splits
from skbench.containers import GroupSummary
from skbench.stats.shrinkage.risk import split_loss


def split_items_risk(
    estimators: Mapping[str, Any],
    items: Rows | GroupSummary,
    by: Names | None = None,
    *,
    reference: str | None = None,
    n_splits: int = 10,
    n_repeats: int = 1,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    **summary_options: Any,
) -> RiskComparison:
    """Estimate the mean squared error of estimators from the items alone.

    The items of every group are dealt to folds. The estimators see all folds but
    one, and the direct estimates of that one, which they never saw, judge them.

    Parameters
    ----------
    estimators : dict of str to estimator, list of (str, estimator), or one estimator
        Estimators of groups, not fitted; they are copied.
    items : dataframe or GroupSummary
        One row per (model, item). A summary will do where no items are shared:
        counts are then dealt as items would be, other means are split as normal
        variables with known variance.
    by : str or list of str, default=None
        Columns that define the groups; required with a dataframe.
    reference : str, default=None
        Estimator that differences are taken to, by default the first.
    n_splits : int, default=10
        Folds; estimators see a share ``1 - 1 / n_splits`` of the items, and all but
        one in groups with fewer items than folds.
    n_repeats : int, default=1
        Independent deals. Each costs `n_splits` fits of every estimator.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the deals, and of open random states inside the estimators, at any depth. The order
        of the rows makes no difference.
    n_jobs : int, default=None
        Folds worked on at the same time (joblib).
    **summary_options
        Further arguments of `summarize_items`: score, model, item, cluster,
        variance, features. With a summary, `variance` only.

    Returns
    -------
    RiskComparison

    Raises
    ------
    ValueError
        If no group has two items, models share items but only a summary was
        given, or there are no item ids to tell which are shared.
    TypeError
        If `estimators` is no dict of estimators, or an argument needs item rows.

    Warns
    -----
    UserWarning
        If an estimator fails on part of the items: its risk is nan and the
        others go on.

    Notes
    -----
    What is estimated is the risk with the items of all folds but one, not with all
    of them: a little above that of the final fit, more so for direct estimates than
    for shrunken ones. The sample size ratio is carried over to all items.

    With folds as independent as if they were new items, ``(estimate - z_out)^2``
    exceeds the squared error by the variance of ``z_out`` on average;
    `skbench.stats.risk.split_loss` takes it off. Items that models share go to
    one fold together, or the fold would be judged by what the estimators saw of
    the same items; clusters stay whole. Features that are means of item columns
    are made anew from what the estimators may see, tables of features are not.

    When not to use it: as a fine selector. Between estimators that differ by a
    few percent the data decide little, see `compare_estimators`.

    References
    ----------
    .. [1] Neufeld, Dharamshi, Gao and Witten (2024). Data thinning for
       convolution-closed distributions. Journal of Machine Learning Research 25.
    .. [2] Oliveira, Lei and Tibshirani (2024). Unbiased risk estimation in the
       normal means problem via coupled bootstrap techniques. Electronic Journal
       of Statistics 18.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skbench import DirectEstimator, EmpiricalBayes, make_items, split_items_risk
    >>> data = make_items(4, 30, 10, random_state=0)
    >>> estimators = {"direct": DirectEstimator(), "EB": EmpiricalBayes(Ridge())}
    >>> risk = split_items_risk(
    ...     estimators, data.items, ["model", "topic"], features=data.features, random_state=0)
    >>> bool(risk.risk["EB"] < risk.risk["direct"])
    True
    """
    estimators = estimators_of_groups(estimators)
    reference = next(iter(estimators)) if reference is None else reference
    check_option("reference", reference, estimators)
    candidates = {name: Candidate(estimator) for name, estimator in estimators.items()}
    data = Data(items, by, summary_options)
    return split_risk(candidates, data, reference, n_splits, n_repeats, random_state, n_jobs)


def split_risk(candidates, data, reference, n_splits, n_repeats, random_state, n_jobs):
    """Judge candidates, each fitted on what every fold leaves.

    Parameters
    ----------
    candidates : dict of str to Candidate
        What is fitted; the summaries are made with the options of `data`.
    data : Data
        What is split.
    reference : str
        Candidate that differences are taken to.
    n_splits, n_repeats : int
        Folds, and independent deals.
    random_state : int, RandomState, Generator or None
        Seed of the deals and of the candidates' open random states.
    n_jobs : int or None
        Parts worked on at the same time (joblib).

    Returns
    -------
    RiskComparison
    """
    check_splits(n_splits, n_repeats)
    rng = as_generator(random_state)
    deals, seeds = rng.spawn(2)
    results = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_judged)(candidates, part, int(seeds.integers(2**31)))
        for part in data.parts(n_splits, n_repeats, deals)
    )
    n_groups = len(data.summary)
    sums = np.zeros((n_groups, len(candidates) + 2))
    weights, errors = np.zeros(n_groups), {}
    for at, columns, n_out, failures in steps(results, "refits", n_splits * n_repeats):
        sums[at] += n_out[:, None] * columns
        weights[at] += n_out
        errors = failures | errors
    scored = weights > 0
    if not scored.any():
        raise ValueError(
            "No group has two items, or two clusters of them, so none can be split: what remained "
            "could not be judged by what was left out."
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
    # What they warn of, the fit on all items tells.
    answers, notes = ask(candidates, lambda variance: part.summary, seed)
    columns = [part.share, part.sigma2]
    for name in candidates:
        if name in answers:
            value = answers[name].value
            columns.append(split_loss(value, part.summary.z, part.z_out, part.sigma2))
        else:
            columns.append(np.full(len(part.summary), np.nan))
    errors = {name: words for name, kind, words in notes if kind == "error"}
    return part.position[scored], np.column_stack(columns)[scored], part.n_out[scored], errors


def _warn_of_failures(errors):
    for name, error in errors.items():
        warnings.warn(
            f"{name!r} failed on part of the items, so its risk is unknown. {error}",
            stacklevel=4,
        )
