"""Rows scored by an LLM judge, some with a human label, read from one or two files."""

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
# Outcomes of pairwise votes for the first model, as arenas write them.
_PAIRWISE = {"model_a": 1.0, "model_b": -1.0, "tie": 0.0, "tie (bothbad)": 0.0}
_MOST_WORDS = 10
_GUESSED = "cluster (guessed)"


class Judged(NamedTuple):
    """Judged rows: verdicts, verdicts as numbers (nan for other words), labels (nan if missing)."""

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
        """Whether some verdicts are words other than yes and no."""
        return bool(np.isnan(self.scores).any())

    @property
    def numeric(self):
        """Verdicts as columns of numbers: scores, or indicators of all words except one."""
        if not self.has_words:
            return pd.DataFrame({"judge": self.scores})
        return pd.get_dummies(pd.Series(self.verdicts), dtype=float).iloc[:, 1:]


def read_judged(file, judge, human, by=None, cluster=None, labels=None, ids=None, event=None):
    """Read the rows with a verdict as `Judged`.

    Without `cluster`, the cluster column is guessed. `event` is the value that counts as 1.
    """
    by = by or []
    table = read_columns(file, [judge], human, [*by, cluster], labels, ids)
    note_missing_verdicts(table, judge, human)
    table = table[table[judge].notna()]
    if table[human].isna().all():
        raise DataError(
            f"None of the {len(table)} rows with a verdict in {judge!r} has a label in {human!r}. "
            "Have a random sample of these rows labeled."
        )
    if cluster is None:
        table, cluster = with_guessed_cluster(table, by)
    if event is not None:
        # The columns may use different words, such as y and n in one and 1 and 0 in the other.
        for name, what in ((judge, "verdict"), (human, "human label")):
            happened = as_one_word(table[name]) == as_event(table[name], event, what)
            table = table.assign(**{name: happened.astype(float).where(table[name].notna())})
    groups, clusters = _one_text(table, by), _one_text(table, [cluster] if cluster else [])
    return Judged(*verdicts_of(table[judge]), _labels(table[human]), groups, clusters)


def read_columns(file, judges, human, others=(), labels=None, ids=None):
    """Read columns of a file, `others` as text, and human labels from it or another file.

    A None in `others` stands for no column.
    """
    texts = [name for name in (*others, *(ids or [])) if name is not None]
    if labels is None:
        people = [] if human is None else [human]
        return _load(file, [*people, *judges, *texts], texts)
    return _with_labels(_load(file, [*judges, *texts], texts), file, labels, ids, human)


def as_one_word(column):
    """Convert words to lower case, and yes and no to 1 and 0; keep numbers."""
    if is_numeric_dtype(column):
        return column
    words = _lower(column)
    return words.map(_WORDS) if words.dropna().isin(_WORDS).all() else words


def verdicts_of(column, context=None):
    """Return verdicts, and verdicts as numbers with nan for words other than yes and no."""
    words, scores = _lower(column), _numbers(column)
    if np.isinf(scores).any():
        raise DataError(f"Column {column.name!r} has infinite scores. Correct or drop these rows.")
    if words.isin(_PAIRWISE).all():
        note(f"{column.name}: winners of pairs, read as 1 (model_a), -1 (model_b) and 0 (tie)")
    neither = words[np.isnan(scores) & words.notna()]
    if neither.empty:
        return scores, scores
    if words.nunique() > _MOST_WORDS:
        raise DataError(
            f"Column {column.name!r} holds {words.nunique()} different words, such as "
            f"{words.iloc[0]!r}. It must hold numbers, or at most {_MOST_WORDS} different words."
        )
    shown = ", ".join(map(repr, sorted(neither.unique())))
    note(
        f"skipped {len(neither)} of {words.count()} verdicts that are neither yes nor no ({shown}) "
        f"in {context or f'the mean of {column.name}'}",
        LOST,
    )
    return words.to_numpy(dtype=object), scores


def as_event(column, event, what="human label", option="event"):
    """Return the event as it is written in a column, or as a number."""
    text = event.strip().lower()
    known = {str(x).removesuffix(".0"): x for x in as_one_word(column).dropna().unique()}
    as_number = str(_WORDS.get(text, text)).removesuffix(".0")
    alike = [word for word, number in _WORDS.items() if f"{number:g}" == as_number]
    found = next((known[word] for word in (text, as_number, *alike) if word in known), None)
    if found is None:
        written = sorted({str(x).removesuffix(".0") for x in column.dropna().unique()})
        raise DataError(
            f"--{option} {event}: no {what} has this value. Values are {', '.join(written[:10])}."
        )
    return found


def with_guessed_cluster(table, by):
    """Add a guessed cluster column, and return its name or None."""
    roles, _ = find_roles(table.columns, {}, guess=("model", "item", "cluster", "topic"))
    topic = [name for name in roles.get("topic", []) if name not in by]
    # Item ids may be unique only within a topic.
    nested = (("cluster", []), ("item", topic))
    for columns in [[*within, *roles[role]] for role, within in nested if role in roles]:
        blank = table[[*columns, *topic]].isna().any(axis=None)
        if set(columns) & set(by) or blank or not table.duplicated([*by, *columns]).any():
            continue
        note(f"cluster: column {columns[-1]!r} (--cluster), because its values repeat")
        return table.assign(**{_GUESSED: _one_text(table, columns)}), _GUESSED
    return table, None


