"""What one worker does: draw, summarize, ask every estimator."""

import functools
import traceback
import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
from threadpoolctl import ThreadpoolController

from skbench._checks import check_option
from skbench.assessment._candidate import answer
from skbench.assessment._sampling import draw, summary_of
from skbench.containers import GUARANTEES

# All columns of results that are no labels of groups.
RESULT_COLUMNS = ("repetition", "estimator", "n", "estimate", "low", "high", "truth", "guarantee")
_COLUMNS = {"value": "estimate", "low": "low", "high": "high"}  # among them, by field of an answer


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
                    answers[name] = _checked(said, summary.labels)
                except Exception as error:
                    notes.append(_note(number, name, "error", _words(error)))
            heard = dict.fromkeys(str(warning.message) for warning in caught)
            notes += [_note(number, name, "warning", words) for words in heard]
    return _frame(trial, number, sample, answers), notes


@functools.cache
def _thread_pools():
    return ThreadpoolController()


def _checked(said, labels):
    """The answer with columns of floats; one that cannot be read is refused."""
    columns = {field: _checked_column(field, getattr(said, field), labels) for field in _COLUMNS}
    known = np.isfinite(columns["value"])
    if not known.all():
        raise ValueError(f"its estimate of group {labels[int(np.argmin(known))]!r} is not finite.")
    check_option("guarantee", said.guarantee, GUARANTEES)
    return said._replace(**columns)


def _checked_column(field, given, labels):
    column = None if given is None else np.asarray(given, dtype=float)
    if column is None or column.shape != (len(labels),):
        found = "None" if column is None else f"of shape {column.shape}"
        raise ValueError(
            f"{field} of its estimate is {found} for {len(labels)} groups. Give one number per "
            "group, nan where an interval has no such end."
        )
    return column


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
