"""Fit of the mixed model: Gaussian solution, expectation propagation, variances, scales."""

from typing import NamedTuple

import numpy as np

from skbench.stats.mixed._effects import KERNELS, MODELS, OWN, TOPIC, Sites, Solution, Weights
from skbench.stats.mixed._scales import PRIOR_SHARE, Outliers, no_outliers, outliers

_HALF_STEPS = 2  # iterations in which pseudo-observations move halfway
_FIRST_SCALES = 4  # first iteration that looks for outliers
_LAST_NOISE = 40  # last iteration in which the noise follows the estimates
_MOST_ROUNDS = 200


class MixedFit(NamedTuple):
    """Result of `fit_mixed`: the last solution, outliers, and number of iterations."""

    solution: Solution
    outliers: Outliers
    n_iter: int
    converged: bool


def fit_mixed(likelihood, design, tolerance=1e-3, *, heavy_tails=True, callback=None):
    """Fit a mixed model to one direct estimate per group.

    Parameters
    ----------
    likelihood : Counts or Scores
        Likelihood of the groups, in the order of `design`.
    design : Design
        Effects of each group.
    tolerance : float, default=1e-3
        Convergence limit for changes of posterior means, and for steps times their gradients.
    heavy_tails : bool, default=True
        Whether interactions and topics are scale mixtures of normals; False means normal.
    callback : callable or None, default=None
        Called without arguments after each iteration.

    Returns
    -------
    MixedFit

    Notes
    -----
    The latent value `f` of a group is the sum of the effects of its model, topic and kernels, of
    effects shared by models with correlated item errors, and of an interaction. Sampling noise with
    correlation ``diag(psi) + U U'`` is split into noise ``D U eta``, shared by the groups of a
    topic, and likelihoods to the power ``1 / psi``. `D` is the standard deviation of the noise.
    Each iteration has these steps:

    1. Gaussian solution given pseudo-observations, variances and scales (`Solution`).
    2. Expectation propagation of each likelihood against its cavity.
    3. A Newton step of all log variances with average information.
    4. From the fourth iteration on, the scales of interactions and topics (`outliers`).
    5. `D` follows the estimates.

    Each standard deviation has a half-normal prior (scale 1; .5 for interactions), times the
    variance to the power .5 (.25 for kernels), so that no estimate is 0 (Chung, Rabe-Hesketh,
    Dorie, Gelman and Liu 2013, Psychometrika 78). Expectation propagation (Minka 2001, UAI 17)
    avoids the bias of penalized quasi-likelihood with few items (Breslow and Clayton 1993, JASA
    88). Average information is that of Gilmour, Thompson and Cullis (1995, Biometrics 51). Joint
    draws solve a perturbed system (Papandreou and Yuille 2010, NIPS 23).

    **When not to use it.** `skbench.MixedModel` is the interface for data.

    Examples
    --------
    >>> from skbench.stats import mixed
    >>> ones = np.ones(4)
    >>> column, one_model = ones[:, None], np.zeros(4, int)
    >>> none = column[:, :0]
    >>> design = mixed.Design(
    ...     np.arange(4), False, one_model, column, none, np.zeros(1, int), none, ones)
    >>> counts = mixed.Counts(np.array([2.0, 4, 5, 9]), 10 * ones, ones)
    >>> fit = mixed.fit_mixed(counts, design)
    >>> mixed.group_posterior(fit, counts).accuracy()[0].round(2)
    array([0.33, 0.44, 0.5 , 0.73])
    """
    prior = _prior(design)
    variances, weights = prior[0], Weights(np.ones(len(design.topic)), np.ones(design.n_topics))
    sites, share = likelihood.first_sites(), PRIOR_SHARE
    latent, noise_scale = sites.mean, likelihood.noise_scale(sites.mean)
    for n_iter in range(1, _MOST_ROUNDS + 1):
        solution = Solution(design, variances, weights, sites, noise_scale)  # (1)
        before, latent = latent, solution.latent
        step, gain = _newton(solution, *prior)
        found = no_outliers(design)
        if heavy_tails and n_iter >= _FIRST_SCALES:
            found = outliers(solution, likelihood, share)
        moved = max(np.max(np.abs(latent - before)), gain)
        if callback is not None:
            callback()
        if moved < tolerance and n_iter > _FIRST_SCALES:
            break
        new = likelihood.updated(*solution.cavity())  # (2)
        sites = _half_way(sites, new) if n_iter <= _HALF_STEPS else new
        variances = variances * np.exp(step)  # (3)
        if heavy_tails and n_iter >= _FIRST_SCALES:  # (4)
            weights, share = found.moved(weights, solution.variances[OWN]), found.share
        if n_iter <= _LAST_NOISE:  # (5)
            noise_scale = np.sqrt(noise_scale * likelihood.noise_scale(latent))
    return MixedFit(solution, found, n_iter, bool(moved < tolerance))


def _prior(design):
    """Start values and flags of the estimated variances, and scales and powers of their priors."""
    several = design.has_topics
    there = [several, True, several and design.n_effects > 1, False, *[True] * design.batch.max()]
    start, scale, power = np.full((3, len(there)), [[0.1], [1.0], [0.5]])
    start[TOPIC], scale[OWN], power[KERNELS] = 0.5, 0.5, 0.25
    start = np.where(there, start, 0)
    start[MODELS] = 2.5**2  # known
    return start, np.array(there), scale, power


def _half_way(sites, new):
    precision = (sites.precision + new.precision) / 2
    linear = sites.precision * sites.mean + new.precision * new.mean
    return Sites(precision, linear / 2 / precision)


def _newton(solution, start, learned, scale, power):
    """Step of the log variances, and the largest product of a step and its gradient."""
    gradient = (solution.alpha @ solution.parts - solution.traces()) / 2
    gradient += power - solution.variances / (2 * scale**2)
    information = solution.information() / 2  # average information: no traces
    curvature = information + np.diag(power + np.maximum(0, -gradient))
    step = np.zeros(len(gradient))
    step[learned] = np.linalg.solve(curvature[np.ix_(learned, learned)], gradient[learned])
    step = np.clip(step, -1, 1)
    return step, np.max(np.abs(step * gradient))
