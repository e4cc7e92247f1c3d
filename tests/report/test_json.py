"""What `--json` prints: one shape for all commands."""

import json
from importlib import import_module

import commands
import numpy as np
import pytest
from commands import crossed

import skbench
from skbench.report.leaderboard import leaderboard

LISTS = set("models groups pairs topics items judges plans thresholds gaps extremes".split())
KEYS = ["value", "low", "high", "standard_error"]
CASES = [
    (["estimate", "r.csv"], {"groups": ["model", "topic", "n", *KEYS]}),
    (["leaderboard", "r.csv"], {"models": ["model", "rank_low", "rank_high", "ties", *KEYS]}),
    (["leaderboard", "r.csv", "--topics", "topic"], {"models": ["model", "ties", *KEYS]}),
    (["compare", "r.csv"], {"pairs": ["model_a", "model_b", "verdict", *KEYS]}),
    (["compare", "r.csv", "--by", "topic,half"], {"pairs": ["model_a", "topic", *KEYS]}),
    (["report", "r.csv"], {"groups": ["model", "topic", "n", *KEYS],
     "models": ["model", "ties", *KEYS], "pairs": ["model_a", "model_b", "verdict", *KEYS]}),
    (commands.JUDGE, {"groups": ["group", *KEYS]}),
    ([*commands.JUDGE, "--by", "topic"], {"groups": ["group", *KEYS]}),
    ([*commands.JUDGE[:3], "autorater,other", *commands.JUDGE[4:], "--card"], {"judges": ["judge", "kappa"]}),
    (["gate", "old.csv", "r.csv", "--candidate", "model-1", "--margin", "0.1", "--by", "topic"],
     {"models": ["model", "value"], "pairs": ["model_a", "model_b", *KEYS],
      "topics": ["topic", *KEYS[:3]]}),
    (["passk", "runs.csv", "-k", "2", "--compare", "ada,bob", "--flaky"],
     {"groups": ["model", *KEYS], "pairs": ["model_a", "model_b", *KEYS],
      "items": ["model", "item", "verdict"]}),
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
    folder = tmp_path_factory.mktemp("json")
    commands.write_files(folder)
    return folder


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
    name, *options = arguments
    command = getattr(import_module(f"skbench.report.{name}"), name)
    result = commands.run(command, *options, "--json")
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


def test_letters_of_many_ties_can_be_read_back(written):
    """Beyond z letters are pairs: as one string nobody could take them apart."""
    rng = np.random.default_rng(0)
    table = crossed(lambda m, i: rng.random() < 0.05 + 0.01 * m, model=range(90), item=range(250))
    models = commands.parsed(leaderboard, written(table.astype({"score": int})))["models"]
    assert any(len(letter) > 1 for row in models for letter in row["ties"])
    for a in models[::9]:
        for b in models[::9]:
            apart = a["rank_low"] > b["rank_high"] or b["rank_low"] > a["rank_high"]
            assert not (apart and set(a["ties"]) & set(b["ties"]))
