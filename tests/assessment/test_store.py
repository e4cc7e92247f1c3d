"""Finished repetitions on disk: resumed, checked, never doubled."""

import fractions
import functools
import json
import os
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge
from sklearn.metrics import make_scorer, mean_squared_error
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    JamesStein,
    RepeatedSamplingStudy,
    make_items,
)
from skbench.assessment import _code, _study
from skbench.assessment._fingerprint import described

pytest.importorskip("pyarrow")

DATA = make_items(n_models=2, n_topics=6, n_items=50, random_state=0)
ESTIMATORS = {"direct": DirectEstimator(), "EB": EmpiricalBayes(Ridge(), cv=2)}


def make_study(path, n_repeats=5, estimators=ESTIMATORS, **options):
    options = {"n_items": 10, "random_state": 0} | options
    return RepeatedSamplingStudy(estimators, n_repeats=n_repeats, path=path, **options)


def run(study, data=DATA):
    return study.run(data.items, features=data.features)


class Moody(BaseEstimator):
    """Fails wherever the first direct estimate is above a half."""

    def fit(self, X, y):
        if y[0] > 0.5:
            raise RuntimeError(f"y[0] is {y[0]:g}")
        return self

    def predict(self, X):
        return np.full(len(X), 0.5)


def files(path):
    return sorted(path.glob("*.parquet"))


@pytest.fixture
def counted(monkeypatch):
    """Numbers of the repetitions that are really computed."""
    computed = []
    real = _study.repetition

    def repetition(trial, number):
        computed.append(number)
        return real(trial, number)

    monkeypatch.setattr(_study, "repetition", repetition)
    return computed


def same(a, b):
    pd.testing.assert_frame_equal(a.results_, b.results_, check_exact=True)
    pd.testing.assert_frame_equal(a.failures_, b.failures_)
    pd.testing.assert_frame_equal(a.warnings_, b.warnings_)


def test_results_on_disk_are_those_in_memory(tmp_path):
    same(run(make_study(None)), run(make_study(tmp_path / "a" / "study")))


@pytest.mark.parametrize("kind", ["whole", "float", "date", "timestamp", "ordered"])
def test_labels_on_disk_stay_what_they_were(tmp_path, kind):
    number = DATA.items["model"].str[-1].astype(int)
    date = pd.Timestamp("2026-01-01") + pd.to_timedelta(number, "D")
    label = {
        "whole": number,
        "float": number / 2,
        "date": date.dt.date,
        "timestamp": date,
        "ordered": pd.Categorical.from_codes(number, ["large", "small"], ordered=True),
    }[kind]
    items = DATA.items.assign(model=label)
    direct = {"direct": DirectEstimator()}
    stored, kept = (make_study(path, 2, direct).run(items) for path in (tmp_path, None))
    same(stored, kept)
    pd.testing.assert_frame_equal(stored.summary(by="model"), kept.summary(by="model"))


def test_a_repetition_in_which_all_fail_is_the_same_on_disk(tmp_path):
    with pytest.warns(UserWarning, match="'moody' failed in"):
        stored, kept = (run(make_study(path, 5, {"moody": Moody()})) for path in (tmp_path, None))
    assert 0 < len(kept.failures_) < 5
    same(stored, kept)
    pd.testing.assert_frame_equal(stored.summary(baseline="moody"), kept.summary(baseline="moody"))
    assert len(pd.read_parquet(tmp_path)) == len(kept.results_)


def test_the_folder_reads_as_one_table(tmp_path):
    study = run(make_study(tmp_path))
    (tmp_path / f"_{files(tmp_path)[0].name}.unfinished").write_bytes(b"what a kill left")
    table = pd.read_parquet(tmp_path)
    np.testing.assert_array_equal(
        table.sort_values("repetition", kind="stable")["estimate"], study.results_["estimate"]
    )


def test_finished_repetitions_are_not_run_again(tmp_path, counted):
    first = run(make_study(tmp_path))
    assert counted == [0, 1, 2, 3, 4]
    same(first, run(make_study(tmp_path)))
    assert counted == [0, 1, 2, 3, 4]


def test_a_study_goes_on_with_more_repetitions(tmp_path, counted):
    run(make_study(tmp_path, 2))
    longer = run(make_study(tmp_path, 5))
    assert counted == [0, 1, 2, 3, 4]
    same(longer, run(make_study(None, 5)))
    same(run(make_study(tmp_path, 3)), run(make_study(None, 3)))


