"""The Rogan-Gladen estimator: correct a rate of verdicts by sensitivity and specificity."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from scipy.special import ndtri
from sklearn.utils import ClassifierTags

from skbench._checks import plain
from skbench._warnings import warn
from skbench.ppi._base import GroupResult, PPIEstimator, refuse_dependent_rows
from skbench.ppi._calibrated import shares_by_verdict
from skbench.stats.intervals.moments import divided

_MOST_VALUES = 10
_MAJORITY = 0.5


class RoganGladen(PPIEstimator):
    """Proportion of an event, corrected by the judge's sensitivity and specificity.

    Use it if rows were selected by their human label, for example 50 correct and 50 incorrect
    answers. If the labeled rows are a random sample, `ChainRulePPI` has shorter intervals.

    Parameters
    ----------
    positive : object, default=1
        Verdict of the judge that means that the event occurred. All other verdicts are negative.
        With several judges, the majority decides.
    event : object, default=1
        Human label whose proportion is estimated. The labels must have exactly one other value.

    Attributes
    ----------
    estimate_ : float
        Corrected proportion, clipped to [0, 1]; nan if the judge is no better than chance, or the
        labeled rows do not have both labels.
    standard_error_ : float
        Standard error by the delta method.
    rectifier_ : float
        Estimate before clipping, minus the rate of positive verdicts.
    lambda_ : float
        Weight of the judge; always nan, because this method has no such weight.
    n_labeled_, n_unlabeled_ : int
        Numbers of rows.
    effective_sample_size_ : float
        Number of labels whose mean would have the same standard error.

    Raises
    ------
    ValueError
        If there are more than two labels, the verdict `positive` does not occur, verdicts take
        more than ten values, or `cluster` or `sample_weight` is given.

    Warns
    -----
    UserWarning
        If the judge is no better than chance in the labeled rows, or these rows do not have both
        labels.

    Notes
    -----
    The estimate is ``(q - f) / (s - f)`` [1]_. Here `q` is the rate of positive verdicts in the
    unlabeled rows (in all rows if none is unlabeled), `s` the sensitivity and `f` one minus the
    specificity. Half a success and half a failure are added to each rate, so a judge without
    observed errors is not treated as perfect. Fieller's interval contains all `t` for which
    ``q - t s - (1 - t) f`` is not significantly different from 0.

    The estimate ignores the proportion of the event in the labeled rows. In six simulated settings,
    intervals were 1.2 to 1.9 times as wide as those of the chain rule.

    `predict` returns the probability of the event given the verdict by Bayes' rule from the
    estimate, `s` and `f`: ``p s / (p s + (1 - p) f)`` for a positive verdict. These predictions are
    then shifted by a constant on the logit scale, so that their mean over the fitted rows is the
    estimate.

    When not to use it: in the usual case that the labeled rows are a random sample (use
    `ChainRulePPI`); for dependent rows or unequal probabilities of being labeled (use `PPIMean`).

    References
    ----------
    .. [1] Rogan and Gladen (1978). Estimating Prevalence from the Results of a
       Screening Test. American Journal of Epidemiology 107.

    Examples
    --------
    >>> import numpy as np
    >>> judge = np.repeat([1, 0, 1, 0, 1, 0], [45, 5, 10, 40, 600, 400])
    >>> human = np.repeat([1, 0, np.nan], [50, 50, 1000])
    >>> print(f"{RoganGladen().fit(judge, human).estimate_:.2f}")
    0.57
    """

    _numeric_autorater = False
    _guarantee = "model"
    _without_unlabeled = "Use ClassicalMean."
    bounds = (0.0, 1.0)

    def __init__(self, positive: object = 1, event: object = 1) -> None:
        self.positive = positive
        self.event = event

    @property
    def _method(self):
        return "Rogan-Gladen"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=False)  # labels are 0 and 1
        return tags

    def _read_labels(self, y):
        labels = pd.Series(y)
        seen = pd.unique(labels.dropna())
        others = [plain(label) for label in seen if label != self.event]
        if len(others) > 1:
            raise ValueError(
                f"RoganGladen needs two human labels, event={self.event!r} and one other, but "
                f"there are {', '.join(map(repr, others[:_MOST_VALUES]))}. Use PPIMean or "
                "ChainRulePPI."
            )
        if others and others[0] in (np.inf, -np.inf):
            return y
        return (labels == self.event).astype(float).where(labels.notna()).to_numpy()

    def _fit_groups(self, data):
        refuse_dependent_rows(data, "RoganGladen")
        positive = self._positive(data.autorater)
        n_unlabeled = _counts(data, ~data.labeled)
        read = ~data.labeled | (n_unlabeled == 0)[data.codes]
        rows = (read, data.labeled & (data.y == 1), data.labeled & (data.y == 0))
        rates = [_smoothed(_counts(data, r & positive), _counts(data, r)) for r in rows]
        (q, q_variance), (s, s_variance), (f, f_variance) = rates
        _warn_of(
            np.isnan(s) | np.isnan(f),
            "The labeled rows do not have both labels, 1 and 0",
            "Add labeled rows of both kinds, or use ClassicalMean.",
        )
        gain = s - f
        useless = gain <= 0
        _warn_of(
            useless,
            "In the labeled rows the judge is positive no more often for label 1 than for label 0",
            "Use ChainRulePPI, which does not need a good judge.",
        )
        gain = np.where(useless, np.nan, gain)
        value = (q - f) / gain
        share = np.clip(value, 0, 1)
        spread = q_variance + share**2 * s_variance + (1 - share) ** 2 * f_variance
        n_positive, n_rows = _counts(data, positive), _counts(data, data.codes >= 0)
        return GroupResult(
            value=value,
            standard_error=np.sqrt(spread) / gain,
            df=np.full(data.n_groups, np.inf),
            lambda_=np.full((data.n_groups, 1), np.nan),
            rectifier=value - q,
            n_labeled=_counts(data, data.labeled),
            n_unlabeled=n_unlabeled,
            unlabeled_variance=q_variance / gain**2,
            interval=partial(_fieller, *rates),
            calibrated=partial(
                shares_by_verdict,
                partial(_verdict_cells, self.positive),
                _predictive_values(share, s, f),
                np.column_stack([n_rows - n_positive, n_positive]),
                share,
                (0.0, 1.0),
            ),
        )

    def _positive(self, autorater):
        values = pd.unique(autorater.ravel())
        if len(values) > _MOST_VALUES:
            raise ValueError(
                f"The judge returns {len(values)} different values, but RoganGladen needs "
                "verdicts. Cut the scores at a threshold, or use PPIMean."
            )
        if not (autorater == self.positive).any():
            shown = ", ".join(map(repr, values))
            raise ValueError(
                f"No verdict equals positive={self.positive!r}. The verdicts are {shown}."
            )
        return _is_positive(autorater, self.positive)


def _is_positive(autorater, positive):
    return (autorater == positive).mean(axis=1) > _MAJORITY


def _verdict_cells(positive, autorater, codes):
    return 2 * codes + _is_positive(autorater, positive)


def _predictive_values(share, sensitivity, fall_out):
    """P(label 1 | negative) and P(label 1 | positive), by Bayes' rule."""
    given_label = np.array([[1 - sensitivity, sensitivity], [1 - fall_out, fall_out]])
    joint = given_label * np.array([share, 1 - share])[:, None]
    return (joint[0] / joint.sum(axis=0)).T


