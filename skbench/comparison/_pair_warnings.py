"""What is wrong with some of the comparisons and scores, said once for all of them."""

import numpy as np

from skbench._checks import listed, plain
from skbench._warnings import warn
from skbench.items.ranges import different_units
from skbench.stats.intervals.moments import divided

SKEWED = (
    "differ by skewed amounts on few items or clusters: t intervals may cover less than they say"
)
_CLEAR = 2.5  # standard errors of a skewness that is no chance
_BY_CHANCE = 0.1  # share of pairs
_FORGIVEN = 0.2  # skewness of an error: Cochran's rule, n > 25 times the squared skewness


def skewed(table, fields):
    """Pairs whose t intervals rest on few skewed differences, beyond what chance explains."""
    if table.bounds is not None and not table.is_clustered:
        return np.zeros(len(fields["exact"]), dtype=bool)
    error = np.sqrt(6) / np.maximum(fields["n_clusters"], 1)
    beyond = np.abs(fields["skewness"]) > np.maximum(_FORGIVEN, _CLEAR * error)
    doubtful = beyond & ~fields["exact"]
    # A few of many pairs look skewed by chance.
    return doubtful if doubtful.mean() > _BY_CHANCE else np.zeros_like(doubtful)


def has_no_spread(table, fields):
    """Whether differences are alike on all items, but for rounding."""
    return np.isfinite(fields["df"]) & ~(fields["variance"] > table.rounding**2)


def warn_of_pairs(table, pairs, fields, labels):
    """Say once for all comparisons what is wrong with some of them."""
    related = fields["related"]
    unknown = ~np.isfinite(fields["difference"])
    two = len(table.models) == 2
    present = np.array([np.isfinite(fit.mean).all() for fit in pairs.fits])
    absent = unknown & (np.tile(~present, len(labels) // len(present)))
    alike = has_no_spread(table, fields)
    one_cluster = related & ~unknown & ~alike & np.isnan(fields["variance"])
    few = "are in one cluster" if table.is_clustered else "share or are linked by a single item"
    cases = [
        (absent, "lack the answers of one model: the difference is unknown (nan)"),
        (
            ~related & unknown & ~absent,
            "share no items, directly or through others: they are not compared (nan)",
        ),
        (~related & ~unknown, "share no items: their variances are added (unpaired)"),
        (one_cluster, f"{few}: the standard error is unknown (nan)"),
        (
            related & alike,
            "differ by the same amount on every item, but for rounding: the standard error is "
            "unknown (nan)",
        ),
    ]
    for affected, what in [*cases, (skewed(table, fields), SKEWED)]:
        if affected.any():
            warn(f"{_named(labels, affected)} {what}.")
    if two:
        _warn_of_left_out(table, related, labels)
    else:
        warn_of_missing_items(table, pairs.fits)


def _warn_of_left_out(table, related, labels):
    """Name the items that only one of two models answered, by the model that did not."""
    has = np.isfinite(table.scores)
    left_out = related[table.cluster_groups[table.clusters]] & (has.sum(axis=1) == 1)
    if left_out.any():
        lacking = [
            (name, table.items[left_out & ~own])
            for name, own in zip(table.models, has.T, strict=True)
        ]
        words = [
            f"{plain(name)!r} lacks {listed(ids, most=3, show=repr)}"
            for name, ids in lacking
            if len(ids)
        ]
        warn(
            f"{_named(labels, table.group_sums(left_out) > 0)} are compared on the items that both "
            f"answered. {left_out.sum()} are left out: {'; '.join(words)}."
        )


def warn_of_missing_items(table, fits):
    """Say which models did not answer all items, and what is made of that."""
    missing = table.n_answers == 0
    if not missing.any():
        return
    worst = int(np.argmax(missing.sum(axis=0)))
    names = listed(table.items[missing[:, worst]], most=3, show=repr)
    used = sum(int(fit.used.sum()) for fit in fits)
    left_out = f"{len(table.items) - used} that one model alone answered are left out; "
    warn(
        f"{missing.any(axis=0).sum()} of {len(table.models)} models did not answer all "
        f"{len(table.items)} items, and scores are least squares on the items they share "
        f"({left_out if used < len(table.items) else ''}differences rest on items that both "
        f"answered, or that others link): {plain(table.models[worst])!r} lacks "
        f"{missing[:, worst].sum()} ({names})."
    )


def _named(labels, affected):
    """The first of the affected comparisons, and how many they are."""
    a, b, *group = map(plain, labels[int(np.argmax(affected))])
    first = ", ".join([f"{a!r} and {b!r}", *map(repr, group)])
    if affected.sum() == 1:
        return first
    return f"{affected.sum()} of {len(labels)} comparisons ({first} first)"


def warn_of_scores(table, fits, estimate, variance):
    """Warn of few and skewed scores, and of scores that are all alike."""
    models, alike = estimate.labels, np.flatnonzero((variance == 0) & np.isnan(estimate.low))
    doubtful = _skewed_scores(table, fits)
    if doubtful.mean() > _BY_CHANCE:
        warn(
            f"{doubtful.sum()} of {len(models)} models have few and skewed scores, such as "
            f"{plain(table.models[int(np.argmax(doubtful))])!r}: t intervals may cover less than "
            "they say."
        )
    if alike.size:
        warn(
            f"{alike.size} of {len(models)} models show no spread, such as "
            f"{plain(models[alike[0]])!r}: their standard errors and intervals are unknown."
        )


def _skewed_scores(table, fits):
    """Models whose t intervals rest on few skewed items or clusters."""
    if table.bounds is not None:
        return np.zeros(len(table.models), dtype=bool)
    second, third = (sum(np.sum(fit.influence**k, axis=0) for fit in fits) for k in (2, 3))
    n_clusters = min(len(fit.influence) for fit in fits) * len(fits)
    shape = np.nan_to_num(divided(third, second**1.5))
    return np.abs(shape) > np.maximum(_FORGIVEN, _CLEAR * np.sqrt(6) / n_clusters)


def warn_of_units(table):
    """Models whose scores look to be in different units."""
    tops = np.abs(np.nan_to_num(table.scores)).max(axis=0)
    told = different_units(dict(zip(table.models, tops.tolist(), strict=True)))
    if told is not None:
        warn(told)


def warn_of_unpaired_models(table, pairs):
    """Models that share no items with some others."""
    related = pairs.related[0]
    if related.all():
        return
    fewest = int(np.argmin(related.sum(axis=0)))
    warn(
        f"{(~related).any(axis=0).sum()} of {len(table.models)} models share no items with some "
        f"others, directly or through models between, such as {plain(table.models[fewest])!r}: "
        "these are not compared with each other."
    )
