"""Mean squared error without true values: Stein's estimate and split data.

All estimates of squared errors are unbiased, so single values are noisy and may be negative; only
means over many groups are useful.
"""

import numpy as np

from skbench.stats.intervals.binomial import sampling_variance, unbiased_variance
from skbench.stats.shrinkage._normal import shrinkage_factor


def held_out_loss(estimate, z, sigma2):
    """Squared error of estimates, judged by independent direct estimates.

    Parameters
    ----------
    estimate : ndarray of shape (n_groups,)
        Estimates, independent of `z` given the true performances.
    z, sigma2 : ndarray of shape (n_groups,)
        Direct estimates and their sampling variances.

    Returns
    -------
    ndarray of shape (n_groups,)
        ``(estimate - z)^2 - sigma2``.

    Examples
    --------
    >>> held_out_loss(np.array([0.5]), np.array([0.7]), np.array([0.01])).round(3)
    array([0.03])
    """
    return (estimate - z) ** 2 - sigma2


def split_loss(estimate, z, z_out, sigma2):
    """Squared error of estimates from one part of the items, judged by another part.

    Parameters
    ----------
    estimate : ndarray of shape (n_groups,)
        Estimates from the first part only.
    z, z_out : ndarray of shape (n_groups,)
        Direct estimates from the first part and from the other, independent given the true
        performances.
    sigma2 : ndarray of shape (n_groups,)
        Unbiased sampling variances of `z`.

    Returns
    -------
    ndarray of shape (n_groups,)
        ``(estimate - z_out)^2 - (z - z_out)^2 + sigma2``.

    Notes
    -----
    It is unbiased for the same quantity as `held_out_loss` with `z_out`. The second term removes
    noise of `z_out`: with a tenth of the items held out, the standard error of the mean risk is
    less than half as large (test_second_term_removes_noise).

    Examples
    --------
    >>> split_loss(np.array([0.6]), np.array([0.8]), np.array([0.5]), np.array([0.02])).round(3)
    array([-0.06])
    """
    return (estimate - z) * (estimate + z - 2 * z_out) + sigma2


def stein_loss(estimate, z, sigma2, slope):
    """Stein's unbiased estimate of each group's squared error.

    Parameters
    ----------
    estimate : ndarray of shape (n_groups,)
        Estimates, any smooth function of all direct estimates.
    z, sigma2 : ndarray of shape (n_groups,)
        Direct estimates and their sampling variances.
    slope : ndarray of shape (n_groups,)
        Derivative of each estimate by the direct estimate of its own group.

    Returns
    -------
    ndarray of shape (n_groups,)
        ``(estimate - z)^2 + (2 slope - 1) sigma2``.

    Notes
    -----
    Exact for independent normal `z` (Stein 1981, Annals of Statistics 9), and for any distribution
    of `z` if the estimate is linear in it. If direct estimates are correlated across models, the
    estimates need folds by topic.

    Examples
    --------
    >>> stein_loss(np.array([0.6]), np.array([0.7]), np.array([0.02]), np.array([0.5])).round(3)
    array([0.01])
    """
    return (estimate - z) ** 2 + (2 * slope - 1) * sigma2


def james_stein_slope(z, sigma2, center="mean"):
    """Derivative of each positive-part James-Stein estimate by its own `z`.

    Parameters
    ----------
    z, sigma2 : ndarray of shape (n_groups,)
        Direct estimates and their sampling variances, all positive.
    center : "mean" or float, default="mean"
        As in `skbench.stats.shrinkage.james_stein`.

    Returns
    -------
    ndarray of shape (n_groups,)

    Notes
    -----
    ``w + (1 - w) p + 2 d (z - center)^2 / (sigma2 S^2)`` with precision shares ``p`` (0 for a fixed
    center), ``S`` the sum of ``(z - center)^2 / sigma2`` and d degrees of freedom. The last term is
    dropped if w is truncated at 0.

    Examples
    --------
    >>> james_stein_slope(np.array([0.1, 0.4, 0.5, 0.6, 0.9]), np.full(5, 0.02)).round(3)
    array([1.017, 0.913, 0.906, 0.913, 1.017])
    """
    if center == "mean":
        share = (1 / sigma2) / np.sum(1 / sigma2)
        center, degrees = np.sum(share * z), len(z) - 3
    else:
        share, degrees = 0.0, len(z) - 2
    scaled = (z - center) ** 2 / sigma2
    distance = scaled.sum()
    if degrees <= 0:
        return np.ones(len(z))
    if distance <= degrees:
        return np.broadcast_to(share, z.shape).astype(float)
    factor = 1 - degrees / distance
    return factor + (1 - factor) * share + 2 * degrees * scaled / distance**2


def empirical_bayes_slope(residuals, sigma2, prior_variance):
    """Derivative of each empirical Bayes estimate by its own `z`.

    Parameters
    ----------
    residuals : ndarray of shape (n_groups,)
        Direct estimates minus prior means that do not depend on them.
    sigma2 : ndarray of shape (n_groups,)
        Sampling variances.
    prior_variance : float
        The `A` that was estimated from these residuals.

    Returns
    -------
    ndarray of shape (n_groups,)
        ``w + 2 residual^2 sigma2 / (G (A + sigma2)^2)``.

    Notes
    -----
    The second term is the cost of estimating `A` by moments. It is exact for
    ``A = mean(residuals^2) - mean(sigma2)``, and kept if `A` is at its lower bound.

    Examples
    --------
    >>> empirical_bayes_slope(np.array([0.2, -0.2]), np.array([0.02, 0.02]), 0.02).round(6)
    array([1., 1.])
    """
    total = prior_variance + sigma2
    weight = shrinkage_factor(prior_variance, sigma2)
    moved = np.divide(residuals**2 * sigma2, total**2, out=np.zeros_like(total), where=total > 0)
    return weight + 2 * moved / len(sigma2)


