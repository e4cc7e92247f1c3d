"""Coverage and bias of the interval of the sample size ratio.

For given true performances, simulated binary evaluations draw the items many times. This gives the
true ratio: the mean squared error of the direct estimates divided by that of the estimator, over
all draws. For each setting the script prints the true ratio, the median estimate relative to it,
the coverage of the interval, and how often the interval is entirely too high.

    python benchmarks/sample_size.py --true-values 10 --draws 30
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.linear_model import Ridge

from skbench import EmpiricalBayes, GroupSummary, JamesStein
from skbench.assessment import sample_size_ratio
from skbench.stats.intervals.binomial import sampling_variance

# n items, models, topics, standard deviation of topics, mean log odds, shared items
SETTINGS = [
    (10, 4, 50, 1.0, 0.0, False),
    (10, 4, 50, 1.0, 0.0, True),
    (20, 4, 20, 1.0, 0.0, False),
    (10, 10, 40, 0.5, 2.0, True),
    (50, 5, 30, 1.0, 0.0, True),
    (10, 1, 60, 0.5, 0.0, False),
]


def truth_of(n_models, n_topics, spread, level, rng):
    """Return log odds of all groups and the table of their features."""
    topic = spread * rng.standard_normal(n_topics)
    model = 0.5 * rng.standard_normal((n_models, 1))
    log_odds = level + model + topic + 0.3 * rng.standard_normal((n_models, n_topics))
    X = pd.DataFrame(
        {
            "model": np.repeat([f"m{number}" for number in range(n_models)], n_topics),
            "feature": np.tile(topic + 0.5 * rng.standard_normal(n_topics), n_models),
        }
    )
    return log_odds, X


def performance(log_odds):
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    return (expit(log_odds[..., None] - nodes) @ (weights / weights.sum())).ravel()


def drawn(log_odds, X, n, shared, rng):
    """Return a summary of n items per group, with difficulties shared by models or not."""
    n_models, n_topics = log_odds.shape
    difficulty = rng.standard_normal((1 if shared else n_models, n_topics, n))
    p = expit(log_odds[..., None] - difficulty)
    k = (rng.random(p.shape) < p).sum(axis=-1).ravel()
    sizes = np.full(k.shape, n)
    topics = np.tile(np.arange(n_topics), n_models) if shared and n_models > 1 else None
    return GroupSummary(k / n, sampling_variance(k, n), sizes, X.index, X, topics)


def cell(make, setting, n_truths, n_draws):
    n, n_models, n_topics, spread, level, shared = setting
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(n_truths):
        log_odds, X = truth_of(n_models, n_topics, spread, level, rng)
        mu = performance(log_odds)
        draws = []
        for seed in range(n_draws):
            g = drawn(log_odds, X, n, shared, rng)
            fitted = make(seed).fit(**g.fit_args)
            errors = [np.mean((e - mu) ** 2) for e in (g.z, fitted.estimate().value)]
            draws.append((*errors, *sample_size_ratio(fitted, g)))
        direct, shrunk, value, low, high = np.array(draws).T
        truth = direct.mean() / shrunk.mean()
        rows.append(
            {
                "true ratio": truth,
                "estimated / true": np.median(value) / truth,
                "covers": np.mean((low <= truth) & (truth <= high)),
                "too good": np.mean(low > truth),
                "low / true": np.median(low) / truth,
            }
        )
    return pd.DataFrame(rows).mean()


ESTIMATORS = {
    "EB (Ridge)": lambda seed: EmpiricalBayes(Ridge(), random_state=seed),
    "James-Stein": lambda seed: JamesStein(),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--true-values", type=int, default=10)
    parser.add_argument("--draws", type=int, default=30)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    names = ("n", "models", "topics", "topic std", "level", "shared")
    table = pd.DataFrame(
        [
            dict(zip(names, setting, strict=True))
            | {"estimator": name}
            | cell(make, setting, arguments.true_values, arguments.draws).to_dict()
            for setting in SETTINGS
            for name, make in ESTIMATORS.items()
        ]
    )
    print(table.to_string(index=False, float_format="%.3f"))


if __name__ == "__main__":
    main()
