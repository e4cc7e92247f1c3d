"""`split_items_risk`: mean squared error without the truth, by splitting items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skbench._checks import check_option
from skbench._types import Names, RandomState, Rows
from skbench.assessment._candidate import estimators_of_groups
from skbench.assessment._candidates import Data, split_risk
from skbench.containers import GroupSummary

if TYPE_CHECKING:
    from skbench.assessment._comparison import RiskComparison


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
    candidates = {name: (estimator, []) for name, estimator in estimators.items()}
    data = Data(items, by, summary_options)
    return split_risk(candidates, data, reference, n_splits, n_repeats, random_state, n_jobs)
