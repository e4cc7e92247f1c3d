"""Agreement with human labels: known values, coverage, clusters, effective judges, votes."""

from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ttest_1samp
from sklearn.metrics import cohen_kappa_score

from skbench import judge_agreement, position_bias
from skbench.stats.clusters import agreement


def brute_alpha(ratings, level):
    """Krippendorff's alpha by its definition over all pairs."""
    units = [[v for v in row if np.isfinite(v)] for row in ratings]
    units = [u for u in units if len(u) > 1]
    everything = [v for u in units for v in u]
    n = len(everything)

    def distance(c, k):
        if level == "nominal":
            return float(c != k)
        if level == "interval":
            return (c - k) ** 2
        low, high = min(c, k), max(c, k)
        between = sum(low <= v <= high for v in everything)
        return (between - (everything.count(c) + everything.count(k)) / 2) ** 2

    observed = sum(
        distance(c, k) / (len(u) - 1) for u in units for c, k in permutations(u, 2)
    ) / n  # fmt: skip
    expected = sum(distance(c, k) for c, k in permutations(everything, 2)) / (n * (n - 1))
    return 1 - observed / expected


def made(rng, n, judges=((0.9, 0.8),), prevalence=0.6):
    human = (rng.random(n) < prevalence) * 1.0
    rows = pd.DataFrame({"human": human})
    for i, (tpr, tnr) in enumerate(judges):
        rows[f"j{i}"] = (rng.random(n) < np.where(human == 1, tpr, 1 - tnr)) * 1.0
    return rows


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_is_its_definition_with_missing_ratings(level):
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 6, (30, 4)).astype(float)
    ratings[:, 1] = np.where(rng.random(30) < 0.6, ratings[:, 0], ratings[:, 1])
    ratings[rng.random(ratings.shape) < 0.3] = np.nan
    assert_allclose(agreement.krippendorff_alpha(ratings, level), brute_alpha(ratings, level))


@pytest.mark.slow
@pytest.mark.parametrize(("level", "weights"), [("nominal", None), ("ordinal", "quadratic")])
def test_kappa_and_alpha_of_a_judge(level, weights):
    rng = np.random.default_rng(1)
    human = rng.integers(1, 6, 80)
    rows = pd.DataFrame({"human": human, "judge": np.clip(human + rng.integers(-1, 2, 80), 1, 5)})
    row = judge_agreement(rows, judges="judge", level=level, random_state=0).to_frame().iloc[0]
    assert_allclose(row["kappa"], cohen_kappa_score(human, rows["judge"], weights=weights))
    assert_allclose(row["alpha"], brute_alpha(rows.to_numpy(float), level))
    assert row["kappa_low"] < row["kappa"] < row["kappa_high"]


def test_words_and_an_event():
    rng = np.random.default_rng(2)
    words = np.array(["good", "bad", "unsure"])
    human = words[rng.integers(0, 3, 90)]
    judge = np.where(rng.random(90) < 0.7, human, words[rng.integers(0, 3, 90)])
    rows = pd.DataFrame({"human": human, "judge": judge})
    plain = judge_agreement(rows, judges="judge", random_state=0).to_frame().iloc[0]
    assert_allclose(plain["kappa"], cohen_kappa_score(human, judge))
    assert np.isnan(plain["tpr"])
    about = judge_agreement(rows, judges="judge", event="good", random_state=0)
    row = about.to_frame().iloc[0]
    assert_allclose(row["kappa"], plain["kappa"])
    assert_allclose(row["tpr"], np.mean(judge[human == "good"] == "good"))
    assert_allclose(row["tnr"], np.mean(judge[human != "good"] != "good"))
    assert_allclose(row["bias"], np.mean(judge == "good") - np.mean(human == "good"))
    assert_allclose(about.corrected["value"].iloc[0], np.mean(human == "good"))


def test_many_words_have_no_order():
    rng = np.random.default_rng(8)
    words = np.array([f"topic {i}" for i in range(12)])
    human = rng.integers(0, 12, 120)
    verdicts = [np.where(rng.random(120) < 0.7, human, rng.integers(0, 12, 120)) for _ in range(2)]
    found = []
    for order in (words, rng.permutation(words)):
        rows = pd.DataFrame(
            {"human": order[human], "a": order[verdicts[0]], "b": order[verdicts[1]]}
        )
        card = judge_agreement(rows, judges=["a", "b"], random_state=0)
        changes = judge_agreement(rows, judges="a", previous="b", random_state=0).changes
        alpha = card.to_frame().loc["a", ["alpha", "alpha_low"]]
        found.append(np.r_[alpha, card.effective_judges, changes.to_numpy(float)])
    assert_allclose(found[1], found[0])
    assert_allclose(alpha["alpha"], brute_alpha(np.column_stack([human, verdicts[0]]), "nominal"))
    assert_allclose(changes["alpha"], brute_alpha(np.column_stack(verdicts), "nominal"))
    assert_allclose(changes["error_before"], np.mean(human != verdicts[1]))
    assert np.isnan(judge_agreement(rows, judges="a", level="ordinal").to_frame().loc["a", "alpha"])


