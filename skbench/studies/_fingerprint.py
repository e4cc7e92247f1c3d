"""What decides the numbers of a study, in a form that can be compared later."""

import joblib
import numpy as np
import pandas as pd


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
    return settings


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


def described(value):
    """An estimator with all its parameters, or a parameter, in words."""
    if hasattr(value, "get_params") and not isinstance(value, type):
        parameters = value.get_params(deep=False)
        inner = ", ".join(f"{name}={described(given)}" for name, given in parameters.items())
        return f"{type(value).__name__}({inner})"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(described, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {described(given)}' for key, given in value.items())}}}"
    if isinstance(value, np.ndarray):
        return f"array {joblib.hash(value)}"
    if callable(value):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, bool | int | float | str | np.generic) or value is None:
        return repr(value)
    return f"{type(value).__name__} {joblib.hash(value)}"
