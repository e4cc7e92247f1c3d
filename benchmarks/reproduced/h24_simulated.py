"""Synthetic systems of Hofer et al. (2024): Figure 1, sections 5.2.4 and 5.4.2."""

import warnings
from functools import partial

import numpy as np
from scipy.stats import binom

from reproduced import NOT_PRINTED, Row, Table, figure, quoted
from skbench.stats.intervals.binomial import wald_interval
from skbench.stats.ppi.chain_rule import chain_interval


def tables(systems, n_sets):
    """Yield Figure 1 and the coverage of synthetic systems."""
    yield _figure_1(n_sets)
    yield _systems_coverage(systems, n_sets)


def interval(estimator, f, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of codes 0, 1, 2, and of few labels of a verdict
        e = estimator.fit(f, y).estimate()
    return e.low[0], e.high[0]


def counts(judge, human, values):
    """Return unlabeled verdicts and human labels by verdict, in the order of `values`."""
    unlabeled = [np.sum(np.isnan(human) & (judge == v)) for v in values]
    cells = [[np.sum((judge == v) & (human == h)) for h in values] for v in values]
    return np.array(unlabeled), np.array(cells)


def percent(hits, digits=1):
    share = np.mean(hits)
    error = np.sqrt(share * (1 - share) / np.size(hits))
    return f"{100 * share:.{digits}f}% ({100 * error:.{digits}f})"


def _figure_1(n_sets):
    """Simulate Figure 1; the paper does not print the agreement of autorater and labels."""
    rng = np.random.default_rng(0)
    place = partial(quoted, "H24", "Figure 1")
    truth, rate = float(place("text", "P(H = 1)")), float(place("text", "P(A = 1)"))
    n, total = int(place("caption", "human labels")), int(place("caption", "autorater labels"))
    low, high = wald_interval(n * truth, n)
    found = 0.9
    right = truth * found / rate, truth * (1 - found) / (1 - rate)
    m = np.array([[p, 1 - p] for p in right])
    parts = [(np.array([rate, 1 - rate]), m, n, total)] * n_sets
    ends, true_means = _chain(parts, [1, 0], rng)
    width = np.mean(ends[1] - ends[0]) / (high - low)
    hits = (ends[0] <= true_means) & (true_means <= ends[1])
    alone = wald_interval(total * rate, total)
    return Table(
        "Figure 1: synthetic data, 100 human labels and 5,000 verdicts",
        [
            Row(
                "classical interval",
                place("text", "low", "high"),
                f"{figure(low)}, {figure(high)}",
                "Wald, at the true proportion 0.733",
            ),
            Row(
                "interval of the verdicts alone",
                NOT_PRINTED,
                f"{figure(alone[0], 3)} to {figure(alone[1], 3)}",
                "excludes 0.733, as in the paper",
            ),
            Row(
                "chain rule: width relative to classical, coverage",
                NOT_PRINTED,
                f"{figure(width)}, {percent(hits)}",
                "simulated; the paper prints neither, nor the sensitivity of the autorater (here "
                f"{found})",
            ),
        ],
    )


def drawn_truth(unlabeled, cells, rng):
    """Draw frequencies of verdicts, and of labels given verdicts, from their posteriors."""
    p = rng.dirichlet(unlabeled + 1 / len(unlabeled))
    return p, np.array([rng.dirichlet(row + 1 / len(row)) for row in cells])


def _chain(parts, values, rng):
    """Return chain rule intervals of one data set per true value, and the true means."""
    sets = []
    for p, m, n, total in parts:
        sets.append((rng.multinomial(total, p), rng.multinomial(rng.multinomial(n, p), m)))
    unlabeled, cells = (np.array(column) for column in zip(*sets, strict=True))
    true_means = np.array([p @ m @ values for p, m, *_ in parts])
    return chain_interval(unlabeled, cells, values), true_means


def misses(parts, values, rng):
    (low, high), true_means = _chain(parts, values, rng)
    return (true_means < low) | (true_means > high)


def sizes(rng, place, row):
    """Draw the numbers of labels and verdicts of synthetic data sets."""
    ends = [int(quoted("H24", place, row, name)) for name in ("n from", "n to", "N from", "N to")]
    return rng.integers(ends[0], ends[1] + 1), rng.integers(ends[2], ends[3] + 1)


def _systems_coverage(systems, n_sets):
    """Reproduce sections 5.2.4, 5.4.2 and A.3 with posteriors of real systems."""
    rng = np.random.default_rng(0)
    posteriors = [counts(*data, (1, 0)) for data in systems.values()]
    parts = [
        (
            *drawn_truth(*posteriors[rng.integers(len(posteriors))], rng),
            *sizes(rng, "Section A.3", "synthetic data"),
        )
        for _ in range(n_sets)
    ]
    missed = misses(parts, [1, 0], rng)
    failing = [part for part, miss in zip(parts, missed, strict=True) if miss][:20]
    again = np.array([misses([part] * n_sets, [1, 0], rng) for part in failing])
    why = f"{n_sets} sets from six posteriors: five systems with F1, FiD with Gemini's verdicts"
    place = "Section 5.4.2", "truths that failed"  # codespell:ignore truths
    failed = partial(quoted, "H24", *place)
    rate = float(failed("failures").rstrip("%")) / 100
    # Medians of the smallest and largest of 20 counts.
    chance = [binom.ppf(q, n_sets, rate) for q in (1 - 0.5 ** (1 / 20), 0.5 ** (1 / 20))]
    per_truth = again.sum(axis=1)
    return Table(
        "Sections 5.2.4 and 5.4.2: coverage of synthetic systems, chain rule",
        [
            Row(
                "coverage over true values",
                quoted("H24", "Section 5.2.4", "coverage", "coverage"),
                percent(~missed),
                why,
            ),
            Row(
                f"failures at {len(failing)} true values that had been missed",
                failed("failures"),
                percent(again, 2),
                f"{n_sets} sets per true value; 5% is nominal",
            ),
            Row(
                f"fewest and most failures at one true value in {n_sets} sets",
                failed("fewest", "most"),
                f"{per_truth.min()}, {per_truth.max()}",
                f"with the paper's rate at every true value, the medians would be {chance[0]:.0f} "
                f"and {chance[1]:.0f}",
            ),
        ],
    )
