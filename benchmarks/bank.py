"""Accuracy of a new model on few items with a bank of earlier models, on real benchmarks.

    python benchmarks/bank.py topics     # per topic: one new model, 5, 10 and 20 items per topic
    python benchmarks/bank.py topics --items 10 --draws 12
    python benchmarks/bank.py bounds     # per topic: lowest coverage of exactly correct intervals
    python benchmarks/bank.py whole      # whole benchmarks from 50 items, seven matrices
    python benchmarks/bank.py choose     # items chosen by predicted difficulty
    python benchmarks/bank.py whole --quick

Errors are mean squared errors relative to the mean of the sampled items, on the same draws. The
true value is the mean over all items. The unit-level model is compared with:

- ridge-AIPW (Zhang and Hardt 2025): cross-fitted ridge on earlier answers plus mean residual
- p-IRT after tinyBenchmarks (Polo et al. 2024): observed answers plus probabilities at the Rasch
  ability of the new model
- anchor points: the 50 items nearest to cluster centers, weighted by cluster size
- the area-level default, `MixedModel`, which uses topics only

The bank contains eight or more models of other families (by the first part of the name), three
of these, one of these, or the eight weakest models. On the matrices it contains a random half
(inter), or the weaker half with targets among the strongest 30% (extra). The data folder is
$SKBENCH_DATA or ../shared/data.
"""

import argparse
import os
import re
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.cluster import KMeans
from sklearn.linear_model import RidgeCV

from skbench import ItemBank, MixedModel, UnitLevelModel, choose_items, summarize_items
from skbench.stats.intervals.binomial import wilson_interval

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("SKBENCH_DATA", ROOT.parent / "shared" / "data"))
MATRICES = ("arc_challenge", "gsm", "ifeval", "legalbench", "mmlu", "mrpc", "sst2")
N_ASKED = 50


def long_form(scores, items, topics, names):
    """Return item rows from a matrix of items x models."""
    rows = pd.DataFrame(
        {
            "model": np.repeat(np.asarray(names, dtype=object), len(items)),
            "topic": np.tile(topics, len(names)),
            "item": np.tile(items, len(names)),
            "score": scores.T.ravel(),
        }
    )
    return rows.dropna()


def family(name):
    """Return the first part of a model's name; Meta-Llama and Llama are one family."""
    return re.split(r"[-.\d_]", name.removeprefix("Meta-").lower())[0]


def families():
    """Return the family of every MMLU-Pro model; Mixtral, Mistral and mathstral are one."""
    makers = {"mixtral": "mistral", "mathstral": "mistral", "gemma": "google", "gemini": "google"}
    return lambda name: makers.get(family(name), family(name))


def mmlu_pro(by, least):
    """Return answers of 29 models to the questions of sufficiently large topics."""
    table = pd.read_csv(DATA / "mmlu_pro_dev_29_models.csv.gz")
    table = table[table.groupby(by)["question_id"].transform("size") >= least]
    names = [c for c in table.columns if c not in ("question_id", "category", "src")]
    scores = table[names].to_numpy(dtype=float)
    return scores, table["question_id"].to_numpy(), table[by].to_numpy(), np.array(names)


def ridge_aipw(y, past, asked, rng):
    """Estimate by cross-fitted ridge predictions from earlier answers plus mean residual."""
    fold = rng.permutation(len(y)) % 5
    predicted, residual = np.zeros(len(past)), np.zeros(len(y))
    for k in range(5):
        here = fold == k
        ridge = RidgeCV(np.logspace(0, 3, 7)).fit(past[asked[~here]], y[~here])
        f = ridge.predict(past)
        predicted += f / 5
        residual[here] = y[here] - f[asked[here]]
    return predicted.mean() + residual.mean()


def rasch_p_irt(y, easiness, asked):
    """Predict all probabilities from the maximum likelihood ability (half an answer added)."""
    k = np.clip(y.sum(), 0.5, len(y) - 0.5)
    ability = brentq(lambda a: expit(a + easiness[asked]).sum() - k, -15, 15)
    p = expit(ability + easiness)
    left = np.ones(len(easiness), dtype=bool)
    left[asked] = False
    return (y.sum() + p[left].sum()) / len(easiness)


def anchor_points(past, n, seed):
    """Return the items nearest to cluster centers of earlier answers, and cluster shares."""
    clusters = KMeans(n, n_init=1, random_state=seed).fit(past)
    distance = clusters.transform(past)
    return distance.argmin(axis=0), np.bincount(clusters.labels_, minlength=n) / len(past)


