"""Power of a gate, and the number of items for a power of 0.8."""

import math

import numpy as np
from scipy.stats import norm

from skbench.comparison._comparison import POWER
from skbench.stats.intervals.moments import ROUNDING
from skbench.stats.intervals.worst_case import worst_case_interval
from skbench.stats.ranking import noninferiority
from skbench.stats.ranking.power import exact_n_mcnemar, power_t

_MOST_ITEMS = 1 << 40


def low_end(difference, low, n, left, reach):
    """Low ends for passing, with the worst case also counted in the mean.

    A gate decides on one side, and rare large losses are the most likely to be missed there. `n`
    is the number of independent observations, items or whole clusters.
    """
    return np.maximum(low - left * (reach + difference) / (n + 1), -reach)


def power_of_items(found, margin, level, fail, reach, shifted):
    """Power of a gate and items for 0.8, from a dict of fields with one entry; nan if unknown."""
    n, df, left = (float(found[name][0]) for name in ("n_items", "df", "left"))
    if left == 0:
        return {"power": math.nan, "items_needed": math.nan}
    if found["exact"][0]:
        now, needed = _of_counts(found, n / left, margin, level, fail)
    else:
        variance = float(found["variance"][0]) * n
        size = max(n / (df + 1), 1.0)
        if not variance > (ROUNDING * margin) ** 2:
            identical = found["difference"][0] == 0 and math.isfinite(reach)
            needed = _first_to_clear(margin, size, level, reach, shifted) if identical else math.nan
            return {"power": math.nan, "items_needed": needed}

        def power_at(items):
            return _power_t(margin, items, variance, size, level, fail, reach, shifted)

        now, needed = power_at(n / left), _first(power_at)
    if left < 1 and math.isfinite(needed):  # finite population
        needed = math.ceil(1 / (1 / needed + (1 - left) / n))
    return {"power": float(now), "items_needed": needed}


def power_of_draws(error, n_asked, n_all, margin, level):
    """Power and items for a posterior, with a variance proportional to ``1 / n - 1 / N``."""
    if not error > 0:
        return {"power": math.nan, "items_needed": math.nan}
    z = norm.isf((1 - level) / 2)
    now = float(norm.cdf(margin / error - z))
    wanted = (margin / (z + norm.ppf(POWER)) / error) ** 2
    needed = 1 / (1 / n_all + (1 / n_asked - 1 / n_all) * wanted)
    return {"power": now, "items_needed": math.ceil(min(needed, n_all))}


def _of_counts(found, n, margin, level, fail):
    """Power now, and items for 0.8, by McNemar's exact test."""
    counts = found["only_a"][0], found["only_b"][0], float(found["n_items"][0])
    share = noninferiority.disagreement(*counts, -margin if fail == "worse" else 0.0)
    share = max(float(share), margin)
    now = noninferiority.power_of_counts(int(n), share, margin, level, fail)
    if fail == "worse":
        return now, exact_n_mcnemar(margin, share, level, POWER)
    return now, noninferiority.items_to_pass(share, margin, level, POWER)


def _power_t(margin, n, variance, size, level, fail, reach, shifted):
    """Probability of failing a loss equal to the margin, or of passing an equal candidate."""
    bounded = math.isfinite(reach)
    if fail == "worse":
        distance = reach + margin if bounded else 0.0
        found = power_t(margin, n, variance, level, size, distance)
        # A loss equal to the margin passes with probability alpha / 2.
        return min(float(found), (1 + level) / 2)
    effect = margin - (reach / (n / size + 1) if shifted else 0.0)
    if effect <= 0:
        return 0.0
    return float(power_t(effect, n, variance, level, size, reach if bounded else 0.0))


def _first_to_clear(margin, size, level, reach, shifted):
    """First number of items, all answered alike, whose interval excludes the margin."""

    def clears(items):
        units = items / size
        low, _ = worst_case_interval(0.0, 0.0, units, units - 1, level, -reach, reach)
        return (low_end(0.0, low, units, 1.0, reach) if shifted else low) > -margin

    return _first(clears)


def _first(power_at):
    """Smallest number of items with the required power."""
    high = 2
    while power_at(high) < POWER:
        high *= 2
        if high > _MOST_ITEMS:
            return math.inf
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_at(middle) >= POWER else (middle, high)
    return high
