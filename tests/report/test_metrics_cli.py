"""`skbench metrics`: numbers, errors, and suggested commands."""

import json
import re
import shlex
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from skbench import DirectEstimator, group_metrics
from skbench.report.metrics import metrics
from skbench.report.metrics_by_group import compared


def run(*arguments):
    return CliRunner().invoke(metrics, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    regions = rng.choice(["north", "south", "east", "west"], 400)
    frame = pd.DataFrame({"region": regions, "sex": rng.choice(["f", "m"], 400)})
    frame["y_true"] = rng.integers(2, size=400)
    right = rng.random(400) < np.where(frame["region"] == "west", 0.5, 0.85)
    frame["y_pred"] = np.where(right, frame["y_true"], 1 - frame["y_true"])
    frame["y_prob"] = np.clip(0.3 + 0.4 * frame["y_pred"] + rng.normal(0, 0.1, 400), 0, 1)
    return frame


@pytest.fixture
def path(tmp_path):
    return tmp_path / "predictions.csv"


@pytest.fixture
def file(rows, path):
    rows.to_csv(path, index=False)
    return path


def parsed(*arguments):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_conclusion_first_then_the_table(rows, file):
    result = run(file, "--by", "region")
    assert "'y_true'" in result.stderr and "'y_pred'" in result.stderr
    first = " ".join(result.stdout.split("\n\n")[0].split())
    assert "west" in first and "at most" not in first
    # The interval of a gap never includes 0.
    gap = parsed(file, "--by", "sex")["extremes"][2]
    first = " ".join(run(file, "--by", "sex").stdout.split("\n\n")[0].split())
    assert first.startswith("accuracy by sex: no significant difference")
    assert f"at most {gap['high']:.3f}" in first and f"{gap['low']:.3f}" not in first


def test_two_tests_do_not_contradict_each_other(file):
    """The lower end of the gap may be 0 although the exact test is significant."""
    (one,) = compared(file, ["accuracy"], (None, None, [["region"]]), None, 0.95, 0)
    estimate = one.extremes.estimate
    low = np.where(estimate.labels == "gap", 0.0, estimate.low)
    assert "no significant" not in one.sentence() and "at most" not in one.sentence()
    one.extremes = replace(one.extremes, estimate=replace(estimate, low=low))
    assert "no significant" not in one.sentence() and "at most 0." in one.sentence()


def test_numbers_are_those_of_python(rows, file):
    document = parsed(file, "--by", "region,sex", "--metric", "tpr", "--metric", "auc")
    groups = pd.DataFrame(document["groups"])
    for metric, column in (("tpr", "y_pred"), ("auc", "y_prob")):
        g = group_metrics(rows["y_true"], rows[column], rows[["region", "sex"]], metric)
        direct = DirectEstimator().fit(**g.fit_args).estimate().within(0, 1)
        own = groups[groups["metric"] == metric]
        assert list(own["group"]) == [" / ".join(label) for label in g.labels]
        np.testing.assert_allclose(own[["n", "direct", "direct_high"]].T, [g.n, g.z, direct.high])
        assert own["worst_probability"].sum() == pytest.approx(1)
        assert own[["value", "low", "high"]].stack().between(0, 1).all()
    extremes = pd.DataFrame(document["extremes"]).set_index(["metric", "extreme"])
    assert (extremes["p_value_of_equal_groups"] < 0.05).all()
    values = extremes["value"].unstack()
    np.testing.assert_allclose(values["best"] - values["worst"], values["gap"])


def test_of_false_positive_rates_the_highest_is_the_worst(file):
    groups = pd.DataFrame(parsed(file, "--by", "region", "--metric", "fpr")["groups"])
    likely = groups.set_index("group")[["worst_probability", "value"]].idxmax()
    assert (likely == "west").all()


def test_words_are_labels_too(rows, tmp_path, file):
    words = rows.replace({"y_true": {1: "Yes", 0: "No"}, "y_pred": {1: "Yes", 0: "No"}})
    words.to_json(tmp_path / "words.jsonl", orient="records", lines=True)
    arguments = ["--by", "region", "--metric", "precision"]
    assert parsed(tmp_path / "words.jsonl", *arguments) == parsed(file, *arguments)


OPEN = {
    "truth": ({"y_true": "really"}, "--by region", ["--truth really"]),
    "prediction": ({"y_pred": "guess"}, "--by region", ["--prediction guess"]),
    "by": ({}, "", ["--by region", "--by sex"]),
    "positive": ({}, "--by region --metric f1", ["--positive hi", "--positive lo"]),
    "auc": ({"y_prob": "p"}, "--by sex --metric auc", ["--prediction p"]),
    "groupings": ({"y_true": "really"}, "--by sex,region --by sex", ["--truth really"]),
}


@pytest.mark.parametrize("case", OPEN)
def test_suggested_commands_work(rows, path, case):
    names, arguments, parts = OPEN[case]
    words = {1: "hi", 0: "lo"} if case == "positive" else {}
    words = {"y_true": words, "y_pred": words} if words else {}
    rows.replace(words).rename(columns=names).to_csv(path, index=False)
    result = run(path, *arguments.split())
    assert result.exit_code == 1 and not result.stdout
    commands = [line for line in result.stderr.splitlines() if line.startswith("skbench metrics")]
    for part in parts:
        (command,) = [command for command in commands if part in command]
        again = run(*shlex.split(command)[2:])
        assert again.exit_code == 0, again.output


WRONG = """\
--by region --prediction y_prob
--by region --prediction sex
--by region --metric auc --prediction sex
--by region --metric f1 --positive maybe
--by constant"""


@pytest.mark.parametrize("arguments", WRONG.splitlines())
def test_errors_take_one_line(rows, path, arguments):
    rows.assign(constant="x").to_csv(path, index=False)
    result = run(path, *arguments.split())
    assert result.exit_code == 1 and not result.stdout
    assert result.stderr.splitlines()[-1].startswith("skbench: ")


def test_missing_values_are_skipped_and_counted(rows, path):
    rows.mask(pd.Series(rows.index % 10 == 0)).to_csv(path, index=False)
    assert "40 of 400 rows" in run(path, "--by", "region").stderr
    found = parsed(path, "--by", "region")["groups"]
    n = rows[rows.index % 10 > 0].groupby("region").size()
    assert {row["group"]: row["n"] for row in found} == n.to_dict()


def test_a_group_without_positives_stays_with_n_0(rows, path):
    rows[(rows["region"] != "east") | (rows["y_true"] == 0)].to_csv(path, index=False)
    arguments = ["--by", "region", "--metric", "tpr"]
    assert "east" in run(path, *arguments).stderr and "unknown" in run(path, *arguments).stdout
    east, *others = parsed(path, *arguments)["groups"]
    assert east["group"] == "east" and east["n"] == 0 and east["value"] is east["direct"] is None
    rows[rows["region"] != "east"].to_csv(path, index=False)
    assert others == parsed(path, *arguments)["groups"]


def test_groupings_apart_are_those_of_one_call_each(file):
    groupings = ["region", "sex,region"]
    together = parsed(file, "--by", groupings[0], "--by", groupings[1])
    apart = [parsed(file, "--by", by) for by in groupings]
    for name in ("groups", "extremes"):
        assert together[name] == apart[0][name] + apart[1][name]
    assert [row["by"] for row in together["extremes"][::4]] == groupings


def test_other_forms(file, tmp_path):
    picture = tmp_path / "metrics.svg"
    result = run(file, "--by", "sex", "--csv", "--plot", picture)
    assert len(result.stdout.splitlines()) == 3 and picture.stat().st_size > 1000
    two = ["--metric", "f1", "--metric", "tpr"]
    assert run(file, "--by", "sex", "--plot", picture, *two).exit_code == 2


def test_percents_as_text_are_no_scores(rows, path):
    table = rows.assign(y_prob=[f"{10 * i % 100}%" for i in range(len(rows))])
    table.to_csv(path, index=False)
    result = run(path, "--metric", "auc", "--by", "sex")
    assert result.exit_code == 1 and re.search("'y_prob'.* row 1 .*'0%'", result.stderr)
