"""Which of two models is better, from their answers to the same items."""

import warnings
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import t as student_t

from skbench._checks import check_confidence_level, check_option
from skbench.benchmark._comparison import POWER, ModelComparison
from skbench.benchmark._score_table import plain, score_table, some_of
from skbench.containers import Estimate
from skbench.stats import clustered, means, multiplicity, paired
from skbench.stats.moments import divided
from skbench.stats.power import required_n


def compare_models(
    items,
    a=None,
    b=None,
    *,
    model="model",
    item="item",
    score="score",
    cluster=None,
    by=None,
    confidence_level=0.95,
    adjust="none",
):
    """Differences of models, paired on the items they share.

    Parameters
    ----------
    items : dataframe
        One row per answer of a model to an item, in any dataframe that narwhals
        reads. Not changed.
    a, b : str, default=None
        The two models. With `a` alone, `a` against every other one; with neither,
        all pairs, the model with the higher mean first.
    model, item, score : str
        Names of the columns.
    cluster : str, default=None
        Column of clusters of dependent items, such as the passage that several
        questions are about. The item column itself where items were answered several
        times.
    by : str or list of str, default=None
        Columns of groups, such as the topic, each compared by itself.
    confidence_level : float, default=0.95
        Nominal level of the intervals, of all of them together if `adjust` is
        given.
    adjust : {"none", "bonferroni", "holm"}, default="none"
        How to allow for the number of comparisons. "holm" has Holm's p-values, and
        Bonferroni's intervals, as it has none of its own.

    Returns
    -------
    ModelComparison
        With `estimate`, `p_value`, ``to_frame()`` and more.

    Raises
    ------
    ValueError
        For missing columns, labels or scores, unknown or identical names of models,
        items answered several times without `cluster`, items in two clusters, and
        models that share clusters but no items.

    Warns
    -----
    UserWarning
        If items were answered by one model of a pair only (these are left out), if a
        pair shares no items (variances are then added), if all items are in one
        cluster, or if no item, or each in the same way, tells two models apart. In the
        last two cases standard errors and intervals are nan.

    Notes
    -----
    Several answers to an item are averaged first, so every item counts once,
    however often it was answered. Then the difference is taken item by item, and
    its mean has the cluster-robust CR2 variance with Bell-McCaffrey degrees of
    freedom; without clusters that is the paired t test. For right and wrong answers
    to independent items the p-value is McNemar's exact one, which may disagree with
    the t interval at the border. Models on different items are compared with Welch's
    degrees of freedom.

    The variance of a difference is ``V_a + V_b - 2 r sqrt(V_a V_b)``. Models tend to
    fail on the same items; their correlation r is where precision comes from [1]_.

    When not to use it: to find the best of many models, for which
    `rank_confidence_sets` controls the error with more power; with a few right and
    wrong answers, where the p-value is exact but the interval is not.

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
    >>> compare_models(items, "A", "B")
    A - B = -0.03 (standard error 0.01, 95 % interval -0.06182 to 0.001824).
    p = 0.058 by t test.
    Pairing on 4 shared items removes 95 % of the variance (correlation 0.97).
    On different items the standard error would be 0.0432.
    To show a true difference of -0.03 with power 80 % takes 4 such items.
    """
    check_option("adjust", adjust, ("none", "bonferroni", "holm"))
    check_confidence_level(confidence_level)
    by = [by] if isinstance(by, str) else list(by or [])
    table = score_table(items, model=model, item=item, score=score, cluster=cluster, by=by)
    return comparison_of(table, a, b, item=item, confidence_level=confidence_level, adjust=adjust)


def comparison_of(table, a=None, b=None, *, item, confidence_level, adjust):
    """`compare_models` for a `ScoreTable`, of which several things may be asked."""
    pairs = _pairs(table, a, b)
    compared = [_compared(table, i, j, item) for i, j in pairs]
    fields = {name: np.concatenate([c[name] for c in compared]) for name in compared[0]}
    labels = _labels(table, pairs)
    _warn(table, fields, labels)
    return _result(table, fields, labels, confidence_level, adjust)


def _pairs(table, a, b):
    """Positions of the models of each pair."""
    models = list(table.models)
    for name in (a, b):
        if name is not None and name not in models:
            raise ValueError(f"There is no model {name!r}. There are: {some_of(models)}.")
    if a is None and b is not None:
        raise ValueError(f"b={b!r} needs an a to be compared with. Pass a=..., or b alone as a.")
    if a is not None and a == b:
        raise ValueError(f"a and b are both {a!r}: a model does not differ from itself.")
    if len(models) < 2:
        raise ValueError(f"There is only one model, {models[0]!r}, and nothing to compare it with.")
    if a is None:
        best_first = np.argsort(-np.nanmean(table.scores, axis=0), kind="stable")
        return list(combinations(best_first.tolist(), 2))
    others = [b] if b is not None else [name for name in models if name != a]
    return [(models.index(a), models.index(other)) for other in others]


