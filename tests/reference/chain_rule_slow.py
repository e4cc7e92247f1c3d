"""The binary chain rule by adaptive quadrature of beta distribution functions."""

import numpy as np
from scipy.integrate import quad
from scipy.special import roots_jacobi
from scipy.stats import beta


def chain_cdf_slow(t, unlabeled, k, n, n_nodes=60):
    """P(theta <= t) of ``theta = p m_1 + (1 - p) m_0``, one group, arrays of length 2.

    Given p and m_1 the rest is a beta distribution function. m_1 is integrated
    adaptively over its probability scale, between the ends of that function.
    """
    a, b = unlabeled[0] + 0.5, unlabeled[1] + 0.5
    x, weights = roots_jacobi(n_nodes, b - 1, a - 1)
    first, second = (beta(k[i] + 0.5, n[i] - k[i] + 0.5) for i in (0, 1))
    total = 0.0
    for p, weight in zip((x + 1) / 2, weights / weights.sum(), strict=True):
        if weight < 1e-16:
            continue
        ends = np.clip([(t - (1 - p)) / p, t / p], 0, 1)
        low, high = first.cdf(ends)
        inside = quad(
            lambda u, p=p: second.cdf((t - p * first.ppf(u)) / (1 - p)),
            low,
            high,
            epsabs=1e-11,
            epsrel=1e-10,
            limit=200,
        )[0]
        total += weight * (low + inside)
    return total
