"""Rows that an autorater judged, some with a human label, read from one file or two."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from skbench._checks import check_named, require_columns
from skbench._columns import with_winners
from skbench._notes import LOST, SUMMARY
from skbench.items.roles import find_roles
from skbench.items.rows import joined
from skbench.readers.loading import is_integer, load_table
from skbench.report.terminal import DataError, note

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
    by = by or []
    table = read_columns(file, [judge], human, [*by, cluster], labels, ids)
    note_missing_verdicts(table, judge, human)
    table = table[table[judge].notna()]
    if table[human].isna().all():
        raise DataError(
            f"none of the {len(table)} rows with a verdict in {judge!r} has a label in {human!r}. "
            "Have some of them labeled, chosen at random."
        )
    if cluster is None:
        table, cluster = with_guessed_cluster(table, by)
    if event is not None:
        # Each column by itself: one may write y and n, the other 1 and 0.
        for name, what in ((judge, "verdict"), (human, "human label")):
            happened = as_one_word(table[name]) == as_event(table[name], event, what)
            table = table.assign(**{name: happened.astype(float).where(table[name].notna())})
    groups, clusters = _one_text(table, by), _one_text(table, [cluster] if cluster else [])
    return Judged(*verdicts_of(table[judge]), _labels(table[human]), groups, clusters)


def read_columns(file, judges, human, others=(), labels=None, ids=None):
    """The columns of a file, those of `others` as text, with human labels from it or from another.

    A None among the others stands for no column.
    """
    texts = [name for name in (*others, *(ids or [])) if name is not None]
    if labels is None:
        people = [] if human is None else [human]
        return _load(file, [*people, *judges, *texts], texts)
    return _with_labels(_load(file, [*judges, *texts], texts), file, labels, ids, human)


def as_one_word(column):
    """Words in small letters, those for yes and no as 1 and 0; numbers as they are."""
    if is_numeric_dtype(column):
        return column
    words = _lower(column)
    return words.map(_WORDS) if words.dropna().isin(_WORDS).all() else words


def verdicts_of(column, left_out_of=None):
    """Verdicts as they are, and as numbers: nan for words that are neither yes nor no."""
    words, scores = _lower(column), _numbers(column)
    if np.isinf(scores).any():
        raise DataError(f"{column.name!r} has infinite scores: correct them, or leave them out.")
    if words.isin(_PAIRWISE).all():
        note(f"{column.name}: who of two won, as 1 for model_a, -1 for model_b and 0 for a tie")
    neither = words[np.isnan(scores) & words.notna()]
    if neither.empty:
        return scores, scores
    if words.nunique() > _MOST_WORDS:
        raise DataError(
            f"{column.name} holds {words.nunique()} different words, such as {words.iloc[0]!r}: "
            f"give numbers, or at most {_MOST_WORDS} verdicts."
        )
    shown = ", ".join(map(repr, sorted(neither.unique())))
    note(
        f"{len(neither)} of {words.count()} verdicts are neither yes nor no ({shown}): left out of "
        f"{left_out_of or f'what {column.name} says on average'}",
        LOST,
    )
    return words.to_numpy(dtype=object), scores


def as_event(column, event, what="human label", option="event"):
    """The event as it is written in a column, a number where that holds numbers."""
    text = event.strip().lower()
    known = {str(x).removesuffix(".0"): x for x in as_one_word(column).dropna().unique()}
    as_number = str(_WORDS.get(text, text)).removesuffix(".0")
    alike = [word for word, number in _WORDS.items() if f"{number:g}" == as_number]
    found = next((known[word] for word in (text, as_number, *alike) if word in known), None)
    if found is None:
        written = sorted({str(x).removesuffix(".0") for x in column.dropna().unique()})
        raise DataError(
            f"--{option} {event}: no {what} says so. There are: {', '.join(written[:10])}."
        )
    return found


def with_guessed_cluster(table, by):
    """The table with a column of what repeats in a group, and its name; None: nothing does."""
    roles, _ = find_roles(table.columns, {}, guess=("model", "item", "cluster", "topic"))
    topic = [name for name in roles.get("topic", []) if name not in by]
    # Ids may start again in every topic.
    nested = (("cluster", []), ("item", topic))
    for columns in [[*within, *roles[role]] for role, within in nested if role in roles]:
        blank = table[[*columns, *topic]].isna().any(axis=None)
        if set(columns) & set(by) or blank or not table.duplicated([*by, *columns]).any():
            continue
        note(f"cluster: column {columns[-1]!r} (--cluster), of which several answers were judged")
        return table.assign(**{_GUESSED: _one_text(table, columns)}), _GUESSED
    return table, None


def numbers_verdicts(table, name):
    """Whether a column tells the rows of each answer apart, by the same few values in all."""
    roles, _ = find_roles(table.columns, {}, guess=("model", "topic", "item"))
    key = [column for names in roles.values() for column in names]
    if "item" not in roles or name in key or table[name].isna().any():
        return False
    most = table.groupby(key, dropna=False).size().max()
    apart = not table.duplicated([*key, name]).any()
    return bool(apart and 1 < most == table[name].nunique())


def one_row_per_answer(table, judge, attempt, given_once):
    """Verdicts given again in rows below each other as columns, and the names of the further ones.

    An answer is known by its model, topic and item; `attempt` numbers the verdicts on it. Columns
    that are `given_once` have one value for each.
    """
    roles, notes = find_roles(table.columns, {}, guess=("model", "topic", "item"))
    if "item" not in roles:
        raise DataError(
            f"--repeats {attempt} numbers verdicts on one answer, but no column names the answers: "
            "add one, such as 'item', or give a column for each verdict."
        )
    key = [name for names in roles.values() for name in names]
    answer = pd.Series(_one_text(table, key), table.index)
    if table.assign(**{_GUESSED: answer}).duplicated([_GUESSED, attempt]).any():
        raise DataError(f"--repeats {attempt}: some verdicts on an answer have the same number.")
    for name in given_once:
        if (table.groupby(answer)[name].nunique() > 1).any():
            raise DataError(f"--repeats {attempt}: some answers have several values of {name!r}.")
    said = table[table[judge].notna()].sort_values(attempt, kind="stable")
    place = said.groupby(answer).cumcount()
    wide = said.set_index([answer.loc[said.index], place])[judge].unstack()
    again = [f"{judge} ({i + 1})" for i in wide.columns[1:]]
    most = f"repeats: up to {wide.shape[1]} verdicts on each of {len(wide)} answers"
    note(f"{most}, known by {', '.join(key)}", SUMMARY)
    for text in notes:
        note(text)
    verdicts = wide.set_axis([judge, *again], axis=1)
    return table.groupby(answer).first().drop(columns=judge).join(verdicts), again


def note_missing_verdicts(table, judge, human):
    """Say how many rows have no verdict."""
    silent = table[judge].isna()
    if silent.any():
        with_label = 0 if human is None else int(table.loc[silent, human].notna().sum())
        lost = f", {with_label} of them with a human label" if with_label else ""
        note(f"{int(silent.sum())} of {len(table)} rows have no {judge}: left out{lost}", LOST)


def _load(file, wanted, texts):
    """A table that has these columns, winners of pairs in one column each."""
    table, _ = load_table(file, lambda columns: texts)
    table = with_winners(table, wanted)
    require_columns(table.columns, wanted, repr(str(file)))
    return table


def _with_labels(table, file, labels, ids, human):
    """The table with the column of human labels from another file, joined by ids."""
    given = _load(labels, [*ids, human], ids)
    there = _ids(given, ids, labels, "Keep one label per answer.")
    here = _ids(table, ids, file, "A label would go to several rows. Name all columns of --id.")
    n_found = int(there.isin(here).sum())
    if n_found == 0:
        raise DataError(
            f"none of the {len(given)} ids in {labels!r} is in {file!r}: they look like "
            f"{there[0]!r} there and like {here[0]!r} here. Pass other columns with --id."
        )
    if n_found < len(given):
        unknown = f"{len(given) - n_found} of {len(given)} labels"
        note(f"{unknown} have an id that is not in {file!r}", LOST)
    if human in table:
        note(f"{human}: taken from {labels!r}, not from the column of that name in {file!r}")
    return table.assign(**{human: given[human].set_axis(there).reindex(here).set_axis(table.index)})


def _ids(table, names, file, remedy):
    """Text that names each row and no other."""
    ids = pd.Index(_one_text(table, names))
    repeated = ids[ids.duplicated()]
    if len(repeated):
        raise DataError(
            f"{len(repeated)} of {len(ids)} rows of {str(file)!r} repeat an id, first "
            f"{repeated[0]!r}. {remedy}"
        )
    return ids


def _one_text(table, names):
    """Text that names each row, from one or several columns; None where there are none."""
    for name in names:
        check_named(f"column {name!r}", table[name], range(1, len(table) + 1))
    return np.array(joined(table[names].apply(_as_text)), dtype=object) if names else None


def _as_text(labels):
    """Text of labels; integers are the same in a column that a blank has made floating."""
    text = labels.astype(str)
    integers = text.str.removesuffix(".0")
    return integers if integers.map(is_integer).all() else text


def _labels(column):
    """Human labels as numbers."""
    labels = _numbers(column)
    strange = column[np.isnan(labels) & column.notna()]
    if len(strange):
        raise DataError(
            f"human labels must be numbers or words such as yes and no, but {column.name} holds "
            f"{strange.iloc[0]!r}. Say which word counts: --event WORD."
        )
    return labels


def _numbers(column):
    """Numbers, yes and no as 1 and 0, or who of two won as 1, -1 and 0; nan for other words."""
    if is_numeric_dtype(column):
        return column.to_numpy(dtype=float, na_value=np.nan)
    words = _lower(column)
    meaning = _PAIRWISE if words.dropna().isin(_PAIRWISE).all() else _WORDS
    return pd.to_numeric(words.replace(meaning), errors="coerce").to_numpy(dtype=float)


def _lower(column):
    return column.astype(object).map(lambda x: str(x).strip().lower(), na_action="ignore")
