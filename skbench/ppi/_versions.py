"""Two versions of a judge on the same answers, and the noise of verdicts given again."""

import numpy as np
import pandas as pd

from skbench._checks import plain
from skbench.ppi import _figures, _labels
from skbench.stats.resampling.repeats import repeat_noise

_MOST_VERDICTS = 10  # rows of the table of noise
_FEW_NEW = 0.1  # share of further verdicts beyond all that the judge said at first
_CLOSE = 1.05  # standard error over that without noise, from where more verdicts hardly pay


def asked_again(
    rows, human, judge, previous, repeats, event, level, threshold, codes, confidence_level, rng
):
    """Fields of the card on an earlier version of the judge, and on its verdicts given again."""
    names = [judge, *repeats, *([] if previous is None else [previous])]
    words = _labels.words_of(rows, names)
    if words:
        _labels.refuse_numbers_as_text(words, judge)
    if human is None and event is not None and not (rows[names] == event).any(axis=None):
        raise ValueError(f"event {event!r} is none of the verdicts in {', '.join(names)}.")
    if repeats and event is None and words:
        raise ValueError(
            f"{judge!r} says {words[-1]!r}, and words have no variance. Pass event=, the label "
            "that counts."
        )
    if previous is not None:
        _labels.check_one_scale(rows, judge, previous)
        if human is not None:
            labeled = rows[rows[human].notna()]
            _, people = _labels.human(labeled, human, event)
            score = _labels.scores(labeled[previous], previous, people, event)
            _labels.verdict(labeled[previous], score, people, event, threshold, previous)
    known = [judge, *([] if previous is None else [previous]), *([] if human is None else [human])]
    for name in repeats:
        _refuse_no_verdicts(rows[name].dropna(), rows[known], name, judge, words)
    labels = _labels.as_numbers(rows, names, human, threshold)
    scores = {name: _labels.scores(rows[name], name, words, event) for name in names}
    own = [judge, *repeats]
    found = {}
    if previous is not None:
        pair = ([x[judge], x[previous]] for x in (labels, scores))
        y = labels[human] if human is not None else np.full(len(rows), np.nan)
        changes = _changes(*pair, y, level, codes, confidence_level, rng, bool(words))
        found["changes"] = pd.Series(changes, name=previous)
    if repeats:
        of_all = np.column_stack([scores[name] for name in own])
        found["noise"] = _noise(of_all, codes, confidence_level)
        if previous is not None:
            by_noise = _disagreement([labels[name] for name in own])
            found["changes"]["flips_by_noise"] = by_noise
    return found


def _refuse_no_verdicts(said, known, name, judge, words):
    """Refuse a column whose values the judge never uses, such as the number of the verdict."""
    known = pd.Series(known.to_numpy(dtype=object).ravel()).dropna()
    least = _FEW_NEW * len(said)  # the ends of a scale, and some words, may be rare
    if words:
        strange = said[~said.isin(known)]
    else:
        known, numbers = _labels.floats(known), _labels.floats(said)
        low, high = known.min(), known.max()
        if 0 <= low and high <= 1:
            low, high, least = 0, 1, 0
        strange = said[(numbers < low) | (numbers > high)]
    if len(strange) > least:
        raise ValueError(
            f"{name!r} holds {plain(strange.iloc[0])!r}, which {judge!r} never says. repeats= "
            "names columns of verdicts, not of their numbers: give each further verdict a column."
        )


def _changes(labels, scores, y, level, codes, confidence_level, rng, words):
    """What a version of a judge says otherwise than an earlier one, by labels and scores of both.

    `y` has the labels of people, nan where there is none.
    """
    now, before = labels
    both = np.isfinite(now) & np.isfinite(before)
    if both.sum() < _labels.FEWEST_LABELS:
        raise ValueError(
            f"{both.sum()} answers have a verdict of both versions, and fewer than "
            f"{_labels.FEWEST_LABELS} say nothing of a change. Let both judge the same answers."
        )
    found = {
        "n": int(both.sum()),
        "only_now": int(np.isfinite(now).sum() - both.sum()),
        "only_before": int(np.isfinite(before).sum() - both.sum()),
    }
    of_both = np.unique(codes[both], return_inverse=True)[1]
    changed = now[both] != before[both]
    found |= _figures.named("flips", *_figures.share(changed, of_both, confidence_level))
    found["flips_by_noise"] = np.nan
    found |= _figures.beyond_chance(
        before[both], now[both], level, of_both, confidence_level, rng, words
    )
    shift = (scores[0][both], scores[1][both], of_both)
    found |= _tested("bias_change", *shift, confidence_level)
    there = both & np.isfinite(y)
    own = np.unique(codes[there], return_inverse=True)[1]
    values = np.unique(np.r_[now[both], before[both], y[there]])
    graded = level != "nominal" or (values.size > _figures.MOST_LABELS and not words)
    errors = [np.abs(x - y)[there] if graded else (x != y)[there] * 1.0 for x in labels]
    found["n_labels"] = int(there.sum())
    found["error_now"], found["error_before"] = (
        float(x.mean()) if x.size else np.nan for x in errors
    )
    return found | _tested("error_change", *errors, own, confidence_level)


