"""
Shared items decide the folds
=============================

When all models answer the same items, a topic whose ten items happen to be easy
looks good for every model at once. A regression trained on some of the models of
a topic then learns that luck, and hands it to the models that were held out. Folds
that keep topics together prevent it. This script repeats a simulation and compares
the two ways of cutting folds; nothing else differs.
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
    untrue = {"groups": None, "sampling": Sampling(items_shared=False)}
    for name, changed in {"random folds": untrue, "folds by topic": {}}.items():
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
# ``summarize_items`` sees from the item ids that models share items, and puts the
# topic into ``summary.groups``; ``fit_args`` passes it on, with ``sampling``, which says that
# items are shared. Claiming that they are not is what makes the first row.

results = pd.concat({seed: one_repetition(seed) for seed in range(N_REPETITIONS)})
means = results.groupby(level=1, sort=False).mean()
errors = results.groupby(level=1, sort=False).sem()
print(f"means over {N_REPETITIONS} simulations, 95% robust intervals")
print(means.round(3).to_string())
print("\nstandard errors of these means")
print(errors.round(3).to_string())
