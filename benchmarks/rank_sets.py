"""Errors of ranks, decided pairs, and cost of all pairs.

The script prints:
1. family error rates, nominal 0.05, of equal models on complete, clustered and gapped tables: the
   proportion of tables with any model reported as better, for `leaderboard` and for
   `rank_confidence_sets(method="mogstad")` on the same estimates and covariance
2. with a folder of data sets: pairs decided by the single step and by Holm's p-values
3. seconds of all pairs next to those of one covariance matrix
4. seconds and peak memory of the published rank sets of 100 and 300 models, simultaneous and
   marginal, and of the Kemeny order of 16 models

    python benchmarks/rank_sets.py [FOLDER]
"""

import sys
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from reference.ranking_slow import cheapest_orders  # noqa: E402

from skbench.comparison import compare_models, leaderboard, rank_confidence_sets  # noqa: E402
from skbench.comparison.leaderboards import leaderboard_of  # noqa: E402
from skbench.items.tables import ScoreTable  # noqa: E402
from skbench.stats.ranking.kemeny import disagreements, exact_order  # noqa: E402

N_DRAWS = 2000
N_TABLES = 400
# Clusters (sizes), whether scores are binary, proportion of missing scores.
SETTINGS = {
    "3 clusters of 10": ([10] * 3, False, 0),
    "5 clusters of 10": ([10] * 5, False, 0),
    "5 clusters of 10, binary": ([10] * 5, True, 0),
    "10 clusters of 5": ([5] * 10, False, 0),
    "10 clusters of 1 to 16": ([1, 1, 2, 2, 3, 4, 6, 8, 12, 16], False, 0),
    "20 clusters of 5": ([5] * 20, False, 0),
    "20 clusters of 5, binary": ([5] * 20, True, 0),
    "10 items": ([1] * 10, False, 0),
    "20 items": ([1] * 20, False, 0),
    "20 items, binary": ([1] * 20, True, 0),
    "200 items, binary": ([1] * 200, True, 0),
    "5 clusters of 10, gaps": ([10] * 5, False, 0.3),
    "10 clusters of 5, gaps": ([5] * 10, False, 0.3),
    "20 items, gaps": ([1] * 20, False, 0.3),
    "100 items, binary, gaps": ([1] * 100, True, 0.3),
    "100 items, block of gaps": ([1] * 100, False, "block"),
}


def score_table(scores, clusters, binary):
    """Make a `ScoreTable` without data frames."""
    n_items, n_models = scores.shape
    return ScoreTable(
        scores=scores,
        n_answers=np.isfinite(scores).astype(int),
        noise=np.full(scores.shape, np.nan),
        models=pd.RangeIndex(n_models),
        items=pd.RangeIndex(n_items),
        clusters=clusters,
        cluster_groups=np.zeros(clusters.max() + 1, dtype=int),
        groups=None,
        right_or_wrong=binary,
    )


