import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from reference.ranking_slow import cheapest_orders

from skbench.stats.ranking.kemeny import (
    disagreements,
    exact_order,
    local_order,
    majority_components,
    order_cost,
)


def random_cost(rng, n_models, n_tasks=7):
    return disagreements(rng.integers(0, 6, (n_models, n_tasks)))


@pytest.mark.parametrize("n_models", [1, 2, 3, 5, 7])
def test_exact_against_every_order(n_models):
    rng = np.random.default_rng(n_models)
    for _ in range(10 if n_models < 7 else 3):
        cost = random_cost(rng, n_models)
        orders, least = cheapest_orders(cost)
        order = exact_order(cost)
        assert order.tolist() in orders
        assert order_cost(order, cost) == least


def test_gold_order_by_one_dynamic_program(gold_folder):
    gold = json.loads((gold_folder / "kemeny_vtab.json").read_text())
    counts = pd.read_csv(gold_folder / "vtab1k_counts_reconstructed.csv", index_col="model")
    cost = disagreements(counts.loc[gold["models"]])
    order = exact_order(cost)  # all 16 at once
    assert [gold["models"][i] for i in order] == gold["order"]
    assert order_cost(order, cost) == gold["cost"]
    place = [gold["models"].index(model) for model in gold["borda_order"]]
    assert order_cost(place, cost) == gold["borda_cost"]


def test_disagreements_count_tasks():
    scores = np.random.default_rng(0).integers(0, 4, (5, 9))
    expected = [[sum(t[b] > t[a] for t in scores.T) for b in range(5)] for a in range(5)]
    assert_array_equal(disagreements(scores), expected)


def test_cost_is_the_sum_of_pairs():
    cost = np.arange(9).reshape(3, 3)
    assert order_cost([2, 0, 1], cost) == cost[2, 0] + cost[2, 1] + cost[0, 1]


def test_unanimous_tasks_cost_nothing():
    scores = np.arange(6)[:, None] * np.ones(4)
    cost = disagreements(scores)
    for order in (exact_order(cost), local_order(cost)):
        assert_array_equal(order, [5, 4, 3, 2, 1, 0])
        assert order_cost(order, cost) == 0


def test_components_in_turn_are_as_cheap_as_all_at_once():
    rng = np.random.default_rng(1)
    for n_tasks in (3, 5, 9, 40):
        quality = np.arange(9)[:, None] / 3
        cost = disagreements(quality + rng.normal(size=(9, n_tasks)))
        groups = majority_components(cost)
        order = np.concatenate([g[exact_order(cost[np.ix_(g, g)])] for g in groups])
        assert sorted(order) == list(range(9))
        assert order_cost(order, cost) == order_cost(exact_order(cost), cost)


def test_every_majority_between_components_points_one_way():
    rng = np.random.default_rng(2)
    for _ in range(20):
        cost = disagreements(np.arange(8)[:, None] / 4 + rng.normal(size=(8, 5)))
        groups = majority_components(cost)
        for i, earlier in enumerate(groups):
            for later in groups[i + 1 :]:
                assert np.all(cost[np.ix_(earlier, later)] < cost[np.ix_(later, earlier)].T)


def test_a_cycle_is_one_component():
    cost = disagreements([[3, 1, 2], [2, 3, 1], [1, 2, 3]])
    assert [g.tolist() for g in majority_components(cost)] == [[0, 1, 2]]


def test_local_search_is_close_to_optimal():
    rng = np.random.default_rng(3)
    excess = []
    for _ in range(30):
        cost = random_cost(rng, 12, n_tasks=5)  # hard: hardly any agreement
        least = order_cost(exact_order(cost), cost)
        excess.append(order_cost(local_order(cost), cost) / least - 1)
    assert min(excess) >= 0
    assert np.median(excess) < 0.005 and max(excess) < 0.05


def test_no_single_move_improves_the_local_order():
    cost = random_cost(np.random.default_rng(4), 15, n_tasks=4)
    order = local_order(cost)
    for place in range(15):
        others = np.delete(order, place)
        for target in range(15):
            assert order_cost(np.insert(others, target, order[place]), cost) >= order_cost(
                order, cost
            )
