"""What one worker does: draw, summarise, ask every estimator."""

import functools
import traceback
import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
from threadpoolctl import ThreadpoolController

from skbench.studies._candidate import NO_INTERVAL, answer
from skbench.studies._sampling import draw, summary_of

GUARANTEES = ("each group", "average over groups", "posterior", "model", NO_INTERVAL)


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
    sample_seed, estimator_seed = np.random.SeedSequence(trial.entropy, spawn_key=(number,)).spawn(
        2
    )
    sample = draw(trial.design, trial.replace, np.random.default_rng(sample_seed))
    seed = int(estimator_seed.generate_state(1)[0] >> 1)
    sizes = trial.design.population.sizes[sample.present]
    summaries, answers, notes = {}, {}, []
    # Sums over threads come in another order, which changes the last digits.
    with _thread_pools().limit(limits=1):
        for name, candidate in trial.candidates.items():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    if candidate.variance not in summaries:
                        summaries[candidate.variance] = summary_of(
                            trial.design.population, sample, candidate.variance
                        )
                    summary = summaries[candidate.variance]
                    said = answer(candidate, summary, sizes, trial.confidence_level, seed)
                    _refuse_unknown(said.value, summary.labels)
                    answers[name] = said
                except Exception as error:
                    notes.append(_note(number, name, "error", _words(error)))
            heard = dict.fromkeys(str(warning.message) for warning in caught)
            notes += [_note(number, name, "warning", words) for words in heard]
    return _frame(trial, number, sample, answers), notes


@functools.cache
def _thread_pools():
    return ThreadpoolController()


def _refuse_unknown(value, labels):
    if value.shape != (len(labels),):
        raise ValueError(f"it gave {value.shape} estimates of {len(labels)} groups.")
    if not np.all(np.isfinite(value)):
        first = labels[int(np.argmin(np.isfinite(value)))]
        raise ValueError(f"its estimate of group {first!r} is not finite.")


def _note(number, name, kind, message):
    return {"repetition": number, "estimator": name, "kind": kind, "message": message}


def _words(error):
    return traceback.format_exception_only(error)[0].strip()


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
    for column, field in {"estimate": "value", "low": "low", "high": "high"}.items():
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
