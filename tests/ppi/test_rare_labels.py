"""Labels from 1 to 5 and a judge that misses failures: each end adds one label."""

import numpy as np
import pytest
from scipy.stats import binom

from skbench import ClassicalMean, PPIMean, StratifiedPPI

SETS, N_ROWS = 400, 1000


def overlooked(rng, share, n_labels):
    """Scores, all labels and known labels; failures get a high score."""
    judge = rng.choice([4.0, 5.0], N_ROWS, p=[0.5, 0.5])
    labels = np.clip(judge + rng.choice([-1, 0, 0, 0, 1], N_ROWS), 1, 5)
    labels[rng.random(N_ROWS) < share] = 1.0
    return judge, labels, np.where(np.arange(N_ROWS) < n_labels, labels, np.nan)


def truth_of(share):
    # 4 and 5 are equally common; a fifth of the scores are off by one, at most 5.
    return (1 - share) * (0.5 * 4 + 0.5 * (5 - 0.2)) + share


def covered(estimator, share, n_labels, n_sets=SETS):
    rng = np.random.default_rng([n_labels, int(1000 * share)])
    hits, widths = [], []
    for _ in range(n_sets):
        judge, _, y = overlooked(rng, share, n_labels)
        e = estimator.fit(judge, y).estimate()
        hits.append(e.low[0] <= truth_of(share) <= e.high[0])
        widths.append(e.high[0] - e.low[0])
    return np.sum(hits), np.mean(widths)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_few_labels_without_a_failure_cover():
    hits, _ = covered(PPIMean(), 0.05, 20, 60)
    assert hits >= binom.ppf(0.001, 60, 0.93)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("estimator", [PPIMean(), StratifiedPPI()], ids=["mean", "stratified"])
@pytest.mark.parametrize("n_labels", [20, 60, 100])
@pytest.mark.parametrize("share", [0.02, 0.05, 0.1])
def test_intervals_cover(estimator, n_labels, share):
    hits, _ = covered(estimator, share, n_labels)
    assert hits >= binom.ppf(0.001, SETS, 0.93)


def test_scales_are_recognised_and_bounds_checked():
    rng = np.random.default_rng(0)
    judge, _, y = overlooked(rng, 0.05, 20)
    found = PPIMean().fit(judge, y)
    assert found.bounds_ == (1, 5)
    given = PPIMean(bounds=(1, 5)).fit(judge, y)
    assert given.estimate() == found.estimate() or np.array_equal(
        given.estimate().low, found.estimate().low
    )
    assert PPIMean().fit(7.3 * judge, 7.3 * y).bounds_ is None
    with pytest.raises(ValueError, match=r"bounds=\(1, 4\)"):
        PPIMean(bounds=(1, 4)).fit(judge, y)


@pytest.mark.parametrize("estimator", [PPIMean(), StratifiedPPI(), ClassicalMean()], ids=repr)
def test_as_many_labels_as_needed_give_the_width(estimator):
    """Twice the labels with the same variance give the interval of `labels_needed`."""
    rng = np.random.default_rng(3)
    judge, _, y = overlooked(rng, 0.1, 150)
    fit = estimator.fit(judge, y)
    e = fit.estimate()
    width = float(e.high[0] - e.low[0])
    assert fit.labels_needed(width) == pytest.approx(150, abs=1)
    assert fit.labels_needed(0.8 * width) > 200
