"""Exact posterior of the chain-rule estimand: few human labels, a discrete autorater.

The estimand is ``theta = sum_a P(A = a) sum_h w_h P(H = h | A = a)`` with A the autorater's value,
H the human label and w_h the number that label stands for. The distribution of A has a Dirichlet
posterior from the unlabeled rows, and so has H given each value of A from the labeled ones; all are
independent.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, gammaln, softmax

from skbench.stats.ppi._beta_mixtures import mixture_quantiles
from skbench.stats.ppi._beta_products import binary_lower_quantile
from skbench.stats.ppi.posteriors import k_proportion_draws

# With fewer unlabeled rows the posterior of the verdicts piles up at its edges: the Fourier
# inversion is then off by up to half a standard deviation.
_FEWEST_ROWS = 3
_N_DRAWS = 200_000
_STRENGTHS = (1.0, 4.0, 16.0, 64.0, 256.0)  # of the learned prior, in labels
_APART = np.log(0.25)  # odds of the center that weighs values, not labels
_POOLS_LITTLE = 0.3
_EDGE = 0.04  # of a label: keeps the mean inside the range where all labels agree


class ChainMoments(NamedTuple):
    """Exact posterior moments of the chain-rule estimand, one entry per group.

    Attributes
    ----------
    mean : ndarray of shape (n_groups,)
    unlabeled_variance : ndarray of shape (n_groups,)
        From not knowing the distribution of the autorater's values.
    labeled_variance : ndarray of shape (n_groups,)
        From not knowing the human labels given those values; the two add up.
    """

    mean: np.ndarray
    unlabeled_variance: np.ndarray
    labeled_variance: np.ndarray


def chain_moments(unlabeled, label_counts, label_values):
    """Exact posterior mean and variance of the chain-rule estimand.

    Parameters
    ----------
    unlabeled : array-like of shape (n_groups, n_values)
        Unlabeled rows by autorater value.
    label_counts : array-like of shape (n_groups, n_values, n_labels)
        Labeled rows by autorater value and human label.
    label_values : array-like of shape (n_labels,)
        Number that each human label stands for: ``(1, 0)`` for the probability of the first of two
        labels.

    Returns
    -------
    ChainMoments

    Notes
    -----
    With ``p ~ Dirichlet(unlabeled + 1/n_values)`` and ``m_a`` the mean label under
    ``Dirichlet(label_counts_a + 1/n_labels)``, the mean is ``sum_a E p_a E m_a`` and the variance
    is ``Var_p(sum_a p_a E m_a) + sum_a E(p_a^2) Var m_a``. Section 4.4 of [1]_; for two labels the
    priors are Jeffreys'.

    References
    ----------
    .. [1] Hofer, Maynez, Dhingra, Fisch, Globerson and Cohen (2024). Bayesian Prediction-Powered
       Inference.

    Examples
    --------
    >>> m = chain_moments([[600, 400]], [[[10, 1], [2, 7]]], [1, 0])
    >>> print(f"{m.mean[0]:.4f} {np.sqrt(m.unlabeled_variance + m.labeled_variance)[0]:.4f}")
    0.6249 0.0765
    """
    alpha, beta, values = _posteriors(unlabeled, label_counts, label_values)
    total = alpha.sum(axis=1, keepdims=True)
    rate, rate_squared = alpha / total, alpha * (alpha + 1) / (total * (total + 1))
    given = beta.sum(axis=2)
    label_mean = label_means(label_counts, values)
    label_variance = (beta @ values**2 / given - label_mean**2) / (given + 1)
    mean = (rate * label_mean).sum(axis=1)
    between = (rate * (label_mean - mean[:, None]) ** 2).sum(axis=1)
    return ChainMoments(
        mean, between / (total[:, 0] + 1), (rate_squared * label_variance).sum(axis=1)
    )


def prior_pull(shares, label_counts, label_values):
    """How far the priors of `chain_moments` move the mean from what the labels say.

    Parameters
    ----------
    shares : array-like of shape (n_groups, n_values)
        How common each value of the autorater is.
    label_counts, label_values
        As in `chain_moments`.

    Returns
    -------
    ndarray of shape (n_groups,)
        ``sum_a share_a (m - r_a) / (n_a + 1)``, with ``m`` the mean of the label values and ``r_a``
        that of the ``n_a`` labels of value `a`, where it has none of all labels.

    Examples
    --------
    >>> prior_pull([[0.6, 0.4]], [[[10, 0], [0, 4]]], [1, 0]).round(3)
    array([0.013])
    """
    counts, values = np.asarray(label_counts, float), np.asarray(label_values, float)
    n, total = counts.sum(axis=2), counts.sum(axis=(1, 2))[:, None]
    overall = counts.sum(axis=1) @ values / np.maximum(total[:, 0], 1)
    means = np.where(n > 0, counts @ values / np.maximum(n, 1), overall[:, None])
    return np.sum(np.asarray(shares) * (values.mean() - means) / (n + 1), axis=1)


def label_means(label_counts, label_values):
    """Posterior mean label given each value of the autorater.

    Parameters
    ----------
    label_counts, label_values
        As in `chain_moments`.

    Returns
    -------
    ndarray of shape (n_groups, n_values)

    Notes
    -----
    ``E m_a`` of `chain_moments`; with two labels, (k + 1/2) / (n + 1) for k of n.

    Examples
    --------
    >>> label_means([[[10, 1], [2, 7]]], [1, 0])
    array([[0.875, 0.25 ]])
    """
    counts = np.asarray(label_counts, float)
    beta = counts + 1 / counts.shape[-1]
    return beta @ np.asarray(label_values, float) / beta.sum(axis=-1)


def chain_mean_of_pooled_prior(unlabeled, label_counts, label_values):
    """Mean of the chain-rule estimand under priors that the labels choose.

    Parameters
    ----------
    unlabeled, label_counts, label_values
        As in `chain_moments`.

    Returns
    -------
    ndarray of shape (n_groups,)

    Notes
    -----
    The prior of the labels given a value is ``Dirichlet(s m)`` with the center `m` of what the
    labels say together: the shares of all labels, or the mean over values of the shares of each,
    weighted by ``n_a (s + 1) / (n_a + s)``. The mean is averaged over both centers and over
    strengths `s` of 1, 4, 16, 64 and 256 by their marginal likelihood; a priori the first center is
    four times as likely, and a strength as likely as ``s**-0.3``.

    With a truth of .99, 20 labels, two values and a useless autorater the mean squared error is
    1.02 times that of the mean label, 5.2 times with the prior of the paper
    (test_no_worse_than_the_labels_near_one). Intervals are too short where all labels of a value
    agree.

    Examples
    --------
    >>> counts = [[[15, 0], [5, 0]]]
    >>> chain_moments([[700, 300]], counts, [1, 0]).mean.round(3)
    array([0.953])
    >>> chain_mean_of_pooled_prior([[700, 300]], counts, [1, 0]).round(3)
    array([1.])
    """
    counts = np.asarray(label_counts, float)
    n, n_labels = counts.sum(axis=2, keepdims=True), counts.shape[2]
    log_weights, means = [], []
    for strength, apart in product(_STRENGTHS, (False, True)):
        weights = counts * (strength + 1) / (strength + n) if apart else counts
        together = weights.sum(axis=1, keepdims=True)
        prior = strength * _shares(together, 1 / n_labels)
        terms = gammaln(prior + counts) - gammaln(prior)
        given = gammaln(strength) - gammaln(strength + n[:, :, 0])
        a_priori = _APART * apart - _POOLS_LITTLE * np.log(strength)
        log_weights.append(given.sum(axis=1) + terms.sum(axis=(1, 2)) + a_priori)
        added = strength * _shares(together, _EDGE / n_labels) - 1 / n_labels
        means.append(chain_moments(unlabeled, counts + added, label_values).mean)
    return np.sum(softmax(log_weights, axis=0) * means, axis=0)


def _shares(counts, added):
    """Shares of the labels, with `added` to each."""
    return (counts + added) / (counts + added).sum(axis=2, keepdims=True)


def chain_interval(unlabeled, label_counts, label_values, confidence_level=0.95):
    """Equal-tailed posterior interval of the chain-rule estimand, without draws.

    Parameters
    ----------
    unlabeled, label_counts, label_values
        As in `chain_moments`.
    confidence_level : float, default=0.95
        Posterior probability of the interval.

    Returns
    -------
    low, high : ndarray of shape (n_groups,)

    Notes
    -----
    One autorater value and two labels: beta quantiles. Two and two, the binary chain rule of
    section 4.4.1 of Hofer et al. (2024, see `chain_moments`): nested quadrature, with errors of the
    ends around 1e-6 of a standard deviation, and at most 1e-3 where labels are few and the
    autorater was hardly ever wrong (test_binary_against_slow_quadrature). Any other number of
    values and labels, or few unlabeled rows: Fourier inversion, some four times slower with two
    labels and 20 to 200 times with more, as accurate but for ends near the edge of the range, which
    can be off by 4e-4. With at least three but few unlabeled rows ends are off by up to .03
    standard deviations; with fewer than three they
    are quantiles of 200,000 draws of a fixed seed, off by .01.

    Examples
    --------
    >>> low, high = chain_interval([[600, 400]], [[[10, 1], [2, 7]]], [1, 0])
    >>> print(f"{low[0]:.4f} {high[0]:.4f}")
    0.4635 0.7706
    """
    tail = (1 - confidence_level) / 2
    values = np.asarray(label_values, dtype=float)
    least, span = values.min(), np.ptp(values)
    unlabeled, label_counts = np.asarray(unlabeled, float), np.asarray(label_counts, float)
    low, high = _quantiles(unlabeled, label_counts, (values - least) / span, tail)
    return least + span * low, least + span * high


def chain_draws(unlabeled, label_counts, label_values, n_draws, rng):
    """Draws from the posterior of the chain-rule estimand.

    Parameters
    ----------
    unlabeled, label_counts, label_values
        As in `chain_moments`.
    n_draws : int
        Number of draws.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n_draws, n_groups)

    Notes
    -----
    All labels given one autorater value are drawn jointly: P(win | a) and P(loss | a) drawn apart
    could sum to more than 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> chain_draws([[600, 400]], [[[10, 1], [2, 7]]], [1, 0], 1000, rng).shape
    (1000, 1)
    """
    unlabeled, label_counts = np.asarray(unlabeled), np.asarray(label_counts)
    draws = np.empty((n_draws, len(unlabeled)))
    for group, (totals, counts) in enumerate(zip(unlabeled, label_counts, strict=True)):
        rates = k_proportion_draws(totals, n_draws, rng)
        label_means = k_proportion_draws(counts, n_draws, rng) @ np.asarray(label_values, float)
        draws[:, group] = (rates * label_means).sum(axis=1)
    return draws


def _posteriors(unlabeled, label_counts, label_values):
    unlabeled, counts = np.asarray(unlabeled, float), np.asarray(label_counts, float)
    return (
        unlabeled + 1 / unlabeled.shape[-1],
        counts + 1 / counts.shape[-1],
        np.asarray(label_values, float),
    )


def _quantiles(unlabeled, label_counts, label_values, tail):
    """Both ends, for labels that stand for numbers from 0 to 1."""
    n_values, n_labels = label_counts.shape[1:]
    if n_values == 1 and n_labels == 2:
        a, b = label_counts[:, 0, np.argsort(label_values)[::-1]].T + 0.5
        return betaincinv(a, b, tail), betaincinv(a, b, 1 - tail)
    moments = chain_moments(unlabeled, label_counts, label_values)
    drawn = unlabeled.sum(axis=1) < _FEWEST_ROWS
    by_quadrature = np.zeros(len(drawn), dtype=bool)
    if n_values == n_labels == 2:
        by_quadrature = ~drawn & (moments.unlabeled_variance <= moments.labeled_variance)
    ends = np.empty((2, len(drawn)))
    for row in np.flatnonzero(drawn):
        rng = np.random.default_rng(0)
        draws = chain_draws(unlabeled[[row]], label_counts[[row]], label_values, _N_DRAWS, rng)
        ends[:, row] = np.quantile(draws[:, 0], [tail, 1 - tail])
    ways = (_binary_quantiles, by_quadrature), (mixture_quantiles, ~by_quadrature & ~drawn)
    for quantiles, rows in ways:
        if rows.any():
            own = ChainMoments(*(column[rows] for column in moments))
            given = unlabeled[rows], label_counts[rows], label_values, own
            ends[:, rows] = quantiles(*given, (tail, 1 - tail))
    return ends


def _binary_quantiles(unlabeled, label_counts, label_values, moments, tails):
    """The upper end is one minus the lower end with right and wrong swapped."""
    k, n = label_counts[:, :, int(np.argmax(label_values))], label_counts.sum(axis=2)
    mean, variance = moments.mean, moments.unlabeled_variance + moments.labeled_variance
    share = moments.unlabeled_variance / variance
    pairs = (unlabeled, unlabeled), (k, n - k), (n, n), (mean, 1 - mean)
    both = (np.concatenate(pair) for pair in (*pairs, (variance, variance), (share, share)))
    low, high = np.split(binary_lower_quantile(*both, tails[0]), 2)
    return low, 1 - high
