import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from reference.ppi_sets import ends
from scipy.stats import binom, norm

from skbench.ppi.chain_rule import ChainRulePPI
from skbench.stats.ppi.chain_rule import chain_interval

WLT = ["w", "t", "l"]


@pytest.fixture
def gold(gold_folder):
    return json.loads((gold_folder / "ppi_chain.json").read_text())["side_by_side"]


@pytest.fixture
def verdicts(gold):
    judge = np.repeat(WLT, gold["unlabeled"]).tolist()
    human = [None] * len(judge)
    for a, counts in zip(WLT, gold["labeled"], strict=True):
        for h, n in zip(WLT, counts, strict=True):
            judge += [a] * n
            human += [h] * n
    return np.array(judge), np.array(human, dtype=object)


def test_gold_by_rows(gold, verdicts):
    side = ChainRulePPI(verdicts="side by side").fit(*verdicts)
    # With 4e6 draws of standard deviation .08 an end has a standard error of 1.1e-4.
    assert_allclose(ends(side), gold["ci95_mc4e6"], rtol=0, atol=3.3e-4)
    p = (np.array(gold["unlabeled"]) + 1 / 3) / (sum(gold["unlabeled"]) + 1)
    h = np.array(gold["labeled"]) + 1 / 3
    assert_allclose(side.estimate_, p @ (h @ [1, 0, -1] / h.sum(axis=1)), rtol=1e-12)
    assert side.estimate().method == "side by side, chain rule (exact)"


def test_joint_draws_give_the_same(gold, verdicts):
    exact = ChainRulePPI(verdicts="side by side").fit(*verdicts)
    drawn = ChainRulePPI("draws", 100_000, verdicts="side by side", random_state=0).fit(*verdicts)
    error = exact.standard_error_ / np.sqrt(100_000)
    # Separate draws of P(w | a) and P(l | a) would be 5% narrower, which is 300 errors.
    assert np.all(np.abs(np.subtract(ends(drawn), ends(exact))) < 4 * 2.7 * error)
    assert_allclose(drawn.standard_error_, exact.standard_error_, rtol=0.01)


@pytest.mark.slow
def test_few_labels_per_verdict_under_cover():
    rng, n_sets, chances = np.random.default_rng(0), 600, [0.8, 0.05, 0.15]
    for n, printed in ((10, 0.88), (30, 0.93), (100, 0.94)):
        verdicts = rng.multinomial(n, np.full(3, 1 / 3), n_sets)
        labels = np.array([[rng.multinomial(k, chances) for k in row] for row in verdicts])
        unlabeled = rng.multinomial(1000, np.full(3, 1 / 3), n_sets)
        low, high = chain_interval(unlabeled, labels, [1, 0, -1])
        hits = np.sum((low <= 0.65) & (high >= 0.65))
        least, most = binom.ppf([0.0005, 0.9995], n_sets, [printed - 0.01, printed + 0.01])
        assert least <= hits <= most


def test_words_letters_and_numbers_are_equivalent(verdicts):
    judge, human = verdicts
    expected = ends(ChainRulePPI(verdicts="side by side").fit(judge, human))
    for names in (
        {"w": "Win", "t": "Tie", "l": "Loss"},
        {"w": 1, "t": 0, "l": -1},
        {"w": 1.0, "t": 0.0, "l": -1.0},
    ):
        renamed = pd.Series(human).map(names)
        assert ends(ChainRulePPI(verdicts="side by side").fit(judge, renamed)) == expected


def test_swapping_the_systems_changes_the_sign(verdicts):
    judge, human = verdicts
    low, high = ends(ChainRulePPI(verdicts="side by side").fit(judge, human))
    swap = {"w": "l", "l": "w", "t": "t"}
    swapped = ChainRulePPI(verdicts="side by side").fit(
        pd.Series(judge).map(swap), pd.Series(human).map(swap)
    )
    assert_allclose(ends(swapped), (-high, -low), rtol=0, atol=1e-7)


def test_any_verdicts_are_allowed(verdicts):
    judge, human = verdicts
    odd = np.where(judge == "t", "cannot tell", judge)
    expected = ends(ChainRulePPI(verdicts="side by side").fit(judge, human))
    assert_allclose(
        ends(ChainRulePPI(verdicts="side by side").fit(odd, human)), expected, rtol=0, atol=1e-7
    )


def test_a_system_that_never_loses_is_not_cut_at_zero():
    judge = ["w", "l"] * 200
    human = [1, 0] * 6 + [None] * 388
    side = ChainRulePPI(verdicts="side by side").fit(judge, human)
    assert ends(side)[0] > -1
    # All labels are 1 or 0, but losses are possible, so the scale is not [0, 1].
    flipped = ChainRulePPI(verdicts="side by side").fit(
        ["l", "w"] * 200, [0, -1] * 6 + [None] * 388
    )
    assert flipped.estimate_ < 0


