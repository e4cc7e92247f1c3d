"""Posterior laws after the loop: each group once more, new groups, and all groups jointly."""

import numpy as np
from scipy.special import softmax

from skbench.stats.intervals.mixtures import Mixture
from skbench.stats.mixed._effects import ALIKE, KERNELS, OUTLYING_VARIANCE, OWN, TOPIC, in_blocks
from skbench.stats.mixed._scales import LOG_TOPIC_PRIOR, TOPIC_WEIGHTS

_AT_ONCE = 2_000_000  # numbers in a table of draws, or of covariances with new groups
_LEAST = 1e-100  # variance


def group_posterior(fit, likelihood):
    """Each group against its cavity with either scale, exactly.

    Parameters
    ----------
    fit : MixedFit
    likelihood : Counts or Scores, that was fitted

    Returns
    -------
    Mixture
        Of ordinary groups, and of outlying ones.
    """
    solution, (slope, rest) = fit.solution, _given_noisy(fit.solution)
    cavity_mean, cavity_variance = solution.cavity()
    noisy_mean = solution.sites.mean - solution.alpha / solution.sites.precision
    mean = solution.latent + slope * (cavity_mean - noisy_mean)
    parts = []
    for _, noisy in solution.cavities():
        change = noisy - cavity_variance  # of the own effect, which is in both
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
    """Slope of the latent values on those with shared noise, and the variance this leaves."""
    noise, topic = slice(solution.design.n_effects, None), solution.design.topic
    columns = solution.columns[:, noise]
    noisy = (solution.sites.precision - solution.diagonal) / solution.sites.precision**2
    # Covariance of the shared noise with the whole: B' P of the own columns, over the site.
    shared = solution.D_inverse * solution.own_within[:, noise]
    by_model = solution.by_topic(solution.BVZ @ solution.H_inverse)[:, noise]
    for factor, own in enumerate(by_model.transpose(1, 0, 2)):
        shared[:, factor] -= np.einsum("gp,gp->g", own[topic], solution.VZ)
    shared = np.sum(columns * shared, axis=1) / solution.sites.precision
    left = np.eye(columns.shape[1]) - solution.of_columns(noise)
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
    shared : ndarray of shape (n_new, n_factors), factors of their models' errors, 0 if not fitted
    new_model : ndarray of bool of shape (n_new,), whether the model was not fitted
    unseen : ndarray of shape (n_new, n_kernels), kernels that no coefficient stands for

    Returns
    -------
    Mixture
        Of ordinary and outlying groups, for each weight that a new topic may have.
    """
    solution, design, variances = fit.solution, fit.solution.design, fit.solution.variances
    of_topic = np.sqrt(variances[TOPIC] / solution.weights.topic)[topic] * (topic >= 0)
    alike = np.sqrt(variances[ALIKE]) * shared
    columns = np.column_stack([of_topic, alike * (topic >= 0)[:, None]])
    blocks = in_blocks(columns, np.maximum(topic, 0), design.n_topics)
    fitted = in_blocks(solution.columns[:, : design.n_effects], design.topic, design.n_topics)
    mean, known = np.empty(len(Z)), np.empty(len(Z))
    size = max(1, _AT_ONCE // len(design.topic))
    for at in (slice(start, start + size) for start in range(0, len(Z), size)):
        covariance = design.Z @ (solution.prior * Z[at]).T + (fitted @ blocks[at].T).toarray()
        mean[at] = covariance.T @ solution.alpha
        known[at] = np.sum(covariance * solution.times(covariance), axis=0)
    prior = Z**2 @ solution.prior + of_topic**2 + np.sum(alike**2, axis=1)
    # A new model varies around the mean of the fitted ones. With few of them their variance is
    # uncertain: it has a prior mean of 2, worth half a model.
    effects = solution.coefficients()[design.batch == 0]
    of_model = (1 + np.sum((effects - effects.mean()) ** 2)) / (len(effects) - 0.5)
    of_model *= 1 + 1 / len(effects)
    of_model += variances[ALIKE] * np.sum(design.shared**2, axis=1).mean()
    prior += unseen @ variances[KERNELS] + new_model * of_model
    scales = np.repeat([variances[OWN], OUTLYING_VARIANCE], len(TOPIC_WEIGHTS))[:, None]
    of_topics = variances[TOPIC] if design.n_topics > 1 else 1.0  # unknown: that of the prior
    scales = scales + np.outer(np.tile(of_topics / TOPIC_WEIGHTS, 2), topic < 0)
    share = np.outer([1 - fit.outliers.share, fit.outliers.share], softmax(LOG_TOPIC_PRIOR))
    variance = np.maximum(prior - known, 0) + scales
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
    outlying : ndarray of int of shape (n_some, n_groups)
        1 where the group is drawn as an outlier, for `Mixture.from_normal`.

    Notes
    -----
    Perturb and solve: effects and noise from the prior, ``f + K P (y - y*)``.
    """
    solution, (slope, rest) = fit.solution, _given_noisy(fit.solution)
    precision = solution.sites.precision
    variance = rest + slope**2 * (precision - solution.diagonal) / precision**2
    size = max(1, _AT_ONCE // len(precision))
    for start in range(0, n_draws, size):
        latent = _perturbed(solution, min(size, n_draws - start), rng)
        outlying = rng.random(latent.shape) < fit.outliers.group
        scale = np.sqrt(np.maximum(variance, _LEAST))
        yield (latent - solution.latent) / scale, outlying.astype(int)


def _perturbed(solution, n_draws, rng):
    design, own, prior = solution.design, solution.own_variance[:, None], solution.prior[:, None]
    effects = solution.columns.copy()
    effects[:, design.n_effects :] = 0
    B = in_blocks(effects, design.topic, design.n_topics)
    in_topics = rng.standard_normal((B.shape[1], n_draws))
    noise = rng.standard_normal((2, len(own), n_draws))
    latent = design.Z @ (np.sqrt(prior) * rng.standard_normal((len(prior), n_draws)))
    latent += B @ in_topics + np.sqrt(own) * noise[0]
    seen = latent + (solution.B - B) @ in_topics
    seen += noise[1] / np.sqrt(solution.sites.precision)[:, None]
    alpha = solution.times(solution.sites.mean[:, None] - seen)
    return (latent + design.Z @ (prior * (design.Z.T @ alpha)) + B @ (B.T @ alpha) + own * alpha).T
