"""`leave_out_covariates`: the importance of each group of features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skbench._checks import names_of, require_columns
from skbench._types import AtLeastTwo, Count, FitPredictor, Jobs, Names, RandomState, Rows, checked
from skbench.assessment._candidate import Candidate, estimators_of_groups
from skbench.assessment._risk import split_risk
from skbench.assessment._splits import Data
from skbench.containers import GroupSummary

if TYPE_CHECKING:
    from skbench.assessment._risk_comparison import RiskComparison


_ALL = "all features"


@checked
def leave_out_covariates(
    estimator: FitPredictor,
    items: Rows | GroupSummary,
    by: Names | None = None,
    *,
    covariates: Mapping[str, Names] | None = None,
    n_splits: AtLeastTwo = 10,
    n_repeats: Count = 1,
    random_state: RandomState = None,
    n_jobs: Jobs = None,
    **summary_options: Any,
) -> RiskComparison:
    """Estimate how much the error grows without each group of features (LOCO).

    Parameters
    ----------
    estimator : estimator
        Estimator of groups, not fitted; copies are fitted without each group of features.
    items : dataframe or GroupSummary
        As in `estimated_risk`.
    by : str or list of str, default=None
        Columns that define the groups; required with a dataframe.
    covariates : dict of str to (str or list of str), default=None
        Names of groups of features, and their columns in the `X` of the summary. None takes each
        column separately.
    n_splits, n_repeats : int, default=10 and 1
        As in `estimated_risk`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the splits, and of unset random states inside the estimator, at any depth.
    n_jobs : int, default=None
        Number of folds processed in parallel (joblib).
    **summary_options
        Further arguments of `summarize_items`, such as features.

    Returns
    -------
    RiskComparison
        One row with all features (the reference), and one row without each group of features.
        ``to_frame()["difference"]`` is positive if removing the group increases the error.

    Raises
    ------
    ValueError
        As in `estimated_risk`, or if a column does not exist.

    Notes
    -----
    [1]_ refit without a covariate and compare errors on held-out data. [2]_, section 4.3, do so for
    groups of features of a regression with full results, like a `RepeatedSamplingStudy` of
    ``Candidate(estimator, without=...)``. Here the error is that of the final estimates, judged by
    split items. If you remove the column that stratifies the folds of the trees in `as_published`,
    set other folds: ``set_params(regressor__cv=CrossFitKFold(2, 1))``.

    Features matter less for `EmpiricalBayes` than for its regression, because the group's own items
    correct the regression. Of two redundant features (a topic's name and its embedding), each seems
    to matter little as long as the other stays; remove both together, too.

    **When not to use it.** It neither ranks correlated features nor shows causes.

    References
    ----------
    .. [1] Lei, G'Sell, Rinaldo, Tibshirani and Wasserman (2018). Distribution-free
       predictive inference for regression. Journal of the American Statistical
       Association 113.
    .. [2] Fogliato, Patil, Akpinar and Monfort (2024). Precise Model
       Benchmarking with Only a Few Observations.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skbench import SyntheticRegression, leave_out_covariates, make_items
    >>> data = make_items(4, 30, 10, random_state=0)
    >>> worth = leave_out_covariates(
    ...     SyntheticRegression(Ridge()), data.items, ["model", "topic"],
    ...     covariates={"models": "model", "difficulty": "feature"},
    ...     features=data.features, random_state=0)
    >>> worth.to_frame()["difference"].idxmax()
    'without difficulty'
    """
    estimators_of_groups({type(estimator).__name__: estimator})
    data = Data(items, by, summary_options)
    columns = list(data.summary.fit_args["X"].columns)
    if covariates is None:
        covariates = {str(name): [name] for name in columns}
    candidates = {_ALL: Candidate(estimator)}
    for name, dropped in covariates.items():
        dropped = names_of(dropped)
        require_columns(columns, dropped, what="X")
        candidates[f"without {name}"] = Candidate(estimator, without=dropped)
    return split_risk(candidates, data, _ALL, n_splits, n_repeats, random_state, n_jobs)
