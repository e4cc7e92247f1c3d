"""Figures of one judge and of several judges, from verdicts and labels as numbers."""

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats import t as student_t

from skbench.ppi._labels import FEWEST_LABELS
from skbench.stats.clusters import agreement, clustered, paired
from skbench.stats.intervals import binomial, means

FIGURES = ("kappa", "alpha", "tpr", "tnr", "bias", "calibration")
MOST_LABELS = 10  # with more values, numbers are scores and not labels
_PSEUDO_ERROR = 1.25  # in standard deviations of a judge's errors


def positive(labels_given, labels, event):
    """1 for the event, 0 for other labels; None if there is no event."""
    if event is None:
        return labels_given if labels == [0, 1] else None
    words = any(isinstance(x, str) for x in labels)
    here = labels_given == (labels.index(event) if words else event)
    return np.where(np.isnan(labels_given), np.nan, here)


def card(y, labels, score, verdict, event, level, codes, confidence_level, rng, name):
    """All figures of one judge."""
    both = np.isfinite(verdict)
    y, score, verdict = y[both], score[both], verdict[both]
    codes = np.unique(codes[both], return_inverse=True)[1]
    if len(y) < FEWEST_LABELS:
        raise ValueError(
            f"Column {name!r} has verdicts on {len(y)} labeled rows, but at least {FEWEST_LABELS} "
            "are needed."
        )
    row = {"n_labels": len(y), "agreement": np.mean(y == verdict)}
    words = isinstance(labels[-1], str)
    row |= beyond_chance(y, verdict, level, codes, confidence_level, rng, words)
    truth, judged = positive(y, labels, event), positive(verdict, labels, event)
    for what, value in (("tpr", 1), ("tnr", 0)):
        found = (np.nan,) * 3
        if truth is not None and np.any(truth == value):
            here = truth == value
            found = share(judged[here] == value, codes[here], confidence_level)
        row |= named(what, *found)
    target = truth if truth is not None else None if words else y
    if target is None or not np.isfinite(score).all():
        unknown = (np.nan,) * 3
        return row | named("bias", *unknown) | named("calibration", *unknown)
    row |= named("bias", *bias(score, target, codes, confidence_level))
    return row | named("calibration", *_calibration(score, target, codes, confidence_level, rng))


def beyond_chance(y, verdict, level, codes, confidence_level, rng, words=False):
    """Kappa and alpha of two raters with their intervals.

    With many values there is only alpha: the interval alpha of numbers, and the nominal alpha of
    words, without an interval.
    """
    row, values = {}, np.unique(np.r_[y, verdict])
    if values.size > MOST_LABELS:
        if words:
            found = _nominal_alpha(y, verdict) if level == "nominal" else np.nan, np.nan, np.nan
        else:
            found = _interval_alpha(y, verdict, codes, confidence_level)
        return named("kappa", np.nan, np.nan, np.nan) | named("alpha", *found)
    tables = _tables(y, verdict, values, codes)
    for what, units in (("kappa", None), ("alpha", len(y))):

        def statistic(tables, units=units):
            return agreement.chance_corrected(tables, values, level, units)

        ends = agreement.table_interval(tables, statistic, confidence_level, rng)
        row |= named(what, statistic(tables.sum(axis=0)), *ends)
    return row


def named(what, value, low, high):
    """A figure and the ends of its interval by name."""
    return {what: float(value), f"{what}_low": float(low), f"{what}_high": float(high)}


def _tables(y, verdict, values, codes):
    """One table of human labels and verdicts per cluster."""
    cells = np.zeros((codes.max() + 1, values.size, values.size))
    places = np.searchsorted(values, y), np.searchsorted(values, verdict)
    np.add.at(cells, (codes, *places), 1)
    return cells


def _by_cluster(values, codes):
    """Mean of clustered values with its CR2 variance and degrees of freedom."""
    sizes, group = np.bincount(codes), np.zeros(codes.max() + 1, dtype=int)
    robust = clustered.cluster_robust_variance(np.bincount(codes, values), sizes, group, 1)
    return (float(part[0]) for part in (robust.mean, robust.variance, robust.df))


