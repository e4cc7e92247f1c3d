"""Estimate the mean human label from the labels alone, or with the verdicts of a judge."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

from skbench._types import Bounds
from skbench.containers import ON_AVERAGE, UNLESS_SKEWED
from skbench.ppi._base import (
    PPIEstimator,
    difference_interval,
    difference_result,
    equal_power,
    refuse_dependent_rows,
    score_bounds,
    smoothed_bounds,
    t_interval_of,
)
from skbench.ppi._data import is_binary, row_moments
from skbench.stats import ppi
from skbench.stats.intervals import binomial
from skbench.stats.intervals.moments import divided


class ClassicalMean(PPIEstimator):
    """Mean of the human labels alone, the baseline of the other estimators.

    Parameters
    ----------
    interval : {"auto", "t", "wilson", "clopper-pearson", "jeffreys", "agresti-coull", "wald"}, \
default="auto"
        Type of the interval. "auto" uses Wilson's interval for labels 0 and 1 of independent rows
        that were selected with equal probability, and Student's t otherwise. For other labels
        "wald" is the normal interval.
    bounds : tuple of two floats, default=None
        Range of the labels. None uses (0, 1) if all labels are 0 or 1.

    Attributes
    ----------
    estimate_ : float
        Mean label, weighted if `fit` got weights.
    standard_error_ : float
        Standard error of the mean. For labels 0 and 1 pseudo-labels smooth it as in `PPIMean`,
        unless the interval is "wald".
    lambda_ : float
        Weight of the judge, always 0.
    rectifier_ : float
        The estimate, because no judge contributes to it.
    n_labeled_, n_unlabeled_ : int
        Numbers of rows.
    effective_sample_size_ : float
        Number of labels.

    Raises
    ------
    ValueError
        If no row has a label, a label is outside `bounds`, or an interval for counts is combined
        with labels other than 0 and 1, with clusters or with weights.

    Warns
    -----
    UserWarning
        If there is only one label, or all labels are equal or in one cluster.

    Notes
    -----
    With clusters the variance is CR2 with the degrees of freedom of Bell and McCaffrey. With
    weights the estimate is the Hajek mean ``sum w y / sum w``. `predict` returns the estimate for
    every row.

    When not to use it: if a judge agrees with the labels and has scored many more rows
    (`PPIMean`).

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([1.0] * 7 + [0.0] * 3 + [np.nan] * 90)
    >>> mean = ClassicalMean().fit(np.zeros(100), y)
    >>> print(f"{mean.estimate_:.1f}, from {mean.estimate().low[0]:.3f}")
    0.7, from 0.397
    """

    def __init__(
        self,
        interval: Literal[
            "auto", "t", "wilson", "clopper-pearson", "jeffreys", "agresti-coull", "wald"
        ] = "auto",
        *,
        bounds: Bounds | None = None,
    ) -> None:
        self.interval = interval
        self.bounds = bounds

    _numeric_autorater = False

    @property
    def _guarantee(self):
        if self._result_interval == "t":
            return UNLESS_SKEWED
        return {"wald": "none", "clopper-pearson": "each group"}.get(
            self._result_interval, ON_AVERAGE
        )

    @property
    def _method(self):
        return f"classical ({self._result_interval})"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _autorater(self, table):
        # Only the length and the index of X matter.
        return np.empty((len(table), 0))

    def _fit_groups(self, data):
        bounds = score_bounds(data, self.bounds)
        counts = is_binary(data, bounds)
        kind = self._resolved_interval(counts)
        smoothing = None if kind == "wald" else smoothed_bounds(data, bounds)
        mean, worst_cases = ppi.labeled_mean(*data.human, smoothing), None
        if counts and kind in binomial.INTERVALS:
            interval = partial(_count_interval, kind, mean.value * mean.n_labeled, mean.n_labeled)
        elif kind == "wald":
            df = np.where(np.isnan(mean.df), np.nan, np.inf)
            interval = t_interval_of(mean.value, np.sqrt(mean.variance), df, bounds)
        else:
            interval, worst_cases = difference_interval(data, mean, mean.variance > 0, bounds)
        self._result_interval = kind
        no_autorater = np.zeros((data.n_groups, 1))
        settings = bounds, mean.variance, None, worst_cases
        result = difference_result(data, mean, interval, *settings)
        return result._replace(lambda_=no_autorater)

    def _resolved_interval(self, counts):
        if self.interval == "auto":
            return "wilson" if counts else "t"
        if self.interval in ("t", "wald") or counts:
            return self.interval
        raise ValueError(
            f'interval="{self.interval}" needs independent labels 0 and 1, but there are other '
            'labels, clusters or weights. Use interval="t".'
        )


class PPIMean(PPIEstimator):
    """Estimate the mean human label from a few labels and many judge scores (PPI and PPI++).

    The estimate is the judge's mean score over the unlabeled rows, corrected by the mean
    difference between label and score in the labeled rows. If labeled rows are a random sample,
    the correction removes the judge's bias. With a poor judge, the tuned weight is near 0, and the
    interval is about as wide as that of the labels alone.

    Parameters
    ----------
    power_tuning : bool or "pooled", default=True
        True tunes the judge's weight to its agreement with the labels (PPI++). False gives the
        judge, or the mean of several judges, weight 1 (PPI). "pooled" estimates one common
        regression slope for all groups that are fitted at once (`GroupedPPI`).
    interval : {"auto", "t", "z"}, default="auto"
        Type of the interval. "t" uses Student's t with a conservative variance. For binary labels,
        the variance is computed after adding two labels of 0 and two of 1. If labels have known
        bounds and are not binary, the interval is widened to allow for rare labels that the sample
        missed (see `skbench.stats.worst_case`). "auto" uses Wilson's interval around the estimate
        if labels are binary, rows are independent and have no `sample_weight`, and the judge's
        weight is tuned. In all other cases, or if the t interval is expected to be narrower, it
        uses "t". "z" is the normal interval of the papers. With few labels, "z" is much too narrow.
    bounds : tuple of two floats, default=None
        Range of the labels by definition. By default, 0 and 1 if all labels are from 0 to 1.
        If all labels are whole numbers up to 10, they are assumed to be ratings, and the bounds are
        the ends of the rating scale, such as 1 and 5 (see `summarize_items`). Other labels have no
        bounds.
    population : "rows" or None, default=None
        "rows" estimates the mean label of exactly these rows, labeled and unlabeled. None
        estimates the mean of the population that the rows were sampled from. The choice changes
        the standard error.

    Attributes
    ----------
    estimate_ : float
        Estimate, ``lambda_ * mean score of unlabeled rows + rectifier_``, clipped to the range of
        the labels if that is known.
    standard_error_ : float
        Standard error of the estimate; nan with fewer than two labels.
    lambda_ : float or ndarray of shape (n_autoraters,)
        Weight of each judge (lambda in the papers).
    rectifier_ : float
        Mean of ``y - lambda_ * f`` over the labeled rows, with `f` the judge's score.
    n_labeled_, n_unlabeled_ : int
        Numbers of rows.
    bounds_ : tuple of two floats or None
        Range of the labels in use.
    effective_sample_size_ : float
        Number of labels whose mean would have the same standard error. With few binary labels, it
        shows only roughly how much the interval narrows compared with the labels alone.

    Raises
    ------
    ValueError
        If no row has a label, a label is outside `bounds`, or a score is missing or infinite.

    Warns
    -----
    UserWarning
        If there is only one label, or all labels are equal or in one cluster. If there are no
        unlabeled rows, or all are in one cluster. If a judge gives all rows the same score.

    Notes
    -----
    The estimate is that of PPI [1]_ and the tuning that of PPI++ [2]_. Residual variances have
    the divisor ``n - 1``; the authors' software uses n. The weights of several judges are estimated
    by unconstrained least squares, which costs one degree of freedom per judge. The weight of a
    single judge is clipped to [0, 1], so its scores must be in the units of the labels.

    *Simulated coverage* of 95% intervals with binary labels, 300 unlabeled rows and a true mean of
    0.95. The judge is correct for 95% of the positive and 90% of the negative rows.

    - "z" had coverage 0.23, 0.58, 0.75, 0.89 and 0.90 with 10, 20, 30, 50 and 100 labels. With 10
      labels, 60% of the intervals had width 0.
    - "t" is conservative: its coverage was 1.00 with up to 50 labels and 0.96 with 100. In other
      simulations, some with only 4 unlabeled rows, it was at least 0.93.
    - "auto" had a coverage at most 0.015 below that of Wilson's interval of the labels alone. The
      choice between the two intervals depends only on the sample sizes and the explained variance
      (`skbench.stats.ppi.t_interval_is_narrower`). Choosing the interval that turns out narrower
      would reduce coverage to 0.92.

    For clustered rows, the variance is cluster-robust (CR2). The judge's weight is smaller if there
    are few unlabeled clusters (`skbench.stats.ppi.clustered_share`). If all unlabeled rows are in
    one cluster, the estimate is the mean of the labels. With `sample_weight`, the rectifier is a
    Hajek mean, and the judge's mean is over all rows.

    `predict` returns ``lambda_ f + c``. The constant makes the mean over the fitted rows equal to
    the estimate. Predictions may leave the range of the labels.

    When not to use it:

    - with fewer than 10 labels;
    - if the judge's agreement with humans differs between labeled and unlabeled rows;
    - if labels and judge scores are binary, and each score value (0 and 1) occurs in about 10 to
      50 labeled rows. The interval of `ChainRulePPI` is then slightly narrower.

    References
    ----------
    .. [1] Angelopoulos, Bates, Fannjiang, Jordan and Zrnic (2023).
       Prediction-powered inference. Science 382, 669-674.
    .. [2] Angelopoulos, Duchi and Zrnic (2023). PPI++: Efficient
       Prediction-Powered Inference.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.binomial(1, 0.7, 1000).astype(float)
    >>> autorater = np.where(rng.random(1000) < 0.9, truth, 1 - truth)
    >>> y = np.where(np.arange(1000) < 100, truth, np.nan)
    >>> ppi = PPIMean().fit(autorater, y)
    >>> print(f"{ppi.estimate_:.2f} +- {ppi.standard_error_:.3f}, lambda {ppi.lambda_:.2f}")
    0.66 +- 0.029, lambda 0.80
    >>> print(f"as precise as {ppi.effective_sample_size_:.0f} labels, with 100")
    as precise as 291 labels, with 100
    """

    def __init__(
        self,
        power_tuning: bool | Literal["pooled"] = True,
        interval: Literal["auto", "t", "z"] = "auto",
        *,
        bounds: Bounds | None = None,
        population: Literal["rows"] | None = None,
    ) -> None:
        self.power_tuning = power_tuning
        self.interval = interval
        self.bounds = bounds
        self.population = population

    @property
    def _guarantee(self):
        if self.interval == "z":
            return "none"
        return ON_AVERAGE if self._labels_are_binary else UNLESS_SKEWED

    @property
    def _method(self):
        return f"{'PPI++' if self.power_tuning else 'PPI'} ({self._kind})"

    def _fit_groups(self, data):
        bounds = score_bounds(data, self.bounds)
        smoothing = None if self.interval == "z" else smoothed_bounds(data, bounds)
        if self.population == "rows":
            refuse_dependent_rows(data, 'PPIMean(population="rows")')
            found, classical = _of_these_rows(data, self.power_tuning, smoothing)
        elif data.cluster is None and data.weights is None:
            found, classical = _independent(data, self.power_tuning, smoothing)
        else:
            found, classical = _dependent(data, self.power_tuning, smoothing)
        if self.interval == "z":
            found = found._replace(df=np.where(np.isnan(found.df), np.nan, np.inf))
        exact = (self.population == "rows") & (found.n_unlabeled == 0)
        known = (found.variance > 0) | exact | (self.interval == "z")
        # The papers' normal interval has no worst case, nor has an interval of width 0.
        worst = self.interval != "z" and not exact.any()
        left = 1.0
        if self.population == "rows":
            left = found.n_unlabeled / np.maximum(found.n_labeled + found.n_unlabeled, 1)
        interval, worst_cases = difference_interval(data, found, known, bounds, worst, left)
        self._kind = "t" if self.interval == "auto" else self.interval
        self._labels_are_binary = is_binary(data, bounds)
        if self.interval == "auto" and self.power_tuning and self._labels_are_binary:
            interval, self._kind = self._automatic(data, found, interval)
        settings = bounds, classical.variance, None, worst_cases
        return difference_result(data, found, interval, *settings)

    def _automatic(self, data, found, t_of):
        """Choose Student's t or Wilson's interval for each group; also return their names."""
        n, N = found.n_labeled, found.n_unlabeled
        share = ppi.explained_share(row_moments(data)[0], self.power_tuning == "pooled")
        by_t = ppi.t_interval_is_narrower(share, n, N, found.df) | np.isnan(found.variance)
        # In a finite population the labels of the labeled rows are known.
        size = divided(n * (n + N), N) if self.population == "rows" else n
        by_t |= np.isnan(size)
        wilson = partial(_wilson_of_mean, np.clip(found.value, 0, 1), np.where(by_t, 1, size))
        names = [name for name, used in (("t", by_t.any()), ("wilson", ~by_t.all())) if used]
        return partial(_chosen, by_t, t_of, wilson), " and ".join(names)


def _wilson_of_mean(value, size, confidence_level):
    known = np.nan_to_num(value)
    return binomial.wilson_interval(known * size, size, confidence_level)


def _chosen(first, one, other, confidence_level):
    pairs = zip(one(confidence_level), other(confidence_level), strict=True)
    return tuple(np.where(first, a, b) for a, b in pairs)


def _independent(data, power_tuning, bounds):
    labeled, unlabeled = row_moments(data)
    power = _power(data, power_tuning)
    found = ppi.difference_estimate(labeled, unlabeled, power, bounds, _ddof(power, power_tuning))
    return found, ppi.difference_estimate(labeled, unlabeled, 0 * power, bounds)


def _of_these_rows(data, power_tuning, bounds):
    labeled, unlabeled = row_moments(data)
    power = _power(data, power_tuning)
    ddof = _ddof(power, power_tuning)
    found = ppi.finite_difference_estimate(labeled, unlabeled, power, bounds, ddof)
    alone = ppi.difference_estimate(labeled, unlabeled, 0 * power, bounds)
    # Chosen so that n classical / variance is the m with s^2 (1 / m - 1 / all) = variance.
    share = alone.n_labeled / (alone.n_labeled + alone.n_unlabeled)
    per_label = divided(found.variance, found.variance + share * alone.variance)
    return found, alone._replace(variance=alone.variance * per_label)


def _dependent(data, power_tuning, bounds):
    rows = (data.autorater, data.y, data.labeled, data.codes, data.n_groups)
    if power_tuning and data.weights is not None:
        power = ppi.weighted_power(*rows, data.weights, pooled=power_tuning == "pooled")
    else:
        share = None
        if data.cluster is not None:
            share = ppi.clustered_share(data.labeled, data.codes, data.n_groups, data.cluster)
        power = _power(data, power_tuning, share)
    dependence = (data.cluster, data.weights, bounds)
    ddof = _ddof(power, power_tuning)
    found = ppi.clustered_difference_estimate(*rows, power, *dependence, ddof)
    return found, ppi.clustered_difference_estimate(*rows, 0 * power, *dependence)


def _power(data, power_tuning, share=None):
    if power_tuning:
        return ppi.tuned_power(*row_moments(data), power_tuning == "pooled", share)
    return equal_power(data, data.n_groups)


def _ddof(power, power_tuning):
    """Degrees of freedom that the labels lose: one per judge if each group has a regression."""
    return power.shape[1] if power_tuning is True else 1


def _count_interval(kind, k, n, confidence_level):
    known = np.maximum(n, 1)
    low, high = binomial.INTERVALS[kind](np.where(n > 0, k, 0.0), known, confidence_level)
    return np.where(n > 0, low, np.nan), np.where(n > 0, high, np.nan)
