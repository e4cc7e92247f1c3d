"""Critical values and worst cases the slow, obvious ways.

Two ways that share nothing with the package but the definition: an optimisation over
two-point laws, group by group (AKP22 show that two points are enough), and a linear
program over all laws on a grid, whose dual is a certificate that nothing is worse.
"""

import numpy as np
from scipy.optimize import brentq, linprog, minimize_scalar
from scipy.stats import norm


def miss(t, chi):
    """Probability that N(sqrt t, 1) leaves [-chi, chi]."""
    bias = np.sqrt(t)
    return norm.cdf(-chi - bias) + norm.cdf(-chi + bias)


def noncoverage_slow(chi, m2, kurtosis):
    """Worst case of one group, by bounded optimisation over two-point laws of b squared."""
    if m2 == 0:
        return miss(0.0, chi)

    def at_zero_and(high):  # the fourth moment is slack
        return miss(0.0, chi) + (m2 / high) * (miss(high, chi) - miss(0.0, chi))

    def binding(log_rise):  # both moments hold with equality
        rise = np.exp(log_rise)
        fall = (kurtosis - 1) * m2**2 / rise
        weight = fall / (rise + fall)
        return (1 - weight) * miss(max(m2 - fall, 0.0), chi) + weight * miss(m2 + rise, chi)

    far = (chi + 6.0) ** 2  # no point of a worst case is beyond
    least = kurtosis * m2
    candidates = [miss(m2, chi)]
    if kurtosis > 1 and m2 < far:
        candidates.append(_largest(at_zero_and, m2, min(far, least)))
    if kurtosis > 1 and least < far:
        candidates.append(_largest(binding, np.log(least - m2), np.log(far - m2)))
    return max(candidates)


def cva_slow(m2, kurtosis, confidence_level=0.95):
    """Critical value of one group: a root search around one bounded optimisation."""
    alpha = 1 - confidence_level
    low = norm.ppf(1 - alpha / 2)
    if m2 == 0:
        return low
    high = np.sqrt((1 + m2) / alpha)  # Chebyshev
    return brentq(lambda chi: noncoverage_slow(chi, m2, kurtosis) - alpha, low, high, xtol=1e-11)


def noncoverage_bounds(chi, m2, kurtosis, n_points=1500):
    """Lower and upper bound of one group's worst case from a linear program.

    The law lives on a grid of t = b squared: a lower bound. The dual solution is a
    quadratic in t; raised by its largest violation on a ten times finer grid it lies
    above `miss`, and its mean is an upper bound for every law with these moments.
    """
    top = chi + 8.0  # nearly every law has missed there
    root = np.union1d(np.linspace(0, top, n_points), np.sqrt([m2, min(kurtosis * m2, top**2)]))
    t = root**2 / m2  # so that all moments are of order one
    program = linprog(
        -miss(t * m2, chi),
        A_eq=[np.ones_like(t), t],
        b_eq=[1, 1],
        A_ub=None if np.isinf(kurtosis) else [t**2],
        b_ub=None if np.isinf(kurtosis) else [kurtosis],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert program.status == 0, program.message
    constant, linear = -program.eqlin.marginals
    square = 0.0 if np.isinf(kurtosis) else -program.ineqlin.marginals[0]
    # Beyond top `miss` is 1 and a convex quadratic that rises at top stays above.
    assert square >= 0 and linear + 2 * square * t[-1] >= -1e-12
    fine = np.linspace(0, top, 10 * n_points) ** 2 / m2
    violation = miss(fine * m2, chi) - (constant + linear * fine + square * fine**2)
    return -program.fun, -program.fun + max(violation.max(), 0.0)


def _largest(function, low, high):
    found = minimize_scalar(
        lambda x: -function(x), bounds=(low, high), method="bounded", options={"xatol": 1e-9}
    )
    return max(-found.fun, function(low), function(high))
