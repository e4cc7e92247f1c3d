"""Versions of a judge and repeated verdicts: closed forms, McNemar, edge cases, coverage."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binomtest, ttest_1samp
from sklearn.metrics import cohen_kappa_score

from skbench import judge_agreement

FREE = {"human": None, "judges": "new", "previous": "old", "random_state": 0}


def versions(n=200, seed=0):
    """Labels of half of the answers, and verdicts of two versions of a judge."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.6
    rows = pd.DataFrame({"human": truth * 1.0})
    rows["old"] = np.where(rng.random(n) < 0.25, ~truth, truth) * 1.0
    rows["new"] = np.where(rng.random(n) < 0.10, ~truth, truth) * 1.0
    rows.loc[n // 2 :, "human"] = np.nan
    return rows


def test_figures_are_their_definitions():
    rows = versions()
    c = judge_agreement(rows, judges="new", previous="old", random_state=0).changes
    old, new = rows["old"], rows["new"]
    assert_allclose(c["flips"], np.mean(old != new))
    ends = binomtest((old != new).sum(), 200).proportion_ci(method="exact")
    assert_allclose((c["flips_low"], c["flips_high"]), ends)
    assert_allclose(c["kappa"], cohen_kappa_score(old, new))
    assert_allclose(c["bias_change"], new.mean() - old.mean())
    exact = binomtest(((new == 1) & (old == 0)).sum(), (new != old).sum()).pvalue
    assert_allclose(c["bias_change_p_value"], exact)
    seen = rows[:100]
    wrong = [(seen[name] != seen["human"]).to_numpy() for name in ("new", "old")]
    assert_allclose((c["error_now"], c["error_before"]), [w.mean() for w in wrong])
    exact = binomtest((wrong[0] & ~wrong[1]).sum(), (wrong[0] != wrong[1]).sum()).pvalue
    assert_allclose(c["error_change_p_value"], exact)
    for what in ("bias_change", "error_change"):
        excludes = c[f"{what}_low"] > 0 or c[f"{what}_high"] < 0
        assert excludes == (c[f"{what}_p_value"] < 0.05)
    assert (c["n"], c["n_labels"], c["only_now"], c["only_before"]) == (200, 100, 0, 0)


def test_previous_keeps_the_agreement_and_bias_change_ignores_labels():
    rows = versions().assign(again=versions(seed=1)["new"])
    alone = judge_agreement(rows, judges="new", random_state=0)
    card = judge_agreement(rows, judges="new", previous="old", repeats="again", random_state=0)
    pd.testing.assert_frame_equal(card.to_frame(), alone.to_frame())
    assert alone.changes is None and alone.noise is None
    free = judge_agreement(rows, **FREE).changes
    for name in ("n", "flips", "bias_change", "bias_change_low", "bias_change_p_value"):
        assert card.changes[name] == free[name]
    assert free["n_labels"] == 0 and np.isnan(free["error_change"])
    lazy = judge_agreement(pl.from_pandas(rows).lazy(), **FREE).changes
    pd.testing.assert_series_equal(lazy, free)


def test_other_scales():
    rng = np.random.default_rng(3)
    grade = rng.integers(1, 11, 80)
    rows = pd.DataFrame({"human": grade, "old": np.clip(grade + 1, 1, 10), "new": grade})
    rows.loc[60:, "human"] = None
    c = judge_agreement(rows, judges="new", previous="old", level="ordinal").changes
    t = ttest_1samp(rows["new"] - rows["old"], 0)
    assert_allclose(c["bias_change_p_value"], t.pvalue)
    ends = t.confidence_interval(0.95)
    assert_allclose((c["bias_change_low"], c["bias_change_high"]), ends)
    assert_allclose(c["kappa"], cohen_kappa_score(rows["old"], rows["new"], weights="quadratic"))
    assert c["error_now"] == 0
    assert_allclose(c["error_before"], np.mean((rows["old"] - grade)[:60]))
    # Flips use the threshold, the mean uses the probabilities.
    p = rng.random(80)
    rows = pd.DataFrame({"old": p, "new": np.clip(p + 0.1, 0, 1)})
    c = judge_agreement(rows, **FREE).changes
    assert_allclose(c["flips"], np.mean((p < 0.5) & (p >= 0.4)))
    assert_allclose(c["bias_change"], np.mean(rows["new"] - p))
    # With words an abstention is a label, and the mean is that of the event.
    words = np.array(["good", "bad", "unsure"])
    old = words[rng.integers(0, 3, 80)]
    new = np.where(rng.random(80) < 0.7, old, words[rng.integers(0, 3, 80)])
    rows = pd.DataFrame({"old": old, "new": new})
    c = judge_agreement(rows, **FREE).changes
    assert_allclose(c["kappa"], cohen_kappa_score(old, new))
    assert np.isnan(c["bias_change"])
    c = judge_agreement(rows, **FREE, event="good").changes
    assert_allclose(c["bias_change"], np.mean(new == "good") - np.mean(old == "good"))


@pytest.mark.parametrize("words", [{}, {0: "no", 1: "yes", 2: "2nd"}])
def test_numbers_of_repeats_are_not_verdicts(words):
    rows = pd.DataFrame({"new": np.arange(60) // 3 % 2, "k": np.arange(60) % 3}).replace(words)
    with pytest.raises(ValueError, match="'k' .*2.*'new'"):
        judge_agreement(rows, None, "new", repeats="k", event="yes" if words else None)
    # The largest grade may be missing from the first column.
    grades = pd.DataFrame({"new": np.arange(60) % 4 + 1, "again": np.arange(60) % 4 + 1})
    grades.loc[3, "again"] = 5
    assert judge_agreement(grades, None, "new", repeats="again").noise is not None


def test_blank_verdicts_order_and_engine():
    rows = versions().assign(again=versions(seed=1)["new"])
    rows["doc"] = np.arange(200) // 3
    rows.loc[:9, "old"] = rows.loc[5:19, "new"] = np.nan
    options = {"judges": "new", "previous": "old", "repeats": ["again"], "cluster": "doc"}
    card = judge_agreement(rows, **options, random_state=0)
    assert (card.changes["n"], card.changes["only_now"], card.changes["only_before"]) == (
        180,
        5,
        10,
    )
    assert any(re.search(r"\b5 answers .*\b10 ", sentence) for sentence in card.sentences())
    mixed = judge_agreement(
        pl.from_pandas(rows.sample(frac=1, random_state=1)), **options, random_state=0
    )
    assert_allclose(mixed.changes.to_numpy(float), card.changes.to_numpy(float), atol=1e-9)
    assert_allclose(mixed.noise, card.noise, atol=1e-9)


def test_identical_versions():
    rows = versions().assign(old=lambda t: t["new"], again=lambda t: t["new"])
    card = judge_agreement(rows, judges="new", previous="old", repeats="again", random_state=0)
    c = card.changes
    assert c["flips"] == c["flips_low"] == c["bias_change"] == c["error_change"] == 0
    assert c["kappa"] == 1 and c["bias_change_p_value"] == 1 and 0 < c["flips_high"] < 0.03
    assert card.noise["share"].eq(0).all() and card.noise["answers_worth"].eq(1).all()
    grades = rows.assign(old=rows["new"] * 9)
    grades["new"] = grades["old"]
    c = judge_agreement(grades, **FREE).changes
    assert c["bias_change"] == 0 and c["bias_change_p_value"] == 1


def test_copies_in_clusters_add_no_information():
    rows = versions(60).assign(doc=np.arange(60))
    copies = pd.concat([rows] * 4)
    alone, together = (judge_agreement(t, **FREE, cluster="doc").changes for t in (rows, copies))
    wide = [c["flips_high"] - c["flips_low"] for c in (alone, together)]
    assert_allclose(wide[1], wide[0], rtol=0.15)
    d = (rows["new"] - rows["old"]).to_numpy()
    assert_allclose(together["bias_change_p_value"], ttest_1samp(d, 0).pvalue)


def repeated(rng, n, k, noise=0.1):
    p = np.where(rng.random(n) < 0.6, 1 - noise, noise)
    return pd.DataFrame({f"v{i}": (rng.random(n) < p) * 1.0 for i in range(k)})


def test_noise_and_the_value_of_more_verdicts():
    rows = repeated(np.random.default_rng(4), 20_000, 3)
    options = {"human": None, "judges": "v0", "repeats": ["v1", "v2"]}
    card = judge_agreement(rows, **options, random_state=0)
    within, mean = 0.1 * 0.9, 0.6 * 0.9 + 0.4 * 0.1
    total = mean * (1 - mean)  # variance of one verdict
    table = card.noise
    assert table["share_high"].iloc[0] - table["share_low"].iloc[0] < 0.03
    k = table.index.to_numpy()
    expected = total - within + within / k
    assert_allclose(table["share"], within / k / expected, rtol=0.05)
    assert_allclose(table["standard_error"], np.sqrt(expected / 20_000), rtol=0.01)
    assert_allclose(table["answers_worth"], total / expected, rtol=0.03)
    assert_allclose(table["standard_error"].iloc[2], rows.mean(axis=1).sem(), rtol=0.01)
    enough = next(k for k, x in zip(k, expected, strict=True) if x <= 1.05**2 * (total - within))
    assert any(f" {enough} verdicts" in sentence for sentence in card.sentences())
    rows["old"] = rows.pop("v2")
    c = judge_agreement(rows, **options | {"repeats": "v1", "previous": "old"}).changes
    assert_allclose(c["flips_by_noise"], np.mean(rows["v0"] != rows["v1"]))
    assert_allclose(c["flips"], 2 * within, rtol=0.05)


def test_unequal_repeats_and_one_alone():
    rng = np.random.default_rng(5)
    rows = repeated(rng, 400, 4)
    rows = rows.mask(rng.random(rows.shape) < [0, 0.3, 0.6, 0.9])
    options = {"human": None, "judges": "v0"}
    four = judge_agreement(rows, **options, repeats=["v1", "v2", "v3"]).noise.iloc[0]
    one = judge_agreement(rows, **options, repeats="v1").noise.iloc[0]
    for row in (four, one):
        assert row["share_low"] < 0.09 / 0.2436 < row["share_high"]
    with pytest.raises(ValueError, match=r"\b5\b"):
        judge_agreement(rows.assign(v1=rows["v1"].where(rows.index < 4)), **options, repeats="v1")


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        ({}, {"human": None, "judges": "new"}, "previous="),
        ({}, {"judges": ["new", "human2"], "previous": "old"}, "previous="),
        ({}, {"judges": "new", "previous": "new"}, "previous="),
        ({"old": np.nan}, {"judges": "new", "previous": "old"}, "0 answers"),
        ({"old": "a", "new": "b"}, {"human": None, "judges": "new", "repeats": "old"}, "event="),
        ({"old": "1", "new": "2"}, FREE, "'1'"),
        ({"old": "a", "new": "b"}, FREE | {"event": "c"}, "event='c'"),
        ({"old": "yes"}, FREE, "'yes'"),
        ({"old": np.inf}, FREE, "inf"),
        ({"old": pd.Timestamp("2020-01-01")}, FREE, "Timestamp"),
    ],
)
def test_invalid_comparisons_raise(change, options, words):
    with pytest.raises(ValueError, match=words):
        judge_agreement(versions().assign(human2=1.0, **change), **options)


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 200])
def test_intervals_of_changes_cover(n):
    """Independent answers, half of them labeled."""
    rng = np.random.default_rng(n)
    new, old = (0.6 * (1 - e) + 0.4 * e for e in (0.1, 0.25))
    flips = 0.25 * 0.9 + 0.75 * 0.1
    truth = {"flips": flips, "bias_change": new - old, "error_change": -0.15}
    hits = {name: [] for name in truth}
    for _ in range(80):
        card = judge_agreement(versions(n, rng), judges="new", previous="old", random_state=rng)
        for name, value in truth.items():
            low, high = (card.changes[f"{name}_{end}"] for end in ("low", "high"))
            hits[name].append(low <= value <= high)
    shares = {name: np.mean(hit) for name, hit in hits.items()}
    assert min(shares.values()) >= 0.93 - 0.028, shares  # one binomial standard error


