"""Markov chains: slice sampler, effective sample size and R-hat."""

import numpy as np

_MAX_STEPS = 10_000


def slice_step(log_density, x, rng, width=1.0):
    """One slice sampling update of many chains at once.

    Parameters
    ----------
    log_density : callable
        Unnormalized log density. It takes and returns arrays of the shape of `x`.
    x : ndarray
        Current states of the chains, with positive density.
    rng : numpy.random.Generator
        Source of randomness.
    width : float, default=1.0
        Length of a step outwards. A poor choice only takes more time.

    Returns
    -------
    ndarray of the shape of `x`
        New states of the chains.

    Raises
    ------
    RuntimeError
        If the density is 0 at `x`, does not decrease, or is not reproducible.

    Notes
    -----
    Stepping out and shrinkage, figures 3 and 5 of Neal (2003, Annals of Statistics 31, 705-767).

    Examples
    --------
    >>> rng, x = np.random.default_rng(0), np.zeros(5000)
    >>> for _ in range(10):
    ...     x = slice_step(lambda x: -x**2 / 2, x, rng)
    >>> float(x.std().round(1))
    1.0
    """
    level = log_density(x) - rng.exponential(size=x.shape)
    if not np.all(np.isfinite(level)):
        raise RuntimeError("log_density is not finite at the state of a chain. Change x.")
    low = x - width * rng.random(x.shape)
    high = low + width
    low = _step_out(log_density, low, level, -width)
    high = _step_out(log_density, high, level, width)
    new = x.copy()
    waiting = np.ones(x.shape, dtype=bool)
    for _ in range(_MAX_STEPS):
        candidate = low + (high - low) * rng.random(x.shape)
        inside = log_density(candidate) > level
        new = np.where(waiting & inside, candidate, new)
        waiting &= ~inside
        if not waiting.any():
            return new
        low = np.where(waiting & (candidate < x), candidate, low)
        high = np.where(waiting & (candidate >= x), candidate, high)
    raise RuntimeError("log_density returns different values for the same x.")


def effective_sample_size(chains):
    """Number of independent draws whose mean has the same variance.

    Parameters
    ----------
    chains : ndarray of shape (n_draws, n_chains, ...)
        At least 4 draws of each chain after warm-up.

    Returns
    -------
    ndarray of shape (...)
        Effective sample size; nan if all draws are equal.

    Notes
    -----
    Halves of chains count as chains. Autocorrelations are summed in pairs until a pair is negative,
    and each pair is at most the previous one (Vehtari et al. 2021, Bayesian Analysis 16, 667-718).
    The effective sample size is at most ``log10`` of the number of draws times that number.

    Examples
    --------
    >>> independent = np.random.default_rng(0).normal(size=(1000, 4))
    >>> bool(3000 < effective_sample_size(independent) < 5000)
    True
    """
    chains = _split(chains)
    n_draws, n_chains = chains.shape[:2]
    within, total = _variances(chains)
    centered = chains - chains.mean(axis=0)
    spectrum = np.fft.rfft(centered, n=2 * n_draws, axis=0)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, axis=0)[:n_draws].mean(axis=1) / n_draws
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = 1 - (within * (n_draws - 1) / n_draws - covariance) / total
        # The correlation at lag 0 is 1.
        correlation[0] = np.where(total > 0, 1.0, np.nan)
        pairs = correlation[: n_draws // 2 * 2].reshape((-1, 2) + total.shape).sum(axis=1)
        pairs = np.minimum.accumulate(pairs, axis=0)
        pairs = np.where(np.minimum.accumulate(pairs > 0, axis=0), pairs, 0.0)
        n_all = n_draws * n_chains
        time = np.maximum(2 * pairs.sum(axis=0) - 1, 1 / np.log10(n_all))
    return np.where(total > 0, n_all / time, np.nan)


def r_hat(chains):
    """Ratio of the standard deviation of all chains together to that within chains.

    Parameters
    ----------
    chains : ndarray of shape (n_draws, n_chains, ...)
        At least 4 draws of each chain after warm-up.

    Returns
    -------
    ndarray of shape (...)
        R-hat, which is 1 if chains agree; nan if all draws are equal. Above 1.01 use longer chains.

    Notes
    -----
    This is the split R-hat, the square root of the ratio of the pooled variance to the mean
    variance within chains. Halves of chains count as chains.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> apart = rng.normal(size=(1000, 4)) + np.arange(4)
    >>> bool(r_hat(apart) > 1.5)
    True
    """
    within, total = _variances(_split(chains))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total > 0, np.sqrt(total / within), np.nan)


def _step_out(log_density, end, level, step):
    for _ in range(_MAX_STEPS):
        inside = log_density(end) > level
        if not inside.any():
            return end
        end = np.where(inside, end + step, end)
    raise RuntimeError("log_density does not decrease, so a slice has no end.")


def _split(chains):
    """Treat halves of chains as chains, so that drift within a chain becomes visible."""
    half = len(chains) // 2
    return np.concatenate([chains[:half], chains[-half:]], axis=1)


def _variances(chains):
    """Mean variance within chains, and pooled variance."""
    n_draws = len(chains)
    within = chains.var(axis=0, ddof=1).mean(axis=0)
    between = chains.mean(axis=0).var(axis=0, ddof=1)
    return within, within * (n_draws - 1) / n_draws + between
