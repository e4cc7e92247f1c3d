"""Estimates of the score of a whole benchmark of which a part was run."""

from __future__ import annotations

import inspect

from numpy.typing import ArrayLike

from skbench._population import check_population, finite_population
from skbench._types import Estimator
from skbench.containers import Estimate, GroupSummary


def estimate_of_population(
    fitted: Estimator, summary: GroupSummary, confidence_level: float, sizes: ArrayLike | None
) -> Estimate:
    """Estimates of the means of finite populations, for items in clusters too.

    Parameters
    ----------
    fitted : estimator
        Fitted on `summary`.
    summary : GroupSummary
        Of the items that were run: a random part of those of each group.
    confidence_level : float
        Nominal level of the intervals.
    sizes : float, Series, ndarray of shape (n_groups,) or None
        Number of all items of each group, as `population` of ``estimate``; None: the
        expected score of such items.

    Returns
    -------
    Estimate
        ``fitted.estimate(confidence_level, population=sizes)`` where the estimator has it and
        items are independent.

    Raises
    ------
    ValueError
        If the estimator was fitted on other groups, or a size is missing or below the number
        of items that were run.

    Notes
    -----
    Items in clusters, whose clusters are run whole or not at all, have variance ``n sigma2``;
    the formula is `skbench.stats.finite_population.finite_population_mean`.

    When not to use it: with independent items, ``estimate(population=...)`` is shorter.

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
            "The estimator was fitted on other groups than those of the summary. Pass the summary "
            "that it was fitted on."
        )
    sizes = check_population(sizes, summary.n, summary.labels)
    binary = summary.outcome == "binomial"
    return finite_population(e, summary.z, summary.n, summary.sigma2, sizes, binary)
