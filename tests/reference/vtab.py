"""The VTAB leaderboard as one row per model and task, and its printed tables."""

from pathlib import Path

import pandas as pd

QUOTED = Path(__file__).parents[2] / "benchmarks" / "reproduced" / "quoted.csv"

CATEGORIES = ["natural", "specialized", "structured"]
# Rank aggregations, and their columns in the printed tables.
COLUMNS = {
    "mean": "By avg",
    "geometric mean": "Geom mean",
    "average rank": "Avg rank",
    "noisy average rank": "AvR noise",
    "binned average rank": "AvR bins",
}
# The models' names in other tables than 2, 6, 7, 9 and 11.
FULL_NAMES = {
    "SR-100%": "Sup-Rotation-100%",
    "SE-100%": "Sup-Exemplar-100%",
    "S-100%": "Sup-100%",
    "Semi-E-10%": "Semi-Exemplar-10%",
    "Semi-R-10%": "Semi-Rotation-10%",
}


def vtab_rows(gold_folder):
    """DataFrame with the columns model, task, category, k (right answers) and n."""
    counts = pd.read_csv(gold_folder / "vtab1k_counts_reconstructed.csv", index_col=0)
    tasks = pd.read_csv(gold_folder / "vtab1k_tasks.csv", index_col=0)
    rows = counts.melt(ignore_index=False, var_name="task", value_name="k").reset_index()
    return rows.join(tasks[["category", "n_test_seed"]], on="task").rename(
        columns={"n_test_seed": "n"}
    )


def printed_table(number, column):
    """Value, low and high of all models in a table of Longjohn et al. (2024).

    The column is a category or "overall", or an aggregation of ranks.
    """
    cells = pd.read_csv(QUOTED, dtype=str)
    cells = cells[(cells["paper"] == "L24") & (cells["place"] == f"Table {number}")]
    values = cells.set_index(["row", "column"])["value"].unstack(sort=False)
    head = COLUMNS.get(column, column.capitalize())
    names = {f"{head} point": "value", f"{head} low": "low", f"{head} high": "high"}
    table = values[list(names)].dropna().astype(float)
    return table.rename(index=FULL_NAMES, columns=names)
