"""`skbench doctor` and the reading of files by all commands."""

import json
import math
import re
import shlex

import numpy as np
import pandas as pd
import pytest
from commands import crossed, parsed, run

from skbench.readers import read_items, read_with_notes
from skbench.report.compare import compare
from skbench.report.doctor import doctor
from skbench.report.estimate import estimate
from skbench.report.judge import judge
from skbench.report.leaderboard import leaderboard
from skbench.report.plan import plan
from skbench.report.report import report

ALL = [compare, doctor, estimate, leaderboard, report]


def rows_of(command, name, *arguments):
    return pd.DataFrame(parsed(command, *arguments)[name])


def direct(path, *arguments):
    """Direct estimates."""
    return rows_of(estimate, "groups", path, "--method", "direct", *arguments)


COUNTS = "model,task,n,k\nada,law,40,30\nada,art,50,20\nbob,law,40,35\nbob,art,50,10\n"


@pytest.mark.parametrize("names", ["total,correct", "n_items,n_correct", "num_items,hits"])
def test_counts_have_many_names(written, names):
    usual = direct(written(COUNTS))
    pd.testing.assert_frame_equal(direct(written(COUNTS.replace("n,k", names, 1))), usual)


def test_counts_are_results_of_groups(written):
    path = written(COUNTS)
    table = direct(path).set_index(["model", "topic"])
    assert table.index.tolist() == [(m, t) for t in ("art", "law") for m in ("ada", "bob")]
    assert table["n"].tolist() == [50, 50, 40, 40]
    assert table.loc[("ada", "law"), "value"] == 0.75
    output = [run(doctor, path, *by).output.splitlines() for by in ((), ("--by", "model"))]
    assert output[0][:-1] == output[1][:-1]
    of_models = direct(path, "--by", "model")[["model", "n", "value"]].to_numpy().tolist()
    assert of_models == [["ada", 90, 50 / 90], ["bob", 90, 45 / 90]]
    # The same as from the answers one by one.
    items = read_items(path)
    assert len(items) == 180 and "item" not in items
    again = direct(written(items, "items.csv")).set_index(["model", "topic"])
    pd.testing.assert_frame_equal(again, table)
    refused = run(leaderboard, path)
    assert refused.exit_code == 1 and "groups" in refused.stderr
    # The shared items are unknown, so the report does not count them.
    text = run(report, path).stdout
    assert "different items" in " ".join(text.split())
    assert "180 items" not in text and "shared items" not in text


def test_means_with_standard_errors(written):
    text = "model,task,acc,acc_stderr\nada,law,.7,.02\nada,art,.4,.03\nbob,law,.6,.02\n"
    path = written(text + "bob,art,.5,.03\n")
    table = direct(path)
    np.testing.assert_allclose(table["standard_error"], [0.03, 0.03, 0.02, 0.02])
    assert table["n"].isna().all()
    assert "can be added" in run(estimate, path, "--by", "model").stderr
    with pytest.raises(ValueError, match="standard errors"):
        read_items(path)


def test_means_without_standard_errors(written):
    rows = [f"{m},{t},{30 + len(m + t)}%" for m in ("a", "bb") for t in ("u", "vv")]
    path = written("\n".join(["model,task,acc", *rows]))
    lines = run(doctor, path).stdout.splitlines()
    assert "acc_stderr" in lines[-3]
    assert lines[-1] == f"Next: skbench leaderboard {path} --item task"
    for command in (estimate, report):
        result = run(command, path)
        assert result.exit_code == 1 and "acc_stderr" in result.stderr
    assert run(leaderboard, path, "--item", "task").exit_code == 0
    # Standard errors may be percentages.
    path = written("\n".join(["model,task,acc,acc_stderr", *(f"{row},4%" for row in rows)]))
    table = direct(path)
    assert set(table["standard_error"].round(9)) == {0.04} and table["value"].max() == 0.34


def test_single_answers_beside_a_size_stay_items(written):
    path = written("model,id,n,correct\na,1,7,1\na,2,9,0\nb,1,7,1\nb,2,9,1\n")
    assert read_with_notes(path).groups is None


def test_rows_that_differ_in_another_column_are_kept_apart_or_refused(written):
    levels = {"model": "ab", "task": ["law"], "shots": (0, 5), "number": range(9)}
    table = crossed(lambda m, t, s, i: (i + s) % 2, **levels).drop(columns="number")
    path = written(table)
    for command in (estimate, report):
        refused = run(command, path)
        assert refused.exit_code == 1 and "'shots' (0, 5)" in refused.stderr
    table = direct(path, "--by", "task,shots")
    assert sorted(table["topic"].unique()) == ["law / 0", "law / 5"]
    # Results of groups raise the same error.
    counts = COUNTS.replace("n,k", "n,k,shots", 1).replace("0\n", "0,0\n")
    path = written(counts + "ada,law,9,1,5\n")
    assert "repeat a group" in run(estimate, path).stderr


