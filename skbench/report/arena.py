"""`skbench arena`: models rated and ranked by votes between two of them."""

import click
import numpy as np

from skbench.report import tables
from skbench.report.formats import format_options, show_estimates
from skbench.report.headline import listed
from skbench.report.leaderboard import ranking_picture
from skbench.report.options import Names, choice_option, level_option, plot_option
from skbench.report.table import Column, Table, number
from skbench.report.terminal import in_one_line, save_picture, say, working
from skbench.report.understanding import counted

_FORMS = {"elo": "z.0f", "logit": "z.2f"}
_NAMED = 4  # models that the first sentence names
_OUT_OF_REACH = 1e7  # votes that nobody will collect


@click.command()
@click.argument("file")
@click.option("--model-a", help="Column of the first model of a vote.  [model_a]")
@click.option("--model-b", help="Column of the second.  [model_b]")
@click.option("--winner", help="Column of the winner.  [winner]")
@click.option("--cluster", help="Column of prompts or judges: votes of one are not independent.")
@click.option(
    "--covariates", type=Names(), help="Columns of numbers that may sway votes, first less second."
)
@click.option("--position", is_flag=True, help="The first model was shown first: correct for it.")
@choice_option(
    "--ties", "A tie is half a win of both, or has a chance of its own.", "half", "davidson"
)
@choice_option(
    "--scale", "400 points for odds of 10, mean 1000; or log odds, mean 0.", "elo", "logit"
)
@level_option
@plot_option
@format_options
def arena(file, cluster, scale, confidence_level, plot, form, **options):
    """Rate the models in FILE by votes between two of them (Bradley-Terry).

    FILE is CSV, TSV, JSON Lines or Parquet, one row per vote: the two models, and the
    winner as a name, as model_a, model_b or tie, as 1, 0.5 and 0, or in the columns
    winner_model_a, winner_model_b and winner_tie.

    Every model gets a rating with its interval and a set of ranks it may have. Ranks
    and letters follow from the comparisons of all pairs at once.
    """
    settings = {name: options.pop(name) for name in ("covariates", "position", "ties")}
    with in_one_line():
        from skbench.comparison import BradleyTerry

        rows, columns, outcome = _votes(file, cluster, options)
        with working("ranking"):
            model = BradleyTerry(columns.model_a, columns.model_b, **settings)
            model.fit(rows, outcome, cluster=None if cluster is None else rows[cluster])
            board = model.leaderboard(scale, confidence_level)
        frame = tables.model_rows(board)
        pair, needed = _top_pair(board)
        known = {
            "scale": scale,
            "n_votes": len(rows),
            "may_be_best": [str(name) for name in board.rank_sets.best()],
            "top_pair": pair,
            "votes_needed": needed,
            "covariates": tables.labeled_rows(model.coef_.rename_axis("covariate")),
            "remarks": board.remarks,
        }
        table = _table(board, model, frame, len(rows), _FORMS[scale])
        show_estimates(form, table, board.estimate, "models", frame, **known)
        if plot is not None:
            save_picture(ranking_picture(board, f"rating ({scale})"), plot)


def _votes(file, cluster, options):
    """Rows with an outcome, the columns of models and winner, and the outcomes."""
    from skbench.items import roles, votes
    from skbench.readers.loading import load_table

    named = [options["model_a"], options["model_b"], cluster]
    usual = {name for pair in roles.VOTE_MODELS for name in pair.split()}
    table, notes = load_table(
        file, lambda columns: [c for c in columns if c in named or roles.normal(c) in usual]
    )
    if cluster is not None:
        roles.check_exist([cluster], table.columns, "cluster=")
    columns = votes.vote_columns(table, **options)
    outcome = votes.outcomes_of(table, columns)
    names = table[[columns.model_a, columns.model_b]]
    used = np.isfinite(outcome) & (names.iloc[:, 0] != names.iloc[:, 1]).to_numpy()
    notes.append(f"models: columns {listed(map(repr, columns[:2]))}")
    notes.append(f"who won: {listed(map(repr, columns.winner))}; 1 means that the first model won")
    notes += [
        f"column {name!r} is a judge's: not used, the ratings are those of the votes"
        for name in [*roles.columns_of("prediction", table), *roles.judge_columns(table)[1]]
        if name not in columns.winner
    ]
    if not used.all():
        notes.append(
            f"{np.sum(~used)} of {len(used)} votes have no winner, or one model twice: left out"
        )
    for note in notes:
        say(note)
    return table[used].reset_index(drop=True), columns, outcome[used]


def _top_pair(board):
    """The two highest ratings, and how many further votes decide between them."""
    best = board.estimate.labels[np.isfinite(board.estimate.value)][:2]
    return [str(name) for name in best], float(board.votes_needed.loc[best[0], best[1]])


def _table(board, model, frame, n_votes, form):
    """The table for people; narrow terminals lack errors, counts and letters."""
    place = frame["value"].where(frame["value"].notna(), board.standing.to_numpy())
    infinite = {np.inf: "infinite", -np.inf: "minus infinite"}

    def rating(value):
        return infinite.get(value) or number(value, form)

    shown = [
        Column("model", frame["model"]),
        Column("set", [tables.rank_range(row) for row in frame.itertuples()], align="right"),
        Column("rating", place, rating),
        Column("low", frame["low"], form),
        Column("high", frame["high"], form),
        Column("std.\nerror", frame["standard_error"], form, narrow=False),
        Column("votes", frame["n"], "d", narrow=False),
        Column("ties", ["".join(names) for names in frame["ties"]], narrow=False),
    ]
    e = board.estimate
    head = [
        _conclusion(board, form),
        f"{counted(n_votes, 'vote')} on {counted(len(board), 'model')}: {e.method}",
        f"ranks: {100 * e.confidence_level:g}%, for all models at once",
    ]
    notes = [*_decided(board), "Models that share a letter cannot be told apart by these votes."]
    for row in model.coef_.itertuples():
        notes.append(
            f"{row.Index}: {row.value:.3g} in logits (standard error {row.standard_error:.2g})."
        )
    return Table(shown, head, tables.method_and_promise(e), [*notes, *board.remarks])


def _conclusion(board, form):
    """Who may be the best, in a sentence."""
    ratings = dict(zip(board.estimate.labels, board.estimate.value, strict=True))
    best, of_all = list(board.rank_sets.best()), counted(len(board), "model")
    told = [f"{name} ({number(ratings[name], form)})" for name in best]
    if len(best) == 1:
        return f"{told[0]} is the best of {of_all}."
    others = "no model is" if len(best) == len(board) else "the others are clearly"
    who = listed(told) if len(best) <= _NAMED else f"{len(best)} models, such as {told[0]},"
    return f"{who} may be the best of {of_all}; {others} beaten."


def _decided(board):
    """How many further votes decide which of the two highest ratings is higher, in a sentence."""
    (first, second), needed = _top_pair(board)
    if needed == 0:
        return []
    if not needed < _OUT_OF_REACH:
        return [f"No number of votes within reach decides between {first} and {second}."]
    return [
        f"About {needed:,.0f} more votes between {first} and {second} decide which is better, if "
        "the true difference is the estimated one."
    ]
