"""The study of `f24`: data, designs, estimators, and repeated sampling.

Each repetition draws a few items of every topic without replacement, the same items for all
models. The true value is the mean over all items (section 4.2, C.1).
"""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LassoCV
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from reproduced import data_folder
from skbench import (
    CrossFitKFold,
    DirectEstimator,
    EmpiricalBayes,
    FayHerriot,
    JamesStein,
    RepeatedSamplingStudy,
    StructuredRegression,
    SyntheticRegression,
    cluster_items,
    leave_out_covariates,
    summarize_items,
)
from skbench.assessment import Candidate
from skbench.groups._group_lasso import largest_penalty, lasso_path, shrunk_to_zero
from skbench.groups._regressors import precision_weights

DESIGNS = (10, 20, 50, "proportional")
IN_TABLE_3 = (20, "proportional")
DT, SR, EB, OURS = "direct", "synthetic regression", "EB, as published", "EB, default"
LASSO, LASSO_PUBLISHED, LASSO_BY_ITEMS = (
    f"structured regression, {penalty}" for penalty in ("default", "as published", "items split")
)
EB_LASSO = "EB, as published, lasso inside"
_SHARES = np.geomspace(1, 1e-3, 12)


class PenaltyByItems(StructuredRegression):
    """Structured regression with the penalty that has the smallest held-out error."""

    def _fit(self, X, groups):
        self.alphas = [_SHARES[int(np.argmin(self._on_items(X)))]]
        super()._fit(X, groups)

    def _on_items(self, X):
        """Return errors against the held-out half of each group's items, for both halves."""
        rng = np.random.default_rng(0)
        n = self.n_.astype(int)
        k, half = np.rint(self.z_ * n).astype(int), n // 2
        errors = np.zeros(len(_SHARES))
        for _ in range(2):
            first = rng.hypergeometric(k, n - k, half)
            p = (first + 1) / (half + 2)
            z, other = first / half, (k - first) / (n - half)
            for i, (predicted, threshold) in enumerate(_path(X, z, p * (1 - p) / half)):
                estimate = predicted + shrunk_to_zero(z - predicted, threshold)
                errors[i] += np.sum((estimate - other) ** 2)
        return errors


def _path(X, z, sigma2):
    """Return predictions and thresholds of the groups at every penalty."""
    design = StructuredRegression([1.0]).fit(X, z, sigma2).regressor_[:-1].transform(X)
    weight = precision_weights(sigma2)
    penalties = largest_penalty(design, z, weight) * _SHARES
    for penalty, (intercept, coef) in lasso_path(design, z, weight, penalties):
        yield intercept + design @ coef, penalty / weight


def published(estimator, **how):
    """Return a candidate with plug-in variances, as in the paper."""
    return Candidate(estimator, variance="plug-in", **how)


def on_trial(task, design, left_out):
    """Return the estimators of one design; some occur only in Table 3 of the paper."""
    estimators = {
        DT: DirectEstimator(),
        SR: published(SyntheticRegression.as_published(task, random_state=None)),
        EB: published(EmpiricalBayes.as_published(task, random_state=None)),
        OURS: EmpiricalBayes(),
        LASSO: StructuredRegression(),
        "James-Stein": JamesStein(),
        "Fay-Herriot": FayHerriot(),
    }
    if design in IN_TABLE_3:
        estimators[LASSO_PUBLISHED] = published(StructuredRegression.as_published(None))
        estimators[LASSO_BY_ITEMS] = PenaltyByItems()
    return estimators | (without_features(task, left_out) if design == "proportional" else {})


def without_features(task, left_out):
    """Return the paper's synthetic regression without each group of features (section 4.3)."""
    estimators = {}
    for name, columns in left_out.items():
        regression = SyntheticRegression.as_published(task, random_state=None)
        if task in columns:
            regression.set_params(regressor__cv=CrossFitKFold(2, 1))
        estimators[f"{SR} without {name}"] = published(regression, without=columns)
    return estimators


def mmlu_pro():
    """Load ten models on 46 subjects; features are mean embeddings of the drawn questions."""
    wide = pd.read_csv(data_folder() / "mmlu_pro_dev.csv.gz")
    models = wide.columns[wide.columns.get_loc("lsa15") + 1 :].tolist()
    embedding = [name for name in wide.columns if name.startswith("lsa")]
    others = wide.columns.difference(models).tolist()
    return {
        "items": wide.melt(others, models, "model", "score"),
        "by": ["model", "src"],
        "item": "question_id",
        "features": [*embedding, "question_chars", "n_options"],
    }


