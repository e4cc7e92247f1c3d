"""What few labels cannot tell, and how many would."""

from bisect import bisect_left

import numpy as np
from scipy.stats import t as student_t

from skbench._warnings import warn
from skbench.stats.intervals.worst_case import end_variances

_LEAST_EFFECTIVE = 0.25  # of the labels: chance takes less
_LABELS = range(2, 10**12)  # a target out of reach of the most is out of reach


def warn_of_few_labels(data, n_unlabeled, without_unlabeled):
    """Warn of a standard error, a class or a correction that the rows of one group do not give."""
    labels = data.y[data.labeled]
    if labels.size < 2:
        _warn(
            "Only 1 row has a human label, so the standard error is nan: one observation has no "
            "spread. Label at least 2 rows, better 20."
        )
    elif np.all(labels == labels[0]):
        _warn(
            f"All {labels.size} human labels are {labels[0]:g}: the labels show no spread, and the "
            "interval may be too short. Label more rows."
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
            f"All {labels.size} rows have a human label, so the autorater adds nothing. "
            f"{without_unlabeled}"
        )
    elif data.weights is None and _in_one_cluster(data, ~data.labeled):
        _warn(
            f"All {n_unlabeled} unlabeled rows are in one cluster, so the estimate is that of the "
            "labels alone. Have rows of more clusters judged."
        )
    constant = (data.autorater == data.autorater[0]).all(axis=0)
    if constant.any():
        _warn(
            f"The autorater in column {int(np.argmax(constant))} gives every row the score "
            f"{data.autorater[0, constant][0]}: it adds nothing to the labels."
        )


def warn_of_noise(effective, n_labeled):
    """Warn of a correction that is much worse than none, as where scores have another scale."""
    if effective < _LEAST_EFFECTIVE * n_labeled:
        _warn(
            f"With the autorater the estimate is as noisy as that of {effective:.2g} labels alone, "
            f"and there are {n_labeled}. Bring its scores to the scale of the labels, or tune the "
            "power: power_tuning=True."
        )


def _in_one_cluster(data, rows):
    return data.cluster is not None and np.ptp(data.cluster[rows]) == 0


def _warn(message):
    warn(message)


def reach_of(value, variance, fixed, df, n_labeled, bounds, confidence_level, left=1.0):
    """How far an interval reaches to either side, one worst case more counted in the labels' part.

    `fixed` is the part of the variance that is not the labels', `left` the share of theirs that is
    left where the rows are all there are.
    """
    own = np.maximum(variance - fixed, 0) / left
    ends = end_variances(value, own, n_labeled, *bounds)
    quantile = student_t.ppf((1 + confidence_level) / 2, np.where(df > 0, df, np.nan))
    return tuple(quantile * np.sqrt(left * end + fixed) for end in ends)


def labels_needed(result, width, confidence_level):
    """Labels for an interval of a given width; see `PPIEstimator.labels_needed`."""
    n, df = float(result.n_labeled[0]), result.df[0]
    fixed = result.unlabeled_variance[0]
    removable = result.standard_error[0] ** 2 - fixed
    n_unlabeled = result.n_unlabeled[0]
    falls = result.labels_depend_on_verdicts is not None and result.labels_depend_on_verdicts[0]
    if not np.isfinite(removable):
        return np.nan

    def is_enough(labels):
        # Below one degree of freedom there is no interval at all.
        freedom = df * labels / n
        if freedom < 1:
            return False
        stays = fixed * (n + n_unlabeled) / (labels + n_unlabeled) if falls else fixed
        # Below 0 where the population is finite and labels are more than its rows.
        variance = max(removable * n / labels + stays, 0.0)
        bounds = result.worst_cases or (-np.inf, np.inf)
        parts = np.array([variance]), stays, freedom, labels
        return bool(np.sum(reach_of(result.value[:1], *parts, bounds, confidence_level)) <= width)

    found = bisect_left(_LABELS, True, key=is_enough)
    return float(_LABELS[found]) if found < len(_LABELS) else np.inf
