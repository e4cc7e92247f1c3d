"""Warnings about pairs of models and scores, one for all pairs that share a problem."""

import numpy as np

from skbench._checks import listed, plain
from skbench._warnings import warn
from skbench.items.ranges import different_units
from skbench.stats.intervals.moments import divided

SKEWED = "differ by skewed amounts on few items or clusters: t intervals may cover less than stated"
_CLEAR = 2.5  # standard errors above which a skewness is not by chance
_BY_CHANCE = 0.1  # share of pairs
_NEGLIGIBLE = 0.2  # skewness of an error: Cochran's rule, n > 25 times the squared skewness


def skewed(table, fields):
    """Find pairs whose t intervals rest on few skewed differences, more than by chance."""
    if table.bounds is not None and not table.is_clustered:
        return np.zeros(len(fields["exact"]), dtype=bool)
    error = np.sqrt(6) / np.maximum(fields["n_clusters"], 1)
    beyond = np.abs(fields["skewness"]) > np.maximum(_NEGLIGIBLE, _CLEAR * error)
    doubtful = beyond & ~fields["exact"]
    # A few of many pairs look skewed by chance.
    return doubtful if doubtful.mean() > _BY_CHANCE else np.zeros_like(doubtful)


def are_constant(table, fields):
    """Whether differences are equal on all items, except for rounding."""
    return np.isfinite(fields["df"]) & ~(fields["variance"] > table.rounding**2)


def warn_of_pairs(table, pairs, fields, labels):
    """Warn once about each problem of some of the comparisons."""
    related = fields["related"]
    unknown = ~np.isfinite(fields["difference"])
    two = len(table.models) == 2
    present = np.array([np.isfinite(fit.mean).all() for fit in pairs.fits])
    absent = unknown & (np.tile(~present, len(labels) // len(present)))
    constant = are_constant(table, fields)
    one_cluster = related & ~unknown & ~constant & np.isnan(fields["variance"])
    few = "are in one cluster" if table.is_clustered else "are linked by a single item"
    cases = [
        (absent, "lack the answers of one model: the difference is unknown (nan)"),
        (
            ~related & unknown & ~absent,
            "share no items, directly or through other models: they are not compared (nan)",
        ),
        (~related & ~unknown, "share no items: the comparison is unpaired"),
        (one_cluster, f"{few}: the standard error is unknown (nan)"),
        (
            related & constant,
            "differ by the same amount on every item: the standard error is unknown (nan)",
        ),
    ]
    for affected, what in [*cases, (skewed(table, fields), SKEWED)]:
        if affected.any():
            warn(f"{_named(labels, affected)} {what}.")
    if two:
        _warn_of_skipped(table, related, labels)
    else:
        warn_of_missing_items(table, pairs.fits)


def _warn_of_skipped(table, related, labels):
    """Name the items that only one of two models answered, by the model that did not."""
    has = np.isfinite(table.scores)
    skipped = related[table.cluster_groups[table.clusters]] & (has.sum(axis=1) == 1)
    if skipped.any():
        lacking = [
            (name, table.items[skipped & ~own])
            for name, own in zip(table.models, has.T, strict=True)
        ]
        words = [
            f"{plain(name)!r} lacks {listed(ids, most=3, show=repr)}"
            for name, ids in lacking
            if len(ids)
        ]
        warn(
            f"{_named(labels, table.group_sums(skipped) > 0)} are compared on the items that both "
            f"answered, and {_items(skipped.sum())} skipped ({'; '.join(words)})."
        )


def _items(n):
    return f"{n} item{'s are' if n > 1 else ' is'}"


def warn_of_missing_items(table, fits):
    """Report which models did not answer all items, and how scores are then computed."""
    missing = table.n_answers == 0
    if not missing.any():
        return
    worst = int(np.argmax(missing.sum(axis=0)))
    names = listed(table.items[missing[:, worst]], most=3, show=repr)
    used = sum(int(fit.used.sum()) for fit in fits)
    skipped = f" {_items(len(table.items) - used)} skipped, because only one model answered."
    warn(
        f"{missing.any(axis=0).sum()} of {len(table.models)} models did not answer all "
        f"{len(table.items)} items ({plain(table.models[worst])!r} lacks "
        f"{missing[:, worst].sum()}: {names}). Scores are least squares on shared items."
        f"{skipped if used < len(table.items) else ''}"
    )


def _named(labels, affected):
    """Name the first of the affected comparisons and their number."""
    a, b, *group = map(plain, labels[int(np.argmax(affected))])
    first = ", ".join([f"{a!r} and {b!r}", *map(repr, group)])
    if affected.sum() == 1:
        return first
    return f"{affected.sum()} of {len(labels)} comparisons ({first} first)"


def warn_of_scores(table, fits, estimate, variance):
    """Warn of few skewed scores, and of scores that are all equal."""
    models, constant = estimate.labels, np.flatnonzero((variance == 0) & np.isnan(estimate.low))
    doubtful = _skewed_scores(table, fits)
    if doubtful.mean() > _BY_CHANCE:
        warn(
            f"{doubtful.sum()} of {len(models)} models have few and skewed scores, such as "
            f"{plain(table.models[int(np.argmax(doubtful))])!r}: t intervals may cover less than "
            "stated."
        )
    if constant.size:
        warn(
            f"{constant.size} of {len(models)} models have equal scores on all items, such as "
            f"{plain(models[constant[0]])!r}: their standard errors and intervals are unknown."
        )


def _skewed_scores(table, fits):
    """Find models whose t intervals rest on few skewed items or clusters."""
    if table.bounds is not None:
        return np.zeros(len(table.models), dtype=bool)
    second, third = (sum(np.sum(fit.influence**k, axis=0) for fit in fits) for k in (2, 3))
    n_clusters = min(len(fit.influence) for fit in fits) * len(fits)
    shape = np.nan_to_num(divided(third, second**1.5))
    return np.abs(shape) > np.maximum(_NEGLIGIBLE, _CLEAR * np.sqrt(6) / n_clusters)


def warn_of_units(table):
    """Warn if the scores of models seem to be in different units."""
    tops = np.abs(np.nan_to_num(table.scores)).max(axis=0)
    message = different_units(dict(zip(table.models, tops.tolist(), strict=True)))
    if message is not None:
        warn(message)


def warn_of_unpaired_models(table, pairs):
    """Warn of models that share no items with some others."""
    related = pairs.related[0]
    if related.all():
        return
    fewest = int(np.argmin(related.sum(axis=0)))
    warn(
        f"{(~related).any(axis=0).sum()} of {len(table.models)} models share no items with some "
        f"others, directly or through other models, such as {plain(table.models[fewest])!r}: "
        "these are not compared with each other."
    )
