"""
Shared items decide the folds
=============================

If all models answer the same ten items of a topic, and these happen to be easy, all models have
high scores. A regression that is trained on some models of the topic learns this sampling error and
transfers it to the held-out models. Folds that keep topics together prevent this. This example
repeats a simulation that differs only in the folds.
"""

import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge

from skbench import (
    CrossFitKFold,
    DirectEstimator,
    EmpiricalBayes,
    Sampling,
    make_items,
    summarize_items,
)

N_REPETITIONS = 12


def one_repetition(seed):
    data = make_items(
        n_models=6, n_topics=25, n_items=10, item_std=2.0, interaction_std=0.2, random_state=seed
    )
    summary = summarize_items(data.items, ["model", "topic"], features=data.features)
    truth = data.truth.loc[list(summary.labels)].to_numpy()
    direct = DirectEstimator().fit(**summary.fit_args).estimate()
    rows = {}
    unshared = {"groups": None, "sampling": Sampling(items_shared=False)}
    for name, changed in {"random folds": unshared, "folds by topic": {}}.items():
        cv = CrossFitKFold(n_repeats=4, random_state=seed)
        eb = EmpiricalBayes(Ridge(), cv=cv, random_state=seed)
        e = eb.fit(**summary.fit_args | changed).estimate()
        rows[name] = {
            "prior variance": eb.prior_variance_,
            "MSE / direct": np.mean((e.value - truth) ** 2) / np.mean((direct.value - truth) ** 2),
            "covered": np.mean((e.low <= truth) & (truth <= e.high)),
            "width / direct": np.mean(e.high - e.low) / np.mean(direct.high - direct.low),
        }
    return pd.DataFrame(rows).T


# %%
# ``summarize_items`` detects from the item ids that models share items, and puts the topic into
# ``summary.groups``. ``fit_args`` contains it and ``sampling``. The first row of the results
# declares instead that items are not shared.

results = pd.concat({seed: one_repetition(seed) for seed in range(N_REPETITIONS)})
means = results.groupby(level=1, sort=False).mean()
errors = results.groupby(level=1, sort=False).sem()
print(f"means over {N_REPETITIONS} simulations, 95% robust intervals")
print(means.round(3).to_string())
print("\nstandard errors of these means")
print(errors.round(3).to_string())
