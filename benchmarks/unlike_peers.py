"""Is a group unlike its peers seen, covered and estimated near its own items?

Sets of 4 models x 20 topics, 10 items each where nothing else is said; log odds of an accuracy
are those of .85 plus a model (standard deviation .3), a topic (.5) and their interaction (.2).

- ordinary; strong interaction (standard deviation .8)
- one cell at .10, with 10, 20 or 50 items; "even": models and interactions with .2, topics .35
- three cells of one model at .10; a whole topic at .10
- a small topic (4 items) at .10 among topics of 60; the same, but the topic ordinary
- sparse failures: 90 % of cells .995, 10 % .3

Printed for every estimator: squared error relative to the direct estimates', average coverage
and width, that of ordinary groups; of the odd groups the share covered, the mean estimate, and
the share listed (`Estimate.is_unlike`); the share of ordinary groups listed falsely; the share
of sets whose estimates moved to the direct ones.

    python benchmarks/unlike_peers.py --sets 100 --only "one cell"

A set takes the default about half a second of one core.

    python benchmarks/unlike_peers.py --oracle

Share of broken cells that are listed by one who knows all variances, the models' effects and
that a broken cell has .10, and takes the other models of a topic for ordinary: with ordinary
cells listed as often as the limit allows, and by a probability above .9, .5 or .25.
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from scipy.stats import binom

from skbench import (
    AveragedEstimator,
    CrossFitMixedModel,
    DirectEstimator,
    LogisticMixedModel,
    summarize_items,
)

N_MODELS, N_TOPICS = 4, 20
ESTIMATORS = {
    "averaged": AveragedEstimator(random_state=0),
    "logistic mixed": LogisticMixedModel(),
    "mixed around trees": CrossFitMixedModel(random_state=0),
    "direct": DirectEstimator(),
}


def ordinary(rng, *, model_std=0.3, topic_std=0.5, interaction_std=0.2):
    """Accuracies of topics and models."""
    eta = logit(0.85) + model_std * rng.normal(size=N_MODELS)
    eta = eta + topic_std * rng.normal(size=(N_TOPICS, 1))
    return expit(eta + interaction_std * rng.normal(size=(N_TOPICS, N_MODELS)))


def even(rng):
    return ordinary(rng, model_std=0.2, topic_std=0.35)


def broken(rng, p, cells, accuracy=0.1):
    odd = np.zeros(p.shape, dtype=bool)
    odd[cells] = True
    return np.where(odd, accuracy, p), odd


def one_cell(rng, start=ordinary):
    return broken(rng, start(rng), (rng.integers(N_TOPICS), rng.integers(N_MODELS)))


def sizes(n):
    return np.full((N_TOPICS, N_MODELS), n)


def one_small_topic(rng):
    n = sizes(60)
    topic = rng.integers(N_TOPICS)
    n[topic] = 4
    return n, topic


def small_topic(rng, is_broken):
    n, topic = one_small_topic(rng)
    p = ordinary(rng)
    return (*broken(rng, p, topic if is_broken else ([], [])), n)


def sparse(rng):
    odd = rng.random((N_TOPICS, N_MODELS)) < 0.1
    return np.where(odd, 0.3, 0.995), odd, sizes(10)


def no_odd(p, n):
    return p, np.zeros(p.shape, dtype=bool), sizes(n)


SETS = {
    "ordinary": lambda rng: no_odd(ordinary(rng), 10),
    "strong interaction": lambda rng: no_odd(ordinary(rng, interaction_std=0.8), 10),
    "one cell, n = 10": lambda rng: (*one_cell(rng), sizes(10)),
    "one cell, n = 20": lambda rng: (*one_cell(rng), sizes(20)),
    "one cell, n = 50": lambda rng: (*one_cell(rng), sizes(50)),
    "one cell, even, n = 10": lambda rng: (*one_cell(rng, even), sizes(10)),
    "three cells of a model": lambda rng: (
        *broken(rng, ordinary(rng), (rng.permutation(N_TOPICS)[:3], rng.integers(N_MODELS))),
        sizes(10),
    ),
    "a whole topic": lambda rng: (
        *broken(rng, ordinary(rng), rng.integers(N_TOPICS)),
        sizes(10),
    ),
    "small broken topic": lambda rng: small_topic(rng, True),
    "small ordinary topic": lambda rng: small_topic(rng, False),
    "sparse failures": sparse,
}


def items_of(k, n, rng):
    """Item rows with `k` right answers of `n`, at random; models on the same items of a topic."""
    topic, model = np.divmod(np.arange(k.size), N_MODELS)
    group = np.repeat(np.arange(k.size), n.ravel())
    number = np.concatenate([np.arange(size) for size in n.ravel()])
    score = np.empty(group.size, dtype=int)
    score[np.lexsort((rng.random(group.size), group))] = number < k.ravel()[group]
    return pd.DataFrame(
        {
            "model": [f"model {m}" for m in model[group]],
            "topic": [f"topic {t:02d}" for t in topic[group]],
            "item": number,
            "score": score,
        }
    )


def one_set(make, seed):
    """Figures of every estimator on one set."""
    rng = np.random.default_rng(seed)
    p, odd, n = make(rng)
    g = summarize_items(items_of(rng.binomial(n, p), n, rng), ["model", "topic"])
    place = [(int(topic[6:]), int(model[6:])) for model, topic in g.labels]
    p, odd = (np.array([table[cell] for cell in place]) for table in (p, odd))
    for name, estimator in ESTIMATORS.items():
        start = time.process_time()
        fitted = estimator.fit(**g.fit_args)
        e = fitted.estimate()
        hit = (e.low <= p) & (p <= e.high)
        yield {
            "estimator": name,
            "mse": np.mean((e.value - p) ** 2),
            "direct": np.mean((g.z - p) ** 2),
            "covered": hit.mean(),
            "width": np.mean(e.high - e.low),
            "width, ordinary": np.mean((e.high - e.low)[~odd]),
            "odd covered": hit[odd].mean() if odd.any() else np.nan,
            "odd estimate": e.value[odd].mean() if odd.any() else np.nan,
            "odd listed": e.is_unlike[odd].mean() if odd.any() else np.nan,
            "listed falsely": e.is_unlike[~odd].mean(),
            "moved": getattr(fitted, "direct_weight_", 0) > 0,
            "seconds": time.process_time() - start,
        }


def log_odds_of_oracle(rng, n, *, model_std=0.3, topic_std=0.5, interaction_std=0.2):
    """Of every cell of a set: log odds that it is the broken one, and whether it is."""
    model = model_std * rng.normal(size=N_MODELS)
    topics, weights = np.polynomial.hermite_e.hermegauss(40)
    p = logit(0.85) + model + topic_std * rng.normal(size=(N_TOPICS, 1))
    p = expit(p + interaction_std * rng.normal(size=p.shape))
    p, odd = broken(rng, p, (rng.integers(N_TOPICS), rng.integers(N_MODELS)))
    k = rng.binomial(n, p)
    # Probability of each count at each of the effects that its topic may have.
    own, own_weights = np.polynomial.hermite_e.hermegauss(15)
    eta = logit(0.85) + model[:, None, None] + topic_std * topics[:, None] + interaction_std * own
    mass = binom.pmf(k[..., None, None], n, expit(eta)) @ own_weights / own_weights.sum()
    rest = np.stack([np.delete(mass, m, axis=1).prod(axis=1) for m in range(N_MODELS)], axis=1)
    ordinary_mass = (rest * mass) @ weights / (rest @ weights)
    return binom.logpmf(k, n, 0.1) - np.log(ordinary_mass) - np.log(odd.size - 1), odd


def print_oracle(n_sets, n=10):
    spreads = {"one cell": {}, "one cell, even": dict(model_std=0.2, topic_std=0.35)}
    for name, stds in spreads.items():
        rng = np.random.default_rng(0)
        sets = [log_odds_of_oracle(rng, n, **stds) for _ in range(n_sets)]
        odds, odd = (np.concatenate(part) for part in zip(*sets, strict=True))
        limits = {f"{rate:.1%} false": np.quantile(odds[~odd], 1 - rate) for rate in (0.005, 0.001)}
        limits |= {f"probability > {p}": logit(p) for p in (0.9, 0.5, 0.25)}
        for rule, limit in limits.items():
            listed = odds > limit
            print(
                f"{name}, n = {n}, {rule}: {listed[odd].mean():.3f} listed, "
                f"{listed[~odd].mean():.4f} falsely"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=40)
    parser.add_argument("--only", default="", help="part of the names of the kinds to run")
    parser.add_argument("--oracle", action="store_true", help="what the best of rules would list")
    arguments = parser.parse_args()
    if arguments.oracle:
        print_oracle(arguments.sets)
        return
    warnings.simplefilter("ignore")
    pd.set_option("display.width", 200, "display.max_columns", 20)
    for name, make in SETS.items():
        if arguments.only not in name:
            continue
        rows = pd.DataFrame(row for s in range(arguments.sets) for row in one_set(make, s))
        table = rows.groupby("estimator", sort=False).mean()
        table.insert(0, "MSE/direct", table.pop("mse") / table.pop("direct"))
        print(f"\n{name}\n{table.round(3).to_string(na_rep='')}", flush=True)


if __name__ == "__main__":
    main()
