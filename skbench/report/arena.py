"""`skbench arena`: models rated and ranked by votes between two of them."""

import math

import click

from skbench._notes import LOST, Note
from skbench._numbers import number, score_form
from skbench.report.formats import format_options, show_estimates
from skbench.report.leaderboard import board_table, ranking_picture
from skbench.report.loaded_later import headline, tables, understanding
from skbench.report.options import Names, choice_option, level_option, plot_option
from skbench.report.paths import Input
from skbench.report.terminal import in_one_line, note, save_picture, working


@click.command()
@click.argument("file", type=Input())
@click.option("--model-a", help="Column of the first model of a vote.  [model_a]")
@click.option("--model-b", help="Column of the second.  [model_b]")
@click.option("--winner", help="Column of the winner.  [winner]")
@click.option(
    "--judge", help="Column of a judge's verdicts on all votes, of which people cast some."
)
@click.option("--cluster", help="Column of prompts or judges: votes of one are not independent.")
@click.option("--covariates", type=Names(), help="Columns of numbers, a less b, that sway votes.")
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
    winner as a name, as model_a, model_b or tie, as 1, 0.5 and 0 of the first model, or
    in the columns winner_model_a, winner_model_b and winner_tie.

    Every model gets a rating with its interval and a set of ranks it may have. Ranks
    and letters follow from the comparisons of all pairs at once. With --judge, the winner
    may be blank where people did not vote: a judge that agrees with them narrows intervals.
    """
    named = {role: options.pop(role) for role in ("model_a", "model_b", "winner")}
    judge = options["judge"]
    with in_one_line():
        from skbench.comparison import BradleyTerry
        from skbench.items import roles

        rows, models, winner, n_votes = _votes(file, judge, cluster=cluster, **named)
        roles.check_exist(options["covariates"] or [], rows.columns, "covariates=")
        with working("ranking"):
            model = BradleyTerry(*models, **options)
            model.fit(rows, rows[winner], cluster=None if cluster is None else rows[cluster])
            board = model.leaderboard(scale, confidence_level)
        if plot is not None:
            save_picture(ranking_picture(board, f"rating ({scale})"), plot)
        frame = tables.model_rows(board)
        known = {
            "scale": scale,
            "n_votes": n_votes,
            "may_be_best": [str(name) for name in board.rank_sets.best()],
            "remarks": board.remarks,
            "top_pair": frame["model"].tolist()[:2],
            "votes_needed": float(model.votes_needed(confidence_level).iloc[0, 1]),
            "covariates": model.coef_.reset_index(),
            "judge": judge,
            "n_verdicts": len(rows) if judge else 0,
            "judge_power": model.lambda_,
            "effective_votes": model.effective_sample_size_,
        }
        table = _table(board, frame, **known)
        show_estimates(form, table, board.estimate, "models", frame, **known)


def _votes(file, judge, **named):
    """Rows with an outcome or a verdict, columns of models and winner, and how many have one."""
    import numpy as np

    from skbench.items import roles, votes
    from skbench.readers.loading import load_table

    def labels(names):
        usual = [name for role in votes.ROLES for name in roles.columns_of(role, names)]
        return [*usual, *named.values(), judge]

    table, read = load_table(file, labels)
    table.index += 1  # rows are counted from 1, as in other tables
    table = votes.in_one_layout(table, **named)
    (*models, winner), found = votes.vote_columns(table, **named)
    outcome = votes.vote_outcomes(table[winner], *(table[name] for name in models))
    used, without = np.isfinite(outcome), "winner"
    if judge is not None:
        roles.check_exist([judge], table.columns, "judge=")
        used, without = ~votes.are_blank(table[judge]), f"verdict in {judge!r}"
    used = used & (table[models[0]] != table[models[1]]).to_numpy(dtype=bool)
    judged = [name for name in roles.columns_of("prediction", table) if name != winner]
    unused = [name for name in judged if judge is None]
    notes = [*read, *found, *(f"{name!r} is an LLM judge's: not used (--judge)" for name in unused)]
    if not used.all():
        lost = f"{np.sum(~used)} votes without a {without}, or with one model twice: skipped"
        notes.append(Note(lost, LOST))
    for text in notes:
        note(text)
    return table[used], models, winner, int(np.isfinite(outcome[used]).sum())


def _table(board, frame, n_votes, may_be_best, top_pair, votes_needed, covariates, **known):
    """The table for people: who is the best, and how many votes would decide it."""
    form = score_form(frame["value"])
    scores = {name: number(x, form) for name, x in frame.set_index("model")["value"].items()}
    table = board_table(board, frame, understanding.counted(n_votes, "vote"))
    notes = table.notes
    if known["judge"] is not None:
        notes = [_of_judge(n_votes, **known), *notes]
    if 0 < votes_needed < math.inf:
        more = f"About {votes_needed:,.0f} more votes between {' and '.join(top_pair)}"
        notes = [f"{more} decide it, if the true difference is the estimated one.", *notes]
    for row in covariates.itertuples():
        value, error = number(row.value, ".3g"), number(row.standard_error, ".2g")
        notes.append(f"{row.covariate}: {value} in logits, standard error {error}.")
    conclusion = [headline.best_in_words(may_be_best, scores)]
    return table._replace(conclusion=conclusion, notes=notes)


def _of_judge(n_votes, judge, n_verdicts, judge_power, effective_votes, **_):
    """What the judge adds, in a sentence."""
    people = f"People's {understanding.counted(n_votes, 'vote')}"
    if judge_power == 0:
        return f"{people} alone: the verdicts in {judge!r} would make no rating more precise."
    return (
        f"{people} and {n_verdicts:,} verdicts in {judge!r} are as precise as "
        f"{effective_votes:,.0f} votes of people."
    )
