"""Posterior laws after the loop: each group once more, new groups, and all groups jointly."""

import numpy as np
from scipy.special import softmax

from skbench.stats.mixed._effects import ALIKE, KERNELS, OWN, TOPIC
from skbench.stats.mixed._mixtures import Mixture
from skbench.stats.mixed._scales import LOG_TOPIC_PRIOR, OUTLYING_VARIANCE, TOPIC_WEIGHTS

_AT_ONCE = 2_000_000  # numbers of joint draws
_LEAST = 1e-300


def group_posterior(fit):
    """Each group against its cavity with either scale, exactly.

    Parameters
    ----------
    fit : MixedFit

    Returns
    -------
    Mixture
        Of ordinary groups, and of outlying ones.
    """
    state, slope, rest = fit.state, *_given_noisy(fit.state)
    cavity_mean, cavity_variance = state.cavity()
    noisy_mean = state.values - state.alpha / state.sites
    mean = state.precision.latent(state.alpha) + slope * (cavity_mean - noisy_mean)
    parts = []
    for _, noisy in state.cavities():
        change = noisy - cavity_variance  # of the own effect, which is in both
        covariance = slope * cavity_variance + change
        ratio = covariance / noisy
        latent = rest + slope**2 * cavity_variance + change
        left = np.maximum(latent - ratio * covariance, 0)
        tilted = state.likelihood.tilted(cavity_mean, noisy)
        variance = np.maximum(left + ratio**2 * tilted.variance, _LEAST)
        moved = mean + ratio * (tilted.mean - cavity_mean)
        parts.append((moved, variance, ratio**3 * tilted.third / variance**1.5))
    share = np.stack([1 - fit.outliers.group, fit.outliers.group])
    return Mixture(share, *(np.stack(x) for x in zip(*parts, strict=True)))


def _given_noisy(state):
    """Slope of the latent values on those with shared noise, and the variance this leaves."""
    precision, noise = state.precision, slice(state.precision.design.n_effects, None)
    columns, topic = precision.columns[:, noise], precision.design.topic
    noisy = (state.sites - state.diagonal) / state.sites**2
    # Covariance of shared noise with the whole: B' P of its own columns, over the site.
    within = precision.D_inverse * precision.own_within()
    by_model = precision.by_topic(precision.BVZ @ precision.H_inverse)
    shared = np.zeros(len(topic))
    for column in range(*noise.indices(precision.columns.shape[1])):
        own = within[:, column] - np.einsum("gp,gp->g", by_model[topic, column], precision.VZ)
        shared += precision.columns[:, column] * own / state.sites
    left = np.eye(columns.shape[1]) - precision.of_columns(noise)
    variance = noisy - 2 * shared + np.einsum("gi,gij,gj->g", columns, left[topic], columns)
    slope = np.divide(noisy - shared, noisy, out=np.ones_like(noisy), where=noisy > 0)
    return slope, np.maximum(variance - slope**2 * noisy, 0)


