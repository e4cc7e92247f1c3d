"""What decides the numbers of a study, in a form that can be compared later."""

import functools
import inspect
import pickle
import types

import joblib
import numpy as np
import pandas as pd

from skbench.assessment._code import called_by, code_of_class, is_of_a_library, libraries_of

_PLAIN = (bool, int, float, complex, str, bytes, np.generic, np.ufunc, type(...))


def settings_of(trial, n_items, share_items):
    """Settings of a study, for the manifest of its folder.

    Parameters
    ----------
    trial : Trial
        What all repetitions share.
    n_items : int, float or "proportional"
        The design.
    share_items : {"auto", True, False}
        As the user gave it.

    Returns
    -------
    dict of str to str
        Readable where that is short, a hash for the data. The number of
        repetitions is not among them: a study can be continued.
    """
    settings = {
        "n_items": repr(n_items),
        "replace": repr(trial.replace),
        "share_items": repr(share_items),
        "confidence_level": repr(trial.confidence_level),
        "random_state": f"seed {trial.entropy}",
        "items": data_hash(trial.design.population),
        "estimators": ", ".join(trial.candidates),
    }
    for name, candidate in trial.candidates.items():
        settings[f"estimators[{name!r}]"] = ", ".join(map(described, candidate))
    parts = [part for candidate in trial.candidates.values() for part in candidate]
    versions = libraries_of(parts)
    return settings | {f"code of {name}": version for name, version in versions.items()}


def data_hash(population):
    """Hash of everything in a population; the same in every process."""
    labels, X = population.labels.to_frame(index=False), population.X
    tables = [pd.util.hash_pandas_object(table, index=False).to_numpy() for table in (labels, X)]
    names = [*map(str, labels.columns), *map(str, X.columns), *population.item_feature_names]
    topics = None if population.topics is None else [str(topic) for topic in population.topics]
    numbers = [
        population.unit,
        population.column,
        population.starts,
        population.scores,
        population.item_features,
    ]
    return joblib.hash([*tables, names, topics, *numbers])


def described(value, inside=()):
    """An estimator with all its parameters, or a parameter, in words.

    Parameters
    ----------
    value : object
        What to describe.
    inside : tuple
        What it is a part of: a function may refer to itself.

    Returns
    -------
    str
        The same in every process.

    Raises
    ------
    ValueError
        If part of it can neither be named nor pickled.
    """
    if any(value is outer for outer in inside):
        return "itself"
    part = functools.partial(described, inside=(*inside, value))
    if hasattr(value, "get_params") and not isinstance(value, type):
        parameters = value.get_params(deep=False)
        return f"{type(value).__name__}({_named(parameters, part)}){_own_code(type(value), part)}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(part, value))}]"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(part, value)))}}}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {part(given)}' for key, given in value.items())}}}"
    if isinstance(value, np.ndarray):
        return f"array {joblib.hash(value)}"
    if isinstance(value, _PLAIN) or value is None:
        return repr(value)
    if isinstance(value, types.ModuleType):
        return value.__name__
    if isinstance(value, functools.partial):
        return f"partial({part([value.func, *value.args])}, {_named(value.keywords, part)})"
    if inspect.ismethod(value):
        return f"{part(value.__self__)}.{part(value.__func__)}"
    if inspect.isfunction(value):
        return f"{value.__module__}.{value.__qualname__} {_hash_of_function(value, part)}"
    if inspect.isclass(value):
        return f"{value.__module__}.{value.__qualname__}{_own_code(value, part)}"
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    if callable(value) and hasattr(value, "__dict__"):
        return f"{type(value).__name__}({_named(vars(value), part)}){_own_code(type(value), part)}"
    return f"{type(value).__name__} {_hash_of_object(value)}"


def _named(parameters, part):
    return ", ".join(f"{name}={part(given)}" for name, given in parameters.items())


def _own_code(cls, part):
    """Hash of the code of a class that no library has, in brackets."""
    own = code_of_class(cls)
    return f"[{joblib.hash([(name, part(own[name])) for name in sorted(own)])}]" if own else ""


def _hash_of_function(function, part):
    """Hash of what a function does, as far as it can be seen from the function itself."""
    enclosed = [part(_content(cell)) for cell in function.__closure__ or ()]
    defaults = part([function.__defaults__, function.__kwdefaults__])
    called = [] if is_of_a_library(function) else called_by(function).items()
    called = [(name, part(value)) for name, value in called]
    return joblib.hash([_code(function.__code__, part), defaults, *enclosed, *called])


def _code(code, part):
    """Bytecode with the constants and names it refers to by number."""
    constants = [
        _code(constant, part) if isinstance(constant, types.CodeType) else part(constant)
        for constant in code.co_consts
    ]
    return [code.co_code, constants, code.co_names]


def _content(cell):
    try:
        return cell.cell_contents
    except ValueError:  # not yet assigned
        return None


def _hash_of_object(value):
    try:
        return joblib.hash(value)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            f"Estimators hold {value!r}, which cannot be compared with that of another run "
            f"({error}). Give an object that can be pickled, or leave out path."
        ) from error
