import json
import pickle
import warnings
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, binomtest, nct, ttest_ind, ttest_rel
from scipy.stats import t as student_t

from skbench.comparison import (
    compare_models,
    leaderboard,
    minimum_detectable_effect,
    required_items,
)
from skbench.stats.scales.aggregation import difference_variance


@pytest.fixture(scope="module")
def gold(gold_folder):
    return json.loads((gold_folder / "clustered_se.json").read_text())


def rows_of(scores, **columns):
    """Item rows from lists of scores by model; columns describe the items."""
    n = len(next(iter(scores.values())))
    described = pd.DataFrame({"item": np.arange(n)} | columns)
    return pd.concat([described.assign(model=name, score=x) for name, x in scores.items()])


@pytest.fixture(scope="module")
def gold_rows(gold):
    scores = {name: gold[f"fixed_{name}"]["scores"] for name in "AB"}
    return rows_of(scores, passage=gold["fixed_clusters"])


@pytest.fixture
def binary():
    rng = np.random.default_rng(0)
    difficulty = rng.random(60)
    return rows_of(
        {m: (rng.random(60) < p * difficulty + 0.3) * 1.0 for m, p in [("a", 0.6), ("b", 0.2)]}
    )


def test_published_example(gold):
    expected = gold["example_paired_A_minus_B"]
    items = rows_of({name: gold[f"example_{name}"]["cluster_means"] for name in "AB"})
    c = compare_models(items, "A", "B", bounds=(-np.inf, np.inf))
    assert_allclose(c.estimate.value, expected["mean"], rtol=1e-10)
    assert_allclose(c.estimate.standard_error, expected["se"], rtol=1e-10)
    assert_allclose(c.unpaired_standard_error, expected["unpaired_se"], rtol=1e-10)
    assert_allclose(c.p_value, expected["p_two_sided_t3"], rtol=1e-10)
    assert_allclose(c.variance_reduction, 1 - (expected["se"] / expected["unpaired_se"]) ** 2)


def test_gold_clusters(gold, gold_rows):
    c = compare_models(gold_rows, "A", "B", cluster="passage")
    assert_allclose(c.estimate.value, gold["fixed_paired"]["diff"], rtol=1e-10)
    assert_allclose(c.estimate.standard_error, gold["fixed_A_minus_B"]["se_CR2"], rtol=1e-10)
    assert_allclose(c.df, gold["fixed_A_minus_B"]["df_BM_CR2"], rtol=1e-10)
    assert_allclose(
        c.unpaired_standard_error,
        np.hypot(gold["fixed_A"]["se_CR2"], gold["fixed_B"]["se_CR2"]),
        rtol=1e-10,
    )
    assert c.test == "t test"


def test_gold_independent_items(gold, gold_rows):
    c = compare_models(gold_rows, "A", "B")
    expected = gold["fixed_paired"]
    assert_allclose(c.estimate.standard_error, expected["se_paired_iid"], rtol=1e-10)
    assert_allclose(c.unpaired_standard_error, expected["se_unpaired_iid"], rtol=1e-10)
    assert_allclose(c.correlation, expected["corr"], rtol=1e-10)
    assert_allclose(c.p_value, expected["mcnemar_exact_p"], rtol=1e-10)
    assert c.test == "McNemar, exact"


def test_continuous_scores_are_the_paired_t_test():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 25)) + rng.normal(size=25)
    c = compare_models(rows_of({"a": a, "b": b}), "a", "b", confidence_level=0.9)
    expected = ttest_rel(a, b)
    assert_allclose(c.p_value, expected.pvalue, rtol=1e-10)
    interval = expected.confidence_interval(0.9)
    assert_allclose([c.estimate.low[0], c.estimate.high[0]], [interval.low, interval.high])
    n = c.items_needed[0]
    center = c.estimate.value[0] / np.sqrt(np.var(a - b, ddof=1) / n)
    assert_allclose(nct.sf(student_t.ppf(0.95, n - 1), n - 1, abs(center)), 0.8, rtol=1e-6)


