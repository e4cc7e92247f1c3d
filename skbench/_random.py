"""Conversion of ``random_state`` to generators and to seeds of nested estimators."""

import copy

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state


def as_generator(random_state):
    """Return a `numpy.random.Generator` for scikit-learn's ``random_state``."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(check_random_state(random_state).randint(2**31))
    return np.random.default_rng(random_state)


def seeded(estimator, seed):
    """Return an unfitted copy whose unset random states, at any depth, derive from one seed."""
    filled = clone(estimator, safe=False)
    if not hasattr(filled, "get_params"):
        return filled
    parameters = filled.get_params()
    names = sorted(
        (name for name, value in parameters.items() if _is_open(name, value, parameters)),
        key=lambda name: (name.count("__"), name),
    )
    seeds = [seed, *np.random.default_rng(seed).integers(2**31, size=len(names)).tolist()]
    filling = {
        name: own if parameters[name] is None else _with_seed(parameters[name], own)
        for name, own in zip(names, seeds, strict=False)
    }
    return filled.set_params(**filling) if filling else filled


def seeded_splitter(splitter, seed):
    """Return the splitter, or a seeded copy if it shuffles without a random state."""
    return _with_seed(splitter, seed) if _is_open("", splitter, {}) else splitter


def _is_open(name, value, parameters):
    """Whether a parameter is an unset random state, or a splitter with one."""
    if is_frozen(name, parameters):
        return False
    if value is None:
        return name.split("__")[-1] == "random_state"
    # Splitters have no get_params. Without shuffling, they need no seed.
    is_splitter = hasattr(value, "split") and not hasattr(value, "get_params")
    draws = is_splitter and getattr(value, "shuffle", True)
    return bool(draws) and getattr(value, "random_state", 0) is None


def is_frozen(name, parameters):
    """Whether a parameter is inside a `FrozenEstimator`."""
    parts = name.split("__")
    outer = ("__".join(parts[:depth]) for depth in range(1, len(parts)))
    return any(isinstance(parameters.get(part), FrozenEstimator) for part in outer)


def _with_seed(splitter, seed):
    splitter = copy.copy(splitter)
    splitter.random_state = seed
    return splitter
