"""Unset random states are filled at any depth."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import BaggingRegressor, RandomForestRegressor, VotingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import SGDRegressor
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbench import CrossFitKFold, EmpiricalBayes, IntervalPipeline, MixedModel
from skbench._random import seeded


def open_states(estimator):
    parameters = estimator.get_params()
    return [name for name in parameters if name.split("__")[-1] == "random_state"]


def test_every_depth_is_filled_in_a_copy():
    forest = make_pipeline(StandardScaler(), BaggingRegressor(RandomForestRegressor()))
    search = GridSearchCV(forest, {}, cv=KFold(2, shuffle=True))
    members = [("eb", EmpiricalBayes(search)), ("sgd", EmpiricalBayes(SGDRegressor()))]
    voting = VotingRegressor([*members, ("mixed", MixedModel())])
    pipeline = IntervalPipeline([("scale", StandardScaler()), ("mean", voting)])
    filled = seeded(pipeline, 3)
    names, parameters = open_states(pipeline), filled.get_params()
    assert len(names) == 6
    given = [parameters[name] for name in names]
    assert len(set(given)) == len(names) and 3 in given
    assert all(isinstance(seed, int) for seed in given)
    assert isinstance(parameters["mean__eb__regressor__cv"].random_state, int)
    assert search.cv.random_state is None
    assert all(pipeline.get_params()[name] is None for name in names)
    again = seeded(pipeline, 3).get_params()
    assert [again[name] for name in names] == given
    assert [seeded(pipeline, 4).get_params()[name] for name in names] != given


def test_set_random_states_stay():
    fixed = EmpiricalBayes(SGDRegressor(random_state=5), cv=CrossFitKFold(2, 1, 6), random_state=7)
    filled = seeded(fixed, 0)
    assert (filled.random_state, filled.regressor.random_state, filled.cv.random_state) == (7, 5, 6)
    assert seeded(EmpiricalBayes(cv=KFold(2)), 1).cv.random_state is None


def test_two_estimators_of_one_class_get_different_seeds():
    pair = VotingRegressor([("a", SGDRegressor()), ("b", SGDRegressor())])
    filled = seeded(pair, 0)
    assert filled.get_params()["a__random_state"] != filled.get_params()["b__random_state"]


def test_frozen_estimators_keep_theirs():
    X = np.arange(8.0)[:, None]
    frozen = FrozenEstimator(RandomForestRegressor(2).fit(X, X.ravel()))
    filled = seeded(EmpiricalBayes(frozen), 0)
    assert filled.regressor.estimator.random_state is None
    fitted = EmpiricalBayes(frozen, cv=2, random_state=0).fit(X, X.ravel() / 8, sigma2=0.01)
    assert np.isfinite(fitted.estimate().value).all()


def test_objects_without_parameters_are_copied():
    class Bare(BaseEstimator):
        pass

    bare = Bare()
    assert seeded(bare, 0) is not bare
