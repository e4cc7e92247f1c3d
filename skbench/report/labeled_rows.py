"""Rows that an autorater judged, some with a human label, read from one file or two."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from skbench._checks import require_columns
from skbench._columns import with_winners
from skbench.report.terminal import DataError, say

_WORDS = {
    **dict.fromkeys(("yes", "y", "true", "correct", "right", "pass", "passed", "accept"), 1.0),
    **dict.fromkeys(("no", "n", "false", "incorrect", "wrong", "fail", "failed", "reject"), 0.0),
}
# Who of two won, as arenas write it: a win, loss or tie of the first.
_PAIRWISE = {"model_a": 1.0, "model_b": -1.0, "tie": 0.0, "tie (bothbad)": 0.0}
_MOST_WORDS = 10
_GUESSED = "cluster (guessed)"


class Judged(NamedTuple):
    """Judged rows: verdicts, those as numbers (nan: neither yes nor no), labels (nan: none)."""

    verdicts: np.ndarray
    scores: np.ndarray
    human: np.ndarray
    groups: np.ndarray | None
    clusters: np.ndarray | None

    @property
    def labeled(self):
        """Which rows have a human label."""
        return ~np.isnan(self.human)

    @property
    def has_words(self):
        """Whether some verdicts are words that mean neither yes nor no."""
        return bool(np.isnan(self.scores).any())

    @property
    def numeric(self):
        """Verdicts as columns of numbers: scores, or an indicator of each word but one."""
        if not self.has_words:
            return pd.DataFrame({"judge": self.scores})
        return pd.get_dummies(pd.Series(self.verdicts), dtype=float).iloc[:, 1:]


def read_judged(file, judge, human, by=None, cluster=None, labels=None, ids=None, event=None):
    """What an autorater and people say of the same answers, as `Judged`: rows with a verdict.

    No `cluster`: guessed as the other commands do. `event`: what counts 1, all else 0.
    """
    by, ids = by or [], ids or []
    wanted = [judge, *by, *([cluster] if cluster else [])]
    table = read_columns(file, wanted, human, labels, ids, label_columns=[*by, cluster])
    table = _with_verdict(table, judge, human)
    if cluster is None:
        table, cluster = with_guessed_cluster(table, by)
    if event is not None:
        table = _with_event(table, judge, human, event)
    verdicts, scores = _verdicts(table[judge])
    groups = _one_text(table, by, "group") if by else None
    clusters = _one_text(table, [cluster], "cluster") if cluster else None
    return Judged(verdicts, scores, _as_labels(table[human]), groups, clusters)


def read_columns(file, wanted, human, labels=None, ids=None, label_columns=()):
    """The columns of a file, with human labels from it or from another."""
    ids = ids or []
    table = _load(file, [*wanted, *ids], label_columns=[*label_columns, *ids], maybe=[human])
    if labels is not None:
        return _with_labels(table, file, labels, ids, human)
    if human not in table:
        raise DataError(
            f"{str(file)!r} has no column {human!r}, but: {', '.join(map(str, table))}. Labels in "
            "a second file: --labels FILE --id COLUMN."
        )
    return table


def as_one_word(column):
    """Words in small letters, those for yes and no as 1 and 0; numbers as they are."""
    if _is_number(column):
        return column
    words = _lower(column)
    return words.map(_WORDS) if words.dropna().isin(_WORDS).all() else words


def as_yes_or_no(column):
    """Words for yes and no as 1 and 0 where people say these; other words are no verdict."""
    if _is_number(column):
        return column
    scores = column.map(_WORDS).astype(float)
    neither = scores.isna() & column.notna()
    if not neither.any():
        return scores
    if neither.all():
        return column
    shown = ", ".join(map(repr, sorted(column[neither].unique())[:5]))
    say(
        f"{column.name}: {int(neither.sum())} of {int(column.notna().sum())} verdicts are neither "
        f"yes nor no ({shown}): taken for none"
    )
    return scores


def as_event(column, event, what="human label"):
    """The event as it is written in a column, a number where that holds numbers."""
    text = event.strip().lower()
    known = {str(x).removesuffix(".0"): x for x in as_one_word(column).dropna().unique()}
    as_number = str(_WORDS.get(text, text)).removesuffix(".0")
    alike = [word for word, number in _WORDS.items() if f"{number:g}" == as_number]
    found = next((known[word] for word in (text, as_number, *alike) if word in known), None)
    if found is None:
        written = sorted({str(x).removesuffix(".0") for x in column.dropna().unique()})
        raise DataError(
            f"--event {event}: no {what} says so. There are: {', '.join(written[:10])}."
        )
    return found


def with_guessed_cluster(table, by):
    """The table with a column of what repeats in a group, and its name; None: nothing does."""
    from skbench.items.roles import find_roles

    roles, _ = find_roles(table.columns, {}, guess=("model", "item", "cluster", "topic"))
    names = {role: found[0] for role, found in roles.items()}
    topic = [names[role] for role in ("topic",) if role in names and names[role] not in by]
    for role in ("cluster", "item"):
        name = names.get(role)
        if name is None or name in by or table[[name, *topic]].isna().any(axis=None):
            continue
        # Ids may start again in every topic.
        columns = [*topic, name] if role == "item" else [name]
        if not table.duplicated([*by, *columns]).any():
            continue
        say(f"cluster: column {name!r} (--cluster), of which several answers were judged")
        text = [_as_text(table[column]) for column in columns]
        return table.assign(**{_GUESSED: text[0].str.cat(text[1:], sep=" / ")}), _GUESSED
    return table, None


def _with_event(table, judge, human, event):
    """Verdicts and labels as 1 where they are the event, 0 where they are another."""
    happened = {}
    for name, what in ((judge, "verdict"), (human, "human label")):
        # Each column by itself: one may write y and n, the other 1 and 0.
        said = as_one_word(table[name]) == as_event(table[name], event, what)
        happened[name] = said.astype(float).where(table[name].notna())
    return table.assign(**happened)


def _load(file, wanted, label_columns, maybe=()):
    from skbench.readers.loading import load_table

    table, _ = load_table(file, lambda columns: [c for c in label_columns if c is not None])
    table = with_winners(table, [*wanted, *maybe])
    require_columns(table.columns, wanted, repr(str(file)))
    return table


def _with_labels(table, file, labels, ids, human):
    """The table with the column of human labels from another file, joined by ids."""
    given = _load(labels, [*ids, human], label_columns=ids)
    keys, given_keys = _one_text(table, ids, "id"), _one_text(given, ids, "id")
    _refuse_repeated(given_keys, labels, "Keep one label per answer.")
    _refuse_repeated(keys, file, "A label would go to several rows. Name all columns of --id.")
    place = pd.Index(given_keys).get_indexer(keys)
    n_found = int((place >= 0).sum())
    if n_found == 0:
        raise DataError(
            f"none of the {len(given)} ids in {labels!r} is in {file!r}: they look like "
            f"{given_keys[0]!r} there and like {keys[0]!r} here. Pass other columns with --id."
        )
    if n_found < len(given):
        say(f"{len(given) - n_found} of {len(given)} labels have an id that is not in {file!r}")
    if human in table:
        say(f"{human}: taken from {labels!r}, not from the column of that name in {file!r}")
    found = given[human].reindex(place).set_axis(table.index)
    return table.assign(**{human: found})


def _one_text(table, names, what):
    """Text that names each row, from one or several columns."""
    parts = []
    for name in names:
        column = table[name]
        if column.isna().any():
            row = int(np.argmax(column.isna()))
            raise DataError(
                f"the {what} is blank in {int(column.isna().sum())} of {len(table)} rows, first in "
                f"row {row + 1} of column {name!r}. Fill it in, or remove these rows."
            )
        parts.append(_as_text(column))
    first, *others = parts
    return (first.str.cat(others, sep=" / ") if others else first).to_numpy(dtype=object)


def _as_text(labels):
    """Text of labels; integers are the same in a column that a blank has made floating."""
    from skbench.readers.loading import is_integer

    text = labels.astype(str)
    integers = text.str.removesuffix(".0")
    return integers if integers.map(is_integer).all() else text


def _refuse_repeated(keys, file, remedy):
    repeated = keys[pd.Series(keys).duplicated()]
    if len(repeated):
        raise DataError(
            f"{len(repeated)} of {len(keys)} rows of {str(file)!r} repeat an id, first "
            f"{repeated[0]!r}. {remedy}"
        )


def say_silent(table, judge, human):
    """Say how many rows have no verdict."""
    silent = table[judge].isna()
    if silent.any():
        with_label = int(table.loc[silent, human].notna().sum())
        lost = f", {with_label} of them with a human label" if with_label else ""
        say(f"{int(silent.sum())} of {len(table)} rows have no {judge}: left out{lost}")


def _with_verdict(table, judge, human):
    """Rows with a verdict; says how many have none."""
    say_silent(table, judge, human)
    table = table[table[judge].notna()]
    if table[human].isna().all():
        raise DataError(
            f"none of the {len(table)} rows with a verdict in {judge!r} has a label in {human!r}. "
            "Have some of them labeled, chosen at random."
        )
    return table


def _verdicts(column):
    """Verdicts as they are, and as numbers."""
    if _is_number(column):
        scores = column.to_numpy(dtype=float)
        if np.isinf(scores).any():
            raise DataError(
                f"{column.name!r} has infinite scores: correct them, or leave them out."
            )
        return scores, scores
    words = _lower(column)
    names = words.unique()
    if words.isin(_PAIRWISE).all():
        say(f"{column.name}: who of two won, as 1 for model_a, -1 for model_b and 0 for a tie")
    elif len(names) > _MOST_WORDS:
        raise DataError(
            f"{column.name} holds {len(names)} different words, such as {names[0]!r}. Give a "
            f"column of numbers, or of at most {_MOST_WORDS} verdicts."
        )
    scores = _as_numbers(words)
    neither = np.isnan(scores)
    if not neither.any():
        return scores, scores
    shown = ", ".join(map(repr, sorted(words[neither].unique())))
    say(
        f"{int(neither.sum())} of {len(words)} verdicts are neither yes nor no ({shown}): a "
        f"verdict of its own, left out of what {column.name} says on average"
    )
    return words.to_numpy(dtype=object), scores


def _as_numbers(words):
    """What words for yes and no, or for who of two won, are as numbers; nan for others."""
    meaning = _PAIRWISE if words.dropna().isin(_PAIRWISE).all() else _WORDS
    return words.map(meaning).to_numpy(dtype=float)


def _as_labels(column):
    if _is_number(column):
        return column.to_numpy(dtype=float, na_value=np.nan)
    words = _lower(column)
    if words.dropna().isin(_PAIRWISE).all():
        return words.map(_PAIRWISE).to_numpy(dtype=float)
    labels = pd.to_numeric(words.replace(_WORDS), errors="coerce").to_numpy(dtype=float)
    strange = np.isnan(labels) & column.notna().to_numpy()
    if strange.any():
        raise DataError(
            f"human labels must be numbers or words such as yes and no, but {column.name} holds "
            f"{column[strange].iloc[0]!r}. Say which word counts: --event WORD."
        )
    return labels


def _is_number(column):
    return pd.api.types.is_numeric_dtype(column)


def _lower(column):
    return column.astype(object).map(lambda x: str(x).strip().lower(), na_action="ignore")
