"""The worst topic of a gate's candidate, compared with a floor."""

import warnings
from bisect import bisect
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from skbench._checks import plain
from skbench._warnings import warn
from skbench.comparison.extreme_groups import extremes
from skbench.containers import Draws
from skbench.groups import MixedModel
from skbench.stats.intervals.posterior import equality_p_value
from skbench.summaries import summarize_items

_N_DRAWS = 4000


def worst_of_items(table, floor, level):
    """`Extremes` of the candidate's topics, and its own means by topic.

    The candidate is the first of the two models of the `ScoreTable`.
    """
    _check_floor(floor, table.n_groups, table.bounds)
    new = table.scores[:, 0]
    with np.errstate(invalid="ignore"):
        own = table.group_sums(np.nan_to_num(new)) / table.group_sums(np.isfinite(new) * 1.0)
    return _cautious(_draws_of_table(table), level), pd.Series(own, table.groups)


def worst_of_bank(posterior, candidate, floor, bounds, level):
    """`Extremes` of the candidate's topics, from a `Posterior` by topic."""
    _check_floor(floor, len(posterior.groups), bounds)
    values = posterior.draws[:, posterior.models.get_loc(candidate)]
    return _cautious(Draws(values, posterior.groups, "posterior"), level)


def _cautious(draws, level):
    """`extremes`, with an interval of the worst that allows for several equally low topics.

    The interval includes that of the mean of the lowest topics, as many as may be equal.
    """
    found, values = extremes(draws, confidence_level=level), draws.values
    order = np.argsort(values.mean(axis=0), kind="stable")

    def differ(k):
        return equality_p_value(values[:, order[:k]]) <= 1 - level

    k = 1 + bisect(range(2, order.size + 1), False, key=differ)
    shared = values[:, np.sort(order[:k])].mean(axis=1, keepdims=True)
    high = Draws(shared, draws.labels[0][:1], draws.kind).interval(level).high[0]
    is_worst = np.asarray(found.estimate.labels == "worst")
    high = np.where(is_worst, np.maximum(found.estimate.high, high), found.estimate.high)
    return replace(found, estimate=replace(found.estimate, high=high))


def _check_floor(floor, n_topics, bounds):
    if n_topics < 2:
        raise ValueError(f"worst={floor:g} needs at least two topics, got {n_topics}.")
    if bounds is not None and not bounds[0] <= floor <= bounds[1]:
        raise ValueError(
            f"worst={floor:g} is outside the range of scores, {bounds[0]:g} to {bounds[1]:g}."
        )


def _draws_of_table(table):
    """Joint draws of the first model's means by topic."""
    # Topics are ordered by their data, so that draws do not depend on their names.
    numbers = *np.nan_to_num(table.scores).T, np.ones(len(table.scores))
    order = np.lexsort([table.group_sums(values).round(9) for values in numbers])
    names = np.char.zfill(np.argsort(order).astype(str), 9)
    topic = names[table.cluster_groups[table.clusters]]
    key = {"topic": topic, "item": range(len(topic)), "cluster": table.clusters}
    rows = pd.DataFrame(table.scores, columns=["new", "old"])
    rows = rows.assign(**key).melt([*key], var_name="model", value_name="score").dropna()
    cluster = "cluster" if table.is_clustered else None
    models = dict(zip(("new", "old"), table.models, strict=True))
    topics = dict(zip(names.tolist(), table.groups, strict=True))
    summary = _summary(rows, models, topics, cluster=cluster, bounds=table.bounds)
    fitted = MixedModel().fit(**summary.fit_args)
    own = np.flatnonzero(summary.labels.get_level_values("model") == "new")
    if own.size < 2:
        label = table.groups[order[int(summary.labels[own[0]][1])]]
        raise ValueError(
            f"{table.models[0]!r} answered only items of topic {plain(label)!r}. worst= needs two "
            "topics."
        )
    values = fitted.sample(_N_DRAWS, random_state=0).values[:, own]
    place = order[summary.labels[own].get_level_values("topic").astype(int)]
    if table.sizes is not None:
        z, sigma2, n = (getattr(summary, name)[own] for name in ("z", "sigma2", "n"))
        values = _of_population(values, z, sigma2 * n, n, table.sizes[place])
    if table.bounds is not None:
        values = np.clip(values, *table.bounds)
    return Draws(values, table.groups[place], "posterior")


def _summary(rows, models, topics, **settings):
    """Means by model and topic; warnings and errors have the user's names."""

    def named(text):
        for (short, model), (code, topic) in product(models.items(), topics.items()):
            text = text.replace(repr((short, code)), repr((plain(model), plain(topic))))
        return text

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            summary = summarize_items(rows, ["model", "topic"], **settings)
        except ValueError as error:
            raise ValueError(named(str(error))) from error
    for warning in caught:
        warn(named(str(warning.message)), warning.category)
    return summary


def _of_population(expected, seen, variance, n, size):
    """Draws of population means from the means of answered items and expected scores."""
    unseen = size - n
    noise = np.random.default_rng(0).standard_normal(expected.shape)
    more = expected + noise * np.sqrt(variance / np.maximum(unseen, 1))
    return (n * seen + unseen * more) / size


def verdict_on_worst(found, own, floor):
    """Verdict on the worst topic: "pass", "fail" or "undecided".

    It passes if its whole interval, and every topic's own mean in `own`, is at or above the floor.
    """
    low, high = found.to_frame().loc["worst", ["low", "high"]]
    above = low >= floor and not (own is not None and own.min() < floor - 1e-9)
    return "fail" if high < floor else "pass" if above else "undecided"