def bank_of(scores, items, topics, names):
    """Fit a bank and ignore its warnings about near-duplicate models."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ItemBank().fit(long_form(scores, items, topics, names))


def unit_level(bank, items, topics, y, by, population=None, chance=None):
    X = pd.DataFrame({"model": "new", "topic": topics, "item": items})
    if chance is not None:
        X["inclusion_probability"] = chance
    with warnings.catch_warnings():
        # Warnings about near-duplicate models and about items without earlier answers.
        warnings.simplefilter("ignore")
        model = UnitLevelModel(bank).fit(X, y)
    return model, model.estimate(by=by, population=population)


def splits(scores, kind, n_targets, rng):
    """Return the columns of earlier models and of new models."""
    n_models = scores.shape[1]
    if kind == "inter":
        order = rng.permutation(n_models)
        return order[: n_models // 2], order[n_models // 2 :][:n_targets]
    order = np.argsort(scores.mean(axis=0), kind="stable")
    strongest = order[-int(0.3 * n_models) :]
    return order[: n_models // 2], rng.permutation(strongest)[:n_targets]


def whole(kind, name, n_targets, n_draws, seed=0):
    """Return errors of every method on one matrix, and coverage of the unit-level interval."""
    rng = np.random.default_rng(seed)
    scores = pd.read_csv(DATA / f"item_matrix_{name}.csv.gz").drop(columns="item").to_numpy(float)
    past, targets = splits(scores, kind, n_targets, rng)
    items = np.arange(len(scores))
    topics = np.full(len(items), "all")
    bank = bank_of(scores[:, past], items, topics, past.astype(str))
    easiness = logit((scores[:, past].sum(axis=1) + 1) / (len(past) + 2))
    anchors = [anchor_points(scores[:, past], N_ASKED, s) for s in range(min(n_draws, 3))]
    rows = []
    for target in targets:
        y, truth = scores[:, target], scores[:, target].mean()
        for draw in range(n_draws):
            asked = rng.permutation(len(y))[:N_ASKED]
            e = unit_level(bank, items[asked], topics[asked], y[asked], "model")[1]
            low, high = wilson_interval(y[asked].sum(), N_ASKED)
            chosen, share = anchors[draw % len(anchors)]
            rows.append(
                {
                    "mean": y[asked].mean() - truth,
                    "unit level": e.value[0] - truth,
                    "ridge-AIPW": ridge_aipw(y[asked], scores[:, past], asked, rng) - truth,
                    "p-IRT": rasch_p_irt(y[asked], easiness, asked) - truth,
                    "anchors": share @ y[chosen] - truth,
                    "covered": e.low[0] <= truth <= e.high[0],
                    "width": (e.high[0] - e.low[0]) / (high - low),
                    "truth": truth,
                }
            )
    return pd.DataFrame(rows)


METHODS = ("unit level", "ridge-AIPW", "p-IRT", "anchors")


def whole_table(options):
    n_targets, n_draws = (10, 10) if options.quick else (20, 25)
    for kind in ("inter", "extra"):
        table = {}
        for name in MATRICES:
            found = whole(kind, name, n_targets, n_draws)
            base = np.mean(found["mean"] ** 2)
            ratios = {m: np.mean(found[m] ** 2) / base for m in METHODS}
            table[name] = ratios | found[["covered", "width", "truth"]].mean().to_dict()
        table = pd.DataFrame(table).T
        table.loc["geometric mean"] = np.exp(np.log(table).mean())
        print(f"\n{kind}polating, 50 items: MSE / mean of the items asked\n{table.round(3)}")


def pasts(scores, names, target, rng):
    """Return the columns of earlier models by the name of the set."""
    of = families()
    others = np.flatnonzero([of(name) != of(names[target]) for name in names])
    weakest = np.argsort(np.nanmean(scores, axis=0), kind="stable")[:8]
    sets = {"other families": others, "three": rng.permutation(others)[:3]}
    sets["one"] = rng.permutation(others)[:1]
    if target not in weakest:
        sets["weakest eight"] = weakest
    return sets


def topics_table(options):
    cuts = {"46 subjects": ("src", 60), "14 categories": ("category", 60)}
    sizes = (5, 10, 20)
    if options.quick or options.items:
        sizes = (options.items or 10,)
    n_draws = options.draws or (2 if options.quick else 6)
    for title, (by, least) in cuts.items():
        for n in sizes:
            print(f"\nMMLU-Pro, {title}, {n} items per topic, {n_draws} draws: MSE / direct")
            print(by_past(topics_of(by, least, n, n_draws)).round(3).to_string(), flush=True)


def topics_of(by, least, n, n_draws, seed=0, step=1):
    """Return errors and intervals of every topic, draw, set of earlier models and target."""
    scores, items, topics, names = mmlu_pro(by, least)
    found = []
    for target in range(0, len(names), step):
        rng = np.random.default_rng([seed, target])
        known = np.isfinite(scores[:, target])
        y = scores[:, target]
        truth = pd.Series(y[known]).groupby(topics[known]).mean()
        answered = pd.DataFrame({"topic": topics[known], "item": items[known]})
        sets = pasts(scores, names, target, rng)
        banks = {name: bank_of(scores[:, c], items, topics, names[c]) for name, c in sets.items()}
        for draw in range(n_draws):
            shuffled = pd.Series(rng.permutation(np.flatnonzero(known)))
            asked = shuffled.groupby(topics[shuffled]).head(n).to_numpy()
            direct = pd.Series(y[asked]).groupby(topics[asked]).mean()
            low, high = wilson_interval((direct * n).round().to_numpy(), n)
            area = area_level(topics[asked], y[asked]) if draw < 2 else np.nan
            for name, bank in banks.items():
                seen = items[asked], topics[asked], y[asked]
                e = unit_level(bank, *seen, "topic", answered)[1]
                found.append(
                    pd.DataFrame(
                        {
                            "past": name,
                            "target": names[target],
                            "truth": truth.loc[list(e.labels)].to_numpy(),
                            "direct": direct.to_numpy(),
                            "area": area,
                            "value": e.value,
                            "low": e.low,
                            "high": e.high,
                            "Wilson": high - low,
                        }
                    )
                )
    return pd.concat(found, ignore_index=True)


def area_level(topics, y):
    """Return the estimates of the area-level default."""
    summary = summarize_items(pd.DataFrame({"topic": topics, "score": y}), "topic", item=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MixedModel().fit(**summary.fit_args).estimate().value


def by_past(rows):
    """Summarize medians, worst cases, coverage and widths over pairs of bank and target.

    "width at .95" is the mean width after stretching all intervals to a coverage of 0.95.
    """
    away = rows["truth"] - rows["value"]
    side = np.where(away > 0, rows["high"] - rows["value"], rows["value"] - rows["low"])
    rows = rows.assign(
        width=rows["high"] - rows["low"],
        stretch=np.abs(away) / side,
        unit=away**2,
        direct=(rows["direct"] - rows["truth"]) ** 2,
        area_of=(rows["area"] - rows["truth"]) ** 2,
        direct_of=np.where(rows["area"].isna(), np.nan, (rows["direct"] - rows["truth"]) ** 2),
        covered=(rows["low"] <= rows["truth"]) & (rows["truth"] <= rows["high"]),
    )
    numbers = rows.drop(columns=["truth", "value", "low", "high", "area"])
    sets = numbers.groupby(["past", "target"]).mean()
    ratio, past = sets["unit"] / sets["direct"], sets.index.get_level_values("past")
    width = (sets["width"] / sets["Wilson"]).groupby("past").mean()
    return pd.DataFrame(
        {
            "sets": ratio.groupby(past).size(),
            "median": ratio.groupby(past).median(),
            "worst": ratio.groupby(past).max(),
            "area level": (sets["area_of"] / sets["direct_of"]).groupby(past).median(),
            "coverage": sets["covered"].groupby(past).mean(),
            "least": sets["covered"].groupby(past).min(),
            "below .91": (sets["covered"] < 0.91).groupby(past).sum(),
            "width / Wilson": width,
            "width at .95": width * rows.groupby("past")["stretch"].quantile(0.95),
        }
    )


def bounds_table(options):
    """Simulate the lowest coverage of exactly correct intervals with fixed topic effects."""
    print("lowest coverage of 29 sets of 31 topics, exactly correct intervals, any number of draws")
    for level in (0.95, 0.96, 0.97):
        least = [least_of_right(level, 29, 31, np.random.default_rng(seed)) for seed in range(40)]
        low, high = np.quantile(least, [0.05, 0.95])
        print(f"covering {level:.2f} on average: {np.mean(least):.3f} ({low:.3f} to {high:.3f})")


def least_of_right(level, n_sets, n_topics, rng, std=0.35, noise=0.65, n_draws=300):
    """Return the lowest coverage over topics of exactly correct posterior intervals.

    Topic effects and the noise of ten answers are normal in log odds, with known standard
    deviations. The effect of a topic is the same in all draws. So intervals with this coverage over
    topics cover more in some sets and less in others, with any number of draws.
    """
    effect = rng.normal(0, std, (n_sets, n_topics, 1))
    seen = effect + rng.normal(0, noise, (n_sets, n_topics, n_draws))
    share = std**2 / (std**2 + noise**2)
    half = norm.isf((1 - level) / 2) * noise * np.sqrt(share)
    return (np.abs(share * seen - effect) <= half).mean(axis=(1, 2)).min()


def choose_table(options):
    """Compare whole benchmarks from chosen items with the mean of random items.

    "bound" is the limit for any choice of items if the model is correct. It is the posterior
    variance after the best items found by exchange, relative to random items.
    """
    n_targets, n_draws = (8, 5) if options.quick else (20, 15)
    rows = []
    for kind, name in product(("inter", "extra"), (*MATRICES, "mmlu_pro")):
        rng = np.random.default_rng(0)
        if name == "mmlu_pro":
            scores, items, topics, names = mmlu_pro("src", 60)
            complete = np.isfinite(scores).all(axis=0)
            scores, names, n_asked = scores[:, complete], names[complete], 2 * N_ASKED
        else:
            table = pd.read_csv(DATA / f"item_matrix_{name}.csv.gz").drop(columns="item")
            scores, names, n_asked = table.to_numpy(float), np.array(table.columns), N_ASKED
            items, topics = np.arange(len(scores)), np.full(len(scores), "all")
        past, targets = splits(scores, kind, n_targets, rng)
        bank = bank_of(scores[:, past], items, topics, names[past])
        found = choice(bank, scores[:, targets], items, topics, n_asked, n_draws, rng)
        rows.append({"past": kind, "data": name} | found)
        print(pd.DataFrame(rows[-1:]).round(3).to_string(), flush=True)
    table = pd.DataFrame(rows).set_index(["past", "data"])
    errors = ["random", "equal", "informative"]
    mean = np.exp(np.log(table[[*errors, "bound"]]).groupby(level="past").mean())
    covered = table.filter(like="covered").groupby(level="past").mean()
    print(f"\nMSE / plain mean of random items\n{table.round(3).to_string()}\n")
    print(f"geometric means, and mean coverage\n{mean.join(covered).round(3).to_string()}")


CHOICES = {"random": None, "equal": {"chances": "equal"}, "informative": {"chances": "informative"}}


def choice(bank, scores, items, topics, n_asked, n_draws, rng):
    """Return errors and coverage of the unit-level model by the method of choosing items."""
    place = pd.Series(np.arange(len(items)), index=items)
    found = []
    for y in scores.T:
        truth = y.mean()
        for _ in range(n_draws):
            random = rng.permutation(len(y))[:n_asked]
            row = {"plain": (y[random].mean() - truth) ** 2}
            for name, options in CHOICES.items():
                asked, chance = random, None
                if options is not None:
                    chosen = choose_items(bank, n_asked, **options, random_state=rng)
                    asked = place[chosen["item"]].to_numpy()
                    chance = chosen["inclusion_probability"].to_numpy()
                parts = items[asked], topics[asked], y[asked]
                e = unit_level(bank, *parts, "model", chance=chance)[1]
                row[name] = (e.value[0] - truth) ** 2
                row[f"{name} covered"] = e.low[0] <= truth <= e.high[0]
            found.append(row)
    mean = pd.DataFrame(found).mean()
    ratio = {name: mean[name] / mean["plain"] for name in CHOICES}
    return ratio | {"bound": bound(bank, n_asked, rng)} | mean.filter(like="covered").to_dict()


def bound(bank, n_asked, rng, n_steps=1500):
    """Return the variance left by the best items relative to random items, to first order."""
    x = np.column_stack([np.ones(len(bank.items_)), bank.easiness_, bank.components_])
    x[:, 1] -= x[:, 1].mean()
    p = expit(bank.easiness_[:, None] + bank.ability_ - bank.easiness_.mean())
    w = np.mean(p * (1 - p), axis=1)
    total = w @ x
    prior = np.diag(np.repeat([4.0, 1.0, 0.25], [1, 1, x.shape[1] - 2]) ** -1.0)

    def left(asked):
        precision = (x[asked].T * w[asked]) @ x[asked] + prior
        return total @ np.linalg.solve(precision, total) + w.sum() - w[asked].sum()

    draws = [rng.permutation(len(x))[:n_asked] for _ in range(50)]
    at_random = [left(asked) for asked in draws]
    asked = draws[int(np.argmin(at_random))]
    least = min(at_random)
    for _ in range(n_steps):
        other = asked.copy()
        other[rng.integers(n_asked)] = rng.integers(len(x))
        if len(set(other)) == n_asked and left(other) < least:
            asked, least = other, left(other)
    return least / np.mean(at_random)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    tables = {
        "topics": topics_table,
        "bounds": bounds_table,
        "whole": whole_table,
        "choose": choose_table,
    }
    parser.add_argument("part", choices=list(tables))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--items", type=int, help="per topic, instead of 5, 10 and 20")
    parser.add_argument("--draws", type=int, help="of items, for every target and past, by topic")
    options = parser.parse_args()
    tables[options.part](options)


if __name__ == "__main__":
    main()
