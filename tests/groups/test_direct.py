import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, t

from skbench import DirectEstimator, summarize_items
from skbench.groups.direct import INTERVALS
from skbench.stats.intervals import binomial
from skbench.stats.intervals.binomial import sampling_variance

COUNT_INTERVALS = ("wilson", "clopper-pearson", "jeffreys", "agresti-coull", "wald")


def fitted(interval, z, n, sigma2=0.01, **options):
    z = np.asarray(z, dtype=float)
    return DirectEstimator(interval, **options).fit(np.zeros((len(z), 1)), z, sigma2, n)


def test_auto_takes_wilson_for_counts():
    direct = fitted("auto", [0.7, 0.0], [10, 4])
    low, high = binomial.wilson_interval([7, 0], [10, 4], 0.9)
    estimate = direct.estimate(0.9)
    np.testing.assert_array_equal(estimate.low, low)
    np.testing.assert_array_equal(estimate.high, high)
    assert estimate.method == "direct (Wilson)"
    assert estimate.guarantee == "each group, on average over accuracies"


def test_auto_takes_t_for_other_scores():
    estimate = fitted("auto", [7.3, -2.0], [30, 4], sigma2=[0.04, 0.01]).estimate()
    np.testing.assert_allclose(estimate.high, [7.3, -2.0] + t.ppf(0.975, [29, 3]) * [0.2, 0.1])


def test_auto_is_normal_without_sizes():
    estimate = fitted("auto", [0.7], None, sigma2=0.04).estimate()
    np.testing.assert_allclose(estimate.high, 0.7 + norm.ppf(0.975) * 0.2)


def test_auto_warns_of_t_for_small_bounded_groups():
    with pytest.warns(UserWarning, match="2 of 2 groups.*distance to 0"):
        fitted("auto", [0.31, 0.42], [10, 30])


DISTRIBUTIONS = {
    "lognormal": (lambda rng, shape: rng.lognormal(0, 1, shape), True),
    "mostly 0": (lambda rng, shape: (rng.random(shape) < 0.1) * rng.random(shape), True),
    "mostly 100": (
        lambda rng, shape: 100 - (rng.random(shape) < 0.2) * rng.uniform(0, 90, shape),
        True,
    ),
    "beta(5, 5)": (lambda rng, shape: rng.beta(5, 5, shape), False),
    "normal": (lambda rng, shape: rng.normal(3, 1, shape), False),
    "uniform from 0 to 100": (lambda rng, shape: rng.uniform(0, 100, shape), False),
}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("n", [8, 20])
def test_auto_warns_of_skewness_and_not_of_bounds(distribution, n):
    draw, skewed = DISTRIBUTIONS[distribution]
    rng = np.random.default_rng(0)
    warned = 0
    for _ in range(20):
        scores = draw(rng, (25, n))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted("auto", scores.mean(axis=1), [n] * 25, sigma2=scores.var(axis=1, ddof=1) / n)
        warned += any("skewed" in str(w.message) for w in caught)
    assert warned >= 19 if skewed else warned <= 1


@pytest.mark.parametrize(
    "interval, promise",
    [
        ("clopper-pearson", "each group"),
        ("bounded", "each group"),
        ("jeffreys", "each group, on average over accuracies"),
        ("t", "each group, unless skewed"),
        ("wald", "none"),
    ],
)
def test_words_are_what_the_formulas_hold(interval, promise):
    assert fitted(interval, [0.7, 0.2], [10, 10]).estimate().guarantee == promise


def test_auto_warns_of_t_without_variation():
    with pytest.warns(UserWarning, match="1 of 2 .*sigma2 = 0") as caught:
        DirectEstimator().fit(np.zeros((2, 1)), [1.23, 4.56], [0.0, 0.01], [50, 50])
    assert len(caught) == 1


def test_a_group_of_one_score_is_named():
    rows = pd.DataFrame({"topic": ["a", "a", "b"], "score": [0.3, 0.4, 0.5]})
    with pytest.warns(UserWarning, match="1 of 2 .*single .*'b'"):
        DirectEstimator().fit(**summarize_items(rows, "topic").fit_args)


def test_one_item_has_no_t_interval():
    estimate = fitted("t", [3.2, 5.0], [1, 3]).estimate()
    assert np.isnan(estimate.low[0])
    assert np.isfinite(estimate.low[1])


