"""`skbench leaderboard`: the figures of the function, in print."""

import io
import json
import re
from functools import partial
from pathlib import Path

import commands
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from commands import crossed
from writing import write

from skbench.comparison import leaderboard as ranked
from skbench.datasets import make_items
from skbench.readers import read_items
from skbench.report.estimate import estimate
from skbench.report.leaderboard import leaderboard
from skbench.tasks import MeanRankScore

run = partial(commands.run, leaderboard)
parsed = partial(commands.parsed, leaderboard)


@pytest.fixture(scope="module")
def items():
    items = make_items(n_models=4, n_topics=5, n_items=40, random_state=0).items
    return items.assign(item=items["topic"].astype(str) + "/" + items["item"].astype(str))


@pytest.fixture(scope="module")
def file(items, tmp_path_factory):
    return write(
        tmp_path_factory.mktemp("board") / "results.csv", items[["model", "topic", "item", "score"]]
    )


@pytest.mark.parametrize("topics", [None, "topic"])
def test_json_holds_the_results_of_the_function(file, items, topics):
    document = parsed(file, *(["--topics", topics] if topics else []))
    expected = ranked(items, topics=topics).to_frame()
    found = pd.DataFrame(document["models"]).set_index("model")
    found = found.assign(ties=found["ties"].map("".join)).rename(columns={"value": "estimate"})
    # JSON keeps all digits of a float.
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, check_index_type=False)
    assert document["n_topics"] == (5 if topics else None)
    assert document["guarantee"] == "each group, on average over accuracies"


def test_csv_and_table_hold_the_same_numbers(file):
    read = pd.read_csv(io.StringIO(run(file, "--csv").stdout))
    result = run(file)
    lines = result.stdout.splitlines()
    assert "4 models on 200 items." in lines
    first = read.iloc[0]
    assert lines[0].startswith(f"{first['model']} ") and f"{first['value']:.3f}" in lines[0]
    rule = next(i for i, line in enumerate(lines) if line and set(line) <= set("─-"))
    for row in read.itertuples():
        shown = next(line for line in lines[rule:] if line.startswith(f"{row.model} ")).split()
        assert shown[1] == str(row.rank)
        assert shown[2].split("-")[0] == str(row.rank_low)
        assert float(shown[3]) == pytest.approx(row.value, abs=5e-4)  # three digits
        assert shown[-1] == row.ties.replace(" ", "")


def test_lines_fit_a_terminal(file):
    terminal = {"FORCE_COLOR": "1", "TERM": "dumb", "COLUMNS": "80"}
    for command, options, words in [
        (leaderboard, [], "Method:"),
        (estimate, ["--method", "direct", "--interval", "t"], "each group"),
    ]:
        for env in (terminal, {"COLUMNS": "80"}):  # on a terminal and elsewhere
            result = CliRunner().invoke(command, [str(file), *options], env=env)
            text, _, commands = result.stdout.partition("\nNext:\n")
            assert words in text
            assert max(len(line) for line in text.splitlines()) <= 80
            assert str(file) in commands  # in one line each, to be copied


def test_missing_answers_are_warned_of(items, written):
    path = written(
        items.drop(index=items.index[:3])[["model", "topic", "item", "score"]], "gaps.csv"
    )
    result = run(path)
    assert "warning: 1 of 4 models" in result.stderr
    header = next(line for line in result.stdout.splitlines() if line.startswith("model "))
    assert " n" in header  # numbers of items are shown where they differ


def test_plot_is_saved_at_the_reported_path(file, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "no_suffix"
    assert f"picture: {picture}" in run(file, "--plot", picture).stderr
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_livecodebench(data_folder):
    result = run(data_folder / "livecodebench_execution.csv.gz")
    assert "37 models on 479 items in 92 clusters." in result.stdout
    assert "Dracarys-72B-Instruct" in result.stdout.partition("\n\n")[0]


def test_bbh(data_folder):
    path = data_folder / "bbh_codex.csv.gz"
    result = run(path, "--model", "mode", "--topics", "task", "--json")
    models = json.loads(result.stdout)["models"]
    means = pd.read_csv(path).groupby(["mode", "task"])["correct"].mean().groupby("mode").mean()
    assert [model["model"] for model in models] == ["cot", "direct"]
    assert np.allclose([model["value"] for model in models], means.loc[["cot", "direct"]])
    assert models[0]["rank_high"] == 1


def test_a_wide_file_may_have_clusters_and_no_items(tmp_path):
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.integers(0, 2, (40, 3)), columns=["o1", "o3", "gpt-4"])
    wide.assign(passage_id=np.arange(40) // 4).to_csv(tmp_path / "wide.csv", index=False)
    document = parsed(tmp_path / "wide.csv")
    found = pd.DataFrame(document["models"]).set_index("model").loc[wide.columns]
    np.testing.assert_allclose(found["value"], wide.mean())
    # Clusters of one size: the standard error is that of the mean of their means.
    expected = wide.groupby(np.arange(40) // 4).mean().sem()
    np.testing.assert_allclose(found["standard_error"], expected)


def test_letters_of_many_ties_can_be_read_back(written):
    """Beyond z letters are pairs: as one string nobody could take them apart."""
    rng = np.random.default_rng(0)
    table = crossed(lambda m, i: rng.random() < 0.05 + 0.01 * m, model=range(90), item=range(250))
    models = parsed(written(table.astype({"score": int})))["models"]
    assert any(len(letter) > 1 for row in models for letter in row["ties"])
    for a in models[::9]:
        for b in models[::9]:
            apart = a["rank_low"] > b["rank_high"] or b["rank_low"] > a["rank_high"]
            assert not (apart and set(a["ties"]) & set(b["ties"]))


EUROEVAL = Path(__file__).parents[1] / "readers" / "fixtures" / "euroeval" / "version_18"


def test_euroeval_is_ranked_by_mean_rank_scores(tmp_path):
    document = parsed(EUROEVAL)
    rows = read_items(EUROEVAL)
    sets = MeanRankScore().fit(rows).rank_sets()
    found = pd.DataFrame(document["models"]).set_index("model")
    assert found["rank_low"].tolist() == sets["low"].tolist()
    assert (document["n_pairs"], document["n_pairs_distinguished"]) == (6, 4)
    assert document["may_be_best"] == ["ours/beta (few-shot)", "ours/beta (zero-shot)"]
    assert re.search("4 of 6 pairs .*67%", " ".join(run(EUROEVAL).stdout.split()))
    # The same as a leaderboard prints it.
    score = rows.groupby(["model", "dataset", "task", "language"])["score"]
    board = score.agg(mean="mean", std="std").reset_index()
    board["ci"] = 1.96 * board.pop("std") / np.sqrt(10)
    board.to_csv(tmp_path / "board.csv", index=False)
    printed = run(tmp_path / "board.csv", "--half-width", "ci", "--csv").stdout
    again = pd.read_csv(io.StringIO(printed)).set_index("model")
    columns = ["value", "rank_low", "rank_high"]
    pd.testing.assert_frame_equal(
        again[columns].sort_index(), found[columns].sort_index(), check_dtype=False
    )


def test_options_of_items_are_refused_for_data_sets():
    result = run(EUROEVAL, "--plot", "board.png")
    assert result.exit_code == 1 and "--plot" in result.stderr