def _compared(table, i, j, item):
    """Everything about one pair of models, one entry per group."""
    a, b = table.scores[:, i], table.scores[:, j]
    has_a, has_b = np.isfinite(a), np.isfinite(b)
    shared = has_a & has_b
    n_shared = table.group_sums(shared)
    own = _own_clusters(table, shared, a, b)
    pair = paired.paired_difference(*own, table.n_groups)
    apart = n_shared == 0
    if apart.any():
        _refuse_shared_clusters(table, has_a, has_b, apart, (i, j), item)
        added = _unpaired(table, a, b)
        pair = pair._replace(
            **{
                name: np.where(apart, getattr(added, name), getattr(pair, name))
                for name in pair._fields
            }
        )
    only_a, only_b = (table.group_sums(shared & (x > y)) for x, y in ((a, b), (b, a)))
    return pair._asdict() | {
        "n_items": n_shared.astype(int),
        "only_a": only_a,
        "only_b": only_b,
        "n_left_out": np.where(apart, 0, table.group_sums(has_a ^ has_b)),
        "n_clusters": np.bincount(own[-1], minlength=table.n_groups),
        **_noise(table, shared, (i, j)),
    }


def _own_clusters(table, chosen, *scores):
    """Sums of the scores over the clusters of the chosen items, their sizes and groups."""
    sizes = table.cluster_sums(chosen)
    present = sizes > 0
    sums = [table.cluster_sums(np.where(chosen, x, 0.0))[present] for x in scores]
    return *sums, sizes[present], table.cluster_groups[present]


def _noise(table, shared, pair):
    """Variance of single answers, and what is left of it in the means, of both models."""
    known = [shared & np.isfinite(table.noise[:, m]) for m in pair]
    if not np.any(known):
        return dict.fromkeys(("noise", "noise_left"), np.full(table.n_groups, np.nan))
    single, left = np.zeros(table.n_groups), np.zeros(table.n_groups)
    for m, several in zip(pair, known, strict=True):
        total = table.group_sums(np.where(several, table.noise[:, m], 0.0))
        variance = divided(total, table.group_sums(several))
        part = np.divide(1, table.n_answers[:, m], out=np.zeros(shared.size), where=shared)
        single += variance
        left += variance * divided(table.group_sums(part), table.group_sums(shared))
    return {"noise": single, "noise_left": left}


def _unpaired(table, a, b):
    """Differences of models on different items."""
    model_a, model_b = (
        clustered.cluster_robust_variance(*_own_clusters(table, np.isfinite(x), x), table.n_groups)
        for x in (a, b)
    )
    return paired.unpaired_difference(
        model_a.mean, model_b.mean, model_a.variance, model_b.variance, model_a.df, model_b.df
    )


def _refuse_shared_clusters(table, has_a, has_b, apart, pair, item):
    """Answers to the same question under different ids are not independent."""
    in_both = (table.cluster_sums(has_a) > 0) & (table.cluster_sums(has_b) > 0)
    if np.any(in_both & apart[table.cluster_groups]):
        a, b = (table.models[position] for position in pair)
        raise ValueError(
            f"Models {a!r} and {b!r} share clusters but no {item}, so they are neither paired nor "
            "independent. Pass the cluster column as item= and as cluster=, to pair its means."
        )


def _labels(table, pairs):
    groups = (
        [()]
        if table.groups is None
        else [g if isinstance(g, tuple) else (g,) for g in table.groups]
    )
    names = ["model_a", "model_b", *([] if table.groups is None else table.groups.names)]
    rows = [(table.models[i], table.models[j], *group) for i, j in pairs for group in groups]
    return pd.MultiIndex.from_tuples(rows, names=names)


def _result(table, fields, labels, confidence_level, adjust):
    level = confidence_level
    if adjust != "none":
        level = multiplicity.bonferroni_level(confidence_level, len(labels))
    difference, n = fields["difference"], fields["n_items"]
    difference = np.where(np.abs(difference) <= table.rounding, 0.0, difference)
    # Without any spread the items cannot tell how far others would spread: nan, never 0.
    no_spread = _has_no_spread(table, fields)
    variance = np.where(no_spread, np.nan, fields["variance"])
    error = np.sqrt(variance)
    low, high = means.t_interval(difference, error, np.nan_to_num(fields["df"]), level)
    if table.right_or_wrong:
        low, high = np.clip([low, high], -1, 1)
    exact = (n > 0) & (table.is_binary and not table.is_clustered)
    p_value = _p_values(fields, difference / error, exact)
    item_variance = np.where(n > 0, n * variance, np.nan)
    with np.errstate(divide="ignore"):
        needed = required_n(np.abs(difference), item_variance, level, POWER)
    return ModelComparison(
        estimate=Estimate(
            value=difference,
            low=low,
            high=high,
            standard_error=error,
            confidence_level=level,
            labels=labels,
            method=_method(table, n, adjust, len(labels)),
            guarantee="each group",
        ),
        p_value=_adjusted(p_value, adjust),
        test=_test(exact),
        df=fields["df"],
        correlation=fields["correlation"],
        unpaired_standard_error=np.sqrt(fields["unpaired_variance"]),
        n_items=n,
        items_needed=needed,
        omega2=np.maximum(item_variance - np.nan_to_num(fields["noise_left"]), 0),
        noise=fields["noise"],
        remarks=_remarks(table, adjust, len(labels)),
    )