def share(hits, codes, confidence_level):
    """A proportion with its Clopper-Pearson interval at the effective number of rows."""
    n, share = hits.size, float(hits.mean())
    effective = float(n)
    codes = np.unique(codes, return_inverse=True)[1]
    n_clusters = codes.max() + 1
    if n_clusters < n:
        if n_clusters < 2:
            return share, np.nan, np.nan
        _, variance, df = _by_cluster(hits, codes)
        # Without variance the rows of a cluster may be identical, so count clusters.
        worth = share * (1 - share) / variance if variance > 0 else float(n_clusters)
        tail = (1 + confidence_level) / 2
        effective = min(n, worth) * (ndtri(tail) / student_t.ppf(tail, df)) ** 2
    low, high = binomial.clopper_pearson_interval(share * effective, effective, confidence_level)
    return share, float(low), float(high)


def bias(score, y, codes, confidence_level):
    """Mean of score minus label, with its interval."""
    difference = score - y
    if codes.max() + 1 == y.size and np.isin(np.r_[score, y], (0, 1)).all():
        only = np.sum(difference > 0), np.sum(difference < 0)
        return difference.mean(), *paired.mcnemar_interval(*only, y.size, confidence_level)
    mean, variance, df = _by_cluster(difference, codes)
    error = np.sqrt(variance) if variance > 0 else np.nan
    return mean, *means.t_interval(mean, error, np.nan_to_num(df), confidence_level)


def p_value(score, y, codes):
    """P-value of equal means in the same rows: McNemar's exact test, or a t test by clusters."""
    difference = score - y
    if codes.max() + 1 == y.size and np.isin(np.r_[score, y], (0, 1)).all():
        return float(paired.mcnemar_exact(np.sum(difference > 0), np.sum(difference < 0)))
    mean, variance, df = _by_cluster(difference, codes)
    if not variance > 0:
        return 1.0 if mean == 0 else np.nan
    return float(2 * student_t.sf(abs(mean) / np.sqrt(variance), df))


def _calibration(score, y, codes, confidence_level, rng):
    """Slope of the labels on the scores, with its interval."""
    if np.isin(np.r_[score, y], (0, 1)).all():
        tables = _tables(y, score, np.array([0.0, 1.0]), codes)
        ends = agreement.table_interval(tables, _table_slope, confidence_level, rng)
        return _table_slope(tables.sum(axis=0)), *ends
    return _jackknifed(_slope, y, score, codes, confidence_level)


def _table_slope(tables):
    shares = tables / tables.sum(axis=(-2, -1), keepdims=True)
    judged, true = shares[..., :, 1].sum(axis=-1), shares[..., 1, :].sum(axis=-1)
    variance = judged * (1 - judged)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(variance > 0, (shares[..., 1, 1] - judged * true) / variance, np.nan)


def _slope(y, score):
    variance = score.var()
    return np.mean((y - y.mean()) * (score - score.mean())) / variance if variance > 0 else np.nan


def _nominal_alpha(y, verdict):
    """Nominal alpha of Krippendorff of two columns."""
    both = np.r_[y, verdict]
    counts = np.unique(both, return_counts=True)[1]
    expected = (both.size**2 - np.sum(counts**2)) / both.size / (both.size - 1)
    return 1 - np.mean(y != verdict) / expected


def _interval_alpha(y, score, codes, confidence_level):
    """Interval alpha of Krippendorff of two columns, with its jackknife interval by clusters."""
    middle = (y.mean() + score.mean()) / 2
    y, score = y - middle, score - middle
    columns = (y - score) ** 2, y + score, y**2 + score**2, np.full(len(y), 2.0)
    parts = np.array([np.bincount(codes, column) for column in columns])
    total = parts.sum(axis=1, keepdims=True)
    between, sums, squares, n = np.hstack([total, total - parts])
    spread = squares - sums**2 / np.maximum(n, 1)
    ratio = np.divide(between * (n - 1), n * spread, where=spread > 0, out=np.full(n.size, np.nan))
    if codes.max() < 2:
        return 1 - ratio[0], np.nan, np.nan
    return 1 - ratio[0], *_jackknife_interval(1 - ratio[0], 1 - ratio[1:], confidence_level)


