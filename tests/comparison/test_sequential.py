"""Sequential evaluations: validity at every look, states and expected numbers of items."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp, ndtri

from skbench import SequentialComparison, SequentialMean
from skbench.stats.sequential import betting


def differences(rng, shape, only_a, only_b):
    u = rng.random(shape)
    return np.where(u < only_a, 1.0, np.where(u < only_a + only_b, -1.0, 0.0))


def first_look(d, batch, confidence_level=0.95):
    """Look at which each row is decided for a and for b, or the number of looks."""
    looks = np.arange(batch - 1, d.shape[1], batch)
    found = []
    for sign in (1, -1):
        capital = np.full((len(d), looks.size), -np.inf)
        for c in betting.FRACTIONS:
            # Scaled to [0, 1], the mean is 1/2: 1 - c + c x / (1/2) = 1 + c d.
            steps = np.cumsum(np.log1p(sign * c * d), axis=1)[:, looks]
            capital = np.logaddexp(capital, steps)
        hit = capital - np.log(betting.FRACTIONS.size) >= np.log(2 / (1 - confidence_level))
        found.append(np.where(hit.any(axis=1), hit.argmax(axis=1), looks.size))
    return *found, looks.size


def test_capital_against_a_loop():
    rng = np.random.default_rng(0)
    x = rng.random(12).round(1)
    values, counts = np.unique(x, return_counts=True)
    slow = np.mean([np.prod([1 - c + c * v / 0.4 for v in x]) for c in betting.FRACTIONS])
    assert_allclose(betting.log_capital(values, counts, 0.4), np.log(slow), rtol=1e-10)


def test_ends_are_where_the_capital_reaches_the_goal_and_order_does_not_matter():
    rng = np.random.default_rng(0)
    a, b = rng.random(40) < 0.8, rng.random(40) < 0.5
    result = SequentialComparison().update(a, b)
    values, counts = np.unique((a * 1.0 - b + 1) / 2, return_counts=True)
    low = betting.log_capital(values, counts, (result.low + 1) / 2)
    high = betting.log_capital(1 - values, counts, (1 - result.high) / 2)
    assert_allclose([low, high], np.log(40), rtol=1e-6)
    order = rng.permutation(40)
    assert SequentialComparison().update(a[order], b[order]).low == result.low


def test_class_decides_where_the_vectorised_kernel_does():
    rng = np.random.default_rng(1)
    d = differences(rng, (8, 300), 0.3, 0.15)
    for_a, for_b, n_looks = first_look(d, 20)
    for row, a, b in zip(d, for_a, for_b, strict=True):
        race = SequentialComparison()
        verdicts = [race.update(batch > 0, batch < 0).verdict for batch in row.reshape(-1, 20)]
        expected = [
            "a" if look >= a else "b" if look >= b else "undecided" for look in range(n_looks)
        ]
        assert verdicts == expected


@pytest.mark.parametrize("batch", [5, pytest.param(10, marks=pytest.mark.slow)])
def test_sixty_looks_keep_the_level(batch):
    rng = np.random.default_rng(2)
    for both in (0.1, 0.4):
        d = differences(rng, (2000, 60 * batch), both / 2, both / 2)
        for_a, for_b, n_looks = first_look(d, batch)
        assert n_looks == 60
        assert np.mean(np.minimum(for_a, for_b) < n_looks) <= 0.05


@pytest.mark.slow
def test_means_keep_the_level_at_sixty_looks():
    rng = np.random.default_rng(3)
    x = rng.beta(2, 0.5, (2000, 300))
    goal = np.log(40)
    wrong = np.zeros(2000, dtype=bool)
    for y, m in ((x, 0.8), (1 - x, 0.2)):
        steps = [np.cumsum(np.log1p(c * (y / m - 1)), axis=1)[:, 4::5] for c in betting.FRACTIONS]
        wrong |= (logsumexp(steps, axis=0) - np.log(len(steps)) >= goal).any(axis=1)
    assert wrong.mean() <= 0.05


@pytest.mark.parametrize(("only_a", "only_b"), [(0.3, 0.15), (0.25, 0.1), (0.2, 0.05)])
def test_expected_items(only_a, only_b):
    """15 points apart: at most 1.6 times the items of a test of fixed size with power 0.8."""
    rng = np.random.default_rng(4)
    d = differences(rng, (1000, 600), only_a, only_b)
    for_a, _, n_looks = first_look(d, 10)
    power = np.mean(for_a < n_looks)
    items = np.minimum(for_a + 1, n_looks) * 10
    variance = only_a + only_b - 0.15**2
    fixed = [(ndtri(0.975) + ndtri(p)) ** 2 * variance / 0.15**2 for p in (0.8, min(power, 0.99))]
    assert power >= 0.8
    assert items.mean() <= 1.6 * fixed[0]
    assert items.mean() <= fixed[1]  # of the same power


def test_chance_of_a_decision():
    """Predictions at 100 of 400 items agree with results for random true means."""
    rng = np.random.default_rng(5)
    difference = rng.uniform(-0.3, 0.3, 1500)
    u = rng.random((1500, 400))
    edge = (0.4 + difference[:, None]) / 2
    d = np.where(u < edge, 1.0, np.where(u < 0.4, -1.0, 0.0))
    for_a, for_b, n_looks = first_look(d, 20)
    decided = np.minimum(for_a, for_b) < n_looks
    early = np.minimum(for_a, for_b) < 5
    head = d[:, :100]
    chance = np.array([
        betting.chance_of_decision(m, v, 100, 400, 0.0)
        for m, v in zip(head.mean(axis=1), head.var(axis=1), strict=True)
    ])  # fmt: skip
    for low, high in [(0, 0.15), (0.15, 0.5), (0.5, 0.85), (0.85, 1)]:
        chosen = (chance >= low) & (chance < high) & ~early
        assert abs(decided[chosen].mean() - chance[chosen].mean()) < 0.1, (low, high)


def test_futility_is_reported_and_harmless():
    rng = np.random.default_rng(6)
    race = SequentialComparison(max_items=300)
    assert np.isnan(race.result.chance)
    result = race.update(rng.random(280) < 0.5, rng.random(280) < 0.5)
    assert (result.verdict, result.futile, result.stop) == ("undecided", True, True)
    assert "futile" in str(result)
    far = SequentialComparison(max_items=300).update([1] * 20, [0] * 20)
    assert not far.futile and far.verdict == "a"


def test_equivalence_within_a_margin_and_precision():
    agree = np.ones(300)
    assert SequentialComparison(margin=0.05).update(agree, agree).verdict == "equivalent"
    assert SequentialComparison().update(agree, agree).verdict == "undecided"
    rng = np.random.default_rng(0)
    running = SequentialMean(width=0.2)
    while not running.result.stop:
        running.update(rng.random(20) < 0.7)
    assert running.result.high - running.result.low <= 0.2
    assert 100 < running.n_items < 600


def test_weighted_differences_are_a_sequential_mean():
    rng = np.random.default_rng(7)
    d = np.where(rng.random(300) < 0.5, rng.choice([1.0, -1.0], 300, p=[0.7, 0.3]), 0.0)
    race, mean = SequentialComparison(), SequentialMean(target=0, bounds=(-1, 1))
    found, same = race.update(d > 0, d < 0), mean.update(d)
    assert (found.low, found.high) == (same.low, same.high)
    assert (found.verdict, same.verdict) == ("a", "above")


def test_state_goes_through_json():
    rng = np.random.default_rng(0)
    for race, batch in [
        (SequentialComparison(("x", "y"), max_items=90), (rng.random(30), rng.random(30))),
        (SequentialMean(target=0.3, bounds=(-1, 1)), (rng.random(30),)),
        (SequentialMean(np.float32(0.3), confidence_level=np.float32(0.9)), (rng.random(30),)),
    ]:
        race.update(*batch)
        again = type(race).from_json(race.to_json())
        assert vars(again.result) == vars(race.result)  # equal although nan is in it
        assert vars(again.update(*batch)) == vars(race.update(*batch))


def damages(text):
    """Invalid states: truncated, of other objects, and with missing or changed parts."""
    yield from (
        "",
        "[]",
        "null",
        "{" + 100_000 * "[",
        "\xe9",
        text.replace(": 3", ": 3" + "0" * 5000),
    )
    yield from (text[:end] for end in range(1, len(text), 5))
    yield from (text[:at] + "7" + text[at + 1 :] for at in range(0, len(text), 5))
    state = json.loads(text)
    yield json.dumps({"counts": [[0.0, 2], [1.0, -2]]})  # of an earlier version
    for name, value in state.items():
        yield json.dumps({other: state[other] for other in state if other != name})
        for wrong in (None, [], -1, 7, "banana", True, np.nan, np.inf, 10**400, {"a": 1}):
            yield json.dumps(state | {name: wrong})
            if isinstance(value, list):
                yield json.dumps(state | {name: [wrong, *value[1:]]})
    yield json.dumps(state | {"added": 1})
    yield json.dumps(state | {"ends": [-1, 1]})


def test_what_is_no_state_is_refused_in_words_that_name_the_file(tmp_path, walked):
    race = SequentialComparison(("ada", "bob"), margin=0.1)
    race.update([1, 1, 0], [0, 0, 0], items=["x", "y", "z"])
    path = tmp_path / "race.json"
    race.save(path)
    assert vars(SequentialComparison.load(path).result) == vars(race.result)
    text, counts = race.to_json(), Counter()
    for damaged in damages(text):
        if damaged == text:
            continue
        path.write_text(damaged)
        with pytest.raises(ValueError, match=r"race\.json'"):
            SequentialComparison.load(path)
        counts["clear"] += 1
    walked("states", **counts)
    with pytest.raises(ValueError, match="'SequentialComparison' .* 'SequentialMean'"):
        SequentialMean.from_json(text)


def test_a_long_file_that_is_no_state_is_not_read(tmp_path):
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(2**42)  # no machine has the memory
    with pytest.raises(ValueError, match="JSON"):
        SequentialMean.load(tmp_path / "sparse")


ORDER = np.random.default_rng(3).permutation(40)
ADA, BOB = (pd.Series(np.random.default_rng(seed).random(40) < 0.7, ORDER) for seed in (0, 1))


def two_looks():
    """A run with a state at 20 items and at 40."""
    race = SequentialComparison()
    race.update(ADA[:20], BOB[:20])
    return race, SequentialComparison.from_json(race.to_json())


def test_items_are_recognized_in_any_order():
    race, again = two_looks()
    expected = vars(race.update(ADA[20:], BOB[20:]))
    a, b = ADA.sort_index(), BOB.sort_index()
    assert vars(again.catch_up(a, b)) == expected
    assert vars(again.catch_up(a.array, b.array, items=list(map(str, a.index)))) == expected
    whole = [float(item) for item in a.index]
    for items in (whole, pd.Categorical(whole), pd.Index(whole, dtype=object)):
        assert vars(again.catch_up(a.array, b.array, items=items)) == expected
    assert 7 in again and 7.0 in again and 40 not in again
    again.update([1], [0], items=["half a pair: \ud800"])
    again.update([1], [0], items=[(1, 2)])
    with pytest.raises(ValueError, match="Item "):
        again.update([1], [0], items=pd.MultiIndex.from_tuples([(1.0, 2)]))
    reset = SequentialComparison()
    for part in (slice(0, 20), slice(20, 40)):  # an index that starts at 0 again is no id
        found = reset.update(ADA[part].reset_index(drop=True), BOB[part].reset_index(drop=True))
    assert vars(found) == expected


def test_items_that_came_twice_are_gone_or_changed_are_refused():
    race, _ = two_looks()
    first, before = ORDER[0], race.to_json()
    for call, words in [
        (lambda: race.update(ADA[19:], BOB[19:]), f"Item {ORDER[19]} "),
        (
            lambda: race.update([1], [1 - BOB[first]], items=[1.0 * first]),
            f"Item {first}.0 ",
        ),
        (lambda: race.update([1, 1], [0, 0], items=["x", "x"]), "Item 'x' "),
        *(
            (lambda items=items: race.update([1, 1], [0, 0], items=items), "no name")
            for items in ([None, 1], pd.MultiIndex.from_tuples([("t", None), ("t", 1)]))
        ),
        (lambda: race.update([1], [0], items=["x", "y"]), "items has 2 "),
        (lambda: race.update([1, 1], [0, 0], items=pd.DataFrame([["t", "x"]] * 2)), "'t', 'x'"),
        (lambda: race.update([1, 1], [0, 0], items=np.eye(2)), r"shape \(2, 2\)"),
        (lambda: race.catch_up(ADA[5:], BOB[5:]), "5 of 20 "),
        (lambda: race.catch_up(ADA, BOB, items=ORDER + 40), "20 of 20 "),
        (lambda: race.catch_up(ADA, 1 - BOB), f"20 of 20 .* {first} "),
        (lambda: race.update(ADA[20:], BOB[20:].sort_index()), "index"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
    assert race.to_json() == before


LOOP = """
import sys, time
from pathlib import Path
import numpy as np
from skbench import SequentialComparison
rng = np.random.default_rng(0)
a, b = rng.random(2000) < 0.7, rng.random(2000) < 0.62
path = Path(sys.argv[1])
race = SequentialComparison.load(path) if path.exists() else SequentialComparison()
while not race.result.stop and race.n_items < 2000:
    here = slice(race.n_items, race.n_items + 10)
    race.update(a[here], b[here])
    race.save(path)
    time.sleep(float(sys.argv[2]))
