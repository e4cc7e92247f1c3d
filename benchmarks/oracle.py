"""Error of the default relative to an oracle with known variances.

On simulated sets the script compares the default, `MixedModel`, with an oracle. The oracle knows
the variances of the log odds of models, topics and model x topic; the default estimates them. The
oracle then applies Bayes' rule. Effects and slopes of features have wide priors. The covariance
matrix of all groups is explicit. Counts enter by Laplace's approximation, with the correlation of
errors estimated by `summarize_items`. The known variances are moments of accuracies over all items
in 40 other sets with the same parameters. They include variation from the choice of items, so the
oracle has a small additional advantage.

The script prints squared errors relative to direct estimates and of the default relative to the
oracle, by set and design of `precision.py`, and their medians.

    python benchmarks/oracle.py --half confirming --repetitions 30
"""

import argparse

import numpy as np
import pandas as pd
from precision import DESIGNS, ESTIMATORS, SETS, SIMULATED, cell_figures, simulated, study
from scipy.special import expit, logit
from scipy.stats import norm

from skbench.groups._base import Bounds, GroupEstimator
from skbench.stats.intervals.mixtures import Mixture

N_SETS = 40
WIDE = 1.0  # prior standard deviation of the mean and of the slopes, log odds
STEPS = 100
JUDGED = {name: ESTIMATORS[name] for name in ("direct", "mixed")}


class Oracle(GroupEstimator):
    """Posterior of all groups with known variances.

    Parameters
    ----------
    topic, model, interaction : float
        Variances of log odds.
    sampling_variance : float, default=None
        Not used.
    """

    _method = "oracle"
    _guarantee = "posterior"

    def __init__(self, topic, model, interaction, *, sampling_variance=None):
        self.topic = topic
        self.model = model
        self.interaction = interaction
        self.sampling_variance = sampling_variance

    def _fit(self, X, groups):
        features = X.drop(columns=["model", "topic"]).to_numpy(float)
        same_topic = np.equal.outer(X["topic"].to_numpy(), X["topic"].to_numpy())
        same_model = np.equal.outer(X["model"].to_numpy(), X["model"].to_numpy())
        prior = self.topic * same_topic + self.model * same_model
        prior = prior + self.interaction * np.eye(len(X))
        prior = prior + WIDE**2 * (1 + features @ features.T)
        correlation = self.sampling_.item_correlation
        correlation = correlation.loc[X["model"], X["model"]].to_numpy() * same_topic
        self._mean, self._variance = laplace(self.z_, self.n_, prior, correlation)

    def _fitted_value(self):
        return self._accuracy()[0]

    def _fitted_bounds(self, confidence_level):
        half = norm.ppf((1 + confidence_level) / 2) * np.sqrt(self._variance)
        error = np.sqrt(self._accuracy()[1])
        return Bounds(expit(self._mean - half), expit(self._mean + half), error)

    def _accuracy(self):
        """Return means and variances of accuracies with normal log odds."""
        parts = np.stack([np.ones(len(self._mean)), self._mean, self._variance, 0 * self._mean])
        return Mixture(*parts[:, None]).accuracy()


def laplace(z, n, prior, correlation):
    """Return posterior means and variances of log odds, linearized at the mode."""
    eta = logit((n * z + 1) / (n + 2))
    for _ in range(STEPS):
        p = np.clip(expit(eta), 0.01, 0.99)
        slope = p * (1 - p)
        std = 1 / np.sqrt(n * slope)
        noise = std[:, None] * correlation * std
        gain = np.linalg.solve(prior + noise, prior).T
        step = gain @ (eta + (z - p) / slope) - eta
        if np.max(np.abs(step)) < 1e-5:
            break
        eta = eta + step / 2
    return eta, np.maximum(np.diag(prior) - np.einsum("ij,ji->i", gain, prior), 0)


def spread_of(parameters):
    """Return variances of topic, model and interaction over sets with these parameters."""
    tables = [true_log_odds(parameters | {"seed": 10_000 + number}) for number in range(N_SETS)]
    residuals = np.stack(tables)
    residuals = residuals - residuals.mean()
    _, n_topics, n_models = residuals.shape
    total = np.mean(residuals**2)
    topic = shared(residuals, 2) / (n_models * (n_models - 1))
    model = shared(residuals, 1) / (n_topics * (n_topics - 1))
    return {"topic": topic, "model": model, "interaction": max(total - topic - model, 1e-4)}


def shared(residuals, axis):
    """Return the sum of products of different entries along an axis, averaged over others."""
    return np.mean(residuals.sum(axis=axis) ** 2 - (residuals**2).sum(axis=axis))


def true_log_odds(parameters):
    """Return log odds by topic and model, minus the part explained by features."""
    data = simulated(**parameters)
    accuracy = data["items"].groupby("topic")[data["score"]].mean()
    log_odds = logit(accuracy.clip(0.005, 0.995)).to_numpy()
    if data["features"] is None:
        return log_odds
    features = data["features"].loc[accuracy.index].to_numpy()
    design = np.column_stack([np.ones(len(features)), features])
    slopes = np.linalg.lstsq(design, log_odds.mean(axis=1), rcond=None)[0][1:]
    return log_odds - (features @ slopes)[:, None]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=SETS, default="confirming")
    parser.add_argument("--repetitions", type=int, default=30)
    parser.add_argument("--only", default="", help="part of the names of the sets to run")
    arguments = parser.parse_args()
    ratios = {}
    for name, make in SETS[arguments.half].items():
        letter = name.removeprefix("simulated ")
        if letter not in SIMULATED or arguments.only not in name:
            continue
        oracle = Oracle(**spread_of(SIMULATED[letter]))
        data, estimators = make(), JUDGED | {"oracle": oracle}
        for design in DESIGNS:
            done = study(name, data, design, estimators, arguments.repetitions, None)
            if done is None:
                continue
            figures = cell_figures(done.results_)
            ratios[name, str(design)] = {
                "mixed/direct": figures.loc["mixed", "of direct"],
                "oracle/direct": figures.loc["oracle", "of direct"],
                "mixed/oracle": figures.loc["mixed", "mse"] / figures.loc["oracle", "mse"],
                "oracle covers": figures.loc["oracle", "coverage"],
            }
            print(name, design, pd.Series(ratios[name, str(design)]).round(3).to_dict(), flush=True)
    table = pd.DataFrame(ratios).T
    print(table.round(3).to_string())
    print("median", table.median().round(3).to_dict())


if __name__ == "__main__":
    main()
