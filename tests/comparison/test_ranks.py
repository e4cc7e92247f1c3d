import json
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import binom, ttest_ind_from_stats

from skbench.comparison.consensus import kemeny_order
from skbench.comparison.ranks import indistinguishable_groups, rank_confidence_sets
from skbench.containers import Estimate

KINDS = ["simultaneous", "marginal"]


@pytest.fixture(scope="module")
def mogstad(gold_folder):
    return json.loads((gold_folder / "mogstad_rank_sets.json").read_text())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stepdown", [True, False])
def test_sets_of_vtab_are_those_of_csranks(mogstad, kind, stepdown):
    accuracy = pd.Series(mogstad["x"], index=mogstad["models"])
    sets = rank_confidence_sets(
        accuracy,
        mogstad["se"],
        kind=kind,
        method="mogstad",
        stepdown=stepdown,
        random_state=0,
    )
    assert_array_equal(sets.low, mogstad["L"])
    assert_array_equal(sets.high, mogstad["U"])
    assert list(sets.best()) == mogstad["tau1_best"]


@pytest.mark.parametrize("kind", KINDS)
def test_sets_of_the_toy_are_those_of_csranks(mogstad, kind):
    toy = mogstad["toy"]
    error = np.full(10, toy["sd"])
    sets = rank_confidence_sets(
        toy["x"], error, kind=kind, method="mogstad", n_draws=20_000, random_state=0
    )
    assert_array_equal(sets.low, toy["L"])
    assert_array_equal(sets.high, toy["U"])


def test_shared_items_shorten_the_sets():
    x, error = [0.80, 0.77, 0.70], np.full(3, 0.02)
    apart = rank_confidence_sets(x, error, random_state=0)
    shared = error[:, None] * error * (0.9 + 0.1 * np.eye(3))
    together = rank_confidence_sets(x, covariance=shared, random_state=0)
    assert_array_equal(apart.high - apart.low, [1, 1, 0])
    assert_array_equal(together.low, [1, 2, 3])
    assert_array_equal(together.high, [1, 2, 3])


def test_diagonal_covariance_is_independence():
    x, error = np.linspace(0, 1, 6), np.linspace(0.1, 0.3, 6)
    by_error = rank_confidence_sets(x, error, random_state=0)
    by_matrix = rank_confidence_sets(x, covariance=np.diag(error**2), random_state=0)
    assert_array_equal(by_error.better, by_matrix.better)


def test_degrees_of_freedom_are_those_of_t_tests():
    x, error = np.array([0.80, 0.705, 0.40]), np.array([0.02, 0.03, 0.04])
    level = 1 - 0.05 / 3
    with pytest.warns(UserWarning):
        sets = rank_confidence_sets(x, error, df=[4, 9, 19])
    for i, j in combinations(range(3), 2):
        # Welch's test from the numbers alone: samples of df + 1 values.
        sizes = np.array([5, 10, 20])
        std = error * np.sqrt(sizes)
        test = ttest_ind_from_stats(x[i], std[i], sizes[i], x[j], std[j], sizes[j], equal_var=False)
        assert sets.better[i, j] == (test.pvalue < 1 - level)
    known = rank_confidence_sets(x, error)
    assert known.better.sum() > sets.better.sum()


def test_identical_models_tie_whatever_their_covariance():
    singular = 0.02**2 * np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]])
    sets = rank_confidence_sets([0.8, 0.8, 0.2], covariance=singular, random_state=0)
    assert_array_equal(sets.low, [1, 1, 3])
    assert_array_equal(sets.high, [2, 2, 3])


def test_estimate_brings_errors_and_labels():
    labels = pd.Index(["ada", "bob"], name="model")
    e = Estimate([0.8, 0.3], [0.7, 0.2], [0.9, 0.4], [0.05, 0.05], 0.95, labels, "t", "each group")
    sets = rank_confidence_sets(e, random_state=0)
    assert sets.labels.equals(labels)
    assert_array_equal(sets.low, [1, 2])
    frame = sets.to_frame()
    assert list(frame.columns) == ["estimate", "low", "high", "best"]
    assert frame.index.equals(labels)
    assert frame["best"].tolist() == [True, False]
    head = repr(sets).splitlines()[0]
    assert "95%" in head and "2 models" in head and head.endswith(": ada")


def test_the_tau_best_grow():
    sets = rank_confidence_sets(np.arange(5.0), np.full(5, 0.4), random_state=0)
    members = [set(sets.best(tau)) for tau in range(1, 6)]
    assert all(a <= b for a, b in pairwise(members))
    assert 4 in members[0] and members[-1] == set(range(5))


def test_one_model_is_first():
    sets = rank_confidence_sets([0.4], [0.1], random_state=0)
    assert (sets.low, sets.high) == (1, 1)
    assert indistinguishable_groups(sets).to_numpy().tolist() == [[True]]


def test_a_name_stands_for_one_model():
    twice = pd.Series([0.9, 0.8, 0.7], index=["a", "a", "b"])
    with pytest.raises(ValueError):
        rank_confidence_sets(twice, [0.1, 0.1, 0.1])