def test_no_ties_at_all_is_twice_a_proportion():
    rng = np.random.default_rng(0)
    judge = rng.choice(["w", "l"], 3000)
    human = np.where(np.arange(3000) < 900, np.where(rng.random(3000) < 0.85, judge, "t"), None)
    human = np.where(human == "t", np.where(judge == "w", "l", "w"), human)
    side = ChainRulePPI(verdicts="side by side").fit(judge, human)
    won = ChainRulePPI(event="w").fit(judge, human)
    # The impossible third label has a prior count of 1/3.
    assert_allclose(ends(side), 2 * np.array(ends(won)) - 1, rtol=0, atol=3e-3)


@pytest.mark.parametrize("label", ["x", 2, 0.5])
def test_other_labels_are_refused(label):
    with pytest.raises(ValueError):
        ChainRulePPI(verdicts="side by side").fit(
            ["w", "l", "w"], np.array(["w", label, None], dtype=object)
        )


def pairs_of_systems(n_pairs, n_labeled, rng, n_unlabeled=2000):
    """Counts of verdicts if the first system is better by .02 to .2."""
    unlabeled, counts, differences = [], [], []
    for _ in range(n_pairs):
        better = rng.uniform(0.02, 0.2)
        tie = rng.uniform(0.5, 0.7)
        human = np.array([(1 - tie + better) / 2, tie, (1 - tie - better) / 2])
        agrees = 0.85
        judge = agrees * np.eye(3) + (1 - agrees) * human  # rows are the human label
        joint = (human[:, None] * judge).T  # rows are the judge's verdict
        counts.append(rng.multinomial(n_labeled, joint.ravel()).reshape(3, 3))
        unlabeled.append(rng.multinomial(n_unlabeled, joint.sum(axis=1)))
        differences.append(better)
    return np.array(unlabeled), np.array(counts), np.array(differences)


def separated_classically(counts):
    """Whether a paired test distinguishes wins from losses at the 5% level."""
    wins, _, losses = counts.sum(axis=1).T
    n = counts.sum(axis=(1, 2))
    mean = (wins - losses) / n
    variance = ((wins + losses) / n - mean**2) / n
    return mean > norm.ppf(0.975) * np.sqrt(variance)


@pytest.mark.slow
@pytest.mark.parametrize("n_labeled", [100, 200])
def test_more_pairs_are_separated_than_by_the_paired_test(n_labeled):
    rng = np.random.default_rng(n_labeled)
    unlabeled, counts, _ = pairs_of_systems(150, n_labeled, rng)
    low, _ = chain_interval(unlabeled, counts, [1, 0, -1])
    ours, classical = np.mean(low > 0), np.mean(separated_classically(counts))
    print(f"{n_labeled} labels: {ours:.3f} of pairs separated, {classical:.3f} by the paired test")
    # Figure 5 of the paper has .76 against .54 of pairs at 100 labels, .94 against .79 at 200.
    assert ours > classical + 0.1


@pytest.mark.slow
def test_coverage_of_the_difference():
    rng = np.random.default_rng(5)
    unlabeled, counts, truth = pairs_of_systems(300, 60, rng)
    low, high = chain_interval(unlabeled, counts, [1, 0, -1])
    hits = np.mean((low <= truth) & (truth <= high))
    print(f"covers {hits:.3f}")
    assert hits >= binom.ppf(0.001, 300, 0.94) / 300


@pytest.mark.slow
@pytest.mark.parametrize("n_labeled", [100, 200])
def test_open_qa_pairs(data_folder, n_labeled):
    items = pd.read_csv(data_folder / "openqa_nq.csv.gz")
    wide = items.pivot(index="question_id", columns="system", values=["em", "human"])
    systems = wide["em"].columns
    rng = np.random.default_rng(0)
    classical, chain = [], []
    for first in systems:
        for second in systems:
            human = (wide["human"][first] - wide["human"][second]).to_numpy()
            judge = (wide["em"][first] - wide["em"][second]).to_numpy()
            if not np.nanmean(human) > 0:
                continue
            for _ in range(10):
                shown = rng.permutation(np.flatnonzero(~np.isnan(human)))[:n_labeled]
                y = np.full(len(human), np.nan)
                y[shown] = human[shown]
                label = human[shown]
                z = label.mean() / (label.std(ddof=1) / np.sqrt(label.size))
                classical.append(z > norm.ppf(0.975))
                chain.append(ends(ChainRulePPI(verdicts="side by side").fit(judge, y))[0] > 0)
    print(
        f"{n_labeled} labels: {np.mean(chain):.3f} of {len(chain)} pairs separated, "
        f"{np.mean(classical):.3f} by the paired test"
    )
    assert np.mean(chain) > np.mean(classical)
