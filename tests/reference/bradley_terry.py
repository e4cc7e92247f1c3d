"""Bradley-Terry, slow and obvious: one dense row per vote, the first model's rating at 0."""

import numpy as np
from scipy.optimize import minimize, root


def log_likelihood(parameters, vote, n_models, davidson):
    """Of one vote: both models, outcome, features."""
    a, b, y, x = vote
    rating = np.append(0.0, parameters[: n_models - 1])
    d = rating[a] - rating[b] + x @ parameters[n_models - 1 : n_models - 1 + len(x)]
    won, lost, ties = np.exp(d / 2), np.exp(-d / 2), np.exp(parameters[-1]) if davidson else 0.0
    whole = won + lost + ties
    if davidson and y == 0.5:
        return np.log(ties / whole)
    return y * np.log(won / whole) + (1 - y) * np.log(lost / whole)


def fit(votes, n_models, davidson=False):
    """Ratings less that of the first model, coefficients, and the logarithm for ties."""
    rows = list(zip(*votes[:4], strict=True))
    n_parameters = n_models - 1 + votes.features.shape[1] + davidson
    return minimize(
        lambda p: -sum(log_likelihood(p, vote, n_models, davidson) for vote in rows),
        np.zeros(n_parameters),
        jac="3-point",
        options={"gtol": 1e-7},
    ).x


def sandwich(votes, n_models, parameters, davidson=False, step=1e-4):
    """Their covariance without a small-sample factor, all derivatives by differences."""
    steps = step * np.eye(len(parameters))

    def gradient(p, vote):
        ends = ([log_likelihood(p + sign * h, vote, n_models, davidson) for h in steps]
                for sign in (1, -1))  # fmt: skip
        return np.subtract(*ends) / (2 * step)

    rows = list(zip(*votes[:4], strict=True))
    scores = np.array([gradient(parameters, vote) for vote in rows])
    ends = (sum(gradient(parameters + sign * h, vote) for vote in rows)
            for h in steps for sign in (1, -1))  # fmt: skip
    hessian = -np.diff(np.reshape(list(ends), (len(steps), 2, -1)), axis=1)[:, 0] / (2 * step)
    clusters = np.unique(votes.cluster)
    sums = np.array([scores[votes.cluster == cluster].sum(axis=0) for cluster in clusters])
    bread = np.linalg.inv(hessian)
    return bread @ sums.T @ sums @ bread


def fit_with_judge(votes, n_models, power):
    """Prediction-powered ratings less that of the first model: the root of the mean scores."""
    people = ~np.isnan(votes.outcome)
    design = (np.eye(n_models)[votes.first] - np.eye(n_models)[votes.second])[:, 1:]
    design = np.hstack([design, votes.features])

    def scores(outcome, parameters):
        return design * (outcome - 1 / (1 + np.exp(-design @ parameters)))[:, None]

    def gradient(p):
        ours, judge = scores(votes.outcome, p)[people], scores(votes.judge, p)
        return (ours - power * judge[people]).mean(axis=0) + power * judge.mean(axis=0)

    return root(gradient, np.zeros(design.shape[1]), tol=1e-12).x


def sandwich_with_judge(votes, n_models, p, power):
    """Its covariance without a small-sample factor, vote by vote and cluster by cluster."""
    people, n = ~np.isnan(votes.outcome), np.sum(~np.isnan(votes.outcome))
    design = (np.eye(n_models)[votes.first] - np.eye(n_models)[votes.second])[:, 1:]
    design = np.hstack([design, votes.features])
    chances = 1 / (1 + np.exp(-design @ p))
    judge = design * (votes.judge - chances)[:, None]
    ours = design[people] * (votes.outcome - chances)[people, None]
    parts = power / len(judge) * (judge - judge.mean(axis=0))
    differences = ours - power * judge[people]
    parts[people] += (differences - differences.mean(axis=0)) / people.sum()
    clusters = np.unique(votes.cluster)
    sums = np.array([parts[votes.cluster == cluster].sum(axis=0) for cluster in clusters])
    squares = sums.T @ sums
    for model in range(n_models):  # one disagreement more of each
        sign = (votes.first == model) * 1.0 - (votes.second == model)
        seen = np.unique(votes.cluster[people & (sign != 0)])
        for cluster in seen:
            rows = people & (votes.cluster == cluster)
            score = sign[rows] @ design[rows]
            squares += (power / n) ** 2 * (1 - n / len(people)) * np.outer(score, score) / len(seen)
    weights = np.where(people, (1 - power) / people.sum(), 0) + power / len(people)
    bread = np.linalg.inv((design * (weights * chances * (1 - chances))[:, None]).T @ design)
    return bread @ squares @ bread