def test_zero_errors_are_warned_of():
    with pytest.warns(UserWarning, match="ada"):
        sets = rank_confidence_sets(pd.Series({"ada": 1.0, "bob": 0.9}), [0.0, 0.01])
    assert list(sets.low) == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "standard_error= .* covariance="),
        ({"standard_error": [0.1, 0.1], "covariance": np.eye(2)}, "standard_error= .* covariance="),
        ({"covariance": np.eye(3)}, "covariance"),
        ({"covariance": [[1.0, 0.2], [0.5, 1.0]]}, "symmetric"),
        ({"covariance": [[1.0, np.nan], [np.nan, 1.0]]}, "finite"),
        ({"covariance": [[1.0, 2.0], [2.0, 1.0]]}, "eigenvalue"),
        ({"covariance": pd.DataFrame(np.eye(2), ["ada", "bob"], ["bob", "ada"])}, "same labels"),
        ({"standard_error": [0.1, 0.1], "df": 0.5}, "df"),
        ({"standard_error": [0.1, 0.1], "df": 9, "method": "mogstad"}, "mogstad"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        rank_confidence_sets(pd.Series({"ada": 0.8, "bob": 0.7}), **arguments)


def test_letters_show_exactly_who_differs():
    rng = np.random.default_rng(0)
    for _ in range(10):
        sets = rank_confidence_sets(
            rng.normal(size=12), rng.uniform(0.1, 0.6, 12), n_draws=500, random_state=1
        )
        groups = indistinguishable_groups(sets).to_numpy().astype(int)
        share = groups @ groups.T > 0
        assert_array_equal(share, ~(sets.better | sets.better.T))
        assert groups[np.argmax(sets.estimate), 0]


def test_groups_of_vtab(mogstad):
    accuracy = pd.Series(mogstad["x"], index=mogstad["models"])
    groups = indistinguishable_groups(rank_confidence_sets(accuracy, mogstad["se"], random_state=0))
    assert groups.columns[0] == "a" and len(groups.columns) == 12
    assert list(groups.index[groups["a"]]) == mogstad["tau1_best"]


def test_letters_go_on_after_z():
    sets = rank_confidence_sets(-np.arange(30.0), np.full(30, 0.01), n_draws=50, random_state=0)
    assert list(indistinguishable_groups(sets).columns[[0, 25, 26, 29]]) == ["a", "z", "aa", "ad"]


def test_groups_refuse_marginal_sets():
    sets = rank_confidence_sets([0.8, 0.7], [0.1, 0.1], kind="marginal", random_state=0)
    with pytest.raises(ValueError):
        indistinguishable_groups(sets)


TIED = np.array([2.0, 2.0, 2.0, 1.0, 1.0, 0.5, 0.0, 0.0])
ERROR = np.array([0.2, 0.3, 0.2, 0.4, 0.2, 0.3, 0.2, 0.2])


def all_true_ranks_held(kind, method, covariance, n_trials, seed):
    """Whether the sets of models cover all ranks of exact ties, per trial."""
    best = 1 + (TIED > TIED[:, None]).sum(axis=1)
    worst = (TIED >= TIED[:, None]).sum(axis=1)
    rng = np.random.default_rng(seed)
    held = []
    for _ in range(n_trials):
        x = rng.multivariate_normal(TIED, covariance)
        sets = rank_confidence_sets(
            x, covariance=covariance, kind=kind, method=method, n_draws=500, random_state=rng
        )
        held.append((sets.low <= best) & (worst <= sets.high))
    return np.array(held)


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.7])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["bonferroni", "mogstad"])
def test_sets_hold_all_ranks_of_exact_ties(method, kind, correlation):
    n_trials = 1500
    covariance = ERROR[:, None] * ERROR * (correlation + (1 - correlation) * np.eye(8))
    held = all_true_ranks_held(kind, method, covariance, n_trials, seed=0)
    # 500 draws put the critical value's level at .95 -+ .01, alike in all directions.
    coverage = held.all(axis=1).mean() if kind == "simultaneous" else held.mean(axis=0).min()
    print(f"{method}, {kind} sets, correlation {correlation}: coverage {coverage:.3f}")
    assert coverage >= binom.ppf(0.0005, n_trials, 0.95) / n_trials


@pytest.fixture(scope="module")
def vtab_scores(gold_folder):
    return pd.read_csv(gold_folder / "vtab1k_counts_reconstructed.csv", index_col="model")


def test_kemeny_order_of_vtab(gold_folder, vtab_scores):
    gold = json.loads((gold_folder / "kemeny_vtab.json").read_text())
    consensus = kemeny_order(vtab_scores)
    assert list(consensus.order) == gold["order"]
    assert (consensus.cost, consensus.method) == (gold["cost"], "exact")
    assert consensus.order.name == "model"


def test_kemeny_uses_only_the_order_within_tasks(vtab_scores):
    stretched = np.log(vtab_scores) * np.arange(1, 20)
    assert kemeny_order(stretched).order.equals(kemeny_order(vtab_scores).order)


def test_kemeny_is_exact_beyond_sixteen_where_majorities_split():
    rng = np.random.default_rng(0)
    consensus = kemeny_order(-np.arange(60)[:, None] / 4 + rng.normal(size=(60, 15)))
    assert consensus.method == "exact"
    assert sorted(consensus.order) == list(range(60))


def test_kemeny_heuristic_is_named():
    scores = np.random.default_rng(0).random((25, 6))
    with pytest.warns(UserWarning):
        consensus = kemeny_order(scores)
    assert consensus.method == "Borda with local moves"
    assert sorted(consensus.order) == list(range(25))


def test_kemeny_at_the_edges():
    assert kemeny_order([[0.3, 0.4]]).cost == 0
    same = kemeny_order(np.ones((5, 3)))
    assert (same.cost, same.method, len(same.order)) == (0, "exact", 5)


def test_kemeny_refuses_missing_scores(vtab_scores):
    holed = vtab_scores.astype(float)
    holed.loc["Rotation", "DTD"] = np.nan
    with pytest.raises(ValueError, match="DTD"):
        kemeny_order(holed)
    with pytest.raises(ValueError):
        kemeny_order(np.empty((0, 3)))