@pytest.mark.parametrize("human", [None, "human"])
@pytest.mark.parametrize(
    "old",
    [
        pytest.param(lambda x: 100 * x, id="percent"),
        pytest.param(lambda x: 1 + 4 * x, id="stars"),
        pytest.param(lambda x: np.arange(len(x)), id="row numbers"),
    ],
)
def test_verdicts_on_another_scale_are_refused(old, human):
    rng = np.random.default_rng(0)
    rows = versions()
    for new in (rows["new"], rng.random(200)):
        table = rows.assign(new=new, old=old(new))
        with pytest.raises(ValueError, match="'old'"):
            judge_agreement(table, human, "new", previous="old")


def test_versions_without_common_words_raise():
    rows = versions().assign(old=lambda t: t["old"].map({1: "PASS", 0: "FAIL"}))
    with pytest.raises(ValueError, match="'old' .*'(PASS|FAIL)'"):
        judge_agreement(rows.assign(new=rows["new"].map({1: "yes", 0: "no"})), **FREE)


def test_an_unknown_label_of_the_earlier_version_raises():
    rows = versions().replace({0: "no", 1: "yes"})
    rows.loc[0, "old"] = "perhaps"
    with pytest.raises(ValueError, match="'old' .*'perhaps'"):
        judge_agreement(rows, "human", "new", previous="old")


def test_numbers_of_rows_are_not_verdicts():
    scores = np.random.default_rng(0).integers(0, 101, 200)
    rows = pd.DataFrame({"new": scores, "old": np.arange(200)})
    with pytest.raises(ValueError, match="'old' "):
        judge_agreement(rows, **FREE)


@pytest.mark.parametrize(
    "new, old",
    [([0, 1], [1]), ([0, 1, 2], [0, 1]), ([1, 2, 3, 4, 5], [3, 4]), ([0.2, 0.7], [0, 1]),
     ([10, 95], [60, 90]), (["yes", "no"], ["yes"]), (["y", "n", "?"], ["y", "n"])],
)  # fmt: skip
def test_versions_that_use_parts_of_one_scale_are_compared(new, old):
    rows = pd.DataFrame({"new": np.resize(np.array(new, object), 60)})
    rows["old"] = np.resize(np.array(old, object), 60)
    assert judge_agreement(rows, **FREE).changes["n"] == 60


def test_the_judge_is_not_its_own_repeat():
    rows = versions().assign(again=1.0)
    with pytest.raises(ValueError, match="'new' .*repeats="):
        judge_agreement(rows, None, "new", repeats=["new", "again"])
