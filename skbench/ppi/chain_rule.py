"""The chain-rule estimate: mean human label by verdict, weighted by how common verdicts are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd

from skbench._random import as_generator
from skbench._types import AtLeastTwo, Bounds, RandomState
from skbench.ppi._base import GroupResult, PPIEstimator, quantile_interval, refuse_dependent_rows
from skbench.ppi._calibrated import shares_by_verdict
from skbench.ppi._verdicts import (
    MOST_VALUES,
    counted,
    few_unlabeled,
    mean_score,
    read_verdicts,
    verdict_counts,
    warn_of_the_prior,
    wins,
)
from skbench.stats.intervals.moments import divided
from skbench.stats.ppi.chain_rule import (
    chain_draws,
    chain_interval,
    chain_mean_of_pooled_prior,
    chain_moments,
    label_means,
)

# Shifts by the paper's prior, in standard errors. Up to the first limit nothing is corrected, from
# the second on the whole shift. Limits closer together add variance, because the estimate then
# changes faster than the labels. The interval also includes that of the paper, so it needs less.
_ESTIMATE_LIMITS = 0.1, 0.5
_INTERVAL_LIMITS = 0.2, 0.4


class ChainRulePPI(PPIEstimator):
    """Mean human label from an LLM judge that returns one of a few verdicts.

    The unlabeled rows show how common each verdict is. The labeled rows show the human label
    given each verdict. Verdicts are treated as names without an order, such as "yes", "no" and
    "unparsable". With several judges, the verdict is the combination of their verdicts. Numeric
    verdicts with more than ten values are averaged over judges and cut into five bins of equal
    frequency. For other bins, use `numpy.digitize` beforehand.

    Parameters
    ----------
    integration : {"exact", "draws"}, default="exact"
        Whether the interval comes from quadrature or from random draws.
    n_draws : int, default=10_000
        Number of draws for ``integration="draws"``.
    verdicts : "side by side" or None, default=None
        Use "side by side" if humans compared two answers. The estimate is then P(win) - P(loss),
        from -1 to 1. The human labels are w, l and t, or win, loss and tie, or 1, -1 and 0.
    event : object, default=None
        Human label whose probability is estimated. It is required if labels are names. For
        numeric labels, None estimates their mean.
    label_values : sequence of floats, default=None
        All labels that a human could have given, such as ``(1, 2, 3, 4, 5)``. None uses 0 and 1 if
        there are no others, and otherwise the labels in the data.
    prior : {"auto", "jeffreys"}, default="auto"
        "jeffreys" shrinks the mean label of every verdict toward the middle of the range, as in
        [1]_. "auto" does the same, unless this would move the estimate by more than a tenth of its
        standard error. In that case, "auto" shrinks toward the mean of all labels (see the notes).
    random_state : None, int, RandomState or Generator, default=None
        Seed for ``integration="draws"``.

    Attributes
    ----------
    estimate_, standard_error_ : float
        Mean (see `prior`) and standard deviation of the posterior.
    lambda_ : float
        Weight of the judge; always nan, because this method has no such weight.
    rectifier_ : float
        `estimate_` minus the mean verdict of the unlabeled rows; nan if verdicts are names.
    n_labeled_, n_unlabeled_ : int
        Numbers of rows.
    effective_sample_size_ : float
        Number of human labels that would give the same standard error without a judge, with a prior
        of the same strength.
    values_ : list
        Verdicts that occur; tuples for several judges.
    bins_ : ndarray or None
        Cut points between bins; None if there are no bins.

    Raises
    ------
    ValueError
        If no row has a label, labels take more than ten values, or a label is not in
        `label_values`. If verdicts are names with more than ten different values. If `cluster` or
        `sample_weight` is given.

    Warns
    -----
    UserWarning
        If scores are cut into bins, a verdict of at least 2% of the rows has no label, or
        "jeffreys" moves the estimate by more than half of its standard error.

    Notes
    -----
    The estimand of section 4.4 of [1]_ is ``theta = sum_a P(A = a) sum_h h P(H = h | A = a)`` with
    the verdict A and the human label H. All probabilities have Dirichlet posteriors under priors
    of ``1/K`` for each of K values. P(A) is estimated from the unlabeled rows, or from all rows if
    the labeled ones outnumber them.

    *Prior.* With few labels, many verdicts or a true mean near 0 or 1, these priors bias the
    estimate. "auto" moves it toward the mean under a weaker prior
    (`skbench.stats.chain_rule.chain_mean_of_pooled_prior`). If the two means differ by less than
    0.1 posterior standard deviations, the estimate stays where it is. If they differ by more than
    0.5, the estimate is the mean under the weaker prior. In between, it is moved partly (firm
    shrinkage [2]_). If they differ by more than 0.2, the interval is also extended in this
    direction. In simulations, the mean squared error was at most 1.06 times that of the mean label.
    With "jeffreys", a true mean of 0.99, two verdicts, 20 labels and a useless judge, it was 5.2
    times that of the mean label.

    *Coverage.* The coverage of 95% intervals is about 0.93 or more with enough labels: 10 per
    verdict for two verdicts, 20 per verdict for three, and so on in steps of ten. With fewer
    labels, intervals with "jeffreys" can be too short. For a true mean of 0.95, their coverage is
    0.91 with two verdicts and 10 labels in total, 0.84 with three verdicts and 15 labels, and
    almost 0 with ten verdicts and 30 labels.

    *Side by side* (section 5.3). The estimand is ``theta = sum_a P(A = a) (P(H = w | a) - P(H = l |
    a))``. The three probabilities given one verdict have one joint Dirichlet posterior. In Table 1
    of [1]_ "h in {w, t}" and "in S~_N" are misprints for {w, l} and S_n. With a useless judge,
    probabilities of 0.8, 0.05 and 0.15 for win, tie and loss, and 10, 30 and 100 labels, the
    coverage of 95% intervals is 0.93, 0.94 and 0.96 ("jeffreys": 0.88, 0.93 and 0.94).

    `predict` returns the posterior mean label given the verdict, ``sum_h h (n_ah + 1/K) / (n_a +
    1)``. These predictions are then shifted by a constant on the logit scale, so that their mean
    over the fitted rows is the estimate.

    When not to use it:

    - with few labels per verdict, dependent rows or unequal probabilities of being labeled (use
      `PPIMean`);
    - with a continuous judge that ranks answers well (use `StratifiedPPI` or `PPIMean`);
    - as input of shrinkage across many small groups, because the prior already shrinks them;
    - if two answers were graded one at a time (use `PPIMean` of the difference in grades).

    References
    ----------
    .. [1] Hofer, Maynez, Dhingra, Fisch, Globerson and Cohen (2024). Bayesian
       Prediction-Powered Inference.
    .. [2] Gao and Bruce (1997). WaveShrink with firm shrinkage. Statistica Sinica 7, 855-874.

    Examples
    --------
    >>> import numpy as np
    >>> judge = np.array(["y"] * 26 + ["n"] * 14 + ["y"] * 600 + ["n"] * 360)
    >>> human = np.full(1000, np.nan)
    >>> human[:40] = [1] * 24 + [0] * 2 + [0] * 12 + [1] * 2
    >>> chain = ChainRulePPI().fit(judge, human)
    >>> e = chain.estimate()
    >>> print(f"{e.value[0]:.3f} [{e.low[0]:.3f}, {e.high[0]:.3f}]")
    0.634 [0.528, 0.729]
    """

    _numeric_autorater = False
    _guarantee = "posterior"
    _without_unlabeled = "Use ClassicalMean."

    def __init__(
        self,
        integration: Literal["exact", "draws"] = "exact",
        n_draws: AtLeastTwo = 10_000,
        *,
        verdicts: Literal["side by side"] | None = None,
        event: object = None,
        label_values: Sequence[float] | None = None,
        prior: Literal["auto", "jeffreys"] = "auto",
        random_state: RandomState = None,
    ) -> None:
        self.integration = integration
        self.n_draws = n_draws
        self.verdicts = verdicts
        self.event = event
        self.prior = prior
        self.label_values = label_values
        self.random_state = random_state

    @property
    def bounds(self) -> Bounds | None:
        """Smallest and largest possible label; None if unknown."""
        if self.verdicts is not None:
            return -1.0, 1.0
        if self.event is not None:
            return 0.0, 1.0
        if self.label_values is not None:
            declared = _declared(self.label_values)
            return float(declared[-1]), float(declared[0])
        return None

    @property
    def _method(self):
        drawn = "exact" if self.integration == "exact" else f"{self.n_draws} draws"
        name = "chain rule" if self.verdicts is None else f"{self.verdicts}, chain rule"
        return f"{name} ({drawn})"

    def _read_labels(self, y):
        if self.verdicts is not None:
            return wins(y)
        if self.event is None:
            return y
        labels = pd.Series(y)
        missing = labels.isna().to_numpy()
        if missing.all():
            return np.full(len(labels), np.nan)
        happened = (labels == self.event).to_numpy(dtype=float, na_value=0.0)
        return np.where(missing, np.nan, happened)

    def _fit_groups(self, data):
        refuse_dependent_rows(data, type(self).__name__)
        self._check_labels(data.y[data.labeled])
        values = self._label_set(data.y[data.labeled])
        codes, verdicts_read = read_verdicts(data.autorater)
        self.values_, self.bins_ = verdicts_read
        table = counted(data, codes, len(self.values_), values)
        counts = verdict_counts(table), table.labeled, values
        moments = chain_moments(*counts)
        value, error, interval = self._posterior(counts, moments)
        if self.prior == "auto":
            value, interval = _with_weaker_prior(value, error, interval, counts)
        # "auto" corrects the effect of the prior itself.
        scale = np.inf if self.prior == "auto" else error
        warn_of_the_prior(table, self.values_, values, scale)
        return GroupResult(
            value=value,
            standard_error=error,
            df=np.full(data.n_groups, np.inf),
            lambda_=np.full((data.n_groups, data.autorater.shape[1]), np.nan),
            rectifier=value - _mean_scores(data),
            n_labeled=table.labeled.sum(axis=(1, 2)),
            n_unlabeled=table.unlabeled.sum(axis=1),
            unlabeled_variance=moments.unlabeled_variance,
            interval=interval,
            calibrated=partial(
                shares_by_verdict,
                partial(_verdict_cells, verdicts_read),
                label_means(table.labeled, values),
                table.unlabeled + table.labeled.sum(axis=2),
                value,
                (values[-1], values[0]),
            ),
            classical_variance=_classical_variance(table, values),
            labels_depend_on_verdicts=few_unlabeled(table),
        )

    def _check_labels(self, labels):
        if self.verdicts is not None and (self.event, self.label_values) != (None, None):
            raise ValueError(
                f"verdicts={self.verdicts!r} defines the labels. Remove event= and label_values=."
            )
        if self.event is not None and not labels.any():
            raise ValueError(f"No human label equals event={self.event!r}. Pass one that occurs.")

    def _label_set(self, labels):
        """All possible human labels, largest first."""
        if self.verdicts is not None:
            return np.array([1.0, 0.0, -1.0])
        seen = np.unique(labels)[::-1]
        if self.label_values is not None and self.event is None:
            declared = _declared(self.label_values)
            unknown = seen[~np.isin(seen, declared)]
            if unknown.size:
                raise ValueError(
                    f"Human label {unknown[0]:g} is not in label_values={self.label_values!r}. "
                    "Add it or correct the label."
                )
            seen = declared
        elif np.isin(seen, (0, 1)).all():
            seen = np.array([1.0, 0.0])
        if seen.size == 1:
            raise ValueError(
                f"All human labels are {seen[0]:g}, so the other possible labels are unknown. Pass "
                "label_values= with all labels that a human could give."
            )
        if seen.size > MOST_VALUES:
            raise ValueError(
                f"There are {seen.size} different human labels, but the chain rule supports at "
                f"most {MOST_VALUES}. Round the labels, or use PPIMean or StratifiedPPI."
            )
        return seen

    def _posterior(self, counts, moments):
        """Mean and standard deviation of the posterior, and the function of its interval."""
        if self.integration == "draws":
            draws = chain_draws(*counts, self.n_draws, as_generator(self.random_state))
            return draws.mean(axis=0), draws.std(axis=0, ddof=1), partial(quantile_interval, draws)
        error = np.sqrt(moments.unlabeled_variance + moments.labeled_variance)
        return moments.mean, error, partial(chain_interval, *counts)


def _verdict_cells(verdicts, autorater, codes):
    return codes * len(verdicts.values) + verdicts.codes(autorater)


def _declared(label_values):
    try:
        return np.unique(np.asarray(label_values, dtype=float))[::-1]
    except (TypeError, ValueError):
        raise ValueError(
            f"label_values must be numbers, got {label_values!r}. For labels that are names, pass "
            "the label of interest as event=."
        ) from None


def _with_weaker_prior(value, error, interval, counts):
    """Correct the mean and the interval if Jeffreys' prior moves them far from the labels."""
    difference = chain_mean_of_pooled_prior(*counts) - value
    shift = _firm_shrinkage(difference, error, *_ESTIMATE_LIMITS)
    if not shift.any():
        return value, interval
    bounds = counts[-1][-1], counts[-1][0]
    interval_shift = _firm_shrinkage(difference, error, *_INTERVAL_LIMITS)
    return value + shift, partial(_extended_interval, interval_shift, interval, bounds)