@pytest.mark.parametrize("unit", [1, 0.3])  # right or wrong, and other scores
def test_items_needed_is_a_field_whenever_it_is_found(binary, unit):
    items = binary.assign(score=unit * binary["score"])
    early, late = (compare_models(items) for _ in range(2))
    expected = early.items_needed.copy()
    assert np.all(expected > 1) and np.isfinite(expected).all()
    late.n_items[:] = late.n_behind[:] = late.df[:] = 1
    assert_array_equal(pickle.loads(pickle.dumps(late)).items_needed, expected)
    assert_array_equal(asdict(late)["items_needed"], expected)
    assert_array_equal(replace(late, items_needed=-expected).items_needed, -expected)
    board = leaderboard(items)
    assert asdict(board)["ties"] == board.ties == board.to_frame()["ties"].tolist()


def test_all_pairs_put_the_better_model_first(binary):
    items = pd.concat([binary, binary[binary["model"] == "a"].assign(model="c", score=1.0)])
    c = compare_models(items, adjust="none")
    # Neighbours first, from the top.
    assert c.estimate.labels.tolist() == [("c", "a"), ("a", "b"), ("c", "b")]
    assert (c.estimate.value > 0).all()
    alone = compare_models(items, "a", "b")
    for name, value in alone.to_frame().iloc[0].items():
        assert_allclose(c.to_frame().loc[("a", "b"), name], value, rtol=1e-12)
    assert compare_models(items, "b").estimate.labels.tolist() == [("b", "a"), ("b", "c")]


def test_groups_are_compared_one_by_one(binary):
    binary["topic"] = np.where(binary["item"] < 25, "art", "law")
    c = compare_models(binary, "a", "b", by="topic", adjust="none").to_frame()
    assert c.index.names == ["model_a", "model_b", "topic"]
    for topic, rows in binary.groupby("topic"):
        alone = compare_models(rows, "a", "b").to_frame().iloc[0]
        assert_allclose(c.loc[("a", "b", topic)], alone, rtol=1e-12)


def test_swapped_models_turn_the_sign(gold_rows):
    expected, swapped = (
        compare_models(gold_rows, *pair, cluster="passage") for pair in ("AB", "BA")
    )
    assert_allclose(swapped.estimate.low, -expected.estimate.high, rtol=1e-12)
    assert_allclose(swapped.p_value, expected.p_value, rtol=1e-12)


def test_repeated_answers_count_as_one_item():
    rng = np.random.default_rng(2)
    means = {m: rng.normal(size=12) for m in "ab"}
    rows = [
        {"model": m, "item": i, "score": means[m][i] + d}
        for m in "ab"
        for i in range(12)
        for d in ([-0.1, 0, 0.1] if i % 3 else [0.0])  # unequal repeats
    ]
    items = pd.DataFrame(rows)
    with pytest.raises(ValueError):
        compare_models(items, "a", "b")
    c = compare_models(items, "a", "b", cluster="item")
    assert_allclose(c.p_value, ttest_rel(means["a"], means["b"]).pvalue, rtol=1e-10)
    assert "1 to 3 answers" in repr(c)
    assert_allclose(c.noise, 2 * 0.01, rtol=1e-10)
    left = 2 * 0.01 * (8 / 3 + 4) / 12
    variance = 12 * c.estimate.standard_error**2
    assert_allclose(c.omega2, variance - left, rtol=1e-10)


def test_variance_components_plan_the_next_evaluation():
    """Noise and omega2 of a pilot with 3 answers predict the variance with 12."""
    rng = np.random.default_rng(3)
    n = 3000
    chance = {m: rng.beta(1, 1, n) for m in "ab"}
    rows = pd.DataFrame(
        {"model": m, "item": i, "run": k} for m in "ab" for i in range(n) for k in range(12)
    )
    rows["score"] = rng.binomial(
        1, [chance[m][i] for m, i in zip(rows["model"], rows["item"], strict=True)]
    )
    pilot = compare_models(rows[rows["run"] < 3], "a", "b", cluster="item")
    full = compare_models(rows, "a", "b", cluster="item")
    predicted = (pilot.omega2 + pilot.noise / 12) / n
    # Two variances from 3000 items, each with a standard error of 2.6%.
    assert_allclose(predicted, full.estimate.standard_error**2, rtol=0.1)
    assert_allclose(pilot.noise, 2 / 6, rtol=0.05)  # E p (1 - p) of uniform p


