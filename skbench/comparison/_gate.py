"""Pass, fail or undecided: is a candidate no worse than a baseline, and could one tell?"""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any, Literal

import narwhals as nw
import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control
from scipy.stats import t as student_t

from skbench._checks import check_confidence_level, check_option
from skbench._types import Names, Rows
from skbench.comparison._comparison import POWER
from skbench.comparison._gate_result import GateResult
from skbench.comparison._pair_warnings import has_no_spread, warn_of_units
from skbench.comparison._pairs import pair_table
from skbench.comparison.compare import compared, pair_positions
from skbench.comparison.plan import required_items
from skbench.items.rows import collected
from skbench.items.tables import score_table
from skbench.stats.clusters import paired
from skbench.stats.intervals import binomial
from skbench.stats.ranking import noninferiority, power
from skbench.stats.resampling import repeats

_LEAST_LEVEL = 0.8  # below, no number of items gives the power that is asked for


def gate(
    items: Rows,
    baseline: str,
    candidate: str,
    margin: float,
    *,
    relative: bool = False,
    fail: Literal["worse", "margin"] = "worse",
    missing: Literal["drop", "wrong"] = "drop",
    bank: Any = None,
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
        One row per answer of a model to an item, in any dataframe that narwhals reads.
    baseline, candidate : str
        Names of the two models.
    margin : float
        Tolerated loss, above 0, in the units of the score.
    relative : bool, default=False
        Whether `margin` is a share of the baseline's mean, taken as known.
    fail : {"worse", "margin"}, default="worse"
        Fail a candidate shown to be worse (unless shown to be within the margin), or only one
        shown to be worse by more than the margin.
    missing : {"drop", "wrong"}, default="drop"
        Items that one of the two did not answer: left out with a warning, or scored 0.
    bank : ItemBank, default=None
        Earlier models' answers. The difference is then that on all items of the bank, of which
        those asked are a random sample. The two models are left out of the bank.
    model, item, score, cluster : str
        Columns, as in `compare_models`.
    by : str or list of str, default=None
        Columns of topics, one row of `topics` each; with a bank, its one column of topics. The
        verdict counts all items equally.
    confidence_level : float, default=0.95
        Level of the two-sided interval, at least 0.8. A candidate that is exactly as good fails
        with probability ``(1 - confidence_level) / 2``.
    false_discovery_rate : float, default=0.05
        Expected share of false discoveries (Benjamini and Hochberg) among the topics, and among
        the items, reported to have changed.

    Returns
    -------
    GateResult
        With `verdict`, `difference`, `low`, `high`, `margin`, `power`, `items_needed`.

    Raises
    ------
    ValueError
        For a margin that is not above 0, models that share no items, items that are no random
        sample of the bank's, and as `compare_models` does.

    Warns
    -----
    UserWarning
        If items were answered by one of the two only.

    Notes
    -----
    The interval is that of `compare_models` for candidate minus baseline. The gate passes where
    ``low > -margin``, else fails where ``high < 0`` (or ``high < -margin``), else is undecided.
    Where the models never differ and scores lie in [0, 1], the interval allows for as many
    differing clusters as are compatible with none seen.

    `power` is the probability that this gate, with this number of such items, fails a candidate
    that is worse by the margin; for ``fail="margin"``, that it passes one that is as good.
    `items_needed` is for a power of 0.8. Both are by McNemar's exact test for right and wrong
    answers, else by a noncentral t (test_stated_power_is_the_simulated_one).

    When not to use it: repeatedly while answers come in, for which there is
    `SequentialComparison`; to prove that a candidate is better.

    Examples
    --------
    >>> import numpy as np
    >>> from skbench import gate
    >>> rng = np.random.default_rng(0)
    >>> items = pd.DataFrame({
    ...     "model": np.repeat(["old", "new"], 300), "item": [*range(300)] * 2,
    ...     "score": np.r_[rng.random(300) < 0.8, rng.random(300) < 0.6] * 1.0})
    >>> print(gate(items[items["item"] < 20], "old", "new", margin=0.02))
    This gate is close to blind: ...
    >>> print(gate(items, "old", "new", margin=0.05).verdict)
    fail
    """
    _check_options(fail, missing, margin, confidence_level, false_discovery_rate)
    by = [by] if isinstance(by, str) else list(by or [])
    names = {"model": model, "item": item, "score": score, "cluster": cluster}
    if bank is not None:
        items = _adjusted(bank, items, [baseline, candidate], by, **names)
        names["cluster"] = None if cluster == item else cluster
    of_topics = score if bank is None else "topic_score"
    table, topics = _tables(items, (candidate, baseline), names, of_topics, by, missing)
    _check_shared(table, item, missing)
    shared = np.isfinite(table.scores).all(axis=1)
    new, old = table.scores[shared].mean(axis=0)
    delta = _in_score_units(margin, relative, old, baseline, table)
    found = _compared(table._replace(groups=None), confidence_level)
    ends = ("difference", "low", "high", "standard_error")
    return GateResult(
        verdict=str(noninferiority.decide(found["low"], found["high"], delta, fail)[0]),
        **{name: float(found[name][0]) for name in ends},
        margin=delta,
        **_power(found, delta, confidence_level, fail),
        n_items=int(found["n_items"][0]),
        baseline=baseline,
        candidate=candidate,
        scores=(float(old), float(new)),
        fail=fail,
        confidence_level=confidence_level,
        method=found["method"] + (", adjusted by earlier models" if bank is not None else ""),
        topics=_topics(topics, confidence_level, false_discovery_rate),
        item_verdicts=_item_verdicts(table, shared, false_discovery_rate),
        remarks=tuple(_remarks(found, table, shared, delta, margin, relative)),
    )


def _check_options(fail, missing, margin, confidence_level, false_discovery_rate):
    """Refuse settings that a gate cannot have."""
    check_option("fail", fail, ("worse", "margin"))
    check_option("missing", missing, ("drop", "wrong"))
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
    real = isinstance(margin, numbers.Real) and not isinstance(margin, bool)
    if not real or not 0 < margin < math.inf:
        raise ValueError(
            f"margin must be above 0, got {margin!r}: it is the loss that is put up with, and no "
            "number of items shows that a candidate loses nothing. Pass 0.02 for two points of a "
            "score from 0 to 1."
        )


def _adjusted(bank, items, pair, by, model, item, score, cluster):
    """Item rows of the two models adjusted by a bank, with `topic_score` for each topic."""
    if len(by) > 1:
        raise ValueError(f"With bank=..., by is the one column of its topics, got {by}.")
    rows = collected(nw.from_native(items).filter(nw.col(model).is_in(pair)))
    topic = by[0] if by else "topic"
    named = {model: bank.model, topic: bank.topic, item: bank.item, score: bank.score}
    given = rows[[name for name in named if name in rows]].rename(columns=named)
    found = bank.adjusted_scores(given).rename(columns={b: a for a, b in named.items()})
    if cluster not in (None, item):
        keys = [name for name in (topic, item) if name in rows]
        found = found.merge(rows[[*keys, cluster]].drop_duplicates(keys), on=keys)
    return found


def _tables(items, pair, names, of_topics, by, missing):
    """Scores of candidate and baseline on all items, and by topic."""
    table = score_table(items, **names, by=by)
    positions = pair_positions(table, *pair)[0]
    topics = table
    if of_topics != names["score"]:
        topics = score_table(items, **(names | {"score": of_topics}), by=by)
    ids = table.items.get_level_values(names["item"])
    if by and names["cluster"] not in (None, names["item"]) and ids.is_unique:
        table = score_table(items, **names, by=[])  # clusters may reach over topics
    return tuple(of_all.of_models(positions).with_missing(missing) for of_all in (table, topics))


def _check_shared(table, item, missing):
    """Refuse models that share no items; warn of items left out and of unlike units."""
    has_new, has_old = np.isfinite(table.scores).T
    candidate, baseline = table.models
    if not (table.n_answers.min(axis=1) > 0).any():
        raise ValueError(
            f"{candidate!r} answered none of the {has_old.sum()} items of {baseline!r}, but "
            f"{has_new.sum()} others: a gate compares answers to the same items. Give both the "
            f"same {item} ids."
        )
    alone = int((has_new ^ has_old).sum())
    if alone:
        warnings.warn(
            f"{alone} of {(has_new | has_old).sum()} items were answered by one model only "
            f"({candidate!r} lacks {(has_old & ~has_new).sum()}, {baseline!r} lacks "
            f"{(has_new & ~has_old).sum()}) and are left out. "
            'Pass missing="wrong" (--missing wrong) to score blanks 0.',
            stacklevel=3,
        )
    warn_of_units(table)


def _in_score_units(margin, relative, mean, baseline, table):
    """The margin in the units of the score."""
    if relative and not mean > 0:
        raise ValueError(
            f"A relative margin needs a mean above 0, but {baseline!r} has {mean:g}. Pass a "
            "margin in the units of the score."
        )
    delta = float(margin * mean if relative else margin)
    if table.is_binary and delta >= 1:
        raise ValueError(
            f"The margin is {delta:g}, but right and wrong answers cannot lose more than 1: two "
            "points of a hundred are margin=0.02."
        )
    return delta


def _compared(table, level):
    """Differences of the candidate in each group, by the intervals of `compare_models`."""
    found, fields = compared(table, pair_table(table), [(0, 1)], level)
    e, difference = found.estimate, found.estimate.value
    alike = has_no_spread(table, fields) & ~fields["exact"]
    low, high, scores = e.low, e.high, table.scores[np.isfinite(table.scores)]
    if scores.min() >= 0 and scores.max() <= 1:
        # Models that never differ: at most as many clusters do as none seen allows.
        same = alike & (difference == 0)
        units = np.maximum(fields["n_clusters"], 1)
        most = binomial.clopper_pearson_interval(0, units, level)[1]
        low, high = np.where(same, -most, low), np.where(same, most, high)
    worse = np.where(difference < 0, found.p_value / 2, 1 - found.p_value / 2)
    exact = paired.mcnemar_exact_less(fields["only_a"], fields["only_b"])
    worse = np.where(fields["exact"], exact, worse)
    error = np.where(alike, 0.0, np.sqrt(np.maximum(fields["variance"], 0)))
    own = {"difference": difference, "low": low, "high": high, "method": e.method,
           "worse": np.nan_to_num(worse, nan=1.0), "standard_error": error}  # fmt: skip
    return fields | own


def _power(found, margin, level, fail):
    """The gate's power, and the items for one of 0.8; nan where their variance is unknown."""
    n, error, df = (float(found[name][0]) for name in ("n_items", "standard_error", "df"))
    goal = {"confidence_level": level, "power": POWER}
    if found["exact"][0]:
        counts = found["only_a"][0], found["only_b"][0], n
        share = noninferiority.disagreement(*counts, -margin if fail == "worse" else 0.0)
        share = max(float(share), margin)
        now = noninferiority.power_of_counts(int(n), share, margin, level, fail)
        if fail == "worse":
            needed = required_items(margin, omega2=share - margin**2, test="mcnemar", **goal)
        else:
            needed = noninferiority.items_to_pass(share, margin, level, POWER)
        return {"power": float(now), "items_needed": needed}
    if not error > 0:
        return {"power": math.nan, "items_needed": math.nan}
    variance, size = error**2 * n, max(n / (df + 1), 1.0)
    now = power.power_t(margin, n, variance, level, size)
    # One that is worse by just the margin passes with a chance of alpha / 2.
    now = min(now, (1 + level) / 2) if fail == "worse" else now
    needed = required_items(margin, omega2=variance, cluster_size=size, **goal)
    return {"power": float(now), "items_needed": needed}


def _topics(table, level, rate):
    """One row per topic, and which got worse at the false discovery rate."""
    if table.groups is None:
        return None
    found = _compared(table, level)
    known = found["n_items"] > 0
    adjusted = np.ones(known.size)
    adjusted[known] = false_discovery_control(found["worse"][known])
    frame = {name: found[name] for name in ("difference", "low", "high", "n_items")}
    frame |= {"p_value": found["worse"], "adjusted": adjusted, "worse": adjusted <= rate}
    return pd.DataFrame(frame, index=table.groups)


def _item_verdicts(table, shared, rate):
    """One row per item answered several times; None where there are none."""
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


def _remarks(found, table, shared, delta, margin, relative):
    """What else there is to know, sentence by sentence."""
    if relative:
        yield f"The margin is {100 * margin:g} % of the baseline's mean: {delta:.4g}."
    left_out = int((table.n_answers > 0).any(axis=1).sum() - shared.sum())
    if left_out:
        yield f"{left_out} items that one model alone answered are left out."
    if found["standard_error"][0] == 0:
        yield (
            "The models differ by the same amount on every item: nothing tells how far they "
            "would differ on others."
        )
