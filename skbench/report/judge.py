"""`skbench judge`: what an autorater says, and what is true by a few human labels."""

import click

from skbench.report.formats import format_options, show_estimates
from skbench.report.loaded_later import card_of, judging, labeled_rows
from skbench.report.options import Names, bounds_option, level_option, seed_option
from skbench.report.paths import Input
from skbench.report.terminal import in_one_line, working


@click.command()
@click.argument("file", type=Input())
@click.option("--judge", required=True, help="Column of the autorater; several for --card.")
@click.option("--human", help="Column of human labels, blank where there is none.")
@click.option("--by", type=Names(), help="Column(s) of groups: correct each by itself.")
@click.option("--labels", type=Input(), help="A second file that has the human labels.")
@click.option("--id", "ids", type=Names(), help="Column(s) by which to join it.")
@click.option("--cluster", help="Column of clusters: answers in one are not independent.")
@click.option("--event", help="The verdict and label that counts, where there are others than yes.")
@click.option("--card", is_flag=True, help="How far judges agree with people; how many they are.")
@click.option("--first", help="For --card: column that says who of two was shown first.")
@click.option("--previous", help="Column of the verdicts of an earlier version of the judge.")
@click.option(
    "--repeats",
    type=Names(),
    help="Column(s) of repeated verdicts on the same answers, or the one that numbers them.",
)
@bounds_option
@level_option
@seed_option
@format_options
def judge(file, bounds, confidence_level, seed, form, card, first, **columns):
    """Correct the verdicts of an autorater in FILE by human labels of some rows.

    FILE is CSV, TSV, JSON Lines or Parquet, one row per answer: a column of verdicts
    (numbers, or words such as y, n and u) and, in the same file or another, human
    labels of a random part of them. With --by every group is corrected by itself; ten
    groups or more are drawn to what the autorater predicts for them, as far as they
    agree.

    With --card: kappa, alpha, TPR, TNR, bias and calibration of one or several judges
    (--judge a,b), how many independent ones they are worth, and their best vote.

    With --previous: which verdicts a new version of the judge changes, and whether for
    the better. With --repeats: how noisy its verdicts are. Neither needs --human.
    """
    again = {"--previous": columns["previous"], "--repeats": columns["repeats"]}
    again = [name for name, given in again.items() if given is not None]
    if columns["human"] is None and not again:
        raise click.UsageError("Missing option '--human'.")
    for name, given in (("--bounds", bounds), ("--by", columns["by"])):
        if given and (card or again):
            raise click.UsageError(f"{name} has no meaning with {['--card', *again][-1]}.")
    if not (card or again) and first is not None:
        raise click.UsageError("--first goes with --card.")
    if (columns["labels"] is None) != (columns["ids"] is None):
        raise click.UsageError("--labels and --id go together.")
    if columns["labels"] is not None and columns["human"] is None:
        raise click.UsageError("--labels needs --human, their column.")
    with in_one_line():
        if card or again:
            names = Names().convert(columns["judge"], None, None)
            if again and len(names) > 1:
                raise click.UsageError(f"{again[0]} goes with one --judge, got {', '.join(names)}.")
            columns["first"] = first
            return card_of.show_card(file, names, columns, confidence_level, seed, form)
        columns.pop("previous"), columns.pop("repeats")
        data = labeled_rows.read_judged(file, **columns)
        judging.warn_of_units(data, columns)
        bounds = judging.known_bounds(data, bounds)
        with working("estimating"):
            rows, estimate, table = judging.estimated(data, columns, bounds, confidence_level, seed)
        known = {"judge": columns["judge"], "human": columns["human"], "bounds": bounds}
        show_estimates(form, table, estimate, "groups", rows, **known)
