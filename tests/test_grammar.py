"""Methods and parameters of the same name behave alike in the whole package."""

import inspect

import numpy as np
import pandas as pd
import pytest

import skbench
import skbench.plot
import skbench.tasks
from skbench import (
    ConfusionPosterior,
    HierarchicalBetaBinomial,
    MeanRankScore,
    RepeatedRuns,
    TaskBootstrap,
    WeightSimplex,
)

TASKS = pd.DataFrame(
    {"model": ["ada"] * 3 + ["bob"] * 3, "task": ["law", "sort", "add"] * 2}
).assign(category=["text", "code", "math"] * 2)
SCORES = [0.9, 0.5, 0.4, 0.6, 0.7, 0.3]
RUNS = pd.DataFrame({"model": ["bob", "ada"], "dataset": "law", "task": "law", "language": "da"})
MATRICES = TASKS.assign(tp=40, fp=[10, 5, 5, 10, 5, 5], fn=5, tn=45)
FITTED = [
    TaskBootstrap(200, random_state=0).fit(TASKS, SCORES, n=100),
    HierarchicalBetaBinomial(n_draws=200, random_state=0).fit(TASKS, SCORES, n=100),
    ConfusionPosterior(n_draws=200, random_state=0).fit(MATRICES),
    RepeatedRuns().fit(RUNS[["model"]], [[0.5, 0.6, 0.4], [0.7, 0.8, 0.9]]),
    MeanRankScore().fit(RUNS, [[0.5, 0.6, 0.4], [0.7, 0.8, 0.9]]),
    WeightSimplex(resolution=5).fit(TASKS, SCORES, n=100),
    WeightSimplex(resolution=5).fit_draws(
        TaskBootstrap(200, random_state=0).fit(TASKS, SCORES, n=100)
    ),
]


def names(case):
    return type(case).__name__ if hasattr(case, "estimate") else case.__name__


def test_every_estimator_of_tasks_is_here():
    classes = [getattr(skbench.tasks, name) for name in skbench.tasks.__all__]
    estimators = {c for c in classes if inspect.isclass(c) and hasattr(c, "fit")}
    assert estimators == {type(fitted) for fitted in FITTED}


@pytest.mark.parametrize("fitted", FITTED, ids=names)
def test_tasks_have_estimates_and_labels(fitted):
    e = fitted.estimate()
    assert isinstance(e, skbench.Estimate)
    assert fitted.labels_.equals(e.labels) and set(e.labels) == {"ada", "bob"}
    assert e.confidence_level == 0.95
    narrow = fitted.estimate(confidence_level=0.5)
    assert narrow.confidence_level == 0.5
    known = np.isfinite(e.low)
    assert (narrow.high - narrow.low < e.high - e.low)[known].all()
    assert known.all() != isinstance(fitted, MeanRankScore)


def test_the_simplex_at_one_weighting():
    """Compare with weighted scores, variances p (1 - p) / n and the covariance of draws."""
    plain, drawn = FITTED[-2:]
    w = np.array([0.5, 0.3, 0.2])
    weights = {"text": 0.5, "code": 0.3, "math": 0.2}
    p = np.reshape(SCORES, (2, 3))
    e = plain.estimate(weights)
    np.testing.assert_allclose(e.value, p @ w)
    np.testing.assert_allclose(e.standard_error, np.sqrt(p * (1 - p) / 100 @ np.square(w)))
    fitted = TaskBootstrap(200, random_state=0).fit(TASKS, SCORES, n=100)
    means = skbench.aggregate(fitted, by="category")
    draws = means.values @ [weights[name] for name in means.labels[1]]
    own = drawn.estimate(weights)
    np.testing.assert_allclose(own.value, draws.mean(axis=0))
    np.testing.assert_allclose(own.standard_error, draws.std(axis=0, ddof=1))
    with pytest.raises(ValueError):
        plain.estimate(dict.fromkeys(weights, 1))


@pytest.mark.parametrize(
    "display", [getattr(skbench.plot, n) for n in skbench.plot.__all__], ids=names
)
def test_displays_draw_on_ax_and_keep_ax_and_figure(display):
    assert list(inspect.signature(display.plot).parameters)[1] == "ax"
    assert "    ax_ : " in display.__doc__ and "    figure_ : " in display.__doc__


def _with_levels():
    for name in skbench.__all__:
        found = getattr(skbench, name)
        if inspect.isclass(found) and hasattr(found, "fit") and hasattr(found, "estimate"):
            yield found


@pytest.mark.parametrize("estimator", list(_with_levels()), ids=lambda c: c.__name__)
def test_estimate_takes_the_level(estimator):
    default = inspect.signature(estimator.estimate).parameters["confidence_level"].default
    own = "confidence_level" in inspect.signature(estimator).parameters
    assert default == (None if own else 0.95)
