"""The numbers of a report, which text, page and JSON show."""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import pandas as pd

from skbench.comparison import Leaderboard, ModelComparison, extremes
from skbench.comparison.costs import cost_table, costs_of
from skbench.comparison.leaderboards import leaderboard_by_posterior, leaderboard_of
from skbench.comparison.tradeoffs import Tradeoff, both_level, tradeoff_of
from skbench.containers import Draws, Estimate
from skbench.groups import DirectEstimator
from skbench.items.codes import CodedRows
from skbench.items.rows import as_frame
from skbench.report import past as pasts
from skbench.report import reading, tables
from skbench.report.terminal import one_line
from skbench.report.understanding import units_in_doubt
from skbench.summaries import summarize_items

FEW_ITEMS = 5  # below which a direct estimate is very imprecise
FEWEST_GROUPS = 4  # that borrow strength; fewer keep their direct estimates
N_DRAWS = 2000
FEW_CLUSTERS = 10  # below which intervals are rough
_PAIR_COLUMNS = (
    "model_a model_b verdict value low high standard_error p_value correlation n_items more_items"
).split()


@dataclass(frozen=True)
class Findings:
    """Estimates per group, the ranking, the pairs of models, and warnings.

    `groups` are rows of `tables.group_rows` with the probability of being the model's worst topic.
    `worst_chances` has the same probability by the topics of earlier models, if there are any.
    `extremes` are those of models with enough topics, or None. `size` counts models, topics, items
    (0 without a column) and scores. `doubts` concern units, columns and names in the files.
    `items` are the answers (model, topics, item, score), or None without ids of items.
    """

    groups: pd.DataFrame
    estimate: Estimate
    board: Leaderboard
    comparison: ModelComparison | None
    warnings: tuple
    size: dict
    worth: pasts.Worth | None = None
    features: tuple = ()
    doubts: tuple = ()
    items: pd.DataFrame | None = None
    tradeoff: Tradeoff | None = None
    extremes: Estimate | None = None
    worst_chances: pd.DataFrame | None = None

    @cached_property
    def models(self):
        """One row per model, best first: score, interval, ranks, letters."""
        return tables.model_rows(self.board)

    @cached_property
    def pairs(self):
        """One row per pair of models, neighbors first, with a verdict and `more_items`.

        With so many more items, a true difference of the observed size is significant with
        power 0.8.
        """
        if self.comparison is None:
            return pd.DataFrame(columns=_PAIR_COLUMNS)
        table = tables.pair_rows(self.comparison)
        needed = np.ceil(table["items_needed"] - 1e-9)
        more = np.maximum(needed - self.comparison.n_behind, 0)
        clear = table["verdict"].isin(("better", "worse"))
        return table.assign(more_items=np.where(clear, 0.0, more))[_PAIR_COLUMNS]


def find(
    read, by, known_range, confidence_level, missing, seed, past, features, equal_topics, cost=None
):
    """The `Findings` for `ItemRows`; `by` defines the groups.

    With `equal_topics`, topics count equally in the ranking, as with `leaderboard --topics`.
    """
    items, cluster = read.items, reading.cluster_name(read)
    # Without ids, no shared items are known, so each model has its own items. Models in columns
    # of one table share its rows.
    unrelated = "item" not in read.columns and not isinstance(read.columns["score"], list)
    topics = [name for name in by if name != "model"]
    columns = reading.columns_for(read, (equal_topics and topics) or None)
    with warnings.catch_warnings(record=True) as caught:
        summary = summarize_items(
            items,
            by=by,
            topic=columns["topic"],
            cluster=cluster,
            cluster_weight=reading.cluster_weight(cluster),
            features=features,
            bounds=known_range,
        )
        reading.check_variance(summary)
        summary = reading.with_names(summary, by)
        direct, estimate, draws = _estimates(summary, seed, past, by, confidence_level)
        direct, estimate = (reading.within_scores(e, known_range) for e in (direct, estimate))
        worst = _extremes(draws, known_range, confidence_level)
        chances = _chances(worst)
        ranked = _ranking(items, columns, known_range, missing, unrelated, past)
        board, traded = ranked(confidence_level), None
        if cost is not None:
            both = ranked(both_level(confidence_level))
            traded = _traded(read, columns, cost, both, confidence_level, unrelated)
    raised = [one_line(warning.message) for warning in caught]
    units = units_in_doubt(items)
    found = [units, *_warnings(summary, board, unrelated, past), *raised]
    return Findings(
        groups=_group_rows(summary, direct, estimate, by, chances),
        worst_chances=chances,
        estimate=estimate,
        board=board,
        comparison=board.comparison,
        warnings=tuple(dict.fromkeys(filter(None, found))),
        size=_size(read, len(board), topics, unrelated),
        worth=None if past is None else pasts.worth(past, summary, estimate),
        features=() if features is None else tuple(summary.X.columns.difference(by, sort=False)),
        doubts=tuple(filter(None, (units, *read.doubts))),
        items=None if unrelated else items[[*dict.fromkeys([*by, *read.key, "score"])]],
        tradeoff=traded,
        extremes=None if worst is None else worst.estimate,
    )


