"""Small random tables of the shapes that public functions take; names and numbers follow a seed."""

from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from hypothesis import strategies as st

# Columns whose values are one kind of name: a renaming maps them together.
NAMES = {
    "model": ("model", "model_a", "model_b", "winner", "verdict"),
    "topic": ("topic", "task", "category", "group", "dataset", "language"),
    "item": ("item", "cluster"),
}
# Columns in units of the score, and in squared units.
SCORES = (
    "score",
    "y",
    "human",
    "judge",
    "judge2",
    "run0",
    "run1",
    "run2",
    "run3",
    "score_a",
    "score_b",
)
SQUARES = ("sigma2",)


class Size(NamedTuple):
    """What a table follows from."""

    seed: int = 0
    n_models: int = 3
    n_topics: int = 6
    n_items: int = 4


sizes = st.builds(
    Size, st.integers(0, 9999), st.integers(3, 4), st.integers(5, 7), st.integers(3, 5)
)


def crossed(size, *levels):
    """One row per combination of names, and a generator of the seed."""
    counts = {"model": size.n_models, "topic": size.n_topics, "item": size.n_items, "run": 3}
    rows = pd.MultiIndex.from_product([range(counts[name]) for name in levels], names=levels)
    t = rows.to_frame(index=False)
    if "item" in levels:
        t["cluster"] = [
            f"c{topic}-{item // 2}" for topic, item in zip(t["topic"], t["item"], strict=True)
        ]
        t["item"] = [f"i{topic}-{item}" for topic, item in zip(t["topic"], t["item"], strict=True)]
    for name in {"model", "topic"}.intersection(levels):
        t[name] = [f"{name}{code}" for code in t[name]]
    return t, np.random.default_rng(size.seed)


@cache
def answers(kind="binary"):
    """Rows of (model, topic, item): shared items, and a feature of the topic."""

    def table(size):
        t, rng = crossed(size, "model", "topic", "item")
        at = {name: rng.normal(size=len(t))[pd.factorize(t[name])[0]] for name in t}
        score = at["model"] / 2 + at["topic"] + at["item"] / 2 + rng.normal(size=len(t))
        t["x"] = np.round(at["topic"] + rng.normal(size=len(t))[pd.factorize(t["topic"])[0]], 3)
        scores = {"binary": (score > 0).astype(int), "bounded": 1 / (1 + np.exp(-score))}
        return t.assign(score=scores.get(kind, score))

    return table


def answers_with_costs(size):
    """The same, with a cost of each answer."""
    t = answers()(size)
    return t.assign(cost=np.exp(t["x"]) * (1 + t["score"]))


def bank(size):
    """Answers of five models of a bank, and of one more to two items of each topic."""
    t = answers()(size._replace(n_models=6))
    t["new"] = t["model"] == "model5"
    return t[~t["new"] | t["item"].str.endswith(("-0", "-1"))].reset_index(drop=True)


def paired(size):
    """Rows of items with the scores of two models."""
    rng = np.random.default_rng(size.seed)
    n = 5 * size.n_topics
    t = pd.DataFrame({"item": [f"i{i}" for i in range(n)], "score_a": rng.random(n)})
    return t.assign(score_b=np.sqrt(rng.random(n)))


def one_model(size):
    """The questions of a model of whom the texts are read."""
    t = answers()(size)
    t["text"] = [f"{topic} of {item}" for topic, item in zip(t["topic"], t["item"], strict=True)]
    return t[t["model"] == "model0"].drop(columns="model").reset_index(drop=True)


@cache
def groups(kind="binary"):
    """Rows of (model, topic) with a mean, its variance and the number of answers."""

    def table(size):
        t = answers(kind)(size)
        g = t.groupby(["model", "topic"], sort=False)
        t = g.agg(x=("x", "first"), y=("score", "mean"), s2=("score", "var"), n=("score", "size"))
        t = t.reset_index()
        smoothed = (t["y"] * t["n"] + 1) / (t["n"] + 2)
        binary = smoothed * (1 - smoothed) / t["n"]
        t["sigma2"] = binary if kind == "binary" else t["s2"] / t["n"]
        return t.drop(columns="s2")

    return table


def runs(size):
    """Rows of (model, topic, item, run)."""
    t, rng = crossed(size, "model", "topic", "item", "run")
    return t.assign(score=rng.integers(0, 2, len(t)))


def tasks(size):
    """Rows of (model, task) in three categories: a score, its count, a table of errors, four runs."""
    t, rng = crossed(size, "model", "topic")
    t = t.rename(columns={"topic": "task"})
    code = t["task"].str[5:].astype(int)
    t["category"] = [f"category{c % 3}" for c in code]
    t["dataset"], t["language"] = t["task"], t["category"]
    t["n"] = rng.integers(5, 20, len(t))
    t["tp"] = rng.binomial(t["n"], 0.3 + 0.4 * rng.random(len(t)))
    t["y"] = t["tp"] / t["n"]
    t["fn"], t["fp"], t["tn"] = t["n"] - t["tp"], rng.integers(1, 9, len(t)), t["n"]
    level = rng.normal(size=len(t))
    return t.assign(**{f"run{i}": level + rng.normal(size=len(t)) for i in range(4)})


def votes(size):
    """Rows of one vote on two models."""
    rng = np.random.default_rng(size.seed)
    n = 40 * size.n_models
    a = rng.integers(size.n_models, size=n)
    b = (a + rng.integers(1, size.n_models, size=n)) % size.n_models
    first, second = (np.char.add("model", code.astype(str)) for code in (a, b))
    wins = rng.random(n) < 0.5 + 0.1 * (a - b) / size.n_models
    t = pd.DataFrame({"model_a": first, "model_b": second, "winner": np.where(wins, first, second)})
    t["item"] = [f"i{i // 2}" for i in range(n)]
    t["shown"] = np.where(np.arange(n) % 2, "model_a", "model_b")
    t["side"] = rng.choice(["model_a", "model_b", "tie"], n)
    return t


@cache
def judged(kind="binary"):
    """Rows of items that a judge scored, a third of them labeled."""

    def table(size):
        rng = np.random.default_rng(size.seed)
        n = 40 * size.n_topics
        t = pd.DataFrame({"group": [f"group{i}" for i in np.arange(n) % size.n_topics]})
        t["item"], t["cluster"] = [f"i{i}" for i in range(n)], [f"c{i // 2}" for i in range(n)]
        truth = rng.normal(size=n)
        judge, other = truth + 0.5 * rng.normal(size=n), truth + rng.normal(size=n)
        if kind == "binary":
            truth, judge, other = (np.asarray(x > 0, dtype=float) for x in (truth, judge, other))
        t["judge"], t["judge2"] = judge, other
        t["human"] = np.where(rng.permutation(n) < n // 3, truth, np.nan)
        return t

    return table