def test_different_items_are_compared_by_welch():
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=10), rng.normal(1, 2, size=15)
    items = pd.concat([rows_of({"a": a}), rows_of({"b": b}).assign(item=np.arange(100, 115))])
    with pytest.warns(UserWarning):
        c = compare_models(items, "a", "b")
    assert_allclose(c.p_value, ttest_ind(a, b, equal_var=False).pvalue, rtol=1e-10)
    assert c.n_items[0] == 0 and c.correlation[0] == 0
    assert np.isnan(c.items_needed[0])
    assert "unpaired" in repr(c)
    assert c.estimate.method == "unpaired difference (independent items)"


def test_items_of_one_model_are_left_out_and_named(binary):
    items = binary[~((binary["model"] == "b") & binary["item"].isin([3, 7]))]
    with pytest.warns(UserWarning, match="lacks 3, 7"):
        c = compare_models(items, "a", "b")
    both = binary[~binary["item"].isin([3, 7])]
    assert_allclose(c.to_frame(), compare_models(both, "a", "b").to_frame(), rtol=1e-12)
    assert c.n_items[0] == 58


def test_group_without_one_model_is_unknown(binary):
    binary["topic"] = np.where(binary["item"] < 25, "art", "law")
    items = binary[(binary["model"] == "a") | (binary["topic"] == "art")]
    with pytest.warns(UserWarning, match="law"):
        c = compare_models(items, "a", "b", by="topic").to_frame()
    assert c.loc[("a", "b", "law")][["difference", "standard_error", "p_value"]].isna().all()
    assert c.loc[("a", "b", "art")].notna().all()


@pytest.mark.filterwarnings("ignore:'a' and")
def test_identical_models_are_not_known_to_be_equal(binary):
    a = binary[binary["model"] == "a"]
    items = pd.concat([a, a.assign(model="twin")])
    with pytest.warns(UserWarning):
        c = compare_models(items)
    assert c.estimate.value[0] == 0
    assert np.isnan([c.estimate.standard_error[0], c.items_needed[0]]).all()
    # Tango's interval without any disagreement, z^2 / (n + z^2): never of width 0.
    assert_allclose([-c.estimate.low[0], c.estimate.high[0]], 3.841459 / 63.841459, rtol=1e-6)
    assert c.p_value[0] == 1
    shifted = pd.concat([a, a.assign(model="twin", score=a["score"] + 0.1)])
    with pytest.warns(UserWarning, match="'twin'.*'a'.*nan"):
        c = compare_models(shifted)
    assert_allclose(c.estimate.value, 0.1)
    assert np.isnan(c.p_value[0])
    assert repr(c).startswith("twin - a = 0.1000 (")
    assert repr(c).count("unknown") >= 3  # standard error, interval, p-value


@pytest.mark.parametrize("scores", [(1 / 3, 1, 2 / 3), (0.5, 0.25, 0.0)])
def test_a_tie_up_to_rounding_is_a_tie(scores):
    items = rows_of({"a": np.tile(scores, 5), "b": np.tile(np.roll(scores, 1), 5)})
    c = compare_models(items, "a", "b")
    assert c.estimate.value[0] == 0
    assert c.items_needed[0] == np.inf
    assert np.isinf(c.items_needed[0]) and c.sentences()[-1].endswith(" 0.")


def test_right_against_wrong_on_every_item():
    with pytest.warns(UserWarning):
        c = compare_models(rows_of({"a": np.ones(8), "b": np.zeros(8)}))
    assert_allclose(c.p_value, binomtest(8, 8).pvalue, rtol=1e-12)
    assert np.isnan(c.estimate.standard_error[0])


@pytest.mark.filterwarnings("ignore:'a' and 'b' differ")
def test_models_that_share_nothing_are_compared_by_name_only():
    pair = rows_of({"a": np.ones(10), "b": np.zeros(10)})
    other = rows_of({"c": np.tile([0.0, 1.0, 0.5], 4)}).assign(item=np.arange(100, 112))
    items = pd.concat([pair, other]).query("item != 0 or model != 'b'")
    with pytest.warns(UserWarning, match="'"):
        c = compare_models(items).to_frame()
    assert c.loc[[("a", "c"), ("c", "b")], ["difference", "low", "p_value"]].isna().all(axis=None)
    assert np.isfinite(c.loc[("a", "b"), "difference"])
    with pytest.warns(UserWarning):
        c = compare_models(items, "a", "c", bounds=(-np.inf, np.inf))
    expected = ttest_ind(np.ones(10), np.tile([0.0, 1.0, 0.5], 4), equal_var=False)
    assert_allclose(c.p_value, expected.pvalue, rtol=1e-10)


