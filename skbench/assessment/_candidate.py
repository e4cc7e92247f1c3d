"""An estimator on trial: what it is given, and what it answered."""

import functools
import inspect
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.base import is_regressor
from threadpoolctl import ThreadpoolController

from skbench._checks import check_option
from skbench._columns import with_indicators
from skbench._random import seeded
from skbench.containers import GUARANTEES
from skbench.summaries import estimate_of_population
from skbench.summaries.direct_estimates import VARIANCES

NO_INTERVAL = "none"
ENDS = ("value", "low", "high")


class Candidate(NamedTuple):
    """An estimator together with what a study is to give it.

    Parameters
    ----------
    estimator : estimator
        With ``fit(X, y, sigma2, n, groups, sampling)`` and ``estimate(confidence_level)``, or
        a scikit-learn regressor. Text is turned into indicators in front of a regressor that
        brings no transformer of its own.
    variance : str, default=None
        Sampling variance of binary scores, as in `summarize_items`; None is the study's.
    keep_topics : bool, default=True
        Whether the estimator learns which groups share items, so that folds keep topics
        together. False reproduces papers that split at random.
    knows_population : bool, default=False
        Whether the estimator learns how many items each group has in all, and estimates their
        mean: by ``estimate(population=...)``, or by `estimate_of_population` where it has no such
        parameter or items come in clusters.
    without : sequence of str, default=()
        Features withheld from the estimator; a constant replaces them if none is left.

    Notes
    -----
    When not to use it: for estimators that take the study's own settings.

    Examples
    --------
    >>> from skbench import EmpiricalBayes
    >>> from skbench.assessment import Candidate
    >>> Candidate(EmpiricalBayes(cv=2), variance="plug-in", keep_topics=False).variance
    'plug-in'
    """

    estimator: object
    variance: str | None = None
    keep_topics: bool = True
    knows_population: bool = False
    without: Sequence[str] = ()


class Answer(NamedTuple):
    """Estimates of the groups of one repetition, with their intervals."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    guarantee: str


def as_candidates(estimators, variance):
    """Candidates by name, each with its sampling variance filled in."""
    candidates = {}
    for name, given in _named(estimators).items():
        given = given if isinstance(given, Candidate) else Candidate(given)
        if not hasattr(given.estimator, "fit") or isinstance(given.estimator, type):
            raise TypeError(
                f"Estimator {name!r} is {given.estimator!r}, which has no fit method of its own. "
                "Pass an instance of an estimator, or a Candidate around one."
            )
        if given.knows_population and not hasattr(given.estimator, "estimate"):
            raise TypeError(
                f"Estimator {name!r} has no estimate method, which knows_population=True "
                "needs. Pass an estimator of this package, or leave it out."
            )
        chosen = variance if given.variance is None else given.variance
        check_option("variance", chosen, VARIANCES)
        candidates[name] = given._replace(variance=chosen)
    return candidates


def estimators_of_groups(estimators):
    """Estimators by name, each of which answers for the very groups it was fitted on."""
    named = _named(estimators)
    for name, estimator in named.items():
        if not hasattr(estimator, "fit_predict") or isinstance(estimator, type):
            raise TypeError(
                f"{name!r} is no estimator of groups: {estimator!r} has no fit_predict. Put a "
                "scikit-learn regressor into SyntheticRegression(...) or EmpiricalBayes(...)."
            )
    return named


def ask(candidates, summary_of, seed, confidence_level=None, sizes=None):
    """Answers by name to one draw of items, and (name, kind, message) of what went wrong."""
    answers, notes = {}, []
    # Sums over threads come in another order, which changes the last digits.
    with _thread_pools().limit(limits=1):
        for name, candidate in candidates.items():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    summary = summary_of(candidate.variance)
                    said = _answer(candidate, summary, seed, confidence_level, sizes)
                    answers[name] = _checked(said, summary.labels)
                except Exception as error:
                    words = traceback.format_exception_only(error)[0].strip()
                    notes.append((name, "error", words))
            heard = dict.fromkeys(str(warning.message) for warning in caught)
            notes += [(name, "warning", words) for words in heard]
    return answers, notes


@functools.cache
def _thread_pools():
    return ThreadpoolController()


def _answer(candidate, summary, seed, confidence_level, sizes):
    """Fit a copy of the estimator and ask it for the fitted groups."""
    arguments = summary.fit_args
    if not candidate.keep_topics:
        alone = replace(summary.sampling, items_shared=False, item_correlation=None)
        arguments |= {"groups": None, "sampling": alone}
    if candidate.without:
        arguments["X"] = _without(arguments["X"], list(candidate.without))
    estimator = seeded(candidate.estimator, seed)
    if confidence_level is None and hasattr(estimator, "fit_predict"):
        return _values(told(estimator.fit_predict, arguments))
    if hasattr(estimator, "estimate"):
        fitted = told(estimator.fit, arguments)
        sizes = sizes if candidate.knows_population else None
        e = estimate_of_population(fitted, summary, confidence_level, sizes)
        return Answer(e.value, e.low, e.high, e.guarantee)
    X, y, groups = (arguments[name] for name in ("X", "y", "groups"))
    if hasattr(estimator, "__sklearn_tags__") and is_regressor(estimator):
        estimator = with_indicators(estimator, X, groups)
    return _values(np.asarray(estimator.fit(X, y).predict(X), dtype=float).ravel())


def _without(X, columns):
    kept = X.drop(columns=columns)
    return kept if kept.shape[1] else kept.assign(constant=1.0)


def _values(value):
    unknown = np.full(len(value), np.nan)
    return Answer(value, unknown, unknown, NO_INTERVAL)


def _checked(said, labels):
    """The answer with columns of floats; what is no number per group is refused."""
    columns = {field: np.asarray(getattr(said, field), dtype=float) for field in ENDS}
    for field, column in columns.items():
        if column.shape != (len(labels),):
            raise ValueError(
                f"{field} of its estimate has shape {column.shape} for {len(labels)} groups. Give "
                "one number per group, nan where an interval has no such end."
            )
    known = np.isfinite(columns["value"])
    if not known.all():
        raise ValueError(f"its estimate of group {labels[int(np.argmin(known))]!r} is not finite.")
    check_option("guarantee", said.guarantee, GUARANTEES)
    return said._replace(**columns)


def told(method, arguments):
    """Result of a method given the `fit_args` of a summary, without `sampling` if unknown."""
    if "sampling" not in inspect.signature(method).parameters:
        arguments = {name: value for name, value in arguments.items() if name != "sampling"}
    return method(**arguments)


def _named(estimators):
    """Estimators by name, from a dict, a list of pairs or one alone (named by its class)."""
    if hasattr(estimators, "fit_predict") or hasattr(estimators, "fit"):
        estimators = {type(estimators).__name__.lower(): estimators}
    if isinstance(estimators, dict):
        estimators = list(estimators.items())
    if not _are_pairs(estimators):
        raise TypeError(
            "estimators must be a dict of names and estimators, or a list of such pairs, as in "
            f'[("direct", DirectEstimator()), ...], got {type(estimators).__name__}.'
        )
    if not estimators:
        raise ValueError("estimators is empty: there are no estimators. Pass at least one.")
    names = [name for name, _ in estimators]
    if len(set(names)) < len(names):
        raise ValueError(f"Each estimator needs a name of its own, got {names}.")
    return dict(estimators)


def _are_pairs(estimators):
    """Whether these are pairs of names and estimators."""
    return isinstance(estimators, list | tuple) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str)
        for pair in estimators
    )