def numbers_verdicts(table, name):
    """Whether a column numbers the repeated verdicts on each answer."""
    roles, _ = find_roles(table.columns, {}, guess=("model", "topic", "item"))
    key = [column for names in roles.values() for column in names]
    if "item" not in roles or name in key or table[name].isna().any():
        return False
    most = table.groupby(key, dropna=False).size().max()
    apart = not table.duplicated([*key, name]).any()
    return bool(apart and 1 < most == table[name].nunique())


def one_row_per_answer(table, judge, attempt, given_once):
    """Reshape repeated verdicts from rows to columns, and return the names of the new columns.

    Model, topic and item identify an answer, and `attempt` numbers the verdicts on it. Columns in
    `given_once` must have one value per answer.
    """
    roles, notes = find_roles(table.columns, {}, guess=("model", "topic", "item"))
    if "item" not in roles:
        raise DataError(
            f"--repeats {attempt} numbers the verdicts on an answer, but no column identifies the "
            "answers. Add a column 'item', or name one column per verdict in --repeats."
        )
    key = [name for names in roles.values() for name in names]
    answer = pd.Series(_one_text(table, key), table.index)
    if table.assign(**{_GUESSED: answer}).duplicated([_GUESSED, attempt]).any():
        raise DataError(
            f"--repeats {attempt}: several verdicts on one answer have the same number."
        )
    for name in given_once:
        if (table.groupby(answer)[name].nunique() > 1).any():
            raise DataError(f"--repeats {attempt}: some answers have several values of {name!r}.")
    given = table[table[judge].notna()].sort_values(attempt, kind="stable")
    place = given.groupby(answer).cumcount()
    wide = given.set_index([answer.loc[given.index], place])[judge].unstack()
    again = [f"{judge} ({i + 1})" for i in wide.columns[1:]]
    most = f"repeats: up to {wide.shape[1]} verdicts on each of {len(wide)} answers"
    note(f"{most}, identified by {', '.join(key)}", SUMMARY)
    for text in notes:
        note(text)
    verdicts = wide.set_axis([judge, *again], axis=1)
    return table.groupby(answer).first().drop(columns=judge).join(verdicts), again


def note_missing_verdicts(table, judge, human):
    """Note the number of rows without a verdict."""
    missing = table[judge].isna()
    if missing.any():
        with_label = 0 if human is None else int(table.loc[missing, human].notna().sum())
        lost = f", {with_label} of them with a human label" if with_label else ""
        note(f"skipped {int(missing.sum())} of {len(table)} rows without {judge}{lost}", LOST)


def _load(file, wanted, texts):
    """Load a table with these columns, with winners of pairs in one column."""
    table, _ = load_table(file, lambda columns: texts)
    table = with_winners(table, wanted)
    require_columns(table.columns, wanted, repr(str(file)))
    return table


def _with_labels(table, file, labels, ids, human):
    """Join human labels from another file by ids."""
    given = _load(labels, [*ids, human], ids)
    there = _ids(given, ids, labels, "Keep one label per answer.")
    here = _ids(table, ids, file, "Name all columns that identify an answer in --id.")
    n_found = int(there.isin(here).sum())
    if n_found == 0:
        raise DataError(
            f"None of the {len(given)} ids in {labels!r} is in {file!r}. The first ids are "
            f"{there[0]!r} and {here[0]!r}. Name other columns with --id."
        )
    if n_found < len(given):
        unknown = f"skipped {len(given) - n_found} of {len(given)} labels"
        note(f"{unknown} whose id is not in {file!r}", LOST)
    if human in table:
        note(f"{human}: read from {labels!r}; the column in {file!r} is ignored")
    return table.assign(**{human: given[human].set_axis(there).reindex(here).set_axis(table.index)})


def _ids(table, names, file, remedy):
    """Return unique ids of the rows as text."""
    ids = pd.Index(_one_text(table, names))
    repeated = ids[ids.duplicated()]
    if len(repeated):
        raise DataError(
            f"{len(repeated)} of {len(ids)} rows of {str(file)!r} repeat an id (first "
            f"{repeated[0]!r}). {remedy}"
        )
    return ids


def _one_text(table, names):
    """Join columns to one text per row; None without columns."""
    for name in names:
        check_named(f"column {name!r}", table[name], range(1, len(table) + 1))
    return np.array(joined(table[names].apply(_as_text)), dtype=object) if names else None


def _as_text(labels):
    """Convert to text; integers get the same text in a float column with missing values."""
    text = labels.astype(str)
    integers = text.str.removesuffix(".0")
    return integers if integers.map(is_integer).all() else text


def _labels(column):
    """Convert human labels to numbers."""
    labels = _numbers(column)
    unknown = column[np.isnan(labels) & column.notna()]
    if len(unknown):
        raise DataError(
            f"Human labels must be numbers or words such as yes and no, but {column.name} holds "
            f"{unknown.iloc[0]!r}. Pass the word that counts as 1: --event WORD."
        )
    return labels


def _numbers(column):
    """Convert to numbers: yes and no to 1 and 0, winners to 1, -1 and 0, other words to nan."""
    if is_numeric_dtype(column):
        return column.to_numpy(dtype=float, na_value=np.nan)
    words = _lower(column)
    meaning = _PAIRWISE if words.dropna().isin(_PAIRWISE).all() else _WORDS
    return pd.to_numeric(words.replace(meaning), errors="coerce").to_numpy(dtype=float)


def _lower(column):
    return column.astype(object).map(lambda x: str(x).strip().lower(), na_action="ignore")
