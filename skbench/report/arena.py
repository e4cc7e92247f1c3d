"""`skbench arena`: models rated and ranked by votes between two of them."""

import math

import click

from skbench._numbers import number, score_form
from skbench.report.formats import format_options, show_estimates
from skbench.report.leaderboard import board_table, ranking_picture
from skbench.report.loaded_later import headline, tables, understanding
from skbench.report.options import Names, choice_option, level_option, plot_option
from skbench.report.terminal import in_one_line, save_picture, say, working

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

        rows, names, outcome = _votes(file, cluster, options)
        with working("ranking"):
            model = BradleyTerry(*names, **settings)
            model.fit(rows, outcome, cluster=None if cluster is None else rows[cluster])
            board = model.leaderboard(scale, confidence_level)
        frame = tables.model_rows(board)
        best = [str(name) for name in board.rank_sets.best()]
        pair, needed = _top_pair(model, board)
        known = {
            "scale": scale,
            "n_votes": len(rows),
            "may_be_best": best,
            "remarks": board.remarks,
        }
        known |= {"top_pair": pair, "votes_needed": needed}
        known["covariates"] = model.coef_.reset_index()
        table = board_table(board, frame, understanding.counted(len(rows), "vote"))
        digits = score_form(frame["value"])
        ratings = zip(frame["model"], frame["value"], board.rank_sets.estimate, strict=True)
        scores = {
            name: "an infinite rating" if math.isinf(rating) else number(value, digits)
            for name, value, rating in ratings
        }
        conclusion = headline.best_in_words(best, scores)
        notes = [*_decided(pair, needed), *table.notes[1:], *_covariates(model.coef_)]
        table = table._replace(head=[conclusion, *table.head], notes=notes)
        if plot is not None:
            save_picture(ranking_picture(board, f"rating ({scale})"), plot)
        show_estimates(form, table, board.estimate, "models", frame, **known)


def _votes(file, cluster, options):
    """Rows with an outcome, the columns of models and winner, and the outcomes."""
    import numpy as np

    from skbench.items import roles, votes
    from skbench.readers.loading import load_table

    usual = {name for pair in roles.VOTE_MODELS for name in pair}
    named = {options["model_a"], options["model_b"], cluster}
    table, notes = load_table(
        file, lambda columns: [c for c in columns if c in named or roles.normal(c) in usual]
    )
    if cluster is not None:
        roles.check_exist([cluster], table.columns, "cluster=")
    model_a, model_b, winner = votes.vote_columns(table, **options)
    names = model_a, model_b
    outcome = votes.outcomes_of(table, *names, winner)
    itself = (table[model_a] == table[model_b]).fillna(False).to_numpy(dtype=bool)
    used = np.isfinite(outcome) & ~itself
    judges = [c for c in roles.judge_columns(table)[1] if votes.tells_winner(table, c, *names)]
    judges = [c for c in (*roles.columns_of("prediction", table), *judges) if c not in winner]
    notes += [f"models: columns {model_a!r} and {model_b!r}", f"winner: {headline.listed(winner)}"]
    notes += [f"{name!r} is an LLM judge's: not used" for name in judges]
    if not used.all():
        notes.append(f"{np.sum(~used)} votes without a winner, or with one model twice: left out")
    for note in notes:
        say(note)
    return table[used].reset_index(drop=True), names, outcome[used]


def _top_pair(model, board):
    """The two highest ratings, and how many further votes decide between them."""
    first, second = board.estimate.labels[:2]
    needed = model.votes_needed(board.estimate.confidence_level).loc[first, second]
    return [str(first), str(second)], float(needed)


def _decided(pair, needed):
    """The same in a sentence."""
    if needed > _OUT_OF_REACH:
        yield f"No number of votes within reach decides between {' and '.join(pair)}."
    elif needed > 0:
        yield (
            f"About {needed:,.0f} more votes between {' and '.join(pair)} decide which is better, "
            "if the true difference is the estimated one."
        )


def _covariates(coefficients):
    """How covariates sway votes, in a sentence each."""
    for row in coefficients.itertuples():
        error = number(row.standard_error, ".2g")
        yield f"{row.Index}: {number(row.value, '.3g')} in logits, standard error {error}."
