"""The Rogan-Gladen correction: a rate of verdicts by sensitivity and specificity."""

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
    """Proportion corrected by the autorater's sensitivity and specificity.

    Offered by name, for comparison with epidemiology and with published results: from
    the same rows `ChainRulePPI` gets shorter intervals.

    Parameters
    ----------
    positive : object, default=1
        Verdict of the autorater that stands for the event; any other stands against it. Of
        several autoraters the majority counts.
    event : object, default=1
        Human label whose proportion is estimated, one of two.

    Attributes
    ----------
    estimate_ : float
        Corrected proportion, cut to [0, 1]; nan where the autorater is no better than
        chance, or a label is missing that would show how well it is recognized.
    standard_error_ : float
        Its standard error, by the delta method.
    rectifier_ : float
        `estimate_` before the cut, minus the rate of positive verdicts.
    lambda_ : float
        nan: the autorater has no power here.
    n_labeled_, n_unlabeled_ : int
        Numbers of rows.
    effective_sample_size_ : float
        Labels that the labels alone would need for the same standard error.

    Raises
    ------
    ValueError
        If a label is neither `event` nor the one other, the autorater never says `positive`
        or takes more than ten values, or `cluster` or `sample_weight` are given.

    Warns
    -----
    UserWarning
        If the labeled verdicts are no better than chance, or no labeled row has label 1,
        or none has label 0.

    Notes
    -----
    ``(q - f) / (s - f)`` with `q` the rate of positive verdicts on unlabeled rows (on
    all where none is unlabeled), `s` the sensitivity and `f` one minus the
    specificity [1]_. Each rate has half a success and half a failure added, so that an autorater
    never seen to err is not taken as perfect. The interval is Fieller's: all `t` at which
    ``q - t s - (1 - t) f`` is within its own normal error of 0.

    The share of the event among the labeled rows is not used. In the six cases of the tests
    intervals are 1.2 to 1.9 times as wide as the chain rule's (test_wider_than_the_chain_rule).

    `predict` gives a row the probability of the event given its verdict, by Bayes' rule from
    the estimate, `s` and `f`: ``p s / (p s + (1 - p) f)`` for a positive one. Both are moved
    together, on the logit scale, until the mean over the fitted rows is the estimate.

    When not to use it: where labeled rows are a random sample, which is the usual case
    (`ChainRulePPI`). It is right where only the rows of each label are: 50
    answers known to be right and 50 known to be wrong.

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
    _without_unlabeled = "ClassicalMean takes the labels as they are."
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
                f"Rogan-Gladen takes two human labels, event={self.event!r} and one other, but "
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
            "Label rows of both kinds, or use ClassicalMean.",
        )
        gain = s - f
        useless = gain <= 0
        _warn_of(
            useless,
            "On the labeled rows the autorater is positive no more often for label 1 than for 0",
            "ChainRulePPI does not need a good autorater.",
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
                f"The autorater takes {len(values)} different values, and Rogan-Gladen needs "
                "verdicts. Cut the scores at a threshold first, or use PPIMean."
            )
        if not (autorater == self.positive).any():
            shown = ", ".join(map(repr, values))
            raise ValueError(
                f"No row has the autorater's verdict positive={self.positive!r}; its values are "
                f"{shown}."
            )
        return _says(autorater, self.positive)


def _says(autorater, positive):
    return (autorater == positive).mean(axis=1) > _MAJORITY


def _verdict_cells(positive, autorater, codes):
    return 2 * codes + _says(autorater, positive)


def _predictive_values(share, sensitivity, fall_out):
    """P(label 1 | negative) and P(label 1 | positive), by Bayes' rule."""
    said = np.array([[1 - sensitivity, sensitivity], [1 - fall_out, fall_out]])
    joint = said * np.array([share, 1 - share])[:, None]
    return (joint[0] / joint.sum(axis=0)).T


def _counts(data, rows):
    return np.bincount(data.codes[rows], minlength=data.n_groups)


def _smoothed(k, n):
    """Mean and variance of Beta(k + 1/2, n - k + 1/2); nan without rows."""
    rate = divided(k + 0.5, np.where(n > 0, n + 1, 0))
    return rate, rate * (1 - rate) / (n + 2)


def _warn_of(groups, what, remedy):
    """Warn of the groups whose estimate is nan, where there are any."""
    if groups.any():
        where = "" if groups.size == 1 else f" in {int(groups.sum())} of {groups.size} groups"
        warn(f"{what}{where}, and the estimate is nan. {remedy}")


def _fieller(verdicts, sensitivity, fall_out, confidence_level):
    """All t in [0, 1] with ``(q - f - t (s - f))^2 <= z^2 Var(q - t s - (1 - t) f)``.

    Where the estimate is outside of [0, 1], no t may be left: what the nearest one needs is
    added to z^2, so that it is always among them, and others that are about as good.
    """
    (q, q_variance), (s, s_variance), (f, f_variance) = verdicts, sensitivity, fall_out
    nearest = np.clip(divided(q - f, s - f), 0, 1)
    variance = q_variance + nearest**2 * s_variance + (1 - nearest) ** 2 * f_variance
    beyond = (q - f - nearest * (s - f)) ** 2 / variance
    z2 = ndtri((1 + confidence_level) / 2) ** 2 + beyond
    a = (s - f) ** 2 - z2 * (s_variance + f_variance)
    b = -(q - f) * (s - f) + z2 * f_variance
    c = (q - f) ** 2 - z2 * (q_variance + f_variance)
    told_apart = (a > 0) & (s > f)
    root = np.sqrt(np.maximum(b**2 - a * c, 0))
    a = np.where(told_apart, a, 1.0)
    low, high = np.clip((-b - root) / a, 0, 1), np.clip((-b + root) / a, 0, 1)
    return np.where(told_apart, low, 0.0), np.where(told_apart, high, 1.0)
