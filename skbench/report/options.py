"""Options that several commands share."""

import click


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
    click.option(
        "--rename",
        multiple=True,
        metavar="OLD=NEW",
        help="Another name for a model; may be given several times.",
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
features_option = click.option(
    "--features", help="Columns to predict from (a,b,c), or a file with such columns."
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


def _decorated(command, options):
    for option in reversed(options):
        command = option(command)
    return command
