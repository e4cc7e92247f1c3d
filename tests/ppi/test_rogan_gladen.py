import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference.ppi_sets import DataSets, ends, fitted
from scipy.optimize import brentq
from scipy.stats import binom, norm

from skbench.ppi.chain_rule import ChainRulePPI
from skbench.ppi.rogan_gladen import RoganGladen

COUNTS = {"positive": (600, 1000), "sensitivity": (45, 50), "fall_out": (10, 50)}


def rows(positive, sensitivity, fall_out):
    """Verdicts and labels with these numbers of (positive verdicts, rows), unlabeled first."""
    X, y = [], []
    for (k, n), label in ((positive, np.nan), (sensitivity, 1), (fall_out, 0)):
        X += [1] * k + [0] * (n - k)
        y += [label] * n
    return np.array(X), np.array(y)


def smoothed(k, n):
    rate = (k + 0.5) / (n + 1)
    return rate, rate * (1 - rate) / (n + 2)


def test_by_hand():
    e = RoganGladen().fit(*rows(**COUNTS))
    (q, vq), (s, vs), (f, vf) = (smoothed(*COUNTS[name]) for name in COUNTS)
    theta = (q - f) / (s - f)
    assert_allclose(e.estimate_, theta, rtol=1e-12)
    assert_allclose(e.rectifier_, theta - q, rtol=1e-12)
    spread = vq + theta**2 * vs + (1 - theta) ** 2 * vf
    assert_allclose(e.standard_error_, np.sqrt(spread) / (s - f), rtol=1e-12)
    assert (e.n_labeled_, e.n_unlabeled_) == (100, 1000)
    assert e.estimate().guarantee == "model"


def test_ends_solve_fiellers_equation():
    e = RoganGladen().fit(*rows(**COUNTS))
    (q, vq), (s, vs), (f, vf) = (smoothed(*COUNTS[name]) for name in COUNTS)

    def excess(t):
        spread = np.sqrt(vq + t**2 * vs + (1 - t) ** 2 * vf)
        return abs(q - f - t * (s - f)) / spread - norm.ppf(0.975)

    assert_allclose(ends(e)[0], brentq(excess, 0, e.estimate_), rtol=1e-9)
    assert_allclose(ends(e)[1], brentq(excess, e.estimate_, 1), rtol=1e-9)


def test_relabeling_mirrors():
    X, y = rows(**COUNTS)
    low, high = ends(RoganGladen().fit(X, y))
    mirrored = RoganGladen(positive=0).fit(X, 1 - y)
    assert_allclose(ends(mirrored), (1 - high, 1 - low), rtol=1e-9)
    words = np.where(X == 1, "yes", "no")
    assert ends(RoganGladen(positive="yes").fit(words, y)) == (low, high)


def test_covers_with_labels_chosen_by_class():
    rng = np.random.default_rng(0)
    truth, n_sets = 0.7, 400
    # Half of the labels are of each kind, so the chain rule would be biased.
    chance = np.repeat([truth * 0.85 + (1 - truth) * 0.2, 0.85, 0.2], [1000, 50, 50])
    verdicts = (rng.random((n_sets, 1100)) < chance) * 1
    y = np.tile(np.repeat([np.nan, 1.0, 0.0], [1000, 50, 50]), n_sets)
    data = DataSets(verdicts.ravel(), y, np.repeat(np.arange(n_sets), 1100))
    low, high = ends(fitted(RoganGladen(), data))
    least, most = binom.ppf([0.0005, 0.9995], n_sets, 0.95) / n_sets
    assert least <= np.mean((low <= truth) & (truth <= high)) <= most


def test_wider_than_the_chain_rule(gold_folder):
    cases = json.loads((gold_folder / "ppi_chain.json").read_text())["binary"]
    ratios = []
    for case in cases:
        k1, n1, k0, n0 = (case[name] for name in ("k1", "n1", "k0", "n0"))
        X, y = rows((case["A1_unlab"], case["N"]), (k1, k1 + k0), (n1 - k1, n1 - k1 + n0 - k0))
        widths = [np.ptp(ends(e.fit(X, y))) for e in (RoganGladen(), ChainRulePPI())]
        ratios.append(widths[0] / widths[1])
    real = [r for r, case in zip(ratios, cases, strict=True) if case["N"] > 3000]
    assert min(real) > 1.1 and max(real) < 2.5


def test_no_better_than_chance():
    X, y = rows((500, 1000), (20, 50), (30, 50))
    with pytest.warns(UserWarning, match="nan.*ChainRulePPI"):
        e = RoganGladen().fit(X, y)
    assert np.isnan(e.estimate_) and np.isnan(e.standard_error_)
    assert ends(e) == (0, 1)


@pytest.mark.parametrize("label", [0, 1])
def test_one_kind_of_label_is_not_enough(label):
    X, y = rows((500, 1000), (20, 30), (0, 0))
    y = np.where(y == 1, label, y)
    with pytest.warns(UserWarning, match="nan.*ClassicalMean"):
        e = RoganGladen().fit(X, y)
    assert np.isnan(e.estimate_) and np.isnan(e.standard_error_)
    assert ends(e) == (0, 1)


def test_hardly_better_than_chance_has_a_wide_interval():
    e = RoganGladen().fit(*rows((500, 1000), (26, 50), (25, 50)))
    assert ends(e) == (0, 1)


def test_an_estimate_beyond_1_has_an_interval():
    """All 560 unlabeled verdicts are positive, which a sensitivity of 30/34 cannot explain."""
    y = np.r_[np.ones(34), np.zeros(6), np.full(560, np.nan)]
    judge = np.r_[np.ones(30), np.zeros(4), np.zeros(6), np.ones(560)]
    e = RoganGladen().fit(judge[:, None], y)
    assert ends(e)[1] == 1 and 0.5 < ends(e)[0] < 0.99


def test_a_judge_without_observed_errors_is_not_perfect():
    e = RoganGladen().fit(*rows((500, 1000), (10, 10), (0, 10)))
    # The width allows for one error of each kind among 20 rows.
    assert np.ptp(ends(e)) > 0.1


@pytest.mark.parametrize(
    ("X", "y", "cluster"),
    [
        ([1, 0, 1, 0], [0, 1, 2, np.nan], None),
        ([1, 0, 1, 0], [0, 2, np.nan, np.nan], None),
        ([1, 0, 1, 0], [1, np.inf, np.nan, np.nan], None),
        (["y", "n"] * 2, [1, 0, np.nan, np.nan], None),
        (np.arange(40) / 40, [1, 0] * 10 + [np.nan] * 20, None),
        ([1, 0, 1, 0], [1, 0, 1, np.nan], [0, 0, 1, 1]),
    ],
    ids=["three labels", "not the event", "infinite", "never positive", "scores", "clusters"],
)
def test_unusable_input_raises(X, y, cluster):
    with pytest.raises(ValueError):
        RoganGladen().fit(np.array(X), np.array(y), cluster=cluster)


def test_labels_may_be_names_and_several_judges_vote():
    X, y = rows(**COUNTS)
    plain = RoganGladen().fit(X, y)
    names = np.where(np.isnan(y), None, np.where(y == 1, "good", "bad"))
    assert ends(RoganGladen(event="good").fit(X, names)) == ends(plain)
    judges = np.column_stack([X, X, 1 - X])
    assert ends(RoganGladen().fit(judges, y)) == ends(plain)
