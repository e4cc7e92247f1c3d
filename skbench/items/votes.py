"""Votes between two models: which columns they stand in, and who won each."""

from itertools import combinations

import numpy as np
import pandas as pd

from skbench._checks import listed
from skbench._undecided import Undecided
from skbench.items import roles

_OUTCOMES = {word: 1.0 for word in roles.FIRST_WON} | {word: 0.0 for word in roles.SECOND_WON}
_OUTCOMES |= {word: 0.5 for word in roles.TIED}


def vote_columns(table, model_a=None, model_b=None, winner=None):
    """Columns of both models and a list of those of the winner, as named or by usual names."""
    for role, name in {"model_a": model_a, "model_b": model_b, "winner": winner}.items():
        if name is not None:
            roles.check_exist([name], table.columns, f"{role}=")
    columns = {roles.normal(name): name for name in reversed(table.columns)}
    usual = next((pair for pair in roles.VOTE_MODELS if set(pair) <= set(columns)), (None, None))
    model_a, model_b = model_a or columns.get(usual[0]), model_b or columns.get(usual[1])
    if model_a is None or model_b is None:
        raise Undecided(
            "Cannot find the two models of each vote: no columns are called model_a and model_b. "
            f"The columns are: {listed(table.columns, most=12)}.",
            [{"model_a": a, "model_b": b} for a, b in _alike(table)],
        )
    if winner is None and set(roles.VOTE_OUTCOMES) <= set(columns):
        known = roles.VOTE_OUTCOMES | roles.VOTE_TIES
        return model_a, model_b, [columns[name] for name in known if name in columns]
    found = winner or next((columns[name] for name in roles.VOTE_WINNER if name in columns), None)
    if found is None:
        free = [name for name in table.columns if name not in (model_a, model_b)]
        raise Undecided(
            f"Cannot find who won: no column is called winner. Columns: {listed(free, most=12)}.",
            [{"winner": name} for name in free if tells_winner(table, name, model_a, model_b)],
        )
    return model_a, model_b, [found]


def outcomes_of(table, model_a, model_b, winner):
    """What the first model got in each vote: 1, 0.5 for a tie, 0; nan where there is no winner."""
    if len(winner) == 1:
        return vote_outcomes(table[winner[0]], table[model_a], table[model_b])
    flags = table[winner].to_numpy(dtype=float)
    odd = ~np.isin(flags, (0, 1)).all(axis=1) | (flags.sum(axis=1) != 1)
    if odd.any():
        raise ValueError(
            f"Columns {listed(winner)} must hold one 1 and else 0 in each row, but {odd.sum()} "
            f"rows do not, the first is row {np.argmax(odd)}."
        )
    known = roles.VOTE_OUTCOMES | roles.VOTE_TIES
    return flags @ [known[roles.normal(name)] for name in winner]


def vote_outcomes(winner, model_a, model_b):
    """The same of a column of winners: names, sides such as "model_a", or 1, 0.5 and 0."""
    codes, words = pd.factorize(np.asarray(winner, dtype=object))
    # Code -1, of a blank, takes what stands last.
    meaning = np.array([*map(_outcome_of_word, words), np.nan])[codes]
    names, model_a, model_b = map(_texts, (winner, model_a, model_b))
    ways = names == model_a, names == model_b, meaning == 0.5
    by_name = np.where(codes < 0, np.nan, np.select(ways, [1.0, 0.0, 0.5], np.nan))
    by_either = np.where(np.isfinite(by_name), by_name, meaning)
    for outcome in (by_name, meaning, by_either):
        if np.all(np.isfinite(outcome) | (codes < 0)):
            return outcome
    row = int(np.argmax(np.isnan(by_either) & (codes >= 0)))
    raise ValueError(
        f"The winner in row {row} is {names[row]!r}, the models are {model_a[row]!r} and "
        f"{model_b[row]!r}. Write the winner's name or 'tie'; or 'model_a', 'model_b'; or 1, 0.5 "
        "and 0."
    )


def _texts(names):
    """Names as text, so that 1, 1.0 and "1" are the same."""
    codes, words = pd.factorize(np.asarray(names, dtype=object))
    whole = (word.is_integer() if isinstance(word, float) else False for word in words)
    texts = [str(int(w) if is_whole else w) for w, is_whole in zip(words, whole, strict=True)]
    return np.append(texts, None)[codes]


def _outcome_of_word(word):
    """1, 0.5 or 0 for a word or a number that says so, else nan."""
    number = pd.to_numeric(word, errors="coerce")
    return float(number) if number in (1, 0.5, 0) else _OUTCOMES.get(roles.normal(word), np.nan)


def _alike(table):
    """Pairs of columns of words that share some, as those of two models do."""
    words = {name: set(table[name].dropna()) for name in table.select_dtypes(exclude="number")}
    return [(a, b) for a, b in combinations(words, 2) if len(words[a] & words[b]) > 1]


def tells_winner(table, name, model_a, model_b):
    """Whether a column can be read as winners."""
    try:
        return np.isfinite(vote_outcomes(table[name], table[model_a], table[model_b])).any()
    except ValueError:
        return False
