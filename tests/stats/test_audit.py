"""Discrimination, wrong keys, copies and reliability of items."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from skbench.stats.item_response import audit


def simulated(rng, n_items, n_models, spread=1.0):
    """Right and wrong answers of items whose slopes differ."""
    slope = np.exp(rng.normal(-0.2, 0.4, (n_items, 1)))
    return rng.binomial(1, expit(slope * rng.normal(0.5, spread, n_models) + rng.normal(
        0.5, 1.2, (n_items, 1)))).astype(float)  # fmt: skip


def test_item_rest_correlation_is_that_of_the_other_items():
    x = simulated(np.random.default_rng(0), 30, 20)
    found = audit.item_rest_correlation(x)
    rest = [np.delete(x, i, axis=0).mean(axis=0) for i in range(30)]
    own = [np.corrcoef(x[i], rest[i])[0, 1] if np.ptp(x[i]) else np.nan for i in range(30)]
    np.testing.assert_allclose(found, own, atol=1e-12)
    counted = np.arange(30) < 25
    found = audit.item_rest_correlation(x, counted)
    assert found[28] == pytest.approx(np.corrcoef(x[28], x[:25].mean(axis=0))[0, 1])
    np.testing.assert_allclose(audit.item_rest_correlation(1000 - 3 * x), found_of(x), atol=1e-12)


def found_of(x):
    return audit.item_rest_correlation(x)


def test_models_that_lack_easy_items_are_not_taken_for_weak():
    """Alike but for noise; the half that lacks the easy items has lower means."""
    x = np.linspace(0, 1, 60)[:, None] + 0.01 * np.arange(30)
    gaps = np.where((np.arange(60) > 20)[:, None] & (np.arange(30) % 2 == 0), np.nan, x)
    assert found_of(gaps).min() > 0.99


def test_alpha_is_the_analysis_of_variance():
    """Hoyt: 1 less the residual mean square over that of the models."""
    x = simulated(np.random.default_rng(0), 12, 9)
    residual = x - x.mean(axis=0) - x.mean(axis=1, keepdims=True) + x.mean()
    between = 12 * np.var(x.mean(axis=0), ddof=1)
    expected = 1 - (residual**2).sum() / (8 * 11) / between
    assert audit.cronbach_alpha(x).value == pytest.approx(expected, abs=1e-12)
    assert audit.items_for_reliability(12, expected, expected) == pytest.approx(12)
    assert np.isnan(audit.cronbach_alpha(np.ones((4, 3))).value)
    assert np.isinf(audit.items_for_reliability(12, -0.2, 0.9))


def test_interval_of_alpha_covers():
    """Normal scores of reliability 0.8: the interval is exact."""
    rng, hits = np.random.default_rng(0), 0
    for _ in range(400):
        x = rng.normal(size=8) + rng.normal(0, np.sqrt(2.5), (10, 8))
        found = audit.cronbach_alpha(x)
        hits += found.low <= 0.8 <= found.high
    assert 367 <= hits <= 392  # binomial, 1 in 1000 on each side


def test_copies_of_models_do_not_count():
    x = simulated(np.random.default_rng(0), 400, 12)
    alone, copied = audit.effective_models(x), audit.effective_models(np.repeat(x, 4, axis=1))
    assert alone == pytest.approx(12, rel=0.1) and copied == pytest.approx(12, rel=0.1)
    wide = audit.discrimination(np.repeat(x, 4, axis=1), copied)
    narrow = audit.discrimination(np.repeat(x, 4, axis=1), 48.0)
    assert np.nanmean(wide.high - wide.low) > 1.5 * np.nanmean(narrow.high - narrow.low)


def test_keys_turned_around_are_found():
    x = simulated(np.random.default_rng(0), 300, 80, spread=1.5)
    assert not audit.reversed_items(x).flagged.any()
    x[:12] = 1 - x[:12]
    found = audit.reversed_items(x)
    assert found.flagged[:12].mean() > 0.7 and found.flagged[12:].mean() < 0.01
    assert (found.probability[found.flagged] > 0.5).all()


def test_few_items_are_judged_one_by_one():
    x = simulated(np.random.default_rng(1), 24, 150, spread=2.5)
    x[:2] = 1 - x[:2]
    found = audit.reversed_items(x)
    assert found.flagged[:2].all() and not found.flagged[2:].any()
    assert np.isnan(found.probability).all()


@pytest.mark.parametrize("n_models", [2, 3, 5])
def test_few_models_flag_nothing(n_models):
    x = simulated(np.random.default_rng(n_models), 200, n_models)
    m = audit.effective_models(x)
    assert 1 <= m <= n_models and not audit.reversed_items(x).flagged.any()
    assert np.array_equal(audit.same_answers(x, m), np.arange(200))
    found = audit.discrimination(x, m)
    assert np.nanmax(found.high - found.low) == pytest.approx(2) or n_models == 5


def test_the_same_answers_are_copies_only_beyond_chance():
    rng = np.random.default_rng(0)
    x = simulated(rng, 200, 100, spread=2.0)
    middle = int(np.argmin(np.abs(x.mean(axis=1) - 0.5)))
    first = audit.same_answers(np.vstack([x, x[middle]]), 100.0)
    assert first[200] == middle and np.array_equal(first[:200], np.arange(200))
    # Of few independent models the same answers prove nothing.
    assert audit.same_answers(np.vstack([x, x[middle]]), 3.0)[200] == 200


@pytest.mark.slow
def test_false_discoveries_are_few():
    """Share of right keys among the flagged ones, over data sets; slopes differ between items."""
    rng, false, found, there = np.random.default_rng(0), [], 0, 0
    for _ in range(60):
        n_models = int(rng.choice([20, 60, 150]))
        x = simulated(rng, int(rng.choice([60, 300, 1000])), n_models, spread=1.3)
        turned = rng.random(len(x)) < rng.choice([0.0, 0.02, 0.08])
        x[turned] = 1 - x[turned]
        flagged = audit.reversed_items(x).flagged
        false.append(np.sum(flagged & ~turned) / max(flagged.sum(), 1))
        found, there = found + np.sum(flagged & turned), there + turned.sum()
    assert np.mean(false) <= 0.05 + 2 * np.std(false) / np.sqrt(60)
    assert found / there > 0.5


def in_families(rng, n_families, size, same):
    """Answers to 200 items; a version repeats its family's answer with this chance."""
    p = expit(rng.normal(0, 1, n_families) + rng.normal(0.5, 1.2, (200, 1)))
    base, p = rng.binomial(1, p).repeat(size, axis=1), p.repeat(size, axis=1)
    return np.where(rng.random(p.shape) < same, base, rng.binomial(1, p)).astype(float)


