"""What the commands on several models read, and check, alike."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from skbench._checks import check_within
from skbench.report.terminal import DataError, say

ONE_SCORE = (
    "Each group has a single score, and nothing tells how noisy that is. Add a column of the "
    "numbers of items (n), or of standard errors (as acc_stderr beside acc); or rank models by "
    "such scores: `skbench leaderboard --item TOPIC`, with the column of the topics."
)
_ALL_ALIKE = (
    "The scores of each group are all alike, so nothing tells how far others would spread, and "
    "no interval can be given. Give the scores of single items; where these have ids, `skbench "
    "leaderboard` ranks models by them."
)


def read_rows(paths, by, roles, missing="drop", whole_sets=False):
    """Rows of results as every command reads them; says what was understood.

    Parameters
    ----------
    paths : str or list of str
        Tables, logs, or folders of logs.
    by : list of str or None
        Columns of the topics.
    roles : dict
        The values of `reading_options`.
    missing : {"drop", "wrong", "refuse"}, default="drop"
        What an item is that a model did not answer.
    whole_sets : bool, default=False
        Whether bootstrap scores of whole test sets are taken too.

    Returns
    -------
    ItemRows

    Raises
    ------
    DataError
        If the rows are no items, such as bootstrap scores; if a model is renamed that is
        not there; if answers are missing and that is refused.
    """
    from skbench.readers import read_with_notes
    from skbench.report.understanding import understood

    roles = dict(roles)
    new_names = roles.pop("rename", ())
    rows = renamed(read_with_notes(paths, topic=by, n_jobs=-1, **roles), new_names)
    for note in rows.notes:
        say(note)
    if "euroeval" in rows.formats and whole_sets:
        return rows
    refuse_bootstrap_scores(rows)
    found = understood(rows)
    for line in found.lines():
        say(line)
    if found.units:
        warnings.warn(found.units, stacklevel=2)
    rows = with_missing(rows, missing)
    return _with_repeats_averaged(rows) if found.repeats > 1 and found.clusters else rows


def _with_repeats_averaged(rows):
    """One row per model and item, where clusters hold several items that were repeated."""
    items = rows.items
    keys = ["model", "item"] if "model" in items else ["item"]
    say("repeats: averaged, item by item, since clusters hold several items")
    mean = items.groupby(keys, sort=False)["score"].mean()
    first = items.drop_duplicates(keys).drop(columns=[c for c in ("repeat",) if c in items])
    score = mean.reindex(pd.MultiIndex.from_frame(first[keys]) if len(keys) > 1 else first["item"])
    return rows._replace(items=first.assign(score=score.to_numpy()).reset_index(drop=True))


def refuse_bootstrap_scores(rows):
    """Refuse scores of whole test sets: intervals that take them for items are too short."""
    if "euroeval" in rows.formats:
        raise DataError(
            "EuroEval keeps bootstrap samples of whole test sets, not items, and anything that "
            "takes them for items would be too sure. `skbench leaderboard` ranks models by them."
        )


def renamed(rows, new_names):
    """The rows with the user's names of models.

    Parameters
    ----------
    rows : ItemRows
    new_names : sequence of str
        As in ``--rename OLD=NEW``.

    Returns
    -------
    ItemRows
    """
    if not new_names:
        return rows
    pairs = [text.split("=", 1) for text in new_names]
    for text, pair in zip(new_names, pairs, strict=True):
        if len(pair) < 2 or not all(part.strip() for part in pair):
            raise DataError(f"--rename {text!r}: write OLD=NEW, two names of a model.")
    if "model" not in rows.items:
        raise DataError("--rename has no meaning: no column names models.")
    names = {str(name) for name in rows.items["model"].unique()}
    for old, _ in pairs:
        if old not in names:
            shown = ", ".join(sorted(names)[:6]) + ", ..." * (len(names) > 6)
            raise DataError(f"--rename {old}=...: there is no such model. There are: {shown}.")
    new = dict(pairs)
    after = [new.get(name, name) for name in names]
    if len(set(after)) < len(after):
        twice = next(name for name in after if after.count(name) > 1)
        raise DataError(f"--rename would give several models the name {twice!r}.")

    def with_names(frame):
        if frame is None:
            return None
        return frame.assign(model=frame["model"].map(lambda name: new.get(str(name), name)))

    return rows._replace(
        items=with_names(rows.items), groups=with_names(rows.groups), blank=with_names(rows.blank)
    )


def with_missing(rows, missing):
    """Answers that are not there as the user wants them, the same for logs and tables.

    Parameters
    ----------
    rows : ItemRows
        With the rows that have no score in `blank`.
    missing : {"drop", "wrong", "refuse"}
        "wrong": answers that are blank, failed or refused, and those to items that only other
        models were asked, score 0.

    Returns
    -------
    ItemRows

    Raises
    ------
    DataError
        If there are such answers and `missing` is "refuse".
    """
    if missing == "drop" or rows.groups is not None:
        return rows
    absent = _absent(rows)
    if absent.empty:
        return rows
    if missing == "refuse":
        counts = absent["model"].value_counts() if "model" in absent else None
        n_models = rows.items["model"].nunique() if counts is not None else 1
        worst = "" if counts is None else f": {counts.index[0]!r} lacks {counts.iloc[0]}"
        first = f" (first item {absent['item'].iloc[0]!r})" if "item" in absent else ""
        raise DataError(
            f"{1 if counts is None else len(counts)} of {n_models} models did not answer all items"
            f"{worst}{first}. Leave out these items or models, or pass --missing drop or wrong."
        )
    say(f"{len(absent)} answers that are not there count as wrong (--missing wrong)")
    items = pd.concat([rows.items, absent.assign(score=0.0)], ignore_index=True)
    return rows._replace(items=items[rows.items.columns], blank=None)


def _absent(rows):
    """Rows, without scores, of the answers that are not there."""
    items = rows.items
    blank = rows.blank if rows.blank is not None else items.iloc[:0].drop(columns="score")
    if "item" not in items or "model" not in items:
        return blank
    per_answer = ["model", "score", "repeat", "confidence"]
    known = pd.concat([items, blank], ignore_index=True)
    asked = known.drop(columns=[c for c in per_answer if c in known]).drop_duplicates("item")
    pairs = pd.MultiIndex.from_product([items["model"].unique(), asked["item"]])
    missing = pairs.difference(pd.MultiIndex.from_frame(known[["model", "item"]]), sort=False)
    grid = missing.to_frame(index=False, name=["model", "item"]).merge(asked, on="item")
    return pd.concat([blank, grid], ignore_index=True)


def read_models(file, by, roles, missing="drop", one_model=False, whole_sets=False):
    """Item rows of several models, and how the formulas shall take them.

    Parameters
    ----------
    file : str
        A table, a log or a folder of logs.
    by : list of str or None
        Columns of the topics.
    roles : dict
        The values of `reading_options`.
    missing : {"drop", "wrong", "refuse"}, default="drop"
        What an item is that a model did not answer.
    one_model : bool, default=False
        Whether a file without a column of models is one model, named for it.
    whole_sets : bool, default=False
        Whether bootstrap scores of whole test sets are taken too: rows as they are.

    Returns
    -------
    rows : ItemRows
        With the columns model, item and score.
    columns : dict
        The arguments `by` and `cluster` of the functions on item rows.

    Raises
    ------
    DataError
        If there is no column of models or of items.
    """
    from skbench.readers.group_results import unfolded

    check_topics(by, roles["model"])
    rows = read_rows(file, by, roles, missing, whole_sets)
    if "euroeval" in rows.formats:
        return rows, {}
    if rows.groups is not None:
        unfolded(rows)  # refuses means, and too many answers, in words of its own
        raise DataError(
            "the file holds counts of groups, and not which items were right: models are compared "
            "item by item. `skbench estimate` and `skbench report` take it."
        )
    if one_model and "model" not in rows.items:
        name = Path(file).stem
        rows = rows._replace(
            items=rows.items.assign(model=name),
            blank=None if rows.blank is None else rows.blank.assign(model=name),
        )
    for name in ("model", "item"):
        if name not in rows.items:
            raise DataError(f"no column has a usual name for the {name}. Pass --{name} COLUMN.")
    topics = by if by and len(by) > 1 else ["topic"]
    return rows, {"by": topics if by else None, "cluster": cluster_name(rows)}


def as_in(models, name):
    """The name as the column has it: models may be numbers there."""
    return next((model for model in models.unique() if str(model) == name), name)


def check_topics(by, model):
    """Refuse models as topics: a topic is what several models are compared on.

    Parameters
    ----------
    by : list of str or None
        Columns of the topics.
    model : str or None
        Column of the models, if it was named.

    Raises
    ------
    DataError
        If one of the columns is that of the models.
    """
    from skbench.items.roles import find_roles

    usual = find_roles(by or [], {}, guess=("model",))[0].get("model", [])
    for name in by or []:
        if name in ([model] if model else usual):
            raise DataError(
                f"--by {name} names the models, which are compared with each other anyway. Name "
                "the columns of the topics, or leave --by out; if the models are in another "
                "column, pass --model COLUMN."
            )


def cluster_name(rows):
    """Column of the clusters, or None; "item" where several rows of one item are the clusters."""
    columns = rows.columns
    if "cluster" not in columns:
        return None
    # Formulas take several rows of one item only if that is what they cluster by.
    return "item" if columns["cluster"] == columns.get("item") else "cluster"


def cluster_weight(cluster):
    """Every item counts once, however often it was answered, as in rankings and pairs."""
    return "cluster" if cluster == "item" else "item"


def with_names(summary, by):
    """Labels of models and topics as categories: numbers in a file of results are names, too."""
    numbers = [name for name in by if name in summary.X and is_numeric_dtype(summary.X[name])]
    return replace(summary, X=summary.X.astype(dict.fromkeys(numbers, "category")))


def check_spread(summary):
    """Refuse groups of which nothing tells how noisy they are.

    Parameters
    ----------
    summary : GroupSummary
        Groups.

    Raises
    ------
    DataError
        If their sampling variances are unknown.
    """
    if np.isnan(summary.sigma2).any():
        raise DataError(ONE_SCORE if (summary.n == 1).all() else _ALL_ALIKE)


def score_range(rows, bounds=None):
    """Least and greatest score there can be, where that is known.

    Parameters
    ----------
    rows : ItemRows
        From `read_with_notes`.
    bounds : tuple of two floats, default=None
        What the user says.

    Returns
    -------
    tuple of two floats or None
        The bounds; else (0, 1) where every score is 0 or 1; else what the evaluation program
        defines a score of this name to be. Never read off the scores otherwise.

    Raises
    ------
    ValueError
        If a score is outside the bounds.
    """
    scores = rows.items["score"].to_numpy()
    if bounds is not None:
        check_within("scores lie", scores, bounds)
        return bounds
    if rows.groups is not None and "k" in rows.groups:
        return 0.0, 1.0
    if np.isin(scores, (0, 1)).all():
        return 0.0, 1.0
    from skbench.items.ranges import known_range

    known = known_range(rows.formats, score_name(rows), scores.max())
    inside = known is not None and scores.min() >= known[0] and scores.max() <= known[1]
    return known if inside else None


def within_scores(estimate, known_range):
    """The estimate, cut to the range of the score where that is known."""
    return estimate if known_range is None else estimate.within(*known_range)


def say_if_beyond(estimate, items, known_range):
    """Tell how to cut intervals that go beyond all scores, where their range is not known."""
    low, high = items["score"].min(), items["score"].max()
    beyond = (estimate.low < low) | (estimate.high > high)
    if known_range is None and beyond.any():
        say(
            f"{int(beyond.sum())} of {len(estimate)} intervals go beyond the scores, which run "
            f"from {low:g} to {high:g}: --bounds LOW HIGH, the lowest and highest possible score, "
            "cuts them"
        )


def score_name(rows):
    """What the file calls the score."""
    column = rows.columns["score"]
    return column if isinstance(column, str) else "score"
