"""Estimates of the score of a whole benchmark of which a part was run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skbench._checks import check_column, plain
from skbench.containers import Estimate, GroupSummary
from skbench.stats.intervals.finite_population import finite_population_mean


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
    size = _sizes(size, summary)
    item_variance, bounds = summary.n * summary.sigma2, (-np.inf, np.inf)
    if summary.outcome == "binomial":
        middle = np.clip((estimate.low + estimate.high) / 2, 0, 1)
        item_variance, bounds = middle * (1 - middle), (0, 1)
    mean = finite_population_mean(
        summary.z,
        summary.n,
        size,
        estimate.value,
        estimate.low,
        estimate.high,
        estimate.standard_error,
        item_variance,
        estimate.confidence_level,
        bounds,
    )
    return replace(
        estimate,
        **mean._asdict(),
        method=f"{estimate.method}, whole benchmark",
        sample_size_ratio=None,
    )


def _sizes(size, summary):
    labels = summary.labels
    if isinstance(size, pd.Series):
        own = size.index.equals(labels) or size.index.name not in labels.names
        if size.index.has_duplicates:
            twice = size.index[size.index.duplicated()][0]
            raise ValueError(f"size has several entries for {twice!r}. Pass one per label.")
        if own and size.index.nlevels < labels.nlevels:
            raise ValueError(
                "size has an entry per label, but its index is not named by one of: "
                f"{', '.join(map(str, labels.names))}. Name it, as in "
                f"size.rename_axis({labels.names[-1]!r})."
            )
        size = size.reindex(labels if own else labels.get_level_values(size.index.name))
    sizes = check_column("size", size, labels, allow_scalar=True)
    if np.any(sizes < summary.n):
        first = int(np.argmax(sizes < summary.n))
        raise ValueError(
            f"Group {plain(labels[first])!r} has {summary.n[first]:g} items, but its size is "
            f"{sizes[first]:g}. Pass the number of all its items, run or not."
        )
    return sizes
