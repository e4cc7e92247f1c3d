"""Pass, fail or undecided: is a candidate no worse than a baseline, and could one tell?"""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Literal

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control
from scipy.stats import t as student_t

from skbench._checks import check_confidence_level, check_option
from skbench._types import Names, Rows
from skbench.comparison._gate_result import POWER, GateResult
from skbench.stats.clusters import paired
from skbench.stats.intervals import binomial, means
from skbench.stats.ranking import noninferiority, power
from skbench.stats.resampling import repeats
from skbench.summaries._score_table import score_table, some_of

_LEAST_LEVEL = 0.8  # below, no number of items gives the power that is asked for


def gate(
    items: Rows,
    baseline: str,
    candidate: str,
    margin: float,
    *,
    relative: bool = False,
    fail: Literal["worse", "margin"] = "worse",
    missing: Literal["shared", "wrong"] = "shared",
    model: str = "model",
    item: str = "item",
    score: str = "score",
    cluster: str | None = None,
    by: Names | None = None,
    confidence_level: float = 0.95,
    false_discovery_rate: float = 0.05,
) -> GateResult:
    """Whether a candidate may take the place of a baseline, by the items both answered.

    Parameters
    ----------
    items : dataframe
        One row per answer of a model to an item, in any dataframe that narwhals
        reads. Not changed.
    baseline, candidate : str
        Names of the two models.
    margin : float
        Loss that is put up with, above 0, in the units of the score.
    relative : bool, default=False
        Whether `margin` is a share of the baseline's mean, which is then taken as known.
    fail : {"worse", "margin"}, default="worse"
        Whether a candidate fails that is shown to be worse (and not shown to be within
        the margin), or only one that is shown to be worse by more than the margin.
    missing : {"shared", "wrong"}, default="shared"
        Items that one of the two did not answer: left out, with a warning, or scored 0.
    model, item, score, cluster : str
        Columns, as in `compare_models`; ``cluster=item`` where items were answered
        several times.
    by : str or list of str, default=None
        Columns of topics. The verdict is about all items alike, topics that got worse
        are listed.
    confidence_level : float, default=0.95
        Of the two-sided interval, at least 0.8. A candidate that is exactly as good fails
        with a chance of ``(1 - confidence_level) / 2``.
    false_discovery_rate : float, default=0.05
        Expected share of wrong ones among the topics, and among the items, that are said
        to have changed (Benjamini and Hochberg).

    Returns
    -------
    GateResult
        With `verdict`, `difference`, `low`, `high`, `margin`, `power`, `items_needed`.

    Raises
    ------
    ValueError
        For a margin that is not above 0, models that share no items, and as
        `compare_models` does.

    Warns
    -----
    UserWarning
        If items were answered by one of the two only.

    Notes
    -----
    With the interval of candidate minus baseline: pass where ``low > -margin``; else fail
    where ``high < 0`` (or ``high < -margin``); else undecided. Right and wrong answers to
    independent items have Tango's score interval (which leaves out 0 only where the exact
    McNemar test does, too), all others the t interval by items or
    clusters (CR2, Bell-McCaffrey), as in `compare_models`. Where the two models never
    differ in a score from 0 to 1, the interval allows for as many items (clusters) that
    do as are compatible with none seen.

    `power` is the chance that this gate, at this number of items and with items that vary
    like these, fails a candidate that is worse by the margin; for ``fail="margin"`` the
    chance that it passes one that is as good. `items_needed` is for a power of 0.8. Exact
    for right and wrong answers, by a noncentral t law else
    (`skbench.stats.noninferiority`; test_stated_power_is_the_simulated_one).

    When not to use it: over and over while answers come in, for which there is
    `SequentialComparison`; to prove that a candidate is better.

    Examples
    --------
    >>> import numpy as np
    >>> from skbench import gate
    >>> rng = np.random.default_rng(0)
    >>> items = pd.DataFrame({
    ...     "model": np.repeat(["old", "new"], 300), "item": [*range(300)] * 2,
    ...     "score": np.r_[rng.random(300) < 0.8, rng.random(300) < 0.6] * 1.0})
    >>> print(gate(items, "old", "new", margin=0.05).verdict)
    fail
    """
    check_option("fail", fail, ("worse", "margin"))
    check_option("missing", missing, ("shared", "wrong"))
    _check_levels(confidence_level, false_discovery_rate)
    _check_margin(margin)
    by = [by] if isinstance(by, str) else list(by or [])
    names = {"model": model, "item": item, "score": score, "cluster": cluster}
    topics = table = score_table(items, **names, by=by)
    if by and cluster not in (None, item) and table.items.get_level_values(item).is_unique:
        table = score_table(items, **names, by=[])  # clusters may reach over topics
    columns = _columns(table, baseline, candidate)
    old, new = (table.scores[:, column] for column in columns)
    shared, left_out = _shared(old, new, baseline, candidate, item, missing)
    old, new = (np.where(np.isfinite(x), x, 0.0) for x in (old, new))
    _warn_of_units(old[shared], new[shared], baseline, candidate)
    delta = _in_score_units(margin, relative, old[shared].mean(), baseline)
    counts = table.is_binary and not table.is_clustered
    if table.is_binary and delta >= 1:
        raise ValueError(
            f"The margin is {delta:g}, but right and wrong answers cannot lose more than 1: two "
            "points of a hundred are margin=0.02."
        )
    overall = _compared(table, old, new, shared, counts, confidence_level)
    chance = _power(overall, delta, confidence_level, fail)
    needed = _items_needed(chance, overall, delta, confidence_level, fail)
    remarks = _remarks(overall, left_out, delta, margin, relative)
    return GateResult(
        verdict=str(noninferiority.decide(overall["low"], overall["high"], delta, fail)[0]),
        difference=float(overall["difference"][0]),
        low=float(overall["low"][0]),
        high=float(overall["high"][0]),
        margin=delta,
        power=chance(overall["n"][0]),
        items_needed=needed,
        standard_error=float(overall["error"][0]),
        n_items=int(overall["n"][0]),
        baseline=baseline,
        candidate=candidate,
        scores=(float(old[shared].mean()), float(new[shared].mean())),
        fail=fail,
        confidence_level=confidence_level,
        method=overall["method"],
        topics=_topics(topics, columns, missing, confidence_level, false_discovery_rate),
        item_verdicts=_item_verdicts(table, shared, columns, false_discovery_rate),
        remarks=remarks,
    )