def _jackknifed(statistic, y, score, codes, confidence_level):
    """A statistic with its jackknife interval by clusters."""
    n = codes.max() + 1
    value = statistic(y, score)
    if n < 3:
        return value, np.nan, np.nan
    left_out = np.array([statistic(y[codes != c], score[codes != c]) for c in range(n)])
    return value, *_jackknife_interval(value, left_out, confidence_level)


def _jackknife_interval(value, left_out, confidence_level):
    """A t interval with tails smaller by a fifth, because few clusters contain few errors."""
    n = len(left_out)
    error = np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())
    level = 1 - agreement.WIDER * (1 - confidence_level)
    low, high = means.t_interval(value, error, n - 1, level)
    return float(low), float(high)


def errors(truth, y, votes, verdicts, labels):
    """Errors given the human label: verdicts minus their mean over rows with that label."""
    judged = verdicts if votes[next(iter(votes))] is None else votes
    words = judged is verdicts and isinstance(labels[-1], str)
    if words:  # without an event: correct or not
        judged = {name: np.where(np.isnan(v), np.nan, v == y) for name, v in verdicts.items()}
    frame = pd.DataFrame({name: v.astype(float) for name, v in judged.items()})
    if np.unique(truth).size > MOST_LABELS and not words:
        return np.column_stack([_residual(truth, frame[name].to_numpy()) for name in frame])
    return (frame - frame.groupby(truth).transform("mean")).to_numpy()


def _residual(truth, column):
    known = np.isfinite(column)
    line = np.polyfit(truth[known], column[known], 1)
    return column - np.polyval(line, truth)


def effective(errors, codes, confidence_level):
    """Correlation of errors, effective number of judges, and its interval."""
    correlation = agreement.error_correlation(errors)
    errs = np.isfinite(np.diag(correlation))
    k = int(errs.sum())
    if k < 2:
        known = float(k) if errs.all() else np.nan
        return correlation, known, (known, known)
    value = float(agreement.effective_number(correlation[np.ix_(errs, errs)]))
    # Few labels contain few errors, so the interval adds one unit on which all judges err and, for
    # each judge, one on which only it errs (test_intervals_of_scores_and_of_effective...).
    size = _PSEUDO_ERROR * np.sqrt(np.nanmean(errors[:, errs] ** 2, axis=0))
    more = np.vstack([errors[:, errs], size, np.diag(size)])
    codes = np.r_[codes, codes.max() + 1 + np.arange(k + 1)]
    every, left_out = (agreement.error_correlation(more, c) for c in (None, codes))
    # The effective number is a function of the mean correlation; the interval uses Fisher's z.
    z, others = (
        np.arctanh(np.clip((c.sum(axis=(-2, -1)) - k) / (k * (k - 1)), -0.999, 1 - 1e-12))
        for c in (every, left_out)
    )
    low, high = _jackknife_interval(z, others[np.isfinite(others)], confidence_level)
    ends = [np.clip(k / (1 + (k - 1) * np.tanh(end)), 1, k) for end in (high, low)]
    return correlation, value, (min(value, float(ends[0])), max(value, float(ends[1])))


def vote(truth, votes, codes, confidence_level):
    """Agreement of best judge, majority and weighted vote with human labels, and the weights."""
    if truth is None or len(votes) < 2:
        return None, None
    judged = np.column_stack(list(votes.values())).astype(float)
    full = np.isfinite(judged).all(axis=1)
    judged, truth = judged[full], truth[full]
    codes = np.unique(codes[full], return_inverse=True)[1]
    if min(np.sum(truth == 0), np.sum(truth == 1)) < 2:
        return None, None
    weights, threshold = agreement.linear_vote(judged, truth, codes)
    if not np.isfinite(threshold).all():
        return None, None
    weighted = (judged * weights[codes]).sum(axis=1) > threshold[codes]
    best = list(votes)[int(np.argmax((judged == truth[:, None]).mean(axis=0)))]
    ways = {f"best judge ({best})": votes[best][full], "majority": judged.mean(axis=1) > 0.5,
            "weighted vote": weighted}  # fmt: skip
    found = {way: share(v == truth, codes, confidence_level) for way, v in ways.items()}
    table = pd.DataFrame.from_dict(found, orient="index", columns=["value", "low", "high"])
    weights = agreement.linear_vote(judged, truth)[0]
    return table, pd.Series(weights / np.abs(weights).sum(), index=list(votes))
