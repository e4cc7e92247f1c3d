"""Metrics for Inspect, registered by the entry point ``inspect_ai``.

Inspect loads this module at every start, so other modules are imported when a metric is created.
Without Inspect, the metrics are plain functions of scores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    from inspect_ai.scorer import metric
except ImportError:

    def metric(function):
        return function


@metric
def mean_interval(
    cluster: str | None = None, confidence_level: float = 0.95
) -> Callable[[list[Any]], dict[str, float]]:
    """Metric with the mean of the scores, its standard error and an interval.

    Parameters
    ----------
    cluster : str, default=None
        Metadata key of the cluster of dependent samples, such as the passage of several
        questions.
    confidence_level : float, default=0.95
        Confidence level of the interval.

    Returns
    -------
    metric
        Reports ``mean``, ``mean_stderr``, ``mean_low`` and ``mean_high``, in score units.

    Raises
    ------
    ValueError
        If a sample lacks the metadata, or its score is a dict or a list. The metric raises it.

    Notes
    -----
    The numbers are those of ``DirectEstimator`` with `skbench.summarize_items`. Binary scores
    have Wilson intervals, and others have Student's t intervals. With clusters, the variance is
    CR2, with the degrees of freedom of Bell and McCaffrey rounded down. If all answers are
    correct, the interval still has positive width. Inspect excludes samples without a score, and
    first reduces epochs, by default to their mean. Unknown values, such as a standard error from
    one cluster, are nan.

    When not to use it: if the samples are the whole population of interest.

    Examples
    --------
    >>> from types import SimpleNamespace as Sample  # in place of Inspect's scores
    >>> scores = [Sample(sample_id=i, score=Sample(value=1.0)) for i in range(10)]
    >>> {name: round(value, 2) for name, value in mean_interval()(scores).items()}
    {'mean': 1.0, 'mean_stderr': 0.09, 'mean_low': 0.72, 'mean_high': 1.0}
    """
    from skbench.integrations._sample_scores import mean_of

    def mean_interval(scores: list[Any]) -> dict[str, float]:
        return mean_of(scores, cluster, confidence_level)

    mean_interval([])  # raises errors for wrong arguments before the task runs
    return mean_interval


@metric
def group_means(
    group_key: str,
    cluster: str | None = None,
    shrink: bool = False,
    confidence_level: float = 0.95,
) -> Callable[[list[Any]], dict[str, float]]:
    """Metric with the mean of each group of samples, its standard error and an interval.

    Parameters
    ----------
    group_key : str
        Metadata key of the group, such as the topic.
    cluster : str, default=None
        As in `mean_interval`.
    shrink : bool, default=False
        Whether groups borrow strength from each other by `skbench.MixedModel`. Estimates of
        groups with few samples are then much more precise, but the intervals have their coverage
        on average over groups, not for each group.
    confidence_level : float, default=0.95
        Confidence level of the intervals.

    Returns
    -------
    metric
        Reports, for the group ``law`` of the key ``topic``, the values ``topic=law``,
        ``topic=law_stderr``, ``topic=law_low`` and ``topic=law_high``.

    Raises
    ------
    ValueError
        As `mean_interval`.

    Notes
    -----
    The numbers are those of ``DirectEstimator`` or ``MixedModel`` with `skbench.summarize_items`,
    with one exception: if the samples of a group are one cluster, its standard error is nan.

    When not to use it: Inspect's ``grouped`` reports means of groups without intervals.

    Examples
    --------
    >>> from types import SimpleNamespace as Sample
    >>> law = {"sample_metadata": {"topic": "law"}, "score": Sample(value=1.0)}
    >>> scores = [Sample(sample_id=i, **law) for i in range(10)]
    >>> {name: round(value, 2) for name, value in group_means("topic")(scores).items()}
    {'topic=law': 1.0, 'topic=law_stderr': 0.09, 'topic=law_low': 0.72, 'topic=law_high': 1.0}
    """
    from skbench.integrations._sample_scores import means_by_group

    def group_means(scores: list[Any]) -> dict[str, float]:
        return means_by_group(scores, group_key, cluster, shrink, confidence_level)

    group_means([])
    return group_means


@metric
def difference(
    baseline: str | dict[Any, float],
    cluster: str | None = None,
    score: str | None = None,
    confidence_level: float = 0.95,
) -> Callable[[list[Any]], dict[str, float]]:
    """Metric with the mean difference from a baseline, paired by sample.

    Parameters
    ----------
    baseline : str or dict
        Path of the log of an earlier run, or scores by sample id. The new log records all
        parameters, so a path keeps it small.
    cluster : str, default=None
        As in `mean_interval`.
    score : str, default=None
        Scorer of the baseline's log, needed if it has several. Use ``scorer/part`` if the score
        has parts.
    confidence_level : float, default=0.95
        Confidence level of the interval.

    Returns
    -------
    metric
        Reports ``difference``, ``difference_stderr``, ``difference_low``, ``difference_high`` and
        ``difference_n``, the number of pairs.

    Raises
    ------
    ValueError
        If the baseline is not an Inspect log, has several scorers or reducers of epochs, or was
        shuffled before Inspect numbered its samples. Also as in `mean_interval`.
    TypeError
        If a dict does not map sample ids to numbers.
    FileNotFoundError
        If there is no such file.

    Notes
    -----
    The numbers are those of `skbench.compare_models` for both runs. Each task reduces its own
    epochs, so use the same reducer in both. Samples in only one run are excluded, and
    ``difference_n`` counts the pairs. Samples are paired by id alone, because Inspect does not
    pass their texts to metrics. `skbench.read_items` of both logs also compares the texts.

    When not to use it: to decide while a task runs, use `InspectStopping`.

    Examples
    --------
    >>> from types import SimpleNamespace as Sample
    >>> scores = [Sample(sample_id=i, score=Sample(value=1.0)) for i in range(10)]
    >>> found = difference(dict.fromkeys(range(10), 0.0) | {3: 1.0})(scores)
    >>> round(found["difference"], 2), round(found["difference_low"], 2), found["difference_n"]
    (0.9, 0.37, 10)
    """
    from skbench.integrations._sample_scores import baseline_of, difference_from

    earlier = baseline_of(baseline, score)
    if earlier.numbered:
        raise ValueError(
            f"baseline {baseline!r} was shuffled before Inspect numbered its samples, so the same "
            "id may be a different question here. Give each sample an id, and rerun the baseline."
        )

    def difference(scores: list[Any]) -> dict[str, float]:
        return difference_from(scores, earlier.scores, cluster, confidence_level)

    difference([])
    return difference