def _tested(what, now, before, codes, confidence_level):
    """A mean change with its interval and p-value; nan where labels are few, or no numbers."""
    if len(codes) < _labels.FEWEST_LABELS or not np.isfinite(now - before).all():
        return _figures.named(what, np.nan, np.nan, np.nan) | {f"{what}_p_value": np.nan}
    found = _figures.named(what, *_figures.bias(now, before, codes, confidence_level))
    return found | {f"{what}_p_value": _figures.p_value(now, before, codes)}


def _noise(scores, codes, confidence_level):
    """By number of verdicts on each answer: the share of noise, and the standard error."""
    there = np.isfinite(scores)
    n_again = int((there.sum(axis=1) > 1).sum())
    if n_again < _labels.FEWEST_LABELS:
        raise ValueError(
            f"{n_again} answers have two verdicts or more, and fewer than {_labels.FEWEST_LABELS} "
            "say nothing of noise. Have more answers judged again."
        )
    some = there.any(axis=1)
    of_some = np.unique(codes[some], return_inverse=True)[1]
    found = repeat_noise(scores[some], of_some, confidence_level)
    k = np.arange(1, _MOST_VERDICTS + 1)
    table = pd.DataFrame(index=pd.Index(k, name="verdicts"))
    ends = (found.share, found.low, found.high)
    for name, share in zip(("share", "share_low", "share_high"), ends, strict=True):
        table[name] = share / (share + k * (1 - share))
    variance = found.between + found.within / k
    table["standard_error"] = np.sqrt(variance / some.sum())
    table["answers_worth"] = np.divide(
        variance[0], variance, where=variance > 0, out=np.full(k.size, np.nan)
    )
    return table


def _disagreement(labels):
    """Chance that two verdicts on one answer differ, over answers with two or more."""
    pairs = [(a, b) for i, a in enumerate(labels) for b in labels[:i]]
    differ = np.array([np.where(np.isfinite(a - b), a != b, np.nan) for a, b in pairs])
    there = np.isfinite(differ)
    n_pairs = there.sum(axis=0)
    return float(np.mean(np.nansum(differ, axis=0)[n_pairs > 0] / n_pairs[n_pairs > 0]))


def change_in_words(judge, c):
    """Sentences on two versions."""
    again = c["flips_by_noise"]
    itself = "" if np.isnan(again) else f"; with itself, asked again, on {100 * again:.1f}%"
    low, high = 100 * c["flips_low"], 100 * c["flips_high"]
    ends = "" if np.isnan(low) else f" ({low:.1f}% to {high:.1f}%)"
    yield (
        f"{judge} disagrees with {c.name} on {100 * c['flips']:.1f}%{ends} of {c['n']:,.0f} "
        f"answers{itself}."
    )
    if np.isfinite(c["bias_change"]):
        yield f"Its mean verdict, and so its bias, changes by {_ends(c, 'bias_change')}."
    if np.isfinite(c["error_change"]):
        yield (
            f"Its error against {c['n_labels']:,.0f} human labels changes from "
            f"{c['error_before']:z.3f} to {c['error_now']:z.3f}: {_ends(c, 'error_change')}."
        )
    if c["only_now"] or c["only_before"]:
        yield (
            f"Not compared: {c['only_now']:,.0f} answers without a usable verdict of {c.name}, "
            f"{c['only_before']:,.0f} without one of {judge}."
        )


def _ends(c, what):
    value, low, high, p = (c[f"{what}{end}"] for end in ("", "_low", "_high", "_p_value"))
    interval = f" ({low:z.3f} to {high:z.3f}, p = {p:.2g})" if np.isfinite(low) else ""
    return f"{value:+z.3f}{interval}"


def noise_in_words(judge, table):
    """Sentences on verdicts given again."""
    one = table.iloc[0]
    if np.isnan(one["share"]):
        yield f"One mean verdict of {judge}, or one cluster: its share of noise is unknown."
        return
    low, high = 100 * one["share_low"], 100 * one["share_high"]
    ends = "" if np.isnan(low) else f" ({low:.0f}% to {high:.0f}%)"
    more = 100 * (table["answers_worth"].iloc[1] - 1)
    yield (
        f"With one verdict per answer, noise is {100 * one['share']:.0f}%{ends} of the variance of "
        f"the mean score of {judge}; a second verdict per answer is worth {more:.0f}% more answers."
    )
    enough = table.index[table["share"] <= 1 - 1 / _CLOSE**2]
    few = enough[0] if len(enough) else f"more than {_MOST_VERDICTS}"
    yield f"It takes {few} per answer to bring the standard error within 5% of that without noise."
