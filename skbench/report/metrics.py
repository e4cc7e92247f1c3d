"""`skbench metrics`: a metric of labels and predictions in every group, the worst, the gap."""

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
    "--by", type=Names(), multiple=True, help="Column(s) of groups, crossed. Repeat to separate."
)
@click.option(
    "--metric", type=_METRICS, multiple=True, default=["accuracy"], help="One or more.  [accuracy]"
)
@click.option("--positive", metavar="LABEL", help="The positive label.  [1, yes, true]")
@level_option
@seed_option
@plot_option
@format_options
def metrics(file, truth, prediction, by, metric, positive, confidence_level, seed, plot, form):
    """Compare a metric between groups: the worst group, and the gap to the best.

    FILE is CSV, TSV, JSON Lines or Parquet with one row per prediction: a column of true labels
    (y_true, label, target, ...), one of predictions (y_pred, prediction, ...; for auc y_prob,
    y_score, ...), and columns of groups. --by sex,age compares women above 45 and others;
    --by sex --by age compares the sexes, and the ages. Estimates borrow from the other groups.
    """
    if plot is not None and (len(set(metric)) > 1 or len(by) > 1):
        raise click.UsageError("--plot takes one --metric and one --by.")
    with in_one_line():
        with working("estimating"):
            columns, settings = (truth, prediction, by), (positive, confidence_level, seed)
            found = metrics_by_group.compared(file, metric, columns, *settings)
        if plot is not None:
            save_plot(plot, found[0].summary, found[0].direct, found[0].estimate, metric[0])
        rows = metrics_by_group.rows_of(found)
        show(form, metrics_by_group.table_of(found, rows["groups"]), rows, rows["groups"])
