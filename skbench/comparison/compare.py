"""Compare two or more models by their scores on the same items."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd

from skbench._checks import names_of, plain
from skbench._types import Bank, Label, Level, Names, OpenBounds, Population, Rows, checked
from skbench.comparison._comparison import POWER, ModelComparison
from skbench.comparison._pair_warnings import are_constant, warn_of_pairs, warn_of_units
from skbench.comparison._pairs import FEW_CLUSTERS, intervals, pair_table
from skbench.comparison.posterior import (
    check_bank_settings,
    compared_by_posterior,
    posterior_with_bank,
)
from skbench.containers import ON_AVERAGE, UNLESS_SKEWED, Estimate
from skbench.items.roles import check_model
from skbench.items.rows import check_cluster_weight
from skbench.items.tables import score_table
from skbench.stats.intervals.moments import divided
from skbench.stats.ranking import multiplicity
from skbench.stats.ranking.power import required_n_mcnemar, required_n_t

_OF_NEEDED = "difference", "n_items", "n_clusters", "exact", "left"
_SIDES = {"only_a": ("only_first", False), "only_b": ("only_first", True)} | {
    "variance_a": ("own_variance", False),
    "variance_b": ("own_variance", True),
}
_BY_CLUSTER = ("independent items", "cluster means")


@checked
def compare_models(
    items: Rows,
    a: Label | None = None,
    b: Label | None = None,
    *,
    model: str = "model",
    item: str = "item",
    topic: Names | None = "topic",
    score: str = "score",
    cluster: str | None = None,
    cluster_weight: Literal["item", "cluster"] = "item",
    by: Names | None = None,
    confidence_level: Level = 0.95,
    adjust: Literal["none", "bonferroni", "holm"] = "bonferroni",
    missing: Literal["drop", "wrong", "refuse"] = "drop",
    bounds: OpenBounds | None = None,
    population: Population | None = None,
    bank: Bank | None = None,
) -> ModelComparison:
    """Compare models by the paired differences of their scores on shared items.

    Parameters
    ----------
    items : dataframe
        Per-item scores, one row per model and item, in any dataframe that narwhals reads.
    a, b : str, default=None
        Models to compare. If only `a` is given, it is compared with every other model. If
        neither is given, all pairs are compared, each with the higher-scoring model first.
    model, item, score : str
        Names of the columns.
    topic : str or list of str or None, default="topic"
        Columns of the topic, which may be absent. Item ids need to be unique only within a
        topic; with None they must be unique in the whole table.
    cluster : str, default=None
        Column of clusters of dependent items, such as the passage that several questions share.
        If models answered items several times, pass the item column.
    cluster_weight : {"item", "cluster"}, default="item"
        Whether items or clusters have equal weight. With "cluster", the estimand is the expected
        difference on a randomly drawn cluster. The estimate is the mean of the cluster means, each
        computed from the items that all compared models answered.
    by : str or list of str, default=None
        Columns of groups, such as the topic. Models are compared within each group.
    confidence_level : float, default=0.95
        Confidence level, simultaneous over all comparisons unless ``adjust="none"``.
    adjust : {"none", "bonferroni", "holm"}, default="bonferroni"
        Adjustment for the number of comparisons. "holm" adjusts only p-values by Holm's method;
        intervals and verdicts are adjusted by Bonferroni's.
    missing : {"drop", "wrong", "refuse"}, default="drop"
        "drop" skips items that a model did not answer, "wrong" counts the missing answers as
        incorrect (score 0), and "refuse" raises an error.
    bounds : tuple of two floats, default=None
        Smallest and largest possible score. By default, 0 and 1 if all scores are from 0 to 1.
        If all scores are whole numbers up to 10, they are assumed to be ratings, and the bounds are
        the ends of the rating scale, such as 1 and 5 (see `summarize_items`). If no bounds can be
        inferred, or if the bounds are infinite, t intervals are not widened.
    population : int, Series or dict, default=None
        Number of items of the whole benchmark, if `items` is a random sample of them. Pass one
        number, or one for each group of `by`. None means an infinite population.
    bank : ItemBank, default=None
        Item bank of earlier models' answers. With a bank, differences are estimated for all items
        of the bank, from joint posterior draws (`ItemBank.sample`). Models may have answered
        different items.

    Returns
    -------
    ModelComparison

    Raises
    ------
    ValueError
        If columns, labels or scores are missing, or models are unknown or identical. If answers
        are repeated without `cluster`, or an item is in two clusters. If two models share
        clusters but no items.

    Warns
    -----
    UserWarning
        If models answered different items, share no items or have all items in one cluster; if
        all differences are identical; or if differences are few and skewed.

    Notes
    -----
    Several answers to an item are averaged first. The mean difference has the cluster-robust CR2
    variance with Bell-McCaffrey degrees of freedom. Without clusters this is the paired t test.

    If scores have known bounds, t intervals are widened to allow for rare differences that the
    sample missed (see `skbench.stats.worst_case`). With equal item weights, the widening does not
    allow for rare failures of whole clusters. Use ``cluster_weight="cluster"`` to allow for them.

    For binary scores of independent items, the p-value is from McNemar's exact test, and the
    interval agrees with the test (`skbench.stats.paired.mcnemar_interval`). The verdict is "better"
    if and only if the interval lies above 0.

    Two named models are compared on the items that both models answered. If there are no such
    items, they are compared by Welch's test. If no model is named, all pairs are compared by a
    least-squares fit of ``score = model + item`` (`skbench.stats.shared_items.shared_item_scores`).
    This fit can compare two models through other models. The result lists pairs of models with
    adjacent ranks first.

    The variance of a difference is ``V_a + V_b - 2 r sqrt(V_a V_b)``. Models tend to fail on the
    same items, so the correlation r is high and the difference is precise [1]_.

    Do not use it if a model skipped items that it would have answered incorrectly.

    References
    ----------
    .. [1] Miller (2024). Adding error bars to evals: a statistical approach to
       language model evaluations. arXiv 2411.00640.

    Examples
    --------
    >>> import pandas as pd
    >>> cluster_means = {"A": [0.70, 0.82, 0.79, 0.81], "B": [0.72, 0.88, 0.81, 0.83]}
    >>> items = pd.DataFrame([
    ...     {"model": name, "item": i, "score": mean}
    ...     for name, values in cluster_means.items() for i, mean in enumerate(values)
    ... ])
    >>> compare_models(items, "A", "B", bounds=(-np.inf, np.inf))  # by the t test
    A - B = -0.0300 (standard error 0.0100, 95% interval -0.0618 to 0.0018).
    The difference is not significant (p = 0.058, t test).
    Pairing on 4 shared items removes 95% of the variance (correlation 0.97).
    Without shared items the standard error would be 0.0432.
    If the true difference is -0.0300, 6 such items give a new comparison a power of 80%.
    With 4 items, t intervals are wide, and inaccurate if scores are skewed.
    """
    check_cluster_weight(cluster_weight, cluster)
    by = names_of(by)
    if bank is not None:
        check_bank_settings(bank, by, cluster, item, missing)
        names = model, topic, item, score
        pair = None if None in (a, b) else [a, b]
        settings = {"models": pair, "bounds": bounds, "population": population}
        posterior = posterior_with_bank(bank, items, names, topics=by, **settings)
        return comparison_by_posterior(posterior, a, b, confidence_level, adjust)
    names = {"model": model, "item": item, "score": score, "cluster": cluster, "topic": topic}
    table = score_table(items, **names, by=by, bounds=bounds).with_missing(missing)
    table = table.with_population(population)
    if cluster_weight == "cluster":
        if population is not None:
            raise ValueError(
                'population= counts items, so it does not apply to cluster_weight="cluster".'
            )
        two = [list(table.models).index(name) for name in (a, b) if name in table.models]
        table = (table.of_models(two) if len(set(two)) == 2 else table).of_cluster_means()
    found = comparison_of(table, a, b, item=item, confidence_level=confidence_level, adjust=adjust)
    if cluster_weight == "item":
        return found
    estimate = replace(found.estimate, method=found.estimate.method.replace(*_BY_CLUSTER))
    return replace(found, estimate=estimate)


def comparison_of(table, a=None, b=None, *, item, confidence_level, adjust):
    """`compare_models` of a `ScoreTable`."""
    positions = pair_positions(table, a, b)
    two = a is not None and b is not None
    if two:
        table = table.of_models(positions[0])
        positions = [(0, 1)]
    pairs = pair_table(table, unrelated=two)
    if not len(positions):
        one = table.n_groups == 1
        positions = in_order(pairs.fits[0].mean if one else np.nanmean(table.scores, axis=0))
    if two:
        _refuse_shared_clusters(table, pairs, item)
    found, fields = compared(table, pairs, positions, confidence_level, adjust)
    warn_of_units(table)
    warn_of_pairs(table, pairs, fields, found.estimate.labels)
    return found


def comparison_by_posterior(posterior, a, b, confidence_level, adjust):
    """`compare_models` of a `Posterior`."""
    positions = pair_positions(posterior, a, b)
    if not len(positions):
        positions = in_order(posterior.draws.mean(axis=(0, 2)))
    return compared_by_posterior(posterior, positions, confidence_level, adjust)


def in_order(scores):
    """Positions of all pairs, the better model first; adjacent models come first."""
    best_first = np.argsort(-scores, kind="stable")
    gaps = np.arange(1, len(scores))
    i = np.concatenate([np.arange(len(scores) - d) for d in gaps])
    return best_first[np.column_stack([i, i + np.repeat(gaps, gaps[::-1])])]


class _Chosen(dict):
    """Columns of a `PairTable` for selected pairs, one entry per pair and group."""

    def __init__(self, pairs, positions):
        self._pairs, (self._a, self._b) = pairs, np.transpose(positions)

    def __missing__(self, name):  # computed on first access
        whole, of_b = _SIDES.get(name, (name, False))
        field, (a, b) = getattr(self._pairs, whole), (self._a, self._b)[:: -1 if of_b else 1]
        if field.ndim == 3:  # one index is faster than two
            a, field = a * field.shape[1] + b, field.reshape(len(field), -1)
        self[name] = np.take(field, a, axis=1).T.ravel()
        return self[name]


def pair_positions(table, a, b):
    """Positions of the models of each pair; empty for all pairs."""
    models = list(table.models)
    for name in (a, b):
        if name is not None:
            check_model(name, models)
    if a is None and b is not None:
        raise ValueError(f"b={b!r} needs a second model. Pass a=... as well, or pass only a={b!r}.")
    if a is not None and a == b:
        raise ValueError(f"a and b are both {a!r}. Pass two different models.")
    if len(models) < 2:
        raise ValueError(
            f"The table has only one model, {plain(models[0])!r}. A comparison needs two."
        )
    if a is None:
        return []
    others = [b] if b is not None else [name for name in models if name != a]
    return [(models.index(a), models.index(other)) for other in others]


def _refuse_shared_clusters(table, pairs, item):
    """Raise an error if models share clusters but no items."""
    in_both = (table.cluster_sums(np.isfinite(table.scores)) > 0).all(axis=1)
    unrelated = ~pairs.related[:, 0, 1]
    if np.any(in_both & unrelated[table.cluster_groups]):
        a, b = table.models
        raise ValueError(
            f"Models {a!r} and {b!r} share clusters but no values of {item!r}, so they are neither "
            "paired nor independent. Pass the cluster column as item= and as cluster=."
        )


def _labels(table, positions):
    """Index of both models and the group, one entry per pair and group."""
    n_groups = table.n_groups
    levels, names = [table.models, table.models], ["model_a", "model_b"]
    codes = list(np.repeat(positions, n_groups, axis=0).T)
    if table.groups is not None:
        groups = table.groups
        of_groups = groups if groups.nlevels > 1 else pd.MultiIndex.from_arrays([groups])
        levels, names = levels + list(of_groups.levels), names + list(groups.names)
        codes += [np.tile(part, len(positions)) for part in of_groups.codes]
    return pd.MultiIndex(levels, codes, names=names)


def compared(table, pairs, positions, confidence_level, adjust="none"):
    """A `ModelComparison` of selected pairs, and the columns that it was computed from."""
    fields, labels = _Chosen(pairs, positions), _labels(table, positions)
    adjust, level = adjust if len(labels) > 1 else "none", confidence_level
    if adjust != "none":
        level = multiplicity.bonferroni_level(confidence_level, len(labels))
    difference, n = fields["difference"], fields["n_items"]
    difference = np.where(np.abs(difference) <= table.rounding, 0.0, difference)
    # Equal unbounded differences do not show how far other items would vary: nan, not 0.
    variance = np.where(are_constant(table, fields), np.nan, fields["variance"])
    of_ends = fields["variance"] if table.bounds is not None else variance
    fields |= {"difference": difference, "variance": of_ends}
    low, high, p_value = intervals(fields, level, table.range_of_differences)
    unpaired = fields["variance_a"] + fields["variance_b"]
    scale = 2 * np.sqrt(fields["variance_a"] * fields["variance_b"])
    behind = np.where(n > 0, n, fields["n_behind"])
    item_variance = np.where(n > 0, behind * variance, np.nan)
    # The correlation of a model with equal scores on all items would be rounding error.
    least = np.minimum(fields["variance_a"], fields["variance_b"])
    related = fields["related"] & ~(least <= table.rounding**2)
    reach = None if table.bounds is None else table.range_of_differences
    names = [*_OF_NEEDED, *(["only_a", "only_b"] if fields["exact"].any() else [])]
    of_needed = {name: np.copy(fields[name]) for name in names}
    found = ModelComparison(
        estimate=Estimate(
            value=difference,
            low=low,
            high=high,
            standard_error=np.sqrt(np.where(fields["left"] > 0, variance * fields["left"], 0.0)),
            confidence_level=level,
            labels=labels,
            method=_method(table, fields, adjust, len(labels)),
            guarantee=UNLESS_SKEWED if _may_be_skewed(table, fields) else ON_AVERAGE,
        ),
        p_value=_adjusted(p_value, adjust),
        test=_test(fields["exact"]),
        df=fields["df"],
        correlation=np.where(related, divided(unpaired - variance, scale), 0.0),
        unpaired_standard_error=np.sqrt(unpaired * fields["left"]),
        n_items=n,
        n_behind=behind,
        items_needed=partial(_items_needed, of_needed, item_variance, level, reach),
        omega2=np.maximum(item_variance - np.nan_to_num(fields["noise_left"]), 0),
        noise=fields["noise"],
        remarks=tuple(remarks_of(table, fields, adjust, len(labels))),
    )
    return found, fields


def _may_be_skewed(table, fields):
    """Whether intervals are t intervals without a worst-case independent observation."""
    return (table.bounds is None or table.is_clustered) and not fields["exact"].all()


def _items_needed(fields, item_variance, level, reach):
    """Items needed for the interval to exclude 0 if the true difference is the observed one."""
    difference, n, exact = fields["difference"], np.maximum(fields["n_items"], 1), fields["exact"]
    exact = exact & np.isfinite(item_variance)
    needed = np.empty(len(n))
    if exact.any():
        disagreement = ((fields["only_a"] + fields["only_b"]) / n)[exact]
        needed[exact] = required_n_mcnemar(difference[exact], disagreement, level, POWER)
    distance = np.zeros(len(n)) if reach is None else reach + np.abs(difference)
    given = difference, item_variance, n / np.maximum(fields["n_clusters"], 1), distance
    effect, variance, size, distance = (x[~exact] for x in given)
    needed[~exact] = required_n_t(effect, variance, level, POWER, size, distance)
    # In a finite population 1 / n becomes 1 / n - 1 / N.
    with np.errstate(divide="ignore"):
        of_all = 1 / needed + (1 - fields["left"]) / n
        return np.where(fields["left"] < 1, 1 / of_all, needed)


def _test(exact):
    if exact.all():
        return "McNemar, exact"
    return "McNemar, exact, or t test where items are missing" if exact.any() else "t test"


def _adjusted(p_value, adjust):
    if adjust == "holm":
        return multiplicity.holm(p_value)
    return np.minimum(1, p_value * p_value.size) if adjust == "bonferroni" else p_value


def _method(table, fields, adjust, n_comparisons):
    how = "paired" if np.all(fields["related"]) else "partly paired"
    if not np.any(fields["related"]):
        how = "unpaired"
    kind = "clusters, CR2" if table.is_clustered else "independent items"
    for_all = f", {adjust.capitalize()} for {n_comparisons}" if adjust != "none" else ""
    return f"{how} difference ({kind}{for_all})"


def remarks_of(table, fields, adjust, n_comparisons):
    """Remarks on repeated answers, adjustment, scale and sample size, one sentence each."""
    counts = table.n_answers[table.n_answers > 0]
    if counts.max() > 1:
        least, most = counts.min(), counts.max()
        number = f"{least}" if least == most else f"{least} to {most}"
        yield f"Each item counts once: the {number} answers of a model to it are averaged."
    if adjust != "none":
        yield f"p-values and intervals hold simultaneously for all {n_comparisons} comparisons."
    if adjust == "holm":
        yield (
            "Verdicts follow the Bonferroni intervals. Holm's p-value may be significant although "
            "the interval includes 0."
        )
    few = fields["n_clusters"][fields["related"] & ~fields["exact"]].min(initial=FEW_CLUSTERS)
    if table.scale is not None:
        yield table.scale
    if 1 < few < FEW_CLUSTERS:
        what = "clusters" if table.is_clustered else "items"
        yield f"With {few} {what}, t intervals are wide, and inaccurate if scores are skewed."
