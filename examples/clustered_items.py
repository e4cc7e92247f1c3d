"""
Items that come in clusters
===========================

Five questions about one text are dependent, because a model that misreads the text answers all of
them incorrectly. Intervals that treat them as independent are too short. This example simulates
many groups of 40 items in 8 clusters and counts how often intervals cover the true accuracy.
"""

import warnings

import numpy as np

from skbench import DirectEstimator, make_items, summarize_items
from skbench.stats.clusters.clustered import cluster_robust_variance, clustered_standard_error

N_GROUPS = 400

# %%
# One simulated model on 400 topics gives 400 repetitions of the experiment. All items of a cluster
# have the same difficulty.

data = make_items(
    n_models=1,
    n_topics=N_GROUPS,
    n_items=40,
    cluster_size=5,
    cluster_correlation=1.0,
    item_std=2.0,
    random_state=0,
)
truth = data.truth.droplevel("model")

# %%
# With ``cluster=``, the variance is the cluster-robust CR2, with the degrees of freedom of Bell and
# McCaffrey.

summaries = {
    "items as independent": summarize_items(data.items, "topic"),
    "clusters (CR2)": summarize_items(data.items, "topic", cluster="cluster"),
}
print(f"{N_GROUPS} groups of 40 items in 8 clusters, nominal 95%")
for name, summary in summaries.items():
    with warnings.catch_warnings():
        # The warning is on t intervals of bounded scores with few clusters, which we measure here.
        warnings.simplefilter("ignore")
        e = DirectEstimator().fit(**summary.fit_args).estimate()
    mu = truth.loc[e.labels].to_numpy()
    covered = np.mean((e.low <= mu) & (mu <= e.high))
    print(
        f"  {name:28s} mean standard error {np.sqrt(summary.sigma2).mean():.3f}, "
        f"independent observations {summary.n_independent.mean():4.1f}, "
        f"covered {covered:.3f} ({e.method})"
    )

# %%
# The formulas are functions of the sum and size of each cluster.

totals = data.items.groupby(["topic", "cluster"])["score"].agg(["sum", "size"])
codes = totals.index.get_level_values("topic").factorize()[0]
print("\nmean standard error by kind of cluster-robust variance")
for kind in ("cr0", "cr1", "cr2", "cr3"):
    fit = cluster_robust_variance(totals["sum"], totals["size"], codes, N_GROUPS, kind)
    print(f"  {kind}: {np.sqrt(fit.variance).mean():.4f}")
actual = np.std(summaries["clusters (CR2)"].z - truth.loc[list(summaries["clusters (CR2)"].labels)])
print(f"  actual error of the group means: {actual:.4f}")

# %%
# Five answers to each of 100 questions are 500 dependent rows, so the question is the cluster.

rng = np.random.default_rng(1)
accuracy = rng.beta(1, 1, size=100)  # of each question
answers = rng.random((100, 5)) < accuracy[:, None]
question = np.repeat(np.arange(100), 5)
naive = answers.std() / np.sqrt(answers.size)
robust = clustered_standard_error(answers.ravel().astype(float), question)
print(f"\nrepeated answers: standard error {naive:.3f} by rows, {robust:.3f} by questions")