def new_groups(fit, Z, topic, shared, new_model, unseen):
    """Prior of new groups: what the fitted ones say of their model, topic and features.

    Parameters
    ----------
    fit : MixedFit
    Z : ndarray of shape (n_new, n_coefficients), columns of models and kernels
    topic : ndarray of int of shape (n_new,), -1 for a topic that was not fitted
    shared : ndarray of shape (n_new, n_factors), factors of their models' errors
    new_model : ndarray of bool of shape (n_new,), whether the model was not fitted
    unseen : ndarray of shape (n_new, n_kernels), kernels that no coefficient stands for

    Returns
    -------
    Mixture
        Of ordinary and outlying groups, for each weight that a new topic may have.
    """
    state, precision, known = fit.state, fit.state.precision, topic >= 0
    variances, own = precision.variances, slice(precision.design.n_effects)
    of_topic = np.sqrt(variances[TOPIC] / state.weights.topic)[topic]
    columns = np.column_stack([of_topic, np.sqrt(variances[ALIKE]) * shared])
    seen = columns * known[:, None]
    seen[:, 1:] *= ~new_model[:, None]
    means = precision.by_topic(precision.B.T @ state.alpha[:, None])[topic, own, 0]
    mean = Z @ precision.coefficients(state.alpha) + np.sum(seen * means, axis=1)
    around = Z - np.einsum("gi,gip->gp", seen, precision.by_topic(precision.BVZ)[topic, own])
    variance = np.einsum("gi,gij,gj->g", seen, precision.M_inverse[topic, own, own], seen)
    variance += np.sum((around @ precision.H_root.T) ** 2, axis=1) + unseen @ variances[KERNELS]
    variance += np.sum(columns[:, 1:] ** 2, axis=1) * (new_model | ~known)
    models = precision.coefficients(state.alpha)[precision.design.batch < 0]
    variance += new_model * _spread_of_models(models, precision)
    share = fit.outliers.share
    chances = np.outer([1 - share, share], softmax(LOG_TOPIC_PRIOR)).ravel()
    scales = np.repeat([variances[OWN], OUTLYING_VARIANCE], len(TOPIC_WEIGHTS))
    every = (
        variance + scales[:, None] + np.outer(np.tile(variances[TOPIC] / TOPIC_WEIGHTS, 2), ~known)
    )
    parts = np.broadcast_arrays(chances[:, None], mean, every, 0.0)
    return Mixture(*parts)


def _spread_of_models(effects, precision):
    """Variance of the effect of a new model around the mean of the fitted ones."""
    spread = np.var(effects, ddof=1) if len(effects) > 1 else precision.H_inverse[0, 0]
    return spread * (1 + 1 / len(effects))


def updated(prior, likelihood):
    """A mixture of new groups after their own direct estimates."""
    found = [likelihood.tilted(*part) for part in zip(prior.mean, prior.variance, strict=True)]
    log_mass, mean, variance, third = (np.stack(x) for x in zip(*found, strict=True))
    return Mixture(
        softmax(np.log(prior.share) + log_mass, axis=0), mean, variance, third / variance**1.5
    )


def joint_draws(fit, n_draws, rng):
    """Standard normal draws of all groups, correlated as their latent values are.

    Parameters
    ----------
    fit : MixedFit
    n_draws : int
    rng : numpy.random.Generator

    Yields
    ------
    draws : ndarray of shape (n_some, n_groups)
    outlying : ndarray of int of shape (n_some, n_groups)
        1 where the group is drawn as an outlier, for `Mixture.from_normal`.

    Notes
    -----
    Perturb and solve: effects and noise from the prior, ``f + K P (y - y*)``.
    """
    state, n_groups = fit.state, len(fit.state.alpha)
    slope, rest = _given_noisy(state)
    variance = rest + slope**2 * (state.sites - state.diagonal) / state.sites**2
    mean, scale = state.precision.latent(state.alpha), np.sqrt(np.maximum(variance, _LEAST))
    size = max(1, _AT_ONCE // n_groups)
    for start in range(0, n_draws, size):
        latent = _perturbed(state, min(size, n_draws - start), rng)
        outlying = rng.random(latent.shape) < fit.outliers.group
        yield (latent - mean) / scale, outlying.astype(int)


def _perturbed(state, n_draws, rng):
    precision, design = state.precision, state.precision.design
    effects = precision.columns.copy()
    effects[:, design.n_effects :] = 0
    B, own, prior = design.in_blocks(effects), precision.own_variance[:, None], precision.prior
    in_topics = rng.standard_normal((B.shape[1], n_draws))
    coefficients = np.sqrt(prior)[:, None] * rng.standard_normal((len(prior), n_draws))
    noise = rng.standard_normal((2, len(own), n_draws))
    latent = design.Z @ coefficients + B @ in_topics + np.sqrt(own) * noise[0]
    shared = (precision.B - B) @ in_topics
    seen = latent + shared + noise[1] / np.sqrt(state.sites)[:, None]
    alpha = precision.times(state.values[:, None] - seen)
    moved = design.Z @ (prior[:, None] * (design.Z.T @ alpha)) + B @ (B.T @ alpha) + own * alpha
    return (latent + moved).T
