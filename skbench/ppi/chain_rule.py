"""The chain-rule estimate: what each verdict of a discrete autorater is worth."""

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

# Pulls of the paper's prior, in standard errors: up to the first nothing moves, from the second on
# all of the pull is taken back. Closer together they add variance: the estimate then moves faster
# than the labels. The interval needs less, for it is that of the paper too.
_ESTIMATE_MOVES = 0.1, 0.5
_INTERVAL_MOVES = 0.2, 0.4


class ChainRulePPI(PPIEstimator):
    """Mean human label from an autorater that gives one of a few verdicts.

    The frequency of each verdict is learned from the many unlabeled rows, the human label
    given each verdict from the few labeled ones. Verdicts are names, on no scale: "yes", "no"
    and "unparseable", or one to five stars. Several autoraters count by their combination.
    Numbers of more than ten values (or combinations) are cut into five bins of equal frequency
    by their mean; cut them beforehand, say by `numpy.digitize`, for other bins.

    Parameters
    ----------
    integration : {"exact", "draws"}, default="exact"
        Whether the interval is computed by quadrature or from random draws.
    n_draws : int, default=10_000
        Number of draws, for ``integration="draws"``.
    verdicts : "side by side" or None, default=None
        "side by side" estimates P(win) - P(loss), from -1 to 1: humans compared two answers,
        with labels w, l and t (or win, loss and tie; or 1, -1 and 0).
    event : object, default=None
        Human label whose probability is estimated, where labels are names or where
        one of several numbers is meant; None estimates the mean of numeric labels.
    label_values : sequence of floats, default=None
        All labels that a human could have given, such as ``(1, 2, 3, 4, 5)``; None
        takes 0 and 1 where there are no others, and otherwise the labels seen.
    prior : {"auto", "jeffreys"}, default="auto"
        "jeffreys" shrinks every value toward the middle of the range, as in [1]_. "auto"
        shrinks toward the mean of all labels instead where that prior would move the estimate
        by more than a tenth of its standard error (see the notes).
    random_state : None, int, RandomState or Generator, default=None
        For ``integration="draws"``.

    Attributes
    ----------
    estimate_, standard_error_ : float
        Mean (see `prior`) and standard deviation of the posterior.
    lambda_ : float
        nan: the autorater has no power here.
    rectifier_ : float
        `estimate_` minus the mean autorater score of the unlabeled rows; nan where
        verdicts are not numbers.
    n_labeled_, n_unlabeled_ : int
        Numbers of rows.
    effective_sample_size_ : float
        Labels needed without the autorater, under as strong a prior, for the same error.
    values_ : list
        Values of the autorater; tuples where there are several autoraters.
    bins_ : ndarray or None
        Cuts between bins; None where scores were not cut.

    Raises
    ------
    ValueError
        If no row has a label, an autorater (or a combination of them) takes more than
        ten values that are no numbers, labels are not a finite set or not among
        `label_values`, or `cluster` or `sample_weight` are given.

    Warns
    -----
    UserWarning
        If scores are cut into bins, a value of 2% of the rows or more has no label, or
        "jeffreys" moves the estimate by more than half of its standard error (see the notes).

    Notes
    -----
    Section 4.4 of [1]_: ``theta = sum_a P(A = a) sum_h h P(H = h | A = a)``, with Dirichlet
    posteriors under priors of ``1/K`` for each of K values. P(A) is learned from the unlabeled
    rows, or from all rows where labeled ones outnumber them.

    With few labels, many values or a truth near 0 or 1 these priors bias the estimate. "auto"
    moves it to `chain_mean_of_pooled_prior` (`skbench.stats`) where the pull is large: not at all
    up to a tenth of a posterior standard deviation, wholly from half of one on, linearly in
    between (firm shrinkage [2]_). Its mean squared error was then at most 1.06 times that of the
    mean label (test_no_worse_than_the_labels_near_one); with "jeffreys" it is 5.2 times at a truth
    of .99, two values, 20 labels and a useless autorater. From a fifth of a standard deviation
    on, the interval also covers that of [1]_ moved by the pull.

    95% intervals cover some .93 or more where each of two values has 10 labels, each of three 20,
    and so on by tens (test_coverage_with_enough_labels). With fewer labels "jeffreys" can fail:
    with a truth of .95 it covers .91 at 10 labels of two values, .84 at 15 labels of three, and
    hardly ever at 30 labels of ten. A warning reports a pull of more than half a standard error.

    Side by side (section 5.3) ``theta = sum_a P(A = a) (P(H = w | a) - P(H = l | a))``. The three
    probabilities given one verdict have one joint Dirichlet posterior from the labeled rows:
    Table 1 of [1]_ has "h in {w, t}" and "in S~_N" where {w, l} and S_n are meant. With a useless
    autorater and win, tie and loss probabilities of .8, .05 and .15, 95% intervals cover .93 at
    10 labels, .94 at 30 and .96 at 100; with "jeffreys" .88, .93 and .94
    (test_few_labels_per_verdict_under_cover).

    `predict` gives a row the posterior mean label given its verdict,
    ``sum_h h (n_ah + 1/K) / (n_a + 1)``. All are moved together, on the logit scale of the range
    of the labels, until the mean over the fitted rows is the estimate.

    When not to use it: with few labels per value of the autorater (`PPIMean`); with a
    continuous autorater that ranks well (`StratifiedPPI`, `PPIMean`); with dependent rows or
    unequal label probabilities (`PPIMean`); before shrinkage of many small groups, which the
    prior already shrinks; where two answers were graded one at a time (`PPIMean` of the
    difference of the grades).

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
    _without_unlabeled = "ClassicalMean takes the labels as they are."

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
        """Least and greatest label there can be, or None before it is known."""
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
            value, interval = _unpulled(value, error, interval, counts)
        # The prior of "auto" lets go by itself.
        known = np.inf if self.prior == "auto" else error
        warn_of_the_prior(table, self.values_, values, known)
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
            raise ValueError("verdicts says what the labels are: leave out event and label_values.")
        if self.event is not None and not labels.any():
            raise ValueError(f"No human label is event={self.event!r}: pass one that occurs.")

    def _label_set(self, labels):
        """The numbers a human label can be, largest first."""
        if self.verdicts is not None:
            return np.array([1.0, 0.0, -1.0])
        seen = np.unique(labels)[::-1]
        if self.label_values is not None and self.event is None:
            declared = _declared(self.label_values)
            strange = seen[~np.isin(seen, declared)]
            if strange.size:
                raise ValueError(
                    f"Human label {strange[0]:g} is not among label_values={self.label_values!r}. "
                    "Add it, or correct the label."
                )
            seen = declared
        elif np.isin(seen, (0, 1)).all():
            seen = np.array([1.0, 0.0])
        if seen.size == 1:
            raise ValueError(
                f"All human labels are {seen[0]:g}, so what else they could be is unknown. Pass "
                "label_values with every label a human could give."
            )
        if seen.size > MOST_VALUES:
            raise ValueError(
                f"There are {seen.size} different human labels, and the chain rule takes at most "
                f"{MOST_VALUES}. Use PPIMean or StratifiedPPI, or round the labels."
            )
        return seen

    def _posterior(self, counts, moments):
        """Mean and deviation of the posterior, and its interval at any level."""
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
            f"label_values must be numbers, got {label_values!r}. For labels that are names pass "
            "the one that counts as event=."
        ) from None


def _unpulled(value, error, interval, counts):
    """Another mean and interval, where the prior pulls far from what the labels say."""
    pull = chain_mean_of_pooled_prior(*counts) - value
    moved = _firm(pull, error, *_ESTIMATE_MOVES)
    if not moved.any():
        return value, interval
    bounds = counts[-1][-1], counts[-1][0]
    widened = _firm(pull, error, *_INTERVAL_MOVES)
    return value + moved, partial(_with_and_without, widened, interval, bounds)


def _firm(pull, standard_error, least, most):
    """Nothing of a pull up to `least` standard errors, all from `most` on, a line between."""
    size = np.abs(pull)
    line = (size - least * standard_error) * (most / (most - least))
    return np.sign(pull) * np.clip(line, 0, size)


def _with_and_without(pull, interval, bounds, confidence_level):
    """From the least to the greatest end of the interval and of the same moved by the pull."""
    low, high = interval(confidence_level)
    moved = np.clip(low + pull, *bounds), np.clip(high + pull, *bounds)
    return np.minimum(low, moved[0]), np.maximum(high, moved[1])


def _classical_variance(table, values):
    """Posterior variance of the mean label, of the labels alone with all of the prior."""
    n_values, n_labels = table.labeled.shape[1:]
    # One value's share of the prior is added by `chain_moments`.
    counts = table.labeled.sum(axis=1, keepdims=True) + (n_values - 1) / n_labels
    return chain_moments(np.ones(counts.shape[:2]), counts, values).labeled_variance


def _mean_scores(data):
    """Mean autorater score of each group's unlabeled rows, where scores are numbers."""
    scores = mean_score(data.autorater)
    if scores is None:
        return np.full(data.n_groups, np.nan)
    rows = ~data.labeled
    weights = (scores[rows], None)
    total, n = (np.bincount(data.codes[rows], w, data.n_groups) for w in weights)
    return divided(total, n)
