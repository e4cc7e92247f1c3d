"""Statistics in LLMs, clustered standard errors: the report's example."""

import numpy as np
import pandas as pd

from reproduced import Row, Table, figure
from skbench import DirectEstimator, summarize_items
from skbench.comparison import compare_models

MEANS = {"A": [0.70, 0.82, 0.79, 0.81], "B": [0.72, 0.88, 0.81, 0.83]}
PRINTED = {"A": (".78", ".054", "(.726, .834)"), "B": (".81", ".065", "(.745, .875)")}


def add_arguments(parser):
    """No options of its own."""


def tables(arguments):
    """The example, and what four clusters allow to say."""
    items = pd.DataFrame(
        [
            (model, f"{c}/{i}", c, mean + spread)
            for model, means in MEANS.items()
            for c, mean in enumerate(means)
            for i, spread in enumerate((-0.05, 0.0, 0.05))
        ],
        columns=["model", "item", "passage", "score"],
    )
    by_cluster = {"cluster": "passage", "cluster_weight": "cluster"}
    g = summarize_items(items, "model", **by_cluster)
    e = DirectEstimator().fit(**g.fit_args).estimate()
    rows = []
    for j, model in enumerate(g.labels):
        mean, half, ends = PRINTED[model]
        se = np.sqrt(g.sigma2[j])
        low, high = g.z[j] - 1.96 * se, g.z[j] + 1.96 * se
        t = (e.high[j] - e.low[j]) / 2
        rows += [
            Row(f"model {model}, mean of cluster means", mean, figure(g.z[j])),
            Row(f"model {model}, 1.96 standard errors", half, figure(1.96 * se, 4), "rounding"),
            Row(f"model {model}, interval", ends, f"({figure(low, 3)}, {figure(high, 3)})"),
            Row(
                f"model {model}, half-width that covers",
                "-",
                figure(t, 3),
                "four clusters have t with 3 degrees of freedom",
            ),
        ]
    found = compare_models(items, "A", "B", **by_cluster)
    rows += [
        Row("A - B, standard error", "-", figure(found.estimate.standard_error[0], 3), "paired"),
        Row("A - B, unpaired", "-", figure(found.unpaired_standard_error[0], 3), "as tables show"),
    ]
    return [Table("Clustered standard errors: two models, four clusters", rows)]
