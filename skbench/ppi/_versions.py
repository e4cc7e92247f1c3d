"""Changes between two versions of a judge, and the noise of repeated verdicts."""

import numpy as np
import pandas as pd

from skbench._checks import plain
from skbench.ppi import _figures, _labels
from skbench.stats.resampling.repeats import repeat_noise

_MOST_VERDICTS = 10  # rows of the table of noise
_FEW_NEW = 0.1  # largest proportion of repeats with values that the judge does not use
_CLOSE = 1.05  # ratio to the standard error without noise that counts as close


def changes_and_noise(
    rows, human, judge, previous, repeats, event, level, threshold, codes, confidence_level, rng
):
    """Fields of the result about an earlier version of the judge and about repeated verdicts."""
    names = [judge, *repeats, *([] if previous is None else [previous])]
    words = _labels.words_of(rows, names)
    if words:
        _labels.refuse_numbers_as_text(words, judge)
    if human is None and event is not None and not (rows[names] == event).any(axis=None):
        raise ValueError(f"No verdict in {', '.join(names)} equals event={event!r}.")
    if repeats and event is None and words:
        raise ValueError(
            f"Column {judge!r} contains words such as {words[-1]!r}, which have no variance. Pass "
            "the label of interest as event=."
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
        _check_are_verdicts(rows[name].dropna(), rows[known], name, judge, words)
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


def _check_are_verdicts(repeated, known, name, judge, words):
    """Raise an error for a column with other values than verdicts, such as numbers of repeats."""
    known = pd.Series(known.to_numpy(dtype=object).ravel()).dropna()
    most = _FEW_NEW * len(repeated)  # rare verdicts may be missing from the first column
    if words:
        new = repeated[~repeated.isin(known)]
    else:
        known, numbers = _labels.floats(known), _labels.floats(repeated)
        low, high = known.min(), known.max()
        if 0 <= low and high <= 1:
            low, high, most = 0, 1, 0
        new = repeated[(numbers < low) | (numbers > high)]
    if len(new) > most:
        raise ValueError(
            f"Column {name!r} contains {plain(new.iloc[0])!r}, which is not a verdict in "
            f"column {judge!r}. Pass one column of verdicts per repeat in repeats=."
        )


def _changes(labels, scores, y, level, codes, confidence_level, rng, words):
    """Changes between two versions, given their labels and scores.

    `y` has the human labels, nan where there is none.
    """
    now, before = labels
    both = np.isfinite(now) & np.isfinite(before)
    if both.sum() < _labels.FEWEST_LABELS:
        raise ValueError(
            f"Only {both.sum()} answers have verdicts of both versions, but at least "
            f"{_labels.FEWEST_LABELS} are needed. Let both versions judge the same answers."
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
    labeled = both & np.isfinite(y)
    own = np.unique(codes[labeled], return_inverse=True)[1]
    values = np.unique(np.r_[now[both], before[both], y[labeled]])
    graded = level != "nominal" or (values.size > _figures.MOST_LABELS and not words)
    errors = [np.abs(x - y)[labeled] if graded else (x != y)[labeled] * 1.0 for x in labels]
    found["n_labels"] = int(labeled.sum())
    found["error_now"], found["error_before"] = (
        float(x.mean()) if x.size else np.nan for x in errors
    )
    return found | _tested("error_change", *errors, own, confidence_level)


def _tested(what, now, before, codes, confidence_level):
    """A mean change with its interval and p-value; nan with few labels or without numbers."""
    if len(codes) < _labels.FEWEST_LABELS or not np.isfinite(now - before).all():
        return _figures.named(what, np.nan, np.nan, np.nan) | {f"{what}_p_value": np.nan}
    found = _figures.named(what, *_figures.bias(now, before, codes, confidence_level))
    return found | {f"{what}_p_value": _figures.p_value(now, before, codes)}


def _noise(scores, codes, confidence_level):
    """Share of noise and standard error by number of verdicts per answer."""
    n_verdicts = np.isfinite(scores).sum(axis=1)
    n_repeated = int((n_verdicts > 1).sum())
    if n_repeated < _labels.FEWEST_LABELS:
        raise ValueError(
            f"Only {n_repeated} answers have two verdicts or more, but at least "
            f"{_labels.FEWEST_LABELS} are needed. Let the judge repeat more verdicts."
        )
    judged = n_verdicts > 0
    found = repeat_noise(
        scores[judged], np.unique(codes[judged], return_inverse=True)[1], confidence_level
    )
    k = np.arange(1, _MOST_VERDICTS + 1)
    table = pd.DataFrame(index=pd.Index(k, name="verdicts"))
    ends = (found.share, found.low, found.high)
    for name, share in zip(("share", "share_low", "share_high"), ends, strict=True):
        table[name] = share / (share + k * (1 - share))
    variance = found.between + found.within / k
    table["standard_error"] = np.sqrt(variance / judged.sum())
    table["answers_worth"] = np.divide(
        variance[0], variance, where=variance > 0, out=np.full(k.size, np.nan)
    )
    return table


def _disagreement(labels):
    """Probability that two verdicts on one answer differ, over answers with two or more."""
    pairs = [(a, b) for i, a in enumerate(labels) for b in labels[:i]]
    differ = np.array([np.where(np.isfinite(a - b), a != b, np.nan) for a, b in pairs])
    n_pairs = np.isfinite(differ).sum(axis=0)
    return float(np.mean(np.nansum(differ, axis=0)[n_pairs > 0] / n_pairs[n_pairs > 0]))


def describe_changes(judge, c):
    """Sentences about the changes between two versions."""
    low, high = 100 * c["flips_low"], 100 * c["flips_high"]
    ends = "" if np.isnan(low) else f" ({low:.1f}% to {high:.1f}%)"
    yield (
        f"{judge} and {c.name} return different verdicts for {100 * c['flips']:.1f}%{ends} of "
        f"{c['n']:,.0f} answers."
    )
    if np.isfinite(c["flips_by_noise"]):
        yield (
            f"Repeated verdicts of {judge} differ for {100 * c['flips_by_noise']:.1f}% of the "
            "answers."
        )
    if np.isfinite(c["bias_change"]):
        yield f"The mean verdict, and so the bias, changes by {_ends(c, 'bias_change')}."
    if np.isfinite(c["error_change"]):
        yield (
            f"The error on {c['n_labels']:,.0f} human labels changes by "
            f"{_ends(c, 'error_change')}, from {c['error_before']:z.3f} to {c['error_now']:z.3f}."
        )
    if c["only_now"] or c["only_before"]:
        yield (
            f"The comparison skipped {c['only_now']:,.0f} answers without a usable verdict of "
            f"{c.name} and {c['only_before']:,.0f} without one of {judge}."
        )


def _ends(c, what):
    value, low, high, p = (c[f"{what}{end}"] for end in ("", "_low", "_high", "_p_value"))
    interval = f" ({low:z.3f} to {high:z.3f}, p = {p:.2g})" if np.isfinite(low) else ""
    return f"{value:+z.3f}{interval}"


def describe_noise(judge, table):
    """Sentences about the noise of repeated verdicts."""
    one = table.iloc[0]
    if np.isnan(one["share"]):
        yield (
            f"The share of noise of {judge} is unknown, because all answers have the same mean "
            "verdict or are in one cluster."
        )
        return
    low, high = 100 * one["share_low"], 100 * one["share_high"]
    ends = "" if np.isnan(low) else f" ({low:.0f}% to {high:.0f}%)"
    more = 100 * (table["answers_worth"].iloc[1] - 1)
    yield (
        f"With one verdict per answer, noise is {100 * one['share']:.0f}%{ends} of the variance of "
        f"the mean verdict of {judge}."
    )
    yield f"A second verdict per answer has the same effect as {more:.0f}% more answers."
    enough = table.index[table["share"] <= 1 - 1 / _CLOSE**2]
    few = enough[0] if len(enough) else f"more than {_MOST_VERDICTS}"
    yield f"With {few} verdicts per answer the standard error is within 5% of that without noise."
