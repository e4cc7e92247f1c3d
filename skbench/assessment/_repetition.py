"""One repetition of a study, and the key of its cached result."""

import functools
import pickle
from importlib import import_module, metadata
from typing import NamedTuple

import joblib
import numpy as np
import pandas as pd
from sklearn.base import clone

from skbench.assessment._candidate import ENDS, answers_of
from skbench.assessment._sampling import draw, summary_of
from skbench.containers import GUARANTEES

# Columns of results that are not labels of groups.
RESULT_COLUMNS = ("repetition", "estimator", "n", "estimate", "low", "high", "truth", "guarantee")
_COLUMNS = dict(zip(ENDS, ("estimate", "low", "high"), strict=True))  # among them, by field
_LIBRARIES = ("numpy", "scipy", "pandas", "scikit-learn", "xgboost", "lightgbm")


class Trial(NamedTuple):
    """Data and settings that all repetitions share."""

    design: object
    candidates: dict
    replace: bool
    confidence_level: float
    entropy: int


def key_of(trial):
    """Hash of everything that determines the numbers, except the code of users' own estimators."""
    design, p = trial.design, trial.design.population
    labels = p.labels.to_frame(index=False)
    # pandas' own hashes: the pickled bytes of equal frames may differ.
    tables = [pd.util.hash_pandas_object(table, index=False).to_numpy() for table in (labels, p.X)]
    orders = [getattr(dtype, "categories", ()) for dtype in p.X.dtypes]
    columns = [
        *labels.columns,
        *labels.dtypes,
        *p.X.columns,
        *p.item_feature_names,
        *map(list, orders),
    ]
    topics = None if p.topics is None else list(map(str, p.topics))
    arrays = [p.unit, p.column, p.starts, p.scores, p.item_features, design.n_items]
    data = [tables, list(map(str, columns)), topics, arrays]
    versions = [import_module("skbench").__version__, *map(metadata.version, _LIBRARIES)]
    try:
        candidates = [
            (name, clone(candidate.estimator, safe=False), *candidate[1:])
            for name, candidate in trial.candidates.items()
        ]
        return joblib.hash([data, candidates, *trial[2:], versions])
    # pickle raises any of these for what it cannot write, such as lambdas and locks.
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            f"memory needs estimators that can be pickled, but {error}. Define functions and "
            "classes at the top level of a module, or omit memory."
        ) from error


def cached_result(cached, *call):
    """Result of a cached function; a damaged file is recomputed."""
    if cached.check_call_in_cache(*call):
        kept = cached.call_and_shelve(*call)
        try:
            return kept.get()
        except Exception:  # a damaged pickle may raise anything
            kept.clear()
    return cached(*call)


def repetition(trial, number, key=None):
    """Results of one repetition (one row per estimator and group), and its errors and warnings."""
    sequence = np.random.SeedSequence(trial.entropy, spawn_key=(number,))
    sample_seed, estimator_seed = sequence.spawn(2)
    population = trial.design.population
    sample = draw(trial.design, trial.replace, np.random.default_rng(sample_seed))
    answers, messages = answers_of(
        trial.candidates,
        functools.cache(functools.partial(summary_of, population, sample)),
        int(estimator_seed.generate_state(1)[0] >> 1),
        trial.confidence_level,
        population.sizes[sample.present],
    )
    notes = [
        {"repetition": number, "estimator": name, "kind": kind, "message": message}
        for name, kind, message in messages
    ]
    return _frame(trial, number, sample, answers), notes


def _frame(trial, number, sample, answers):
    """Results of one repetition as a long table; text columns are categories to save memory."""
    population, n_answers = trial.design.population, len(answers)
    columns = {
        "repetition": np.full(n_answers * len(sample.present), number),
        "estimator": _repeated(list(answers), list(trial.candidates), sample),
    }
    for level in population.labels.names:
        values = population.labels.get_level_values(level)
        codes, categories = pd.factorize(values, sort=True)
        dtype = pd.CategoricalDtype(categories)
        codes = np.tile(codes[sample.present], n_answers)
        columns[level] = pd.Categorical.from_codes(codes, dtype=dtype)
    columns["n"] = np.tile(sample.n, n_answers)
    for field, column in _COLUMNS.items():
        parts = [getattr(answer, field) for answer in answers.values()]
        columns[column] = np.concatenate(parts) if parts else np.empty(0)
    columns["truth"] = np.tile(population.truth[sample.present], n_answers)
    guarantees = [answer.guarantee for answer in answers.values()]
    columns["guarantee"] = _repeated(guarantees, GUARANTEES, sample)
    return pd.DataFrame(columns)


def _repeated(values, categories, sample):
    """One value per estimator, repeated for each group, as a categorical."""
    return pd.Categorical(values, categories).repeat(len(sample.present))