@pytest.mark.filterwarnings("ignore:.*did not answer all")
def test_gaps_of_others_leave_a_pair_exact():
    rng = np.random.default_rng(7)
    items = rows_of({m: rng.integers(0, 2, 40) * 1.0 for m in "abc"})
    gaps = items[(items["model"] != "c") | (items["item"] > 9)]
    c = compare_models(gaps, adjust="bonferroni")
    both = compare_models(items, "a", "b")
    p_value = pd.Series(c.p_value, c.estimate.labels)
    a, b = next(pair for pair in p_value.index if "c" not in pair)
    assert_allclose(p_value[(a, b)], min(1, 3 * both.p_value[0]), rtol=1e-12)
    assert "McNemar" in c.test and "t test" in c.test


def test_a_single_shared_item_is_no_cluster():
    with pytest.warns(UserWarning):
        compare_models(rows_of({"a": [1.0], "b": [0.0]}))


def test_one_cluster_gives_no_standard_error(gold_rows):
    with pytest.warns(UserWarning):
        c = compare_models(gold_rows.assign(passage=1), "A", "B", cluster="passage")
    assert_allclose(c.estimate.value, 0.15625)
    assert np.isnan([c.estimate.standard_error[0], c.estimate.high[0], c.p_value[0]]).all()


def test_bonferroni_and_holm():
    rng = np.random.default_rng(5)
    items = rows_of({m: rng.normal(0.1 * i, 1, 40) for i, m in enumerate("abcd")})
    plain = compare_models(items, adjust="none")
    bonferroni = compare_models(items)  # the default
    holm = compare_models(items, adjust="holm")
    assert_allclose(bonferroni.p_value, np.minimum(1, 6 * plain.p_value), rtol=1e-12)
    assert_allclose(bonferroni.estimate.confidence_level, 1 - 0.05 / 6, rtol=1e-12)
    smallest = np.argmin(plain.p_value)
    assert_allclose(holm.p_value[smallest], bonferroni.p_value[smallest], rtol=1e-12)
    assert (holm.p_value <= bonferroni.p_value).all() and (holm.p_value >= plain.p_value).all()
    assert_array_equal(holm.estimate.low, bonferroni.estimate.low)
    # An interval excludes 0 if and only if the Bonferroni p-value is below 5%.
    excludes = (bonferroni.estimate.low > 0) | (bonferroni.estimate.high < 0)
    assert_array_equal(excludes, bonferroni.p_value < 0.05)
    assert "all 6 comparisons" in repr(holm)


def test_repr_has_the_effect_of_pairing(gold_rows):
    text = repr(compare_models(gold_rows, "A", "B", cluster="passage", bounds=(-np.inf, np.inf)))
    lines = text.splitlines()
    for number, line in zip(["0.156", "0.042", "32", "0.17", "44"], lines, strict=False):
        assert number in line
    assert lines[0].startswith("A is better than B by 0.156 (")
    assert "0.059" in lines[0] and "95% interval 0.008 to 0.30" in lines[0]
    assert "88%" in lines[2] and "0.88" in lines[2]
    worse = compare_models(gold_rows, "B", "A", cluster="passage", bounds=(-np.inf, np.inf))
    assert repr(worse).startswith("B is worse than A by 0.156 (")
    assert "95% interval 0.008 to 0.30" in repr(worse)


ERRORS = [
    (dict(a="A", b="A"), "'A'"),
    (dict(a="A", b="C"), "'C'.* 'A', 'B'"),
    (dict(cluster="page"), "'page'"),
    (dict(by="model"), "model"),
    (dict(cluster="gap"), "4 of 64 .*'gap'"),
    (dict(cluster="run"), "item 0 .* 0, 1"),
]


@pytest.mark.parametrize("arguments, words", ERRORS, ids=lambda x: str(x)[:30])
def test_bad_input_is_refused(gold_rows, arguments, words):
    items = gold_rows.assign(
        gap=gold_rows["passage"].where(gold_rows["item"] > 1),
        run=np.repeat([0, 1], 32),
    )
    with pytest.raises(ValueError, match=words):
        compare_models(items, **arguments)


def test_numbers_are_not_suggested_as_text(gold_rows):
    numbered = gold_rows.assign(model=gold_rows["model"].map({"A": 10, "B": 11}))
    with pytest.raises(ValueError, match=r"'10'.* 10, 11.* 10\?"):
        compare_models(numbered, "10", 11)


