"""Confusion matrices: posterior draws of their proportions, and metrics of these."""

import numpy as np

from skbench.stats.dirichlet_multinomial import log_dirichlet


def confusion_draws(counts, n_draws, rng, prior=0.5):
    """Posterior draws of the proportions of a confusion matrix.

    Parameters
    ----------
    counts : array-like of shape (..., 4)
        True positives, false positives, false negatives and true negatives.
    n_draws : int
        Number of draws.
    rng : numpy.random.Generator
        Source of randomness.
    prior : float or array-like of shape (4,), default=0.5
        Concentrations of the Dirichlet prior; 0.5 is that of Jeffreys.

    Returns
    -------
    ndarray of shape (n_draws, ..., 4)
        Proportions that sum to 1.

    Notes
    -----
    ``Dirichlet(prior + counts)``, the multinomial-Dirichlet model of [1]_; matrices
    share nothing.

    References
    ----------
    .. [1] Totsch and Hoffmann (2021). Classifier uncertainty: evidence, potential
       impact, and probabilistic treatment. PeerJ Computer Science 7, e398.

    Examples
    --------
    >>> draws = confusion_draws([40, 10, 5, 45], 10_000, np.random.default_rng(0))
    >>> draws.mean(axis=0).round(2)
    array([0.4 , 0.1 , 0.05, 0.45])
    """
    alpha = np.asarray(counts, dtype=float) + np.asarray(prior, dtype=float)
    return np.exp(log_dirichlet(np.broadcast_to(alpha, (n_draws,) + alpha.shape), rng))


def confusion_metric(proportions, metric):
    """A metric of confusion matrices.

    Parameters
    ----------
    proportions : array-like of shape (..., 4)
        True positives, false positives, false negatives and true negatives, as
        proportions or counts.
    metric : str
        One of "accuracy", "precision", "recall", "specificity", "f1",
        "balanced accuracy" and "matthews".

    Returns
    -------
    ndarray of shape (...)
        nan where the metric is 0 / 0, as precision is without a positive prediction.

    Raises
    ------
    ValueError
        If `metric` is unknown.

    Examples
    --------
    >>> float(confusion_metric([40, 10, 5, 45], "f1").round(3))
    0.842
    """
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {sorted(METRICS)}, got {metric!r}.")
    tp, fp, fn, tn = np.moveaxis(np.asarray(proportions, dtype=float), -1, 0)
    with np.errstate(invalid="ignore"):
        return METRICS[metric](tp, fp, fn, tn)


def _matthews(tp, fp, fn, tn):
    margins = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / np.sqrt(margins)


METRICS = {
    "accuracy": lambda tp, fp, fn, tn: (tp + tn) / (tp + fp + fn + tn),
    "precision": lambda tp, fp, fn, tn: tp / (tp + fp),
    "recall": lambda tp, fp, fn, tn: tp / (tp + fn),
    "specificity": lambda tp, fp, fn, tn: tn / (tn + fp),
    "f1": lambda tp, fp, fn, tn: 2 * tp / (2 * tp + fp + fn),
    "balanced accuracy": lambda tp, fp, fn, tn: (tp / (tp + fn) + tn / (tn + fp)) / 2,
    "matthews": _matthews,
}
