"""Example of the report on clustered standard errors."""

import numpy as np
import pandas as pd
from scipy.stats import chi2, norm
from scipy.stats import t as student_t

from reproduced import NOT_PRINTED, Row, Table, figure, quoted
from skbench import DirectEstimator, summarize_items
from skbench.comparison import compare_models

BY_CLUSTER = {"cluster": "passage", "cluster_weight": "cluster"}


def add_arguments(parser):
    """Add no options."""


def tables(arguments):
    """Yield the example of the report, and the precision of four clusters."""
    items = _items()
    g = summarize_items(items, "model", **BY_CLUSTER)
    e = DirectEstimator().fit(**g.fit_args).estimate()
    rows = []
    for j, model in enumerate(g.labels):
        rows += _rows_of(f"Model {model}", g.z[j], np.sqrt(g.sigma2[j]), (e.low[j], e.high[j]))
    yield Table("Clustered standard errors: two models, four clusters", rows)
    yield Table("Comparison of the two models", [_overlap(), *_difference(items)])


def _number(*cell):
    return float(quoted("CSE", *cell))


def _items():
    """Return three items around each printed cluster mean."""
    rows = [
        (model, f"{c}/{i}", c, _number("Cluster means", f"Model {model}", c) + spread)
        for model in "AB"
        for c in "1234"
        for i, spread in enumerate((-0.05, 0.0, 0.05))
    ]
    return pd.DataFrame(rows, columns=["model", "item", "passage", "score"])


def _rows_of(model, mean, error, default):
    """Return every number that the report prints for one model."""
    apart = _number("Independent samples", model, "half-width")
    z = _number("Confidence interval", "95%", "z")
    p = _number("Independent samples", model, "mean")
    n_items, half = z**2 * p * (1 - p) / apart**2, z * error
    near, far = np.sqrt(3 / chi2.ppf([0.975, 0.025], 3))
    by_t = student_t.ppf(0.975, 3) * error
    printed = {
        name: quoted("CSE", place, model, *columns, form=form)
        for name, place, columns, form in (
            ("alone", "Independent samples", ("mean", "half-width"), "{} ± {}"),
            ("mean", "Clusters", ("mean",), None),
            ("half", "Clusters", ("half-width",), None),
            ("ends", "Comparison", ("low", "high"), "[{}, {}]"),
        )
    }
    more = quoted("CSE", "Comparison", model, "increase") if model == "Model A" else NOT_PRINTED
    ends, wide = (
        f"[{figure(low, 3)}, {figure(high, 3)}]"
        for low, high in ((mean - half, mean + half), default)
    )
    why_alone = (
        f"the report prints no items; correct/incorrect answers would need {n_items:.0f} items"
    )
    why_mean = 'three simulated items around each printed mean, ``cluster_weight="cluster"``'
    why_t = "four clusters have 3 degrees of freedom, so t is 3.18 instead of 1.96"
    why_wide = "with one more cluster at 0 or at 1; four clusters cannot rule it out"
    why_more = (
        f"{half:.4f} / {apart}, rounded in the report. A standard error from four clusters is "
        f"uncertain by factors of {near:.2f} to {far:.2f}, so the ratio is between "
        f"{near * half / apart:.2f} and {far * half / apart:.2f}"
    )
    rows = [
        ("independent samples: mean, half-width", printed["alone"], "-", why_alone),
        ("mean of cluster means", printed["mean"], figure(mean), why_mean),
        (
            "1.96 clustered standard errors",
            printed["half"],
            figure(half, 4),
            "printed to three digits",
        ),
        ("interval", printed["ends"], ends, ""),
        ("half-width with t", NOT_PRINTED, figure(by_t, 3), why_t),
        ("interval of ``DirectEstimator``", NOT_PRINTED, wide, why_wide),
        ("growth of the half-width by clustering", more, f"{half / apart - 1:.0%}", why_more),
    ]
    return [Row(f"{model}, {what}", *cells) for what, *cells in rows]


def _overlap():
    """Compare the overlap of the two pairs of intervals."""
    ends = [
        [_number(place, f"Model {m}", "mean"), _number(place, f"Model {m}", "half-width")]
        for place in ("Independent samples", "Clusters")
        for m in "AB"
    ]
    lengths = [a[0] + a[1] - (b[0] - b[1]) for a, b in zip(ends[::2], ends[1::2], strict=True)]
    return Row(
        "overlap of the intervals, independent and clustered",
        NOT_PRINTED,
        ", ".join(figure(length, 3) for length in lengths),
        "larger, as in the report; overlap is not a test of a difference",
    )


def _difference(items):
    found = compare_models(items, "A", "B", **BY_CLUSTER)
    e = found.estimate
    error, ends = e.standard_error[0], f"[{figure(e.low[0], 3)}, {figure(e.high[0], 3)}]"
    ratio = abs(e.value[0]) / error
    p = f"{2 * student_t.sf(ratio, 3):.3f}, {2 * norm.sf(ratio):.3f}"
    alone = figure(found.unpaired_standard_error[0], 3)
    rows = [
        ("", figure(e.value[0]), "from the printed cluster means"),
        (", standard error, unpaired", alone, "the only standard error that the tables allow"),
        (", standard error, paired by cluster", figure(error, 3), "B is better in every cluster"),
        (", p value, paired: t, normal", p, "3 degrees of freedom make the difference"),
        (", interval of ``compare_models``", ends, "with one more cluster at -1 or 1"),
    ]
    return [Row(f"A - B{what}", NOT_PRINTED, here, why) for what, here, why in rows]
