"""What a report says, as numbers: everything that text, page and JSON show."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from skbench.comparison import Leaderboard, ModelComparison
from skbench.comparison.leaderboards import leaderboard_of
from skbench.containers import Estimate, GroupSummary
from skbench.groups import DirectEstimator
from skbench.items.tables import score_table
from skbench.report import past as pasts
from skbench.report import tables
from skbench.report.reading import check_spread, cluster_weight, with_names, within_scores
from skbench.report.terminal import one_line
from skbench.report.understanding import units_in_doubt
from skbench.summaries import summarize_items

FEW_ITEMS = 5  # below which a topic's own mean says next to nothing
FEWEST_GROUPS = 4  # to borrow strength from; fewer keep their direct estimates
FEW_CLUSTERS = 10  # below which intervals rest on a handful of differences
_PAIR_COLUMNS = [
    "model_a",
    "model_b",
    "verdict",
    "difference",
    "low",
    "high",
    "standard_error",
    "p_value",
    "correlation",
    "n_items",
    "more_items",
]


@dataclass(frozen=True)
class Findings:
    """Estimates per group, ranking and pairs of models, and what to beware of.

    Attributes
    ----------
    groups : DataFrame
        One row per model and topic, see `tables.group_table`.
    direct, estimate : Estimate
        Of the groups, in the order of `summary`.
    summary : GroupSummary
    board : Leaderboard
        The models, best first.
    comparison : ModelComparison or None
        All pairs of models at once, neighbours from the top first; None for one model.
    warnings : tuple of str
        In sentences.
    size : dict
        Numbers of models, topics and items (0 without a column of them), and scores.
    worth : Worth or None, default=None
        What earlier models were worth, where there are some.
    features : tuple of str, default=()
        What groups were predicted from besides their labels.
    doubts : tuple of str, default=()
        Whether all is what it was taken for: units, columns, names.
    """

    groups: pd.DataFrame
    direct: Estimate
    estimate: Estimate
    summary: GroupSummary
    board: Leaderboard
    comparison: ModelComparison | None
    warnings: tuple
    size: dict
    worth: pasts.Worth | None = None
    features: tuple = ()
    doubts: tuple = ()

    def models(self):
        """One row per model, best first: score, interval, ranks, ties."""
        return tables.with_text_labels(self.board.to_frame().rename_axis("model"))

    def pairs(self):
        """One row per pair of models, with a verdict and the items that would decide.

        `verdict` is "better" (the first of the two is), "worse" or "tied" as the interval,
        which holds for all pairs together, leaves out 0 or not, "unknown" without one;
        `more_items` is how many items, beyond those there are, would show a true difference
        of the size observed with power .8.
        """
        if self.comparison is None:
            return pd.DataFrame(columns=_PAIR_COLUMNS)
        table = tables.with_text_labels(self.comparison.to_frame())
        verdict = self.comparison.verdict
        needed = np.ceil(table["items_needed"] - 1e-9)
        more = np.maximum(needed - self.comparison.n_behind, 0)
        clear = np.isin(verdict, ("better", "worse"))
        return table.assign(verdict=verdict, more_items=np.where(clear, 0.0, more))[_PAIR_COLUMNS]


def find(
    items,
    *,
    by,
    cluster,
    estimator,
    known_range,
    confidence_level,
    missing="drop",
    unrelated=False,
    past=None,
    equal_topics=False,
    features=None,
    doubts=(),
):
    """Compute what a report says.

    Parameters
    ----------
    items : DataFrame
        Columns model, item and score, and those of `by`.
    by : list of str
        What defines a group: "model", and the columns of the topic.
    cluster : str or None
        Column of clusters of dependent items.
    estimator : estimator
        Of the groups; fitted here where there are at least `FEWEST_GROUPS`.
    known_range : tuple of two floats or None
        Least and greatest possible score, where it is known: estimates of scores are cut.
    confidence_level : float
        Of every interval, of all rank sets together and of all pairs together.
    missing : {"drop", "wrong", "refuse"}, default="drop"
        What an item is that a model did not answer, for the ranking and the pairs.
    unrelated : bool, default=False
        Whether models have items of their own.
    past : Past, default=None
        Earlier models, whose items the estimates and the ranking are then about.
    equal_topics : bool, default=False
        Whether topics count equally in the ranking, as in `skbench leaderboard --by`.
    features : DataFrame or list of str, default=None
        What to predict groups from besides their labels.
    doubts : sequence of str, default=()
        What reading the rows left in doubt.

    Returns
    -------
    Findings
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        summary = summarize_items(
            items, by=by, cluster=cluster, cluster_weight=cluster_weight(cluster), features=features
        )
        check_spread(summary)
        summary = with_names(summary, by)
        direct = DirectEstimator().fit(**summary.fit_args).estimate(confidence_level)
        topics = [name for name in by if name != "model"]
        columns = {"by": topics if equal_topics else None, "cluster": cluster}
        estimate = direct
        if past is not None:
            estimate = past.estimate(summary.labels, by, confidence_level)
            table = past.score_table(*past.comparable(columns))
        else:
            if len(summary) >= FEWEST_GROUPS:
                estimate = estimator.fit(**summary.fit_args).estimate(confidence_level)
            table = score_table(
                items, model="model", item="item", score="score", cluster=cluster,
                by=columns["by"] or [],
            )  # fmt: skip
        direct, estimate = (within_scores(e, known_range) for e in (direct, estimate))
        board = leaderboard_of(table, confidence_level, missing=missing, unrelated=unrelated)
        if past is not None:
            board = past.with_method(board)
        board = replace(board, estimate=within_scores(board.estimate, known_range))
        if unrelated:  # none is known to be shared
            method = board.estimate.method.replace(", least squares on shared items", "")
            board = replace(board, estimate=replace(board.estimate, method=method))
    told = [one_line(warning.message) for warning in caught]
    units = units_in_doubt(items)
    beware = [units, *_beware(summary, table, unrelated, past), *told]
    return Findings(
        groups=tables.group_table(summary, direct, estimate, by),
        direct=direct,
        estimate=estimate,
        summary=summary,
        board=board,
        comparison=board.comparison,
        warnings=tuple(dict.fromkeys(filter(None, beware))),
        size={
            "models": len(board),
            "topics": len(items[topics].drop_duplicates()) if topics else 0,
            "items": 0 if unrelated and len(board) > 1 else items["item"].nunique(),
            "scores": len(items),
        },
        worth=None if past is None else pasts.worth(past, summary, estimate),
        features=() if features is None else tuple(summary.X.columns.difference(by, sort=False)),
        doubts=tuple(filter(None, (units, *doubts))),
    )


def _beware(summary, table, unrelated, past):
    """What the sizes of groups should make the reader careful about."""
    others = "other groups" if past is None else "earlier models"
    lean = f", and their estimates lean on the {others}"
    if len(summary) < FEWEST_GROUPS and past is None:
        lean = ""
        count = "is 1 group" if len(summary) == 1 else f"are {len(summary)} groups"
        yield (
            f"There {count}, too few to learn from one another: the estimates are the direct ones."
        )
    small = summary.n < FEW_ITEMS
    if small.any():
        yield (
            f"{small.sum()} of {len(summary)} groups have fewer than {FEW_ITEMS} items: their own "
            f"means say next to nothing{lean}."
        )
    few = summary.n_independent < FEW_CLUSTERS
    if summary.outcome == "clustered" and few.any():
        yield (
            f"{few.sum()} of {len(summary)} groups rest on fewer than {FEW_CLUSTERS} independent "
            "clusters: their intervals are wide, and rough."
        )
    if unrelated and len(table.models) > 1:
        yield (
            "Whether the models answered the same items is not known: they are compared as if on "
            "different ones, with the luck of the draw of items, which pairing would remove."
        )
