"""Confidence levels and p-values adjusted for several comparisons."""

import numpy as np
from scipy.stats import false_discovery_control
from scipy.stats import t as student_t

_DRAWS = 20_000  # gives the level to within 0.002
_FEWEST_DF = 19  # with fewer, errors of the standard errors matter, so use Bonferroni


def bonferroni_level(confidence_level, n_comparisons):
    """Confidence level of each interval if all intervals are to hold simultaneously.

    Parameters
    ----------
    confidence_level : float
        Probability that all intervals cover.
    n_comparisons : int
        Number of intervals, fixed before looking at results.

    Returns
    -------
    float
        ``1 - (1 - confidence_level) / n_comparisons``.

    Notes
    -----
    The level is valid under any dependence between the intervals. Count all comparisons that might
    have been reported.

    Examples
    --------
    >>> print(round(bonferroni_level(0.95, 3), 4))
    0.9833
    """
    return 1 - (1 - confidence_level) / n_comparisons


def holm(p_values):
    """Adjust p-values by Holm's method.

    Parameters
    ----------
    p_values : array-like of shape (..., n_comparisons)
        p-values of one family on the last axis.

    Returns
    -------
    ndarray of shape (..., n_comparisons)
        Adjusted p-values. Rejecting those at most alpha keeps the probability of any false
        rejection in the family at most alpha.

    Notes
    -----
    With the p-values of a family sorted, ``p_(1) <= ... <= p_(m)``, the i-th becomes
    ``min(1, max over k <= i of (m - k + 1) p_(k))`` (Holm 1979, Scandinavian Journal of Statistics
    6, 65-70). The method is valid under any dependence, and never less powerful than Bonferroni,
    ``min(1, m p)``. For intervals, use `bonferroni_level`.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p_values = np.asarray(p_values, dtype=float)
    order = np.argsort(p_values, axis=-1)
    multiplier = np.arange(p_values.shape[-1], 0, -1)
    ascending = multiplier * np.take_along_axis(p_values, order, axis=-1)
    adjusted = np.minimum(np.maximum.accumulate(ascending, axis=-1), 1)
    result = np.empty_like(adjusted)
    np.put_along_axis(result, order, adjusted, axis=-1)
    return result


def false_coverage_level(p_values, confidence_level):
    """Confidence level of intervals that agree with false discovery rate control.

    Parameters
    ----------
    p_values : array-like of shape (n,)
        p-values that agree with the intervals; nan if unknown.
    confidence_level : float
        1 minus the false discovery rate.

    Returns
    -------
    float
        ``1 - q max(R, 1) / m`` if the Benjamini-Hochberg procedure rejects R of m hypotheses. If
        it rejects none, this is the Bonferroni level.

    Notes
    -----
    On average, at most a share `q` of the intervals of rejected hypotheses does not cover
    (Benjamini and Yekutieli 2005, Journal of the American Statistical Association 100, 71-81).

    Examples
    --------
    >>> print(round(false_coverage_level([0.001, 0.02, 0.5, 0.8], 0.95), 4))
    0.975
    """
    p_values = np.asarray(p_values, dtype=float)
    known = p_values[np.isfinite(p_values)]
    rejected = np.count_nonzero(false_discovery_control(known) <= 1 - confidence_level)
    return 1 - (1 - confidence_level) * max(rejected, 1) / max(known.size, 1)


def simultaneous_level(correlation, df, confidence_level):
    """Confidence level of each interval if those of correlated means are to be simultaneous.

    Parameters
    ----------
    correlation : ndarray of shape (n, n)
        Correlation of the means.
    df : float
        Smallest degrees of freedom of their variances.
    confidence_level : float
        Probability that all intervals cover.

    Returns
    -------
    float
        Level of a t interval with the critical value of the largest of n correlated t statistics
        (max-t), by Monte Carlo. Below 19 degrees of freedom, the Bonferroni level.

    Examples
    --------
    >>> print(round(simultaneous_level(np.full((5, 5), 0.8) + 0.2 * np.eye(5), 200, 0.95), 2))
    0.98
    """
    n = len(correlation)
    bonferroni = bonferroni_level(confidence_level, n)
    if n == 1 or not df >= _FEWEST_DF:
        return bonferroni
    rng = np.random.default_rng(0)
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T
    draws = np.abs(rng.standard_normal((_DRAWS, n)) @ root).max(axis=1)
    if np.isfinite(df):
        draws /= np.sqrt(rng.chisquare(df, _DRAWS) / df)
    critical = np.quantile(draws, confidence_level)
    return float(min(1 - 2 * student_t.sf(critical, df), bonferroni))
