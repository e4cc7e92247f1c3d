"""The same summary by every route: the same numbers, or an error, or a warning that says why.

What decides a number travels in `Sampling` and in arguments, not in attributes that pandas
drops; so no join, file or transformer may change a number without a word.
"""

import io
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    FayHerriot,
    GroupSummary,
    IntervalPipeline,
    JamesStein,
    MixedModel,
    StructuredRegression,
    SyntheticRegression,
    make_items,
    summarize_items,
)

BY = ["model", "topic"]
EB = EmpiricalBayes(Ridge(), cv=2, random_state=0)
ESTIMATORS = {
    "direct": DirectEstimator(),
    "synthetic": SyntheticRegression(Ridge(), random_state=0),
    "structured": StructuredRegression(alphas=5, cv=2, random_state=0),
    "james-stein": JamesStein(),
    "fay-herriot": FayHerriot(),
    "eb": EB,
    "mixed": MixedModel(),
    "without features": MixedModel(kernels=None),
    "gaussian": MixedModel("gaussian"),
    "pipeline": IntervalPipeline([("same", "passthrough"), ("eb", EB)]),
}


def shared():
    """Right and wrong answers of models to the same items."""
    data = make_items(3, 16, 10, random_state=1)
    return summarize_items(data.items, BY, features=data.features)


def few():
    """Five skewed scores per group, of models on the same items."""
    data = make_items(3, 16, 5, random_state=3)
    noise = np.random.default_rng(0).exponential(size=len(data.items))
    items = data.items.assign(score=data.items["score"] + noise)
    return summarize_items(items, BY, features=data.features)


