"""What one worker does: draw, summarize, ask every estimator."""

import functools
from typing import NamedTuple

import numpy as np
import pandas as pd

from skbench.assessment._candidate import ENDS, ask
from skbench.assessment._sampling import draw, summary_of
from skbench.containers import GUARANTEES

# All columns of results that are no labels of groups.
RESULT_COLUMNS = ("repetition", "estimator", "n", "estimate", "low", "high", "truth", "guarantee")
_COLUMNS = dict(zip(ENDS, ("estimate", "low", "high"), strict=True))  # among them, by field


class Trial(NamedTuple):
    """Everything that repetitions share."""

    design: object
    candidates: dict
    replace: bool
    confidence_level: float
    entropy: int


def repetition(trial, number):
    """Run one repetition.

    Parameters
    ----------
    trial : Trial
        What all repetitions share.
    number : int
        Which one; together with `trial.entropy` it decides everything random.

    Returns
    -------
    frame : DataFrame
        One row per estimator and group.
    notes : list of dict
        Errors and warnings: repetition, estimator, kind and message.
    """
    sequence = np.random.SeedSequence(trial.entropy, spawn_key=(number,))
    sample_seed, estimator_seed = sequence.spawn(2)
    population = trial.design.population
    sample = draw(trial.design, trial.replace, np.random.default_rng(sample_seed))
    answers, said = ask(
        trial.candidates,
        functools.cache(functools.partial(summary_of, population, sample)),
        int(estimator_seed.generate_state(1)[0] >> 1),
        trial.confidence_level,
        population.sizes[sample.present],
    )
    notes = [
        {"repetition": number, "estimator": name, "kind": kind, "message": message}
        for name, kind, message in said
    ]
    return _frame(trial, number, sample, answers), notes


def category_types(trial):
    """Types of the columns of results that hold categories: the same in every repetition.

    Parameters
    ----------
    trial : Trial
        What all repetitions share.

    Returns
    -------
    dict of str to CategoricalDtype
    """
    labels = trial.design.population.labels
    levels = {
        level: pd.factorize(labels.get_level_values(level), sort=True)[1] for level in labels.names
    }
    categories = {"estimator": list(trial.candidates), **levels, "guarantee": GUARANTEES}
    return {column: pd.CategoricalDtype(values) for column, values in categories.items()}


def _frame(trial, number, sample, answers):
    """Results of one repetition as a tidy frame; text as categories, to stay small."""
    population, types = trial.design.population, category_types(trial)
    n_groups, n_answers = len(sample.present), len(answers)
    labels = {}
    for level in population.labels.names:
        values = population.labels.get_level_values(level)[sample.present]
        codes = np.tile(types[level].categories.get_indexer(values), n_answers)
        labels[level] = pd.Categorical.from_codes(codes, dtype=types[level])
    estimates = {}
    for field, column in _COLUMNS.items():
        parts = [getattr(said, field) for said in answers.values()]
        estimates[column] = np.concatenate(parts) if parts else np.empty(0)
    promised = [said.guarantee for said in answers.values()]
    return pd.DataFrame(
        {
            "repetition": np.full(n_answers * n_groups, number),
            "estimator": _repeated(list(answers), types["estimator"], n_groups),
            **labels,
            "n": np.tile(sample.n, n_answers),
            **estimates,
            "truth": np.tile(population.truth[sample.present], n_answers),
            "guarantee": _repeated(promised, types["guarantee"], n_groups),
        }
    )


def _repeated(values, dtype, times):
    return pd.Categorical(values, dtype=dtype).repeat(times)
