"""The mean of human labels, alone or with the help of an autorater's mean."""

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
    """Mean of the human labels alone: what every other estimator is compared with.

    Parameters
    ----------
    interval : {"auto", "t", "wilson", "clopper-pearson", "jeffreys", "agresti-coull", "wald"}, \
default="auto"
        "auto" takes Wilson for labels 0 and 1 of independent rows chosen with equal
        probability, t otherwise. "wald" with labels that are not 0 and 1 is the
        normal interval.
    bounds : tuple of two floats, default=None
        Range of the labels; None takes (0, 1) where all labels are 0 or 1.

    Attributes
    ----------
    estimate_ : float
        Mean label; weighted where there are weights.
    standard_error_ : float
        Its standard error; for bounded labels smoothed as in `PPIMean`, unless
        the interval is "wald".
    lambda_, rectifier_ : float
        0, and the estimate: no autorater is used.
    n_labeled_, n_unlabeled_, effective_sample_size_
        Numbers of rows, and of labels.

    Raises
    ------
    ValueError
        If no row has a label, a label is outside `bounds`, or an interval for
        counts meets labels other than 0 and 1, clusters or weights.

    Warns
    -----
    UserWarning
        If there is one label, or all labels are equal or in one cluster.

    Notes
    -----
    The variance of clusters is CR2 with Bell and McCaffrey's degrees of freedom; with weights the
    estimate is the Hajek mean ``sum w y / sum w``. `predict` gives every row the estimate.

    When not to use it: where an autorater agrees with the labels and has scored many more rows.

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
        # Whatever X says of the rows, only its length and its index matter.
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
            f'interval="{self.interval}" counts independent labels 0 and 1, but there are other '
            'labels, clusters or weights. Use interval="t".'
        )


class PPIMean(PPIEstimator):
    """Mean human label from few labels and many autorater scores: PPI and PPI++.

    The autorater's mean over the unlabeled rows, corrected by how far the labels
    are from it where there are labels. Unbiased whatever the autorater is worth.

    Parameters
    ----------
    power_tuning : bool or "pooled", default=True
        Whether the autorater's weight is tuned to its agreement with the labels
        (PPI++). False gives weight 1 to it, or to the mean of several (PPI). "pooled" differs
        where many groups are fitted at once: they then share one regression.
    interval : {"auto", "t", "z"}, default="auto"
        "t" takes t quantiles and, for labels 0 and 1, a variance smoothed by pseudo-labels; for
        other bounded labels each end counts one label more at its bound
        (`skbench.stats.worst_case`). "auto" takes Wilson's interval around the estimate for
        labels 0 and 1 of independent rows and a tuned weight, unless "t" is expected to be
        narrower. "z" is the normal interval of the papers, far too short with few labels.
    bounds : tuple of two floats, default=None
        Range of the labels by their definition. None takes 0 to 1 if all labels lie there,
        the scale that whole numbers show (labels from 1 to 5), and no bounds otherwise.
    population : "rows" or None, default=None
        "rows" estimates the mean label of these very rows, labeled and unlabeled; None
        that of what they are a sample of. It changes the standard error.

    Attributes
    ----------
    estimate_ : float
        Estimate, ``lambda_ * mean autorater score of unlabeled rows + rectifier_``,
        cut to the range of the labels where that is known.
    standard_error_ : float
        Its standard error; nan for fewer than two labels.
    lambda_ : float or ndarray of shape (n_autoraters,)
        Weight of the autorater, the papers' lambda.
    rectifier_ : float
        Mean of ``y - lambda_ * f`` over the labeled rows.
    n_labeled_, n_unlabeled_ : int
        Numbers of rows.
    bounds_ : tuple of two floats or None
        Range of the labels that was taken.
    effective_sample_size_ : float
        Number of labels from which the classical mean has this standard error. With few
        labels 0 and 1 the ratio of interval widths differs.

    Raises
    ------
    ValueError
        If no row has a label, a label is outside `bounds`, or an autorater score is
        missing or infinite.

    Warns
    -----
    UserWarning
        If there is one label, labels are all equal or in one cluster, no unlabeled row or only
        one cluster of them helps, or an autorater is constant.

    Notes
    -----
    The estimate is that of [1]_, the tuning that of [2]_, with residual variances of divisor
    ``n - 1`` (the authors' software has n). Several autoraters are weighed by least squares
    without bounds, and cost a degree of freedom each. The weight of one is cut to [0, 1], so the
    units of its score matter.

    Coverage of 95% intervals by simulation with binary labels, 300 unlabeled
    rows, truth .95 and an autorater right on 95% (90%) of the good (bad) rows, at
    10, 20, 30, 50 and 100 labels: "z" .23, .58, .75, .89 and .90, of width 0 in 60%
    of the draws with 10; "t" 1, 1, 1, 1 and .96 (test_z_interval_fails_with_few_labels).
    "t" never fell below .93 (test_default_interval_covers), with 4 unlabeled rows too. The choice
    of "auto" depends on numbers of rows and the explained variance
    (`skbench.stats.ppi.t_interval_is_narrower`); the narrower of both would cover .92. "auto" never
    covered less than Wilson's interval of the labels by more than .015 (test_automatic_interval).

    Clusters get a CR2 variance and a power that counts clusters
    (`skbench.stats.ppi.clustered_share`). Where all unlabeled rows are in one cluster
    the estimate is that of the labels alone. With weights the rectifier is a Hajek
    mean, and the autorater is averaged over all rows.

    `predict` gives a row ``lambda_ f + c`` with the constant that makes the mean over the fitted
    rows the estimate. It may leave the range of the labels.

    When not to use it: for binary labels and an autorater with two values and some 10 to 50 labels
    for each (`ChainRulePPI` is a little shorter); with fewer than 10 labels; with an autorater
    whose agreement with humans differs between labeled and unlabeled rows.

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
    >>> print(f"worth {ppi.effective_sample_size_:.0f} labels instead of 100")
    worth 291 labels instead of 100
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
        # In the papers' normal interval, and where nothing is left, there is no worst case.
        worst = self.interval != "z" and not exact.any()
        left = 1.0
        if self.population == "rows":
            left = found.n_unlabeled / np.maximum(found.n_labeled + found.n_unlabeled, 1)
        interval, worst_cases = difference_interval(data, found, known, bounds, worst, left)
        self._kind = "t" if self.interval == "auto" else self.interval
        self._labels_are_binary = is_binary(data, bounds)
        if self.interval == "auto" and self.power_tuning and self._labels_are_binary:
            interval, self._kind = self._narrower(data, found, interval)
        settings = bounds, classical.variance, None, worst_cases
        return difference_result(data, found, interval, *settings)

    def _narrower(self, data, found, t_of):
        """Interval by t or Wilson's, as decided for each group, and what it is called."""
        n, N = found.n_labeled, found.n_unlabeled
        share = ppi.explained_share(row_moments(data)[0], self.power_tuning == "pooled")
        by_t = ppi.t_interval_is_narrower(share, n, N, found.df) | np.isnan(found.variance)
        # Of a finite population the labeled part is certain.
        size = divided(n * (n + N), N) if self.population == "rows" else n
        by_t |= np.isnan(size)
        wilson = partial(_wilson_of_mean, np.clip(found.value, 0, 1), np.where(by_t, 1, size))
        names = [name for name, used in (("t", by_t.any()), ("wilson", ~by_t.all())) if used]
        return partial(_either, by_t, t_of, wilson), " and ".join(names)


def _wilson_of_mean(value, size, confidence_level):
    known = np.nan_to_num(value)
    return binomial.wilson_interval(known * size, size, confidence_level)


def _either(first, one, other, confidence_level):
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
    # So that the labels with s^2 (1 / m - 1 / all) = variance are n classical / variance.
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
    """A regression on each group's own labels costs them a degree of freedom per autorater."""
    return power.shape[1] if power_tuning is True else 1


def _count_interval(kind, k, n, confidence_level):
    known = np.maximum(n, 1)
    low, high = binomial.INTERVALS[kind](np.where(n > 0, k, 0.0), known, confidence_level)
    return np.where(n > 0, low, np.nan), np.where(n > 0, high, np.nan)