def test_one_model_has_nothing_to_be_compared_with(gold_rows):
    with pytest.raises(ValueError):
        compare_models(gold_rows[gold_rows["model"] == "A"])


def test_samples_of_the_same_questions_are_not_independent(gold_rows):
    items = gold_rows.assign(item=np.arange(64))  # every answer under an id of its own
    with pytest.raises(ValueError, match="clusters"):
        compare_models(items, "A", "B", cluster="passage")
    c = compare_models(items, "A", "B", item="passage", cluster="passage", bounds=(-np.inf, np.inf))
    assert c.n_items[0] == 8
    by_mean = gold_rows.groupby(["model", "passage"])["score"].mean().unstack("model")
    assert_allclose(c.p_value, ttest_rel(by_mean["A"], by_mean["B"]).pvalue, rtol=1e-10)


def test_livecodebench(data_folder):
    items = pd.read_csv(data_folder / "livecodebench_execution.csv.gz")
    c = compare_models(items, item="sample_id", score="pass1", cluster="question_id")
    assert len(c) == 37 * 36 / 2
    table = c.to_frame()
    assert np.isfinite(table.to_numpy()).all()
    means = items.groupby("model")["pass1"].mean()
    a, b = table.index[100]
    assert_allclose(table["difference"].iloc[100], means[a] - means[b], rtol=1e-10)
    # Models fail on the same problems: pairing pays for nearly all pairs.
    assert (table["correlation"] > 0).mean() > 0.9


@pytest.mark.slow
def test_paired_intervals_cover(capsys):
    """20 unequal passages, two models; the true value is the difference of expected scores."""
    rng = np.random.default_rng(6)
    sizes = rng.integers(1, 9, 20)
    passage = np.repeat(np.arange(20), sizes)
    hits, unpaired, n_trials = 0, 0, 400
    for _ in range(n_trials):
        ease = rng.normal(size=20)[passage] + rng.normal(size=passage.size)
        drift = rng.normal(0, 0.5, 20)[passage]
        scores = {"a": ease + 0.2 + drift, "b": ease}
        scores = {m: x + rng.normal(0, 0.5, x.size) for m, x in scores.items()}
        c = compare_models(rows_of(scores, passage=passage), "a", "b", cluster="passage")
        hits += c.estimate.low[0] <= 0.2 <= c.estimate.high[0]
        independent = compare_models(rows_of(scores), "a", "b").estimate
        unpaired += independent.low[0] <= 0.2 <= independent.high[0]
    with capsys.disabled():
        print(f"\npaired, CR2: {hits / n_trials:.3f}; clusters ignored: {unpaired / n_trials:.3f}")
    low, _ = binom.ppf([0.0005, 0.9995], n_trials, 0.93)
    assert hits >= low
    assert unpaired < hits


def test_required_items_of_miller(gold_folder):
    miller = json.loads((gold_folder / "power_miller.json").read_text())
    n = required_items(miller["delta"], omega2=miller["omega2"], test="normal")
    assert n == np.ceil(miller["n_paired"]) == 969
    assert isinstance(n, int)


def test_plan_counts_repeats_and_clusters():
    base = required_items(0.05, omega2=0.1, sigma2_a=0.2, sigma2_b=0.2)
    assert base == required_items(-0.05, omega2=0.5)
    assert required_items(
        0.05, omega2=0.1, sigma2_a=0.2, sigma2_b=0.2, n_repeats=4
    ) == required_items(0.05, omega2=0.2)
    assert required_items(0.05, omega2=0.1, design_effect=3) == required_items(0.05, omega2=0.3)
    effect = minimum_detectable_effect(base, omega2=0.1, sigma2_a=0.2, sigma2_b=0.2)
    assert effect == pytest.approx(0.05, rel=1 / base)
    halved = difference_variance(0.2, 0.2, 0.5)
    assert minimum_detectable_effect(500, omega2=halved, test="normal") == pytest.approx(
        minimum_detectable_effect(1000, omega2=0.4, test="normal")
    )


def test_comparison_feeds_the_plan(gold_rows):
    c = compare_models(gold_rows, "A", "B", cluster="passage", bounds=(-np.inf, np.inf))
    n = required_items(c.estimate.value[0], omega2=c.omega2[0], cluster_size=4)
    assert n == np.ceil(c.items_needed[0])


