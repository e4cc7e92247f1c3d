"""What the commands read, and check, alike."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from skbench._checks import check_within, listed
from skbench.report.terminal import DataError, command_with, say

_TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".pq", ".gz", ".bz2", ".xz", ".zst")
_ROLES = ("model", "topic", "item", "score", "cluster")
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
    """Rows as every command reads them; `whole_sets`: bootstrap scores of test sets too."""
    from skbench.readers import read_with_notes
    from skbench.report.understanding import understood

    roles = dict(roles)
    new_names = roles.pop("rename", ())
    rows = renamed(read_with_notes(paths, topic=by, **roles), new_names)
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
    return _with_repeats_averaged(rows) if found.n_repeats > 1 and found.n_clusters else rows


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
    """The rows with the user's names of models, each as in ``--rename OLD=NEW``."""
    if not new_names:
        return rows
    pairs = [text.split("=", 1) for text in new_names]
    for text, pair in zip(new_names, pairs, strict=True):
        if len(pair) < 2 or not all(part.strip() for part in pair):
            raise DataError(f"--rename {text!r}: write OLD=NEW, two names of a model.")
    need_columns(rows.items, "model")
    names = {str(name) for name in rows.items["model"].unique()}
    new = dict(pairs)
    for old in new.keys() - names:
        shown = listed(sorted(names), most=6)
        raise DataError(f"--rename: there is no model {old!r}. There are: {shown}.")
    if len({new.get(name, name) for name in names}) < len(names):
        raise DataError("--rename would give several models one name.")
    return with_models(rows, lambda models: models.map(lambda name: new.get(str(name), name)))


def with_models(rows, change):
    """The rows with other names of models: those of `change`, or this one."""
    parts = {name: getattr(rows, name) for name in ("items", "groups", "blank")}
    new = {
        name: frame.assign(model=change(frame["model"]) if callable(change) else change)
        for name, frame in parts.items()
        if frame is not None
    }
    return rows._replace(**new)


def with_missing(rows, missing):
    """Answers that are not there dropped, refused, or scored 0 ("wrong"), in logs and tables."""
    if missing == "drop" or rows.groups is not None:
        return rows
    absent = _absent(rows)
    if absent.empty:
        return rows
    if missing == "refuse":
        worst = ""
        if "model" in absent:
            counts = absent["model"].value_counts()
            worst = f": {counts.index[0]!r} lacks {counts.iloc[0]}"
        raise DataError(
            f"models did not answer all items{worst}. Leave out these items or models, or pass "
            "--missing drop or wrong."
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


def read_models(file, by, roles, missing="drop", one_model=False, whole_sets=False, option="--by"):
    """Item rows of several models, and the topics and clusters by which to take them.

    `one_model`: a file without a column of models is one, named for it. `option` names the topics.
    """
    from skbench.readers.group_results import unfolded

    check_topics(by, roles["model"], option)
    rows = read_rows(file, by, roles, missing, whole_sets)
    if "euroeval" in rows.formats:
        return rows, {}
    if rows.groups is not None:
        unfolded(rows)  # refuses means, and too many answers, in words of its own
        raise DataError(
            "the file holds counts of groups, and not which items were right: models are compared "
            "item by item. `skbench estimate` and `skbench report` take it."
        )
    if one_model:
        rows = named_after(rows, file)
    need_columns(rows.items, "model", "item")
    return rows, {"by": topic_names(by), "cluster": cluster_name(rows)}


def models_table(items, columns, known_range=None, population=None):
    """What the formulas on several models take: their scores by item, topics and clusters."""
    from skbench.items.tables import score_table

    table = score_table(
        items, model="model", item="item", score="score", cluster=columns["cluster"],
        by=columns["by"] or [], bounds=known_range,
    )  # fmt: skip
    return table.with_population(population)


def population_of(asked, items, past=False):
    """What --population says: a number, one for each topic as a dict, or None."""
    if not asked:
        return None
    if past:
        raise DataError(
            "--population has no meaning with --past or --bank: the items are those that earlier "
            "models answered."
        )
    topics = [topic for topic, _ in asked]
    if topics == [None]:
        return asked[0][1]
    if None in topics or len(set(topics)) < len(topics):
        raise DataError("--population takes one number, or TOPIC=N once for each topic.")
    if "topic" not in items:
        raise DataError("--population names topics, and no column has them: pass --by COLUMN.")
    return {as_in(items["topic"], topic): n for topic, n in asked}


def need_columns(items, *names, told="no column"):
    """Refuse rows without a column of this role."""
    for name in names:
        if name not in items:
            # What is a model or topic only the user knows; most columns of names may be items.
            free = other_columns(items) if name == "item" else []
            free = [column for column in free if items[column].dtype.kind not in "fbc"]
            commands = [command_with(item=column) for column in free[:3]]
            raise DataError(
                f"{told} has a usual name for the {name}. Pass --{name} COLUMN.", commands
            )


def topic_names(by):
    """Columns of the topic in rows that were read: one is called so, several keep their names."""
    return by if by is None or len(by) > 1 else ["topic"]


def named_after(rows, file):
    """The rows; where no column names models, they are one, named for the file."""
    return rows if "model" in rows.items else with_models(rows, Path(file).stem)


def as_in(models, name):
    """The name as the column has it: models may be numbers there."""
    return next((model for model in models.unique() if str(model) == name), name)


def check_topics(by, model, option="--by"):
    """Refuse models as topics: a topic is what several models are compared on."""
    from skbench.items.roles import find_roles

    usual = find_roles(by or [], {}, guess=("model",))[0].get("model", [])
    for name in by or []:
        if name in ([model] if model else usual):
            raise DataError(
                f"{option} {name} names the models, which are compared with each other anyway. "
                f"Name the columns of the topics, or leave {option} out; if the models are in "
                "another column, pass --model COLUMN."
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
    """Refuse groups of which nothing tells how noisy they are."""
    if np.isnan(summary.sigma2).any():
        raise DataError(ONE_SCORE if (summary.n == 1).all() else _ALL_ALIKE)


def score_range(rows, bounds=None):
    """Least and greatest score there can be: the bounds, or as the scores' kind or name defines it.

    None where that is not known: it is never read off the scores otherwise.
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


def recommended(seed, by=("model", "topic")):
    """The estimator that commands take where none is named; `by` defines the groups."""
    from skbench.groups import MixedModel

    topics = [name for name in by if name != "model"]
    return MixedModel(
        model="model" if "model" in by else None,
        topic="topic" if topics == ["topic"] else None,
        random_state=seed,
    )


def find_features(rows, by, asked, population=None):
    """What --features names, a table or columns of the items, or None; says what is not used."""
    if asked is not None and Path(asked).suffix in _TABLE_SUFFIXES:
        from skbench.readers import read_features

        features = read_features(asked, rows.columns)
        say(f"features: {', '.join(features.columns.difference(by, sort=False))}")
        return features
    names = [] if asked is None else [name.strip() for name in asked.split(",")]
    free = other_columns(rows.items)
    unused = [name for name in free if name not in (*by, *names, population)]
    if unused:
        say(f"not used: {', '.join(unused)} (--features)")
    for name in names:
        if name not in free:
            raise DataError(
                f"--features names column {name!r}, but there are only: "
                f"{', '.join(free) or 'none'}."
            )
    return names or None


def other_columns(items):
    """Columns of the items that have no role."""
    roles = _ROLES if "item" in items else (*_ROLES, "n", "k", "standard_error")  # of groups
    return [name for name in items if name not in roles]