def _has_no_spread(table, fields):
    return fields["variance"] <= table.rounding**2


def _p_values(fields, statistic, exact):
    p_value = 2 * student_t.sf(np.abs(statistic), fields["df"])
    never_differ = (fields["n_items"] > 0) & (fields["only_a"] + fields["only_b"] == 0)
    p_value = np.where(never_differ, 1.0, p_value)
    if not exact.any():
        return p_value
    return np.where(exact, paired.mcnemar_exact(fields["only_a"], fields["only_b"]), p_value)


def _test(exact):
    if exact.all():
        return "McNemar, exact"
    return "McNemar, exact, or t test where no items are shared" if exact.any() else "t test"


def _adjusted(p_value, adjust):
    if adjust == "holm":
        return multiplicity.holm(p_value)
    return np.minimum(1, p_value * p_value.size) if adjust == "bonferroni" else p_value


def _method(table, n_items, adjust, n_comparisons):
    how = (
        "paired" if np.all(n_items > 0) else "unpaired" if np.all(n_items == 0) else "partly paired"
    )
    kind = "clusters, CR2" if table.is_clustered else "independent items"
    adjusted = (
        f", {adjust.capitalize()} for {n_comparisons}"
        if _is_adjusted(adjust, n_comparisons)
        else ""
    )
    return f"{how} difference ({kind}{adjusted})"


def _is_adjusted(adjust, n_comparisons):
    return adjust != "none" and n_comparisons > 1


def _remarks(table, adjust, n_comparisons):
    remarks = []
    counts = table.n_answers[table.n_answers > 0]
    if counts.max() > 1:
        least, most = counts.min(), counts.max()
        number = f"{least}" if least == most else f"{least} to {most}"
        remarks.append(f"{number} answers per item and model are averaged: each item counts once.")
    if _is_adjusted(adjust, n_comparisons):
        remarks.append(f"p-values and intervals hold for all {n_comparisons} comparisons at once.")
    return tuple(remarks)


def _warn(table, fields, labels):
    """Say once for all comparisons what is wrong with some of them."""
    n = fields["n_items"]
    unknown = ~np.isfinite(fields["difference"])
    one_cluster = (fields["n_clusters"] == 1) & (n > 0)
    cases = [
        (unknown, "lack the answers of one model: the difference is unknown (nan)"),
        ((n == 0) & ~unknown, "share no items: their variances are added (unpaired)"),
        (
            one_cluster,
            f"{'are in one cluster' if table.is_clustered else 'share a single item'}: "
            "the standard error is unknown (nan)",
        ),
        (
            _has_no_spread(table, fields) & ~one_cluster,
            "differ by the same amount on every item: the standard error is unknown (nan)",
        ),
    ]
    for affected, what in cases:
        if affected.any():
            warnings.warn(f"{_named(labels, affected)} {what}.", stacklevel=4)
    left_out = fields["n_left_out"]
    if left_out.any():
        first = int(np.argmax(left_out > 0))
        warnings.warn(
            f"{_named(labels, left_out > 0)} are compared on the items that both answered. "
            f"{left_out[first]:.0f} are left out: {_left_out(table, labels[first])}.",
            stacklevel=4,
        )


def _left_out(table, label):
    """Names of the items that only one of two models answered, by the one that did not."""
    a, b, *group = label
    here = np.ones(len(table.items), dtype=bool)
    if group:
        position = table.groups.get_loc(group[0] if len(group) == 1 else tuple(group))
        here = table.cluster_groups[table.clusters] == position
    has = {name: np.isfinite(table.scores[:, table.models.get_loc(name)]) for name in (a, b)}
    words = []
    for name, other in [(a, b), (b, a)]:
        lacks = here & has[other] & ~has[name]
        if lacks.any():
            words.append(f"{plain(name)!r} lacks {some_of(list(table.items[lacks]))}")
    return "; ".join(words)


def _named(labels, affected):
    """The first of the affected comparisons, and how many they are."""
    a, b, *group = map(plain, labels[int(np.argmax(affected))])
    first = ", ".join([f"{a!r} and {b!r}", *map(repr, group)])
    if affected.sum() == 1:
        return first
    return f"{affected.sum()} of {len(labels)} comparisons ({first} first)"
