"""Estimates for a whole benchmark from a random part of its items."""

from __future__ import annotations

import inspect

from numpy.typing import ArrayLike

from skbench._population import check_population, finite_population
from skbench._types import Estimator
from skbench.containers import Estimate, GroupSummary


def estimate_of_population(
    fitted: Estimator, summary: GroupSummary, confidence_level: float, sizes: ArrayLike | None
) -> Estimate:
    """Estimate the means of finite populations, also for clustered items.

    Parameters
    ----------
    fitted : estimator
        Fitted on `summary`.
    summary : GroupSummary
        Summary of the items that were run, a random sample of each group.
    confidence_level : float
        Confidence level of the intervals.
    sizes : float, Series, ndarray of shape (n_groups,) or None
        Number of all items of each group, as `population` of ``estimate``. If None, the
        population is infinite.

    Returns
    -------
    Estimate
        The result of ``fitted.estimate(confidence_level, population=sizes)`` if the estimator
        has `population` and items are independent.

    Raises
    ------
    ValueError
        If the estimator was fitted on other groups, or if a size is missing or below the number
        of items that were run.

    Notes
    -----
    The formula is `skbench.stats.finite_population.finite_population_mean`. With clusters, the
    variance of an item is ``n sigma2``, which assumes that clusters are run as a whole.

    When not to use it: for independent items, use ``estimate(population=...)``.

    Examples
    --------
    >>> from skbench import DirectEstimator, make_items, summarize_items
    >>> items = make_items(2, 5, 12, cluster_size=3, random_state=0).items
    >>> g = summarize_items(items, by=["model", "topic"], cluster="cluster")
    >>> direct = DirectEstimator().fit(**g.fit_args)
    >>> estimate_of_population(direct, g, 0.95, 40).method
    'direct (t), whole benchmark'
    """
    if sizes is None:
        return fitted.estimate(confidence_level)
    own = "population" in inspect.signature(fitted.estimate).parameters
    if own and summary.outcome != "clustered":
        return fitted.estimate(confidence_level, population=sizes)
    e = fitted.estimate(confidence_level)
    if not e.labels.equals(summary.labels):
        raise ValueError(
            "The estimator was not fitted on the groups of this summary. Pass the summary that it "
            "was fitted on."
        )
    sizes = check_population(sizes, summary.n, summary.labels)
    binary = summary.outcome == "binomial"
    return finite_population(e, summary.z, summary.n, summary.sigma2, sizes, binary)
