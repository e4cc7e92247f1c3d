"""Estimates of the score of a whole benchmark of which a part was run."""

from __future__ import annotations

import inspect

from numpy.typing import ArrayLike

from skbench._checks import check_population
from skbench._population import finite_population
from skbench._types import Estimator
from skbench.containers import Estimate, GroupSummary


def finite_population_estimate(
    estimate: Estimate, summary: GroupSummary, size: ArrayLike
) -> Estimate:
    """What the score of each group would be, had all of its items been run.

    Parameters
    ----------
    estimate : Estimate
        Of the groups of `summary`, by any estimator.
    summary : GroupSummary
        Of the items that were run: a random part of those of each group.
    size : float, Series or array-like of shape (n_groups,)
        Number of all items of each group, run or not. A number is that of every group; a
        Series has one entry per group, or per label of the level that its index is named
        by, such as the topic.

    Returns
    -------
    Estimate
        Of the mean over all items: with the same guarantee, labels and level.

    Raises
    ------
    ValueError
        If the estimate is of other groups, or a size is missing or below the number of
        items that were run.

    Notes
    -----
    An estimator answers for items like those that were run, of which there are ever more. The
    mean over the items of one benchmark is another quantity: a part `f` of it is known, and
    the rest is a mean of single items, some luckily easy. So the estimate moves towards the
    direct one, to ``f z + (1 - f) value``; the interval gets narrower, for what is known, and
    wider, for the luck of the rest. Formula and sources are those of
    `skbench.stats.finite_population.finite_population_mean`.

    The variance of single items is ``p (1 - p)`` for right and wrong answers, `p` being the
    middle of the interval; for other scores, and for items in clusters (whose clusters are
    run whole or not at all), ``n sigma2`` of the summary.

    Intervals that are exact for an endless supply are nearly so afterwards: counted over
    all results, Clopper-Pearson intervals covered at least .930 with 10 of 20 items, .935
    with 10 of 40 and .943 with 20 of 80, and .97 to .98 on average over the truths.

    When not to use it: if the question is how good a model is at such items, of which the
    benchmark is a sample; if the items were chosen, the first or the shortest ones, say.

    Examples
    --------
    >>> from skbench import DirectEstimator, make_items, summarize_items
    >>> data = make_items(n_models=2, n_topics=5, n_items=10, random_state=0)
    >>> g = summarize_items(data.items, by=["model", "topic"])
    >>> e = DirectEstimator().fit(**g.fit_args).estimate()
    >>> whole = finite_population_estimate(e, g, 40)
    >>> bool(((whole.high - whole.low) < (e.high - e.low)).all())
    True
    """
    if not estimate.labels.equals(summary.labels):
        raise ValueError(
            "The estimate and the summary have different groups. Pass the summary that the "
            "estimator was fitted on."
        )
    size = check_population(size, summary.n, summary.labels, "size")
    binary = summary.outcome == "binomial"
    return finite_population(estimate, summary.z, summary.n, summary.sigma2, size, binary)


def estimate_of_population(
    fitted: Estimator, summary: GroupSummary, confidence_level: float, sizes: ArrayLike | None
) -> Estimate:
    """Estimates of a fitted estimator, of expected scores or of the means of finite populations.

    Parameters
    ----------
    fitted : estimator
        Fitted on `summary`.
    summary : GroupSummary
    confidence_level : float
        Nominal level of the intervals.
    sizes : float, Series, ndarray of shape (n_groups,) or None
        Number of all items of each group; None: the expected score of such items.

    Returns
    -------
    Estimate
        By the estimator itself; for items in clusters, by `finite_population_estimate`.

    Notes
    -----
    When not to use it: with an estimator at hand, ``estimate(population=...)`` is shorter.

    Examples
    --------
    >>> from skbench import DirectEstimator, make_items, summarize_items
    >>> g = summarize_items(make_items(2, 5, 10, random_state=0).items, by=["model", "topic"])
    >>> direct = DirectEstimator().fit(**g.fit_args)
    >>> estimate_of_population(direct, g, 0.95, 40).method
    'direct (Wilson), whole benchmark'
    """
    if sizes is None:
        return fitted.estimate(confidence_level)
    own = "population" in inspect.signature(fitted.estimate).parameters
    if own and summary.outcome != "clustered":
        return fitted.estimate(confidence_level, population=sizes)
    return finite_population_estimate(fitted.estimate(confidence_level), summary, sizes)
