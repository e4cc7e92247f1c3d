"""`skbench metrics`: files as people have them, what is refused, and the commands that mend it."""

import json
import shlex
from functools import partial

import commands
import numpy as np
import pandas as pd
import pytest

from skbench import DirectEstimator, group_metrics
from skbench.report.metrics import metrics

run = partial(commands.run, metrics)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"region": rng.choice(["north", "south", "east", "west"], 400), "sex": rng.choice(["f", "m"], 400)}
    )  # fmt: skip
    frame["y_true"] = rng.integers(2, size=400)
    right = rng.random(400) < np.where(frame["region"] == "west", 0.5, 0.85)
    frame["y_pred"] = np.where(right, frame["y_true"], 1 - frame["y_true"])
    frame["y_prob"] = np.clip(0.3 + 0.4 * frame["y_pred"] + rng.normal(0, 0.1, 400), 0, 1)
    return frame


@pytest.fixture
def file(rows, written):
    return written(rows, "predictions.csv")


def parsed(*arguments):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_conclusion_first_then_the_table(file):
    result = run(file, "--by", "region")
    assert result.exit_code == 0, result.output
    first = result.stdout.splitlines()[0]
    assert "west" in first and "gap" in first
    assert "'y_true'" in result.stderr and "'y_pred'" in result.stderr


def test_numbers_are_those_of_python(rows, file):
    document = parsed(file, "--by", "region,sex", "--metric", "tpr", "--metric", "auc")
    groups = pd.DataFrame(document["groups"])
    assert list(groups["metric"]) == ["tpr"] * 8 + ["auc"] * 8
    for metric, column in (("tpr", "y_pred"), ("auc", "y_prob")):
        g = group_metrics(rows["y_true"], rows[column], rows[["region", "sex"]], metric)
        direct = DirectEstimator().fit(**g.fit_args).estimate().within(0, 1)
        own = groups[groups["metric"] == metric]
        assert list(own["group"]) == [" / ".join(label) for label in g.labels]
        np.testing.assert_array_equal(own["n"], g.n)
        np.testing.assert_allclose(own["direct"], g.z)
        np.testing.assert_allclose(own["direct_high"], direct.high)
        assert own["worst_probability"].sum() == pytest.approx(1)
        assert own[["value", "low", "high"]].stack().between(0, 1).all()
    extremes = pd.DataFrame(document["extremes"])
    assert (extremes["p_value_of_equal_groups"] < 0.05).all()
    assert list(extremes["extreme"]) == ["worst", "best", "gap", "ratio"] * 2
    values = extremes["value"].to_numpy().reshape(2, 4)
    np.testing.assert_allclose(values[:, 1] - values[:, 0], values[:, 2])


def test_of_false_positive_rates_the_highest_is_the_worst(file):
    document = parsed(file, "--by", "region", "--metric", "fpr")
    worst = max(document["groups"], key=lambda row: row["worst_probability"])
    assert (
        worst["group"] == "west" == max(document["groups"], key=lambda row: row["value"])["group"]
    )


def test_words_are_labels_too(rows, tmp_path, file):
    words = rows.replace({"y_true": {1: "Yes", 0: "No"}, "y_pred": {1: "Yes", 0: "No"}})
    words.drop(columns="y_prob").to_json(tmp_path / "words.jsonl", orient="records", lines=True)
    arguments = ["--by", "region", "--metric", "precision"]
    assert parsed(tmp_path / "words.jsonl", *arguments) == parsed(file, *arguments)


@pytest.mark.parametrize(
    ("change", "arguments", "mended"),
    [
        (lambda d: d.rename(columns={"y_true": "really"}), ["--by", "region"], ["--truth really"]),
        (lambda d: d.rename(columns={"y_pred": "guess", "y_prob": "p"}), ["--by", "region"], ["--prediction guess"]),
        (lambda d: d, [], ["--by region", "--by sex"]),
        (
            lambda d: d.replace({"y_true": {1: "hi", 0: "lo"}, "y_pred": {1: "hi", 0: "lo"}}),
            ["--by", "region", "--metric", "f1"],
            ["--positive hi", "--positive lo"],
        ),
        (lambda d: d.drop(columns="y_prob").assign(p=d["y_prob"]), ["--by", "sex", "--metric", "auc"], ["--prediction p"]),
    ],
    ids=["truth", "prediction", "by", "positive", "auc"],
)  # fmt: skip
def test_what_is_open_is_asked_with_commands_that_work(rows, written, change, arguments, mended):
    result = run(written(change(rows), "open.csv"), *arguments)
    assert result.exit_code == 1 and not result.stdout
    commands = [line for line in result.stderr.splitlines() if line.startswith("skbench metrics")]
    for part in mended:
        (command,) = [command for command in commands if part in command]
        again = run(*shlex.split(command)[2:])
        assert again.exit_code == 0, again.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["--by", "regions"],
        ["--by", "region", "--truth", "nothing"],
        ["--by", "region", "--prediction", "y_prob"],
        ["--by", "region", "--prediction", "sex"],  # words on one side only
        ["--by", "region", "--metric", "auc", "--prediction", "sex"],
        ["--by", "region", "--metric", "f1", "--positive", "maybe"],
        ["--by", "constant"],
    ],
    ids=" ".join,
)
def test_what_is_wrong_is_said_in_one_line(rows, written, arguments):
    result = run(written(rows.assign(constant="x"), "wrong.csv"), *arguments)
    assert result.exit_code == 1 and not result.stdout
    assert result.stderr.splitlines()[-1].startswith("skbench: ")


def test_blank_cells_are_left_out_and_counted(rows, written):
    path = written(rows.mask(pd.Series(rows.index % 10 == 0)), "blank.csv")
    result = run(path, "--by", "region")
    assert result.exit_code == 0 and "40 of 400 rows" in result.stderr
    n = rows[rows.index % 10 > 0].groupby("region").size()
    found = parsed(path, "--by", "region")["groups"]
    assert {row["group"]: row["n"] for row in found} == n.to_dict()


def test_a_group_without_positives_is_named(rows, tmp_path):
    path = tmp_path / "none.csv"
    rows[~((rows["region"] == "east") & (rows["y_true"] == 1))].to_csv(path, index=False)
    result = run(path, "--by", "region", "--metric", "tpr")
    assert "east" in result.stderr and "east" not in result.stdout


def test_other_forms(file, tmp_path):
    picture = tmp_path / "metrics.svg"
    result = run(file, "--by", "sex", "--csv", "--plot", picture)
    assert result.exit_code == 0, result.output
    assert picture.stat().st_size > 1000
    assert len(result.stdout.splitlines()) == 3
    assert (
        run(file, "--by", "sex", "--metric", "f1", "--metric", "tpr", "--plot", picture).exit_code
        == 2
    )


def test_compas(data_folder):
    result = run(
        data_folder / "compas_two_years.csv.gz",
        "--truth", "two_year_recid", "--prediction", "decile_score", "--metric", "auc", "--by", "race",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) > 8
