"""Votes between two models: their columns and outcomes."""

import numbers
from itertools import combinations, product

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from skbench._checks import listed, plain
from skbench._undecided import Undecided
from skbench.items import roles

ROLES = ("model_a", "model_b", "winner")
_FLAGS = dict.fromkeys(("1", "1.0", "true"), True)
_FLAGS |= dict.fromkeys(("", "0", "0.0", "false"), False)
_MOST_EQUAL = 0.1  # share of rows in which both models of a vote may be the same


def in_one_layout(table, winner=None, **named):
    """Return votes with a winner column, made from 0/1 columns of outcomes or a loser column.

    Columns that the caller `named` do not change.
    """
    columns = {roles.normal(name): name for name in table}
    if {"winner", "loser"} <= set(columns):
        first, second = table[columns["winner"]], table[columns["loser"]]
        if not any(map(named.get, ROLES)):  # the first model won, whatever the models' names
            won = np.where(are_blank(first), None, "first")
            table = table.assign(**{columns["winner"]: won})
        return table.assign(model_a=first, model_b=second)
    flags = [name for name in columns if name in roles.VOTE_FLAGS]
    has_winner = "winner" in columns or winner in columns.values()
    if has_winner or not {0, 1} <= {roles.VOTE_FLAGS[name] for name in flags}:
        return table
    return table.assign(winner=_flagged(table[[columns[name] for name in flags]]))


def _flagged(flags):
    """Return the outcome whose column is 1 in each row, such as "model_a", or None."""
    chosen = np.column_stack([_is_set(flags[name]) for name in flags])
    several = chosen.sum(axis=1) > 1
    if several.any():
        row = int(np.argmax(several))
        raise ValueError(
            f"Row {flags.index[row]} has several winners: {listed(flags.columns[chosen[row]])} "
            "are set. Set only one."
        )
    words = [roles.normal(name).removeprefix("winner_") for name in flags]
    return np.where(chosen.any(axis=1), np.array(words, dtype=object)[chosen.argmax(axis=1)], None)


def _is_set(flag):
    """Return whether a column of flags is 1 or true in each row. A missing value is 0."""
    codes, words = pd.factorize(np.asarray(flag, dtype=object))
    known = [_FLAGS.get(str(word).strip().lower()) for word in words]
    if None in known:
        row = int(np.argmax(codes == known.index(None)))
        raise ValueError(
            f"{flag.name!r} in row {flag.index[row]} is {plain(flag.iloc[row])!r}, but must be 1 "
            "or 0."
        )
    return np.array([*known, False])[codes]


def are_blank(values):
    """Return whether each value is missing or blank text."""
    codes, words = pd.factorize(np.asarray(values, dtype=object))
    return np.array([*(isinstance(w, str) and not w.strip() for w in words), True])[codes]


def vote_columns(table, **named):
    """Return the columns of both models and the winner, by the caller or usual names, and notes."""
    found, notes = roles.find_roles(table.columns, named, guess=ROLES)
    columns = [found.get(role, [None])[0] for role in ROLES]
    missing = [role for role, name in zip(ROLES, columns, strict=True) if name is None]
    if missing:
        raise Undecided(
            f"No column has a usual name for {listed(missing)}. The columns are: "
            f"{listed(table.columns, most=12)}.",
            [dict(zip(ROLES, names, strict=True)) for names in _candidates(table, *columns)],
        )
    return columns, notes


def vote_outcomes(winner, model_a, model_b, what="winner"):
    """Return the first model's outcome in each vote: 1, 0.5 (tie), 0, or nan without a winner.

    Winners are names of models, sides such as "model_a", or 1, 0.5 and 0. If a side is the name
    of a column, it means that column.
    """
    of_sides = _words_of_sides(*(getattr(models, "name", None) for models in (model_a, model_b)))
    blank = are_blank(winner)
    codes, words = pd.factorize(np.asarray(winner, dtype=object))
    # Code -1 (missing) selects the last entry, nan.
    by_side = np.array([*(_outcome_of_word(word, of_sides) for word in words), np.nan])[codes]
    names, model_a, model_b = map(_texts, (winner, model_a, model_b))
    names = _as_models(names, {*model_a, *model_b})
    cases = blank, names == model_a, names == model_b, by_side == 0.5
    by_name = np.select(cases, [np.nan, 1.0, 0.0, 0.5], np.nan)
    unread = [np.isnan(outcome) & ~blank for outcome in (by_name, by_side)]
    best = np.argmin(np.sum(unread, axis=1))
    is_bad = unread[best]
    if not np.any(unread):  # both readings are possible, so they must agree
        is_bad = ~blank & (by_name != by_side) & (model_a != model_b)
    if is_bad.any():
        row = int(np.argmax(is_bad))
        where = winner.index[row] if isinstance(winner, pd.Series) else row
        text = f"The {what} in row {where} is {names[row]!r}, but the models are "
        text += f"{model_a[row]!r} and {model_b[row]!r}. "
        raise ValueError(text + _remedy(words[codes[row]], of_sides, unread))
    return (by_name, by_side)[best]


