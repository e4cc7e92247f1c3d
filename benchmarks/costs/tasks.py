"""Posteriors of many models on many tasks; the cost is linear in the number of cells."""

from costs import Cost, real_rows
from skbench import HierarchicalBetaBinomial, rank_models


def table_of_tasks(n_models, n_tasks, n_items=20):
    """Return arguments of `fit`: accuracies from real answers, `n_items` per task."""
    rows = real_rows(n_models, n_tasks * n_items, n_tasks).rename(columns={"topic": "task"})
    table = rows.groupby(["model", "task"], as_index=False)["score"].agg(["mean", "size"])
    return table[["model", "task"]], table["mean"], None, table["size"]


def hierarchical(shapes):
    """Quadrature, then estimates and ranks from 10,000 draws: seconds."""
    for n_models, n_tasks in shapes:
        data, shape = table_of_tasks(n_models, n_tasks), f"{n_models} x {n_tasks}"
        size = n_models * n_tasks
        bar = 10 * size / 60_000

        def run(data=data):
            fitted = HierarchicalBetaBinomial(random_state=0).fit(*data)
            fitted.estimate()
            rank_models(fitted)

        yield Cost(f"fit; estimate; ranks, {shape}", size, run, bar=bar, unit="seconds")


PATHS = {hierarchical: [(50, 300), (100, 300), (200, 300), (200, 600)]}
SMALL = {hierarchical: [(50, 300)]}
