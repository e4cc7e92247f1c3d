"""The hierarchical Dirichlet-multinomial model by slice sampling within Gibbs.

With the two categories correct and incorrect it is the hierarchical beta-binomial model.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from skbench.stats.resampling.markov_chains import slice_step


class GibbsChains(NamedTuple):
    """Draws from `gibbs`."""

    concentration: np.ndarray
    log_proportions: np.ndarray


def gibbs(counts, log_prior, start, n_draws, n_warmup, rng):
    """Draws of the concentrations and of the proportions of all tasks.

    Parameters
    ----------
    counts : ndarray of shape (n_models, n_tasks, n_categories)
        Numbers of items of each task by category.
    log_prior : callable
        Function ``log_prior(c, values, rest)``. It returns the log prior density of the
        concentration of category `c` up to a constant, given the sum `rest` of the others. All
        arrays have the shape (n_chains, n_models).
    start : ndarray of shape (n_chains, n_models, n_categories)
        Initial concentrations inside the support of the prior.
    n_draws, n_warmup : int
        Numbers of sweeps of each chain that are kept, and that are discarded before.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    GibbsChains
        NamedTuple of concentration, of shape (n_draws, n_chains, n_models, n_categories), and
        log_proportions, of shape (n_draws, n_chains, n_models, n_tasks, n_categories).

    Notes
    -----
    This is the sampler of section 2.2 of [1]_ for any number of categories. Proportions given
    concentrations are Dirichlet. Each concentration `alpha_c` given the proportions `p` has the
    density ``prior(alpha_c) prod_j [Gamma(sum alpha) / Gamma(alpha_c) * p_jc^alpha_c]``. Slice
    sampling on the log scale updates it. Logs of proportions avoid underflow with small
    concentrations.

    When not to use it: for two categories, where `skbench.stats.beta_binomial` is exact and faster.

    References
    ----------
    .. [1] Longjohn, Gopalan and Casleton (2024). Statistical uncertainty quantification for
       aggregate performance metrics in machine learning benchmarks.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> counts = np.array([[[7, 3], [8, 2]]])
    >>> chains = gibbs(counts, lambda c, x, rest: -x, np.ones((2, 1, 2)), 500, 50, rng)
    >>> chains.log_proportions.shape
    (500, 2, 1, 2, 2)
    """
    n_models, n_tasks, n_categories = counts.shape
    alpha = np.array(start, dtype=float)
    n_chains = len(alpha)
    concentration = np.empty((n_draws, n_chains, n_models, n_categories))
    log_proportions = np.empty((n_draws, n_chains, n_models, n_tasks, n_categories))
    for sweep in range(-n_warmup, n_draws):
        log_p = _log_dirichlet(alpha[:, :, None, :] + counts, rng)
        evidence = log_p.sum(axis=2)
        for c in range(n_categories):
            rest = np.delete(alpha, c, axis=2).sum(axis=2)
            log_density = partial(
                _log_conditional, rest, n_tasks, evidence[..., c], partial(log_prior, c)
            )
            alpha[..., c] = np.exp(slice_step(log_density, np.log(alpha[..., c]), rng))
        if sweep >= 0:
            concentration[sweep] = alpha
            log_proportions[sweep] = log_p
    return GibbsChains(concentration, log_proportions)


def log_uniform_prior(category, values, rest, n_categories=4):
    """Log prior density of a concentration, uniform in mean proportions and correlation.

    Parameters
    ----------
    category : int
        The category, which is ignored because the prior is the same for all.
    values, rest : ndarray
        The concentration and the sum of the others.
    n_categories : int, default=4
        Number of concentrations.

    Returns
    -------
    ndarray
        Log density up to a constant.

    Notes
    -----
    With the sum `s` of all K concentrations, ``alpha / s`` is uniform on the simplex and
    ``1 / (1 + s)``, the correlation of two items of one task, is uniform. The density is
    ``(1 + s)^-2 s^-(K - 1)``. With K = 2 it is the prior of `HierarchicalBetaBinomial`
    (test_two_categories_are_the_beta_binomial).

    Examples
    --------
    >>> log_uniform_prior(0, np.array([1.0, 2.0]), np.array([3.0, 2.0])).round(3)
    array([-7.378, -7.378])
    """
    size = values + rest
    return np.where(values > 0, -2 * np.log1p(size) - (n_categories - 1) * np.log(size), -np.inf)


def _log_dirichlet(alpha, rng):
    """Logs of Dirichlet draws without underflow for small concentrations."""
    log_gamma = np.log(rng.standard_gamma(alpha + 1)) - rng.exponential(size=alpha.shape) / alpha
    peak = log_gamma.max(axis=-1, keepdims=True)
    return log_gamma - peak - np.log(np.exp(log_gamma - peak).sum(axis=-1, keepdims=True))


def _log_conditional(rest, n_tasks, evidence, log_prior, log_alpha):
    """Log density of the log of one concentration, given the sum `rest` of the others."""
    alpha = np.exp(log_alpha)
    # A concentration that underflows gives nan, which is outside every slice.
    with np.errstate(invalid="ignore"):
        per_task = gammaln(alpha + rest) - gammaln(alpha)
    return n_tasks * per_task + alpha * evidence + log_prior(alpha, rest) + log_alpha