def _size(read, n_models, topics, unrelated):
    """Numbers of models, topics, items and scores; 0 if unknown."""
    rows = CodedRows(as_frame(read.items), refuses_missing=False)
    return {
        "models": n_models,
        "topics": rows.number(topics) if topics else 0,
        "items": 0 if unrelated and n_models > 1 else rows.number(read.key),
        "scores": len(read.items),
    }


def _chances(worst):
    """One row per model and topic with the probability of being the worst, or None."""
    if worst is None:
        return None
    return tables.labeled_rows(worst.worst_probability.to_frame("worst_probability"))


def _group_rows(summary, direct, estimate, by, chances):
    """One row per group, with the probability of being the worst of its model."""
    groups = tables.group_rows(summary, direct, estimate, by)
    if chances is None:
        return groups.assign(worst_probability=np.nan)
    return groups.merge(chances, "left")


def _ranking(items, columns, known_range, missing, unrelated, past):
    """A function of the confidence level that ranks the models."""
    if past is None:
        table = reading.models_table(items, columns, known_range)
        ranked = partial(leaderboard_of, table, missing=missing, unrelated=unrelated)
    else:
        ranked = partial(leaderboard_by_posterior, past.posterior(columns["by"]))

    def described(level):
        return _described(ranked(confidence_level=level), past, known_range, unrelated)

    return described


def _traded(read, columns, cost, board, confidence_level, unrelated):
    """The `Tradeoff` of scores and a column of costs."""
    names = {name: columns[name] for name in ("topic", "cluster")}
    by = columns["by"] or []
    costs = cost_table(read.items, cost, model="model", item="item", by=by, **names)
    costs = costs_of(costs, board.estimate.confidence_level, unrelated)
    return tradeoff_of(board, costs, (reading.score_name(read), cost), confidence_level)


def _estimates(summary, seed, past, by, confidence_level):
    """Direct estimates, estimates that borrow strength (if groups suffice), and draws."""
    direct = DirectEstimator().fit(**summary.fit_args).estimate(confidence_level)
    if past is not None:
        return direct, past.estimate(summary.labels, by, confidence_level), past.draws()
    if len(summary) < FEWEST_GROUPS:
        return direct, direct, None
    fitted = reading.recommended(seed, by).fit(**summary.fit_args)
    return direct, fitted.estimate(confidence_level), fitted.sample(N_DRAWS, random_state=seed)


def _extremes(draws, known_range, confidence_level):
    """Worst and best topic of each model with enough topics, or None."""
    if draws is None:
        return None
    values, (labels,) = draws.values, draws.labels
    models = labels.get_level_values("model")
    enough = (models.value_counts() >= FEWEST_GROUPS)[models].to_numpy()
    if not enough.any():
        return None
    if not enough.all():
        draws = Draws(values[:, enough], labels[enough], draws.kind)
    if known_range is not None and (values.min() < known_range[0] or values.max() > known_range[1]):
        draws = Draws(np.clip(draws.values, *known_range), draws.labels, draws.kind)
    return extremes(draws, by="model", confidence_level=confidence_level)


def _described(board, past, known_range, unrelated):
    """The leaderboard cut to the range of the scores, with its method in words."""
    if past is not None:
        board = past.with_method(board)
    estimate = reading.within_scores(board.estimate, known_range)
    if unrelated:
        method = estimate.method.replace(", least squares on shared items", "")
        estimate = replace(estimate, method=method)
    return replace(board, estimate=estimate)


def _warnings(summary, board, unrelated, past):
    """Sentences on small groups, few clusters and unknown items."""
    others = "other groups" if past is None else "earlier models"
    borrowed = f" Their estimates rely on the {others}."
    if len(summary) < FEWEST_GROUPS and past is None:
        borrowed = ""
        count = "is 1 group" if len(summary) == 1 else f"are {len(summary)} groups"
        yield f"There {count}, too few to borrow strength, so the estimates are the direct ones."
    small = summary.n < FEW_ITEMS
    if small.any():
        yield (
            f"{small.sum()} of {len(summary)} groups have fewer than {FEW_ITEMS} items, so their "
            f"direct estimates are very imprecise.{borrowed}"
        )
    few = summary.n_independent < FEW_CLUSTERS
    if summary.outcome == "clustered" and few.any():
        yield (
            f"{few.sum()} of {len(summary)} groups have fewer than {FEW_CLUSTERS} independent "
            "clusters, so their intervals are wide and rough."
        )
    if unrelated and len(board) > 1:
        yield (
            "The files have no ids of items, so the models are compared as if they answered "
            "different items. Ids would allow paired comparisons with shorter intervals."
        )