def test_missing_verdicts_of_words_and_nullable_columns():
    rows = pd.DataFrame({"human": ["yes", "no"] * 20, "j": ["yes", "no"] * 18 + ["no"] * 4})
    silent = rows.assign(k=rows["j"].where(np.arange(40) < 30))
    frame = judge_agreement(silent, judges=["j", "k"], random_state=0).to_frame()
    assert_allclose(
        frame.loc["k", "kappa"], cohen_kappa_score(silent["human"][:30], silent["k"][:30])
    )
    coded = silent.replace({"yes": 1, "no": 0}).astype("Int64")
    coded.loc[35:, "human"] = pd.NA
    plain = coded.astype(float)
    found, expected = (
        judge_agreement(x, judges=["j", "k"], random_state=0) for x in (coded, plain)
    )
    pd.testing.assert_frame_equal(found.to_frame(), expected.to_frame())


def test_scores_are_verdicts_from_the_threshold_on_and_calibrated_by_slope():
    rng = np.random.default_rng(13)
    score = rng.random(300)
    rows = pd.DataFrame({"human": (rng.random(300) < score) * 1.0, "judge": score})
    row = judge_agreement(rows, judges="judge", random_state=0).to_frame().iloc[0]
    verdict = score >= 0.5
    assert_allclose(row["kappa"], cohen_kappa_score(rows["human"], verdict * 1.0))
    assert_allclose(row["calibration"], np.polyfit(score, rows["human"], 1)[0])
    assert row["calibration_low"] < 1 < row["calibration_high"]
    assert_allclose(row["bias"], (score - rows["human"]).mean())


def test_unlabeled_rows_only_count_for_the_estimate():
    rng = np.random.default_rng(4)
    rows = made(rng, 400)
    rows.loc[100:, "human"] = np.nan
    card = judge_agreement(rows, judges=["j0"], random_state=0)
    assert card.n_labels == 100
    alone = judge_agreement(pl.from_pandas(rows[:100]), judges=["j0"], random_state=0)
    pd.testing.assert_frame_equal(card.to_frame(), alone.to_frame())
    estimate = card.corrected.iloc[0]
    assert estimate["method"] != alone.corrected.iloc[0]["method"]
    assert (
        estimate["high"] - estimate["low"]
        < (alone.corrected["high"] - alone.corrected["low"]).iloc[0]
    )


def test_effective_judges_of_copies_and_of_independent_ones():
    rng = np.random.default_rng(5)
    rows = made(rng, 4000, [(0.9, 0.6)] * 3)
    card = judge_agreement(rows, judges=["j0", "j1", "j2"], random_state=0)
    assert_allclose(
        card.effective_judges, 3, atol=0.1
    )  # the standard error of a correlation is 1 / sqrt(4000)
    low, high = card.effective_judges_interval
    assert 2.7 < low <= card.effective_judges <= high <= 3
    twins = rows.assign(j1=rows["j0"], j2=rows["j0"])
    card = judge_agreement(twins, judges=["j0", "j1", "j2"], random_state=0)
    assert_allclose(card.effective_judges, 1)
    assert card.effective_judges_interval[0] == 1
    assert card.effective_judges_interval[1] < 1.05
    two = judge_agreement(rows.assign(j1=rows["j0"]), judges=["j0", "j1", "j2"], random_state=0)
    assert 1.6 < two.effective_judges < 2.0  # 9 / (3 + 2) of one and its copy and another


def test_vote_without_a_cluster_uses_the_other_clusters():
    rng = np.random.default_rng(12)
    rows = made(rng, 60, [(0.9, 0.7), (0.6, 0.8)])
    x, y, codes = rows[["j0", "j1"]].to_numpy(), rows["human"].to_numpy(), np.arange(60) // 4
    weights, threshold = agreement.linear_vote(x, y, codes)
    alone = agreement.linear_vote(x[codes != 3], y[codes != 3])
    assert_allclose(
        weights[3], alone[0], rtol=0.01
    )  # the pseudo-unit uses the variance of all units
    assert_allclose(threshold[3], alone[1], rtol=0.01)


