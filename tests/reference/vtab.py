"""The VTAB leaderboard as one row per model and task, and the names of its printed tables."""

import pandas as pd

CATEGORIES = ["natural", "specialized", "structured"]
# Rank aggregations, and their columns in the printed tables.
COLUMNS = {
    "mean": "by_avg",
    "geometric mean": "geom_mean",
    "average rank": "avg_rank",
    "noisy average rank": "avg_rank_noise",
    "binned average rank": "avg_rank_bins",
}
SHORT_NAMES = {
    "Sup-Rotation-100%": "SR-100%",
    "Sup-Exemplar-100%": "SE-100%",
    "Semi-Exemplar-10%": "Semi-E-10%",
    "Semi-Rotation-10%": "Semi-R-10%",
}


def vtab_rows(gold_folder):
    """DataFrame with the columns model, task, category, k (right answers) and n."""
    counts = pd.read_csv(gold_folder / "vtab1k_counts_reconstructed.csv", index_col=0)
    tasks = pd.read_csv(gold_folder / "vtab1k_tasks.csv", index_col=0)
    rows = counts.melt(ignore_index=False, var_name="task", value_name="k").reset_index()
    return rows.join(tasks[["category", "n_test_seed"]], on="task").rename(
        columns={"n_test_seed": "n"}
    )


def printed_table(gold_folder, number):
    """A printed table, indexed by the full names of the models."""
    table = pd.read_csv(gold_folder / f"longjohn_table{number}.csv", index_col=0)
    return table.rename(index={short: name for name, short in SHORT_NAMES.items()})
