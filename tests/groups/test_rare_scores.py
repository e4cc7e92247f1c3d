"""Direct intervals of graded scores that fail rarely: one worst case more, where bounds are known."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from scipy.stats import t as student_t

from skbench import DirectEstimator, MixedModel, summarize_items
from skbench.containers import Sampling

TRUTH = 0.95 * 0.97


def rare_failures(rng, n_groups, n):
    """Item rows: scores near .97; one in twenty is 0."""
    scores = np.clip(rng.normal(0.97, 0.01, (n_groups, n)), 0, 1)
    scores[rng.random(scores.shape) < 0.05] = 0.0
    groups = np.repeat(np.arange(n_groups), n)
    return pd.DataFrame({"topic": groups, "item": np.arange(groups.size), "score": scores.ravel()})


def failing_passages(rng, n_groups, n_passages, share, alike):
    """Item rows in passages of five: scores near .97, of which whole passages or items fall to 0."""
    shape, units = (n_groups, n_passages, 5), (n_groups, n_passages, 1 if alike else 5)
    scores = np.clip(rng.normal(0.97, 0.01, shape), 0, 1)
    scores = np.where(rng.random(units) < share, 0.0, scores)
    topic, passage, _ = np.indices(shape).reshape(3, -1)
    names = {"topic": topic, "passage": passage + n_passages * topic, "item": range(topic.size)}
    return pd.DataFrame(names | {"score": scores.ravel()})


@pytest.mark.parametrize("alike", [True, False], ids=["passages", "items"])
@pytest.mark.parametrize("n_passages, share", [(10, 0.02), (20, 0.05), (40, 0.1)])
def test_direct_intervals_cover_where_whole_passages_fail(n_passages, share, alike):
    rows = failing_passages(np.random.default_rng(n_passages), 400, n_passages, share, alike)
    e = DirectEstimator().fit(**summarize_items(rows, "topic", cluster="passage").fit_args)
    e, truth = e.estimate(), 0.97 * (1 - share)
    assert e.guarantee == "each group, on average over accuracies"
    assert np.sum((e.low <= truth) & (e.high >= truth)) >= binom.ppf(0.001, 400, 0.93)


def test_graded_passages_that_vary_pay_little():
    rng = np.random.default_rng(3)
    rows = failing_passages(rng, 200, 40, 0.0, True)
    mean = rng.beta(7, 3, 200 * 40)[rows["passage"]]
    rows["score"] = rng.beta(10 * mean, 10 * (1 - mean))
    width = []
    for bounds in (None, (-np.inf, np.inf)):
        summary = summarize_items(rows, "topic", cluster="passage", bounds=bounds)
        e = DirectEstimator("t").fit(**summary.fit_args).estimate()
        width.append(np.mean(e.high - e.low))
    assert 1.05 < width[0] / width[1] < 1.2


def test_warns_of_means_without_bounds():
    rows = rare_failures(np.random.default_rng(4), 3, 30)
    g = summarize_items(rows, "topic")
    with pytest.warns(UserWarning, match="no bounds"):
        DirectEstimator("t").fit(y=g.z, sigma2=g.sigma2, n=g.n)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        known = DirectEstimator(bounds=(0, 1)).fit(y=g.z, sigma2=g.sigma2, n=g.n).estimate()
    np.testing.assert_array_equal(known.low, DirectEstimator().fit(**g.fit_args).estimate().low)


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
    with pytest.raises(ValueError, match="bounds"):
        summarize_items(rows, "topic", bounds=(0, 0.9))


def test_estimators_that_shrink_ignore_the_worst_case():
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
