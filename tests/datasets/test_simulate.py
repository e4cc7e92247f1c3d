import numpy as np
import pytest
from pandas.testing import assert_frame_equal, assert_series_equal
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import binom, chi2, norm

from skbench.datasets import make_items

ALL_STDS_ZERO = {"topic_std": 0, "model_std": 0, "interaction_std": 0, "item_std": 0}


def integral(function, log_odds, item_std):
    """Mean of function(expit(log_odds - item_std * N(0, 1))) by adaptive quadrature."""
    return quad(
        lambda x: function(expit(log_odds - item_std * x)) * norm.pdf(x),
        -12,
        12,
        points=[log_odds / item_std],
        epsabs=1e-13,
        epsrel=1e-13,
        limit=500,
    )[0]


def expected_score(log_odds, item_std):
    """Mean score at these log odds over all items there could be."""
    stds = ALL_STDS_ZERO | {"item_std": item_std}
    return [make_items(1, 1, 1, intercept=eta, **stds).truth.item() for eta in log_odds]


def counts_and_sizes(data):
    by_group = data.items.groupby(["model", "topic"])["score"]
    return by_group.sum().loc[data.truth.index], by_group.size().loc[data.truth.index]


def pearson_band(n_groups):
    return chi2.ppf([0.0005, 0.9995], n_groups)


def scores_by_model(data):
    """Scores of shape (n_models, n_items); rows of all models come in one order."""
    return data.items["score"].to_numpy().reshape(data.items["model"].nunique(), -1)


def pair_correlation(first, second, mean):
    """Correlation of two 0/1 scores with a known mean."""
    return np.mean((first - mean) * (second - mean)) / (mean * (1 - mean))


@pytest.mark.parametrize("item_std", [0.1, 0.5, 1, 2, 5, 20, 100])
def test_truth_is_the_integral(item_std):
    log_odds = [-6.0, -1.0, 0.0, 0.5, 4.0]
    slow = [integral(lambda p: p, eta, item_std) for eta in log_odds]
    np.testing.assert_allclose(expected_score(log_odds, item_std), slow, rtol=0, atol=1e-13)


@pytest.mark.parametrize("shared_items", [True, False])
@pytest.mark.parametrize("item_std", [0, 2])
def test_counts_are_binomial_around_the_truth(shared_items, item_std):
    data = make_items(4, 15, 2_000, item_std=item_std, shared_items=shared_items, random_state=0)
    k, n = counts_and_sizes(data)
    # Items of one group are independent draws, so each count is exactly binomial;
    # 1e-6 in each tail of 60 groups is an error in 1 of 8000 runs.
    low, high = binom.ppf(np.array([[1e-6], [1 - 1e-6]]), n, data.truth)
    assert np.all((low <= k) & (k <= high))


@pytest.mark.slow
def test_spread_of_unshared_counts_is_binomial():
    data = make_items(10, 50, 400, intercept=1.0, shared_items=False, random_state=0)
    k, n = counts_and_sizes(data)
    low, high = pearson_band(500)
    assert low <= np.sum((k - n * data.truth) ** 2 / (n * data.truth * (1 - data.truth))) <= high


def test_continuous_scores_have_mean_truth_and_variance_of_a_sixth():
    data = make_items(2, 5, 10_000, score="continuous", item_std=0, random_state=0)
    assert data.items["score"].between(0, 1).all()
    by_group = data.items.groupby(["model", "topic"])["score"]
    variance = data.truth * (1 - data.truth) / 6
    error = (by_group.mean() - data.truth) / np.sqrt(variance / 10_000)
    assert error.abs().max() < norm.ppf(1 - 1e-6)
    # Kurtosis of these Beta laws is below 6, so a sample variance has a relative
    # standard error below sqrt(5 / 10000) = .023; the band is four of them.
    np.testing.assert_allclose(by_group.var(), variance.loc[by_group.var().index], rtol=0.09)


def test_continuous_scores_with_difficulties_keep_the_truth():
    data = make_items(2, 5, 10_000, score="continuous", item_std=1.5, random_state=1)
    by_group = data.items.groupby(["model", "topic"])["score"]
    error = (by_group.mean() - data.truth) / by_group.sem()
    assert error.abs().max() < norm.ppf(1 - 1e-6)


def test_binary_and_continuous_scores_have_one_truth():
    binary = make_items(random_state=0)
    continuous = make_items(score="continuous", random_state=0)
    assert_series_equal(binary.truth, continuous.truth)


def test_shared_items_correlate_models_as_in_the_integral():
    kwargs = {**ALL_STDS_ZERO, "item_std": 1.5, "random_state": 0}
    mean, second_moment = (integral(lambda p, k=k: p**k, 0.0, 1.5) for k in (1, 2))
    expected = (second_moment - mean**2) / (mean * (1 - mean))
    size = 40_000
    band = 4 / np.sqrt(size)  # the standard error of a correlation is at most 1 / sqrt(n)
    shared = pair_correlation(*scores_by_model(make_items(2, 1, size, **kwargs)), mean)
    assert expected > 0.2
    assert shared == pytest.approx(expected, abs=band)
    own = make_items(2, 1, size, shared_items=False, **kwargs)
    assert pair_correlation(*scores_by_model(own), mean) == pytest.approx(0, abs=band)


def test_ids_show_whether_items_are_shared():
    shared = make_items(3, 4, 5, random_state=0).items
    assert (shared.groupby(["topic", "item"])["model"].nunique() == 3).all()
    own = make_items(3, 4, 5, shared_items=False, random_state=0).items
    assert (own.groupby(["topic", "item"])["model"].nunique() == 1).all()
    assert (own.groupby("cluster")["model"].nunique() == 1).all()


