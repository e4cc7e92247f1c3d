"""
Pipelines, grid search and metadata routing
===========================================

The estimators of skbench follow the scikit-learn API and accept any scikit-learn regressor. This
script uses a pipeline as the regressor, searches over its parameters, and cross-validates the
result.
"""

import numpy as np
from sklearn import config_context
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skbench import EmpiricalBayes, IntervalPipeline, make_items, summarize_items

data = make_items(n_models=6, n_topics=30, n_items=12, random_state=0)
summary = summarize_items(data.items, ["model", "topic"], features=data.features)
X, z, metadata = summary.X, summary.z, summary.fit_args
metadata = {name: metadata[name] for name in ("sigma2", "n", "groups", "sampling")}
truth = data.truth.loc[list(summary.labels)].to_numpy()

# %%
# **A pipeline as the regressor.** Every fold fits the transformers again. They receive a data
# frame with its column names.

prepare = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["model"]),
    (StandardScaler(), ["feature"]),
)
inside = EmpiricalBayes(make_pipeline(prepare, Ridge()), random_state=0)
inside.fit(X, z, **metadata)
print(f"ridge in a pipeline:    MSE {np.mean((inside.estimate().value - truth) ** 2):.5f}")

# %%
# **Another regressor:** extremely randomized trees.

trees = make_pipeline(prepare, ExtraTreesRegressor(50, min_samples_leaf=3))
eb = EmpiricalBayes(trees, random_state=0).fit(X, z, **metadata)
print(f"trees in a pipeline:    MSE {np.mean((eb.estimate().value - truth) ** 2):.5f}")

# %%
# **Grid search.** With metadata routing, GridSearchCV splits ``sigma2``, ``n`` and ``groups`` with
# the rows and passes ``sampling`` unchanged. Without routing, ``groups`` reaches only the folds.
# The search scores the prior mean, ``predict(X)``, on held-out topics.

search = GridSearchCV(
    EmpiricalBayes(make_pipeline(prepare, Ridge()), cv=2, random_state=0),
    {"regressor__ridge__alpha": [0.01, 1.0, 100.0]},
    cv=GroupKFold(5),
)
with config_context(enable_metadata_routing=True):
    search.fit(X, z, **metadata)
best = search.best_estimator_
print(f"chosen by grid search:  {search.best_params_}")
print(f"a new group, no items:  {best.predict_interval(X.head(1)).round(2)[0]}")

# %%
# **Metadata routing.** With routing enabled, ``sigma2`` reaches ``fit`` and ``score`` without a
# request, and the score is corrected for sampling noise.

with config_context(enable_metadata_routing=True):
    scores = cross_val_score(inside, X, z, cv=GroupKFold(3), params=metadata)
print(f"R2 of the prior mean on held-out topics, corrected for noise: {scores.round(2)}")

# %%
# **The estimator in a pipeline.** IntervalPipeline forwards intervals, unlike scikit-learn's
# Pipeline, and keeps the labels of the groups.

pipeline = IntervalPipeline([("prepare", prepare), ("eb", EmpiricalBayes(Ridge(), random_state=0))])
pipeline.fit(X, z, **metadata)
print(pipeline.estimate())