def _words_of_sides(first, second):
    """Return outcomes by word. The columns' own names override the usual words."""
    if not (isinstance(first, str) and isinstance(second, str)):
        return roles.VOTE_OUTCOMES
    own, usual = {}, roles.VOTE_OUTCOMES
    for form in (roles.field, roles.normal):
        if form(first) != form(second):
            own |= {form(first): 1.0, form(second): 0.0}
    if any(usual.get(word, y) != y for word, y in own.items()):
        usual = {word: y for word, y in usual.items() if y == 0.5}
    return usual | own


def _remedy(word, of_sides, unread):
    """Return what to write instead of an ambiguous winner."""
    sides = ["model_a", "model_b"]
    if of_sides.get("model_a") != 1.0:
        sides = [word for word, y in of_sides.items() if y != 0.5]
    words = listed(sides, show=repr)
    number = pd.to_numeric(word, errors="coerce")
    if np.any(unread):
        is_probability = 0 < number < 1
        cut = " Convert probabilities with a threshold of 0.5." if is_probability else ""
        return f"Write the winner's name or 'tie', {words}, or 1, 0.5 and 0.{cut}"
    is_number = pd.notna(number)
    others = f"{words} or 'tie'" if is_number else "1, 0.5 or 0"
    return (
        "It may be a model's name or the first model's outcome. Rename the models if it is a name. "
        f"If not, write {others}."
    )


def _texts(names):
    """Return names as text, so that 1, 1.0 and "1" are equal."""
    codes, words = pd.factorize(np.asarray(names, dtype=object))
    texts = [str(int(w) if isinstance(w, float) and w.is_integer() else w) for w in words]
    return np.array([*texts, None], dtype=object)[codes]


def _as_models(names, models):
    """Return names as those of models: with missing values, pandas reads model "1" as 1.0."""
    whole = {name: name[:-2] for name in {*names} if name is not None and name.endswith(".0")}
    whole = {name: short for name, short in whole.items() if short in models and name not in models}
    return np.array([whole.get(name, name) for name in names], dtype=object)


def _outcome_of_word(word, of_sides):
    """Return the outcome (1, 0.5 or 0) of a word or a number, else nan."""
    if not isinstance(word, str | numbers.Number):
        return np.nan
    number = pd.to_numeric(word, errors="coerce")
    known = of_sides.get(roles.normal(word), np.nan)
    return float(number) if number in (1, 0.5, 0) else known


def _may_be_winner(table, model_a, model_b, winner):
    """Return whether a column may hold winners. A 0/1 column must also be named for the winner."""
    try:
        outcome = vote_outcomes(table[winner], table[model_a], table[model_b])
    except ValueError:
        return False
    ambiguous = is_numeric_dtype(table[winner]) and not _is_sure(winner)
    return pd.Series(outcome).nunique() > 1 + ambiguous


def _is_sure(name):
    """Return whether a column's name contains a word for the winner."""
    return not set(roles.SURE_WINNERS).isdisjoint(roles.normal(name).split("_"))


def _candidates(table, model_a, model_b, winner):
    """Yield possible columns of both models and the winner, the likeliest first."""
    pairs = [(model_a, model_b)] if model_a and model_b else _rivals(table)
    winners = [winner] if winner else sorted(table, key=_is_sure, reverse=True)
    for pair, name in product(pairs, winners):
        if name not in pair and _may_be_winner(table, *pair, name):
            yield *pair, name


def _rivals(table):
    """Yield pairs of columns that share most of their words, but seldom in the same row."""
    words = {name: set(table[name].dropna()) for name in table.select_dtypes(exclude="number")}
    for a, b in combinations(words, 2):
        n_shared, n_words = len(words[a] & words[b]), len(words[a] | words[b])
        if n_shared > 1 and 2 * n_shared >= n_words and np.mean(table[a] == table[b]) < _MOST_EQUAL:
            yield a, b
