"""Warnings about few labels, and the number of labels that an interval needs."""

from bisect import bisect_left

import numpy as np
from scipy.stats import t as student_t

from skbench._warnings import warn
from skbench.stats.intervals.worst_case import end_variances

_LEAST_EFFECTIVE = 0.25  # share of the labels; chance alone loses less
_LABELS = range(2, 10**12)


def warn_of_few_labels(data, n_unlabeled, without_unlabeled):
    """Warn if labels or unlabeled rows are too few for a standard error or a correction."""
    labels = data.y[data.labeled]
    if labels.size < 2:
        _warn(
            "Only 1 row has a human label, so the standard error is nan. Label at least 2 rows, "
            "preferably 20."
        )
    elif np.all(labels == labels[0]):
        _warn(
            f"All {labels.size} human labels are {labels[0]:g}, so the interval may be too short. "
            "Label more rows."
        )
    if labels.size > 1 and _in_one_cluster(data, data.labeled):
        _warn(
            f"All {labels.size} labeled rows are in one cluster, so the standard error is nan. "
            "Label rows of more clusters."
        )
    if not data.autorater.shape[1]:
        return
    if n_unlabeled == 0:
        _warn(
            f"All {labels.size} rows have a human label, so the judge adds nothing. "
            f"{without_unlabeled}"
        )
    elif data.weights is None and _in_one_cluster(data, ~data.labeled):
        _warn(
            f"All {n_unlabeled} unlabeled rows are in one cluster, so the estimate is the mean of "
            "the labels. Add judged rows of more clusters."
        )
    constant = (data.autorater == data.autorater[0]).all(axis=0)
    if constant.any():
        _warn(
            f"The judge in column {int(np.argmax(constant))} gives every row the score "
            f"{data.autorater[0, constant][0]}, so it adds nothing to the labels."
        )


def warn_of_noise(effective, n_labeled):
    """Warn if the judge makes the estimate much worse, for example by scores on another scale."""
    if effective < _LEAST_EFFECTIVE * n_labeled:
        _warn(
            f"With the judge the estimate is only as precise as the mean of {effective:.2g} "
            f"labels, but there are {n_labeled} labels. Convert its scores to the scale of the "
            "labels, or set power_tuning=True."
        )


def _in_one_cluster(data, rows):
    return data.cluster is not None and np.ptp(data.cluster[rows]) == 0


def _warn(message):
    warn(message)


def half_widths(value, variance, fixed, df, n_labeled, bounds, confidence_level, left=1.0):
    """Lower and upper half-width of an interval whose ends each add one label at its bound.

    `fixed` is the part of the variance that more labels do not reduce. `left` is the finite
    population correction of the other part.
    """
    own = np.maximum(variance - fixed, 0) / left
    ends = end_variances(value, own, n_labeled, *bounds)
    quantile = student_t.ppf((1 + confidence_level) / 2, np.where(df > 0, df, np.nan))
    return tuple(quantile * np.sqrt(left * end + fixed) for end in ends)


def labels_needed(result, width, confidence_level):
    """Number of labels for an interval of a given width; see `PPIEstimator.labels_needed`."""
    n, df = float(result.n_labeled[0]), result.df[0]
    fixed = result.unlabeled_variance[0]
    removable = result.standard_error[0] ** 2 - fixed
    n_unlabeled = result.n_unlabeled[0]
    falls = result.labels_depend_on_verdicts is not None and result.labels_depend_on_verdicts[0]
    if not np.isfinite(removable):
        return np.nan

    def is_enough(labels):
        # There is no interval with less than one degree of freedom.
        freedom = df * labels / n
        if freedom < 1:
            return False
        stays = fixed * (n + n_unlabeled) / (labels + n_unlabeled) if falls else fixed
        # It is negative if the labels outnumber the rows of a finite population.
        variance = max(removable * n / labels + stays, 0.0)
        bounds = result.worst_cases or (-np.inf, np.inf)
        parts = np.array([variance]), stays, freedom, labels
        return bool(
            np.sum(half_widths(result.value[:1], *parts, bounds, confidence_level)) <= width
        )

    found = bisect_left(_LABELS, True, key=is_enough)
    return float(_LABELS[found]) if found < len(_LABELS) else np.inf