def test_unknown_item_column(written):
    """The suggested command works."""
    rows = [f"{m},q{i},{(i * len(m)) % 2}" for m in ("a", "bb", "ccc") for i in range(9)]
    path = written("\n".join(["model,what,correct", *rows]))
    refused = run(leaderboard, path)
    assert refused.exit_code == 1
    command = refused.stderr.strip().splitlines()[-1]
    assert command == f"skbench leaderboard {path} --item what"
    result = run(leaderboard, *shlex.split(command)[2:])
    assert result.exit_code == 0
    assert "contents: 3 models, 9 items; 27 answers; scores 0 or 1" in result.stderr


def test_gaps_have_a_map(written):
    table = crossed(lambda m, t, i: i % 2, model=["ada", "bob"], task="tuv", id=range(8))
    few = table["task"].map({"t": 8, "u": 2, "v": 0})
    result = run(doctor, written(table[(table["model"] == "ada") | (table["id"] < few)]))
    lines = result.stdout.splitlines()
    assert any("29.2%" in line for line in lines)
    assert "#-. bob" in lines
    assert not any("ada" in line for line in lines)


@pytest.mark.parametrize("command", ALL)
@pytest.mark.parametrize("column", [0, 1])
def test_percents_beside_shares_raise_a_question(written, command, column):
    rows = [(m, t, f"{t}{i}", i % 3 > 0) for m in "ab" for t in "uv" for i in range(9)]
    lines = [f"{m},{t},{i},{x * (100 if (m, t)[column] in 'bv' else 1)}" for m, t, i, x in rows]
    path = written("\n".join(["model,task,id,score", *lines]))
    result = run(command, path)
    asked = f"{'bv'[column]!r} reach 100"
    # The report also asks in its headline and in its warnings.
    assert result.output.count(asked) == (3 if command is report else 1), result.output
    if command is report:
        output = parsed(report, path)
        assert asked in output["warnings"][0] and asked in output["headline"][0]
    # All scores are 0 or 1.
    assert "same unit" not in run(command, written(path.read_text().replace("100", "1"))).output


@pytest.mark.parametrize("command", [compare, doctor, estimate, report])
def test_bootstrap_scores_are_no_items(written, command):
    raw = [{"mcc": 0.1 * i} for i in range(10)]
    lines = [
        json.dumps({"model": m, "dataset": "d", "task": "t", "results": {"raw": raw}}) for m in "ab"
    ]
    result = run(command, written("\n".join(lines), "results.jsonl"))
    if command is doctor:
        assert "bootstrap sample" in result.stdout
    else:
        assert result.exit_code == 1 and "bootstrap samples" in result.stderr


def test_judge_guesses_clusters(written):
    hard = np.random.default_rng(0).random(60) < 0.5
    levels = {"system": range(5), "question_id": range(60)}
    path = written(crossed(lambda s, i: 1 - hard[i], **levels).assign(human=lambda t: t["score"]))
    result = run(judge, path, "--judge", "score", "--human", "human", "--json")
    assert "cluster: column 'question_id'" in result.stderr
    row = json.loads(result.stdout)["groups"][0]
    # There are 60 questions and 300 answers.
    assert (row["high"] - row["low"]) / 2 > 0.8 * 1.96 * math.sqrt(0.25 / 60)
    output = run(judge, path, "--judge", "score", "--human", "human", "--by", "system")
    assert "cluster:" not in output.stderr


def test_two_files_are_compared(written):
    text = "id,correct\n" + "".join(f"{i},{{}}\n" for i in range(9))
    a = written(text.format(*[1] * 9), "a.csv")
    b = written(text.format(*[1, 1, 1, 0, 0, 0, 0, 0, 0]), "b.csv")
    table = rows_of(compare, "pairs", a, b)
    assert table[["model_a", "model_b"]].to_numpy().tolist() == [["a", "b"]]
    assert table["value"].item() == pytest.approx(6 / 9)


def test_lists_of_objects_and_percents(written):
    rows = [{"model": m, "id": i, "score": f"{10 * i}%"} for m in "ab" for i in range(4)]
    items = read_items(written(json.dumps(rows), "results.json"))
    np.testing.assert_allclose(items["score"], [0, 0.1, 0.2, 0.3] * 2)


def test_models_are_renamed(written):
    path = written("model,id,correct\n0x7f,1,1\n0x7f,2,0\nb,1,1\nb,2,1\n")
    table = rows_of(leaderboard, "models", path, "--rename", "0x7f=Ada")
    assert set(table["model"]) == {"Ada", "b"}
    result = run(leaderboard, path, "--rename", "0x7f=b")
    assert result.exit_code == 1 and "several models" in result.stderr


def lm_eval(written, model, scores):
    lines = [
        {"doc_id": i, "target": "", "resps": [], "filtered_resps": [], "acc": score}
        for i, score in enumerate(scores)
    ]
    return written("\n".join(map(json.dumps, lines)), f"{model}/samples_sums.jsonl").parents[1]


