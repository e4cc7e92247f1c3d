"""Groups unlike their peers: a wide component for the interaction, heavy tails for topics."""

from typing import NamedTuple

import numpy as np
from scipy.special import logit

from skbench.stats.mixed import _fit as fitting
from skbench.stats.mixed._far_topics import far_probability
from skbench.stats.mixed._moments import Cavity
from skbench.stats.mixed._sites import cavity

UNLIKE_VARIANCE = 2.5**2  # of a group unlike its peers, around 0: nothing is borrowed
_APART = 100.0  # variance of an interaction that lets a group say nothing of the others
_PRIOR_WORTH = 40  # groups that the prior of their share is worth
_SHARE_STEPS = 25  # pairs of them
_SHARE_EXACT = 1e-14  # relative change that is rounding
_LARGEST_LOG = 700.0  # of a number that is not infinite
_FREEDOM = 3  # of the t law of the topics' effects
_HEAVY = 2.0  # factor of a topic's variance below which it counts as normal
_SAME = 0.1  # change of the log of that factor that needs no other fit
_HEEDED = 0.4  # least probability with which a topic may be far from the others
_LEAST_FAR = 1.001  # factor by which to tell them: 1 is that of the others
_ROUNDS = 4
_NO_PEERS = 1e4  # times the variance of a group unlike its peers: from a flat prior alone


class Peers(NamedTuple):
    """Who is taken as unlike its peers.

    share : float, prior probability of a group
    wide : ndarray of bool of shape (n_blocks, B), which groups say nothing of the others
    stretch : ndarray of shape (n_blocks,), factors of the topics' variances
    far : ndarray of shape (n_blocks,), the most probable factors of topics that may be far from
        the others; 1 for those that are like them; None if nobody looked
    """

    share: float
    wide: np.ndarray
    stretch: np.ndarray
    far: np.ndarray | None = None


def fitting_peers(likelihood, structure, prior_std, variances, share, tell=None):
    """Variances at their maximum, groups and topics unlike the others set apart.

    A generator, as `skbench.stats.mixed._together` has them.

    Parameters
    ----------
    likelihood, structure, prior_std, variances, tell
        As in `skbench.stats.mixed._fit.fitting_blocks`. The last of the kernels is the
        interaction; the one before it, if any, the topic.
    share : float
        Prior share of groups unlike their peers; 0 for none, and for normal topics.

    Returns
    -------
    fit : BlockFit
    structure : Structure
        With the variances of those that were set apart.
    peers : Peers
    """
    plain, structure = structure, fitting.with_kinds(likelihood, structure)
    fit = yield from fitting.fitting_blocks(likelihood, structure, prior_std, variances, tell=tell)
    peers = Peers(share, np.zeros(fit.W.shape, dtype=bool), *np.ones((2, len(fit.W))))
    if share == 0:
        return fit, structure, peers
    for _ in range(_ROUNDS):
        before, peers = peers, _regarded(likelihood, structure, fit, share)
        moved = np.max(np.abs(np.log(peers.stretch / before.stretch)))
        if np.array_equal(before.wide, peers.wide) and moved < _SAME:
            return fit, structure, peers._replace(stretch=before.stretch)
        structure = fitting.with_kinds(likelihood, _set_apart(plain, peers))
        fit = yield from fitting.fitting_blocks(
            likelihood, structure, prior_std, fit.variances, fit, tell=tell
        )
    return fit, structure, peers


def log_bayes_factors(masses, W, laws):
    """How much better each observation is predicted if its group is unlike its peers.

    Parameters
    ----------
    masses : tuple of two ndarray
        Log probabilities of the observations by these laws.
    W : ndarray
        Precisions of the pseudo-observations.
    laws : tuple of two Cavity
        `components` of a fit; all may be blocks or rows.

    Returns
    -------
    ndarray
        Logs; 0 where nothing was seen, or no other group says anything of this one.
    """
    # Of the only group of a model, all others say nothing: there are no peers to be unlike.
    has_peers = laws[0].noisy_variance < _NO_PEERS * laws[1].noisy_variance
    return np.where((W > 0) & has_peers, masses[1] - masses[0], 0)


