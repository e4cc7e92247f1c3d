"""Topics far from the others: how far is integrated over."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from skbench.stats.mixed import _fit as fitting
from skbench.stats.mixed._gaussian import Posterior
from skbench.stats.mixed._precision import inverse
from skbench.stats.mixed._structure import Noise, Structure, apply

_SHARE = 0.25  # of topics whose effects have a Cauchy law, before any data
_STEP = 1.0  # of the log of a factor of their variances
_MOST_PROBABLE = 3  # which of the levels has the most probable factor
_LEVELS = np.exp(_STEP * (np.arange(1, 7) - _MOST_PROBABLE))  # times it; the first level is 1
_ROUGH_STEP = 0.5
_ROUGH = np.exp(_ROUGH_STEP * np.arange(-2, 14))[:, None]  # factors to begin with
_TOLERANCE = 3e-5  # of log odds
_MAX_STEPS = 50
_LEAST_LEFT = 1e-12  # of an effect that is known all but exactly
_ENTRIES = 1_000_000  # of the matrices that are worked on at a time


class FarTopics(NamedTuple):
    """What is known of topics far from the others.

    Attributes
    ----------
    blocks : ndarray of int of shape (n_far,)
        Which topics.
    likelihood, structure
        Of them alone.
    fits : BlockFit
        Of them alone: at each of several levels of the factors of their variances, with each
        of the variances that are integrated over.
    weights : ndarray of shape (n_fits, n_far)
        Posterior probabilities of the fits.
    topic_mean, topic_mean_variance : ndarray of shape (n_far,)
        Posterior means and variances of the topics' effects.
    """

    blocks: np.ndarray
    likelihood: fitting.Binomial | fitting.Gaussian
    structure: Structure
    fits: fitting.BlockFit
    weights: np.ndarray
    topic_mean: np.ndarray
    topic_mean_variance: np.ndarray


class _Rest(NamedTuple):
    """What all others say of the latent values of topics, but for the topics' own effects.

    mean : ndarray of shape (n_fits, n_far, B)
    covariance : ndarray of shape (n_fits, n_far, B, B)
    noise : ndarray of shape (n_far, B, B), covariance of the noise that they share
    """

    mean: np.ndarray
    covariance: np.ndarray
    noise: np.ndarray


class _Alone(NamedTuple):
    """Posterior of topics taken one by one; names as in `BlockFit` and `Posterior`.

    log_evidence, topic_mean, topic_variance : ndarray of shape (n_fits, n_far)
    """

    W: np.ndarray
    b: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    noisy_mean: np.ndarray
    noisy_variance: np.ndarray
    slope: np.ndarray
    log_evidence: np.ndarray
    topic_mean: np.ndarray
    topic_variance: np.ndarray


class _Noisy(NamedTuple):
    """Posterior of latent values plus the noise that they share, and what it rests on."""

    noisy_mean: np.ndarray
    noisy_variance: np.ndarray
    precision: np.ndarray
    residual: np.ndarray
    log_evidence: np.ndarray


def far_probability(residual, precision, prior, variance):
    """Probability that topics are far from the others, by pseudo-observations as they are.

    Parameters
    ----------
    residual, precision : ndarray of shape (n_blocks,)
        Of each topic, the sums of ``V^-1 (y - X beta)`` and of ``V^-1``.
    prior : ndarray of shape (n_blocks,)
        The variances of the topics' effects that `V` has.
    variance : float
        That of topics like the others.

    Returns
    -------
    probability : ndarray of shape (n_blocks,)
    square : ndarray of shape (n_blocks,)
        Expected square of the effect of a topic that is far, over `variance`.

    Examples
    --------
    >>> import numpy as np
    >>> seen, noise, prior = np.array([0.5, 2.5]), 0.25, 0.25
    >>> precision = 1 / (prior + noise)
    >>> far_probability(precision * seen, precision, prior, prior)[0].round(2)
    array([0.19, 0.89])
    """
    left = np.maximum(1 - prior * precision, _LEAST_LEFT)
    known, pull = precision / left, residual / left

    def log_evidence(prior):
        return (pull**2 * prior / (1 + prior * known) - np.log1p(prior * known)) / 2

    factors = _ROUGH * variance
    logs = _log_prior(_ROUGH, _ROUGH_STEP) + log_evidence(factors)
    most = logs.max(axis=0)
    weights = np.exp(logs - most)
    total = weights.sum(axis=0)
    log_odds = logit(_SHARE) + most + np.log(total) - log_evidence(variance)
    own = factors / (1 + factors * known)
    square = np.sum(weights * ((own * pull) ** 2 + own), axis=0) / total
    return expit(log_odds), square / variance


def _log_prior(factor, step):
    """Log probability of the factors of variances that make a normal law a Cauchy one."""
    return np.log(step) - (np.log(2 * np.pi) + np.log(factor) + 1 / factor) / 2


def far_topics(likelihood, structure, peers, fits, weights):
    """Integrate over the variances of the effects of topics that may be far from the others.

    Parameters
    ----------
    likelihood, structure
        As in `skbench.stats.mixed._fit.fits_at`.
    peers : Peers
        That the variances of the structure are those of.
    fits : BlockFit
        Several, with these.
    weights : ndarray of shape (n_fits,)
        Theirs.

    Returns
    -------
    FarTopics

    Notes
    -----
    The effect of a topic is normal, or with probability 1/4 has the Cauchy law of the same
    scale: a normal law whose variance is itself uncertain. Its most probable value in
    its place would believe that a topic is just as far away as it seems. What the other
    topics say of the coefficients stays as it is, so each topic is a small problem of its own,
    at every level of its variance.
    """
    blocks = np.flatnonzero(peers.far > 1)
    stretch = peers.stretch[blocks]
    factor = np.vstack([np.ones(len(blocks)), _LEVELS[:, None] * peers.far[blocks]])[:, None]
    prior = structure.topic_variance(fits.variances)
    prior = np.broadcast_to(prior, (len(weights), len(peers.far)))[:, blocks] / stretch * factor
    which = np.tile(np.arange(len(weights)), len(factor))
    part = likelihood.part(blocks)
    found = _each_alone(part, _rest(structure, fits, blocks), _sites(fits, blocks), prior, which)
    log_prior = np.log(_SHARE) + _log_prior(factor, _STEP)
    log_prior[0] = np.log(1 - _SHARE)
    evidence = found.log_evidence.reshape(prior.shape)
    # The weights of the fits know these topics already, with the factors that they have.
    known = np.where(stretch == 1, evidence[0], evidence[_MOST_PROBABLE])
    log_weights = np.log(np.maximum(weights, np.finfo(float).tiny))[:, None]
    log_weights = (log_prior + evidence + log_weights - known).reshape(len(which), -1)
    shares = np.exp(log_weights - log_weights.max(axis=0))
    shares /= shares.sum(axis=0)
    mean = np.sum(shares * found.topic_mean, axis=0)
    return FarTopics(
        blocks,
        part,
        _structure_of(structure, blocks),
        fitting.BlockFit(
            fits.variances[which], found.W, found.b, None, _posterior(found, fits.noise is None)
        ),
        shares,
        mean,
        np.sum(shares * (found.topic_variance + (found.topic_mean - mean) ** 2), axis=0),
    )


def _rest(structure, fits, blocks):
    """Take topics, each of them alone, out of what is known of the coefficients."""
    posterior, member = fits.posterior, fits.posterior.precision.law.kinds.member
    precision = posterior.precision.dense()
    precision = precision[..., blocks if isinstance(member, slice) else member[blocks], :, :]
    known = structure.design.covariance(posterior.covariance).dense()
    known = np.broadcast_to(_of(known, blocks, -3), precision.shape)
    one = np.eye(known.shape[-1])
    known = np.linalg.solve(one - known @ precision, known)
    mean = structure.design.times(posterior.coefficients)[..., blocks, :]
    mean = mean - apply(known, posterior.residual[..., blocks, :])
    own = _of(structure.own_variance(fits.variances), blocks)
    noise = np.zeros((len(blocks), *one.shape))
    if fits.noise is not None:
        scale, shared = _of(fits.noise.scale, blocks), _of(fits.noise.shared, blocks, -3)
        noise = Noise(scale, shared).covariance()
    return _Rest(mean, known + own[..., None] * one, noise)


def _sites(fits, blocks):
    return tuple(
        np.broadcast_to(x, fits.posterior.mean.shape)[..., blocks, :] for x in (fits.W, fits.b)
    )


def _each_alone(likelihood, rest, sites, prior, which):
    """All levels and fits, a few after the other where matrices are large."""
    prior = prior.reshape(len(which), -1)
    step = max(1, _ENTRIES // rest.covariance[0].size)
    parts = []
    for at in range(0, len(which), step):
        some = which[at : at + step]
        known = _Rest(rest.mean[some], rest.covariance[some], rest.noise)
        start = tuple(x[some] for x in sites)
        parts.append(_alone(likelihood, known, *start, prior[at : at + step]))
    return _Alone(*(np.concatenate(x) for x in zip(*parts, strict=True)))


def _alone(likelihood, rest, W, b, prior):
    """Posterior of topics whose effects have these prior variances."""
    latent = rest.covariance + prior[..., None, None]
    noisy = latent + rest.noise
    found, previous = _given(W, b, rest.mean, noisy), np.inf
    for _ in range(0 if likelihood.is_gaussian else _MAX_STEPS):
        if np.max(np.abs(found.noisy_mean - previous)) < _TOLERANCE:
            break
        previous = found.noisy_mean
        W, b = likelihood.update(W, b, found)
        found = _given(W, b, rest.mean, noisy)
    gain = latent @ found.precision
    return _Alone(
        W=W,
        b=b,
        mean=rest.mean + apply(latent, found.residual),
        variance=_left(gain, latent, latent),
        noisy_mean=found.noisy_mean,
        noisy_variance=found.noisy_variance,
        slope=_left(gain, noisy, latent) / found.noisy_variance,
        log_evidence=found.log_evidence + likelihood.block_evidence(W, b, found),
        topic_mean=prior * found.residual.sum(axis=-1),
        topic_variance=prior - prior**2 * found.precision.sum(axis=(-2, -1)),
    )


def _given(W, b, mean, covariance):
    """Posterior of normal values with this law, seen as ``b / W`` with precision `W`."""
    root = np.sqrt(W)
    inner = np.eye(W.shape[-1]) + root[..., :, None] * covariance * root[..., None, :]
    inverted, log_determinant = inverse(inner)
    precision = root[..., :, None] * inverted * root[..., None, :]
    value = np.divide(b, root, out=np.zeros_like(b), where=root > 0)
    away = value - root * mean
    drawn = apply(inverted, away)
    evidence = np.sum(value**2 - away * drawn, axis=-1) - log_determinant
    return _Noisy(
        noisy_mean=mean + apply(covariance, root * drawn),
        noisy_variance=_left(covariance @ precision, covariance, covariance),
        precision=precision,
        residual=root * drawn,
        log_evidence=evidence / 2,
    )


def _left(gain, values, common):
    """Diagonal of the covariance of two values less what was seen: ``common - gain values``."""
    explained = np.sum(gain * np.swapaxes(values, -1, -2), axis=-1)
    return np.maximum(np.diagonal(common, axis1=-2, axis2=-1) - explained, 0)


def _posterior(found, is_exact):
    """As `components` reads it; without shared noise, the values with it are the values."""
    parts = {name: getattr(found, name, None) for name in Posterior._fields}
    return Posterior(**parts | {"slope": None if is_exact else found.slope})


def _structure_of(structure, blocks):
    known = structure.known
    return structure._replace(
        own=_of(structure.own, blocks), known=known if np.ndim(known) == 0 else _of(known, blocks)
    )


def _of(values, blocks, axis=-2):
    """Values of some blocks, on this axis; what all have in common stays as it is."""
    return values if values.shape[axis] == 1 else np.take(values, blocks, axis=axis)