def _firm_shrinkage(difference, standard_error, least, most):
    """0 up to `least` standard errors, the difference itself from `most` on, linear in between."""
    size = np.abs(difference)
    line = (size - least * standard_error) * (most / (most - least))
    return np.sign(difference) * np.clip(line, 0, size)


def _extended_interval(shift, interval, bounds, confidence_level):
    """Smallest interval that contains the interval and the shifted interval."""
    low, high = interval(confidence_level)
    moved = np.clip(low + shift, *bounds), np.clip(high + shift, *bounds)
    return np.minimum(low, moved[0]), np.maximum(high, moved[1])


def _classical_variance(table, values):
    """Posterior variance of the mean label without a judge, under an equally strong prior."""
    n_values, n_labels = table.labeled.shape[1:]
    # `chain_moments` adds the prior of one verdict.
    counts = table.labeled.sum(axis=1, keepdims=True) + (n_values - 1) / n_labels
    return chain_moments(np.ones(counts.shape[:2]), counts, values).labeled_variance


def _mean_scores(data):
    """Mean verdict of each group's unlabeled rows; nan if verdicts are names."""
    scores = mean_score(data.autorater)
    if scores is None:
        return np.full(data.n_groups, np.nan)
    rows = ~data.labeled
    weights = (scores[rows], None)
    total, n = (np.bincount(data.codes[rows], w, data.n_groups) for w in weights)
    return divided(total, n)
