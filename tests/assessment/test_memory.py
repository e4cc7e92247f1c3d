"""Repetitions kept by `joblib.Memory`: an interrupted study goes on, and nothing is mixed up."""

import threading
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge, SGDRegressor
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    JamesStein,
    RepeatedSamplingStudy,
    make_items,
)
from skbench.assessment import Candidate, _repetition, _study
from skbench.assessment._repetition import key_of

DATA = make_items(n_models=2, n_topics=6, n_items=50, random_state=0)


class Counted(BaseEstimator):
    """Predicts a mean; writes a line at each fit, and is interrupted at a line if asked for."""

    stop_at = None

    def __init__(self, log, random_state=None):
        self.log = log
        self.random_state = random_state

    def fit(self, X, y):
        with open(self.log, "a") as file:
            file.write("fit\n")
        if fits(self.log) == Counted.stop_at:
            raise KeyboardInterrupt
        if y[0] > 0.7:
            raise RuntimeError(f"y[0] is {y[0]:g}")
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_ + np.random.default_rng(self.random_state).random())


def fits(log):
    return len(Path(log).read_text().splitlines())


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log"
    path.write_text("")
    return str(path)


def run(log, memory=None, n_repeats=5, data=DATA, level=0.95, more=None, **options):
    """A study whose estimators say how often they are fitted."""
    options = {"n_items": 10, "random_state": 0} | options
    estimators = {"direct": DirectEstimator(), "counted": Counted(log)} | (more or {})
    study = RepeatedSamplingStudy(estimators, n_repeats=n_repeats, **options)
    return study.run(data.items, features=data.features, confidence_level=level, memory=memory)


def same(a, b):
    for name in ("results_", "failures_", "warnings_"):
        pd.testing.assert_frame_equal(getattr(a, name), getattr(b, name), check_exact=True)


pytestmark = pytest.mark.filterwarnings("ignore:'counted' failed:UserWarning")


@pytest.mark.parametrize("kind", [str, lambda path: joblib.Memory(path, verbose=0)])
def test_finished_repetitions_are_not_computed_again(tmp_path, log, kind):
    memory = kind(tmp_path / "study")
    first, again = run(log, memory), run(log, memory)
    assert fits(log) == 5
    assert 0 < len(first.failures_) < 5
    same(first, again)
    same(first, run(log))


def test_a_study_goes_on_with_more_repetitions(tmp_path, log):
    run(log, tmp_path, 2)
    longer = run(log, tmp_path, 5)
    assert fits(log) == 5
    same(longer, run(log))
    same(run(log, tmp_path, 3), run(log, None, 3))


def test_an_interrupted_run_goes_on_where_it_was(tmp_path, log, monkeypatch):
    monkeypatch.setattr(Counted, "stop_at", 4)
    with pytest.raises(KeyboardInterrupt):
        run(log, tmp_path)
    monkeypatch.setattr(Counted, "stop_at", None)
    resumed = run(log, tmp_path)
    assert fits(log) == 4 + 2  # the fourth was not finished
    same(resumed, run(log))


@pytest.mark.parametrize("left", [b"cut", None])
def test_a_damaged_file_is_computed_again(tmp_path, log, capsys, caplog, left):
    whole = run(log, tmp_path)
    path = next(tmp_path.rglob("output.pkl"))
    for old in (path, path.with_name("metadata.json")):
        old.unlink() if left is None else old.write_bytes(old.read_bytes()[:50] + left)
    same(whole, run(log, tmp_path))
    assert fits(log) == 6
    assert not caplog.text and "".join(capsys.readouterr()) == ""
    run(log, tmp_path)
    assert fits(log) == 6


# Keys


def changed(what):
    """Data with another score, feature or label, or with the same ones in another order."""
    items, features = DATA.items.copy(), DATA.features.copy()
    if what == "score":
        items.loc[0, "score"] = 1 - items.loc[0, "score"]
    elif what == "feature":
        features.iloc[0, 0] += 1e-9
    elif what == "label":
        items["model"] = items["model"].replace("model-0", "model-x")
    elif what == "rows":
        items = items.sample(frac=1, random_state=0)
    else:  # the order of categories, which codes follow
        kinds = pd.Categorical(["a", "b"] * 3, categories=what)
        features = features.assign(kind=kinds)
    return {"data": SimpleNamespace(items=items, features=features)}


def more(estimator):
    return {"more": {"more": estimator}}


OTHERS = [
    {},
    {"n_items": 5},
    {"random_state": 1},
    {"level": 0.9},
    {"replace": True},
    {"share_items": False},
    {"variance": "plug-in"},
    *map(changed, ["score", "feature", "label", ["a", "b"], ["b", "a"]]),
    *map(more, [JamesStein(), JamesStein(0.5), Candidate(JamesStein(), keep_topics=False)]),
    *(more(make_pipeline(FunctionTransformer(f), Ridge())) for f in (np.exp, np.log1p)),
    *(more(EmpiricalBayes(make_pipeline(Ridge(alpha)))) for alpha in (1, 2)),
    *(more(EmpiricalBayes(SGDRegressor(random_state=seed))) for seed in (1, 2)),
    *(more(EmpiricalBayes(Ridge(), cv=KFold(2, shuffle=True, random_state=s))) for s in (1, 2)),
]


LIBRARIES = {name: version(name) for name in _repetition._LIBRARIES}


class Found(Exception):
    """Carries the key of a study that is not run."""


@pytest.fixture
def key(monkeypatch, log, tmp_path):
    def tell(trial):
        raise Found(key_of(trial))

    def found(n_repeats=5, **options):
        with monkeypatch.context() as patch, pytest.raises(Found) as raised:
            patch.setattr(_study, "key_of", tell)
            run(log, tmp_path, n_repeats, **options)
        return raised.value.args[0]

    return found


def test_what_decides_the_numbers_is_in_the_key(key, monkeypatch):
    keys = [key(**options) for options in OTHERS]
    for library in LIBRARIES:
        monkeypatch.setattr(_repetition.metadata, "version", (LIBRARIES | {library: "9.9"}).get)
        keys.append(key())
    monkeypatch.setattr("skbench.__version__", "9.9")
    keys.append(key())
    assert len(set(keys)) == len(keys) == len(OTHERS) + len(LIBRARIES) + 1


@pytest.mark.parametrize("options", [{"n_repeats": 9}, {"n_jobs": 2}, changed("rows")])
def test_what_does_not_is_not_in_the_key(key, options):
    assert key(**options) == key()


def test_another_key_is_computed_anew(tmp_path, log):
    run(log, tmp_path, 1)
    other = run(log, tmp_path, 1, **changed("score"))
    assert fits(log) == 2
    same(other, run(log, None, 1, **changed("score")))


def test_what_cannot_be_compared_is_refused(tmp_path, log):
    function = FunctionTransformer(lambda X: X[["feature"]])
    for estimator in (Ridge(threading.Lock()), make_pipeline(function, Ridge())):
        with pytest.raises(ValueError, match="pickle"):
            run(log, tmp_path, more={"other": estimator})
    with pytest.raises(ValueError, match="random_state"):
        run(log, tmp_path, random_state=None)
