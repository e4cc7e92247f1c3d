import json
from itertools import pairwise, permutations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, norm, ttest_ind
from scipy.stats import t as student_t

from skbench.stats.ranking.rank_scores import pooled_rank_scores, welch_p_value, welch_rank_scores
from skbench.tasks.rank_score import MeanRankScore

VARIANTS = ["welch", "pooled"]


@pytest.fixture(scope="module")
def gold(gold_folder):
    return json.loads((gold_folder / "euroeval_mean_rank_score.json").read_text())


@pytest.fixture(scope="module")
def runs(gold):
    rows = [
        (model, dataset, task, language, score)
        for language, tasks in gold["config"].items()
        for task, datasets in tasks.items()
        for dataset in datasets
        for model in gold["raw"]
        for score in gold["raw"][model][dataset]
    ]
    return pd.DataFrame(rows, columns=["model", "dataset", "task", "language", "score"])


def fitted(runs, variant="welch"):
    return MeanRankScore(variant).fit(runs, runs["score"])


def small(scores, **columns):
    """One row per model with a list of scores, on one data set by default."""
    return pd.DataFrame(
        {"model": list(scores), "score": list(scores.values())}
        | {"dataset": "quiz", "task": "knowledge", "language": "da"}
        | columns
    )


def test_equal_means_do_not_follow_the_order_of_rows():
    mean, variance, n = np.array([60.0, 60.0, 58.8]), np.array([0.2, 10.0, 0.7]), np.full(3, 10)
    scores = welch_rank_scores(mean, variance, n)
    assert scores[2] > scores[0]  # worse than the first by far, not than the uncertain second
    for order in permutations(range(3)):
        order = list(order)
        assert_array_equal(welch_rank_scores(mean[order], variance[order], n), scores[order])


def test_dataset_scores_are_those_of_euroeval(runs, gold):
    found = fitted(runs).dataset_scores_
    for dataset, expected in gold["dataset_rank_scores"].items():
        assert_allclose(found.loc[list(expected), dataset], list(expected.values()), rtol=1e-10)


@pytest.mark.parametrize("category", ["all", "nlg", "nlu"])
def test_languages_and_overall_are_those_of_euroeval(runs, gold, category):
    inside = [category in ("all", gold["categories"][task]) for task in runs["task"]]
    found = fitted(runs[inside])
    for model, by_category in gold["expected"].items():
        expected = by_category[category]
        assert_allclose(found.scores_[model], expected["overall"], rtol=1e-10)
        languages = found.language_scores_.loc[model, ["da", "sv"]]
        assert_allclose(languages, [expected["da"], expected["sv"]], rtol=1e-10)


def test_pooled_scores_are_those_of_euroeval(runs, gold_folder):
    gold = json.loads((gold_folder / "euroeval_rank_score_v2.json").read_text())
    found = fitted(runs, "pooled")
    for dataset, expected in gold["dataset"].items():
        assert_allclose(
            found.dataset_scores_.loc[list(expected), dataset], list(expected.values()), rtol=1e-10
        )
    assert_allclose(
        found.scores_[list(gold["overall"])], list(gold["overall"].values()), rtol=1e-10
    )


@pytest.mark.parametrize("leaderboard", ["danish", "german"])
def test_published_ranks(data_folder, leaderboard):
    results = pd.read_csv(data_folder / "euroeval_scores.csv.gz").query(
        "leaderboard == @leaderboard"
    )
    published = pd.read_csv(data_folder / "euroeval_ranks.csv.gz").query(
        "leaderboard == @leaderboard"
    )
    rows = results.assign(language=leaderboard)
    ranking = MeanRankScore().fit(rows, rows["mean1"], half_width=rows["ci1"], n_runs=10)
    found = ranking.scores_
    # Ten scores with that mean and half-width, 1.96 sd / sqrt(10), say the same.
    pattern = np.arange(10.0)
    pattern = (pattern - pattern.mean()) / pattern.std(ddof=1)
    sd = results["ci1"].to_numpy() * np.sqrt(10) / 1.96
    raw = results["mean1"].to_numpy()[:, None] + sd[:, None] * pattern
    assert_allclose(MeanRankScore().fit(rows, raw).scores_, found, rtol=1e-9)
    expected = published.set_index("model")["rank"]
    found = found[expected.index]
    # Models without a rank are those with a missing score.
    assert_array_equal(np.isinf(found), expected.isna())
    error = (found - expected)[expected.notna()].abs()
    print(f"{leaderboard}: median error {error.median():.4f}, largest {error.max():.4f}")
    # Means and half-widths are printed to .01, ranks too.
    assert error.median() < 0.02
    sets = ranking.rank_sets()
    assert sets.index.isin(expected[expected.notna()].index).all()
    distinguished = 1 - (sets["high"] - sets["low"]).mean() / (len(sets) - 1)
    print(
        f"{leaderboard}: {distinguished:.0%} of the pairs distinguished, {sets['best'].sum()} best"
    )
    assert 0.3 < distinguished < 0.9


