"""Direct intervals of graded scores that fail rarely: one worst case more, where bounds are known."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from scipy.stats import t as student_t

from skbench import DirectEstimator, MixedModel, summarize_items
from skbench.containers import Sampling

TRUTH = 0.95 * 0.97


def rare_failures(rng, n_groups, n):
    """Item rows: scores near .97, of which one in twenty falls to 0."""
    scores = np.clip(rng.normal(0.97, 0.01, (n_groups, n)), 0, 1)
    scores[rng.random(scores.shape) < 0.05] = 0.0
    groups = np.repeat(np.arange(n_groups), n)
    return pd.DataFrame({"topic": groups, "item": np.arange(groups.size), "score": scores.ravel()})


@pytest.mark.parametrize("n", [20, 60, 200])
def test_direct_intervals_cover(n):
    rows = rare_failures(np.random.default_rng(n), 400, n)
    e = DirectEstimator().fit(**summarize_items(rows, "topic").fit_args).estimate()
    covered = np.sum((e.low <= TRUTH) & (e.high >= TRUTH))
    assert covered >= binom.ppf(0.001, 400, 0.93)


def test_ends_are_those_of_the_formula_and_bounds_may_be_left_out():
    rows = rare_failures(np.random.default_rng(0), 3, 30)
    summary = summarize_items(rows, "topic")
    e = DirectEstimator().fit(**summary.fit_args).estimate()
    x = rows["score"].to_numpy().reshape(3, 30)
    mean = x.mean(axis=1)
    own = x.var(axis=1, ddof=1) / 30 * 30 / 31 + 30 / 31**2 / 29 * mean**2
    np.testing.assert_allclose(e.low, mean - student_t.ppf(0.975, 29) * np.sqrt(own))
    free = summarize_items(rows, "topic", bounds=(-np.inf, np.inf))
    assert free.sampling.bounds is None
    with pytest.warns(UserWarning, match="skewed"):
        t = DirectEstimator().fit(**free.fit_args).estimate()
    assert np.all(t.low > e.low)
    with pytest.raises(ValueError, match="outside bounds"):
        summarize_items(rows, "topic", bounds=(0, 0.9))


def test_estimators_that_shrink_do_not_see_the_worst_case():
    rows = rare_failures(np.random.default_rng(1), 12, 30)
    bounded = summarize_items(rows, "topic")
    free = summarize_items(rows, "topic", bounds=(-np.inf, np.inf))
    found = [MixedModel().fit(**s.fit_args).estimate() for s in (bounded, free)]
    np.testing.assert_array_equal(found[0].value, found[1].value)
    np.testing.assert_array_equal(found[0].low, found[1].low)


def test_bounds_travel_with_the_sampling():
    s = Sampling("continuous", bounds=(1, 5))
    assert pickle.loads(pickle.dumps(s)) == s != Sampling("continuous")
    assert "bounds 1 and 5" in repr(s)
    with pytest.raises(ValueError, match="bounds"):
        Sampling("continuous", bounds=(5, 1))
    rows = rare_failures(np.random.default_rng(2), 3, 10)
    labels = rows.assign(score=np.tile([1, 4, 5, 5, 4], 6))
    assert summarize_items(labels, "topic").sampling.bounds == (1, 5)
