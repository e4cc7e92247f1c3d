"""The default in extreme settings: outlying groups and topics, and tables with little to borrow.

Sets have 4 models x 20 topics with 10 items each, unless noted. Log odds of an accuracy are those
of 0.85 plus effects of model (standard deviation 0.3), topic (0.5) and interaction (0.2).

- ordinary; strong interaction (standard deviation 0.8)
- one broken cell (accuracy 0.10), with 10, 20 or 50 items; "even": 0.2 for models and interactions,
  0.35 for topics; the same among 100 topics (one of 400 groups)
- three broken cells of one model; a whole topic broken
- a small broken topic (4 items) among topics of 60; the same with an ordinary small topic
- sparse failures: accuracy 0.995 in 90% of cells, 0.3 in 10%
- mean accuracy 0.99; all groups equal (0.85); three topics; one model without features

Each setting has one row: squared error relative to the direct estimates, average coverage, coverage
of outlying groups, proportions of outlying and of ordinary groups reported as outliers
(`Estimate.is_outlying`), mean width, mean estimate of the outlying groups, proportion of sets with
estimates moved toward the direct ones, and processor milliseconds per fit. ``--more`` adds rows of
the direct estimates.

    python benchmarks/outliers.py --sets 60 --only "one cell"

An earlier version of the package, before `MixedModel`, uses its own default:

    PYTHONPATH=EARLIER python benchmarks/outliers.py

``--oracle`` prints the proportion of broken cells detected by an oracle. It knows all variances,
the model effects and the accuracy 0.10 of a broken cell, and assumes ordinary other models in a
topic. It reports cells at the allowed false positive rate, and with a probability above 0.9, 0.5 or
0.25:

    python benchmarks/outliers.py --oracle
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from scipy.stats import binom

import skbench
from skbench import DirectEstimator, summarize_items

N_MODELS, N_TOPICS = 4, 20


def default_estimator():
    """Return the estimators of this version of the package, or of an earlier one."""
    if "MixedModel" in skbench.__all__:
        return skbench.MixedModel()
    return skbench.AveragedEstimator(random_state=0)


def ordinary(
    rng,
    shape=(N_TOPICS, N_MODELS),
    *,
    mean=0.85,
    model_std=0.3,
    topic_std=0.5,
    interaction_std=0.2,
):
    """Draw accuracies by topic (rows) and model (columns)."""
    eta = logit(mean) + model_std * rng.normal(size=shape[1])
    eta = eta + topic_std * rng.normal(size=(shape[0], 1))
    return expit(eta + interaction_std * rng.normal(size=shape))


def even(rng):
    return ordinary(rng, model_std=0.2, topic_std=0.35)


def many(rng):
    return ordinary(rng, (100, N_MODELS))


def broken(p, cells, accuracy=0.1):
    outlying = np.zeros(p.shape, dtype=bool)
    outlying[cells] = True
    return np.where(outlying, accuracy, p), outlying


def one_cell(rng, start=ordinary):
    p = start(rng)
    return broken(p, (rng.integers(len(p)), rng.integers(N_MODELS)))


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
    return (*broken(p, topic if is_broken else ([], [])), n)


def sparse(rng):
    outlying = rng.random((N_TOPICS, N_MODELS)) < 0.1
    return np.where(outlying, 0.3, 0.995), outlying, sizes(10)


def without_outliers(p, n=10):
    return p, np.zeros(p.shape, dtype=bool), np.full(p.shape, n)


SETS = {
    "ordinary": lambda rng: without_outliers(ordinary(rng)),
    "strong interaction": lambda rng: without_outliers(ordinary(rng, interaction_std=0.8)),
    "one cell, n = 10": lambda rng: (*one_cell(rng), sizes(10)),
    "one cell, n = 20": lambda rng: (*one_cell(rng), sizes(20)),
    "one cell, n = 50": lambda rng: (*one_cell(rng), sizes(50)),
    "one cell, even, n = 10": lambda rng: (*one_cell(rng, even), sizes(10)),
    "one cell of 400, n = 10": lambda rng: (*one_cell(rng, many), np.full((100, N_MODELS), 10)),
    "three cells of a model": lambda rng: (
        *broken(ordinary(rng), (rng.permutation(N_TOPICS)[:3], rng.integers(N_MODELS))),
        sizes(10),
    ),
    "a whole topic": lambda rng: (
        *broken(ordinary(rng), rng.integers(N_TOPICS)),
        sizes(10),
    ),
    "small broken topic": lambda rng: small_topic(rng, True),
    "small ordinary topic": lambda rng: small_topic(rng, False),
    "sparse failures": sparse,
    "mean accuracy .99": lambda rng: without_outliers(ordinary(rng, mean=0.99)),
    "all groups equal": lambda rng: without_outliers(np.full((N_TOPICS, N_MODELS), 0.85)),
    "three topics": lambda rng: without_outliers(ordinary(rng, (3, N_MODELS))),
    "one model": lambda rng: without_outliers(ordinary(rng, (N_TOPICS, 1))),
}


def items_of(k, n, rng):
    """Return item rows with `k` of `n` correct answers; models share the items of a topic."""
    topic, model = np.divmod(np.arange(k.size), k.shape[1])
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


def one_set(make, seed, estimators):
    """Return the figures of every estimator on one set."""
    rng = np.random.default_rng(seed)
    p, outlying, n = make(rng)
    g = summarize_items(items_of(rng.binomial(n, p), n, rng), ["model", "topic"])
    place = [(int(topic[6:]), int(model[6:])) for model, topic in g.labels]
    p, outlying = (np.array([table[cell] for cell in place]) for table in (p, outlying))

    def of_outlying(values):
        return values[outlying].mean() if outlying.any() else np.nan

    for name, estimator in estimators.items():
        start = time.process_time()
        fitted = estimator.fit(**g.fit_args)
        e = fitted.estimate()
        taken = time.process_time() - start
        hit = (e.low <= p) & (p <= e.high)
        yield {
            "estimator": name,
            "mse": np.mean((e.value - p) ** 2),
            "direct": np.mean((g.z - p) ** 2),
            "covered": hit.mean(),
            "outlying": of_outlying(hit),
            "listed": of_outlying(e.is_outlying),
            "falsely": e.is_outlying[~outlying].mean(),
            "width": np.mean(e.high - e.low),
            "estimate": of_outlying(e.value),
            "moved": getattr(fitted, "direct_weight_", 0) > 0,
            "ms": 1000 * taken,
        }


def log_odds_of_oracle(rng, n, *, model_std=0.3, topic_std=0.5, interaction_std=0.2):
    """Return the log odds that each group is the broken one, and whether it is."""
    model = model_std * rng.normal(size=N_MODELS)
    topics, weights = np.polynomial.hermite_e.hermegauss(40)
    p = logit(0.85) + model + topic_std * rng.normal(size=(N_TOPICS, 1))
    p = expit(p + interaction_std * rng.normal(size=p.shape))
    p, outlying = broken(p, (rng.integers(N_TOPICS), rng.integers(N_MODELS)))
    k = rng.binomial(n, p)
    # Probability of each count for each possible effect of its topic.
    own, own_weights = np.polynomial.hermite_e.hermegauss(15)
    eta = logit(0.85) + model[:, None, None] + topic_std * topics[:, None] + interaction_std * own
    mass = binom.pmf(k[..., None, None], n, expit(eta)) @ own_weights / own_weights.sum()
    rest = np.stack([np.delete(mass, m, axis=1).prod(axis=1) for m in range(N_MODELS)], axis=1)
    ordinary_mass = (rest * mass) @ weights / (rest @ weights)
    return binom.logpmf(k, n, 0.1) - np.log(ordinary_mass) - np.log(outlying.size - 1), outlying


def print_oracle(n_sets, n=10):
    spreads = {"one cell": {}, "one cell, even": dict(model_std=0.2, topic_std=0.35)}
    for name, stds in spreads.items():
        rng = np.random.default_rng(0)
        sets = [log_odds_of_oracle(rng, n, **stds) for _ in range(n_sets)]
        odds, outlying = (np.concatenate(part) for part in zip(*sets, strict=True))
        limits = {
            f"{rate:.1%} false": np.quantile(odds[~outlying], 1 - rate) for rate in (0.005, 0.001)
        }
        limits |= {f"probability > {p}": logit(p) for p in (0.9, 0.5, 0.25)}
        for rule, limit in limits.items():
            listed = odds > limit
            print(
                f"{name}, n = {n}, {rule}: {listed[outlying].mean():.3f} listed, "
                f"{listed[~outlying].mean():.4f} falsely"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=60)
    parser.add_argument("--only", default="", help="part of the names of the settings to run")
    parser.add_argument("--more", action="store_true", help="also the direct estimates")
    parser.add_argument("--oracle", action="store_true", help="results of the optimal rule")
    arguments = parser.parse_args()
    if arguments.oracle:
        print_oracle(arguments.sets)
        return
    warnings.simplefilter("ignore")
    default = default_estimator()
    estimators = {type(default).__name__: default}
    if arguments.more:
        estimators["DirectEstimator"] = DirectEstimator()
    corners = {}
    for name, make in SETS.items():
        if arguments.only in name:
            sets = (one_set(make, seed, estimators) for seed in range(arguments.sets))
            corners[name] = pd.DataFrame(row for rows in sets for row in rows)
    table = pd.concat(corners, names=["corner"])
    table = table.groupby(["estimator", "corner"], sort=False).mean()
    table.insert(0, "MSE/direct", table.pop("mse") / table.pop("direct"))
    with pd.option_context("display.width", 200, "display.max_columns", 20):
        for name, part in table.groupby("estimator", sort=False):
            print(f"\n{name}\n{part.droplevel(0).round(3).to_string(na_rep='')}", flush=True)


if __name__ == "__main__":
    main()
