"""Turn results of groups into a `GroupSummary` without item rows."""

import numpy as np
import pandas as pd

from skbench.containers import GroupSummary, Sampling
from skbench.summaries._sharing import assumed_topics
from skbench.summaries.direct_estimates import estimates_of_counts
from skbench.summaries.features import joined_features


def summarize_groups(groups, by, variance="smoothed", features=None):
    """Return the `GroupSummary` of groups with counts, or with means and standard errors."""
    groups = groups.sort_values(by, kind="stable").reset_index(drop=True)
    labels = pd.Index(groups[by[0]]) if len(by) == 1 else pd.MultiIndex.from_frame(groups[by])
    if "k" in groups:
        n = groups["n"].to_numpy()
        z, sigma2 = estimates_of_counts(groups["k"].to_numpy(dtype=float), n, labels, variance)
        outcome = "binomial"
    else:
        n = groups["n"].to_numpy() if "n" in groups else np.full(len(groups), np.nan)
        z, sigma2 = groups["score"].to_numpy(), groups["standard_error"].to_numpy() ** 2
        outcome = "continuous"
    topics = assumed_topics(labels, by, "model" if "model" in by else None, warns=False)
    if isinstance(features, list | tuple):
        features = groups[[*by, *(name for name in features if name not in by)]]
    return GroupSummary(
        z=z,
        sigma2=sigma2,
        n=n,
        labels=labels,
        X=joined_features(groups, labels, by, [], features, None),
        groups=topics,
        sampling=Sampling(outcome, items_shared=topics is not None),
    )
