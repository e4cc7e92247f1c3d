"""Crossed logit with a mixture of interactions, by nested quadrature over few groups.

``logit p = mu + a_topic`` of one model, plus ``N(0, omega2)``, with probability `share`
replaced by ``N(0, wide)``; ``a ~ N(0, tau2)``, ``mu ~ N(0, model_variance)``.
"""

import numpy as np
from scipy.special import expit, logsumexp

_STANDARD = np.linspace(-6.5, 6.5, 261)
_LOG_WEIGHT = -0.5 * _STANDARD**2 - logsumexp(-0.5 * _STANDARD**2)


def mixture_posterior(k, n, tau2, omega2, model_variance, share, wide):
    """Mean accuracy and probability of being unlike its peers, tables of (topic, model).

    Every model has an effect; they are integrated over by one-dimensional grids inside each
    other, so that only 2 models are feasible.
    """
    grid = np.sqrt(model_variance) * _STANDARD[::2]
    log_prior = -0.5 * grid**2 / model_variance
    log_prior = log_prior - logsumexp(log_prior)
    a = np.sqrt(tau2) * _STANDARD
    # Terms of a group at every center mu_m + a: ordinary, unlike, and their first moments.
    parts = [[_group(k[t, m], n[t, m], omega2, wide) for m in range(2)] for t in range(len(k))]
    tables = []
    for row in parts:
        own = [group.at(grid[:, None] + a) for group in row]
        tables.append(own)
    log_odds = np.log(share) - np.log1p(-share)
    whole = []
    for row, own in zip(parts, tables, strict=True):
        likelihood = [
            np.logaddexp(ordinary, group.unlike + log_odds)
            for group, (ordinary, _) in zip(row, own, strict=True)
        ]
        whole.append(likelihood)
    joint = sum(_topic(first, second) for first, second in whole)
    joint = joint + log_prior[:, None] + log_prior[None, :]
    total = logsumexp(joint)
    mean, unlike = np.empty(k.shape), np.empty(k.shape)
    for t, (row, own, (first, second)) in enumerate(zip(parts, tables, whole, strict=True)):
        without = joint - _topic(first, second)
        for m in range(2):
            ordinary, p = own[m]
            odd = np.full_like(ordinary, row[m].unlike + log_odds)
            level = np.logaddexp(ordinary + np.log(p), odd + np.log(row[m].unlike_mean))
            for target, changed in ((mean, level), (unlike, odd)):
                pair = (changed, second) if m == 0 else (first, changed)
                target[t, m] = np.exp(logsumexp(without + _topic(*pair)) - total)
    return mean, unlike


def _topic(first, second):
    """Log likelihood of a topic at every pair of model effects."""
    top_first, top_second = first.max(), second.max()
    weighted = np.exp(first - top_first + _LOG_WEIGHT)
    return np.log(weighted @ np.exp(second - top_second).T) + top_first + top_second


class _group:
    def __init__(self, k, n, omega2, wide):
        self.k, self.n, self.omega = k, n, np.sqrt(omega2)
        terms = self._terms(np.sqrt(wide) * _STANDARD)
        self.unlike = logsumexp(terms)
        self.unlike_mean = np.sum(np.exp(terms - self.unlike) * expit(np.sqrt(wide) * _STANDARD))

    def at(self, center):
        """Log likelihood and mean accuracy of an ordinary group at these centers."""
        fine = np.linspace(center.min(), center.max(), 801)
        eta = fine[:, None] + self.omega * _STANDARD
        terms = self._terms(eta)
        log = logsumexp(terms, axis=1)
        p = np.sum(np.exp(terms - log[:, None]) * expit(eta), axis=1)
        return np.interp(center, fine, log), np.interp(center, fine, p)

    def _terms(self, eta):
        return self.k * eta - self.n * np.logaddexp(0, eta) + _LOG_WEIGHT
