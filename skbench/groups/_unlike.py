"""Estimates of groups that may be unlike their peers, for methods with one prior for all."""

import numpy as np
from scipy.stats import norm

from skbench.groups._base import Bounds
from skbench.stats import mixed
from skbench.stats.mixed import Moments

FEWEST_SCORES = 20  # behind a sampling variance, to tell who is unlike its peers
_HEEDED = 0.1  # least probability that moves a group: with less, all stays as it was
_LEAST_VARIANCE = 1e-12


def _heeded(unlike):
    """Probabilities of being unlike the others, 0 where they are small."""
    return np.where(unlike > _HEEDED, unlike, 0.0)


def mixed_mean(value, alone, unlike):
    """Estimates from those of a common prior, and what each group says alone.

    Parameters
    ----------
    value : ndarray of shape (n_groups,)
        Of groups like their peers.
    alone : Moments
        Of groups unlike them.
    unlike : ndarray of shape (n_groups,)
        Probability of the second; below 1/10 it counts as 0.

    Returns
    -------
    ndarray of shape (n_groups,)
    """
    share = _heeded(unlike)
    return np.where(share > 0, (1 - share) * value + share * alone.score, value)


def mixed_bounds(bounds, alone, unlike, confidence_level):
    """The same for interval ends and standard errors.

    Parameters
    ----------
    bounds : Bounds
        Of groups like their peers; those of a normal law, as far as the mixture goes.
    alone, unlike
        As in `mixed_mean`.
    confidence_level : float

    Returns
    -------
    Bounds
    """
    share = _heeded(unlike)
    moved = np.flatnonzero(share > 0)
    if not len(moved):
        return bounds
    share, rest = share[moved], Moments(*(part[moved] for part in alone))
    low, high, error = (part[moved] for part in bounds)
    center, z = (low + high) / 2, norm.ppf((1 + confidence_level) / 2)
    spread = np.maximum(((high - low) / 2 / z) ** 2, _LEAST_VARIANCE)
    like = Moments(center, spread, np.zeros_like(center), center, error**2)
    mixture = mixed.mixture_moments((like, rest), np.stack([1 - share, share]))
    ends = mixed.mixture_interval((like, rest), share, confidence_level)
    new = (*ends, np.sqrt(mixture.score_variance))
    return Bounds(*(_replaced(*pair, moved) for pair in zip(bounds, new, strict=True)))


def _replaced(values, new, where):
    values = values.copy()
    values[where] = new
    return values