def clusters():
    """Right and wrong answers in passages of two to four questions."""
    rng = np.random.default_rng(4)
    size = rng.integers(2, 5, size=3 * 16 * 6)
    group = np.repeat(np.arange(48), 6)
    right = expit(rng.normal(0.5, 1, len(size)) + rng.normal(0, 0.5, 48)[group])
    passage = np.repeat(np.arange(len(size)), size)
    topic = np.char.add("topic-", (group // 3).astype(str))[passage]
    items = pd.DataFrame({"model": np.array(list("abc"))[group % 3][passage], "topic": topic})
    items["passage"], items["item"] = passage, np.arange(len(passage))
    items["score"] = (rng.random(len(passage)) < right[passage]).astype(float)
    features = pd.DataFrame({"topic": items["topic"].unique()}).assign(feature=np.arange(16.0))
    return summarize_items(items, BY, cluster="passage", features=features)


SUMMARIES = {kind.__name__: kind() for kind in (shared, few, clusters)}


def is_quick(case, name):
    """What reads most of what may be lost; of shared items, the correlation of errors too."""
    return name in ("direct", "eb") or (case, name) == ("shared", "mixed")


CASES = [
    pytest.param(case, name, marks=() if is_quick(case, name) else pytest.mark.slow)
    for case, g in SUMMARIES.items()
    for name in ESTIMATORS
]
every_case = pytest.mark.parametrize(("case", "name"), CASES)


def numbers(fitted):
    e = fitted.estimate()
    return np.column_stack([e.value, e.low, e.high])


def expected(case, name, cache={}):  # noqa: B006
    if (case, name) not in cache:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            fitted = clone(ESTIMATORS[name]).fit(**SUMMARIES[case].fit_args)
        cache[case, name] = numbers(fitted)
    return cache[case, name]


def with_X(change):
    return lambda estimator, g: estimator.fit(**g.fit_args | {"X": change(g.X)})


def of_file(suffix):
    def route(estimator, g):
        table, sampling = g.to_frame(features=True), pickle.dumps(g.sampling)
        file = io.BytesIO()
        if suffix == "csv":
            table.to_csv(file)
            whole = {"index_col": BY, "float_precision": "round_trip"}
            read = pd.read_csv(io.BytesIO(file.getvalue()), **whole)
        else:
            pytest.importorskip("pyarrow")
            table.to_parquet(file)
            read = pd.read_parquet(io.BytesIO(file.getvalue()))
        back = GroupSummary.from_frame(read, pickle.loads(sampling))
        return estimator.fit(**back.fit_args)

    return route


def transformed(prefixes):
    same = make_column_transformer(
        ("passthrough", ["model", "topic"]),
        (FunctionTransformer(feature_names_out="one-to-one"), ["feature"]),
        verbose_feature_names_out=prefixes,
    )
    return with_X(same.set_output(transform="pandas").fit_transform)


def in_a_search(routing):
    def route(estimator, g):
        cv = KFold(2) if g.groups is None else GroupKFold(2)
        with sklearn.config_context(enable_metadata_routing=routing):
            # A level that a fold lacks makes Fay-Herriot refuse to score; the refit has all.
            search = GridSearchCV(estimator, {}, cv=cv, error_score=0.0)
            return search.fit(**g.fit_args).best_estimator_

    return route


def in_a_pipeline(estimator, g):
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = Pipeline([("same", FunctionTransformer()), ("last", estimator)])
        return pipeline.fit(**g.fit_args)[-1]


WHOLE = {
    "positional": lambda e, g: e.fit(g.X, g.z, g.sigma2, g.n_independent, g.groups, g.sampling),
    "csv": of_file("csv"),
    "parquet": of_file("parquet"),
    "prefixes": transformed(True),
    "no prefixes": transformed(False),
    "search": in_a_search(False),
    "routed search": in_a_search(True),
    "routed pipeline": in_a_pipeline,
    "pickle": lambda e, g: pickle.loads(
        pickle.dumps(e.fit(**pickle.loads(pickle.dumps(g)).fit_args))
    ),
}


# Others know topics as groups only, whatever columns are called.
NAMES_TOPICS = {"mixed", "without features", "gaussian", "direct"}


@pytest.mark.filterwarnings("error:sampling", "error:X has no column")
@every_case
def test_nothing_is_lost_on_the_way(case, name):
    for route, fit in WHOLE.items():
        if route == "search" and SUMMARIES[case].groups is not None and name not in NAMES_TOPICS:
            assert same_or_warned(fit, case, name)  # without routing, searches keep groups
            continue
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".* groups have fewer than 20 items|Scoring failed")
            fitted = fit(clone(ESTIMATORS[name]), SUMMARIES[case])
        wanted = expected(case, name)
        assert_allclose(numbers(fitted), wanted, rtol=1e-12, atol=1e-12, err_msg=route)


def without(*names):
    return lambda estimator, g: estimator.fit(**g.fit_args | dict.fromkeys(names))


PARTIAL = {
    "no sampling": without("sampling"),
    "as once documented": lambda e, g: e.fit(g.X, g.z, g.sigma2, g.n, g.groups),
    "items as n": lambda e, g: e.fit(g.X, g.z, g.sigma2, g.n, g.groups, g.sampling),
    "no n": without("n"),
    "no topics": without("groups"),
    "numpy": with_X(lambda X: X.to_numpy()),
    "numbers as names": with_X(
        lambda X: X.assign(model=X["model"].factorize()[0], topic=X["topic"].factorize()[0])
    ),
    "no model": with_X(lambda X: X.drop(columns="model")),
    "an array of codes": with_X(
        lambda X: (
            X.assign(model=X["model"].factorize()[0], topic=X["topic"].factorize()[0])
            .astype(float)
            .to_numpy()
        )
    ),
    "indicators of models": with_X(
        lambda X: pd.get_dummies(X, prefix_sep="__", columns=["model"], dtype=float)
    ),
}
# What follows from other features, not from something lost: these read text as indicators.
READS_FEATURES = {"synthetic", "structured", "fay-herriot", "eb", "pipeline"}
# An array names no models, so to a mixed model there is one; X without the column is a loss.
ONE_MODEL = {"mixed", "without features", "gaussian"}
OTHER_FEATURES = {"no model", "an array of codes", "indicators of models"}


@every_case
def test_warns_of_what_is_lost(case, name):
    for route, fit in PARTIAL.items():
        other = route in OTHER_FEATURES and name in READS_FEATURES
        if not other and not (route == "an array of codes" and name in ONE_MODEL):
            assert same_or_warned(fit, case, name), route


def same_or_warned(fit, case, name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = numbers(fit(clone(ESTIMATORS[name]), SUMMARIES[case]))
        except (ValueError, TypeError):
            return True
    messages = [str(warning.message) for warning in caught]
    explained = any("Pass" in words or "astype" in words for words in messages)
    return explained or np.allclose(found, expected(case, name), rtol=1e-12, atol=1e-12)
