"""Metrics of Inspect, which finds them by the entry point ``inspect_ai``.

Inspect loads this module whenever it starts, so all else is imported when a metric is made.
Without Inspect the metrics are plain functions of scores, as their pages and tests need them.
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
    """Metric: the mean of the scores, its standard error and an interval.

    Parameters
    ----------
    cluster : str, default=None
        Key in the samples' metadata of clusters of dependent samples, such as the passage of
        several questions.
    confidence_level : float, default=0.95

    Returns
    -------
    metric
        Reports ``mean``, ``mean_stderr``, ``mean_low`` and ``mean_high``, in units of the score.

    Raises
    ------
    ValueError
        By the metric, if a sample lacks the metadata, or its score is a dict or a list.

    Notes
    -----
    The same numbers as ``DirectEstimator`` of `skbench.summarize_items`: Wilson's interval for
    right and wrong answers, else Student's; with clusters the CR2 variance with the degrees of
    freedom of Bell and McCaffrey, rounded down. An interval keeps its width where all answers are
    right. Inspect leaves out samples without a score and reduces epochs first, by their mean if
    the task names no other reducer. What the samples cannot tell is nan, such as a standard error
    from one cluster.

    When not to use it: for benchmarks whose samples are all there is.

    Examples
    --------
    >>> from types import SimpleNamespace as Sample  # as Inspect hands them over
    >>> scores = [Sample(sample_id=i, score=Sample(value=1.0)) for i in range(10)]
    >>> {name: round(value, 2) for name, value in mean_interval()(scores).items()}
    {'mean': 1.0, 'mean_stderr': 0.09, 'mean_low': 0.72, 'mean_high': 1.0}
    """
    from skbench.integrations._sample_scores import mean_of

    def mean_interval(scores: list[Any]) -> dict[str, float]:
        return mean_of(scores, cluster, confidence_level)

    mean_interval([])  # refuses what no metric can be made of, before anything has run
    return mean_interval


@metric
def group_means(
    group_key: str,
    cluster: str | None = None,
    shrink: bool = False,
    confidence_level: float = 0.95,
) -> Callable[[list[Any]], dict[str, float]]:
    """Metric: the mean of each group of samples, its standard error and an interval.

    Parameters
    ----------
    group_key : str
        Key in the samples' metadata of the groups, such as the topic.
    cluster : str, default=None
        As in `mean_interval`.
    shrink : bool, default=False
        Whether groups borrow from each other, by `skbench.MixedModel`: much more precise where
        groups have few samples, but the interval then promises its level on average over the
        groups, not for each.
    confidence_level : float, default=0.95

    Returns
    -------
    metric
        Reports for a ``topic`` that is ``law`` the values ``topic=law``, ``topic=law_stderr``,
        ``topic=law_low`` and ``topic=law_high``.

    Raises
    ------
    ValueError
        As `mean_interval`.

    Notes
    -----
    The same numbers as ``DirectEstimator`` or ``MixedModel`` of `skbench.summarize_items`, but for
    a group that has no interval, as its samples are one cluster: its standard error is nan, too.

    When not to use it: for means of groups without intervals, which Inspect's ``grouped`` has.

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
    """Metric: the mean difference from a baseline, paired sample by sample.

    Parameters
    ----------
    baseline : str or dict
        Path of the log of an earlier run; or scores by sample id. The new log holds all
        parameters, and a path keeps it small.
    cluster : str, default=None
        As in `mean_interval`.
    score : str, default=None
        Scorer of the baseline's log, where it has several; ``scorer/part`` of a score in parts.
    confidence_level : float, default=0.95

    Returns
    -------
    metric
        Reports ``difference``, ``difference_stderr``, ``difference_low``, ``difference_high`` and
        ``difference_n``, the number of pairs.

    Raises
    ------
    ValueError
        If the baseline is no log of Inspect, has several scorers or reducers of epochs, or was
        shuffled before Inspect numbered its samples; and as `mean_interval`.
    TypeError
        If a dict holds anything but numbers by sample id.
    FileNotFoundError
        If there is no such file.

    Notes
    -----
    The same numbers as `skbench.compare_models` of the scores of both, epochs reduced as each task
    says: give both the same reducer. Samples that one of the two lacks are left out: see
    ``difference_n``. Pairs are samples of one id, as Inspect gives no metric their texts.
    `skbench.read_items` of both logs compares these, too.

    When not to use it: to decide while a task runs, which is what `InspectStopping` is for.

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
            f"baseline {baseline!r} was shuffled before Inspect numbered its samples, so that its "
            "ids may be other questions here. Give each sample an id, and run the baseline again."
        )

    def difference(scores: list[Any]) -> dict[str, float]:
        return difference_from(scores, earlier.scores, cluster, confidence_level)

    difference([])
    return difference