def components(structure, fit):
    """What all but its own observation says of a group, if it is like its peers, and if not.

    Returns
    -------
    ordinary, unlike : Cavity
        Of arrays of shape (n_blocks, B).
    """
    posterior = fit.posterior
    noisy_mean, noisy_variance = cavity(
        fit.W, fit.b, posterior.noisy_mean, posterior.noisy_variance
    )
    narrow = _narrow_variance(structure, fit.variances)
    added = narrow - structure.own_variance(fit.variances)
    own = np.full_like(noisy_mean, UNLIKE_VARIANCE)
    if posterior.slope is None:
        zero = np.zeros_like(noisy_mean)
        # Rounding may leave less, where an observation is all but exact.
        total = np.maximum(noisy_variance + added, narrow)
        ordinary = Cavity(noisy_mean, total, noisy_mean, None, None)
        return ordinary, Cavity(zero, own, zero, None, None)
    mean = posterior.mean - posterior.slope * (posterior.noisy_mean - noisy_mean)
    common = posterior.slope * noisy_variance  # covariance of the latent and the noisy value
    variance = posterior.variance - posterior.slope**2 * posterior.noisy_variance
    variance += posterior.slope * common
    noise = np.maximum(noisy_variance - 2 * common + variance, 0)
    total = np.maximum(noisy_variance + added, narrow)
    laws = (
        (noisy_mean, total, mean, common + added, variance + added),
        (noisy_mean - mean, own + noise, np.zeros_like(mean), own, own),
    )
    return [_cavity(*law) for law in laws]


def _cavity(noisy_mean, noisy_variance, mean, common, variance):
    slope = common / noisy_variance
    return Cavity(noisy_mean, noisy_variance, mean, slope, np.maximum(variance - slope * common, 0))


def topic_effects(structure, fit):
    """Posterior means, variances and prior variances of the topics, coefficients known."""
    prior = structure.topic_variance(fit.variances)
    mean = prior * fit.posterior.residual.sum(axis=-1)
    precision = fit.posterior.precision
    seen = precision.sums().sum(axis=-1)[..., precision.law.kinds.member]
    return mean, prior - prior**2 * seen, prior


def _regarded(likelihood, structure, fit, prior_share):
    laws = components(structure, fit)
    masses = [likelihood.log_mass(law.noisy_mean, law.noisy_variance) for law in laws]
    factors = log_bayes_factors(masses, fit.W, laws)
    share = posterior_share(factors[fit.W > 0], prior_share)
    return Peers(share, factors > -logit(share), *_stretched(structure, fit))


def _stretched(structure, fit):
    """Factors of the topics' variances, and of those that may be far from the others."""
    ones = np.ones(len(fit.W))
    if structure.topic is None:
        return ones, ones
    mean, variance, prior = topic_effects(structure, fit)
    heavy = _scale((mean**2 + variance) / fit.variances[0])
    precision = fit.posterior.residual.sum(axis=-1), (1 - variance / prior) / prior
    probability, square = far_probability(*precision, prior, fit.variances[0])
    far = np.maximum(_scale(square), _LEAST_FAR)
    stretch = np.where(heavy > _HEAVY, heavy, np.where(probability > 0.5, far, 1.0))
    return stretch, np.where(stretch > 1, stretch, np.where(probability > _HEEDED, far, 1.0))


def _scale(square):
    """Most probable factor of a variance, given the expected square of the effect."""
    return (_FREEDOM + square) / (_FREEDOM + 1)


def posterior_share(log_factors, prior_share):
    """Share of groups unlike their peers, by expectation and maximization.

    Parameters
    ----------
    log_factors : ndarray of shape (..., n_groups)
        Logs of Bayes factors for being unlike them.
    prior_share : float
        Expected share before any data, as if seen in 40 groups.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> import numpy as np
    >>> print(posterior_share(np.append(np.full(79, -2.0), 8.0), 0.01).round(3))
    0.013
    """
    against = np.exp(np.clip(-log_factors, -_LARGEST_LOG, _LARGEST_LOG))
    share, worth = np.full(log_factors.shape[:-1], prior_share), _PRIOR_WORTH + against.shape[-1]
    room = np.empty_like(against)

    def step(share):
        odds = (share / (1 - share))[..., None]
        unlike = np.divide(odds, np.add(odds, against, out=room), out=room).sum(axis=-1)
        return (_PRIOR_WORTH * prior_share + unlike) / worth

    for _ in range(_SHARE_STEPS):
        first = step(share)
        second = step(first)
        if np.all(np.abs(second - first) <= _SHARE_EXACT * first):
            break
        # Steps shrink by the same factor: on to where they lead, as Aitken has it.
        bend = second - 2 * first + share
        ahead = share - (first - share) ** 2 / np.where(bend == 0, np.inf, bend)
        share = np.where((ahead > 0) & (ahead < 1), ahead, second)
    return second


def _set_apart(structure, peers):
    """The structure, with the variances of those that are unlike the others."""
    own = np.where(peers.wide, 0.0, 1.0)
    topic = None if structure.topic is None else peers.stretch * structure.topic
    return structure._replace(topic=topic, own=own, known=_APART * (1 - own))


def _narrow_variance(structure, variances):
    return variances[..., structure.n_effects - 1, None, None]
