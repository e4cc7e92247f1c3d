"""Posterior distributions after the fit: fitted groups, new groups, and joint draws."""

import numpy as np
from scipy.special import softmax

from skbench.stats.intervals.mixtures import Mixture
from skbench.stats.mixed._effects import (
    ALIKE,
    KERNELS,
    OUTLYING_VARIANCE,
    OWN,
    TOPIC,
    Covariances,
    Rows,
    in_blocks,
)
from skbench.stats.mixed._scales import LOG_TOPIC_PRIOR, TOPIC_WEIGHTS

_AT_ONCE = 2_000_000  # size of a table of draws
_LEAST = 1e-100  # smallest variance


def group_posterior(fit, likelihood):
    """Posterior of each group from its exact likelihood and its cavity, for either scale.

    Parameters
    ----------
    fit : MixedFit
    likelihood : Counts or Scores
        The fitted likelihood.

    Returns
    -------
    Mixture
        Of ordinary and outlying groups.
    """
    solution, (slope, rest) = fit.solution, _given_noisy(fit.solution)
    cavity_mean, cavity_variance = solution.cavity()
    noisy_mean = solution.sites.mean - solution.alpha / solution.sites.precision
    mean = solution.latent + slope * (cavity_mean - noisy_mean)
    parts = []
    for _, noisy in solution.cavities():
        change = noisy - cavity_variance  # variance of the interaction, present in both
        covariance = slope * cavity_variance + change
        ratio = covariance / noisy
        left = rest + slope**2 * cavity_variance + change - ratio * covariance
        tilted = likelihood.tilted(cavity_mean, noisy)
        variance = np.maximum(left, 0) + np.maximum(ratio**2 * tilted.variance, _LEAST)
        moved = mean + ratio * (tilted.mean - cavity_mean)
        parts.append((moved, variance, ratio**3 * tilted.third / variance**1.5))
    share = np.stack([1 - fit.outliers.group, fit.outliers.group])
    return Mixture(share, *(np.stack(x) for x in zip(*parts, strict=True)))


def _given_noisy(solution):
    """Slope of the latent values on those with shared noise, and the residual variance."""
    noise, design = solution.rows.of_topic.copy(), solution.design
    noise[:, : design.n_effects] = 0
    B = in_blocks(noise, design.topic, design.n_topics)
    precision = solution.sites.precision
    noisy = (precision - solution.diagonal) / precision**2
    # Covariance of the shared noise with the whole: B' P of the own columns, over the site.
    shared = solution.D_inverse[:, 0] * solution.covariances.with_sums(B, solution.rows) / precision
    variance = noisy - 2 * shared + solution.covariances.of_topics(B, noise)
    slope = np.divide(noisy - shared, noisy, out=np.ones_like(noisy), where=noisy > 0)
    return slope, np.maximum(variance - slope**2 * noisy, 0)