def leave_one_out_loss(rule, k, n, variance="smoothed"):
    """Squared error of a rule for counts, by leaving out each item in turn.

    Parameters
    ----------
    rule : callable
        ``rule(z, sigma2)`` returns the estimates of all groups from direct estimates and sampling
        variances. Its other inputs must not depend on the group's own items.
    k, n : ndarray of shape (n_groups,)
        Correct answers and items of each group; at least 2 items.
    variance : str or ndarray of shape (n_groups,), default="smoothed"
        Sampling variance passed to the rule: a method of
        `skbench.stats.binomial.sampling_variance`, or the variances with n items if they do not
        depend on the group's own answers. The latter are scaled by n / (n - 1).

    Returns
    -------
    loss : ndarray of shape (n_groups,)
        Unbiased for the squared error of the rule with ``n - 1`` items.
    sigma2 : ndarray of shape (n_groups,)
        Unbiased sampling variance of a direct estimate with ``n - 1`` items.

    Notes
    -----
    `split_loss`, averaged over all n ways to leave one item out. `stein_loss` ignores that the
    sampling variance of counts depends on `z`: with ten items it gave .69 to .82 of the risk of a
    posterior mean (test_stein_misses_what_the_variance_does).

    Examples
    --------
    >>> loss, sigma2 = leave_one_out_loss(lambda z, sigma2: z, np.array([7]), np.array([10]))
    >>> loss.round(4), sigma2.round(4)
    (array([0.0259]), array([0.0259]))
    """
    sigma2 = unbiased_variance(k, n) * n / (n - 1)
    loss = np.zeros(len(k))
    for correct, share in ((1, k / n), (0, 1 - k / n)):
        # If no such item exists, the share is 0 and any valid count will do.
        rest = np.clip(k - correct, 0, n - 1)
        z = rest / (n - 1)
        known = not isinstance(variance, str)
        given = variance * n / (n - 1) if known else sampling_variance(rest, n - 1, variance)
        estimate = rule(z, given)
        loss += share * split_loss(estimate, z, correct, sigma2)
    return loss, sigma2


def split_counts(k, n, n_folds, n_repeats, rng):
    """Split the counts of correct answers of every group into folds.

    Parameters
    ----------
    k, n : ndarray of int of shape (n_groups,)
        Correct answers and items of each group.
    n_folds : int
        Number of folds.
    n_repeats : int
        Number of independent splits.
    rng : numpy.random.Generator

    Returns
    -------
    right, size : ndarray of int of shape (n_repeats, n_folds, n_groups)
        Correct answers and items in each fold; they sum to `k` and `n`.

    Notes
    -----
    The number of correct answers in a random sample without replacement is hypergeometric. Given
    the accuracy, folds are independent binomials (Neufeld, Dharamshi, Gao and Witten 2024, Journal
    of Machine Learning Research 25). Sizes differ by at most one.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> right, size = split_counts(np.array([6]), np.array([10]), 5, 1, rng)
    >>> size.ravel(), int(right.sum())
    (array([2, 2, 2, 2, 2]), 6)
    """
    shape = (n_repeats, n_folds, len(n))
    # Folds with one more item are chosen at random in each group.
    order = rng.permuted(np.broadcast_to(np.arange(n_folds)[:, None], shape), axis=1)
    size = n // n_folds + (order < n % n_folds)
    right = np.empty(shape, dtype=int)
    right_left = np.broadcast_to(k, (n_repeats, len(n)))
    left = np.broadcast_to(n, (n_repeats, len(n)))
    for fold in range(n_folds):
        right[:, fold] = rng.hypergeometric(right_left, left - right_left, size[:, fold])
        right_left = right_left - right[:, fold]
        left = left - size[:, fold]
    return right, size


def split_normal(z, sigma2, n_folds, n_repeats, rng):
    """Split normal direct estimates into independent estimates with the same mean.

    Parameters
    ----------
    z, sigma2 : ndarray of shape (n_groups,)
        Direct estimates and their sampling variances.
    n_folds, n_repeats, rng
        As in `split_counts`; at least 2 folds.

    Returns
    -------
    ndarray of shape (n_repeats, n_folds, n_groups)
        Estimates with variance ``n_folds * sigma2``, independent over folds given the true
        performances. Their mean over folds is `z`.

    Notes
    -----
    ``z_j = z + sigma sqrt(K) (e_j - mean(e))`` with standard normal e: data thinning with known
    variance.

    Examples
    --------
    >>> parts = split_normal(np.array([0.7]), np.array([0.01]), 4, 1, np.random.default_rng(0))
    >>> parts.shape, parts.mean().round(6)
    ((1, 4, 1), np.float64(0.7))
    """
    noise = rng.standard_normal((n_repeats, n_folds, len(z)))
    noise -= noise.mean(axis=1, keepdims=True)
    return z + np.sqrt(n_folds * sigma2) * noise
