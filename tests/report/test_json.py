"""What `--json` prints: one shape for all commands."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import skbench
from skbench.datasets import make_items, make_judged_items
from skbench.report import (
    arena,
    compare,
    doctor,
    estimate,
    gate,
    judge,
    leaderboard,
    metrics,
    passk,
    plan,
    report,
    sequential,
)

MODULES = (
    arena,
    compare,
    doctor,
    estimate,
    gate,
    judge,
    leaderboard,
    metrics,
    passk,
    plan,
    report,
    sequential,
)
COMMANDS = {module.__name__.rpartition(".")[2]: module for module in MODULES}
LISTS = {
    "models",
    "groups",
    "pairs",
    "topics",
    "items",
    "judges",
    "plans",
    "thresholds",
    "gaps",
    "extremes",
}
KEYS = ["value", "low", "high", "standard_error"]
LABELED = ["judge", "j.csv", "--judge", "autorater", "--human", "human"]
CASES = [
    (["estimate", "r.csv"], {"groups": ["model", "topic", "n", *KEYS]}),
    (["leaderboard", "r.csv"], {"models": ["model", "rank_low", "rank_high", "ties", *KEYS]}),
    (["leaderboard", "r.csv", "--topics", "topic"], {"models": ["model", "ties", *KEYS]}),
    (["compare", "r.csv"], {"pairs": ["model_a", "model_b", "verdict", *KEYS]}),
    (["compare", "r.csv", "--by", "topic,half"], {"pairs": ["model_a", "topic", *KEYS]}),
    (
        ["report", "r.csv"],
        {
            "groups": ["model", "topic", "n", *KEYS],
            "models": ["model", "ties", *KEYS],
            "pairs": ["model_a", "model_b", "verdict", *KEYS],
        },
    ),
    (LABELED, {"groups": ["group", *KEYS]}),
    ([*LABELED, "--by", "topic"], {"groups": ["group", *KEYS]}),
    ([*LABELED[:3], "autorater,other", *LABELED[4:], "--card"], {"judges": ["judge", "kappa"]}),
    (
        ["gate", "old.csv", "r.csv", "--candidate", "model-1", "--margin", "0.1", "--by", "topic"],
        {"models": ["model", "value"], "pairs": ["model_a", "model_b", *KEYS],
         "topics": ["topic", *KEYS[:3]]},
    ),
    (
        ["passk", "runs.csv", "-k", "2", "--compare", "ada,bob", "--flaky"],
        {"groups": ["model", *KEYS], "pairs": ["model_a", "model_b", *KEYS],
         "items": ["model", "item", "verdict"]},
    ),
    (["metrics", "j.csv", "--truth", "other", "--prediction", "autorater", "--by", "topic"],
     {"groups": ["metric", "group", "n", *KEYS], "extremes": ["metric", "extreme", *KEYS]}),
    (["sequential", "r.csv", "model-0", "model-1"], {"pairs": ["model_a", "model_b", *KEYS[:3]]}),
    (["sequential", "r.csv", "model-0", "--target", "0.5"], {"models": ["model", *KEYS[:3]]}),
    (["arena", "v.csv"], {"models": ["model", "rank_low", "rank_high", "ties", "n", *KEYS]}),
    (["plan", "--effect", "0.03", "--accuracy", "0.7"], {"plans": ["required_items"]}),
    (["plan", "--past", "r.csv", "--half-width", "0.1"], {"plans": ["interval_of"]}),
    (["doctor", "r.csv"], {"gaps": ["model", "answered"]}),
    (["doctor", "j.csv", "--score", "other"], {}),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Results with a gap and an item that was never right, judged answers, repeated runs."""
    path = tmp_path_factory.mktemp("json")
    items = make_items(n_models=3, n_topics=4, n_items=12, random_state=0).items
    items = items[["model", "topic", "item", "score"]].assign(half=items["item"].factorize()[0] % 2)
    items.iloc[1:].to_csv(path / "r.csv", index=False)
    items[items["model"] == "model-0"].to_csv(path / "old.csv", index=False)
    judged = make_judged_items(12, 30, 8, random_state=0).items.rename(columns={"group": "topic"})
    judged["other"] = np.where(judged.index % 5 == 0, 1 - judged["autorater"], judged["autorater"])
    judged.to_csv(path / "j.csv", index=False)
    rng = np.random.default_rng(0)
    cells = pd.MultiIndex.from_product([["ada", "bob"], range(20), range(4)])
    runs = cells.set_names(["model", "item", "epoch"]).to_frame(index=False)
    runs.assign(score=rng.integers(2, size=160)).to_csv(path / "runs.csv", index=False)
    pairs = rng.permuted(np.tile(["ada", "bob"], (60, 1)), axis=1)
    votes = pd.DataFrame(pairs, columns=["model_a", "model_b"])
    votes.assign(winner=rng.integers(2, size=60)).to_csv(path / "v.csv", index=False)
    return path


def walk(value):
    """All objects within a document, with the key that leads there."""
    for key, inner in value.items():
        yield key, inner
        for part in inner if isinstance(inner, list) else [inner]:
            if isinstance(part, dict):
                yield from walk(part)


def refused(constant):
    raise AssertionError(f"{constant} is no JSON")


@pytest.mark.parametrize(("arguments", "lists"), CASES, ids=lambda x: " ".join(x))
def test_every_command_prints_one_shape(folder, arguments, lists, monkeypatch):
    monkeypatch.chdir(folder)
    command = getattr(COMMANDS[arguments[0]], arguments[0])
    result = CliRunner().invoke(command, [*arguments[1:], "--json"])
    assert result.exit_code in (0, 3, 4), result.stderr
    document = json.loads(result.stdout, parse_constant=refused)
    assert list(document)[:3] == ["skbench", "command", "confidence_level"]
    assert (document["skbench"], document["command"]) == (skbench.__version__, arguments[0])
    level = document["confidence_level"]
    assert level is None if arguments[0] == "doctor" else 0.95 <= level < 1
    for name, keys in lists.items():
        assert document[name] and all(set(keys) <= set(row) for row in document[name])
    names = {"model-0", "model-1", "model-2", "ada", "bob", "autorater", "other", "topic-0"}
    for key, value in walk(document):
        assert key not in names  # what is named is a value
        if key in LISTS:
            assert isinstance(value, list) and all(isinstance(row, dict) for row in value)
        if key == "ties":
            assert value and all(isinstance(letter, str) for letter in value)
        if key in KEYS:
            assert value is None or type(value) in (int, float)


def test_letters_of_many_ties_can_be_read_back(tmp_path):
    """Beyond z letters are pairs: as one string nobody could take them apart."""
    rng = np.random.default_rng(0)
    rows = pd.MultiIndex.from_product([range(90), range(250)], names=["model", "item"])
    rows = rows.to_frame(index=False)
    rows["score"] = (rng.random(len(rows)) < 0.05 + 0.01 * rows["model"]) * 1
    rows.to_csv(tmp_path / "many.csv", index=False)
    result = CliRunner().invoke(leaderboard.leaderboard, [str(tmp_path / "many.csv"), "--json"])
    models = json.loads(result.stdout)["models"]
    assert any(len(letter) > 1 for row in models for letter in row["ties"])
    for a in models[::9]:
        for b in models[::9]:
            apart = a["rank_low"] > b["rank_high"] or b["rank_low"] > a["rank_high"]
            assert not (apart and set(a["ties"]) & set(b["ties"]))
