"""`skbench metrics`: classification metrics by group, the worst group and the gap."""

import click

from skbench.report.estimate import save_plot
from skbench.report.formats import format_options, show
from skbench.report.loaded_later import metrics_by_group
from skbench.report.options import Names, level_option, plot_option, seed_option
from skbench.report.paths import Input
from skbench.report.terminal import in_one_line, working

_METRICS = click.Choice("accuracy tpr fpr precision f1 auc".split())


@click.command()
@click.argument("file", type=Input())
@click.option("--truth", help="Column of true labels.")
@click.option("--prediction", help="Column of predicted labels, or of scores for auc.")
@click.option(
    "--by",
    type=Names(),
    multiple=True,
    help="Group column(s). a,b forms a group for each combination of values. The option can be "
    "repeated for separate comparisons.",
)
@click.option(
    "--metric",
    type=_METRICS,
    multiple=True,
    default=["accuracy"],
    help="Metric. The option can be repeated.  [accuracy]",
)
@click.option("--positive", metavar="LABEL", help="Positive label.  [1, yes, true]")
@level_option
@seed_option
@plot_option
@format_options
def metrics(file, truth, prediction, by, metric, positive, confidence_level, seed, plot, form):
    """Compare a classification metric between groups, and estimate the worst group and the gap.

    FILE is a CSV, TSV, JSON Lines or Parquet table with one row per prediction. It has a column
    of true labels (such as y_true), one of predictions (such as y_pred), and group columns.
    Estimates of small groups borrow strength from the other groups.

    Example: skbench metrics predictions.csv --by sex,age --metric tpr
    """
    if plot is not None and (len(set(metric)) > 1 or len(by) > 1):
        raise click.UsageError("--plot requires one --metric and one --by.")
    with in_one_line():
        with working("estimating"):
            columns, settings = (truth, prediction, by), (positive, confidence_level, seed)
            found = metrics_by_group.compared(file, metric, columns, *settings)
        if plot is not None:
            save_plot(plot, found[0].summary, found[0].direct, found[0].estimate, metric[0])
        rows = metrics_by_group.rows_of(found)
        show(form, metrics_by_group.table_of(found, rows["groups"]), rows, rows["groups"])
