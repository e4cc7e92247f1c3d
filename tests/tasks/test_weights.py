"""WeightSimplex: recomputed shares, brute force, draws, what it refuses."""

import json

import numpy as np
import pandas as pd
import pytest
from reference.vtab import vtab_rows
from sklearn.exceptions import NotFittedError

from skbench import Draws
from skbench.tasks import WeightSimplex

ORDER = ("specialized", "structured", "natural")


@pytest.fixture(scope="module")
def rows(gold_folder):
    return vtab_rows(gold_folder)


def make_rows(n_models=4, seed=0, tasks_per_category=(2, 1, 3)):
    rng = np.random.default_rng(seed)
    frames = [
        pd.DataFrame({"category": category, "task": [f"{category}{i}" for i in range(n_tasks)]})
        for category, n_tasks in zip("uvw", tasks_per_category, strict=True)
    ]
    tasks = pd.concat(frames)
    X = tasks.merge(pd.DataFrame({"model": [f"m{i}" for i in range(n_models)]}), how="cross")
    return X, rng.integers(30, 90, len(X)) / 100


@pytest.mark.parametrize("scale", ["raw", "norm"])
@pytest.mark.parametrize(
    ("z", "rho", "key"),
    [(2, 0, "z2.000_rho0"), (np.sqrt(2), 0, "z1.414_rho0"), (2, 0.5, "z2.000_rho0.5")],
)
def test_shares_of_vtab(rows, gold_folder, scale, z, rho, key):
    gold = json.loads((gold_folder / "longjohn_simplex_fractions.json").read_text())["fractions"]
    y = rows["k"] / rows["n"]
    sigma2 = y * (1 - y) / rows["n"]
    if scale == "norm":
        bounds = json.loads((gold_folder / "longjohn_vtab_bootstrap.json").read_text())
        low, high = (
            rows["task"].map(dict(zip(rows["task"].unique(), ends, strict=True)))
            for ends in bounds["norm_low_high_B100_seed0"]
        )
        y, sigma2 = (y - low) / (high - low), sigma2 / (high - low) ** 2
    simplex = WeightSimplex(ORDER, z=z, rho=rho).fit(rows, y, sigma2)
    expected = gold[f"{scale}_{key}"]
    expected["undecided"] = expected.pop("grey")
    assert set(simplex.fractions_.index) == set(expected)
    # Printed to 4 digits; one weighting of 20,301 is half a unit of the last.
    for name, share in expected.items():
        assert simplex.fractions_[name] == pytest.approx(share, abs=1.01e-4)


@pytest.mark.parametrize("rho", [-0.3, 0.0, 0.6])
def test_every_weighting_by_brute_force(rho):
    X, y = make_rows()
    simplex = WeightSimplex(resolution=6, rho=rho).fit(X, y, n=100)
    table = X.assign(y=y, variance=y * (1 - y) / 100)
    by = table.groupby(["model", "category"])
    score = by["y"].mean().unstack()
    variance = (by["variance"].sum() / by.size() ** 2).unstack()
    winners = simplex.winners()
    assert len(winners) == 28
    for i, w in enumerate(simplex.weights_):
        order = (score @ w).sort_values(ascending=False)
        first, second = order.index[:2]
        a, b = variance.loc[first] @ w**2, variance.loc[second] @ w**2
        error = np.sqrt(a + b - 2 * rho * np.sqrt(a * b))
        lead = order.iloc[0] - order.iloc[1]
        assert simplex.lead_[i] == pytest.approx(lead, abs=1e-12)
        if lead > 1e-9:
            assert simplex.models_[simplex.leader_[i]] == first
            assert simplex.standard_error_[i] == pytest.approx(error, rel=1e-9)
            assert winners[i] == (first if lead > 2 * error else "undecided")


def test_draws_of_correlated_models_by_brute_force():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(400, 1, 3))
    values = rng.normal(size=(400, 3, 3)) + 2 * common + rng.uniform(size=(3, 3))
    tasks = pd.MultiIndex.from_tuples([(c, c) for c in "uvw"], names=["category", "task"])
    draws = Draws(values, (pd.Index(list("abc")), tasks), "posterior")
    simplex = WeightSimplex(resolution=5).fit_draws(draws)
    for i, w in enumerate(simplex.weights_):
        first, second = simplex.leader_[i], simplex.runner_up_[i]
        contrast = (values[:, first] - values[:, second]) @ w
        assert simplex.lead_[i] == pytest.approx(contrast.mean(), abs=1e-12)
        assert simplex.standard_error_[i] == pytest.approx(contrast.std(ddof=1), rel=1e-9)


def test_shares_sum_to_1_and_corners_stand_in_order():
    X, y = make_rows()
    simplex = WeightSimplex(("w", "u", "v"), resolution=10).fit(X, y, n=100)
    assert simplex.fractions_.sum() == pytest.approx(1)
    assert simplex.fractions_.index[-1] == "undecided"
    assert simplex.categories_.tolist() == ["w", "u", "v"]
    assert WeightSimplex(resolution=2).fit(X, y, n=100).categories_.tolist() == ["u", "v", "w"]
    turned = WeightSimplex(("u", "v", "w"), resolution=10).fit(X, y, n=100)
    for name, share in simplex.fractions_.items():
        assert turned.fractions_[name] == pytest.approx(share)


def test_more_standard_errors_leave_more_open():
    X, y = make_rows()
    left_open = [
        WeightSimplex(resolution=30, z=z).fit(X, y, n=100).fractions_["undecided"]
        for z in (0, 1, 2, 4)
    ]
    assert left_open == sorted(left_open) and left_open[0] < 0.05 < left_open[-1]


def test_identical_models_are_never_decided():
    X, y = make_rows(n_models=2)
    for rho in (0.0, 1.0):
        twins = X.assign(model=X["model"].map({"m0": "m0", "m1": "m1"}))
        same = np.repeat(y[::2], 2)
        simplex = WeightSimplex(resolution=10, rho=rho).fit(twins, same, n=100)
        assert simplex.fractions_.to_dict() == {"undecided": 1.0}


def test_accuracies_of_1_are_warned_of():
    X, y = make_rows()
    y[0] = 1.0
    with pytest.warns(UserWarning, match="1 of 24"):
        WeightSimplex(resolution=5).fit(X, y, n=100)


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        ({"categories": ("u", "v")}, lambda X: X),
        ({"categories": ("u", "v", "v")}, lambda X: X),
        ({"categories": ("u", "v", "x")}, lambda X: X),
        ({}, lambda X: X.assign(n=7)),
        ({}, lambda X: X.assign(n=None)),
        ({}, lambda X: X[X["model"] == "m0"]),
        ({}, lambda X: X.assign(category="u")),
        ({}, lambda X: X.drop(columns="category")),
        ({}, lambda X: X.iloc[1:]),
        ({}, lambda X: X.replace("m0", "undecided")),
    ],
)
def test_errors(options, changed):
    X, y = make_rows()
    rows = changed(X.assign(y=y, n=100))
    with pytest.raises(ValueError):
        WeightSimplex(resolution=5, **options).fit(rows, rows["y"], n=rows["n"])


def test_draws_bring_their_own_correlation():
    tasks = pd.MultiIndex.from_tuples([(c, c) for c in "uvw"], names=["category", "task"])
    draws = Draws(np.ones((2, 2, 3)), (pd.Index(["a", "b"]), tasks), "posterior")
    with pytest.raises(ValueError):
        WeightSimplex(rho=0.5).fit_draws(draws)


def test_nothing_before_fit():
    with pytest.raises(NotFittedError):
        WeightSimplex().winners()
