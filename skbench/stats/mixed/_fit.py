"""The loop: Gaussian solve, expectation propagation, Newton's step, scales of the effects."""

from typing import NamedTuple

import numpy as np

from skbench.stats.mixed._effects import KERNELS, OWN, TOPIC, Precision, Weights
from skbench.stats.mixed._scales import OUTLYING_VARIANCE, PRIOR_SHARE, Outliers, outliers

_LARGEST_STEP = 1.0  # of a log variance
_HALF_STEPS = 2  # rounds in which pseudo-observations move half way
_FIRST_SCALES = 4  # round from which outliers are looked for
_LAST_NOISE = 40  # round until which the noise follows the estimates
_MOST_ROUNDS = 200
_LEAST = 1e-12


class State(NamedTuple):
    """The Gaussian solution of one round.

    likelihood : Counts or Scores
    precision : Precision
    weights : Weights
    sites, values : ndarray of shape (n_groups,), precisions and pseudo-observations
    alpha, diagonal : ndarray of shape (n_groups,), ``P y`` and the diagonal of `P`
    """

    likelihood: object
    precision: Precision
    weights: Weights
    sites: np.ndarray
    values: np.ndarray
    alpha: np.ndarray
    diagonal: np.ndarray

    def cavity(self):
        """Mean and variance of each group, with shared noise, by what the others say."""
        variance = np.maximum(1 / self.diagonal - 1 / self.sites, _LEAST)
        return self.values - self.alpha / self.diagonal, variance

    def cavities(self):
        """The same for an ordinary and for an outlying group."""
        mean, variance = self.cavity()
        others = np.maximum(variance - self.precision.own_variance, 0)
        ordinary = others + self.precision.variances[OWN]
        return (mean, ordinary), (mean, others + OUTLYING_VARIANCE)


class MixedFit(NamedTuple):
    """What the loop ends with; n_iter is the number of rounds."""

    state: State
    outliers: Outliers
    n_iter: int
    converged: bool


def fit_mixed(likelihood, design, tolerance=1e-3, tell=None):
    """Fit a mixed model to one direct estimate of each group.

    Parameters
    ----------
    likelihood : Counts or Scores
        Of the groups, in the order of `design`.
    design : Design
        Which effects each group has.
    tolerance : float, default=1e-3
        Largest change of a posterior mean, and of a step times its gradient, at the end.
    tell : callable or None, default=None
        Called after each round.

    Returns
    -------
    MixedFit

    Notes
    -----
    A latent value `f` is the sum of effects of model, topic, kernels, models that are alike in
    their errors on shared items, and an interaction. Sampling noise of correlation ``diag(psi) +
    U U'`` is noise ``D U eta`` that a topic's groups share and likelihoods to the power
    ``1 / psi``, ``D`` the standard deviation of the noise. A round: (1) Gaussian solution given
    pseudo-observations; (2) expectation propagation of each likelihood against its cavity; (3) a
    Newton step of all log variances by average information; (4) from the fourth round on, the
    scales of interactions and topics; (5) `D` follows the estimates.

    Each variance has a half-normal prior of its standard deviation (scale 1; .5 for interactions)
    times its own value to the power of .5, .25 for kernels, which keeps it off 0 [1]_.

    References
    ----------
    .. [1] Chung, Rabe-Hesketh, Dorie, Gelman and Liu (2013). A nondegenerate penalized likelihood
       estimator for variance parameters in multilevel models. Psychometrika 78.

    Examples
    --------
    >>> import numpy as np
    >>> from skbench.stats import mixed
    >>> ones = np.ones(4)
    >>> design = mixed.Design(np.arange(4), False, ones[:, None], np.array([-1]), ones[:, :0], ones)
    >>> counts = mixed.Counts(np.array([2.0, 4, 5, 9]), 10 * ones, ones)
    >>> fit = mixed.fit_mixed(counts, design)
    >>> mixed.group_posterior(fit).accuracy()[0].round(2)
    array([0.35, 0.46, 0.51, 0.75])
    """
    exists = design.exists()
    start, scale, power = np.full((3, len(exists)), [[0.1], [1.0], [0.5]])
    start[TOPIC], scale[OWN], power[KERNELS] = 0.5, 0.5, 0.25
    variances = np.where(exists, start, 0)
    weights = Weights(np.ones(len(design.topic)), np.ones(design.n_topics))
    sites, values = likelihood.first_precision, likelihood.first_mean
    latent, share = values, PRIOR_SHARE
    noise_scale = likelihood.noise_scale(values)
    for n_iter in range(1, _MOST_ROUNDS + 1):
        precision = Precision(design, variances, weights, sites, noise_scale)
        alpha = precision.times(values[:, None])[:, 0]
        state = State(likelihood, precision, weights, sites, values, alpha, precision.diagonal())
        before, latent = latent, precision.latent(alpha)
        step, gain = _newton(state, exists, scale, power)
        found = outliers(state, share)
        moved = max(np.max(np.abs(latent - before)), gain)
        if tell is not None:
            tell()
        if moved < tolerance and n_iter > _FIRST_SCALES:
            break
        sites, values = _moved_sites(state, n_iter)
        if n_iter >= _FIRST_SCALES:
            weights, share = found.moved(weights, variances[OWN]), found.share
        if n_iter <= _LAST_NOISE:
            noise_scale = np.sqrt(noise_scale * likelihood.noise_scale(latent))
        variances = variances * np.exp(step)
    return MixedFit(state, found, n_iter, bool(moved < tolerance))


def _moved_sites(state, n_iter):
    """New precisions and pseudo-observations, in the first rounds half way."""
    sites, linear = state.likelihood.updated(*state.cavity())
    if n_iter <= _HALF_STEPS:
        linear = (linear + state.sites * state.values) / 2
        sites = (sites + state.sites) / 2
    return sites, linear / sites


def _newton(state, exists, scale, power):
    """Step of the log variances, and the largest product of a step and its gradient."""
    precision, parts = state.precision, state.precision.parts(state.alpha)[:, exists]
    variances, power = precision.variances[exists], power[exists]
    gradient = (state.alpha @ parts - precision.traces(state.diagonal)[exists]) / 2
    gradient += power - variances / (2 * scale[exists] ** 2)
    information = parts.T @ precision.times(parts) / 2  # average information: no traces
    curvature = information + np.diag(power + np.maximum(0, -gradient))
    step = np.zeros(len(exists))
    step[exists] = np.clip(np.linalg.solve(curvature, gradient), -_LARGEST_STEP, _LARGEST_STEP)
    return step, np.max(np.abs(step[exists] * gradient))
