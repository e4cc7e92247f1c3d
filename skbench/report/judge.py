"""`skbench judge`: LLM judges evaluated and corrected with human labels."""

import click

from skbench.report.formats import format_options, show_estimates
from skbench.report.loaded_later import card_of, judging, labeled_rows
from skbench.report.options import Names, bounds_option, level_option, seed_option
from skbench.report.paths import Input
from skbench.report.terminal import command_with, in_one_line, working


@click.command()
@click.argument("file", type=Input())
@click.option("--judge", required=True, help="Column of the LLM judge's verdicts or scores.")
@click.option("--human", help="Column of human labels (empty where there is no label).")
@click.option("--by", type=Names(), help="Group column(s). Corrects the mean of each group.")
@click.option("--labels", type=Input(), help="A second file with the human labels.")
@click.option("--id", "ids", type=Names(), help="Column(s) that join FILE and --labels.")
@click.option("--cluster", help="Column of clusters, such as prompts with several answers.")
@click.option("--event", help="Verdict that counts as 1. All others count as 0.")
@click.option("--card", is_flag=True, help="Print how well judges agree with human labels.")
@click.option("--first", help="With --card: column of the answer that was shown first.")
@click.option("--previous", help="Column with verdicts of an earlier version of the judge.")
@click.option(
    "--repeats",
    type=Names(),
    help="Columns of repeated verdicts, or the column with the number of each repeat.",
)
@bounds_option
@level_option
@seed_option
@format_options
def judge(file, bounds, confidence_level, seed, form, card, first, **columns):
    """Correct the mean score of an LLM judge with human labels of some answers.

    FILE is a CSV, TSV, JSON Lines or Parquet table with one row per answer. The answers with a
    human label must be a random sample of all answers. --card prints the agreement of one or
    more judges (--judge a,b) with human labels. --previous compares two versions of a judge.
    --repeats estimates how often its verdicts change if the same answer is judged again.

    Example: skbench judge judged.csv --judge gpt4_verdict --human label
    """
    again = {"--previous": columns["previous"], "--repeats": columns["repeats"]}
    again = [name for name, given in again.items() if given is not None]
    if columns["human"] is None and not again:
        raise click.UsageError("Missing option '--human'.")
    for name, given in (("--bounds", bounds), ("--by", columns["by"])):
        if given and (card or again):
            raise click.UsageError(f"{name} cannot be used with {['--card', *again][-1]}.")
    if not (card or again) and first is not None:
        raise click.UsageError("--first requires --card.")
    if (columns["labels"] is None) != (columns["ids"] is None):
        raise click.UsageError("--labels and --id must be used together.")
    if columns["labels"] is not None and columns["human"] is None:
        raise click.UsageError("--labels requires --human, the column of labels in that file.")
    with in_one_line():
        if card or again:
            names = Names().convert(columns["judge"], None, None)
            if again and len(names) > 1:
                raise click.UsageError(f"{again[0]} requires one --judge, got {', '.join(names)}.")
            columns["first"] = first
            return card_of.show_card(file, names, columns, confidence_level, seed, form)
        columns.pop("previous"), columns.pop("repeats")
        data = labeled_rows.read_judged(file, **columns)
        judging.warn_of_units(data, columns)
        bounds = judging.known_bounds(data, bounds)
        with working("estimating"):
            rows, estimate, table = judging.estimated(data, columns, bounds, confidence_level, seed)
        if columns["by"] is None and click.get_current_context().params["bounds"] is None:
            table = table._replace(next_commands=[command_with(card=True)])
        known = {"judge": columns["judge"], "human": columns["human"], "bounds": bounds}
        show_estimates(form, table, estimate, "groups", rows, **known)