def test_a_judge_without_errors_is_reported():
    rows = made(np.random.default_rng(6), 60, [(0.9, 0.8), (1, 1)])
    card = judge_agreement(rows, judges=["j0", "j1"], random_state=0)
    assert np.isnan(card.error_correlation.loc["j1", "j1"])
    assert np.isnan(card.effective_judges)
    assert any(sentence.endswith(": j1.") for sentence in card.sentences())
    row = card.to_frame().loc["j1"]
    assert row["kappa"] == 1 and row["kappa_low"] < 0.97 and row["tpr_low"] < 0.95


def test_weighted_vote_prefers_the_accurate_judge():
    rng = np.random.default_rng(7)
    rows = made(rng, 600, [(0.95, 0.95), (0.55, 0.55), (0.55, 0.55), (0.55, 0.55), (0.55, 0.55)])
    card = judge_agreement(rows, judges=[f"j{i}" for i in range(5)], random_state=0)
    value = card.vote["value"]
    assert value["weighted vote"] > 0.9 > 0.85 > value["majority"]
    assert card.vote_weights.idxmax() == "j0"
    assert_allclose(card.vote_weights.abs().sum(), 1)


def test_copies_share_their_weight():
    rng = np.random.default_rng(8)
    rows = made(rng, 2000, [(0.8, 0.8), (0.8, 0.8)])
    rows["copy"] = rows["j0"]
    weights = judge_agreement(rows, judges=["j0", "copy", "j1"], random_state=0).vote_weights
    assert_allclose(weights["j0"], weights["copy"])
    assert_allclose(weights["j1"], weights["j0"] + weights["copy"], rtol=0.2)  # two standard errors


def test_clusters_widen_and_row_order_does_not_matter():
    rng = np.random.default_rng(9)
    rows = made(rng, 40)
    rows["doc"] = np.arange(40)
    copies = pd.concat([rows] * 5)
    alone = judge_agreement(rows, judges="j0", random_state=0).to_frame().iloc[0]
    together = (
        judge_agreement(copies, judges="j0", cluster="doc", random_state=0).to_frame().iloc[0]
    )
    ends = ttest_1samp(rows["j0"] - rows["human"], 0).confidence_interval(0.95)
    assert_allclose((together["bias_low"], together["bias_high"]), ends)  # instead of 200 rows
    for name in ("kappa", "tpr", "tnr", "calibration"):
        width = [row[f"{name}_high"] - row[f"{name}_low"] for row in (together, alone)]
        assert_allclose(width[0], width[1], rtol=0.15)  # copies of documents add no information
    mixed = judge_agreement(copies.sample(frac=1, random_state=1), judges="j0", cluster="doc",
                            random_state=0).to_frame().iloc[0]  # fmt: skip
    assert_allclose(mixed.to_numpy(float), together.to_numpy(float), atol=1e-9)


def test_position_bias_does_not_depend_on_quality():
    rng = np.random.default_rng(10)
    pair = np.repeat(np.arange(300), 2)
    first = np.tile(["model_a", "model_b"], 300)
    p = 0.7 + np.where(
        first == "model_a", 0.1, -0.1
    )  # a is better, and the first answer has an advantage
    winner = np.where(rng.random(600) < p, "model_a", "model_b")
    rows = pd.DataFrame({"pair": pair, "first": first, "winner": winner})
    for item in ("pair", None):
        found = position_bias(rows, item=item)
        assert found["low"] < 0.2 < found["high"]
    by_pair = rows.pivot(index="pair", columns="first", values="winner")
    found = position_bias(rows, item="pair")
    assert_allclose(found["inconsistent"], (by_pair["model_a"] != by_pair["model_b"]).mean())
    with pytest.raises(ValueError):
        position_bias(rows[rows["first"] == "model_a"])


def test_bad_input_raises():
    rows = made(np.random.default_rng(11), 40)
    with pytest.raises(ValueError):
        judge_agreement(rows.assign(human=1.0), judges="j0")
    with pytest.raises(ValueError):
        judge_agreement(rows.assign(human=rows["human"].where(rows.index < 3)), judges="j0")
    with pytest.raises(ValueError):
        judge_agreement(rows, judges="j9")
    with pytest.raises(ValueError):
        judge_agreement(rows, judges="j0", event="maybe")
    with pytest.raises(ValueError):
        judge_agreement(rows.assign(j0=70), judges="j0")
    with pytest.raises(ValueError):
        judge_agreement(rows.astype(str), judges="j0")


