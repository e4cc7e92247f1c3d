"""Helpers that run commands, and commands on small files for tests of all commands."""

import itertools
import json

import numpy as np
import pandas as pd
from click.testing import CliRunner

from skbench.datasets import make_items, make_judged_items


def run(command, *arguments):
    """Run a command and return its result."""
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def parsed(command, *arguments):
    """Run a command with --json and return the document."""
    result = run(command, *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def crossed(score, **levels):
    """Return a table of all combinations of levels with their scores."""
    cells = list(itertools.product(*levels.values()))
    scores = [score(*cell) for cell in cells]
    return pd.DataFrame(cells, columns=list(levels)).assign(score=scores)


JUDGE = ["judge", "j.csv", "--judge", "autorater", "--human", "human"]
COMMANDS = [
    ["estimate", "r.csv"],
    ["estimate", "r.csv", "--method", "direct", "--by", "model"],
    ["estimate", "r.csv", "--past", "past.csv"],
    ["estimate", "counts.csv"],
    ["leaderboard", "r.csv"],
    ["leaderboard", "r.csv", "--topics", "topic"],
    ["leaderboard", "means.csv", "--half-width", "ci"],
    ["compare", "r.csv"],
    ["compare", "r.csv", "model-0", "model-1"],
    ["compare", "r.csv", "--by", "topic,half"],
    ["compare", "old.csv", "same.csv"],
    ["report", "r.csv"],
    ["report", "percent.csv", "--fail-under", "10"],
    ["report", "r.csv", "--past", "past.csv"],
    ["report", "r.csv", "--cost", "half"],
    ["arena", "v.csv"],
    ["arena", "v.csv", "--ties", "davidson", "--scale", "logit", "--position"],
    ["arena", "v.csv", "--judge", "winner"],
    ["metrics", "j.csv", "--truth", "other", "--prediction", "autorater", "--by", "topic"],
    ["metrics", "j.csv", "--truth", "other", "--prediction", "autorater", "--by", "topic",
     "--metric", "f1", "--metric", "tpr"],
    ["items", "r.csv"],
    ["report", "one.csv"],
    ["report", "means.csv", "--score", "mean", "--item", "dataset"],
    ["leaderboard", "one.csv"],
    ["estimate", "one.csv", "--by", "model", "--method", "direct"],
    ["doctor", "r.csv"],
    ["doctor", "counts.csv"],
    ["doctor", "j.csv", "--score", "other"],
    ["trend", "r.csv", "--order", "model-0,model-1,model-2"],
    ["trend", "dated.csv", "--order", "day", "--by", "topic"],
    JUDGE,
    [*JUDGE, "--by", "topic"],
    ["judge", "j.csv", "--judge", "autorater,other", "--human", "human", "--card"],
    [*JUDGE, "--previous", "other"],
    ["judge", "j.csv", "--judge", "autorater", "--repeats", "other"],
    ["gate", "old.csv", "r.csv", "--candidate", "model-1", "--margin", "10%", "--by", "topic"],
    ["gate", "old.csv", "same.csv", "--margin", "0.05"],
    ["gate", "old.csv", "same.csv", "--margin", "0.05", "--by", "topic", "--worst", "30%"],
    ["gate", "runs_a.csv", "runs_b.csv", "--margin", "0.05", "--relative"],
    ["passk", "runs.csv", "-k", "2", "--compare", "ada,bob", "--flaky"],
    ["passk", "runs.csv", "-k", "2", "--all"],
    ["sequential", "r.csv", "model-0", "model-1"],
    ["sequential", "r.csv", "model-0", "--target", "50%"],
    ["plan", "--effect", "3%", "--accuracy", "70%"],
    ["plan", "--items", "500", "--accuracy", "0.7", "--correlation", "0.5"],
    ["plan", "r.csv", "model-0", "model-1", "--effect", "0.1"],
    ["plan", "--past", "past.csv", "--half-width", "0.1"],
]  # fmt: skip


def write_files(folder):
    """Write results with missing answers, judged answers, repeated runs and other files."""
    items = make_items(n_models=3, n_topics=4, n_items=12, random_state=0).items
    items = items[["model", "topic", "item", "score"]].assign(half=items["item"].factorize()[0] % 2)
    past = make_items(n_models=6, n_topics=4, n_items=12, random_state=1).items
    one = items[items["model"] == "model-0"]
    rng = np.random.default_rng(0)
    levels = {"model": ["ada", "bob"], "item": range(20), "epoch": range(4)}
    runs = crossed(lambda *cell: rng.integers(2), **levels)
    judged = make_judged_items(12, 30, 8, random_state=0).items.rename(columns={"group": "topic"})
    judged["other"] = np.where(judged.index % 5 == 0, 1 - judged["autorater"], judged["autorater"])
    counts = items.groupby(["model", "topic"])["score"].agg(n="size", k="sum").reset_index()
    pairs = rng.choice(["x", "y", "z"], (200, 2))
    votes = pd.DataFrame(pairs[pairs[:, 0] != pairs[:, 1]], columns=["model_a", "model_b"])
    means = crossed(lambda *cell: rng.random(), model="xyz", dataset=["d1", "d2", "d3"])
    tables = {
        "r": items.iloc[1:],
        "percent": items.assign(score=100 * items["score"] * rng.random(len(items))),
        "past": past[["model", "topic", "item", "score"]].replace({"model": r"-"}, "_", regex=True),
        "old": one,
        "same": one.assign(model="same"),
        "runs": runs,
        "runs_a": runs[runs["model"] == "ada"],
        "runs_b": runs[runs["model"] == "bob"],
        "j": judged,
        "v": votes.assign(winner=rng.choice(["model_a", "model_b", "tie"], len(votes))),
        "counts": counts,
        "one": one.drop(columns=["topic", "half"]),
        "dated": items.assign(
            day=items["model"].map(
                {"model-0": "2024-05-01", "model-1": "2024-11-01", "model-2": "2026-01-31"}
            )
        ),
        "means": means.rename(columns={"score": "mean"}).assign(ci=0.02),
    }
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
