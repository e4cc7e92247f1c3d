"""Error rates of commands: wrong passes, false rank sets, missed scores, inconsistent values.

    python benchmarks/printed.py [--small]

Every row is a simulated setting: the proportion of data sets with wrong output, and the allowed
proportion. ``benchmarks/promises.py`` calls this script; the table is ``doc/printed.inc``.
"""

import argparse
import json
import tempfile
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from click.testing import CliRunner
from scipy.special import expit

from skbench import (
    ItemBank,
    MixedModel,
    PPIMean,
    StratifiedPPI,
    gate,
    leaderboard,
    summarize_items,
)
from skbench.report.compare import compare
from skbench.report.leaderboard import leaderboard as leaderboard_command
from skbench.report.report import report

OUT = Path(__file__).parents[1] / "doc" / "printed.inc"
WRONG_PASS, WRONG_FAMILY, MISSED = 0.05, 0.08, 0.07


def items_of(**scores):
    """Return item rows from one list of scores per model."""
    parts = [
        pd.DataFrame({"model": name, "item": range(len(x)), "score": np.asarray(x, dtype=float)})
        for name, x in scores.items()
    ]
    return pd.concat(parts, ignore_index=True)


def rare_losses(rng, n, share=0.03, most=0.9):
    """Return scores similar to F1; a few scores of the new model fall by 0.5 to 0.9."""
    old = rng.uniform(most, 1.0, n)
    new = np.clip(old + rng.normal(0, 0.01, n), 0, 1)
    lost = rng.random(n) < share
    new[lost] -= rng.uniform(0.5, 0.9, lost.sum())
    return old, np.clip(new, 0, 1)


def passes_rare_loss(rng, n):
    old, new = rare_losses(rng, n)
    return gate(items_of(old=old, new=new), "old", "new", 0.03 * 0.7).verdict == "pass"


def passes_rare_loss_in_runs(rng, n_items=40, n_runs=4):
    p = rng.choice([0.95, 1.0], n_items)
    q = np.where(rng.random(n_items) < 0.03, 0.0, p)
    item = np.repeat(range(n_items), n_runs)
    runs = [
        pd.DataFrame({"model": name, "item": item, "score": rng.binomial(1, chance[item])})
        for name, chance in (("old", p), ("new", q))
    ]
    found = gate(pd.concat(runs), "old", "new", 0.03 * 0.975, cluster="item")
    return found.verdict == "pass"


def passes_right_or_wrong(rng, n=200, margin=0.05):
    u = rng.random(n)
    old, new = u < 0.8, np.where(u < 0.04, False, u < 0.8)
    new = np.where((u > 0.9) & (rng.random(n) < 0.1), True, new)
    lost = 0.04 - 0.01
    return gate(items_of(old=old, new=new), "old", "new", lost).verdict == "pass"


def passes_rare_loss_with_bank(rng, n_asked, n_all=400):
    """Return whether the gate passes strong graded models; the bank contains the baseline."""
    easy = rng.uniform(0.9, 1.0, n_all)
    past = {f"old {k}": np.clip(easy + rng.normal(0, 0.02, n_all), 0, 1) for k in range(8)}
    new = np.clip(easy + rng.normal(0, 0.02, n_all), 0, 1)
    lost = rng.permutation(n_all)[: int(0.03 * n_all)]
    new[lost] = np.maximum(new[lost] - rng.uniform(0.5, 0.9, len(lost)), 0)
    bank = ItemBank().fit(items_of(**past))
    rows = items_of(base=past["old 0"], new=new).replace({"model": {"base": "old 0"}})
    asked = rows[rows["item"].isin(rng.choice(n_all, n_asked, replace=False))]
    margin = past["old 0"].mean() - new.mean()
    return gate(asked, "old 0", "new", margin, bank=bank).verdict == "pass"


def bank_of_answers(rng, level, n_new, n_all=300, n_past=8):
    """Return a bank, the new models' answers to all items, and randomly chosen items."""
    eta = level + rng.normal(0, 1.5, n_all)
    right = rng.random((n_past + n_new, n_all)) < expit(
        eta + rng.normal(0, 0.3, (n_past + n_new, 1))
    )
    past = items_of(**{f"old {k}": x for k, x in enumerate(right[:n_past])})
    new = items_of(**{f"new {k}": x for k, x in enumerate(right[n_past:])})
    return ItemBank().fit(past), new, rng.choice(n_all, 60, replace=False)


