"""Votes between two models: which columns they stand in, and who won each."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from skbench._checks import listed, plain
from skbench._undecided import Undecided
from skbench.items import roles


class VoteColumns(NamedTuple):
    """Columns of votes: the two models, and who won or, in three columns, each outcome."""

    model_a: str
    model_b: str
    winner: list


def vote_columns(table, model_a=None, model_b=None, winner=None):
    """The `VoteColumns` of a frame, by the caller's word or by their usual names."""
    columns = {roles.normal(name): name for name in reversed(table.columns)}
    named = {"model_a": model_a, "model_b": model_b, "winner": winner}
    for role, name in named.items():
        if name is not None:
            roles.check_exist([name], table.columns, f"{role}=")
    usual = [pair.split() for pair in roles.VOTE_MODELS]
    pair = next((pair for pair in usual if set(pair) <= set(columns)), None)
    if pair is not None:
        model_a, model_b = model_a or columns[pair[0]], model_b or columns[pair[1]]
    if model_a is None or model_b is None:
        raise Undecided(
            "Cannot find the two models of each vote: no columns are called model_a and model_b. "
            f"The columns are: {listed(table.columns, most=12)}.",
            [{"model_a": a, "model_b": b} for a, b in _alike(table)],
        )
    if winner is not None:
        return VoteColumns(model_a, model_b, [winner])
    if set(roles.VOTE_OUTCOMES) <= set(columns):
        return VoteColumns(model_a, model_b, [columns[name] for name in roles.VOTE_OUTCOMES])
    found = next((columns[name] for name in roles.VOTE_WINNER if name in columns), None)
    if found is None:
        free = [name for name in table.columns if name not in (model_a, model_b)]
        raise Undecided(
            f"Cannot find who won: no column is called winner. Columns: {listed(free, most=12)}.",
            [{"winner": name} for name in free if _tells(table, name, model_a, model_b)],
        )
    return VoteColumns(model_a, model_b, [found])


def outcomes_of(table, columns):
    """What the first model got in each vote of a frame: 1, 0.5 for a tie, 0; nan if blank."""
    if len(columns.winner) == 1:
        names = (table[columns.model_a], table[columns.model_b])
        return vote_outcomes(table[columns.winner[0]], *names)
    flags = table[columns.winner].to_numpy(dtype=float)
    odd = ~((flags == 0) | (flags == 1)).all(axis=1) | (flags.sum(axis=1) != 1)
    if odd.any():
        raise ValueError(
            f"Columns {listed(columns.winner)} must hold one 1 and two 0 in each row, but "
            f"{int(odd.sum())} rows do not, the first is row {int(np.argmax(odd))}."
        )
    return flags @ [1.0, 0.0, 0.5]


def vote_outcomes(winner, model_a, model_b):
    """The same of a column of winners: names, sides such as "model_a", or 1, 0.5 and 0."""
    codes, words = pd.factorize(pd.Series(np.asarray(winner)))
    meaning = np.array([*map(_outcome_of_word, words), np.nan])[codes]
    tied = np.array([*(roles.normal(word) in roles.TIED for word in words), False])[codes]
    names = np.asarray(words, dtype=object)[codes]
    won, lost = names == np.asarray(model_a, object), names == np.asarray(model_b, object)
    blank = codes < 0
    if (won | lost | tied | blank).all():
        return np.select([blank, tied, won], [np.nan, 0.5, 1.0], 0.0)
    odd = np.isnan(meaning) & ~blank
    if odd.any():
        first = int(np.argmax(odd))
        raise ValueError(
            f"The winner is {plain(names[first])!r} in row {first}, which is neither of its models "
            f"({plain(np.asarray(model_a)[first])!r}, {plain(np.asarray(model_b)[first])!r}). "
            "Write the name of the winner or 'tie', 'model_a' or 'model_b', or 1, 0.5 and 0."
        )
    return meaning


def _outcome_of_word(word):
    """1, 0.5 or 0 for a word or a number that says so, else nan."""
    known = {1.0: roles.FIRST_WON, 0.5: roles.TIED, 0.0: roles.SECOND_WON}
    for outcome, words in known.items():
        if roles.normal(word) in words:
            return outcome
    number = pd.to_numeric(word, errors="coerce")
    return float(number) if number in known else np.nan


def _alike(table):
    """Pairs of columns of words that share some, as those of two models do."""
    words = {
        name: set(table[name].dropna().unique())
        for name in table
        if not pd.api.types.is_numeric_dtype(table[name])
    }
    names = list(words)
    return [
        (a, b) for i, a in enumerate(names) for b in names[i + 1 :] if len(words[a] & words[b]) > 1
    ]


def _tells(table, name, model_a, model_b):
    """Whether a column can be read as winners."""
    try:
        return np.isfinite(vote_outcomes(table[name], table[model_a], table[model_b])).any()
    except ValueError:
        return False
