"""
Topics and features from texts
==============================

Four text classifiers read the one-line summary of a scipy or numpy function and predict its module.
This benchmark has no topics, so k-means on the texts makes them. Features are the mean embedding of
each topic and the mean confidence of each model on it. Leaving out one group of features at a time
shows its importance. The script needs no download.
"""

import importlib
import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    SyntheticRegression,
    cluster_items,
    embed_groups,
    leave_out_covariates,
    sample_items,
    summarize_items,
)

MODULES = """scipy.stats scipy.special scipy.signal scipy.linalg scipy.optimize scipy.ndimage
scipy.sparse scipy.interpolate scipy.fft scipy.spatial numpy numpy.linalg numpy.random""".split()
MODELS = {
    "naive Bayes": MultinomialNB(),
    "complement naive Bayes": ComplementNB(),
    "logistic regression": LogisticRegression(C=30),
    "nearest neighbors": KNeighborsClassifier(7),
}
BY = ["model", "topic"]


def summaries():
    """One row per function: its module, and the first paragraph of its docstring."""
    rows = {}
    for module in MODULES:
        contents = importlib.import_module(module)
        for name in getattr(contents, "__all__", dir(contents)):
            doc = getattr(getattr(contents, name, None), "__doc__", None) or ""
            paragraphs = [part for part in doc.split("\n\n") if "(" not in part.split("\n")[0]]
            text = " ".join(paragraphs[0].split()) if paragraphs else ""
            if 20 < len(text) < 300:
                rows.setdefault(text, module)
    return pd.DataFrame({"text": list(rows), "module": list(rows.values())})


def answers(questions):
    """Score and confidence of every model on every question of one half."""
    train, test = train_test_split(questions, train_size=0.25, random_state=0)
    parts = []
    for name, classifier in MODELS.items():
        model = make_pipeline(TfidfVectorizer(), classifier).fit(train["text"], train["module"])
        probability = model.predict_proba(test["text"])
        part = pd.DataFrame({"item": test.index, "text": test["text"], "model": name})
        correct = model.classes_[probability.argmax(axis=1)] == test["module"]
        parts.append(part.assign(score=correct.astype(int), confidence=probability.max(axis=1)))
    return pd.concat(parts, ignore_index=True)


items = answers(summaries())
print(f"{items['item'].nunique()} questions, {items['model'].nunique()} models")

# %%
# The silhouette selects the number of topics. Clusters with fewer than 14 questions join the
# nearest one. A question has the same topic for all models.

clusters = cluster_items(items, n_clusters=[20, 30, 40, 60], min_items=14, random_state=0)
items["topic"] = clusters.labels
print(clusters)

# %%
# We use ten questions of each topic; the others give the true accuracies. Embeddings use all texts
# of a topic; confidence is known only for the ten questions.

seen = sample_items(items, 10, random_state=0)
truth = items.drop(index=seen.index).groupby(BY)["score"].mean()
texts = embed_groups(items, "topic", n_components=8)
confidence = embed_groups(seen, BY, ["confidence"])
features = confidence.join(texts)
embedding = list(texts.columns)

summary = summarize_items(seen, BY, features=features)
regressor = RidgeCV(np.logspace(-2, 2, 9))  # names of models and topics become indicators
mu = truth.loc[list(summary.labels)].to_numpy()
estimators = {
    "direct": DirectEstimator(),
    "regression": SyntheticRegression(regressor, random_state=0),
    "empirical Bayes": EmpiricalBayes(regressor, random_state=0),
}
print("\nmean squared error relative to direct")
for name, estimator in estimators.items():
    error = np.mean((estimator.fit_predict(**summary.fit_args) - mu) ** 2)
    print(f"{name:16s} {error / np.mean((summary.z - mu) ** 2):.2f}")

# %%
# The importance of each group of features needs no true values: estimates from nine tenths of the
# questions are judged by the others.

groups = {"model names": "model", "confidence": "confidence", "embedding": embedding}
groups["all of them"] = ["model", "confidence", *embedding]
worth = {
    name: leave_out_covariates(
        estimators[name], seen, BY, covariates=groups, features=features, random_state=0
    )
    for name in ("regression", "empirical Bayes")
}
tables = {name: found.to_frame().iloc[1:] for name, found in worth.items()}
print("\nchange of the estimated squared error x 1000 without features (standard error)")
for name, table in tables.items():
    for row in table.itertuples():
        change, error = 1000 * row.difference, 1000 * row.difference_standard_error
        print(f"{name:16s} {row.Index:22s} {change:+6.2f} ({error:.2f})")

# %%

figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
for offset, (name, table) in zip((-0.12, 0.12), tables.items(), strict=True):
    ax.errorbar(
        1000 * table["difference"],
        np.arange(len(table)) + offset,
        xerr=1960 * table["difference_standard_error"],
        fmt="o",
        capsize=3,
        label=name,
    )
ax.axvline(0, color="0.5", linewidth=1)
ax.set_yticks(range(len(groups)), [f"without {name}" for name in groups])
ax.invert_yaxis()
ax.set_xlabel("increase of the mean squared error x 1000, with 95% interval")
ax.legend(frameon=False)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150)
