"""Votes between two models: which columns they stand in, and who won each."""

import numbers
from itertools import combinations, product

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from skbench._checks import listed
from skbench._undecided import Undecided
from skbench.items import roles

ROLES = ("model_a", "model_b", "winner")
_MOST_ALIKE = 0.1  # share of rows in which both models of a vote may be the same


def in_one_layout(table):
    """Votes with a column of winners: from one of 1 and 0 for each outcome, or of losers."""
    columns = {roles.normal(name): name for name in table}
    if {"winner", "loser"} <= set(columns):
        return table.assign(model_a=table[columns["winner"]], model_b=table[columns["loser"]])
    outcomes = {name: roles.VOTE_FLAGS[name] for name in columns if name in roles.VOTE_FLAGS}
    if "winner" in columns or not {0, 1} <= set(outcomes.values()):
        return table
    flags, outcomes = [columns[name] for name in outcomes], [*outcomes.values()]
    chosen = table[flags].to_numpy() == 1
    outcome = np.array(outcomes, dtype=object)[chosen.argmax(axis=1)]
    winner = np.where(chosen.sum(axis=1) == 1, outcome, "none or several")
    return table.assign(winner=winner)


def vote_columns(table, **named):
    """Columns of both models and of the winner, as named or by their usual names, and notes."""
    found, notes = roles.find_roles(table.columns, named, guess=ROLES)
    columns = [found.get(role, [None])[0] for role in ROLES]
    missing = [role for role, name in zip(ROLES, columns, strict=True) if name is None]
    if missing:
        raise Undecided(
            f"No column has a usual name for {listed(missing)} of each vote. The columns are: "
            f"{listed(table.columns, most=12)}.",
            [dict(zip(ROLES, names, strict=True)) for names in _candidates(table, *columns)],
        )
    return columns, notes


def vote_outcomes(winner, model_a, model_b, what="winner"):
    """What the first model got in each vote: 1, 0.5 for a tie, 0; nan where the winner is blank.

    Winners are names, or else sides such as "model_a", or 1, 0.5 and 0.
    """
    codes, words = pd.factorize(np.asarray(winner, dtype=object))
    # Code -1, of a blank, takes what stands last.
    by_side = np.array([*map(_outcome_of_word, words), np.nan])[codes]
    names, model_a, model_b = map(_texts, (winner, model_a, model_b))
    cases = codes < 0, names == model_a, names == model_b, by_side == 0.5
    by_name = np.select(cases, [np.nan, 1.0, 0.0, 0.5], np.nan)
    unread = [np.isnan(outcome) & (codes >= 0) for outcome in (by_name, by_side)]
    best = np.argmin(np.sum(unread, axis=1))
    if unread[best].any():
        row = int(np.argmax(unread[best]))
        where = winner.index[row] if isinstance(winner, pd.Series) else row
        raise ValueError(
            f"The {what} in row {where} is {names[row]!r}, the models are {model_a[row]!r} and "
            f"{model_b[row]!r}. Write the winner's name or 'tie'; or 'model_a', 'model_b'; or 1, "
            "0.5 and 0."
        )
    return (by_name, by_side)[best]


def _texts(names):
    """Names as text, so that 1, 1.0 and "1" are the same."""
    codes, words = pd.factorize(np.asarray(names, dtype=object))
    texts = [str(int(w) if isinstance(w, float) and w.is_integer() else w) for w in words]
    return np.array([*texts, None], dtype=object)[codes]


def _outcome_of_word(word):
    """1, 0.5 or 0 for a word or a number that says so, else nan."""
    if not isinstance(word, str | numbers.Number):
        return np.nan
    number = pd.to_numeric(word, errors="coerce")
    known = roles.VOTE_OUTCOMES.get(roles.normal(word), np.nan)
    return float(number) if number in (1, 0.5, 0) else known


def _tells_winner(table, model_a, model_b, winner):
    """Whether a column holds winners; 1 and 0 alone do only under a name for the winner."""
    try:
        outcome = vote_outcomes(table[winner], table[model_a], table[model_b])
    except ValueError:
        return False
    anything = is_numeric_dtype(table[winner]) and not _is_sure(winner)
    return pd.Series(outcome).nunique() > 1 + anything


def _is_sure(name):
    """Whether a column's name has a word for the winner."""
    return not set(roles.SURE_WINNERS).isdisjoint(roles.normal(name).split("_"))


def _candidates(table, model_a, model_b, winner):
    """Columns of both models and of the winner that may be these, the likeliest first."""
    pairs = [(model_a, model_b)] if model_a and model_b else _rivals(table)
    winners = [winner] if winner else sorted(table, key=_is_sure, reverse=True)
    for pair, name in product(pairs, winners):
        if name not in pair and _tells_winner(table, *pair, name):
            yield *pair, name


def _rivals(table):
    """Pairs of columns that share most of their words, but seldom in the same row."""
    words = {name: set(table[name].dropna()) for name in table.select_dtypes(exclude="number")}
    for a, b in combinations(words, 2):
        n_shared, n_words = len(words[a] & words[b]), len(words[a] | words[b])
        if n_shared > 1 and 2 * n_shared >= n_words and np.mean(table[a] == table[b]) < _MOST_ALIKE:
            yield a, b