def _check_levels(confidence_level, false_discovery_rate):
    check_confidence_level(confidence_level)
    if confidence_level < _LEAST_LEVEL:
        raise ValueError(
            f"confidence_level must be at least {_LEAST_LEVEL:g} for a gate, got "
            f"{confidence_level:g}."
        )
    if not 0 < false_discovery_rate < 1:
        raise ValueError(
            f"false_discovery_rate must be strictly between 0 and 1, got {false_discovery_rate!r}."
        )


def _check_margin(margin):
    real = isinstance(margin, numbers.Real) and not isinstance(margin, bool)
    if not real or not 0 < margin < math.inf:
        raise ValueError(
            f"margin must be above 0, got {margin!r}: it is the loss that is put up with, and no "
            "number of items shows that a candidate loses nothing. Pass 0.02 for two points of a "
            "score from 0 to 1."
        )


def _columns(table, baseline, candidate):
    models = list(table.models)
    for name in (baseline, candidate):
        if name not in models:
            raise ValueError(f"There is no model {name!r}. There are: {some_of(models)}.")
    if baseline == candidate:
        raise ValueError(f"baseline and candidate are both {baseline!r}: nothing is compared.")
    return models.index(baseline), models.index(candidate)


def _shared(old, new, baseline, candidate, item, missing):
    """Which items count, and how many of the two models' items do not."""
    has_old, has_new = np.isfinite(old), np.isfinite(new)
    shared, either = has_old & has_new, has_old | has_new
    if not shared.any():
        raise ValueError(
            f"{candidate!r} answered none of the {has_old.sum()} items of {baseline!r}, but "
            f"{has_new.sum()} others: a gate compares answers to the same items. Give both the "
            f"same {item} ids."
        )
    alone = int((either & ~shared).sum())
    if alone and missing == "shared":
        warnings.warn(
            f"{alone} of {either.sum()} items were answered by one model only ({candidate!r} lacks "
            f"{(has_old & ~has_new).sum()}, {baseline!r} lacks {(has_new & ~has_old).sum()}) and "
            'are left out. Pass missing="wrong" to score blanks 0.',
            stacklevel=3,
        )
    return (shared, alone) if missing == "shared" else (either, 0)


