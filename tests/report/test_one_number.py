"""One page, one number: what commands say of one quantity, in every form, is the same."""

import functools
import json
import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from skbench.report.compare import compare
from skbench.report.estimate import estimate
from skbench.report.leaderboard import leaderboard
from skbench.report.report import report

ENDS = ("value", "low", "high")
NEW = ["ada", "bob", "cyd"]


def run(command, *arguments):
    result = CliRunner().invoke(command, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


@functools.cache
def parsed(command, *arguments):
    return json.loads(run(command, *arguments, "--json"))


def scores_of(kind, rng, chance):
    if kind == "right or wrong":
        return rng.binomial(1, chance).astype(float)
    graded = np.clip(chance + rng.normal(0, 0.1, len(chance)), 0, 1)
    return graded if kind == "graded" else 1 + np.rint(4 * graded)


LABELS = pytest.param("labels from 1 to 5", marks=pytest.mark.slow)


@pytest.fixture(scope="module", params=["right or wrong", "graded", LABELS])
def files(request, tmp_path_factory):
    """Three new models on a third of 240 items in four topics, and eight earlier ones on all."""
    rng, folder = np.random.default_rng(4), tmp_path_factory.mktemp("one")
    names = [*(f"old {k}" for k in range(8)), *NEW]
    index = pd.MultiIndex.from_product([names, range(240)], names=["model", "item"])
    rows = index.to_frame(index=False)
    ease, ability = rng.normal(0.5, 1.5, 240), np.r_[rng.normal(0, 0.5, 8), 0.0, 0.4, 1.0]
    eta = ease[rows["item"]] + np.repeat(ability, 240)
    rows["score"] = scores_of(request.param, rng, 1 / (1 + np.exp(-eta)))
    rows.insert(1, "topic", "t" + (rows["item"] % 4).astype(str))
    new = rows["model"].isin(NEW)
    rows[~new].to_csv(folder / "past.csv", index=False)
    asked = rng.permutation(240)[:80]
    rows[new & rows["item"].isin(asked)].to_csv(folder / "new.csv", index=False)
    return folder


PAST = pytest.mark.parametrize("with_past", [False, True], ids=["alone", "with a past"])


def given(files, with_past):
    return [files / "new.csv", *(["--past", files / "past.csv"] if with_past else [])]


def by_label(rows, *names):
    return {tuple(row[name] for name in names): [row[end] for end in ENDS] for row in rows}


def same(first, second):
    assert first.keys() == second.keys() and first
    for name in first:
        np.testing.assert_allclose(first[name], second[name], rtol=0, atol=1e-12)


@PAST
def test_json_of_commands_agrees(files, with_past):
    page = parsed(report, *given(files, with_past))
    board = parsed(leaderboard, *given(files, with_past))
    same(by_label(page["models"], "model"), by_label(board["models"], "model"))
    pairs = parsed(compare, *given(files, with_past))["pairs"]
    same(by_label(page["pairs"], "model_a", "model_b"), by_label(pairs, "model_a", "model_b"))
    groups = parsed(estimate, *given(files, with_past))["groups"]
    same(by_label(page["groups"], "model", "topic"), by_label(groups, "model", "topic"))
    if with_past:  # without one, estimates of few groups lean on each other
        models = parsed(estimate, *given(files, True), "--by", "model")["groups"]
        same(by_label(models, "model"), by_label(board["models"], "model"))


@PAST
def test_scores_differences_and_ranks_are_one_story(files, with_past):
    page = parsed(report, *given(files, with_past))
    score = {row["model"]: row["value"] for row in page["models"]}
    for row in page["pairs"]:
        assert row["value"] == pytest.approx(score[row["model_a"]] - score[row["model_b"]])
        assert (row["verdict"] == "better") == (row["low"] > 0)
        assert (row["verdict"] == "worse") == (row["high"] < 0)
    for row in page["models"]:
        clear = [pair for pair in page["pairs"] if pair["verdict"] in ("better", "worse")]
        lost = sum(row["model"] == pair["model_b" if pair["verdict"] == "better" else "model_a"]
                   for pair in clear)  # fmt: skip
        assert row["rank_low"] == 1 + lost


def numbers_in(line):
    return [float(x) for x in re.findall(r"-?\d+\.\d+", line)]


@PAST
@pytest.mark.parametrize("form", ["--markdown", "--html", "terminal"])
def test_every_form_prints_the_numbers_of_the_json(files, with_past, form, tmp_path):
    arguments = given(files, with_past)
    page = parsed(report, *arguments)
    if form == "--html":
        run(report, *arguments, "--html", tmp_path / "page.html")
        text = re.sub(r"<[^>]+>", " ", (tmp_path / "page.html").read_text())
        found = set(numbers_in(text))
        for rows in (page["models"], page["groups"]):
            for row in rows:
                for end in ENDS:
                    assert any(round(row[end], k) in found for k in (2, 3, 4)), (row, end)
        return
    text = run(report, *arguments, *([form] if form == "--markdown" else []))
    for row in page["models"]:
        lines = [line for line in text.splitlines() if re.search(rf"\b{row['model']}\b", line)]
        wanted = [row[end] for end in ENDS]
        assert any(_holds(numbers_in(line), wanted) for line in lines), (row, lines)


def _holds(found, wanted):
    """Whether these numbers stand side by side, rounded to as many digits as one sees."""
    for k in (1, 2, 3, 4):
        rounded = [round(x, k) for x in wanted]
        for start in range(len(found) - 2):
            if np.allclose(found[start : start + 3], rounded, atol=1e-9):
                return True
    return False