print(race.to_json())
"""


@pytest.mark.slow  # four processes
def test_killed_and_resumed_the_result_is_the_same(tmp_path):
    command = [sys.executable, "-c", LOOP]
    whole = subprocess.run([*command, tmp_path / "whole.json", "0"], capture_output=True, text=True)
    state = tmp_path / "state.json"
    for _ in range(2):
        process = subprocess.Popen([*command, state, "0.005"], stdout=subprocess.DEVNULL)
        seen = state.read_text() if state.exists() else ""
        while process.poll() is None and (state.read_text() if state.exists() else "") == seen:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert json.loads(state.read_text())["verdict"] == "undecided"
    resumed = subprocess.run([*command, state, "0"], capture_output=True, text=True)
    assert resumed.stdout == whole.stdout != ""


@pytest.mark.parametrize(
    "refused",
    [
        lambda: SequentialComparison().update([1, 0], [1]),
        lambda: SequentialComparison().update([1, 70], [1, 0]),
        lambda: SequentialMean().update([np.nan]),
        lambda: SequentialMean().update([[1, 0]]),
        lambda: SequentialMean(target=0.5, width=0.1),
        lambda: SequentialMean(bounds=(1, 0)),
        lambda: SequentialMean(target=-1),
        lambda: SequentialMean(width=1),
        lambda: SequentialComparison(margin=1),
    ],
)
def test_bad_input_is_refused(refused):
    with pytest.raises(ValueError):
        refused()


def test_scores_that_drift_are_noticed():
    running = SequentialMean(target=0.5)
    running.update(np.ones(100))
    with pytest.warns(UserWarning):
        running.update(np.zeros(300))
    assert running.result.verdict == "above"


def test_without_a_goal_nothing_is_decided():
    running, goal = SequentialMean(max_items=1000), SequentialMean(target=0.5)
    scores = np.random.default_rng(0).random(200)
    alone, with_goal = running.update(scores), goal.update(scores)
    assert (alone.low, alone.high) == (with_goal.low, with_goal.high)
    assert alone.verdict == "undecided" and not alone.stop
