import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference.ranking_slow import counted_ranks

from skbench.stats.ranking import (
    average_ranks,
    average_ranks_in_bins,
    average_ranks_with_noise,
    rank_probabilities,
    ranks,
    ranks_by_geometric_mean,
    ranks_by_mean,
)

TIES = ["average", "best", "worst"]
SCHEMES = {
    "avg": lambda draws, rng: ranks_by_mean(draws),
    "geo": lambda draws, rng: ranks_by_geometric_mean(draws),
    "avr": lambda draws, rng: average_ranks(draws),
    "noise": average_ranks_with_noise,
    "bins": lambda draws, rng: average_ranks_in_bins(draws),
}


@pytest.mark.parametrize("ties", TIES)
def test_ranks_are_counts(ties):
    rng = np.random.default_rng(0)
    values = rng.integers(0, 5, (50, 8))  # many ties
    expected = [counted_ranks(row, ties) for row in values]
    assert_array_equal(ranks(values, ties), expected)
    assert_array_equal(ranks(values.reshape(5, 10, 8), ties), np.reshape(expected, (5, 10, 8)))


@pytest.mark.parametrize("ties", TIES)
def test_ranks_at_the_edges(ties):
    assert_array_equal(ranks([3.0], ties), [1])
    assert_array_equal(ranks([0.2, np.nan, 0.3], ties), [2, np.nan, 1])
    same = ranks([1.0, 1.0, 1.0], ties)
    assert_array_equal(same, {"average": [2] * 3, "best": [1] * 3, "worst": [3] * 3}[ties])
    assert ranks(np.empty((0, 4)), ties).shape == (0, 4)


def test_values_equal_but_for_rounding_tie():
    sums = np.array([0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1, 0.2, 0.2 * (1 + 1e-9)])
    assert sums[0] != sums[1]
    assert_array_equal(ranks(sums), [1.5, 1.5, 4, 3])
    assert_array_equal(
        ranks([-np.inf, np.inf, 1.0, np.nan, -np.inf, np.inf]), [4.5, 1.5, 3, np.nan, 4.5, 1.5]
    )


def test_average_ranks_sum_to_the_same_total():
    values = np.random.default_rng(1).integers(0, 3, (20, 7))
    assert_array_equal(ranks(values).sum(axis=1), 28)


def test_average_ranks_are_blind_to_the_scale_of_a_task():
    scores = np.random.default_rng(3).random((6, 5))
    stretched = np.exp(scores * [1, 10, 0.1, 3, 5])
    assert_array_equal(average_ranks(stretched), average_ranks(scores))


def test_whole_points_stay_in_their_bin():
    # k / 100 * 100 is below k for k = 29, 57, 58 and others.
    points = np.arange(101) / 100
    scores = np.column_stack([points, points + 0.005]).reshape(-1, 1)
    worst = average_ranks_in_bins(scores)
    assert_array_equal(worst, np.repeat(np.arange(202, 0, -2), 2))


def test_bins_give_the_worst_rank():
    assert_array_equal(average_ranks_in_bins([[0.701], [0.709], [0.699]]), [2, 2, 3])


def test_noise_is_one_point_and_comes_from_the_generator():
    scores = np.broadcast_to([[0.5], [0.51]], (40_000, 2, 1))
    given = average_ranks_with_noise(scores, np.random.default_rng(0))
    share = np.mean(given[:, 1] == 1)
    # Phi(1 / sqrt 2) = .7602; five binomial standard deviations
    assert_allclose(share, 0.76025, rtol=0, atol=5 * np.sqrt(0.76 * 0.24 / 40_000))
    assert_array_equal(given, average_ranks_with_noise(scores, np.random.default_rng(0)))


def test_zero_makes_a_geometric_mean_last():
    assert_array_equal(ranks_by_geometric_mean([[0.0, 1.0], [0.1, 0.1], [0.0, 0.5]]), [2.5, 1, 2.5])


@pytest.mark.parametrize("scheme", ["avg", "geo", "avr", "bins"])
def test_weights_are_repetitions_of_tasks(scheme):
    function = {
        "avg": ranks_by_mean,
        "geo": ranks_by_geometric_mean,
        "avr": average_ranks,
        "bins": average_ranks_in_bins,
    }[scheme]
    scores = np.random.default_rng(4).random((3, 6, 4))
    repeated = np.repeat(scores, [3, 1, 0, 2], axis=-1)
    assert_allclose(function(scores, weights=[3, 1, 0, 2]), function(repeated), rtol=1e-12)
    assert_allclose(function(scores, weights=[1] * 4), function(scores), rtol=1e-12)


def test_a_task_without_weight_may_hold_a_zero():
    assert_array_equal(ranks_by_geometric_mean([[0.0, 0.9], [0.1, 0.5]], [0, 1]), [1, 2])


@pytest.fixture(scope="module")
def vtab(gold_folder):
    gold = json.loads((gold_folder / "longjohn_rank_schemes.json").read_text())
    counts = pd.read_csv(gold_folder / "vtab1k_counts_reconstructed.csv", index_col="model")
    n_items = np.array([gold["n_items"][task] for task in counts.columns])
    counts = counts.loc[gold["models"]].to_numpy()
    draws = np.random.default_rng(0).binomial(n_items, counts / n_items, (2000, *counts.shape))
    return gold["schemes"], draws / n_items


@pytest.mark.parametrize("scheme", SCHEMES)
def test_five_aggregations_of_vtab(vtab, scheme):
    gold, draws = vtab
    of_draws = SCHEMES[scheme](draws, np.random.default_rng(1))
    # 2,000 and 5,000 draws: means of ranks with standard deviation up to .5 differ by .02.
    assert_allclose(of_draws.mean(axis=0), gold[scheme]["mean"], rtol=0, atol=0.05)
    ends = np.quantile(of_draws, [0.025, 0.975], axis=0)
    whole = scheme in ("avg", "geo")
    difference = np.abs(ends - gold[scheme]["ci95"])
    # Ends of whole ranks may jump where a rank has a probability of about 2.5%.
    assert np.sum(difference > 1e-9) <= 2 if whole else difference.max() < 0.2


def test_probabilities_count_draws():
    rng = np.random.default_rng(5)
    draws = np.argsort(rng.random((500, 6)), axis=1) + 1
    expected = [[np.mean(draws[:, i] == r) for r in range(1, 7)] for i in range(6)]
    assert_allclose(rank_probabilities(draws), expected, rtol=0, atol=1e-12)


def test_probabilities_keep_mean_ranks_under_ties():
    draws = ranks(np.random.default_rng(6).integers(0, 3, (300, 5)))
    table = rank_probabilities(draws)
    assert_allclose(table.sum(axis=1), 1, rtol=1e-12)
    assert_allclose(table @ np.arange(1, 6), draws.mean(axis=0), rtol=1e-12)


def test_probabilities_of_one_model():
    assert_array_equal(rank_probabilities([[1.0], [1.0]]), [[1.0]])
