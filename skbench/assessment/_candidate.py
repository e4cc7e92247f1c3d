"""Candidates of studies and comparisons: their settings and their estimates."""

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
    """An estimator with its own settings in a `RepeatedSamplingStudy`.

    Parameters
    ----------
    estimator : estimator
        An estimator with ``fit(X, y, sigma2, n, groups, sampling)`` and
        ``estimate(confidence_level)``, or a scikit-learn regressor. Text becomes indicators for a
        regressor without its own transformer.
    variance : str, default=None
        Sampling variance of binary scores, as in `summarize_items`; None uses that of the study.
    keep_topics : bool, default=True
        Whether `groups` and the item correlation are passed to the estimator, so that folds keep
        topics together. False reproduces papers with random splits.
    knows_population : bool, default=False
        Whether the estimator gets the number of all items of each group and estimates their mean.
        This uses ``estimate(population=...)``, or `estimate_of_population` if the estimator lacks
        this parameter or items come in clusters.
    without : sequence of str, default=()
        Features to remove. If none is left, a constant replaces them.

    Notes
    -----
    **When not to use it.** It is unnecessary for estimators that use the settings of the study.

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
    """Candidates by name, each with its sampling variance."""
    candidates = {}
    for name, given in _named(estimators).items():
        given = given if isinstance(given, Candidate) else Candidate(given)
        if not hasattr(given.estimator, "fit") or isinstance(given.estimator, type):
            raise TypeError(
                f"Estimator {name!r} is {given.estimator!r}, which is not an instance with a fit "
                "method. Pass an instance of an estimator, or a Candidate."
            )
        if given.knows_population and not hasattr(given.estimator, "estimate"):
            raise TypeError(
                f"Estimator {name!r} has no estimate method, but knows_population=True needs "
                "one. Pass an estimator of skbench, or set knows_population=False."
            )
        chosen = variance if given.variance is None else given.variance
        check_option("variance", chosen, VARIANCES)
        candidates[name] = given._replace(variance=chosen)
    return candidates


def estimators_of_groups(estimators):
    """Estimators of groups by name; each must have fit_predict."""
    named = _named(estimators)
    for name, estimator in named.items():
        if not hasattr(estimator, "fit_predict") or isinstance(estimator, type):
            raise TypeError(
                f"{name!r} is not an estimator of groups, because {estimator!r} has no "
                "fit_predict. Wrap a scikit-learn regressor in SyntheticRegression(...) or "
                "EmpiricalBayes(...)."
            )
    return named


def answers_of(candidates, summary_of, seed, confidence_level=None, sizes=None):
    """Answers by name for one sample of items, and (name, kind, message) of errors and warnings."""
    answers, notes = {}, []
    # One thread, because sums over several threads differ in the last digits.
    with _thread_pools().limit(limits=1):
        for name, candidate in candidates.items():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    summary = summary_of(candidate.variance)
                    answer = _answer(candidate, summary, seed, confidence_level, sizes)
                    answers[name] = _checked(answer, summary.labels)
                except Exception as error:
                    message = traceback.format_exception_only(error)[0].strip()
                    notes.append((name, "error", message))
            messages = dict.fromkeys(str(warning.message) for warning in caught)
            notes += [(name, "warning", message) for message in messages]
    return answers, notes


@functools.cache
def _thread_pools():
    return ThreadpoolController()


def _answer(candidate, summary, seed, confidence_level, sizes):
    """Fit a copy of the estimator, and estimate the fitted groups."""
    arguments = summary.fit_args
    if not candidate.keep_topics:
        separate = replace(summary.sampling, items_shared=False, item_correlation=None)
        arguments |= {"groups": None, "sampling": separate}
    if candidate.without:
        arguments["X"] = _without(arguments["X"], list(candidate.without))
    estimator = seeded(candidate.estimator, seed)
    if confidence_level is None and hasattr(estimator, "fit_predict"):
        return _values(called_with(estimator.fit_predict, arguments))
    if hasattr(estimator, "estimate"):
        fitted = called_with(estimator.fit, arguments)
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


def _checked(answer, labels):
    """The answer with float columns; each must have one number per group."""
    columns = {field: np.asarray(getattr(answer, field), dtype=float) for field in ENDS}
    for field, column in columns.items():
        if column.shape != (len(labels),):
            raise ValueError(
                f"{field} of its estimate has shape {column.shape} for {len(labels)} groups. "
                "Return one number per group, and nan for missing interval ends."
            )
    known = np.isfinite(columns["value"])
    if not known.all():
        raise ValueError(f"its estimate of group {labels[int(np.argmin(known))]!r} is not finite.")
    check_option("guarantee", answer.guarantee, GUARANTEES)
    return answer._replace(**columns)


def called_with(method, arguments):
    """Call a method with the `fit_args` of a summary; omit `sampling` if not a parameter."""
    if "sampling" not in inspect.signature(method).parameters:
        arguments = {name: value for name, value in arguments.items() if name != "sampling"}
    return method(**arguments)


def _named(estimators):
    """Estimators by name, from a dict, a list of pairs or one estimator (named by its class)."""
    if hasattr(estimators, "fit_predict") or hasattr(estimators, "fit"):
        estimators = {type(estimators).__name__.lower(): estimators}
    if isinstance(estimators, dict):
        estimators = list(estimators.items())
    if not _are_pairs(estimators):
        raise TypeError(
            "estimators must be a dict of names and estimators, or a list of pairs such as "
            f'[("direct", DirectEstimator()), ...], got {type(estimators).__name__}.'
        )
    if not estimators:
        raise ValueError("estimators is empty. Pass at least one estimator.")
    names = [name for name, _ in estimators]
    if len(set(names)) < len(names):
        raise ValueError(f"Names of estimators must be unique, got {names}.")
    return dict(estimators)


def _are_pairs(estimators):
    return isinstance(estimators, list | tuple) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str)
        for pair in estimators
    )