def big_bench_hard():
    """Load one model with two prompts, as two models, on 27 tasks without features."""
    items = pd.read_csv(data_folder() / "bbh_codex.csv.gz")
    return {
        "items": items.rename(columns={"mode": "model"}),
        "by": ["model", "task"],
        "score": "correct",
    }


DATA = {"MMLU-Pro": mmlu_pro, "BIG-Bench-Hard": big_bench_hard}
# Groups of features that are omitted one after the other (section 4.3).
_EMBEDDING = [f"lsa{i:02d}" for i in range(16)]
LEFT_OUT = {
    "MMLU-Pro": {
        "models": ["model"],
        "embedding": _EMBEDDING,
        "subjects": ["src"],
        "subjects, embedding": ["src", *_EMBEDDING],
        "length, options": ["question_chars", "n_options"],
    },
    "BIG-Bench-Hard": {},
}


def studied(name, data, estimators, design, arguments):
    """Return the finished study of some estimators; repetitions are cached under its name."""
    folder = arguments.folder and Path(arguments.folder) / name
    study = RepeatedSamplingStudy(
        estimators, design, arguments.repetitions, random_state=0, n_jobs=arguments.jobs
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # topics that are too small; they are kept in the study
        return study.run(**data, memory=folder or None)


def study_of(name, design, arguments):
    """Run all estimators on one data set and design."""
    data = DATA[name]()
    estimators = on_trial(data["by"][1], design, LEFT_OUT[name])
    return studied(f"{name}-{design}", data, estimators, design, arguments)


def lasso_inside(name, design, arguments):
    """Run the published empirical Bayes with a lasso on the draws of `study_of`."""
    data = DATA[name]()
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), data["by"]),
        remainder=StandardScaler(),
    )
    folds = KFold(5, shuffle=True, random_state=0)
    estimator = EmpiricalBayes.as_published(data["by"][1], random_state=None).set_params(
        regressor=make_pipeline(columns, LassoCV(cv=folds))
    )
    estimators = {DT: DirectEstimator(), EB_LASSO: published(estimator)}
    return studied(f"{name}-{design}-lasso", data, estimators, design, arguments)


def without_topics(arguments):
    """Run the study of MMLU-Pro with clustered topics instead of subjects (section 4.1)."""
    data = mmlu_pro()
    items = data["items"].drop(columns="src")
    clusters = cluster_items(items, _EMBEDDING, random_state=0)
    data |= {"items": items.assign(topic=clusters.labels), "by": ["model", "topic"]}
    on = on_trial("topic", None, {})
    estimators = {name: on[name] for name in (DT, SR, EB, OURS, LASSO)}
    return studied("MMLU-Pro-clusters", data, estimators, "proportional", arguments), clusters


def weights_of_direct(name, n, seed):
    """Return mean weights of the direct estimates in EB on one draw."""
    data = DATA[name]()
    items, by = data.pop("items"), data.pop("by")
    item = [by[1], data.get("item", "item")]
    asked = items[item].drop_duplicates().groupby(by[1])
    enough = asked.filter(lambda own: len(own) >= 4 * n)
    items = items.merge(enough.groupby(by[1]).sample(n, random_state=seed))
    weights = []
    for estimator, variance in (
        (EmpiricalBayes.as_published(by[1], seed), "plug-in"),
        (EmpiricalBayes(random_state=seed), "smoothed"),
    ):
        summary = summarize_items(items, by, **data, variance=variance)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # variances that are 0
            weights.append(estimator.fit(**summary.fit_args).shrinkage_factor_.mean())
    return weights


def each_model_alone(name, arguments):
    """Run the published empirical Bayes separately on each model."""
    data = DATA[name]()
    task = data["by"][1]
    estimators = {
        DT: DirectEstimator(),
        EB: published(EmpiricalBayes.as_published(task, random_state=None)),
    }
    return {
        model: studied(
            f"{name}-{model}".replace("/", "-"),
            data | {"items": own},
            estimators,
            "proportional",
            arguments,
        )
        for model, own in data["items"].groupby("model", sort=False)
    }


def left_out_by_split_items(arguments):
    """Estimate the increase of the SR error without groups of features from all items."""
    data = mmlu_pro()
    worth = leave_out_covariates(
        SyntheticRegression.as_published("src"),
        data.pop("items"),
        data.pop("by"),
        covariates={name: LEFT_OUT["MMLU-Pro"][name] for name in ("models", "embedding")},
        n_splits=5,
        random_state=0,
        n_jobs=arguments.jobs,
        **data,
    ).to_frame()
    return worth["risk"] / worth["risk"].iloc[0] - 1