def test_blanks_of_logs_follow_missing(written):
    """One item failed in every log, and one item in a single log."""
    lm_eval(written, "ada", [1, 1, 0, 1, None, None])
    folder = lm_eval(written, "bob", [1, 0, 0, 1, 1, None])
    for command, name in ((leaderboard, "models"), (estimate, "groups")):
        options = ["--method", "direct"] if command is estimate else []
        wrong = rows_of(command, name, folder, "--missing", "wrong", *options)
        value = wrong.set_index("model")["value"].to_dict()
        assert value == pytest.approx({"ada": 3 / 6, "bob": 3 / 6})
        refused = run(command, folder, "--missing", "refuse", *options)
        assert refused.exit_code == 1 and "'ada' lacks 2" in refused.stderr
        dropped = rows_of(command, name, folder, *options)
        assert set(dropped["n"]) == {4, 5}


def test_percents_of_plan_are_points_of_scores_in_percent(written):
    rng = np.random.default_rng(0)
    rows = [f"{m},{i},{x:.1f}" for m in "ab" for i, x in enumerate(rng.uniform(0, 100, 60))]
    path = written("\n".join(["model,id,accuracy", *rows]))
    found = [run(plan, path, "--effect", effect, "--json") for effect in ("5%", 5, 0.05)]
    first, second, third = (json.loads(result.stdout)["plans"] for result in found)
    assert first == second != third
    assert "5 points" in found[2].stderr


def test_a_declared_cluster_of_inspect_is_used(written):
    samples = [
        {"id": i, "epoch": e, "input": f"q{i}", "metadata": {"passage": f"p{i // 3}"},
         "scores": {"match": {"value": "C" if (i // 3) % 2 else "I"}}}
        for i in range(12) for e in (1, 2)
    ]  # fmt: skip
    scorer = {"name": "match", "metrics": [{"name": "stderr", "options": {"cluster": "passage"}}]}
    about = {"task": "t", "model": "m", "scorers": [scorer]}
    path = written({"status": "success", "eval": about, "samples": samples}, "log.json")
    result = run(estimate, path, "--method", "direct", "--json")
    assert re.search("'metadata.passage' .*cluster", result.stderr)
    assert "clusters: 4" in result.stderr and "repeats: averaged" in result.stderr
    error = json.loads(result.stdout)["groups"][0]["standard_error"]
    # Four passages of two outcomes: CR2 of 0, 1, 0, 1.
    assert error == pytest.approx(math.sqrt(np.var([0, 1, 0, 1], ddof=1) / 4))
    own = run(estimate, path, "--method", "direct", "--cluster", "id")
    assert not re.search("'metadata.passage' .*cluster", own.stderr)


READ = [
    f"item_matrix_{name}" for name in "arc_challenge gsm ifeval legalbench mmlu mrpc sst2".split()
]
READ += "livecodebench_execution mmlu_pro_dev mmlu_pro_dev_29_models mmlu_pro_groups_dev".split()
READ = [f"{name}.csv.gz" for name in [*READ, "openqa_nq"]]
NO_SCORES = "compas_two_years cz_chetty_hendren euroeval_ranks euroeval_scores scandeval_raw_2023 student_mat"
NO_SCORES = [f"{name}.csv.gz" for name in NO_SCORES.split()]
NO_SCORES += ["efron_morris_baseball.csv", "sae_milk.csv"]
NOT_READ = dict.fromkeys(NO_SCORES, "score")
NOT_READ |= {"bbh_codex.csv.gz": "mode", "vtab_leaderboard.csv": "protocol"}


def models_of(name):
    """The option for the matrices, whose columns bear no names that are known."""
    return ("--models", "m*") if name.startswith("item_matrix") else ()


@pytest.mark.slow
@pytest.mark.parametrize("name", [*READ, *NOT_READ])
def test_every_file_is_understood_or_its_columns_are_listed(data_folder, name):
    result = run(doctor, data_folder / name, *models_of(name))
    print(result.output)
    if name in NOT_READ:
        assert NOT_READ[name] in result.output
        # Rows that repeat items may be repeated answers, for which there is a command of its own.
        ends = result.stdout.splitlines()[-1]
        asked = name == "bbh_codex.csv.gz"
        assert result.exit_code == (0 if asked else 1)
        assert (ends.startswith("Next: skbench report") and ends.endswith("--model mode")) == asked
        assert "column" in result.stdout and "distinct" in result.stdout
    else:
        assert result.exit_code == 0 and "contents: " in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", READ)
def test_direct_estimates_are_those_of_pandas(data_folder, name):
    table = pd.read_csv(data_folder / name)
    by = () if "groups" in name else ("--by", "model", *models_of(name))
    found = direct(data_folder / name, *by)
    if "groups" in name:
        expected = (table["k"] / table["n"]).set_axis(table["model"] + table["src"])
        found = found.set_axis(found["model"] + found["topic"])
    elif "model" in table or "system" in table:
        column = "model" if "model" in table else "system"
        expected = table.groupby(column)[{"model": "pass1", "system": "em"}[column]].mean()
        found = found.set_index("model")
    else:
        expected = table[found["model"]].mean()
        found = found.set_index("model")
    np.testing.assert_allclose(found["value"], expected.reindex(found.index), rtol=1e-12)
