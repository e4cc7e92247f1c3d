"""The gate: verdicts, error rates and power."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from markdown_it import MarkdownIt
from numpy.testing import assert_allclose
from scipy.stats import binom, fisher_exact, hypergeom, t

from skbench import ItemBank, compare_models, gate
from skbench.stats.clusters import paired
from skbench.stats.ranking import noninferiority
from skbench.stats.resampling import repeats


def rows_of(old, new, **columns):
    """Item rows of many data sets: arrays of shape (n_sets, n_items)."""
    n_sets, n = np.shape(old)
    base = {"sim": np.repeat(np.arange(n_sets), n), "item": np.tile(np.arange(n), n_sets)}
    base |= {name: np.tile(values, n_sets) for name, values in columns.items()}
    return pd.concat(
        [
            pd.DataFrame(base | {"model": name, "score": np.ravel(x).astype(float)})
            for name, x in (("old", old), ("new", new))
        ]
    )


def binary(rng, n_sets, n, disagreement, difference):
    only_new, only_old = (disagreement + difference) / 2, (disagreement - difference) / 2
    u, same = rng.random((n_sets, n)), rng.random((n_sets, n)) < 0.7
    new = np.where(u < only_new, 1, np.where(u < only_new + only_old, 0, same))
    old = np.where(u < only_new, 0, np.where(u < only_new + only_old, 1, same))
    return old, new


def continuous(rng, n_sets, n, spread, difference):
    old = rng.random((n_sets, n))
    return old, old + difference + rng.normal(0, spread, (n_sets, n))


def clustered(rng, n_sets, n, spread, difference):
    """Correct answers in clusters of five with equal differences."""
    shared = np.repeat(rng.uniform(-spread, spread, (n_sets, n // 5)), 5, axis=1)
    old = rng.random((n_sets, n)) < 0.7
    return old, rng.random((n_sets, n)) < 0.7 + difference + shared


def verdicts(rows, margin, **options):
    """Verdict on every data set, from the intervals of one call."""
    topics = gate(rows, "old", "new", margin, by="sim", **options).topics
    return noninferiority.decide(topics["low"], topics["high"], margin)


def single(rows, margin, sim, **options):
    return gate(rows[rows["sim"] == sim], "old", "new", margin, **options)


def test_gate_and_exact_test_agree():
    for lost in (1, 5, 6, 11):
        rows = rows_of(np.ones((1, 300)), (np.arange(300) >= lost)[None])
        fails = single(rows, 0.001, 0).high < 0
        assert fails == (compare_models(rows, "new", "old").p_value[0] <= 0.05)


@pytest.mark.parametrize("fail", ["worse", "margin"])
def test_power_of_counts_against_the_sum_over_all_tables(fail):
    n, disagreement, margin = 60, 0.3, 0.15
    only_a = (disagreement - margin * (fail == "worse")) / 2
    only_b = disagreement - only_a
    a, b = np.nonzero(np.add.outer(np.arange(n + 1), np.arange(n + 1)) <= n)
    decided = noninferiority.decide(*paired.mcnemar_interval(a, b, n), margin, fail)
    chance = binom.pmf(a, n, only_a) * binom.pmf(b, n - a, only_b / (1 - only_a))
    total = chance[decided == ("fail" if fail == "worse" else "pass")].sum()
    found = noninferiority.power_of_counts(n, disagreement, margin, fail=fail)
    assert_allclose(found, total, atol=0.02)


def test_binary_gate_and_its_three_verdicts():
    old = np.r_[np.ones(80), np.zeros(20)][None]
    for lost, margin, verdict in [(0, 0.05, "pass"), (30, 0.05, "fail"), (3, 0.02, "undecided")]:
        new = old.copy()
        new[0, :lost] = 0
        result = single(rows_of(old, new), margin, 0)
        expected = paired.mcnemar_interval(0, lost, 100)
        assert_allclose((result.low, result.high), expected)
        assert result.verdict == verdict
        assert_allclose(result.difference, -lost / 100)


def test_fail_at_the_margin_needs_more_than_worse():
    old = np.r_[np.ones(80), np.zeros(20)][None]
    new = old.copy()
    new[0, :8] = 0
    rows = rows_of(old, new)
    assert single(rows, 0.05, 0).verdict == "fail"
    result = single(rows, 0.05, 0, fail="margin")
    assert result.verdict == "undecided"
    # Its power is about passing a candidate that is as good.
    a, b = np.meshgrid(np.arange(101), np.arange(101), indexing="ij")
    share = 0.08
    rest = share / 2 / (1 - share / 2)
    chance = binom.pmf(a, 100, share / 2) * binom.pmf(b, 100 - a, rest)
    low = np.full(a.shape, -1.0)
    inside = a + b <= 100
    low[inside] = paired.mcnemar_interval(a[inside], b[inside], 100)[0]
    assert_allclose(result.power, chance[low > -0.05].sum(), atol=0.02)  # normal, with steps


def test_interval_is_that_of_compare_models():
    rng = np.random.default_rng(0)
    rows = rows_of(*continuous(rng, 1, 60, 0.2, 0.0), passage=np.arange(60) // 5)
    for options in ({}, {"cluster": "passage"}):
        result = single(rows, 0.1, 0, **options)
        expected = compare_models(rows, "new", "old", **options).estimate
        assert_allclose((result.low, result.high), (expected.low[0], expected.high[0]))


def test_clusters_may_reach_over_topics():
    rng = np.random.default_rng(0)
    rows = rows_of(*clustered(rng, 1, 100, 0.2, 0.0), passage=np.arange(100) // 5)
    rows["topic"] = rows["item"] % 5
    plain = single(rows, 0.1, 0, cluster="passage")
    result = single(rows, 0.1, 0, cluster="passage", by="topic")
    assert (result.low, result.high) == (plain.low, plain.high)
    assert result.topics["n_items"].tolist() == [20] * 5


def test_relative_margin_is_a_share_of_the_baseline():
    rows = rows_of(*binary(np.random.default_rng(0), 1, 200, 0.2, 0))
    mean = rows[rows["model"] == "old"]["score"].mean()
    result = single(rows, 0.1, 0, relative=True)
    assert_allclose(result.margin, 0.1 * mean)
    assert result.low == single(rows, 0.05, 0).low


def test_low_power_comes_first():
    rows = rows_of(*binary(np.random.default_rng(0), 1, 60, 0.2, 0))
    result = single(rows, 0.02, 0)
    assert result.power < 0.5
    assert f"{100 * result.power:.0f}%" in result.sentences()[0]
    assert f"{100 * result.power:.0f}%" in result.to_markdown().splitlines()[2]
    seen = single(rows_of(*binary(np.random.default_rng(0), 1, 400, 0.2, 0)), 0.1, 0)
    assert seen.power > 0.5
    assert seen.sentences()[0].startswith(seen.verdict.upper())


def test_models_that_never_differ_are_not_taken_for_certain():
    rng = np.random.default_rng(0)
    old = rng.random((1, 40))
    result = single(rows_of(old, old, passage=np.arange(40) // 4), 0.1, 0, cluster="passage")
    # Ten clusters without a difference, and one worst case.
    assert_allclose(result.high, t.ppf(0.975, 9) * np.sqrt(10 / 11**2 / 9))
    assert result.verdict == "undecided"
    assert np.isnan(result.power)
    assert json.loads(result.to_json())["power"] is None


def test_topics_that_got_worse_are_found_at_the_rate():
    rng = np.random.default_rng(0)
    old, new = (x.astype(float) for x in binary(rng, 40, 60, 0.2, 0))
    new[:10] = rng.random((10, 60)) < 0.3
    rows = rows_of(old, new)
    topics = gate(rows, "old", "new", 0.05, by="sim").topics
    assert topics["worse"].to_numpy()[:10].all()
    assert topics["worse"].to_numpy()[10:].sum() <= 2
    assert_allclose(
        topics["p_value"].iloc[0],
        binom.cdf(((new > old)[0]).sum(), (new != old)[0].sum(), 0.5),
    )


def test_topics_are_listed_by_what_decides_on_them():
    """Twenty equal losses: some significant topics have an unadjusted interval that includes 0."""
    rng = np.random.default_rng(5)
    old, new = (x.astype(float) for x in binary(rng, 20, 50, 0.3, -0.2))
    result = gate(rows_of(old, new), "old", "new", 0.05, by="sim")
    worse = result.topics[result.topics["worse"]]
    assert (worse["high"] >= 0).any()  # the interval of a topic alone is no decision
    table = [line for line in result.to_markdown().splitlines() if line.endswith("| 50 |")]
    for row, shown in zip(worse.sort_values("difference").itertuples(), table, strict=True):
        assert shown == f"| {row.Index} | {row.difference:+.3f} | {row.adjusted:.2g} | 50 |"


def test_item_flips_that_noise_explains_and_those_it_does_not():
    rng = np.random.default_rng(0)
    p = np.r_[np.full(200, 0.5), np.ones(20)]
    q = np.r_[np.full(200, 0.5), np.zeros(20)]
    runs = np.arange(8)
    rows = pd.concat(
        [
            pd.DataFrame({"model": name, "item": np.repeat(np.arange(220), 8),
                          "run": np.tile(runs, 220),
                          "score": (rng.random((220, 8)) < rate[:, None]).ravel() * 1.0})
            for name, rate in (("old", p), ("new", q))
        ]
    )  # fmt: skip
    result = gate(rows, "old", "new", 0.05, cluster="item")
    found = result.item_verdicts
    assert (found["verdict"].to_numpy()[200:] == "worse").all()
    assert found["verdict"].isin(["worse", "better"]).to_numpy()[:200].sum() <= 2
    flipped = found["flipped"].to_numpy()[:200].sum()
    chance = found["chance_of_flip"].to_numpy()[:200]
    spread = np.sqrt(np.sum(chance * (1 - chance)))
    assert abs(flipped - chance.sum()) < 3 * spread


def test_flips_against_fisher_and_enumeration():
    a, runs_a, b, runs_b = np.array([3, 1, 4]), 5, np.array([0, 3, 4]), 4
    found = repeats.flips(a, runs_a, b, runs_b)
    for i in range(3):
        table = [[a[i], runs_a - a[i]], [b[i], runs_b - b[i]]]
        tails = [fisher_exact(table, side).pvalue for side in ("less", "greater")]
        assert_allclose(found.p_value[i], min(1, 2 * min(tails)))
        total = a[i] + b[i]
        chance = sum(
            hypergeom.pmf(x, runs_a + runs_b, total, runs_a)
            for x in range(total + 1)
            if (2 * x >= runs_a) != (2 * (total - x) >= runs_b)
        )
        assert_allclose(found.chance[i], chance)


@pytest.mark.parametrize("unit", [1, 100])
def test_scores_that_differ_by_a_constant(unit):
    old = unit * np.tile([0.5, 0.6, 0.7], 20)
    found = gate(rows_of(old[None], old[None] + 0.1 * unit), "old", "new", 0.05 * unit)
    assert np.isnan(found.power)
    if unit == 1:  # one worst case more is all that is known, and it counts in the mean as well
        shift, reach = 1.1 / 61, t.ppf(0.975, 59) * np.sqrt(60 / 61**2 / 59) * 1.1
        assert_allclose(found.low, 0.1 - shift - reach)
        return
    assert found.verdict == "undecided" and np.isnan(found.low)
    assert "every item" in " ".join(found.remarks)


def test_result_as_table_json_and_markdown():
    rows = rows_of(*binary(np.random.default_rng(0), 3, 60, 0.2, -0.1))
    result = gate(rows, "old", "new", 0.05, by="sim")
    row = result.to_frame().iloc[0]
    assert (row["verdict"], row["low"]) == (result.verdict, result.low)
    document = json.loads(result.to_json())
    assert document["items_needed"] == result.items_needed
    assert len(document["topics"]) == 3
    assert f"| {result.difference:+.3f} |" in result.to_markdown()


def test_names_in_markdown_are_text_and_short():
    """A hostile name makes no heading, cell, mention or image, and two long ones stay distinct."""
    rng = np.random.default_rng(0)
    rows = rows_of(*binary(rng, 3, 60, 0.2, -0.6))
    evil = "m\n\n### ✅ pass <!--<img src=//e.x> @acme/all #1 [x](//e.x) | +0.310"
    names = {"old": f"{'x' * 80_000}1", "new": evil}
    rows = rows.assign(model=rows["model"].map(names), sim=rows["sim"].map("{}|a\n|b".format))
    text = gate(rows, *names.values(), 0.05, by="sim").to_markdown()
    assert len(text) < 5_000 and "xxx1 =" in text
    page = MarkdownIt("gfm-like", {"linkify": False}).render(text)
    assert len(re.findall("<h[1-6]", page)) == 1 and "<h3>❌ FAIL: " in page.splitlines()[0]
    assert not re.search("<(img|a|!--)|@[a-z]|#[0-9]", page)
    heads, *cells = (len(re.findall("<t[dh][ >]", row)) for row in page.split("<tr>")[3:])
    assert heads == 4 and cells == [4] * 3, page


def test_bad_input_raises():
    rows = rows_of(*binary(np.random.default_rng(0), 1, 20, 0.2, 0))
    other = pd.concat([rows[rows["model"] == "old"], rows[rows["model"] == "new"].assign(
        item=lambda r: r["item"] + 100)])  # fmt: skip
    with pytest.raises(ValueError, match="'"):
        gate(other, "old", "new", 0.02)
    with pytest.raises(ValueError):
        gate(rows.assign(score=0.0), "old", "new", 0.02, relative=True)


def test_items_of_one_model_only_are_skipped_with_a_warning_or_wrong():
    old, new = np.ones((1, 20)), np.ones((1, 20))
    rows = rows_of(old, new)
    rows = rows[~((rows["model"] == "new") & (rows["item"] < 8))]
    with pytest.warns(UserWarning):
        result = gate(rows, "old", "new", 0.1)
    assert (result.n_items, result.difference) == (12, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = gate(rows, "old", "new", 0.1, missing="wrong")
    assert (result.n_items, result.difference, result.verdict) == (20, -0.4, "fail")


@pytest.mark.slow
def test_equal_models_fail_at_most_5_percent_of_the_time():
    rng = np.random.default_rng(2)
    for n in (60, 100, 200, 400):
        for make, spread in [(binary, 0.05), (binary, 0.25), (continuous, 0.2), (clustered, 0.2)]:
            rows = rows_of(*make(rng, 2000, n, spread, 0), passage=np.arange(n) // 5)
            options = {"cluster": "passage"} if make is clustered else {}
            assert np.mean(verdicts(rows, 0.02, **options) == "fail") <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "spread", "n", "margin"),
    [(binary, 0.1, 60, 0.1), (binary, 0.15, 150, 0.05), (binary, 0.15, 400, 0.05),
     (binary, 0.3, 150, 0.1), (binary, 0.3, 400, 0.05), (binary, 0.06, 400, 0.03),
     (continuous, 0.2, 60, 0.05), (continuous, 0.2, 150, 0.03), (continuous, 0.2, 150, 0.05),
     (clustered, 0.2, 100, 0.15), (clustered, 0.1, 200, 0.1), (clustered, 0.2, 400, 0.08)],
)  # fmt: skip
def test_stated_power_is_the_simulated_one(make, spread, n, margin):
    rng = np.random.default_rng(3)
    rows = rows_of(*make(rng, 3000, n, spread, -margin), passage=np.arange(n) // 5)
    options = {"cluster": "passage"} if make is clustered else {}
    simulated = np.mean(verdicts(rows, margin, **options) == "fail")
    sets = dict(list(rows[rows["sim"] < 150].groupby("sim")))
    stated = np.mean([single(one, margin, s, **options).power for s, one in sets.items()])
    assert abs(stated - simulated) <= 0.04


@pytest.mark.slow
@pytest.mark.parametrize(("make", "spread"), [(binary, 0.2), (continuous, 0.2), (clustered, 0.2)])
def test_with_the_items_it_asked_for_it_fails_what_lost_five_points(make, spread):
    rng = np.random.default_rng(4)
    options = {"cluster": "passage"} if make is clustered else {}
    pilot = rows_of(*make(rng, 1, 200, spread, 0), passage=np.arange(200) // 5)
    needed = single(pilot, 0.02, 0, **options).items_needed
    n = -(-needed // 5) * 5
    rows = rows_of(*make(rng, 200, n, spread, -0.05), passage=np.arange(n) // 5)
    assert np.mean(verdicts(rows, 0.02, **options) == "fail") >= 0.8


def test_real_pairs(data_folder):
    """Ten models on MMLU-Pro: all items decide, a tenth of them does not."""
    table = pd.read_csv(data_folder / "mmlu_pro_dev.csv.gz").reset_index(names="question")
    models = [c for c in table if table[c].dropna().isin((0, 1)).all() and c != "question"]
    scores = table[["question", "category", *models]].melt(
        ["question", "category"], var_name="model", value_name="score"
    )
    best, second = table[models].mean().sort_values(ascending=False).index[:2]
    rows = scores[scores["model"].isin([best, second])].dropna()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = gate(rows, best, second, 0.02, item="question", by="category")
        part = gate(rows[rows["question"] % 40 == 0], best, second, 0.02, item="question")
    assert result.power > 0.5 > part.power
    assert result.high - result.low < part.high - part.low
    assert len(result.topics) == table["category"].nunique()


def test_a_margin_beyond_the_score_is_refused():
    items = pd.DataFrame({"model": ["a"] * 9 + ["b"] * 9, "item": [*range(9)] * 2})
    items["score"] = np.resize([1, 0, 1, 1, 0], 18)
    for margin, relative in ((2, False), (3, True)):
        with pytest.raises(ValueError):
            gate(items, "a", "b", margin, relative=relative)


def bank_and_rows(rng, n_asked=200):
    """Twelve earlier models on 2,000 items; a baseline among them, a candidate a bit worse."""
    ease = rng.normal(0.5, 1.5, 2000)
    ability = np.r_[np.linspace(-1, 1, 12), 0.6, 0.3]
    right = rng.random((2000, 14)) < 1 / (1 + np.exp(-ease[:, None] - ability))
    names = [*(f"m{i}" for i in range(12)), "old", "new"]
    rows = pd.DataFrame(right * 1.0, columns=names).rename_axis("item").reset_index()
    rows = rows.melt("item", var_name="model", value_name="score")
    asked = rng.choice(2000, n_asked, replace=False)
    new = rows[rows["model"].isin(["old", "new"]) & rows["item"].isin(asked)]
    truth = right[:, 13].mean() - right[:, 12].mean()
    return rows[rows["model"] != "new"], new, truth


def test_a_bank_that_holds_the_baseline_sharpens_the_gate():
    past, rows, truth = bank_and_rows(np.random.default_rng(0))
    plain = gate(rows, "old", "new", 0.05)
    known = gate(rows, "old", "new", 0.05, bank=ItemBank().fit(past))
    assert known.high - known.low < 0.85 * (plain.high - plain.low)
    assert known.items_needed < 0.75 * plain.items_needed
    assert known.low < truth < known.high
    assert_allclose(known.scores[0], past[past["model"] == "old"]["score"].mean())
    others = past[past["model"] != "old"].rename(columns={"model": "who", "item": "id"})
    bank = ItemBank(model="who", item="id").fit(others)
    other = gate(rows, "old", "new", 0.05, bank=bank)
    assert other.low < truth < other.high and other.n_items == 200


def test_items_that_are_no_random_sample_cause_a_warning():
    past, _, _ = bank_and_rows(np.random.default_rng(1))
    ease = past.groupby("item")["score"].mean()
    two = past[past["model"].isin(["m5", "m7"])]
    hard = two[two["item"].isin(ease.nsmallest(200).index)]
    bank = ItemBank().fit(past[~past["model"].isin(["m5", "m7"])])
    with pytest.warns(UserWarning, match="harder"):
        found = gate(hard, "m5", "m7", 0.05, bank=bank)
    scores = two.groupby("model")["score"].mean()
    assert found.low < scores["m7"] - scores["m5"] < found.high


@pytest.mark.slow
def test_with_a_bank_equal_models_seldom_fail_and_intervals_cover():
    rng = np.random.default_rng(5)
    hits = []
    for _ in range(150):
        past, rows, truth = bank_and_rows(rng)
        found = gate(rows, "old", "new", 0.05, bank=ItemBank().fit(past))
        hits.append(found.low < truth < found.high)
    assert np.mean(hits) >= binom.ppf(0.001, 150, 0.95) / 150


@pytest.mark.parametrize("kind", ["right or wrong", "graded"])
@pytest.mark.parametrize(("n", "verdict"), [(10, "undecided"), (60, "undecided"), (400, "pass")])
def test_identical_results_pass_once_the_interval_clears_the_margin(kind, n, verdict):
    def decided(n):
        score = np.arange(n) % 3 / 2 if kind == "graded" else np.arange(n) % 3 > 0
        rows = pd.DataFrame({"item": range(n), "score": score.astype(float)})
        both = pd.concat([rows.assign(model=name) for name in ("old", "new")])
        return gate(both, "old", "new", 0.03, bounds=(0, 1))

    found = decided(n)
    assert (found.verdict, found.difference) == (verdict, 0)
    assert (found.low > -found.margin) == (verdict == "pass")
    if verdict == "undecided":
        assert f"{found.items_needed:,} such items" in " ".join(found.sentences())
    assert decided(found.items_needed).verdict == "pass"
    if kind == "graded":
        assert decided(found.items_needed - 1).verdict == "undecided"