def _counts(data, rows):
    return np.bincount(data.codes[rows], minlength=data.n_groups)


def _smoothed(k, n):
    """Mean and variance of Beta(k + 1/2, n - k + 1/2); nan without rows."""
    rate = divided(k + 0.5, np.where(n > 0, n + 1, 0))
    return rate, rate * (1 - rate) / (n + 2)


def _warn_of(groups, what, remedy):
    """Warn about groups whose estimate is nan, if there are any."""
    if groups.any():
        where = "" if groups.size == 1 else f" in {int(groups.sum())} of {groups.size} groups"
        warn(f"{what}{where}, so the estimate is nan. {remedy}")


def _fieller(verdicts, sensitivity, fall_out, confidence_level):
    """All t in [0, 1] with ``(q - f - t (s - f))^2 <= z^2 Var(q - t s - (1 - t) f)``.

    If the estimate is outside [0, 1], the set may be empty. Then z^2 is increased so that the set
    contains the nearest end of [0, 1].
    """
    (q, q_variance), (s, s_variance), (f, f_variance) = verdicts, sensitivity, fall_out
    nearest = np.clip(divided(q - f, s - f), 0, 1)
    variance = q_variance + nearest**2 * s_variance + (1 - nearest) ** 2 * f_variance
    beyond = (q - f - nearest * (s - f)) ** 2 / variance
    z2 = ndtri((1 + confidence_level) / 2) ** 2 + beyond
    a = (s - f) ** 2 - z2 * (s_variance + f_variance)
    b = -(q - f) * (s - f) + z2 * f_variance
    c = (q - f) ** 2 - z2 * (q_variance + f_variance)
    is_bounded = (a > 0) & (s > f)
    root = np.sqrt(np.maximum(b**2 - a * c, 0))
    a = np.where(is_bounded, a, 1.0)
    low, high = np.clip((-b - root) / a, 0, 1), np.clip((-b + root) / a, 0, 1)
    return np.where(is_bounded, low, 0.0), np.where(is_bounded, high, 1.0)
