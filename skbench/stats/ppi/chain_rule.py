"""Exact posterior of the chain-rule estimand, from few human labels and many verdicts.

The estimand is ``theta = sum_a P(A = a) sum_h w_h P(H = h | A = a)`` with the verdict A of the
judge (autorater), the human label H and the number w_h of each label. The distribution of A has a
Dirichlet posterior from the unlabeled rows. The distribution of H given each A has a Dirichlet
posterior from the labeled rows. All posteriors are independent.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, gammaln, softmax

from skbench.stats.ppi._beta_mixtures import mixture_quantiles
from skbench.stats.ppi._beta_products import binary_lower_quantile
from skbench.stats.ppi.posteriors import k_proportion_draws

# With fewer unlabeled rows the posterior of the verdicts concentrates at its edges, and the Fourier
# inversion has errors of up to half a standard deviation.
_FEWEST_ROWS = 3
_N_DRAWS = 200_000
_STRENGTHS = (1.0, 4.0, 16.0, 64.0, 256.0)  # of the prior that the labels choose, in labels
_BY_VALUE = np.log(0.25)  # prior log odds of the center that weights verdicts instead of labels
_DECAY = 0.3  # exponent of the prior of strengths
_EDGE = 0.04  # labels that keep the mean inside the range if all labels agree


class ChainMoments(NamedTuple):
    """Exact posterior moments of the chain-rule estimand, one entry per group.

    Attributes
    ----------
    mean : ndarray of shape (n_groups,)
    unlabeled_variance : ndarray of shape (n_groups,)
        Variance because the distribution of verdicts is unknown.
    labeled_variance : ndarray of shape (n_groups,)
        Variance because the human labels given the verdicts are unknown. The sum of both is the
        posterior variance.
    """

    mean: np.ndarray
    unlabeled_variance: np.ndarray
    labeled_variance: np.ndarray


def chain_moments(unlabeled, label_counts, label_values):
    """Exact posterior mean and variance of the chain-rule estimand.

    Parameters
    ----------
    unlabeled : array-like of shape (n_groups, n_values)
        Numbers of unlabeled rows by verdict.
    label_counts : array-like of shape (n_groups, n_values, n_labels)
        Numbers of labeled rows by verdict and human label.
    label_values : array-like of shape (n_labels,)
        Number of each human label, such as ``(1, 0)`` for the probability of the first of two
        labels.

    Returns
    -------
    ChainMoments

    Notes
    -----
    With ``p ~ Dirichlet(unlabeled + 1/n_values)`` and ``m_a`` the mean label under
    ``Dirichlet(label_counts_a + 1/n_labels)``, the mean is ``sum_a E p_a E m_a`` and the variance
    is ``Var_p(sum_a p_a E m_a) + sum_a E(p_a^2) Var m_a``. This is the model of section 4.4 of
    [1]_. For two labels the priors are Jeffreys'.

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
    """Shift of the posterior mean by the priors of `chain_moments`.

    Parameters
    ----------
    shares : array-like of shape (n_groups, n_values)
        Proportion of rows with each verdict.
    label_counts, label_values
        As in `chain_moments`.

    Returns
    -------
    ndarray of shape (n_groups,)
        ``sum_a share_a (m - r_a) / (n_a + 1)`` with the mean ``m`` of the label values and the mean
        ``r_a`` of the ``n_a`` labels of verdict `a`, or of all labels if it has none.

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
    """Posterior mean label given each verdict.

    Parameters
    ----------
    label_counts, label_values
        As in `chain_moments`.

    Returns
    -------
    ndarray of shape (n_groups, n_values)

    Notes
    -----
    The result is ``E m_a`` of `chain_moments`. With two labels it is (k + 1/2) / (n + 1) for k of
    n.

    Examples
    --------
    >>> label_means([[[10, 1], [2, 7]]], [1, 0])
    array([[0.875, 0.25 ]])
    """
    counts = np.asarray(label_counts, float)
    beta = counts + 1 / counts.shape[-1]
    return beta @ np.asarray(label_values, float) / beta.sum(axis=-1)


def chain_mean_of_pooled_prior(unlabeled, label_counts, label_values):
    """Mean of the chain-rule estimand under a prior that the labels choose.

    Parameters
    ----------
    unlabeled, label_counts, label_values
        As in `chain_moments`.

    Returns
    -------
    ndarray of shape (n_groups,)

    Notes
    -----
    The prior of the labels given a verdict is ``Dirichlet(s m)``. The center `m` is the
    distribution of all labels, or the mean of the distributions given each verdict, weighted by
    ``n_a (s + 1) / (n_a + s)``. The result averages over both centers and over strengths `s` of 1,
    4, 16, 64 and 256 by their marginal likelihood. The prior probability of the first center is
    four times that of the second. That of a strength is proportional to ``s**-0.3``.

    With a true mean of 0.99, 20 labels, two verdicts and a useless judge the mean squared error is
    1.02 times that of the mean label; with the prior of the paper it is 5.2 times
    (test_no_worse_than_the_labels_near_one).

    When not to use it: for intervals, which are too short if all labels of a verdict agree.

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
    for strength, by_value in product(_STRENGTHS, (False, True)):
        weights = counts * (strength + 1) / (strength + n) if by_value else counts
        together = weights.sum(axis=1, keepdims=True)
        prior = strength * _shares(together, 1 / n_labels)
        terms = gammaln(prior + counts) - gammaln(prior)
        given = gammaln(strength) - gammaln(strength + n[:, :, 0])
        a_priori = _BY_VALUE * by_value - _DECAY * np.log(strength)
        log_weights.append(given.sum(axis=1) + terms.sum(axis=(1, 2)) + a_priori)
        added = strength * _shares(together, _EDGE / n_labels) - 1 / n_labels
        means.append(chain_moments(unlabeled, counts + added, label_values).mean)
    return np.sum(softmax(log_weights, axis=0) * means, axis=0)


