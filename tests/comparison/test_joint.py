"""Verdicts, intervals, letters, ranks and p-values agree in every output."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.stats import binom

from skbench.comparison import compare_models, leaderboard
from skbench.readers import read_with_notes
from skbench.report.compare import compare
from skbench.report.leaderboard import leaderboard as leaderboard_command
from skbench.report.report import report

N_TABLES = 24


def random_table(seed):
    """A table of results, with missing answers, clusters, ties and identical models."""
    rng = np.random.default_rng(seed)
    n_models = int(rng.integers(3, 12)) if seed % 6 else int(rng.integers(25, 41))
    n_items = int(rng.choice([12, 40, 150]))
    skill = np.round(rng.normal(0, rng.choice([0.0, 0.4, 1.5]), n_models), 1)
    ease = rng.normal(0, 1, (n_items, 1))
    latent = ease + skill + rng.normal(size=(n_items, n_models))
    scores = (latent > 0) * 1.0 if seed % 2 else np.round(latent, 2)
    if seed % 5 == 0:
        scores[:, 1] = scores[:, 0]  # a twin
    shown = rng.random(scores.shape) > rng.choice([0.0, 0.0, 0.03, 0.4])
    shown[:2] = True  # every model has items
    item, model = np.nonzero(shown)
    frame = pd.DataFrame(
        {
            "model": [f"m{m:02d}" for m in model],
            "item": item,
            "score": scores[item, model],
            "passage": item // int(rng.choice([1, 4])),
        }
    )
    return frame


def quiet(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


def check_board(board):
    """Everything in a leaderboard follows from the intervals of the pairs."""
    table = board.comparison.to_frame()
    models = list(board.estimate.labels)
    n_models = len(models)
    better = pd.DataFrame(False, index=models, columns=models)
    for (a, b), row, verdict in zip(
        table.index, table.itertuples(), board.comparison.verdict, strict=True
    ):
        expected = {(True, False): "better", (False, True): "worse", (False, False): "tied"}
        if np.isfinite(row.low):
            assert verdict == expected[row.low > 0, row.high < 0]
            assert row.low <= row.difference <= row.high
            assert row.low < row.high
            # The adjusted p-value says the same as the interval.
            assert (row.p_value <= 0.05) == (verdict != "tied") or abs(row.p_value - 0.05) < 1e-9
        else:
            assert verdict == ("tied" if row.p_value == 1 else "unknown")
        better.loc[a, b], better.loc[b, a] = verdict == "better", verdict == "worse"
    assert len(table) == n_models * (n_models - 1) // 2
    frame = board.to_frame()
    assert (frame["rank_low"] == 1 + better.sum(axis=0)).all()
    assert (frame["rank_high"] == n_models - better.sum(axis=1)).all()
    assert list(board.rank_sets.best()) == [m for m in models if not better[m].any()]
    assert ((frame["rank_low"] <= frame["rank"]) & (frame["rank"] <= frame["rank_high"])).all()
    letters = {m: set(re.findall("[a-z]", t)) for m, t in frame["ties"].items()}
    if len(set().union(*letters.values())) < 26:  # beyond z letters are of two
        for a in models:
            for b in models:
                assert bool(letters[a] & letters[b]) != bool(better.loc[a, b] or better.loc[b, a])
    # Scores and differences are the same numbers.
    value = frame["estimate"]
    apart = [value[a] - value[b] for a, b in table.index]
    known = table["difference"].notna().to_numpy()
    np.testing.assert_allclose(np.array(apart)[known], table["difference"][known], atol=1e-9)


@pytest.mark.parametrize(
    "seed", [*range(10), *(pytest.param(s, marks=pytest.mark.slow) for s in range(10, N_TABLES))]
)
def test_nothing_contradicts_itself(seed):
    items = random_table(seed)
    cluster = "passage" if seed % 3 == 0 else None
    board = quiet(leaderboard, items, cluster=cluster)
    check_board(board)
    pairs = quiet(compare_models, items, cluster=cluster, adjust="bonferroni")
    pd.testing.assert_frame_equal(
        pairs.to_frame().sort_index(), board.comparison.to_frame().sort_index(), rtol=1e-9
    )


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(s, marks=pytest.mark.slow) for s in (6, 9, 15))]
)
def test_text_json_and_page_agree(seed, tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    items = random_table(seed)
    cluster = ["--cluster", "passage"] if seed % 3 == 0 else []
    path, page = tmp_path / "results.csv", tmp_path / "report.html"
    columns = ["model", "item", "score", *(["passage"] if cluster else [])]
    items[columns].to_csv(path, index=False)
    board = quiet(leaderboard, items, cluster="passage" if cluster else None)
    verdicts = dict(zip(board.comparison.estimate.labels, board.comparison.verdict, strict=True))

    def run(command, *options):
        return CliRunner().invoke(command, [str(path), *cluster, *map(str, options)]).stdout

    reported = json.loads(run(leaderboard_command, "--json"))
    best = list(board.rank_sets.best())
    assert reported["may_be_best"] == best
    document = json.loads(run(report, "--json"))
    assert document["ranking"]["may_be_best"] == best
    for rows in (document["models"], reported["models"]):
        ranks = pd.DataFrame(rows).set_index("model")[["rank_low", "rank_high", "ties"]]
        ranks["ties"] = ranks["ties"].map("".join)
        pd.testing.assert_frame_equal(
            ranks, board.to_frame()[ranks.columns], check_dtype=False, check_index_type=False
        )
    listed = json.loads(run(compare, "--json"))["pairs"]
    for rows in (document["pairs"], listed):
        assert {(r["model_a"], r["model_b"]): r["verdict"] for r in rows} == verdicts
        printed_pairs = pd.DataFrame(rows).rename(columns={"value": "difference"})
        printed_pairs = printed_pairs.set_index(["model_a", "model_b"])
        expected = board.comparison.to_frame().loc[printed_pairs.index]
        for name in ("difference", "low", "high", "p_value"):
            np.testing.assert_allclose(
                printed_pairs[name].astype(float), expected[name], rtol=1e-9, equal_nan=True
            )
    text = " ".join(run(report, "--html", page).split())
    html = page.read_text()
    for (a, b), verdict in verdicts.items():
        word = {"tied": "not", "unknown": "unknown"}.get(verdict, verdict)
        between = " than " if word == verdict != "unknown" else " and "
        assert any(
            word in part for part in re.findall(rf"[^.]*\b{a}\b[^.]*{between}{b}\b[^.]*", text)
        )
        cell = re.search(
            rf'{a}</th><td class="text">([^<]*)</td><td class="text name second">{b}<', html
        )
        assert cell and verdict in cell[1]
    headline = re.search('<p class="headline">(.*?)</p>', html, re.DOTALL)[1]
    assert all(name in headline for name in best[:3])
    # Nobody is clearly better than who may be ranked first.
    frame = board.to_frame()
    assert list(frame.index[frame["rank_low"] == 1]) == best
    numbers = json.loads(re.search('id="numbers">(.*?)</script>', html)[1])
    assert numbers["pairs"][6] == [row["p_value"] for row in document["pairs"]]
    for row in board.to_frame().itertuples():
        low, high = row.rank_low, row.rank_high
        shown = f"{low}" if low == high else f"{low}-{high}"
        assert re.search(rf">{row.Index}</t[dh]><td>{shown}</td>", html)


def test_missing_answers_have_bounds_count_as_wrong_or_raise():
    rng = np.random.default_rng(0)
    rows = [(m, i, float(rng.random() < 0.7)) for m in "abc" for i in range(100)]
    items = pd.DataFrame(rows, columns=["model", "item", "score"])
    gaps = items[(items["model"] != "b") | (items["item"] >= 30)]
    board = quiet(leaderboard, gaps)
    right = gaps.loc[gaps["model"] == "b", "score"].sum()
    assert board.bounds.loc["b"].tolist() == [0.3, right / 100, (right + 30) / 100]
    assert list(board.bounds.index) == ["b"]
    assert any(text.startswith("b ") and "30%" in text for text in board.remarks)
    wrong = quiet(leaderboard, gaps, missing="wrong")
    assert wrong.to_frame().loc["b", "estimate"] == right / 100
    with pytest.raises(ValueError):
        leaderboard(gaps, missing="refuse")


def test_a_score_outside_its_bounds_is_reported():
    """A is correct on 70 of its own 100 items, B on 30. They share three, and B is better there."""
    own = {"A": range(100), "B": range(100, 200)}
    rows = [(m, i, float(i % 100 < right)) for (m, items), right in zip(own.items(), (70, 30),
            strict=True) for i in items]  # fmt: skip
    rows += [("A", 200 + i, float(i < 1)) for i in range(3)]
    rows += [("B", 200 + i, float(i < 2)) for i in range(3)]
    board = quiet(leaderboard, pd.DataFrame(rows, columns=["model", "item", "score"]))
    assert board.to_frame().loc["A", "estimate"] == pytest.approx(1 / 3)
    assert any("score of A is outside" in text for text in board.remarks)


def test_models_without_shared_items_may_have_any_rank():
    rng = np.random.default_rng(1)
    frames = [
        pd.DataFrame({"model": m, "item": np.arange(50) + 1000 * (m > "b"), "score": x})
        for m, x in zip(
            "abcd", rng.normal(np.array([0, 9, 0, 9])[:, None], 1, (4, 50)), strict=True
        )
    ]
    with pytest.warns(UserWarning):
        board = leaderboard(pd.concat(frames)).to_frame()
    assert board.loc[["b", "d"], "rank_low"].tolist() == [1, 1]
    assert board.loc[["b", "d"], "rank_high"].tolist() == [3, 3]


def test_mmlu_pro_gaps_do_not_rank(data_folder):
    """A model that lacks 71% of a topic is not ranked by its own answers only."""
    table = pd.read_csv(data_folder / "mmlu_pro_dev_29_models.csv.gz")
    part = table[table["category"] == "chemistry"]
    models = [c for c in table if c not in ("category", "src", "question_id")]
    models = [c for c in models if not c.startswith("lsa")]
    items = part.reset_index().melt("index", models, "model", "score").dropna()
    board = quiet(leaderboard, items, item="index")
    check_board(board)
    assert (board.bounds["blank"] > 0.05).all()
    most = board.bounds["blank"].idxmax()
    bare = items.groupby("model")["score"].mean()
    rank = board.to_frame().loc[most]
    print(most, board.bounds.loc[most].tolist(), bare[most], rank.to_dict())
    assert rank["rank_low"] < rank["rank_high"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "sizes, binary, gaps",
    [
        ([10] * 3, False, 0.0),
        ([10] * 5, True, 0.0),
        ([1, 1, 2, 2, 3, 4, 6, 8, 12, 16], False, 0.0),
        ([5] * 20, False, 0.3),
        ([1] * 10, False, 0.0),
        ([1] * 20, False, 0.3),
        ([1] * 100, True, 0.3),
    ],
)
@pytest.mark.parametrize("n_models", [5, 12])
def test_equal_models_are_rarely_called_better(sizes, binary, gaps, n_models):
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    item, model = np.indices((cluster.size, n_models)).reshape(2, -1)
    n_tables, wrong = 300, 0
    for _ in range(n_tables):
        shape = (cluster.size, n_models)
        drift = rng.normal(0, 0.7, (len(sizes), n_models))[cluster] * (max(sizes) > 1)
        scores = rng.normal(size=(cluster.size, 1)) + drift + rng.normal(size=shape)
        scores = (scores > -0.5) * 1.0 if binary else scores
        shown = (rng.random(shape) >= gaps).ravel()
        items = pd.DataFrame(
            {"model": model, "item": item, "score": scores.ravel(), "cluster": cluster[item]}
        )
        board = quiet(leaderboard, items[shown], cluster="cluster" if max(sizes) > 1 else None)
        wrong += board.rank_sets.better.any()
    print(f"{len(sizes)} clusters, {n_models} models, gaps {gaps}: {wrong / n_tables:.3f}")
    assert wrong <= binom.ppf(0.999, n_tables, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "livecodebench_execution.csv.gz",
        "openqa_nq.csv.gz",
        "mmlu_pro_dev.csv.gz",
        "mmlu_pro_dev_29_models.csv.gz",
        "item_matrix_gsm.csv.gz",
        "item_matrix_mrpc.csv.gz",
    ],
)
def test_one_step_decides_nearly_as_many_pairs_as_holm(data_folder, name):
    models = ["m*"] if name.startswith("item_matrix") else None
    read = read_with_notes(data_folder / name, models=models)
    cluster = "cluster" if "cluster" in read.columns else None
    p = quiet(compare_models, read.items, cluster=cluster).to_frame()["p_value"]
    p = np.sort(p.to_numpy())
    holm = int(np.argmin(np.append(p * np.arange(len(p), 0, -1) <= 0.05, False)))
    single = quiet(compare_models, read.items, cluster=cluster, adjust="bonferroni").verdict
    single = int(np.isin(single, ("better", "worse")).sum())
    print(f"{name}: {len(p)} pairs, Holm {holm}, one step {single}")
    assert holm - single <= 0.05 * len(p)