def _warn_of_units(old, new, baseline, candidate):
    """Say so where one side is within 0 and 1 and the other far beyond."""
    tops = {baseline: np.abs(old).max(), candidate: np.abs(new).max()}
    small, large = sorted(tops, key=tops.get)
    if 0 < tops[small] <= 1 and tops[large] > 10:
        warnings.warn(
            f"Scores of {small!r} reach {tops[small]:g}, those of {large!r} {tops[large]:g}: are "
            "they in the same unit? Their difference is taken as it is.",
            stacklevel=3,
        )


def _in_score_units(margin, relative, mean, baseline):
    if not relative:
        return float(margin)
    if not mean > 0:
        raise ValueError(
            f"A relative margin needs a mean above 0, but {baseline!r} has {mean:g}. Pass a "
            "margin in the units of the score."
        )
    return float(margin * mean)


def _compared(table, old, new, shared, counts, level, codes=None, n_groups=1):
    """Difference of candidate and baseline in each group, with intervals and one-sided p."""
    sizes = table.cluster_sums(shared)
    present = sizes > 0
    codes = np.zeros(sizes.size, dtype=int) if codes is None else codes
    sums = [table.cluster_sums(np.where(shared, x, 0.0))[present] for x in (new, old)]
    pair = paired.paired_difference(*sums, sizes[present], codes[present], n_groups)
    n = np.bincount(codes[present], sizes[present], minlength=n_groups)
    units = np.bincount(codes[present], minlength=n_groups)
    only = [
        np.bincount(codes, table.cluster_sums(shared & better), minlength=n_groups)
        for better in (new > old, old > new)
    ]
    if counts:
        low, high = noninferiority.gate_interval(*only, np.maximum(n, 1), level)
        low, high = (np.where(n > 0, end, np.nan) for end in (low, high))
        worse = paired.mcnemar_exact_less(*only)
        method = "score interval of paired proportions"
    else:
        error = np.sqrt(np.where(pair.variance > table.rounding**2, pair.variance, np.nan))
        low, high = means.t_interval(pair.difference, error, np.nan_to_num(pair.df), level)
        worse = np.nan_to_num(student_t.cdf(pair.difference / error, pair.df), nan=1.0)
        low, high = _where_nothing_differs(table, only, units, low, high, level)
        method = f"paired t interval by {'clusters (CR2)' if table.is_clustered else 'items'}"
    return {
        "difference": pair.difference, "low": low, "high": high, "worse": worse, "n": n,
        "units": units, "error": np.sqrt(pair.variance), "df": pair.df, "method": method,
        "counts": [int(x[0]) for x in only] if counts else None,
    }  # fmt: skip


def _where_nothing_differs(table, only, units, low, high, level):
    """Scores within 0 and 1 that never differ: at most as many units do as none seen allows."""
    scores = table.scores[np.isfinite(table.scores)]
    if scores.min() < 0 or scores.max() > 1:
        return low, high
    same = (sum(only) == 0) & (units > 0)
    most = binomial.clopper_pearson_interval(0, np.maximum(units, 1), level)[1]
    low, high = np.where(same, -most, low), np.where(same, most, high)
    return (np.clip(low, -1, 1), np.clip(high, -1, 1)) if table.right_or_wrong else (low, high)


