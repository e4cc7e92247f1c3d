"""RepeatedSamplingStudy: what it records, survives and refuses."""

from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    FayHerriot,
    JamesStein,
    RepeatedSamplingStudy,
    SyntheticRegression,
    make_items,
)
from skbench.assessment import Candidate

DATA = make_items(n_models=3, n_topics=12, n_items=50, random_state=0)
SPLIT = EmpiricalBayes(Ridge(), cv=2)  # one split: an eighth of the time of the default
ESTIMATORS = {
    "direct": DirectEstimator(),
    "James-Stein": JamesStein(),
    "EB": SPLIT,
}


class Moody(BaseEstimator):
    """Fails wherever the first direct estimate is at most a threshold."""

    def __init__(self, threshold=0.5, value=0.5):
        self.threshold = threshold
        self.value = value

    def fit(self, X, y):
        if y[0] <= self.threshold:
            raise RuntimeError(f"y[0] is {y[0]:g}")
        return self

    def predict(self, X):
        return np.full(len(X), self.value)


class Seeded(BaseEstimator):
    """Predicts a random number, to show which seed it was given."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.seed_ = self.random_state
        assert self.seed_ is not None
        return self

    def predict(self, X):
        return np.full(len(X), np.random.default_rng(self.random_state).random())


def make_study(estimators=ESTIMATORS, n_repeats=3, **options):
    return RepeatedSamplingStudy(estimators, 10, n_repeats, **{"random_state": 0} | options)


def run(study, data=DATA, **options):
    return study.run(data.items, features=data.features, **options)


def same(a, b):
    pd.testing.assert_frame_equal(a, b, check_exact=True)


# What comes out


def test_results_are_tidy():
    study = run(make_study())
    assert study.results_.columns.tolist() == [
        "repetition", "estimator", "model", "topic", "n", "estimate", "low", "high", "truth",
        "guarantee",
    ]  # fmt: skip
    assert len(study.results_) == 3 * 3 * 36
    counts = study.results_.groupby(["repetition", "estimator"], observed=True).size()
    assert (counts == 36).all() and (study.results_["n"] == 10).all()
    truth = DATA.items.groupby(["model", "topic"])["score"].mean()
    known = study.results_.drop_duplicates(["model", "topic"]).set_index(["model", "topic"])[
        "truth"
    ]
    known.index = pd.MultiIndex.from_tuples(known.index, names=truth.index.names)
    np.testing.assert_allclose(known.sort_index(), truth, rtol=1e-12)
    np.testing.assert_allclose(study.truth_, truth, rtol=1e-12)
    promised = study.results_.drop_duplicates("estimator").set_index("estimator")["guarantee"]
    assert promised.tolist() == [
        "each group, on average over accuracies",
        "model",
        "average over groups",
    ]


def test_direct_estimates_are_whole_tenths():
    direct = run(make_study()).results_.query("estimator == 'direct'")["estimate"]
    np.testing.assert_allclose(direct * 10, np.round(direct * 10), atol=1e-12)


def test_a_seed_decides_everything_and_repetitions_differ():
    first, again, other = (run(make_study(random_state=seed)).results_ for seed in (0, 0, 1))
    same(first, again)
    assert not np.allclose(first["estimate"], other["estimate"])
    by_repetition = first[first["estimator"] == "direct"].groupby("repetition")["estimate"].sum()
    assert by_repetition.nunique() > 1


def test_repetitions_do_not_depend_on_how_many_there_are():
    short, long = (run(make_study(n_repeats=n)).results_ for n in (2, 3))
    same(short, long[long["repetition"] < 2])


def test_an_estimator_does_not_depend_on_the_others():
    alone = run(make_study({"EB": SPLIT})).results_
    among = run(make_study()).results_.query("estimator == 'EB'")
    same(alone.drop(columns="estimator"), among.drop(columns="estimator").reset_index(drop=True))


def test_open_seeds_change_between_repetitions_and_set_ones_stay():
    study = run(
        make_study(
            {
                "open": Seeded(),
                "set": Seeded(3),
                "inside": make_pipeline(FunctionTransformer(), Seeded()),
            }
        )
    )
    values = study.results_.groupby(["estimator", "repetition"], observed=True)["estimate"].first()
    assert values["open"].nunique() == 3 and values["set"].nunique() == 1
    np.testing.assert_array_equal(values["open"], values["inside"])


def test_candidate_settings_reach_the_estimator():
    class Witness(BaseEstimator):
        def fit(self, X, y, sigma2, n, groups):
            self.given_ = len(y), bool(np.any(sigma2 == 0)), groups is None
            return self

        def predict(self, X):
            raise RuntimeError(str(self.given_))

        def estimate(self, confidence_level):
            raise RuntimeError(str(self.given_))

    study = make_study(
        {"own": Witness(), "paper": Candidate(Witness(), "plug-in", keep_topics=False)}, 3
    )
    with pytest.warns(UserWarning):
        run(study)
    messages = study.failures_.groupby("estimator")["message"].agg(set)
    assert messages["own"] == {"RuntimeError: (36, False, False)"}
    # Some group of each draw has only right or only wrong answers.
    assert messages["paper"] == {"RuntimeError: (36, True, True)"}


def test_plain_regressors_have_values_but_no_interval():
    encoder = FunctionTransformer(lambda X: X[["feature"]])
    study = run(make_study({"direct": DirectEstimator(), "ridge": make_pipeline(encoder, Ridge())}))
    ridge = study.results_.query("estimator == 'ridge'")
    assert ridge["estimate"].notna().all() and ridge["low"].isna().all()
    row = study.summary().loc["ridge"]
    assert row["mse_ratio"] > 0 and np.isnan(row["coverage"]) and row["guarantee"] == "none"


@pytest.mark.parametrize("keep_topics", [True, False])
def test_plain_regressors_read_text_as_those_inside_estimators_do(keep_topics):
    plain, inside = (
        Candidate(estimator, keep_topics=keep_topics)
        for estimator in (Ridge(), SyntheticRegression(Ridge()))
    )
    study = run(make_study({"plain": plain, "inside": inside}, 2))
    parts = dict(list(study.results_.groupby("estimator", observed=True)["estimate"]))
    np.testing.assert_allclose(parts["plain"], parts["inside"], rtol=1e-9)


@pytest.mark.parametrize("n_items", [10, 0.25, "proportional"])
def test_continuous_scores_and_every_design(n_items):
    data = make_items(3, 12, 60, score="continuous", random_state=1)
    study = RepeatedSamplingStudy(
        {"direct": DirectEstimator("normal"), "FH": FayHerriot()}, n_items, 4, random_state=0
    )
    study.run(data.items, features=data.features)
    assert study.results_["n"].unique().tolist() == [{10: 10, 0.25: 15}.get(n_items, 10)]
    assert 0.8 < study.summary().loc["direct", "coverage"] <= 1


def test_one_column_of_groups_and_no_item_ids():
    one = DATA.items[DATA.items["model"] == "model-0"].drop(columns=["item", "model", "cluster"])
    study = make_study({"direct": DirectEstimator()}).run(one, by="topic")
    assert "topic" in study.results_ and study.truth_.index.name == "topic"
    assert len(study.results_) == 3 * 12


def test_small_groups_are_dropped_by_name():
    one = DATA.items["topic"] == "topic-03"
    few = DATA.items[one].groupby("model").head(12)
    study = make_study({"direct": DirectEstimator()}, 2)
    with pytest.warns(UserWarning):
        study.run(pd.concat([DATA.items[~one], few]))
    assert study.dropped_["items"].tolist() == [12, 12, 12]
    assert "topic-03" not in study.results_["topic"].unique()
    assert len(study.truth_) == 33


# Failures


def test_a_failing_estimator_is_recorded_and_the_study_goes_on():
    study = make_study({"direct": DirectEstimator(), "moody": Moody()}, 30)
    with pytest.warns(UserWarning):
        run(study)
    failed = study.failures_
    first = study.results_.query("estimator == 'direct'").groupby("repetition")["estimate"].first()
    assert 0 < len(failed) < 30  # the threshold is near the middle of the first group
    assert failed["repetition"].tolist() == first.index[first <= 0.5].tolist()
    assert failed["message"].str.match(r"RuntimeError: y\[0\] is ").all()
    table = study.summary()
    assert table.loc["moody", ["repetitions", "failed"]].tolist() == [30 - len(failed), len(failed)]
    assert table.loc["direct", ["repetitions", "failed"]].tolist() == [30, 0]
    # Its ratio is over the repetitions it has, in both the numerator and the denominator.
    kept = study.results_[~study.results_["repetition"].isin(failed["repetition"])]
    square = (kept["estimate"] - kept["truth"]) ** 2
    mean = square.groupby(kept["estimator"], observed=True).mean()
    np.testing.assert_allclose(
        table.loc["moody", "mse_ratio"], mean["moody"] / mean["direct"], rtol=1e-12
    )


def test_an_estimator_that_always_fails_has_a_row():
    study = make_study({"direct": DirectEstimator(), "moody": Moody(2.0)}, 3)
    with pytest.warns(UserWarning):
        run(study)
    row = study.summary().loc["moody"]
    assert row["failed"] == 3 and row["repetitions"] == 0 and row["guarantee"] == "none"
    assert np.isnan(row["mse_ratio"]) and np.isnan(row["coverage"])


def test_estimates_that_are_not_finite_are_a_failure():
    study = make_study({"direct": DirectEstimator(), "nan": Moody(-1, np.nan)}, 2)
    with pytest.warns(UserWarning, match="'nan'.*finite"):
        run(study)
    assert len(study.failures_) == 2


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"value": np.zeros(3)}, r"value .* shape \(3,\)"),
        ({"low": None, "high": None}, r"low .* shape \(\)"),
        ({"low": np.zeros(3)}, r"low .* shape \(3,\)"),
        ({"high": 1.0}, r"high .* shape \(\)"),
        ({"high": ["one"] * 36}, "'one'"),
        ({"guarantee": "most groups"}, "guarantee .*'most groups'"),
    ],
)
def test_an_answer_that_cannot_be_read_is_a_failure(answer, words):
    class Foreign(BaseEstimator):
        def fit(self, X, y, sigma2, n, groups):
            self.value_ = y
            return self

        def estimate(self, confidence_level):
            fields = {"value": self.value_, "low": self.value_, "high": self.value_}
            return SimpleNamespace(**fields | {"guarantee": "model"} | answer)

    study = make_study({"direct": DirectEstimator(), "foreign": Foreign()}, 2)
    with pytest.warns(UserWarning):
        run(study)
    assert study.failures_["message"].str.contains(words).all()
    assert study.summary()["failed"].tolist() == [0, 2]


def test_warnings_are_kept_not_printed(recwarn):
    study = run(
        make_study(
            {
                "direct": DirectEstimator(),
                "paper": Candidate(EmpiricalBayes(Ridge(), cv=2), "plug-in"),
            },
            3,
        )
    )
    assert not [w for w in recwarn if "sigma2 = 0" in str(w.message)]
    assert study.warnings_["estimator"].unique().tolist() == ["paper"]
    assert study.warnings_["message"].str.contains("groups have sigma2 = 0").any()


# The same numbers everywhere


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_frame():
    distributed = pytest.importorskip("distributed")
    one = run(make_study(n_jobs=1))
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        same(one.results_, run(make_study()).results_)


# Refusals


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"estimators": {}}, ValueError),
        ({"estimators": [DirectEstimator()]}, TypeError),
        ({"estimators": {"direct": DirectEstimator}}, TypeError),
        ({"estimators": {"a": Candidate(DirectEstimator(), "exact")}}, ValueError),
        ({"estimators": {"a": Candidate(Ridge(), knows_population=True)}}, TypeError),
        (
            {"estimators": {"a": Candidate(SPLIT, knows_population=True)}, "replace": True},
            ValueError,
        ),
    ],
)
def test_bad_settings_are_refused(options, error):
    with pytest.raises(error):
        run(make_study(**options))


@pytest.mark.parametrize(
    "name", ["repetition", "estimator", "n", "estimate", "low", "high", "truth", "guarantee"]
)
def test_groups_are_not_named_as_results_are(name):
    with pytest.raises(ValueError, match="Rename"):
        make_study().run(DATA.items.rename(columns={"model": name}), [name, "topic"], model=name)


def test_no_summary_before_the_run():
    with pytest.raises(NotFittedError):
        make_study().summary()


def test_sizes_of_groups_may_be_known():
    both = {"plain": JamesStein(), "known": Candidate(JamesStein(), knows_population=True)}
    parts = dict(list(run(make_study(both, 2)).results_.groupby("estimator", observed=True)))
    plain, known = (parts[name].reset_index() for name in both)
    direct = run(make_study({"direct": DirectEstimator()}, 2)).results_
    seen = plain["n"] / 50
    expected = seen * direct["estimate"] + (1 - seen) * plain["estimate"]
    np.testing.assert_allclose(known["estimate"], expected)
    assert np.all(known["high"] - known["low"] < plain["high"] - plain["low"])


def test_random_folds_are_asked_for_in_words_estimators_understand():
    class Attributes(BaseEstimator):
        def fit(self, X, y, sigma2, n, groups, sampling):
            raise RuntimeError(f"{sampling.items_shared} {groups is None}")

        def estimate(self, confidence_level):
            raise NotImplementedError

    study = make_study({"kept": Attributes(), "split": Candidate(Attributes(), None, False)}, 1)
    with pytest.warns(UserWarning):
        run(study)
    messages = study.failures_.set_index("estimator")["message"]
    assert messages["kept"].endswith("True False") and messages["split"].endswith("False True")