@pytest.mark.parametrize(
    "test, components",
    [("t", {"omega2": 0.3, "cluster_size": 4}), ("mcnemar", {"omega2": 0.2}), ("t", {"omega2": 2})],
)
def test_plans_are_inverse(test, components):
    n = required_items(0.15, test=test, **components)
    assert minimum_detectable_effect(n, test=test, **components) <= 0.15 + 1e-9
    assert minimum_detectable_effect(n - 1, test=test, **components) > 0.15 - 1e-9


def test_few_answers_show_nothing_by_mcnemar():
    with pytest.raises(ValueError):
        minimum_detectable_effect(5, omega2=0.2, test="mcnemar")
    with pytest.raises(ValueError):
        minimum_detectable_effect(5, omega2=0.2, test="mcnemar", confidence_level=0.9375)
    assert minimum_detectable_effect(6, omega2=0.0, test="mcnemar") > 0.9


PLAN_ERRORS = [
    (dict(effect=0, omega2=0.1), "effect is 0"),
    (dict(effect=0.1, omega2=0.1, power=0.04), "above 0.05"),
    (dict(effect=0.1, omega2=0.1, test="mcnemar", n_repeats=2), "mcnemar"),
    (dict(effect=0.1, omega2=1.2, test="mcnemar"), "omega2=1.2.* 1.21 "),
    (dict(effect=0.1, omega2=0), "omega2"),
]


@pytest.mark.parametrize("arguments, words", PLAN_ERRORS, ids=lambda x: str(x)[:30])
def test_plan_refuses(arguments, words):
    with pytest.raises(ValueError, match=words):
        required_items(**arguments)


def share_warned(draw, n_trials=30):
    rng = np.random.default_rng(0)
    warned = 0
    for _ in range(n_trials):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rows = rows_of({"a": draw(rng), "b": np.zeros(20)})
            c = compare_models(rows, "a", "b", bounds=(-np.inf, np.inf))
        warned += any("skewed" in str(w.message) for w in caught)
        assert c.estimate.guarantee == "each group, unless skewed"
    return warned / n_trials


@pytest.mark.slow
def test_few_skewed_differences_are_warned_of():
    assert share_warned(lambda rng: rng.normal(1, 1, 20)) <= 0.1
    assert share_warned(lambda rng: rng.beta(5, 5, 20)) <= 0.1
    assert share_warned(lambda rng: rng.lognormal(0, 1, 20)) >= 0.6
    assert share_warned(lambda rng: np.append(rng.random(2), np.zeros(18)), n_trials=5) == 1


def test_clusters_that_count_equally_are_those_of_the_report(gold):
    """A - B of the published example, with clusters of different sizes."""
    expected = gold["example_paired_A_minus_B"]
    means = {"A": [0.70, 0.82, 0.79, 0.81], "B": [0.72, 0.88, 0.81, 0.83]}
    items = pd.DataFrame(
        [
            {"model": model, "item": f"{c}/{i}", "passage": c, "score": mean + 0.1 * (i - c / 2)}
            for model, row in means.items()
            for c, mean in enumerate(row)
            for i in range(c + 1)
        ]
    )
    by_cluster = {"cluster": "passage", "cluster_weight": "cluster"}
    by_cluster["bounds"] = (-np.inf, np.inf)
    found = compare_models(items, "A", "B", **by_cluster)
    assert_allclose(found.estimate.value, expected["mean"], rtol=1e-9)
    assert_allclose(found.estimate.standard_error, expected["se"], rtol=1e-9)
    assert_allclose(found.p_value, expected["p_two_sided_t3"], rtol=1e-9)
    assert_allclose(found.unpaired_standard_error, expected["unpaired_se"], rtol=1e-9)
    assert "cluster means" in found.estimate.method
    assert abs(compare_models(items, "A", "B", cluster="passage").estimate.value + 0.03) > 0.001
    # An item that one of them did not answer is left out of its cluster.
    gap = items.drop(index=items.index[(items["model"] == "A") & (items["passage"] == 3)][0])
    both = gap[gap["item"].isin(gap.loc[gap["model"] == "A", "item"])]
    frames = (compare_models(rows, "A", "B", **by_cluster).to_frame() for rows in (gap, both))
    pd.testing.assert_frame_equal(*frames)
    with pytest.raises(ValueError):
        compare_models(items, "A", "B", cluster_weight="cluster")