def test_an_interrupt_loses_nothing_that_was_finished(tmp_path, counted, monkeypatch):
    real = _study.repetition

    def interrupted(trial, number):
        if number == 3:
            raise KeyboardInterrupt
        return real(trial, number)

    monkeypatch.setattr(_study, "repetition", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(make_study(tmp_path))
    assert len(files(tmp_path)) == 3
    monkeypatch.setattr(_study, "repetition", real)
    same(run(make_study(tmp_path)), run(make_study(None)))
    assert counted[:5] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("which", [0, 2, 4])
@pytest.mark.parametrize("damage", ["truncated", "empty", "flipped", "gone"])
def test_damaged_files_are_redone(tmp_path, counted, which, damage):
    whole = run(make_study(tmp_path))
    path = files(tmp_path)[which]
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    if damage == "gone":
        path.unlink()
    else:
        content[middle] ^= 1
        cut = {"truncated": middle, "empty": 0, "flipped": None}[damage]
        path.write_bytes(content[:cut])
    counted.clear()
    same(whole, run(make_study(tmp_path)))
    assert counted == [which]


def test_leftovers_of_a_kill_are_ignored(tmp_path, counted):
    whole = run(make_study(tmp_path))
    path = files(tmp_path)[4]
    half = path.with_name(f"_{path.name}.unfinished")
    half.write_bytes(path.read_bytes()[:100])
    path.unlink()
    counted.clear()
    same(whole, run(make_study(tmp_path)))
    assert counted == [4] and not half.exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_items": 5}, r"n_items='10', this one has '5'"),
        ({"random_state": 1}, "random_state"),
        ({"confidence_level": 0.9}, "confidence_level='0.95', this one has '0.9'"),
        ({"replace": True}, "replace='False', this one has 'True'"),
        ({"variance": "plug-in"}, r"estimators\['EB'\]=.*smoothed.*plug-in"),
    ],
)
def test_other_settings_are_refused(tmp_path, options, words):
    run(make_study(tmp_path, 1))
    with pytest.raises(ValueError, match=words):
        run(make_study(tmp_path, 1, **options))


def test_other_estimators_are_refused(tmp_path):
    run(make_study(tmp_path, 1))
    study = make_study(tmp_path, 1)
    study.estimators = ESTIMATORS | {"EB": EmpiricalBayes(Ridge(alpha=2.0), cv=2)}
    with pytest.raises(ValueError, match=r"Ridge\(alpha=1.0.*Ridge\(alpha=2.0"):
        run(study)
    study.estimators = ESTIMATORS | {"JS": JamesStein()}
    with pytest.raises(ValueError, match="estimators='direct, EB', this one has 'direct, EB, JS'"):
        run(study)


def estimator_of(source):
    """An instance of the class Mine in a program."""
    program = "from sklearn.base import BaseEstimator\n" + source
    space = {"__name__": "program_of_a_user"}
    exec(program, space)
    return space["Mine"]()


MINE = """
import numpy as np
def helper(y):
    return y.mean()
class Mine(BaseEstimator):
    def fit(self, X, y):
        self.mean_ = helper(y)
        return self
    def predict(self, X):
        return np.full(len(X), self.mean_)
"""


@pytest.mark.parametrize(
    ("old", "new"), [("y.mean()", "y.max()"), ("self.mean_)", "self.mean_ + 1)"), ("", "")]
)
def test_another_code_of_an_estimator_is_refused(tmp_path, old, new, counted):
    run(make_study(tmp_path, 1, {"mine": estimator_of(MINE)}))
    study = make_study(tmp_path, 2, {"mine": estimator_of(MINE.replace(old, new))})
    if old == new:
        run(study)
        assert counted == [0, 1]
    else:
        with pytest.raises(ValueError, match=r"was run with estimators\['mine'\]"):
            run(study)


@pytest.mark.parametrize("package", ["sklearn", "skbench", "numpy"])
def test_another_version_of_a_library_is_refused(tmp_path, package, monkeypatch):
    run(make_study(tmp_path, 1))
    known = _code.version_of
    monkeypatch.setattr(
        _code, "version_of", lambda name: "0.0.1" if name == package else known(name)
    )
    with pytest.raises(ValueError, match=f"was run with code of {package}=.* this one has '0.0.1'"):
        run(make_study(tmp_path, 2))


def with_function(function):
    return {"direct": DirectEstimator(), "f": make_pipeline(FunctionTransformer(function), Ridge())}


def factor_of(factor):
    return lambda X: X[["feature"]] * factor


