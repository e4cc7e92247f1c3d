"""Options and checks that the commands on several models share."""

import click
import numpy as np

from skbench._checks import check_within
from skbench.report.terminal import DataError, say


class Names(click.ParamType):
    """Column names separated by commas."""

    name = "columns"

    def convert(self, value, param, ctx):
        """Split at commas."""
        names = value if isinstance(value, list) else [name.strip() for name in value.split(",")]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            self.fail(f"{twice!r} is named twice.", param, ctx)
        return names


_READING = (
    click.option("--model", help="Model column."),
    click.option("--models", type=Names(), help="Score columns of a wide file, one per model."),
    click.option("--score", help="Score column; high is good."),
    click.option("--item", help="Column that names the item (question)."),
    click.option(
        "--cluster",
        help="Column of clusters: items in one are not independent. The item column itself "
        "if items were answered several times.",
    ),
    click.option("--filter", help="Filter whose answers to take (lm-evaluation-harness)."),
    click.option("--skip-bad-lines", is_flag=True, help="Count unreadable lines, go on without."),
)
_LEVEL = click.option(
    "--confidence-level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
)
_BOUNDS = click.option(
    "--bounds",
    type=float,
    nargs=2,
    metavar="LOW HIGH",
    help="Lowest and highest possible score: estimates and intervals are cut to that range.",
)
_MISSING = click.option(
    "--missing",
    type=click.Choice(["drop", "wrong", "refuse"]),
    default="drop",
    show_default=True,
    help="What an item is that a model did not answer: not asked, wrong, or an error.",
)
_PAST = (
    click.option(
        "--past",
        multiple=True,
        metavar="PATH",
        help="Results of earlier models on the benchmark's items: a file or folder in any format "
        "that is read; may be given several times.",
    ),
    click.option("--bank", metavar="FILE", help="In place of --past: what ItemBank.save wrote."),
)
_FORMATS = (
    click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    click.option("--csv", "as_csv", is_flag=True, help="Print CSV."),
)


def reading_options(command):
    """Add the options that say which column is what."""
    return _decorated(command, _READING)


def level_option(command):
    """Add --confidence-level."""
    return _LEVEL(command)


def bounds_option(command):
    """Add --bounds."""
    return _BOUNDS(command)


def missing_option(command):
    """Add --missing."""
    return _MISSING(command)


def past_options(command):
    """Add --past and --bank."""
    return _decorated(command, _PAST)


def format_options(command):
    """Add --json and --csv."""
    return _decorated(command, _FORMATS)


def check_formats(as_json, as_csv):
    """Refuse two formats at once."""
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other.")


def read_models(file, by, roles):
    """Item rows of several models, and how the formulas shall take them.

    Parameters
    ----------
    file : str
        A table, a log or a folder of logs.
    by : list of str or None
        Columns of the topics.
    roles : dict
        The values of `reading_options`.

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
    from skbench.readers import read_with_notes

    check_topics(by, roles["model"])
    rows = read_with_notes(file, topic=by, **roles)
    for note in rows.notes:
        say(note)
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
    from skbench.readers._names import find_roles

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
        raise DataError(
            "The scores of each group are all alike, so nothing tells how far others would "
            "spread, and no interval can be given. Give the scores of single items; `skbench "
            "leaderboard` ranks models by these."
        )


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
    if np.isin(scores, (0, 1)).all():
        return 0.0, 1.0
    from skbench.readers._ranges import known_range

    known = known_range(rows.formats, score_name(rows))
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


def _decorated(command, options):
    for option in reversed(options):
        command = option(command)
    return command
