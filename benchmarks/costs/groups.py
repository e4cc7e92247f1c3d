"""Estimates of groups: the default from item rows, and empirical Bayes next to its own fits."""

from functools import partial

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.linear_model import Ridge

from costs import Cost, real_rows
from skbench import CrossFitKFold, EmpiricalBayes, MixedModel, summarize_items

ITEMS_PER_TOPIC = 20


def default_estimator(shapes):
    """Item rows to estimates, by models x topics x features; exponents are those of models."""
    for n_models, n_topics, n_features in shapes:
        rows = real_rows(n_models, n_topics * ITEMS_PER_TOPIC, n_topics)
        features = None
        if n_features:
            topics = pd.Index(sorted(rows["topic"].unique()), name="topic")
            values = np.random.default_rng(0).normal(size=(n_topics, n_features))
            features = pd.DataFrame(values, topics, [f"x{j}" for j in range(n_features)])

        def run(rows=rows, features=features):
            summary = summarize_items(rows, by=["model", "topic"], features=features)
            MixedModel().fit(**summary.fit_args).estimate()

        shape = f"{n_topics} topics and {n_features} features, {n_models} models"
        yield Cost(shape, n_models, run, bar=500, unit="MB")


def four_times_the_models(shapes):
    """The default with four times the models; linear cost means a factor of 4."""
    for n_models, n_topics in shapes:
        few, many = default_estimator([(n_models, n_topics, 0), (4 * n_models, n_topics, 0)])
        yield Cost(f"{n_topics} topics, {4 * n_models} models", n_models, many.run, few.run, 4)


def empirical_bayes(shapes):
    """`fit`, `estimate` and intervals of a ridge regression, next to its fits in a plain loop."""
    for n_groups in shapes:
        rng, topic = np.random.default_rng(0), np.arange(n_groups) % 50
        X, sigma2 = rng.normal(size=(n_groups, 20)), rng.uniform(0.005, 0.02, n_groups)
        z = 0.5 + 0.05 * (X[:, 0] + rng.normal(size=n_groups)) + rng.normal(0, np.sqrt(sigma2))

        names = (
            pd.DataFrame(X)
            .add_prefix("x")
            .assign(
                model=[f"model {number // 50}" for number in range(n_groups)],
                topic=[f"topic {number}" for number in topic],
            )
        )
        encoded = np.column_stack([pd.get_dummies(names["model"], dtype=float), X])

        def loop(X=X, z=z, groups=None):
            for train, test in CrossFitKFold(random_state=0).split(X, z, groups):
                clone(Ridge()).fit(X[train], z[train]).predict(X[test])
            clone(Ridge()).fit(X, z)

        model = EmpiricalBayes(Ridge(), random_state=0).fit(X, z, sigma2)
        calls = {
            "fit": lambda data=(X, z, sigma2): EmpiricalBayes(Ridge(), random_state=0).fit(*data),
            "estimate": model.estimate,
            "predict_interval": lambda m=model, data=(X, z, sigma2): m.predict_interval(*data),
        }
        for name, call in calls.items():
            yield Cost(f"{name}, {n_groups} groups", n_groups, call, loop, 1.3)

        def named(data=(names, z, sigma2), topic=topic):
            EmpiricalBayes(Ridge(), random_state=0).fit(*data, groups=topic)

        bare = partial(loop, encoded, z, topic)
        yield Cost(f"fit with names, {n_groups} groups", n_groups, named, bare, 1.3)


PATHS = {
    default_estimator: [
        *((models, 50, 0) for models in (20, 50, 100, 200, 400)),
        *((models, 50, 5) for models in (20, 50, 100, 200)),
        *((10, 500, 0), (10, 2_000, 0), (50, 500, 0)),
    ],
    four_times_the_models: [(50, 50)],
    empirical_bayes: [2_000, 5_000, 20_000],
}
SMALL = {
    default_estimator: [(200, 50, 0)],
    four_times_the_models: [(25, 50)],
    empirical_bayes: [2_000],
}
