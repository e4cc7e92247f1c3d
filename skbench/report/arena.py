"""`skbench arena`: ratings and ranks of models from pairwise votes."""

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
@click.option("--model-a", help="Column of the first model.  [model_a]")
@click.option("--model-b", help="Column of the second model.  [model_b]")
@click.option("--winner", help="Column of the winner.  [winner]")
@click.option("--judge", help="Column of an LLM judge's verdicts on all rows.")
@click.option("--cluster", help="Column of prompts or voters, if their votes are dependent.")
@click.option(
    "--covariates",
    type=Names(),
    help="Numeric columns to correct for. Each has the value of model a minus that of model b.",
)
@click.option(
    "--position",
    is_flag=True,
    help="Correct for the advantage of being shown first.",
)
@choice_option("--ties", "Count a tie as half a win for each, or model ties.", "half", "davidson")
@choice_option("--scale", "Elo points with mean 1000, or log odds with mean 0.", "elo", "logit")
@level_option
@plot_option
@format_options
def arena(file, cluster, scale, confidence_level, plot, form, **options):
    """Rate and rank the models in FILE from pairwise votes (Bradley-Terry).

    FILE is a CSV, TSV, JSON Lines or Parquet table with one row per vote. The winner is
    "model_a", "model_b", "tie" or the name of a model. It can also be 1, 0.5 or 0 for a win,
    tie or loss of the first model. With --judge, the winner may be missing if there is no human
    vote. The judge's verdicts then narrow the intervals if they agree with the human votes.

    Example: skbench arena votes.csv --cluster prompt
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
    """Return rows with an outcome or verdict, the model and winner columns, and the vote count."""
    import numpy as np

    from skbench.items import roles, votes
    from skbench.readers.loading import load_table

    def labels(names):
        usual = [name for role in votes.ROLES for name in roles.columns_of(role, names)]
        return [*usual, *named.values(), judge]

    table, read = load_table(file, labels)
    table.index += 1  # messages count rows from 1
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
    judges = (f"not used: LLM judge column {name!r} (--judge {name})" for name in unused)
    notes = [*read, *found, *judges]
    if not used.all():
        lost = f"skipped {np.sum(~used)} votes without a {without} or between a model and itself"
        notes.append(Note(lost, LOST))
    for text in notes:
        note(text)
    return table[used], models, winner, int(np.isfinite(outcome[used]).sum())


def _table(board, frame, n_votes, may_be_best, top_pair, votes_needed, covariates, **known):
    """Return the table to print: the possible best models, and the votes needed to decide."""
    form = score_form(frame["value"])
    scores = {name: number(x, form) for name, x in frame.set_index("model")["value"].items()}
    table = board_table(board, frame, understanding.counted(n_votes, "vote"))
    notes = table.notes
    if known["judge"] is not None:
        notes = [_of_judge(n_votes, **known), *notes]
    if 0 < votes_needed < math.inf:
        more = f"About {votes_needed:,.0f} more votes between {' and '.join(top_pair)}"
        notes = [
            f"{more} are needed to distinguish them, if the estimated difference is the true one.",
            *notes,
        ]
    for row in covariates.itertuples():
        value, error = number(row.value, ".3g"), number(row.standard_error, ".2g")
        notes.append(f"Coefficient of {row.covariate}: {value} logits (standard error {error}).")
    conclusion = [headline.best_in_words(may_be_best, scores)]
    return table._replace(conclusion=conclusion, notes=notes)


def _of_judge(n_votes, judge, n_verdicts, judge_power, effective_votes, **_):
    """Describe how much precision the judge adds."""
    people = understanding.counted(n_votes, "human vote")
    if judge_power == 0:
        return f"Ratings use only the {people}. The verdicts in {judge!r} add no precision."
    return (
        f"The {people} and {n_verdicts:,} verdicts in {judge!r} are as precise as "
        f"{effective_votes:,.0f} human votes."
    )
