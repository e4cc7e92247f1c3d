"""Slow, obvious repeated sampling: dataframes and loops, no shared draws of sums."""

import numpy as np
import pandas as pd


def ratio_table(results, baseline):
    """Mean squared error ratios, coverage and widths of each estimator, by loops."""
    table = {}
    for name in results["estimator"].unique():
        own = results[results["estimator"] == name]
        squares, direct_squares, hits, widths, direct_widths = [], [], [], [], []
        for repetition in own["repetition"].unique():
            mine = own[own["repetition"] == repetition]
            other = results[
                (results["estimator"] == baseline) & (results["repetition"] == repetition)
            ]
            squares.append(np.mean((mine["estimate"] - mine["truth"]) ** 2))
            direct_squares.append(np.mean((other["estimate"] - other["truth"]) ** 2))
            hits.append(np.mean((mine["low"] <= mine["truth"]) & (mine["truth"] <= mine["high"])))
            widths.append(np.mean(mine["high"] - mine["low"]))
            direct_widths.append(np.mean(other["high"] - other["low"]))
        table[name] = {
            "mse": np.mean(squares),
            "mse_ratio": np.mean(squares) / np.mean(direct_squares),
            "coverage": np.mean(hits),
            "width_ratio": np.mean(widths) / np.mean(direct_widths),
        }
    return pd.DataFrame(table).T


def jackknife_error(above, below):
    """Jackknife standard error of the ratio of two means."""
    n = len(above)
    left_out = [np.delete(above, i).mean() / np.delete(below, i).mean() for i in range(n)]
    return np.sqrt((n - 1) / n * np.sum((left_out - np.mean(left_out)) ** 2))
