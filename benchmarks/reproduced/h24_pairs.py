"""Side-by-side tests of Hofer et al. (2024): Figure 5, sections 5.3.3 and 5.4.2."""

from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from reproduced import Row, Table, figure, quoted
from reproduced.h24_simulated import counts, drawn_truth, interval, misses, percent, sizes
from skbench.ppi import ChainRulePPI, ClassicalMean

CLASSICAL, CHAIN = ClassicalMean("wald"), ChainRulePPI(verdicts="side by side", prior="jeffreys")


def outcomes(systems):
    """Return win, loss or tie by verdict and by human labels for every pair of systems."""
    wide = pd.concat(systems).assign(judge=lambda t: 1.0 * (t["f1"] > 0.5))
    wide = wide.reset_index(names=["name", "row"])
    wide = wide.pivot(index="question_id", columns="name", values=["judge", "human"])
    return {
        (a, b): tuple((wide[of][a] - wide[of][b]).to_numpy() for of in ("judge", "human"))
        for a, b in combinations(systems, 2)
    }


def figure_5(pairs, why):
    """Count the pairs of systems that a side-by-side test distinguishes."""
    rng = np.random.default_rng(0)
    # Pairs without a significant difference may be truly equal.
    pairs = [pair for pair in pairs.values() if abs(np.nanmean(pair[1])) >= 0.02]
    apart = [abs(np.nanmean(human)) for _, human in pairs]
    rows = []
    all_pairs = quoted("H24", "Section 5.3.1", "pairs", "number")
    found = (
        f"{len(apart)} pairs of open QA with differences of {min(apart):.2f} to {max(apart):.2f}, "
        f"instead of {all_pairs} of attributed QA; {why}"
    )
    for n in (100, 200):
        separated = []
        for judge, human in pairs:
            both = np.flatnonzero(~np.isnan(human))
            for _ in range(20):
                labels = np.full(len(human), np.nan)
                chosen = rng.choice(both, n, replace=False)
                labels[chosen] = human[chosen]
                ends = [interval(e, judge, labels) for e in (CLASSICAL, CHAIN)]
                separated.append([low > 0 or high < 0 for low, high in ends])
        rows.append(
            Row(
                f"{n} labels: classical, chain rule",
                quoted("H24", "Section 5.3.2", f"{n} labels", "classical", "chain rule"),
                ", ".join(f"{100 * share:.0f}%" for share in np.mean(separated, axis=0)),
                found,
            )
        )
    return Table("Figure 5: proportion of pairs distinguished", rows)


def coverage(pairs, n_sets):
    """Check coverage of side-by-side tests, with posteriors from few and many labels."""
    rng = np.random.default_rng(0)
    values = (1, 0, -1)
    posteriors = []
    for judge, human in pairs.values():
        both = np.flatnonzero(~np.isnan(human))
        for n in (30, 50, 100, 150, 200, 250):
            few = np.full(len(human), np.nan)
            chosen = rng.choice(both, n, replace=False)
            few[chosen] = human[chosen]
            posteriors.append(counts(judge, few, values))
    parts = [
        (
            *drawn_truth(*posteriors[rng.integers(len(posteriors))], rng),
            *sizes(rng, "Section A.3", "side by side"),
        )
        for _ in range(n_sets)
    ]
    missed = misses(parts, values, rng)
    failing = np.flatnonzero(missed)
    again = misses([parts[i] for i in rng.choice(failing, n_sets)], values, rng)
    printed = partial(quoted, "H24", "Section 5.3.3", "coverage")
    hits = round(float(printed("coverage").rstrip("%")) * 10)
    p_value = binomtest(hits, int(printed("data sets")), 0.95).pvalue
    return Table(
        "Sections 5.3.3 and 5.4.2: coverage of side-by-side tests, chain rule",
        [
            Row(
                "coverage over true values",
                printed("coverage"),
                percent(~missed),
                f"{n_sets} sets from {len(posteriors)} posteriors: {len(pairs)} pairs of open QA, "
                "30 to 250 labels; the paper has 826 of attributed QA, up to 1,000 labels",
            ),
            Row(
                "p-value of the printed coverage",
                printed("p-value"),
                figure(p_value),
                f"exact two-sided test, {hits} of {printed('data sets')}",
            ),
            Row(
                "failures at true values that had been missed",
                quoted("H24", "Section 5.4.2", "side by side", "failures"),
                percent(again),
                f"{n_sets} sets, each from one of {len(failing)} true values at random; the paper "
                "has "
                f"{quoted('H24', 'Section 5.4.2', 'side by side, footnote 8', 'failing truths')}",
            ),
        ],
    )
