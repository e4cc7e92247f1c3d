"""Reading and checking of results, shared by the commands."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from skbench._checks import check_within, listed, refuse_unknown_topics
from skbench._notes import ROUTINE, SUMMARY
from skbench._undecided import Undecided
from skbench._warnings import warn
from skbench.items import ranges
from skbench.items.roles import (
    check_exist,
    check_model,
    column_like,
    columns_of,
    cost_columns,
    field,
)
from skbench.items.rows import group_labels, joined
from skbench.items.tables import score_table
from skbench.readers import read_features, read_with_notes
from skbench.readers.loading import COMPRESSIONS, TABLES, readable
from skbench.report.terminal import DataError, command_with, note
from skbench.report.understanding import answer_key, in_lines, understood

_ROLES = ("model", "topic", "item", "score", "cluster")
NO_SPREAD = (
    "The sampling variance is unknown, because each group has one score, one cluster or equal "
    "scores. Add numbers of items (n) or standard errors (acc_stderr). Or rank the models with "
    "`skbench leaderboard`, with --item TOPIC if items have no ids."
)


def read(paths, by, roles, whole_sets=False):
    """`ItemRows` of files with models renamed; `whole_sets` allows scores of whole test sets."""
    roles = dict(roles)
    new_names = roles.pop("rename", ())
    rows = renamed(read_with_notes(paths, topic=by, **roles), new_names)
    if "euroeval" in rows.formats and not whole_sets:
        # Intervals that treat such scores as items are too short.
        raise DataError(
            "EuroEval logs have scores of bootstrap samples, not of items. Use `skbench "
            "leaderboard`, which ranks the models by these scores."
        )
    return rows


def read_rows(paths, by, roles, missing="drop", whole_sets=False, cost=None, features=None):
    """`ItemRows` with missing answers handled; notes on the files are printed."""
    rows = read(paths, by, roles, whole_sets)
    for text in rows.notes:
        note(text)
    if "euroeval" in rows.formats:
        return rows
    found = understood(rows)
    for line in in_lines(found):
        note(line)
    if found["units"]:
        warn(found["units"])
    rows = with_missing(rows, missing, cost)
    if found["n_repeats"] > 1 and found["n_clusters"]:
        rows = _with_repeats_averaged(rows, [cost, *_names_in(features)])
    return rows


def check_alike(rows, others):
    """Refuse two tables that use different columns for a role although one has both columns."""
    if rows.formats != ["table"] or others.formats != ["table"]:
        return
    for role in ("item", "topic", "score"):
        names = [found.columns.get(role) for found in (rows, others)]
        if not all(isinstance(name, str) for name in names) or field(names[0]) == field(names[1]):
            continue
        for name, found in zip(names, (others, rows), strict=True):
            if column_like(name, other_columns(found.items)) is not None:
                raise ValueError(
                    f"The {role} is column {names[0]!r} in one file and {names[1]!r} in the other, "
                    f"but both files have {name!r}. Pass {role}={name!r}."
                )


def _with_repeats_averaged(rows, used):
    """One row per model and item, if clusters hold several items that were repeated.

    Scores, costs and numeric columns in `used` are averaged. Other columns keep the first value.
    """
    note("repeats: averaged per item, because clusters hold several items", SUMMARY)
    items = rows.items.drop(columns="repeat", errors="ignore")
    keys = answer_key(rows)
    used = [name for name in used if name in items and is_numeric_dtype(items[name])]
    means = ["score", *cost_columns(items), *used]
    how = {name: "mean" if name in means else "first" for name in items if name not in keys}
    items = items.groupby(keys, sort=False, as_index=False).agg(how)[list(items)]
    return rows._replace(items=items)


def renamed(rows, new_names):
    """The rows with models renamed as in ``--rename OLD=NEW``."""
    if not new_names:
        return rows
    need_columns(rows.items, "model")
    new, names = {}, set(map(str, rows.items["model"].unique()))
    for text in new_names:
        old, _, new[old] = text.partition("=")
        if not old.strip() or not new[old].strip():
            raise DataError(
                f"--rename {text!r} is not OLD=NEW. Write the old and the new name of a model."
            )
        check_model(old, sorted(names))
    if len({new.get(name, name) for name in names}) < len(names):
        raise DataError("--rename gives several models the same name.")
    return with_models(rows, lambda rows: rows["model"].map(lambda name: new.get(str(name), name)))


def with_models(rows, change):
    """The rows with other names of models, given as a name or as a function of a frame."""
    return rows.changed(lambda frame: frame.assign(model=change))


def n_items(items, topics):
    """How many items there are."""
    return len(items[[*topics, "item"]].drop_duplicates())


def with_missing(rows, missing, cost=None):
    """The rows with missing answers skipped, refused, or scored 0 ("wrong") at unknown cost."""
    if missing == "drop" or rows.groups is not None:
        return rows
    absent = _absent(rows, cost)
    if absent.empty:
        return rows
    if missing == "refuse":
        counts = absent.get("model", absent.iloc[:0]).value_counts()
        worst = f": {counts.index[0]!r} lacks {counts.iloc[0]}" if len(counts) else ""
        raise DataError(
            f"Answers are missing{worst}. Remove these items or models, or pass --missing drop or "
            "wrong."
        )
    note(f"{len(absent)} missing answers count as wrong (--missing wrong)")
    items = pd.concat([rows.items, absent.assign(score=0.0)], ignore_index=True)
    return rows._replace(items=items[rows.items.columns], blank=None)


def _absent(rows, cost):
    """Rows without scores for the missing answers.

    Columns that depend on the model or on the item are filled in.
    """
    items = rows.items
    blank = rows.blank if rows.blank is not None else items.iloc[:0].drop(columns="score")
    if "item" not in items or "model" not in items:
        return blank
    known = pd.concat([items, blank], ignore_index=True)
    key = rows.key
    grid = items[["model"]].drop_duplicates().merge(known[key].drop_duplicates(), how="cross")
    pairs, answered = (pd.MultiIndex.from_frame(x[["model", *key]]) for x in (grid, known))
    absent = grid[~pairs.isin(answered)]
    free = known.columns.difference(["model", "score", "repeat", "confidence", cost, *key], False)
    of_model = _constant_within(known, ["model"], free.difference(["cluster"], False))
    of_item = _constant_within(known, key, free.difference(of_model, False))
    of_item += ["cluster"] * ("cluster" in known and "cluster" not in [*key, *of_item])
    for by, names in ((["model"], of_model), (key, of_item)):
        absent = absent.merge(known[[*by, *names]].drop_duplicates(by), how="left", on=by)
    return pd.concat([blank, absent], ignore_index=True)


def _constant_within(rows, by, names):
    """Columns with one value in each group, if some groups have several rows."""
    if not (len(names) and rows.duplicated(by).any()):
        return []
    alike = rows.groupby(by, sort=False)[list(names)].nunique(dropna=False).eq(1).all()
    return list(alike.index[alike])


def read_models(file, by, roles, missing="drop", one_model=False, whole_sets=False):
    """Item rows of several models, and the arguments for topics and clusters.

    With `one_model`, a file without a column of models is one model, named after the file.
    """
    check_topics(by, roles["model"])
    rows = read_rows(file, by, roles, missing, whole_sets)
    if "euroeval" in rows.formats:
        return rows, {}
    if rows.groups is not None:
        raise DataError(
            "The file has results of groups, but this command needs scores of items. Use `skbench "
            "estimate`."
        )
    if one_model:
        rows = named_after(rows, file)
    need_columns(rows.items, "model", "item")
    return rows, columns_for(rows, by)


def columns_for(rows, by=None):
    """The arguments of functions for the columns of topics and clusters."""
    topics = [name for name in rows.key if name != "item"]
    return {"by": topic_names(by), "topic": topics, "cluster": cluster_name(rows)}


def check_same_key(files, sides):
    """Refuse two files that identify items by different columns or by row numbers."""
    for file, rows in zip(files, sides, strict=True):
        if "item" not in rows.columns and files[0] != files[1]:
            raise DataError(
                f"{file!r} has no ids of items, and rows of two files are not paired by number. "
                "Give both files a column of ids and pass --item COLUMN."
            )
    first, second = sides
    if first.key != second.key:
        one, other = (
            listed([*np.ravel(x.columns.get("topic", [])), *["topic"] * ("topic_in_file" in x.key)])
            for x in sides
        )
        raise DataError(
            f"Items are identified by id and {one or 'no topic'} in {files[0]!r}, but by id and "
            f"{other or 'no topic'} in {files[1]!r}. Give both files the same columns of topics."
        )


def models_table(items, columns, known_range=None, population=None):
    """Scores by model and item, with topics and clusters, as comparisons take them."""
    table = score_table(
        items, model="model", item="item", score="score", cluster=columns["cluster"],
        by=columns["by"] or [], topic=columns["topic"], bounds=known_range,
    )  # fmt: skip
    return table.with_population(population)


def population_of(asked, items, by, past=False):
    """The value of --population: a number, a dict of topics, or None."""
    if not asked:
        return None
    if past:
        raise DataError("--population cannot be used with --past or --bank.")
    sizes = dict(asked)
    if set(sizes) == {None} and len(asked) == 1:
        return sizes[None]
    if None in sizes or len(sizes) < len(asked):
        raise DataError("--population takes one number, or TOPIC=N once for each topic.")
    topics = topic_names(by) or ["topic"]
    if not set(topics).issubset(items):
        raise DataError("--population names topics, but no column has topics. Pass --by COLUMN.")
    labels = items[topics].drop_duplicates()
    known = dict(zip(joined(labels), group_labels(labels, topics), strict=True))
    refuse_unknown_topics(sizes, known)
    return {known[topic]: n for topic, n in sizes.items()}


def need_columns(items, *names, where="No column"):
    """Refuse rows without a column of this role."""
    for name in names:
        if name not in items:
            # Any column of names may hold items, but not models or topics.
            roles = ("label", "prediction", "answer", "cost")
            beside = {c for role in roles for c in columns_of(role, items)}
            free = [c for c in other_columns(items) if name == "item" and c not in beside]
            commands = [command_with(item=c) for c in free if items[c].dtype.kind not in "fbc"]
            text = f"{where} has a usual name for the {name}. Pass --{name} COLUMN."
            raise DataError(text, commands[:3])


def topic_names(by):
    """Columns of the topic in the rows: one is renamed to "topic", several keep their names."""
    return by if by is None or len(by) > 1 else ["topic"]


def named_after(rows, file):
    """The rows; without a column of models they are one model, named after the file."""
    return rows if "model" in rows.items else with_models(rows, readable(file).stem)


def as_in(models, name):
    """The name as in the column, where models may be numbers."""
    return next((model for model in models.unique() if str(model) == name), name)


def check_topics(by, model):
    """Refuse the column of models as a topic."""
    models = [model] if model else columns_of("model", by or [])
    for name in set(models).intersection(by or []):
        raise ValueError(
            f"topic={name!r} is the column of the models. Name columns of topics, or pass model= "
            "if another column holds the models."
        )


def cluster_name(rows):
    """Column of the clusters, or None; "item" if the rows of an item are a cluster."""
    columns = rows.columns
    if "cluster" not in columns:
        return None
    # Formulas allow several rows per item only if items are the clusters.
    return "item" if columns["cluster"] == columns.get("item") else "cluster"


def cluster_weight(cluster):
    """The weights by which every item counts once, however often it was answered."""
    return "cluster" if cluster == "item" else "item"


def with_names(summary, by):
    """The summary with numeric labels of models and topics as categories."""
    numbers = [name for name in by if name in summary.X and is_numeric_dtype(summary.X[name])]
    return replace(summary, X=summary.X.astype(dict.fromkeys(numbers, "category")))


def check_variance(summary):
    """Refuse groups with unknown sampling variance."""
    if np.isnan(summary.sigma2).any():
        raise DataError(NO_SPREAD)


def score_range(rows, bounds=None):
    """Lowest and highest possible score: the bounds, or those of the kind or name of the score.

    None if unknown. The range is not inferred from the observed scores.
    """
    scores = rows.items["score"].to_numpy()
    if bounds is not None:
        check_within("scores lie", scores, bounds)
        return bounds
    counts = rows.groups is not None and "k" in rows.groups
    if counts or np.isin(scores, (0, 1)).all():
        return 0.0, 1.0
    known = ranges.known_range(rows.formats, score_name(rows), scores.max())
    inside = known is not None and scores.min() >= known[0] and scores.max() <= known[1]
    return known if inside else None


def within_scores(estimate, known_range):
    """The estimate, cut to the range of the score if it is known."""
    return estimate if known_range is None else estimate.within(*known_range)


def note_if_beyond(estimate, items, known_range):
    """Note intervals that go beyond all scores if the range of the score is unknown."""
    low, high = items["score"].min(), items["score"].max()
    beyond = (estimate.low < low) | (estimate.high > high)
    if known_range is None and beyond.any():
        note(
            f"{int(beyond.sum())} of {len(estimate)} intervals exceed the observed scores ({low:g} "
            f"to {high:g}). Pass --bounds LOW HIGH to clip them to the possible scores"
        )


def score_name(rows):
    """The name of the score in the file."""
    column = rows.columns["score"]
    return column if isinstance(column, str) else "score"


def recommended(seed, by=("model", "topic")):
    """The default estimator of the commands; `by` defines the groups."""
    from skbench.groups import MixedModel

    topic = "topic" if set(by) - {"model"} == {"topic"} else None
    return MixedModel(model="model" if "model" in by else None, topic=topic, random_state=seed)


def find_features(rows, by, asked, population=None):
    """The features: a table, names of columns, or None; columns not in use are noted."""
    if asked is not None and Path(asked).suffix in (*TABLES, *COMPRESSIONS, ".json"):
        features = read_features(asked, rows.columns)
        note(f"features: {', '.join(features.columns.difference(by, sort=False))}", SUMMARY)
        return features
    names = _names_in(asked)
    free = other_columns(rows.items)
    costs = [] if rows.formats == ["table"] else columns_of("cost", free)  # as logs have them
    unused = [name for name in free if name not in (*by, *names, *costs, population)]
    if unused:
        note(f"not used: {', '.join(unused)} (--features)", ROUTINE)
    check_exist(names, free, "features=")
    return names or None


def _names_in(text):
    return [] if text is None else [name.strip() for name in text.split(",")]


def check_cost(cost, items):
    """Refuse a name that is not a column; without a name, offer columns of costs."""
    free = items[other_columns(items)]
    if cost and len(free.columns):
        return check_exist([cost], free, "cost=")
    others = free.drop(columns=["repeat", "confidence"], errors="ignore")
    found = cost_columns(free) or list(others.select_dtypes("number"))
    where = f"Costs may be in {listed(found)}." if found else "No column holds costs."
    raise Undecided(f"{where} Pass cost=COLUMN.", [{"cost": name} for name in found[:3]])


def other_columns(items):
    """Columns of the items that have no role."""
    roles = _ROLES if "item" in items else (*_ROLES, "n", "k", "standard_error")  # of groups
    return [name for name in items if name not in roles]