def misses_scores_with_bank(rng, level):
    bank, new, asked = bank_of_answers(rng, level, 2)
    e = leaderboard(new[new["item"].isin(asked)], bank=bank).estimate
    truth = new.groupby("model")["score"].mean().loc[list(e.labels)].to_numpy()
    return np.mean((truth < e.low) | (truth > e.high))


def false_ranks_with_bank(rng, level, n_models=8):
    """Return whether any rank set is false; all models have the same probabilities."""
    n_all = 300
    chance = expit(level + rng.normal(0, 1.5, n_all))
    right = rng.random((8 + n_models, n_all)) < chance
    bank = ItemBank().fit(items_of(**{f"old {k}": x for k, x in enumerate(right[:8])}))
    new = items_of(**{f"new {k}": x for k, x in enumerate(right[8:])})
    board = leaderboard(new[new["item"].isin(rng.choice(n_all, 60, replace=False))], bank=bank)
    truth = new.groupby("model")["score"].mean().loc[list(board.estimate.labels)].to_numpy()
    better = board.rank_sets.better
    return bool(np.any(better & (truth[:, None] <= truth)))


def false_ranks(rng, sizes, n_models=10, p=0.6):
    """Return whether any rank set is false, with equal models and equally weighted topics."""
    topic = np.repeat(np.arange(len(sizes)), sizes)
    chance = np.clip(p + rng.normal(0, 0.2, topic.size), 0.05, 0.95)
    right = {f"m{k}": rng.random(topic.size) < chance for k in range(n_models)}
    rows = items_of(**right)
    rows["topic"] = np.tile(topic, n_models)
    return bool(np.any(leaderboard(rows, topics="topic").rank_sets.better))


def misses_groups_in_clusters(rng, n_topics=20, n_clusters=3, size=10, n_models=4):
    """Return the noncoverage of MixedModel if topics have few clusters shared by the models."""
    hard = rng.normal(0, 1.0, (n_topics, n_clusters, 1, 1))
    own = rng.normal(0.5, 0.5, n_models) + rng.normal(0, 0.4, (n_topics, n_models))
    eta = own[:, None, None, :] + np.broadcast_to(hard, (n_topics, n_clusters, size, 1))
    right = rng.random(eta.shape) < expit(eta)
    names = ["topic", "cluster", "item", "model"]
    index = pd.MultiIndex.from_product([range(k) for k in eta.shape], names=names)
    rows = pd.DataFrame({"score": right.ravel() * 1.0}, index).reset_index()
    rows["cluster"] += 100 * rows["topic"]
    rows["item"] += 1000 * rows["cluster"]
    nodes, weights = np.polynomial.hermite_e.hermegauss(21)
    truth = np.tensordot(weights / weights.sum(), expit(own + nodes[:, None, None]), axes=1)
    summary = summarize_items(rows, ["model", "topic"], cluster="cluster")
    e = MixedModel(random_state=0).fit(**summary.fit_args).estimate()
    at = np.array([truth[topic, model] for model, topic in e.labels])
    return np.mean((at < e.low) | (at > e.high))


def misses_stars(rng, estimator, n_labels, share=0.05, n_rows=1000):
    """Return whether the interval misses the mean label if the judge overlooks failures."""
    judge = rng.choice([4.0, 5.0], n_rows)
    labels = np.clip(judge + rng.choice([-1, 0, 0, 0, 1], n_rows), 1, 5)
    labels[rng.random(n_rows) < share] = 1.0
    truth = (1 - share) * (0.5 * 4 + 0.5 * 4.8) + share
    e = estimator.fit(judge, np.where(np.arange(n_rows) < n_labels, labels, np.nan)).estimate()
    return not e.low[0] <= truth <= e.high[0]