def _shares(counts, added):
    """Proportions of the labels after adding `added` to each count."""
    return (counts + added) / (counts + added).sum(axis=2, keepdims=True)


def chain_interval(unlabeled, label_counts, label_values, confidence_level=0.95):
    """Equal-tailed posterior interval of the chain-rule estimand by quadrature.

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
    The method depends on the numbers of verdicts and labels. Errors are in standard deviations.

    - One verdict, two labels: beta quantiles.
    - Two verdicts, two labels (section 4.4.1 of Hofer et al. 2024, see `chain_moments`): nested
      quadrature. Errors are about 1e-6, and at most 1e-3 with few labels and a judge with hardly
      any errors (test_binary_against_slow_quadrature).
    - Other numbers, or few unlabeled rows: Fourier inversion, about 4 times slower with two labels
      and 20 to 200 times slower with more. Errors are as small, but up to 4e-4 near the edge of the
      range and up to 0.03 with few unlabeled rows.
    - Fewer than three unlabeled rows: quantiles of 200,000 draws with a fixed seed. Errors are
      about 0.01.

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
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_draws, n_groups)

    Notes
    -----
    The probabilities of all labels given one verdict are drawn jointly. Separate draws of
    P(win | a) and P(loss | a) could sum to more than 1.

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
    """Both ends of the interval, for label values from 0 to 1."""
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
    """Both ends; the upper end is one minus the lower end for swapped labels."""
    k, n = label_counts[:, :, int(np.argmax(label_values))], label_counts.sum(axis=2)
    mean, variance = moments.mean, moments.unlabeled_variance + moments.labeled_variance
    share = moments.unlabeled_variance / variance
    pairs = (unlabeled, unlabeled), (k, n - k), (n, n), (mean, 1 - mean)
    both = (np.concatenate(pair) for pair in (*pairs, (variance, variance), (share, share)))
    low, high = np.split(binary_lower_quantile(*both, tails[0]), 2)
    return low, 1 - high
