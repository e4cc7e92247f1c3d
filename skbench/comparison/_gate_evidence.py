"""The comparison of a candidate and a baseline that a gate decides on."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control
from scipy.stats import t as student_t

from skbench._checks import listed
from skbench._warnings import warn
from skbench.comparison._gate_power import low_end, power_of_draws, power_of_items
from skbench.comparison._gate_worst import worst_of_bank, worst_of_items
from skbench.comparison._pair_warnings import SKEWED, are_constant, skewed, warn_of_units
from skbench.comparison._pairs import pair_table
from skbench.comparison.compare import compared, pair_positions
from skbench.comparison.extreme_groups import Extremes
from skbench.comparison.posterior import (
    check_bank_settings,
    compared_by_posterior,
    posterior_with_bank,
)
from skbench.items.roles import check_model
from skbench.items.tables import score_table
from skbench.stats.clusters import paired
from skbench.stats.intervals.posterior import posterior_p_value
from skbench.stats.resampling import repeats


class Evidence(NamedTuple):
    """Differences of candidate and baseline on all items and by topic, with power and remarks."""

    whole: dict  # arrays of one entry
    by_topic: dict | None  # the same, an entry for each topic
    topics: pd.Index | None
    scores: tuple  # of candidate and baseline
    margin: float  # in the units of the score
    power: dict
    method: str
    item_verdicts: pd.DataFrame | None
    remarks: tuple
    worst: Extremes | None  # of the candidate's topics, if a floor is given
    own_means: pd.Series | None = None  # of the candidate's items by topic, without a bank


def of_items(items, pair, columns, by, missing, goal, settings, rate):
    """`Evidence` from the items that both models answered."""
    table, topics = _tables(items, pair, columns, by, missing, settings)
    _check_shared(table, columns["item"], missing)
    shared = np.isfinite(table.scores).all(axis=1)
    scores = table.scores[shared].mean(axis=0)
    margin, relative, fail, level, floor = goal
    delta = _in_score_units(margin, relative, scores[1], pair[1], table.is_binary)
    found = _compared(table._replace(groups=None), level)
    if found["skewed"].any():
        warn(f"{pair[0]!r} and {pair[1]!r} {SKEWED}.")
    reach = table.range_of_differences
    worst = (None, None) if floor is None else worst_of_items(topics, floor, level)
    return Evidence(
        whole=found,
        by_topic=None if topics.groups is None else _compared(topics, level),
        topics=topics.groups,
        scores=tuple(scores),
        margin=delta,
        power=power_of_items(found, delta, level, fail, reach, _is_shifted(table)),
        method=found["method"],
        item_verdicts=_item_verdicts(table, shared, rate),
        remarks=tuple(_remarks(found, table, shared, delta, margin, relative)),
        worst=worst[0],
        own_means=worst[1],
    )


def of_bank(bank, items, pair, columns, by, missing, goal, settings):
    """`Evidence` on all items of a bank, from joint draws."""
    check_bank_settings(bank, by, columns["cluster"], columns["item"], missing)
    margin, relative, _, level, floor = goal
    names = tuple(columns[name] for name in ("model", "topic", "item", "score"))
    found = {}
    for topics in ([], by) if by else ([],):
        posterior = posterior_with_bank(bank, items, names, topics=topics, models=pair, **settings)
        position = pair_positions(posterior, *pair)
        found[bool(topics)] = posterior, compared_by_posterior(posterior, position, level)
    posterior, one = found[False]
    position = list(posterior.models.get_indexer(pair))
    scores = posterior.draws.mean(axis=0)[position, 0]
    delta = _in_score_units(margin, relative, scores[1], pair[1], bank.binary_)
    n_all = int(posterior.n_all[0])
    e, worst = one.estimate, None
    if floor is not None:
        bounds = (0.0, 1.0) if bank.binary_ else settings["bounds"]
        worst = worst_of_bank(found[True][0], pair[0], floor, bounds, level)
    return Evidence(
        whole=_fields_of(one, found[False][0], position),
        by_topic=_fields_of(found[True][1], found[True][0], position) if by else None,
        topics=found[True][0].groups if by else None,
        scores=tuple(scores),
        margin=delta,
        power=power_of_draws(e.standard_error[0], one.n_behind[0], n_all, delta, level),
        method=e.method,
        item_verdicts=None,
        remarks=tuple(_on_margin(relative, margin, delta)),
        worst=worst,
    )


def with_unknown_topics(evidence, candidate):
    """Set the worst score to unknown if the candidate answered no item of some topic."""
    worst, topics = evidence.worst, evidence.topics
    if worst is None or topics.isin(worst.worst_probability.index).all():
        return evidence
    unknown = topics[~topics.isin(worst.worst_probability.index)]
    is_worst = np.asarray(worst.estimate.labels == "worst")
    ends = {x: np.where(is_worst, np.nan, getattr(worst.estimate, x)) for x in ("value", "low")}
    remark = (
        f"{candidate!r} answered no item of {listed(unknown, most=3, show=repr)}, so its worst "
        "score is unknown."
    )
    return evidence._replace(
        worst=replace(worst, estimate=replace(worst.estimate, **ends)),
        remarks=(*evidence.remarks, remark),
    )


def _fields_of(comparison, posterior, position):
    """The fields of `of_items`, from posterior draws."""
    e, (new, old) = comparison.estimate, position
    draws = posterior.draws[:, new] - posterior.draws[:, old]
    two_sided = posterior_p_value(draws)
    worse = np.where(e.value < 0, two_sided / 2, 1 - two_sided / 2)
    return {"difference": e.value, "low": e.low, "high": e.high, "worse": worse,
            "standard_error": e.standard_error, "n_items": comparison.n_behind}  # fmt: skip


def _tables(items, pair, columns, by, missing, settings):
    """Scores of candidate and baseline on all items, and by topic."""
    bounds, population = settings["bounds"], settings["population"]
    table = score_table(items, **columns, by=by, bounds=bounds).with_population(population)
    for name in pair:
        check_model(name, table.models)
    positions, topics = pair_positions(table, *pair)[0], table
    if by and columns["cluster"] not in (None, columns["item"]):  # clusters may span topics
        key = table.items.names[:-1]
        table = score_table(items, **columns | {"topic": key}, by=[], bounds=bounds)
    whole = None if topics.sizes is None else np.array([topics.sizes.sum()])
    found = [x.of_models(positions).with_missing(missing) for x in (table, topics)]
    return found[0]._replace(sizes=whole), found[1]


def _check_shared(table, item, missing):
    """Raise an error if models share no items; warn of skipped items and of different units."""
    has_new, has_old = np.isfinite(table.scores).T
    candidate, baseline = table.models
    if not (table.n_answers.min(axis=1) > 0).any():
        raise ValueError(
            f"{candidate!r} answered none of the {has_old.sum()} items of {baseline!r}, but "
            f"{has_new.sum()} others. A gate compares answers to the same items, so both models "
            f"need the same ids in column {item!r}."
        )
    skipped = int((has_new ^ has_old).sum())
    if skipped:
        warn(
            f"{skipped} of {(has_new | has_old).sum()} items were answered by only one model "
            f"({candidate!r} lacks {(has_old & ~has_new).sum()}, {baseline!r} lacks "
            f"{(has_new & ~has_old).sum()}) and are skipped. "
            'Pass missing="wrong" to score missing answers 0.'
        )
    warn_of_units(table)


def _in_score_units(margin, relative, mean, baseline, is_binary):
    """The margin in the units of the score."""
    if relative and not mean > 0:
        raise ValueError(
            f"A relative margin needs a mean above 0, but the mean of {baseline!r} is {mean:g}. "
            "Pass a margin in the units of the score."
        )
    delta = float(margin * mean if relative else margin)
    if is_binary and delta >= 1:
        raise ValueError(
            f"The margin is {delta:g}, but scores of 0 and 1 cannot lose more than 1. For two "
            "percentage points pass margin=0.02."
        )
    return delta


def _is_shifted(table):
    """Whether the low end counts the worst case in its mean: bounded scores, not 0 and 1."""
    return table.bounds is not None and not table.right_or_wrong


def _compared(table, level):
    """Differences of the candidate in each group, with the intervals of `compare_models`."""
    found, fields = compared(table, pair_table(table), [(0, 1)], level)
    e, difference = found.estimate, found.estimate.value
    low = e.low
    if _is_shifted(table):
        independent = np.nan_to_num(fields["df"]) + 1
        low = low_end(difference, low, independent, fields["left"], table.range_of_differences)
    worse = np.where(difference < 0, found.p_value / 2, 1 - found.p_value / 2)
    exact = paired.mcnemar_exact_less(fields["only_a"], fields["only_b"])
    worse = np.where(fields["exact"] & (fields["left"] == 1), exact, worse)
    error = np.where(are_constant(table, fields), 0.0, np.nan_to_num(e.standard_error))
    own = {"difference": difference, "low": low, "high": e.high, "method": e.method,
           "worse": np.nan_to_num(worse, nan=1.0), "standard_error": error,
           "skewed": skewed(table, fields)}  # fmt: skip
    return fields | own


def _item_verdicts(table, shared, rate):
    """One row per item answered several times; None if there are none."""
    several = shared & (table.n_answers.min(axis=1) > 1)
    if not several.any():
        return None
    (new, old), (runs_new, runs_old) = table.scores[several].T, table.n_answers[several].T
    frame = pd.DataFrame(
        {"baseline": old, "candidate": new, "runs_baseline": runs_old, "runs_candidate": runs_new},
        index=table.items[several],
    )
    if table.right_or_wrong:
        right_new, right_old = np.rint((table.scores * table.n_answers)[several].T).astype(int)
        found = repeats.flips(right_new, runs_new, right_old, runs_old)
        frame["p_value"], frame["flipped"], frame["chance_of_flip"] = found
    else:
        noise = (table.noise / table.n_answers)[several].T
        welch = paired.unpaired_difference(new, old, *noise, runs_new - 1.0, runs_old - 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = np.abs(welch.difference) / np.sqrt(welch.variance)
        p_value = np.nan_to_num(2 * student_t.sf(statistic, welch.df), nan=1.0)
        frame["p_value"], frame["flipped"], frame["chance_of_flip"] = p_value, False, np.nan
    frame["adjusted"] = false_discovery_control(frame["p_value"])
    changed = frame["adjusted"].to_numpy() <= rate
    names = np.select([changed & (new < old), changed, frame["flipped"]],
                      ["worse", "better", "noise"], "same")  # fmt: skip
    return frame.assign(verdict=names)


def _on_margin(relative, margin, delta):
    if relative:
        yield f"The tolerated loss is {100 * margin:g}% of the baseline's mean, or {delta:.4g}."


def _remarks(found, table, shared, delta, margin, relative):
    """Remarks on the margin, scale, clusters and skipped items, one sentence each."""
    yield from _on_margin(relative, margin, delta)
    if table.scale is not None:
        yield table.scale
    if table.is_clustered and not _is_shifted(table):
        yield (
            "The interval does not allow for rare failures of whole clusters that the data do not "
            "show."
        )
    skipped = int((table.n_answers > 0).any(axis=1).sum() - shared.sum())
    if skipped:
        yield f"Items that only one model answered are skipped ({skipped})."
    if found["standard_error"][0] == 0 and math.isnan(found["low"][0]):
        yield (
            "The models differ by the same amount on every item, so the data do not show how much "
            "other items would vary."
        )