@pytest.mark.parametrize("correlation", [0.0, 0.5, 1.0])
def test_clusters_correlate_scores_as_in_the_integral(correlation):
    n_pairs = 40_000
    data = make_items(
        1,
        1,
        2 * n_pairs,
        **{**ALL_STDS_ZERO, "item_std": 2},
        cluster_size=2,
        cluster_correlation=correlation,
        random_state=0,
    )
    # Given what a cluster has in common, its items are independent with a mean
    # that averages over what is the item's own.
    common, own = 2 * np.sqrt(correlation), 2 * np.sqrt(1 - correlation)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    conditional = expit(common * nodes[:, None] - own * nodes) @ weights / weights.sum()
    expected = (np.sum(weights * conditional**2) / weights.sum() - 0.25) / 0.25
    first, second = data.items["score"].to_numpy().reshape(n_pairs, 2).T
    assert data.truth.item() == pytest.approx(0.5)
    assert pair_correlation(first, second, 0.5) == pytest.approx(expected, abs=4 / np.sqrt(n_pairs))


def test_clusters_have_their_size_and_stay_in_a_topic():
    items = make_items(2, 3, [7, 3, 6], cluster_size=3, random_state=0).items
    one = items[items["model"] == "model-0"]
    assert one.groupby("cluster").size().tolist() == [3, 3, 1, 3, 3, 3]
    assert (items.groupby("cluster")["topic"].nunique() == 1).all()
    assert (items.groupby("cluster")["model"].nunique() == 2).all()


def test_one_item_per_cluster_by_default():
    items = make_items(2, 3, 4, random_state=0).items
    assert (items.groupby("cluster")["item"].nunique() == 1).all()


def test_rows_follow_n_items():
    n_items = np.array([1, 12, 3])
    data = make_items(2, 3, n_items, random_state=0)
    sizes = data.items.groupby(["model", "topic"]).size()
    assert sizes.loc["model-0"].tolist() == n_items.tolist()
    assert sizes.loc["model-1"].tolist() == n_items.tolist()
    assert not data.items.duplicated(["model", "item"]).any()
    assert set(data.items["score"]) <= {0, 1}
    assert len(data.truth) == 6


def test_names_sort_as_numbers():
    names = make_items(1, 12, 1, random_state=0).features.index
    assert names[0] == "topic-00"
    assert names.is_monotonic_increasing


def test_effects_have_their_standard_deviations():
    def spread(**kwargs):
        arguments = {**ALL_STDS_ZERO, "n_models": 1, "n_topics": 1, **kwargs}
        truth = make_items(n_items=1, random_state=0, **arguments).truth
        return np.sum(logit(truth) ** 2)

    low, high = pearson_band(1000)
    assert low <= spread(n_topics=1000, topic_std=0.7) / 0.7**2 <= high
    assert low <= spread(n_models=1000, model_std=0.4) / 0.4**2 <= high
    low, high = pearson_band(2500)
    assert low <= spread(n_models=50, n_topics=50, interaction_std=0.2) / 0.2**2 <= high


def test_topics_are_common_to_models_and_models_to_topics():
    truth = make_items(3, 5, 1, interaction_std=0, item_std=0, random_state=0).truth
    log_odds = logit(truth).unstack("topic")
    steps = log_odds.sub(log_odds.iloc[0], axis=1)
    np.testing.assert_allclose(steps.std(axis=1), 0, atol=1e-12)
    assert log_odds.std(axis=1).min() > 0.1


def test_intercept_is_the_log_odds_of_the_middle():
    truth = make_items(2, 3, 1, **ALL_STDS_ZERO, intercept=2.0, random_state=0).truth
    np.testing.assert_allclose(truth, 0.880797, rtol=1e-6)  # 1 / (1 + exp(-2))


def test_feature_without_noise_is_the_topic_effect():
    data = make_items(
        1, 30, 1, **{**ALL_STDS_ZERO, "topic_std": 1}, feature_noise=0, random_state=0
    )
    np.testing.assert_allclose(data.features["feature"], logit(data.truth))


def test_feature_noise_has_its_standard_deviation():
    data = make_items(
        1, 1000, 1, **{**ALL_STDS_ZERO, "topic_std": 1}, feature_noise=0.5, random_state=0
    )
    noise = data.features["feature"].to_numpy() - logit(data.truth).to_numpy()
    low, high = pearson_band(1000)
    assert low <= np.sum(noise**2) / 0.5**2 <= high


def test_seeds():
    first, again = make_items(random_state=3), make_items(random_state=3)
    assert_frame_equal(first.items, again.items)
    assert_series_equal(first.truth, again.truth)
    assert_frame_equal(first.features, again.features)
    other = make_items(random_state=4)
    assert not np.allclose(first.truth, other.truth)
    assert not first.items["score"].equals(other.items["score"])


def test_one_seed_has_one_truth_however_the_items_are_drawn():
    truth = make_items(random_state=0).truth
    for kwargs in (
        {"n_items": 7},
        {"shared_items": False},
        {"cluster_size": 4},
        {"cluster_correlation": 0.9},
    ):
        assert_series_equal(make_items(random_state=0, **kwargs).truth, truth)


def test_extreme_log_odds():
    data = make_items(2, 2, 50, intercept=60.0, score="continuous", random_state=0)
    np.testing.assert_allclose(data.truth, 1)
    np.testing.assert_allclose(data.items["score"], 1)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"n_items": 0},
        {"n_items": [4, -1, 2], "n_topics": 3},
        {"n_items": [4, 5]},
        {"n_items": 2.5},
    ],
)
def test_errors_name_the_argument(kwargs):
    with pytest.raises(ValueError, match=next(iter(kwargs))):
        make_items(**kwargs)