def equal_models(rng, sizes, binary, gaps, n_models):
    """Simulate scores of equal models with item difficulties and clusters that differ by model."""
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    n_items = clusters.size
    drift = rng.normal(0, 0.7, (len(sizes), n_models))[clusters] if n_items > len(sizes) else 0
    latent = rng.normal(size=(n_items, 1)) + drift + rng.normal(size=(n_items, n_models))
    scores = (latent > -0.5) * 1.0 if binary else latent
    if gaps == "block":
        scores[n_items // 2 :, : n_models // 2] = np.nan
    elif gaps:
        scores[rng.random(scores.shape) < gaps] = np.nan
    return scores, clusters


def family_errors(setting, n_models, n_tables=N_TABLES):
    """Return the family error rates of the single step and of the published rank sets."""
    rng = np.random.default_rng(0)
    wrong, published = 0, 0
    for _ in range(n_tables):
        scores, clusters = equal_models(rng, *setting, n_models)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            board = leaderboard_of(score_table(scores, clusters, setting[1]), 0.95)
            wrong += board.rank_sets.better.any()
            covariance = np.nan_to_num(board.covariance)
            sets = rank_confidence_sets(
                board.estimate.value,
                covariance=(covariance + covariance.T) / 2,
                method="mogstad",
                n_draws=1000,
                random_state=rng,
            )
            published += sets.better.any()
    return wrong / n_tables, published / n_tables


def print_family_errors():
    print(f"\nfamily error rates of equal models, nominal 0.05, {N_TABLES} tables each")
    print(f"{'':26}  5 models: skbench published   12 models: skbench published")
    for name, setting in SETTINGS.items():
        five, twelve = (family_errors(setting, m) for m in (5, 12))
        print(
            f"{name:26}  {five[0]:14.3f}  {five[1]:9.3f}   {twelve[0]:15.3f}  {twelve[1]:9.3f}",
            flush=True,
        )


def real_tables(folder):
    """Return item rows of the data sets, up to 40 models."""
    for name in ("arc_challenge", "gsm", "ifeval", "legalbench", "mmlu", "mrpc", "sst2"):
        wide = pd.read_csv(folder / f"item_matrix_{name}.csv.gz")
        wide = wide.loc[:, wide.isin((0, 1)).all()]
        chosen = wide.columns[np.linspace(0, wide.shape[1] - 1, 40).astype(int)]
        yield name, _rows(wide[chosen.unique()]), None
    wide = pd.read_csv(folder / "mmlu_pro_dev_29_models.csv.gz")
    models = wide.columns[(wide.isin((0, 1)) | wide.isna()).all() & ~wide.isna().all()]
    yield "mmlu_pro, 29 models with gaps", _rows(wide[models]), None
    complete = [m for m in models if wide[m].notna().all()]
    yield "mmlu_pro, complete models", _rows(wide[complete]), None
    chemistry = wide.loc[wide["category"] == "chemistry", models]
    yield "mmlu_pro, chemistry", _rows(chemistry), None
    code = pd.read_csv(folder / "livecodebench_execution.csv.gz")
    columns = {"sample_id": "item", "pass1": "score", "question_id": "cluster"}
    yield "livecodebench, clusters", code.rename(columns=columns), "cluster"
    vtab = pd.read_csv(folder / "openqa_nq.csv.gz")
    if {"model", "f1"} <= set(vtab):
        yield "openqa, F1", vtab.rename(columns={"question": "item", "f1": "score"}), None


def _rows(wide):
    return wide.rename_axis("item").reset_index().melt("item", None, "model", "score").dropna()


def print_pairs_decided(folder):
    print("\npairs decided on real tables: single step, Holm's p-values, loss in % of all pairs")
    for name, items, cluster in real_tables(folder):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            step = compare_models(items, cluster=cluster, adjust="bonferroni")
            holm = compare_models(items, cluster=cluster, adjust="holm")
            board = leaderboard(items, cluster=cluster)
        ours = int(np.sum(np.isin(step.verdict, ("better", "worse"))))
        theirs = int(np.sum(holm.p_value <= 0.05))
        assert board.rank_sets.better.sum() == ours
        loss = 100 * (theirs - ours) / len(step)
        print(f"{name:32} {ours:5} {theirs:5} of {len(step):4}: {loss:.1f}")


def print_seconds():
    print("\nprocessor seconds of all pairs, one covariance matrix, and their ratio")
    rng = np.random.default_rng(0)
    for n_models, n_items, cluster_size, gaps in [
        (100, 10_000, 1, 0),
        (60, 5_000, 1, 0),
        (100, 10_000, 5, 0),
        (100, 10_000, 1, 0.1),
    ]:
        scores = (rng.random((n_items, n_models)) < 0.6) * 1.0
        scores[rng.random(scores.shape) < gaps] = np.nan
        table = score_table(scores, np.arange(n_items) // cluster_size, True)
        taken = []
        for function in (lambda t=table: leaderboard_of(t, 0.95), lambda s=scores: np.cov(s.T)):
            repeats = []
            for _ in range(3):
                start = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    function()
                repeats.append(time.process_time() - start)
            taken.append(np.median(repeats))
        print(
            f"{n_models} models, {n_items} items, clusters of {cluster_size}, gaps {gaps:.0%}: "
            f"{taken[0]:.3f} s, {taken[1]:.4f} s, {taken[0] / taken[1]:.0f}"
        )


def seconds_and_megabytes(function):
    """Return seconds of one call, peak memory of another, and the result."""
    start = time.perf_counter()
    result = function()
    taken = time.perf_counter() - start
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return taken, peak, result


def print_sets(n_models):
    rng = np.random.default_rng(0)
    error = rng.uniform(0.005, 0.02, n_models)
    estimate = rng.uniform(0.3, 0.9, n_models) + error * rng.normal(size=n_models)
    whole = 8 * n_models**2 * N_DRAWS / 2**20
    for kind in ("simultaneous", "marginal"):
        for stepdown in (False, True):
            taken, peak, sets = seconds_and_megabytes(
                lambda kind=kind, stepdown=stepdown: rank_confidence_sets(
                    estimate,
                    error,
                    kind=kind,
                    method="mogstad",
                    stepdown=stepdown,
                    n_draws=N_DRAWS,
                    random_state=0,
                )
            )
            print(
                f"{n_models} models, {kind:12} {'stepdown' if stepdown else 'one step':8}: "
                f"{taken:5.2f} s, peak {peak:4.0f} MB (all differences: {whole:5.0f} MB), "
                f"{np.mean(sets.high - sets.low + 1):5.1f} ranks in a set"
            )


def print_kemeny():
    rng = np.random.default_rng(0)
    costs = [disagreements(rng.random((n, 19))) for n in (8, 16)]
    start = time.perf_counter()
    cheapest_orders(costs[0])
    brute = time.perf_counter() - start
    start = time.perf_counter()
    exact_order(costs[1])
    print(
        f"Kemeny: 16 models by subsets {1e3 * (time.perf_counter() - start):.0f} ms; "
        f"8 models by every order {1e3 * brute:.0f} ms, 16 would take 5e8 times as long"
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print_pairs_decided(Path(sys.argv[1]))
    print_seconds()
    print_family_errors()
    print()
    print_sets(100)
    print_sets(300)
    print_kemeny()