def of_feature(function):
    return make_pipeline(FunctionTransformer(function), Ridge())


def scaled(factor):
    return lambda X: X[["feature"]] * factor


def shifted(by):
    return lambda X, by=by: X[["feature"]] + by


def nested(inner):
    return lambda X: X.apply(lambda column: column + inner)


def in_one_place(is_plain):
    return (lambda X: X[["feature"]]) if is_plain else (lambda X: X[["feature"]] * 0)


@pytest.mark.parametrize(
    "make",
    [
        in_one_place,
        scaled,
        shifted,
        nested,
        lambda value: functools.partial(np.multiply, value),
        lambda value: functools.partial(in_one_place, is_plain=value),
        lambda value: make_scorer(mean_squared_error, greater_is_better=value),
        lambda value: make_scorer(in_one_place(value)),
        lambda value: fractions.Fraction(value, 3).__add__,
    ],
)
def test_functions_are_told_apart_by_what_they_do(make):
    first, again, other = (described(Ridge(make(value))) for value in (True, True, False))
    assert first == again != other


def test_a_function_may_call_itself():
    def countdown(n):
        return countdown(n - 1) if n else 0

    assert described(countdown) == described(countdown)


def test_a_parameter_that_cannot_be_compared_is_refused(tmp_path):
    study = make_study(tmp_path, estimators={"lock": Ridge(threading.Lock())})
    with pytest.raises(ValueError, match="lock.* cannot be compared .*leave out path"):
        run(study)


@pytest.mark.parametrize(
    "estimator",
    [
        of_feature(functools.partial(pd.DataFrame.filter, items=["feature"])),
        GridSearchCV(
            of_feature(lambda X: X[["feature"]]),
            {"ridge__alpha": [1, 2]},
            scoring=make_scorer(mean_squared_error, greater_is_better=False),
        ),
    ],
)
def test_a_study_goes_on_with_functions_and_scorers(tmp_path, counted, estimator):
    estimators = {"direct": DirectEstimator(), "regressor": estimator}
    run(make_study(tmp_path, 1, estimators))
    longer = run(make_study(tmp_path, 2, estimators))
    assert counted == [0, 1] and not len(longer.failures_)


def test_another_function_of_the_same_place_is_refused(tmp_path):
    first, other = ({"direct": of_feature(in_one_place(is_plain))} for is_plain in (True, False))
    run(make_study(tmp_path, 1, first))
    with pytest.raises(ValueError, match="was run with estimators"):
        run(make_study(tmp_path, 2, other))


def test_descriptions_of_functions_do_not_depend_on_the_process():
    program = """
from skbench.assessment._fingerprint import described
from sklearn.metrics import make_scorer, mean_squared_error
def outer(names, module):
    return lambda X, kept=frozenset("abc"): (X in {"u", "v", "w"}, names, module, lambda: kept)
import re
print(described([outer({"x", "y", "z"}, re), make_scorer(mean_squared_error), len, dict]))
"""
    said = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert len(said) == 1


@pytest.mark.parametrize("change", ["score", "feature", "label"])
def test_other_data_are_refused(tmp_path, change):
    run(make_study(tmp_path, 1))
    items, features = DATA.items.copy(), DATA.features.copy()
    if change == "score":
        items.loc[0, "score"] = 1 - items.loc[0, "score"]
    elif change == "feature":
        features.iloc[0, 0] += 1e-9
    else:
        items["model"] = items["model"].replace("model-0", "model-x")
    with pytest.raises(ValueError, match="was run with items="):
        make_study(tmp_path, 1).run(items, features=features)


def test_the_fingerprint_does_not_depend_on_the_process_or_the_order_of_rows(tmp_path):
    run(make_study(tmp_path, 1))
    shuffled = DATA.items.sample(frac=1, random_state=0)
    make_study(tmp_path, 1).run(shuffled, features=DATA.features)


def test_a_foreign_or_broken_folder_is_refused(tmp_path):
    run(make_study(tmp_path, 1))
    manifest = tmp_path / "_manifest.json"
    settings = json.loads(manifest.read_text())
    assert settings["estimators"] == "direct, EB"
    manifest.write_text(manifest.read_text()[:20])
    with pytest.raises(ValueError, match=r"_manifest.json .*is damaged"):
        run(make_study(tmp_path, 1))
    manifest.unlink()
    with pytest.raises(ValueError, match=r"no _manifest.json"):
        run(make_study(tmp_path, 1))