@pytest.mark.parametrize("kind", COUNT_INTERVALS)
def test_named_intervals_are_those_of_stats(kind):
    low, high = getattr(binomial, f"{kind.replace('-', '_')}_interval")([7], [10])
    estimate = fitted(kind, [0.7], [10]).estimate()
    np.testing.assert_array_equal([estimate.low, estimate.high], [low, high])


def test_without_z_nothing_is_known():
    direct = fitted("auto", [0.7, 0.5], [10, 10])
    assert np.isnan(direct.predict(np.zeros((2, 1)))).all()
    assert np.isnan(direct.predict_interval(np.zeros((2, 1)))).all()


@pytest.mark.parametrize("kind", [*COUNT_INTERVALS, "t", "bounded"])
def test_sizes_are_needed(kind):
    with pytest.raises(ValueError, match='n=.*interval="normal"'):
        fitted(kind, [0.7], None).estimate()


def test_counts_are_needed():
    with pytest.raises(ValueError, match="wilson.*position 1 .*3.3"):
        fitted("wilson", [0.7, 0.33], [10, 10])


def test_scores_outside_the_bounds_are_refused():
    with pytest.raises(ValueError, match="bounds.* 0 to 1.*36.9"):
        fitted("bounded", [0.5, 36.9], [10, 10])
    direct = fitted("bounded", [0.5], [10])
    with pytest.raises(ValueError):
        direct.predict_interval(np.zeros((1, 1)), [-2.0], 0.1, [10])
    fitted("bounded", [1 + 1e-15], [10]).estimate()


def test_edge_groups(edge_groups):
    for kind in set(INTERVALS) - {"t"}:
        estimate = DirectEstimator(kind).fit(**edge_groups).estimate()
        assert np.isfinite(estimate.low).all()
        assert isinstance(estimate.labels, pd.Index)


def test_clusters_are_no_counts_by_accident():
    # 3 clusters of 4 equal answers: z * n is whole, but the items are not independent.
    items = pd.DataFrame({"topic": "t", "passage": np.repeat([0, 1, 2], 4)})
    items["score"] = np.where(items["passage"] == 0, 0.0, 1.0)
    g = summarize_items(items, by="topic", cluster="passage")
    assert (g.z * g.n_independent).round(12).item() == 2
    estimator = DirectEstimator().fit(**g.fit_args)
    assert estimator.interval_ == "t"
    with pytest.raises(ValueError):
        DirectEstimator(interval="wilson").fit(**g.fit_args)


def test_shares_of_right_answers_need_neither_features_nor_variances():
    z = pd.Series([0.7, 1.0, 0.0], index=["distribution", "art", "geo"])
    short = DirectEstimator().fit(y=z, n=10)
    full = DirectEstimator().fit(
        pd.DataFrame({"x": 0}, index=z.index), z, sampling_variance([7, 10, 0], 10), [10] * 3
    )
    for name in ("value", "low", "high", "standard_error"):
        np.testing.assert_array_equal(
            getattr(short.estimate(), name), getattr(full.estimate(), name)
        )
    assert short.labels_.equals(z.index)
    assert DirectEstimator().fit(y=[0.7, 1.0], n=[10, 20]).labels_.tolist() == [0, 1]
    with pytest.raises(ValueError):  # 3.5 right answers
        DirectEstimator().fit(y=[0.35], n=10)
    with pytest.raises(ValueError):
        DirectEstimator().fit()


def test_ends_are_clipped_to_the_bounds():
    """Scores from 0 to 100: t intervals beyond them without bounds, never with."""
    z, sigma2, n = [2.0, 99.0], [4.0, 1.0], [30, 30]
    free = DirectEstimator("t").fit(y=z, sigma2=sigma2, n=n).estimate()
    bounded = DirectEstimator("t", bounds=(0, 100)).fit(y=z, sigma2=sigma2, n=n)
    assert free.low[0] < 0 and free.high[1] > 100
    assert bounded.estimate().low[0] == 0 and bounded.estimate().high[1] == 100
    assert bounded.estimate().high[0] > free.high[0]  # one worst case more
    X = np.zeros((2, 1))
    np.testing.assert_array_equal(
        bounded.predict_interval(X, z=z, sigma2=sigma2, n=n)[:, 0], bounded.estimate().low
    )
    with pytest.raises(ValueError):
        DirectEstimator("t", bounds=(0, 50)).fit(y=z, sigma2=sigma2, n=n)