def numbers_apart(rng, with_past):
    """Return whether report, leaderboard and compare print different values for one score."""
    bank, new, asked = bank_of_answers(rng, 0.5, 3)
    with tempfile.TemporaryDirectory() as folder:
        file, past = Path(folder, "new.csv"), Path(folder, "bank.parquet")
        new[new["item"].isin(asked)].to_csv(file, index=False)
        bank.save(past)
        earlier = ["--bank", str(past)] if with_past else []
        pages = [
            json.loads(CliRunner().invoke(command, [str(file), *earlier, "--json"]).stdout)
            for command in (report, leaderboard_command, compare)
        ]
    found = {}
    for page in pages:
        for row in [*page.get("models", []), *page.get("pairs", [])]:
            name = row.get("model") or (row["model_a"], row["model_b"])
            found.setdefault(name, []).append([row[end] for end in ("value", "low", "high")])
    return any(np.ptp(np.array(rows), axis=0).max() > 1e-9 for rows in found.values())


CORNERS = [
    *((f"gate, graded, rare losses, {n} items", WRONG_PASS, partial(passes_rare_loss, n=n), 400)
      for n in (60, 200)),
    ("gate, 40 items x 4 runs, rare failures", WRONG_PASS, passes_rare_loss_in_runs, 300),
    ("gate, correct/incorrect answers, 200 items", WRONG_PASS, passes_right_or_wrong, 400),
    *((f"gate with an item bank, graded, {n} of 400 items", WRONG_PASS,
       partial(passes_rare_loss_with_bank, n_asked=n), 200) for n in (25, 60)),
    *((f"rank sets with an item bank, equal models, mean log odds {level:+g}", WRONG_FAMILY,
       partial(false_ranks_with_bank, level=level), 100) for level in (-4, 0, 4)),
    *((f"rank sets, topics of {' and '.join(map(str, sizes))} items", WRONG_FAMILY,
       partial(false_ranks, sizes=sizes), 200) for sizes in ((3, 300), (4, 30, 2000))),
    ("rank sets, ten topics of 3 items", WRONG_FAMILY, partial(false_ranks, sizes=(3,) * 10), 200),
    *((f"scores with an item bank, mean log odds {level:+g}", MISSED,
       partial(misses_scores_with_bank, level=level), 100) for level in (-4, 0, 4)),
    ("MixedModel, 3 shared clusters x 10 items", 0.08, misses_groups_in_clusters, 30),
    *((f"{type(estimator).__name__}, labels from 1 to 5, {n} labeled", MISSED,
       partial(misses_stars, estimator=estimator, n_labels=n), 300)
      for estimator in (PPIMean(), StratifiedPPI()) for n in (20, 60)),
    ("two values for one score, without earlier models", 0.0,
     partial(numbers_apart, with_past=False), 5),
    ("two values for one score, with earlier models", 0.0,
     partial(numbers_apart, with_past=True), 5),
]  # fmt: skip


def printed(small=False, seed=0):
    """Return the error rate and the allowed error rate of each setting."""
    rows = []
    for number, (name, allowed, wrong, n_sets) in enumerate(CORNERS):
        n_sets = max(n_sets // 10, 4) if small else n_sets
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [float(wrong(np.random.default_rng([seed, number, k]))) for k in range(n_sets)]
        rows.append({"corner": name, "wrong": np.mean(found), "allowed": allowed, "sets": n_sets,
                     "error": np.std(found) / np.sqrt(n_sets)})  # fmt: skip
    return pd.DataFrame(rows)


def as_rst(found):
    """Return the table for the documentation."""
    lines = [
        ".. list-table:: Wrong output of commands in simulations (``benchmarks/printed.py``)",
        "   :header-rows: 1",
        "   :widths: 60 14 14 12",
        "",
        "   * - setting",
        "     - error rate",
        "     - allowed",
        "     - sets",
    ]
    for row in found.itertuples():
        lines += [f"   * - {row.corner}", f"     - {row.wrong:.3f}", f"     - {row.allowed:.2f}",
                  f"     - {row.sets}"]  # fmt: skip
    return "\n".join(lines) + "\n"


def run(small=False):
    """Print the table; also write it to the documentation unless small=True."""
    found = printed(small)
    print(found.round(3).to_string(index=False))
    if not small:
        OUT.write_text(as_rst(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="a tenth of the sets")
    run(parser.parse_args().small)


if __name__ == "__main__":
    main()