def test_few_families_flag_nothing():
    x = in_families(np.random.default_rng(0), 3, 4, 0.9)
    x[:10] = 1 - x[:10]
    assert not audit.reversed_items(x).flagged.any()


@pytest.mark.slow
@pytest.mark.parametrize("n_families, size, same", [(6, 4, 0.9), (5, 20, 0.8), (8, 5, 0.95)])
def test_families_do_not_make_keys_wrong(n_families, size, same):
    """Shares of data sets with a key called wrong, none being so; with all models counted .2-.5."""
    rng = np.random.default_rng(0)
    wrong = [
        audit.reversed_items(in_families(rng, n_families, size, same)).flagged.any()
        for _ in range(60)
    ]
    assert np.sum(wrong) <= binom.ppf(0.99, 60, 0.05)


@pytest.mark.slow
def test_intervals_of_discrimination_cover():
    """The correlation over all models that might be drawn, from 10, 40 and 120 of them."""
    rng = np.random.default_rng(0)
    slope, level = np.exp(rng.normal(-0.2, 0.4, (200, 1))), rng.normal(0.5, 1.2, (200, 1))

    def drawn(n_models):
        chance = expit(slope * rng.normal(0.5, 1.2, n_models) + level)
        return rng.binomial(1, chance).astype(float)

    truth = audit.item_rest_correlation(drawn(10_000))
    for n_models in (10, 40, 120):
        covered = []
        for _ in range(25):
            x = drawn(n_models)
            found = audit.discrimination(x, audit.effective_models(x))
            inside = (found.low <= truth) & (truth <= found.high)
            covered.append(inside[np.isfinite(found.value)].mean())
        # Items of one draw share its models: by the spread of draws, not a binomial law.
        assert abs(np.mean(covered) - 0.95) < 3.5 * np.std(covered) / 5 + 0.01