def test_welch_is_that_of_scipy():
    rng = np.random.default_rng(0)
    for n_1, n_2 in [(10, 10), (2, 7), (30, 3)]:
        a, b = rng.normal(0.5, 1, n_1), rng.normal(0, 3, n_2)
        sides = [(s.mean(), s.var(ddof=1), s.size) for s in (a, b)]
        expected = ttest_ind(a, b, equal_var=False, alternative="greater").pvalue
        assert_allclose(welch_p_value(*sides), expected, rtol=1e-10)


def test_welch_without_spread():
    assert welch_p_value((2.0, 0.0, 5), (1.0, 0.0, 5)) == 0
    assert welch_p_value((1.0, 0.0, 5), (1.0, 0.0, 5)) == 1


def test_the_anchor_is_the_first_of_its_ties():
    # Each step is insignificant, the second and third from the first are not.
    n, variance = np.full(5, 10), np.full(5, 1.0)
    mean = np.array([10.0, 9.4, 8.8, 8.2, 7.6])
    found = welch_rank_scores(mean, variance, n)
    sd = mean.std()
    steps = [welch_p_value((a, 1, 10), (b, 1, 10)) < 0.05 for a, b in pairwise(mean)]
    assert steps == [False] * 4
    assert_allclose(found, [1, 1, 1 + 1.2 / sd, 1 + 1.2 / sd, 1 + 2.4 / sd], rtol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_shift_and_scale_of_a_dataset_do_not_matter(runs, variant):
    scale = runs["dataset"].map({name: 2.0 + i for i, name in enumerate(runs["dataset"].unique())})
    other = runs.assign(score=runs["score"] * scale + 7)
    assert_allclose(
        fitted(other, variant).dataset_scores_, fitted(runs, variant).dataset_scores_, rtol=1e-9
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_lists_tables_and_rows_are_the_same(runs, variant):
    by = ["model", "dataset", "task", "language"]
    lists = runs.groupby(by, sort=False)["score"].agg(list).reset_index()
    expected = fitted(runs, variant).dataset_scores_
    assert_allclose(fitted(lists, variant).dataset_scores_, expected, rtol=1e-12)
    table = np.array(lists["score"].tolist())
    assert_allclose(MeanRankScore(variant).fit(lists, table).dataset_scores_, expected, rtol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("how", ["absent", "nan", "empty"])
def test_missing_score_is_infinite(runs, variant, how):
    by = ["model", "dataset", "task", "language"]
    lists = runs.groupby(by, sort=False)["score"].agg(list).reset_index()
    gone = (lists["model"] == "m2") & (lists["dataset"] == "danske-talemaader")
    if how == "absent":
        lists = lists[~gone]
    else:
        lists["score"] = [
            s if not g else ([] if how == "empty" else [np.nan] * 10)
            for s, g in zip(lists["score"], gone, strict=True)
        ]
    found = fitted(lists, variant)
    assert np.isinf(found.scores_["m2"]) and found.scores_.index[-1] == "m2"
    assert np.isfinite(found.scores_.drop("m2")).all()
    assert np.isinf(found.task_scores_.loc["m2", ("da", "knowledge")])
    assert_array_equal(np.isinf(found.language_scores_.loc["m2", ["da", "sv"]]), [True, False])
    sets = found.rank_sets()
    assert "m2" not in sets.index
    if variant == "pooled":  # in the units of the scores, m2's others among them
        assert_allclose(sets["distance"], sets["score"], rtol=1e-12)
    # The others are scored as if the model had never been listed on that data set.
    without = fitted(lists[lists["model"] != "m2"], variant).dataset_scores_["danske-talemaader"]
    assert_allclose(
        found.dataset_scores_.loc[without.index, "danske-talemaader"], without, rtol=1e-12
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_model_and_identical_models_score_one(variant):
    assert fitted(small({"ada": [1.0, 2.0]}), variant).scores_.tolist() == [1.0]
    same = fitted(small({"ada": [1.0, 2.0], "bob": [1.0, 2.0]}), variant)
    assert same.scores_.tolist() == [1.0, 1.0]
    constant = fitted(small({"ada": [2.0, 2.0], "bob": [2.0, 2.0]}), variant)
    assert constant.scores_.tolist() == [1.0, 1.0]
    # Means of .1 differ by rounding with the number of scores.
    tenths = fitted(small({name: [0.1] * n for name, n in (("ada", 3), ("bob", 5))}), variant)
    assert tenths.scores_.tolist() == [1.0, 1.0]


def test_constant_scores_that_differ_are_significant():
    found = fitted(small({"ada": [2.0, 2.0], "bob": [1.0, 1.0]}))
    assert found.scores_.tolist() == [1.0, 3.0]  # two models are 2 sd (ddof=0) apart


def test_numbers_of_scores_may_differ():
    scores = {"ada": [70.0, 72.0, 71.0, 69.0, 73.0], "bob": [60.0, 61.0], "cyd": [71.0, 70.0, 70.5]}
    welch, pooled = (fitted(small(scores), v).dataset_scores_["quiz"] for v in VARIANTS)
    means = {model: np.mean(values) for model, values in scores.items()}
    sd = np.std(list(means.values()))
    assert_allclose(welch["cyd"], 1)
    assert_allclose(welch["bob"], 1 + (means["ada"] - means["bob"]) / sd, rtol=1e-12)
    everything = np.std(np.concatenate(list(scores.values())))
    assert_allclose(pooled["bob"], 1 + (means["ada"] - means["bob"]) / everything, rtol=1e-12)


def test_pooled_takes_single_scores():
    found = fitted(small({"ada": 3.0, "bob": 2.0, "cyd": 1.0}), "pooled")
    assert_allclose(found.scores_, 1 + np.arange(3) / np.std([1, 2, 3]), rtol=1e-12)


@pytest.mark.parametrize(
    "frame",
    [
        small({"ada": 3.0, "bob": 2.0}),
        small({"ada": [1.0, np.nan], "bob": [1, 2]}),
        small({"ada": [], "bob": [np.nan]}),
        small({"ada": [1.0, np.inf]}),
        small({"ada": ["x", 1]}),
        small({"ada": [1, 2], None: [1, 2]}),
        small({"ada": [1, 2], "bob": [1, 2]}, task=["law", "art"]),
        small({"ada": [1, 2]}).drop(columns="task"),
        small({}),
    ],
)
def test_bad_input_is_named(frame):
    with pytest.raises(ValueError):
        fitted(frame)


@pytest.mark.parametrize("n_items", [250, pytest.param(2000, marks=pytest.mark.slow)])
def test_gate_calls_equal_models_different(n_items):
    """Two models of equal accuracy, each scored on ten bootstrap samples of its answers."""
    rng = np.random.default_rng(0)
    n_trials, K, accuracy = 1500, 10, 0.7
    own = rng.binomial(n_items, accuracy, (n_trials, 2)) / n_items
    raw = rng.binomial(n_items, own, (K, n_trials, 2)) / n_items
    mean, variance = raw.mean(axis=0), raw.var(axis=0, ddof=1)
    n = np.full(2, K)
    gated = [welch_rank_scores(m, v, n).max() > 1 for m, v in zip(mean, variance, strict=True)]
    # A mean over K replicates varies K + 1 times as much as the Welch test takes it to.
    closed_form = 2 * norm.sf(student_t.ppf(0.95, 2 * (K - 1)) / np.sqrt(K + 1))
    print(f"{n_items} items: equal models called different {np.mean(gated):.3f}, nominal .10")
    low, high = binom.ppf([0.0005, 0.9995], n_trials, closed_form) / n_trials
    assert low - 0.01 <= np.mean(gated) <= high + 0.01  # normal in place of t: .01
    assert 0.54 <= np.mean(gated) <= 0.64


def test_pooled_is_finite_where_a_model_is_missing():
    mean = np.array([3.0, np.nan, 1.0])
    found = pooled_rank_scores(mean, np.array([1.0, np.nan, 1.0]), np.array([2, np.nan, 2]))
    spread = np.sqrt(2 / 4 + 1)  # squares within and between, over four raw scores
    assert_allclose(found, [1, np.inf, 1 + 2 / spread], rtol=1e-12)


PLACES = pd.DataFrame(
    [("a", "k", "da"), ("b", "k", "da"), ("c", "s", "da"), ("d", "k", "sv"), ("e", "s", "sv")],
    columns=["dataset", "task", "language"],
)


def bootstrapped(rng, truth, n_items):
    """Rows and ten raw scores of models on test sets of their own, by models and data sets."""
    own = rng.binomial(n_items, truth) / n_items
    raw = rng.binomial(n_items, own[..., None], (*own.shape, 10)) / n_items
    models = pd.DataFrame({"model": range(len(truth))})
    return models.merge(PLACES.iloc[: truth.shape[1]], how="cross"), raw.reshape(-1, 10)


@pytest.mark.slow
@pytest.mark.parametrize(("n_models", "n_datasets"), [(5, 1), (5, 5), (12, 5)])
def test_rank_sets_of_equal_models(n_models, n_datasets):
    """No set may miss a rank: of equal models, none may be called better."""
    rng, n_trials = np.random.default_rng(0), 400
    truth = np.full((n_models, n_datasets), 0.7)
    fits = (MeanRankScore().fit(*bootstrapped(rng, truth, 300)) for _ in range(n_trials))
    wrong = np.mean([not fit.rank_sets()["best"].all() for fit in fits])
    print(f"{n_models} models on {n_datasets} data sets: family error {wrong:.3f}")
    assert wrong <= binom.ppf(0.9995, n_trials, 0.05) / n_trials


def test_rank_sets_by_hand():
    truth = np.array([[0.8, 0.7, 0.6, 0.7, 0.5], [0.5, 0.6, 0.6, 0.4, 0.5], [0.3] * 5])
    X, raw = bootstrapped(np.random.default_rng(1), truth, 2000)
    ranking = MeanRankScore().fit(X, raw)
    sets = ranking.rank_sets().sort_index()
    mean, v = raw.mean(axis=1).reshape(3, 5), raw.var(axis=1, ddof=1).reshape(3, 5)
    unit = np.array([1 / 8, 1 / 8, 1 / 4, 1 / 4, 1 / 4]) / mean.std(axis=0)
    assert_allclose(sets["distance"], 1 + (mean.max(axis=0) - mean) @ unit, rtol=1e-12)
    parts = unit**2 * v * 1.1
    better = np.zeros((3, 3), dtype=bool)
    for j, k in np.ndindex(3, 3):
        both = np.append(parts[j], parts[k])
        df = both.sum() ** 2 / (both**2 / 9).sum()
        bound = student_t.isf(0.05 / 6, df) * np.sqrt(both.sum())
        better[j, k] = (mean[j] - mean[k]) @ unit > bound
    assert better.any() and not better.all()
    assert_array_equal(sets["low"], 1 + better.sum(axis=0))
    assert_array_equal(sets["high"], 3 - better.sum(axis=1))
    assert_allclose(sets["score"], ranking.scores_.sort_index(), rtol=1e-12)


def test_means_that_differ_by_rounding_are_equal():
    X = pd.DataFrame({"model": list("abc"), "dataset": "d", "task": "t", "language": "en"})
    ranking = MeanRankScore().fit(X, [[70.3] * 10, [70.3] * 7, [70.3] * 9])
    assert_allclose(ranking.rank_sets()["distance"], 1, rtol=1e-12)


def test_rank_sets_of_a_part_are_those_of_its_own_rows():
    truth = np.random.default_rng(2).uniform(0.4, 0.8, (4, 5))
    X, raw = bootstrapped(np.random.default_rng(3), truth, 400)
    for part in ({"language": "sv"}, {"task": "k"}, {"dataset": "b"}):
        name, value = next(iter(part.items()))
        here = (X[name] == value).to_numpy()
        alone = MeanRankScore().fit(X[here], raw[here]).rank_sets()
        pd.testing.assert_frame_equal(MeanRankScore().fit(X, raw).rank_sets(**part), alone)
    with pytest.raises(ValueError):
        MeanRankScore().fit(X, raw).rank_sets(language="no")


def test_published_means_in_words():
    frame = small({"ada": 70.0, "bob": 60.0})
    with pytest.raises(ValueError):
        MeanRankScore().fit(frame, frame["score"], half_width=[1.0, -1.0])
    twice = pd.concat([frame, frame], ignore_index=True)
    with pytest.raises(ValueError):
        MeanRankScore().fit(twice, twice["score"], half_width=1 + 0 * twice["score"])
    with pytest.raises(ValueError):
        MeanRankScore().fit(frame, frame["score"], half_width=[1.0, 1.0], n_runs=1)
