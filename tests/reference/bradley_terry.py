"""Bradley-Terry, slow and obvious: one dense row per vote, the first model's rating at 0."""

import numpy as np
from scipy.optimize import minimize


def log_likelihood(parameters, votes, n_models, davidson):
    """Of one vote after the other."""
    rating = np.append(0.0, parameters[: n_models - 1])
    n_features = votes.features.shape[1]
    slopes = parameters[n_models - 1 : n_models - 1 + n_features]
    ties = np.exp(parameters[-1]) if davidson else 0.0
    total = 0.0
    for a, b, y, count, weight, x in zip(*votes[:6], strict=True):
        d = rating[a] - rating[b] + x @ slopes
        won, lost = np.exp(d / 2), np.exp(-d / 2)
        whole = won + lost + ties
        if davidson and y == 0.5:
            told = np.log(ties / whole)
        else:
            told = y * np.log(won / whole) + (1 - y) * np.log(lost / whole)
        total += count * weight * told
    return total


def fit(votes, n_models, davidson=False):
    """Ratings that sum to 0, coefficients, and the logarithm of the parameter of ties."""
    n_parameters = n_models - 1 + votes.features.shape[1] + davidson
    found = minimize(
        lambda p: -log_likelihood(p, votes, n_models, davidson),
        np.zeros(n_parameters),
        method="BFGS",
        options={"gtol": 1e-7},
    ).x
    rating = np.append(0.0, found[: n_models - 1])
    return np.concatenate([rating - rating.mean(), found[n_models - 1 :]])


def sandwich(votes, n_models, parameters):
    """Covariance of ratings and coefficients without small-sample factor, ties as halves."""
    n = n_models + votes.features.shape[1]
    center = np.eye(n)
    center[:n_models, :n_models] -= 1 / n_models
    information, scores = np.zeros((n, n)), {}
    groups = range(len(votes.first)) if votes.cluster is None else votes.cluster
    for a, b, y, weight, x, group in zip(
        votes.first, votes.second, votes.outcome, votes.weight, votes.features, groups, strict=True
    ):
        z = np.zeros(n)
        z[a], z[b], z[n_models:] = 1, -1, x
        p = 1 / (1 + np.exp(-z @ parameters))
        information += weight * p * (1 - p) * np.outer(z, z)
        scores[group] = scores.get(group, 0) + weight * (y - p) * z
    bread = np.linalg.pinv(information)
    return bread @ sum(np.outer(s, s) for s in scores.values()) @ bread
