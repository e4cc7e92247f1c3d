"""Posterior draws of the proportions of confusion matrices, and their metrics."""

import numpy as np
from scipy.special import expit

from skbench.stats.resampling.dirichlet_multinomial import _log_dirichlet


def confusion_log_draws(counts, n_draws, rng, prior=0.5):
    """Posterior draws of the log proportions of a confusion matrix.

    Parameters
    ----------
    counts : array-like of shape (..., 4)
        Numbers of true positives, false positives, false negatives and true negatives.
    n_draws : int
        Number of draws.
    rng : numpy.random.Generator
        Source of randomness.
    prior : float or array-like of shape (4,), default=0.5
        Concentrations of the Dirichlet prior. 0.5 is Jeffreys' prior.

    Returns
    -------
    ndarray of shape (n_draws, ..., 4)
        Logs of proportions that sum to 1. Logs avoid underflow with small concentrations.

    Notes
    -----
    The posterior is ``Dirichlet(prior + counts)``, as in the multinomial-Dirichlet model of Totsch
    and Hoffmann (2021, PeerJ Computer Science 7, e398). Matrices are independent.

    Examples
    --------
    >>> draws = confusion_log_draws([40, 10, 5, 45], 10_000, np.random.default_rng(0))
    >>> np.exp(draws).mean(axis=0).round(2)
    array([0.4 , 0.1 , 0.05, 0.45])
    """
    alpha = np.asarray(counts, dtype=float) + np.asarray(prior, dtype=float)
    return _log_dirichlet(np.broadcast_to(alpha, (n_draws,) + alpha.shape), rng)


def confusion_metric(proportions, metric):
    """Metric of confusion matrices.

    Parameters
    ----------
    proportions : array-like of shape (..., 4)
        Proportions or counts of true positives, false positives, false negatives and true
        negatives.
    metric : str
        One of "accuracy", "precision", "recall", "specificity", "f1", "balanced accuracy" and
        "matthews".

    Returns
    -------
    ndarray of shape (...)
        Values of the metric; nan if it is 0 / 0, such as precision without positive predictions.

    Raises
    ------
    ValueError
        If the metric is unknown.

    Examples
    --------
    >>> float(confusion_metric([40, 10, 5, 45], "f1").round(3))
    0.842
    """
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {sorted(METRICS)}, got {metric!r}.")
    with np.errstate(divide="ignore"):
        return confusion_metric_of_logs(np.log(np.asarray(proportions, dtype=float)), metric)


def confusion_metric_of_logs(log_proportions, metric):
    """Metric of confusion matrices from log proportions, which may be too small for a float.

    Parameters
    ----------
    log_proportions : ndarray of shape (..., 4)
        Log proportions of true positives, false positives, false negatives and true negatives.
    metric : str
        As in `confusion_metric`.

    Returns
    -------
    ndarray of shape (...)
        Values of the metric.

    Notes
    -----
    All metrics are functions of ratios, so a common scale cancels.

    Examples
    --------
    >>> tiny = np.log([0.4, 0.1, 0.05, 0.45]) - 2000
    >>> float(confusion_metric_of_logs(tiny, "f1").round(3))
    0.842
    """
    # inf - inf is the unknown ratio 0 / 0.
    with np.errstate(invalid="ignore"):
        return METRICS[metric](*np.moveaxis(log_proportions, -1, 0))


def _ratio(part, rest):
    """``part / (part + rest)`` of two numbers from their logs."""
    return expit(part - rest)


def _matthews(tp, fp, fn, tn):
    right = _ratio(tp, fp) * _ratio(tp, fn) * _ratio(tn, fp) * _ratio(tn, fn)
    wrong = _ratio(fp, tp) * _ratio(fn, tp) * _ratio(fp, tn) * _ratio(fn, tn)
    return np.sqrt(right) - np.sqrt(wrong)


METRICS = {
    "accuracy": lambda tp, fp, fn, tn: _ratio(np.logaddexp(tp, tn), np.logaddexp(fp, fn)),
    "precision": lambda tp, fp, fn, tn: _ratio(tp, fp),
    "recall": lambda tp, fp, fn, tn: _ratio(tp, fn),
    "specificity": lambda tp, fp, fn, tn: _ratio(tn, fp),
    "f1": lambda tp, fp, fn, tn: _ratio(tp + np.log(2), np.logaddexp(fp, fn)),
    "balanced accuracy": lambda tp, fp, fn, tn: (_ratio(tp, fn) + _ratio(tn, fp)) / 2,
    "matthews": _matthews,
}