def _power(overall, margin, level, fail):
    """The gate's power as a function of the number of items."""
    n_seen, df = float(overall["n"][0]), float(overall["df"][0])
    if overall["counts"]:
        share = _disagreement(overall, margin, fail)
        return lambda n: noninferiority.power_of_counts(n, share, margin, level, fail)
    error = float(overall["error"][0])

    def power_at(n):
        scaled = n / n_seen
        freedom = max(df * scaled, 1.0) if np.isfinite(df) else df
        return noninferiority.power_of_t(error / np.sqrt(scaled), freedom, margin, level, fail)

    return power_at if error > 0 else lambda n: math.nan


def _disagreement(overall, margin, fail):
    """Share of items that one model alone solves, were the difference what power is about."""
    truth = -margin if fail == "worse" else 0.0
    share = noninferiority.disagreement(*overall["counts"], overall["n"][0], truth)
    return max(float(share), margin)


def _items_needed(power_at, overall, margin, level, fail):
    """Items for a power of 0.8; nan where nothing tells how the items vary."""
    n = float(overall["n"][0])
    if math.isnan(power_at(n)):
        return math.nan
    variance = overall["error"][0] ** 2 * n
    if overall["counts"]:
        variance = _disagreement(overall, margin, fail)
    guess = power.required_n(margin, variance, level, POWER)
    return noninferiority.items_for_power(power_at, guess, POWER)


def _topics(table, columns, missing, level, rate):
    """One row per topic, and which got worse at the false discovery rate."""
    if table.groups is None:
        return None
    scores = table.scores[:, columns]
    known = np.isfinite(scores)
    shared = known.all(axis=1) if missing == "shared" else known.any(axis=1)
    old, new = np.where(known, scores, 0.0).T
    counts = table.is_binary and not table.is_clustered
    found = _compared(table, old, new, shared, counts, level, table.cluster_groups, table.n_groups)
    known = found["n"] > 0
    adjusted = np.ones(known.size)
    adjusted[known] = false_discovery_control(found["worse"][known])
    frame = {name: found[name] for name in ("difference", "low", "high")}
    frame |= {"n_items": found["n"].astype(int), "p_value": found["worse"], "adjusted": adjusted}
    return pd.DataFrame(frame | {"worse": adjusted <= rate}, index=table.groups)


def _item_verdicts(table, shared, columns, rate):
    """One row per item answered several times; None where there are none."""
    runs = table.n_answers[:, columns]
    several = shared & (runs.min(axis=1) > 1)
    if not several.any():
        return None
    (runs_old, runs_new), (old, new) = runs[several].T, table.scores[np.ix_(several, columns)].T
    frame = pd.DataFrame(
        {"baseline": old, "candidate": new, "runs_baseline": runs_old, "runs_candidate": runs_new},
        index=table.items[several],
    )
    if table.right_or_wrong:
        right = (np.rint(x * n).astype(int) for x, n in ((new, runs_new), (old, runs_old)))
        right_new, right_old = right
        found = repeats.flips(right_new, runs_new, right_old, runs_old)
        frame["p_value"], frame["flipped"], frame["chance_of_flip"] = found
    else:
        noise_old, noise_new = (table.noise[np.ix_(several, columns)] / runs[several]).T
        welch = paired.unpaired_difference(
            new, old, noise_new, noise_old, runs_new - 1.0, runs_old - 1.0
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = np.abs(welch.difference) / np.sqrt(welch.variance)
        p_value = np.nan_to_num(2 * student_t.sf(statistic, welch.df), nan=1.0)
        frame["p_value"], frame["flipped"], frame["chance_of_flip"] = p_value, False, np.nan
    frame["adjusted"] = false_discovery_control(frame["p_value"])
    changed = frame["adjusted"].to_numpy() <= rate
    names = np.select([changed & (new < old), changed, frame["flipped"]],
                      ["worse", "better", "noise"], "same")  # fmt: skip
    return frame.assign(verdict=names)


def _remarks(overall, left_out, delta, margin, relative):
    remarks = []
    if relative:
        remarks.append(f"The margin is {100 * margin:g} % of the baseline's mean: {delta:.4g}.")
    if left_out:
        remarks.append(f"{left_out} items that one model alone answered are left out.")
    if overall["error"][0] == 0:
        remarks.append("The models differ by the same amount on every item.")
    return tuple(remarks)
