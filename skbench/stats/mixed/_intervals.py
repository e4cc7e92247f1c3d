"""Intervals of posteriors that are nearly normal, or mixtures of two such."""

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm

_MOST_SKEWED = 1.0  # skewness beyond which the Cornish-Fisher expansion misleads
_STEPS = 60  # at most; six are usual
_EXACT = 1e-9  # last step, of the distance between the two intervals: the error is its square
_SHORTER = 0.6  # of the last step but one: longer steps do not converge
_NEVER = 1e-4  # probability of a component that leaves the interval where it is


def skewed_interval(mean, variance, skewness, confidence_level=0.95):
    """Equal-tailed interval of a distribution close to normal.

    Parameters
    ----------
    mean, variance, skewness : ndarray of shape (n_groups,)
        Of the distribution.
    confidence_level : float, default=0.95
        Probability between the ends.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)
        Cornish-Fisher quantiles ``mean + std (z + skewness (z^2 - 1) / 6)`` [1]_, with
        skewness cut to [-1, 1].

    References
    ----------
    .. [1] Cornish and Fisher (1938). Moments and cumulants in the specification of
       distributions. Review of the International Statistical Institute 5, 307-320.

    Examples
    --------
    >>> import numpy as np
    >>> low, high = skewed_interval(0.0, 1.0, np.array([0.0, 0.5]))
    >>> print(low.round(2), high.round(2))
    [-1.96 -1.72] [1.96 2.2 ]
    """
    tail = norm.ppf((1 - confidence_level) / 2)
    return tuple(_quantile(z, mean, variance, skewness) for z in (tail, -tail))


def mixture_interval(components, unlike, confidence_level=0.95):
    """Equal-tailed interval of a mixture of two distributions close to normal.

    Parameters
    ----------
    components : tuple of two Moments
        Of groups like their peers, and unlike them.
    unlike : ndarray of shape (n_groups,)
        Probability of the second.
    confidence_level : float, default=0.95
        Probability between the ends.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)
        Of the latent values, by Newton's method; those of `skewed_interval` where one component
        has all the probability.
    """
    laws = [(part.mean, part.variance, _skewness(part)) for part in components]
    ends = np.array([skewed_interval(*law, confidence_level) for law in laws])
    certain = np.where(unlike < 0.5, ends[0], ends[1])
    doubtful = np.flatnonzero(np.minimum(unlike, 1 - unlike) > _NEVER)
    laws = [tuple(x[doubtful] for x in law) for law in laws]
    low, high = ends[..., doubtful].min(axis=0), ends[..., doubtful].max(axis=0)
    wanted = np.array([[(1 - confidence_level) / 2], [(1 + confidence_level) / 2]])
    start = certain[:, doubtful]
    certain[:, doubtful] = _roots(laws, unlike[doubtful], wanted, low, high, start)
    return certain[0], certain[1]


def _roots(laws, share, wanted, low, high, start):
    """Where the distribution function of the mixture is `wanted`, searched from `start` on."""
    width = high - low
    known = start, low, high, width, _EXACT * width, share, wanted, *laws[0], *laws[1]
    table = np.array([part.ravel() for part in np.broadcast_arrays(*known)])
    found, going = start.ravel(), np.arange(start.size)
    for _ in range(_STEPS):
        x, low, high, before, least, share, wanted, *laws = table
        parts = _cdf(x, *laws[:3]), _cdf(x, *laws[3:])
        excess, slope = (
            (1 - share) * first + share * second for first, second in zip(*parts, strict=True)
        )
        excess = excess - wanted
        low, high = np.where(excess < 0, x, low), np.where(excess < 0, high, x)
        step = np.divide(excess, slope, out=np.full_like(x, np.nan), where=slope > 0)
        newton = np.clip(x - step, low, high)
        # Half way where steps do not get shorter: between two components the slope misleads.
        new = np.where(np.abs(newton - x) <= _SHORTER * before, newton, (low + high) / 2)
        moved, found[going] = np.abs(new - x), new
        table[:4] = new, low, high, moved
        on = (moved > least) & (high - low > least)
        if not on.any():
            break
        going, table = going[on], table[:, on]
    return found.reshape(start.shape)


def _skewness(part):
    return np.clip(part.third / part.variance**1.5, -_MOST_SKEWED, _MOST_SKEWED)


def _quantile(z, mean, variance, skewness):
    """Cornish-Fisher quantile at the normal quantile `z`."""
    skewness = np.clip(skewness, -_MOST_SKEWED, _MOST_SKEWED)
    return mean + np.sqrt(variance) * (z + skewness * (z**2 - 1) / 6)


def _cdf(x, mean, variance, skewness):
    """The law with those quantiles, between the points where they turn round, and its density."""
    scale = np.sqrt(variance)
    y = (x - mean) / scale
    root = np.sqrt(np.maximum(1 + 2 * skewness / 3 * (y + skewness / 6), 0))
    # The root of skewness / 6 z^2 + z = y + skewness / 6 that is y where skewness is 0.
    z = 2 * (y + skewness / 6) / (1 + root)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) / scale
    return ndtr(z), np.divide(density, root, out=np.zeros_like(z), where=root > 0)