def coverage(n, judge, prevalence, n_sets, seed, score=False):
    """Coverage of the intervals by figure."""
    (tpr, tnr), p = judge, prevalence
    verdicts = p * tpr + (1 - p) * (1 - tnr)
    agree = p * tpr + (1 - p) * tnr
    both = (p + verdicts) / 2
    truth = {
        "kappa": 1 - (1 - agree) / (p * (1 - verdicts) + (1 - p) * verdicts),
        "alpha": 1 - (1 - agree) / (2 * both * (1 - both)),
        "tpr": tpr, "tnr": tnr, "bias": verdicts - p,
        "calibration": (p * tpr - p * verdicts) / (verdicts * (1 - verdicts)),
    }  # fmt: skip
    rng = np.random.default_rng(seed)
    hits = {name: [] for name in truth}
    for _ in range(n_sets):
        rows = made(rng, n, [judge], p)
        if rows["human"].nunique() < 2:
            continue
        row = judge_agreement(rows, judges="j0", random_state=rng).to_frame().iloc[0]
        for name, value in truth.items():
            low, high = row[f"{name}_low"], row[f"{name}_high"]
            if np.isfinite(low):
                hits[name].append(low <= value <= high)
    return {name: np.mean(hit) for name, hit in hits.items()}


@pytest.mark.slow
def test_intervals_cover_at_30_labels():
    shares = coverage(30, (0.9, 0.8), 0.6, 60, 0)
    assert min(shares.values()) >= 0.84, shares  # .93 less three binomial spreads


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 100, 400])
@pytest.mark.parametrize(
    ("judge", "prevalence"), [((0.9, 0.8), 0.5), ((0.95, 0.95), 0.7), ((0.7, 0.6), 0.8)]
)
def test_every_interval_covers(n, judge, prevalence):
    shares = coverage(n, judge, prevalence, 500, 1)
    assert min(shares.values()) >= 0.93 - 0.011, shares  # one binomial standard error


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 100, 400])
def test_intervals_of_scores_and_of_effective_judges_cover(n):
    """Scores with calibration slope 0.8, grades, and three judges with correlated errors."""
    rng = np.random.default_rng(2)
    hits = {"calibration": [], "bias": [], "effective": [], "alpha": []}
    for _ in range(300):
        score = rng.random(n)
        rows = pd.DataFrame({"human": (rng.random(n) < 0.1 + 0.8 * score) * 1.0, "j": score})
        row = judge_agreement(rows, judges="j", random_state=rng).to_frame().iloc[0]
        for name, truth in (("calibration", 0.8), ("bias", 0.0)):
            hits[name].append(row[f"{name}_low"] <= truth <= row[f"{name}_high"])
        rows = made(rng, n, [(0.8, 0.7)] * 3, 0.5)
        same = rng.random(n) < 0.5
        rows["j1"] = np.where(same, rows["j0"], rows["j1"])
        low, high = judge_agreement(rows, judges=["j0", "j1", "j2"], random_state=rng
                                    ).effective_judges_interval  # fmt: skip
        hits["effective"].append(low <= 9 / (3 + 2 * 0.5) <= high)
        truth = rng.normal(0, 1, n)
        rows = pd.DataFrame(
            {"human": truth + rng.normal(0, 0.5, n), "j": truth + rng.normal(0, 0.5, n)}
        )
        row = (
            judge_agreement(rows, judges="j", level="interval", random_state=rng).to_frame().iloc[0]
        )
        hits["alpha"].append(row["alpha_low"] <= 0.8 <= row["alpha_high"])
    shares = {name: np.mean(hit) for name, hit in hits.items()}
    assert min(shares.values()) >= 0.93 - 0.015, shares  # one binomial standard error


@pytest.mark.slow
def test_intervals_of_clustered_labels_cover():
    """Twenty documents of five answers; errors depend on the document."""
    rng = np.random.default_rng(3)
    hits = {"kappa": [], "tpr": [], "bias": [], "calibration": []}

    def draw(n_docs):
        ease = np.repeat(rng.beta(4, 1, n_docs), 5)
        human = rng.random(n_docs * 5) < np.repeat(rng.beta(2, 2, n_docs), 5)
        judge = np.where(rng.random(n_docs * 5) < ease, human, ~human)
        return pd.DataFrame({"human": human * 1.0, "j": judge * 1.0,
                             "doc": np.repeat(np.arange(n_docs), 5)})  # fmt: skip

    truth = judge_agreement(draw(40_000), judges="j", random_state=0).to_frame().iloc[0]
    for _ in range(500):
        row = (
            judge_agreement(draw(20), judges="j", cluster="doc", random_state=rng)
            .to_frame()
            .iloc[0]
        )
        for name in hits:
            hits[name].append(row[f"{name}_low"] <= truth[name] <= row[f"{name}_high"])
    shares = {name: np.mean(hit) for name, hit in hits.items()}
    assert min(shares.values()) >= 0.93 - 0.01, shares  # one binomial standard error