def new_groups(fit, rows, unseen):
    """Prior of new groups, given the fitted effects of their models, topics and features.

    Parameters
    ----------
    fit : MixedFit
    rows : Rows
        Topic and model are -1 if not fitted. Columns of topics are the error factors of the
        models, 0 if not fitted.
    unseen : ndarray of shape (n_new, n_kernels)
        Variance of each kernel that no fitted coefficient covers.

    Returns
    -------
    Mixture
        Of ordinary and outlying groups, for each possible weight of a new topic.
    """
    solution, design, variances = fit.solution, fit.solution.design, fit.solution.variances
    topic, new_model = rows.topic, rows.model < 0
    of_topic = np.sqrt(variances[TOPIC] / solution.weights.topic)[topic]
    alike = np.sqrt(variances[ALIKE]) * rows.of_topic
    columns = np.column_stack([of_topic, alike, 0 * alike]) * (topic >= 0)[:, None]
    # A new model varies around the mean of the fitted models, which is added as one more model.
    # With few models, their variance has a prior mean of 2 with half a model's weight.
    topics, crossed, coefficients = solution.covariances
    n_models, n_own, means = design.n_models, design.own.shape[1], solution.coefficients
    if new_model.any():
        mean_model = np.zeros((n_own, len(means)))
        mean_model[0, : n_models * n_own : n_own] = 1 / n_models
        more = np.insert(np.eye(len(means)), n_models * n_own, mean_model, axis=0)
        crossed, coefficients = crossed @ more.T, more @ coefficients @ more.T
        n_models, means = n_models + 1, more @ means
    rows = Rows(
        np.maximum(topic, 0),
        columns,
        np.where(new_model, n_models - 1, rows.model),
        rows.own,
        rows.common,
    )
    mean = rows.products(solution.of_topics, means).sum(axis=1)
    effects = solution.model_effects
    of_model = (1 + np.sum((effects - effects.mean()) ** 2)) / (len(effects) - 0.5)
    of_model *= 1 + 1 / len(effects)
    of_model += variances[ALIKE] * np.sum(design.shared**2, axis=1).mean()
    B = in_blocks(columns, rows.topic, design.n_topics)
    known = Covariances(topics, crossed, coefficients)
    prior = (
        known.of_sums(B, in_blocks(rows.own, rows.model, n_models), rows)
        + unseen @ variances[KERNELS]
        + new_model * of_model
    )
    prior += np.sum(alike**2, axis=1) * (topic < 0)
    scales = np.repeat([variances[OWN], OUTLYING_VARIANCE], len(TOPIC_WEIGHTS))[:, None]
    of_topics = variances[TOPIC] if design.n_topics > 1 else 1.0  # unknown: that of the prior
    scales = scales + np.outer(np.tile(of_topics / TOPIC_WEIGHTS, 2), topic < 0)
    share = np.outer([1 - fit.outliers.share, fit.outliers.share], softmax(LOG_TOPIC_PRIOR))
    variance = np.maximum(prior, 0) + scales
    return Mixture(*np.broadcast_arrays(share.reshape(-1, 1), mean, variance, 0.0))


def updated(prior, likelihood):
    """A mixture of new groups after their own direct estimates."""
    found = [likelihood.tilted(*part) for part in zip(prior.mean, prior.variance, strict=True)]
    log_mass, mean, variance, third = (np.stack(x) for x in zip(*found, strict=True))
    share = softmax(np.log(np.maximum(prior.share, _LEAST)) + log_mass, axis=0)
    return Mixture(share, mean, variance, third / variance**1.5)


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
    outlying : ndarray of bool of shape (n_some, n_groups)
        Whether the group is drawn as an outlier, for ``Mixture.from_normal``.

    Notes
    -----
    Perturb and solve: with effects and noise drawn from the prior, ``f + K P (y - y*)``.
    """
    solution, (slope, rest) = fit.solution, _given_noisy(fit.solution)
    precision = solution.sites.precision
    variance = rest + slope**2 * (precision - solution.diagonal) / precision**2
    size = max(1, _AT_ONCE // len(precision))
    for start in range(0, n_draws, size):
        latent = _perturbed(solution, min(size, n_draws - start), rng)
        outlying = rng.random(latent.shape) < fit.outliers.group
        scale = np.sqrt(np.maximum(variance, _LEAST))
        latent -= solution.latent
        latent /= scale
        yield latent, outlying


def _perturbed(solution, n_draws, rng):
    design, own = solution.design, solution.own_variance[:, None]
    effects = solution.rows.of_topic.copy()
    effects[:, design.n_effects :] = 0
    B = in_blocks(effects, design.topic, design.n_topics)
    in_topics = rng.standard_normal((B.shape[1], n_draws))
    latent, seen = rng.standard_normal((2, len(own), n_draws))
    coefficients = np.empty((len(solution.prior), n_draws))
    by_batch = np.argsort(design.batches, kind="stable")
    coefficients[by_batch] = rng.standard_normal(coefficients.shape)
    coefficients *= np.sqrt(solution.prior)[:, None]
    latent *= np.sqrt(own)
    seen /= np.sqrt(solution.sites.precision)[:, None]
    seen += latent
    seen += solution.of_effects(in_topics, coefficients)
    alpha, *moved = solution.solved(np.subtract(solution.sites.mean[:, None], seen, out=seen))
    alpha *= own
    latent += alpha
    del alpha, seen
    in_topics += moved[0]
    coefficients += moved[1]
    latent += B @ in_topics
    latent += solution.of_coefficients(coefficients)
    return latent.T
