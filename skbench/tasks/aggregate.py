"""Aggregates, normalized scores and ranks: functions of draws."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import pandas as pd

from skbench._random import as_generator
from skbench._types import DrawSource, PerTask, RandomState, Weights, checked
from skbench._warnings import warn
from skbench.containers import Draws
from skbench.stats import ranking
from skbench.stats.scales.aggregation import category_weights, normalized
from skbench.tasks._task_weights import per_task, task_categories, task_name, task_weights

RANKINGS = {
    "geometric mean": ranking.ranks_by_geometric_mean,
    "average rank": ranking.average_ranks,
    "noisy average rank": ranking.average_ranks_with_noise,
    "binned average rank": ranking.average_ranks_in_bins,
}


@checked
def aggregate(
    draws: Draws | DrawSource, weights: Weights = None, *, by: Literal["category"] | None = None
) -> Draws:
    """Weighted mean score of each model over the tasks, draw by draw.

    Parameters
    ----------
    draws : Draws of shape (n_draws, n_models, n_tasks), or fitted TaskBootstrap
        Draws of the task scores. A bootstrap is gone through in batches, without holding all
        of its draws.
    weights : None, "category", dict or Series, default=None
        None weighs all tasks alike; "category" all categories alike, and the tasks within each
        alike. A dict or Series gives the weight of every task, or of every category, which its
        tasks share. Weights are at least 0 and sum to 1.
    by : {None, "category"}, default=None
        "category" returns the plain mean of each category, without `weights`.

    Returns
    -------
    Draws of shape (n_draws, n_models) or (n_draws, n_models, n_categories)
        ``sum_j w_j draws_j``; its ``interval()`` gives estimates. Means of categories are draws
        of task scores again, as if every category were one task.

    Raises
    ------
    ValueError
        If a weight is negative, missing or of an unknown task, if the weights do not sum to 1,
        if the tasks have no categories, or if `weights` meet `by`.

    Notes
    -----
    Longjohn, Gopalan and Casleton (2024), section 2.3.

    When not to use it: for tasks on different scales, before `normalize_scores`.

    Examples
    --------
    >>> tasks = pd.MultiIndex.from_tuples(
    ...     [("text", "law"), ("text", "art"), ("code", "sort")], names=["category", "task"]
    ... )
    >>> draws = Draws([[[0.5, 0.9, 0.2]]], (pd.Index(["ada"]), tasks), "bootstrap")
    >>> aggregate(draws, {"law": 0.5, "art": 0.25, "sort": 0.25}).values
    array([[0.525]])
    >>> aggregate(draws, by="category").values.round(2)
    array([[[0.7, 0.2]]])
    """
    models, tasks = _model_task_labels(draws)
    if by is None:
        values, kind = _means(draws, task_weights(tasks, weights)[None])
        return Draws(values[..., 0], models, kind)
    if weights is not None:
        raise ValueError('by="category" takes plain means of categories: leave out weights.')
    codes, categories = task_categories(tasks)
    values, kind = _means(draws, category_weights(codes, np.eye(len(categories))))
    return Draws(values, (models, categories), kind)


@checked
def normalize_scores(
    draws: Draws | DrawSource, bounds: Literal["bootstrap"] | tuple[PerTask, PerTask]
) -> Draws:
    """Scores of each task on a scale from 0 to 1.

    Parameters
    ----------
    draws : Draws of shape (n_draws, n_models, n_tasks), or fitted TaskBootstrap
        Draws of the task scores; those of a bootstrap must fit into memory.
    bounds : tuple (low, high) or "bootstrap"
        What counts as 0 and as 1: two numbers, or dicts or Series with one number
        per task, such as chance level and a perfect score. "bootstrap" takes
        the smallest and largest draw of all models on the task.

    Returns
    -------
    Draws of shape (n_draws, n_models, n_tasks)
        ``(score - low) / (high - low)``.

    Raises
    ------
    ValueError
        If a bound is missing, not finite or of an unknown task, or a low bound is not
        below the high one.

    Warns
    -----
    UserWarning
        With "bootstrap", whose meaning depends on the number of draws.

    Notes
    -----
    "bootstrap" is what Longjohn, Gopalan and Casleton (2024), section 2.4, do, with 100 draws as
    their printed ends show. Its bounds widen with the number of draws (20,000 draws move normalized
    means by 1 to 1.5 points) and move with every model that joins the table; geometric means are 0
    in some draw.

    When not to use it: for "bootstrap", in anything to be compared with another table.

    Examples
    --------
    >>> names = (pd.Index(["ada", "bob"]), pd.Index(["law", "art"]))
    >>> draws = Draws([[[0.5, 0.9], [0.6, 0.7]]], names, "bootstrap")
    >>> normalize_scores(draws, ({"law": 0.25, "art": 0.5}, 1)).values.round(2)
    array([[[0.33, 0.8 ],
            [0.47, 0.4 ]]])
    """
    draws = getattr(draws, "draws_", draws)
    _, tasks = _model_task_labels(draws)
    if isinstance(bounds, str):
        low, high = draws.values.min(axis=(0, 1)), draws.values.max(axis=(0, 1))
        warn(
            f"The bounds are the smallest and largest of {len(draws.values)} draws of "
            f"{len(draws.labels[0])} models: they move with both numbers. For a lasting scale pass "
            "bounds=(chance level, best score)."
        )
    else:
        low, high = (per_task(bound, tasks, "bounds") for bound in bounds)
    empty = ~(low < high)
    if empty.any():
        first = int(np.argmax(empty))
        raise ValueError(
            f"bounds must be finite and low below high, but task {task_name(tasks, first)!r} has "
            f"{low[first]:g} and {high[first]:g}."
        )
    return Draws(normalized(draws.values, low, high), draws.labels, draws.kind)


@checked
def rank_models(
    draws: Draws | DrawSource,
    criterion: Annotated[str, ("mean", *RANKINGS)] = "mean",
    *,
    weights: Weights = None,
    random_state: RandomState = None,
) -> Draws:
    """Ranks of the models, draw by draw, after one of five rank aggregations.

    Parameters
    ----------
    draws : Draws of shape (n_draws, n_models, n_tasks), or fitted TaskBootstrap
        Draws of the task scores, as fractions of 1 for the last two aggregations. A
        bootstrap is gone through in batches, without holding all of its draws.
    criterion : str, default="mean"
        "mean" and "geometric mean" rank the models' means over tasks. "average rank"
        averages the ranks on each task; "noisy average rank" adds noise of one
        percentage point first, "binned average rank" rounds down to whole points.
    weights : as in `aggregate`, default=None
        Weights of the tasks.
    random_state : None, int, RandomState or Generator, default=None
        Source of the noise, for "noisy average rank".

    Returns
    -------
    Draws of shape (n_draws, n_models)
        Ranks, 1 is the best; not whole numbers for average ranks.

    Raises
    ------
    ValueError
        If `criterion` is unknown, as in `aggregate` for the weights, or if a geometric mean
        meets a negative score.

    See Also
    --------
    rank_probabilities : How often each model has each rank.
    rank_confidence_sets : Ranks that each model may truly have.

    Notes
    -----
    Section 3.2 of [1]_, with the formulas in `skbench.stats.ranking`.

    When not to use it: to state which ranks a model may truly have. Of 20 equal models, 95%
    quantiles of such draws hold all the ranks that the tie spans in less than 1% of simulations
    (test_quantiles_of_drawn_ranks_do_not_hold_ties); `rank_confidence_sets` keeps its level.

    References
    ----------
    .. [1] Longjohn, Gopalan and Casleton (2024). Statistical uncertainty
       quantification for aggregate performance metrics in machine learning
       benchmarks.

    Examples
    --------
    >>> values = [[[0.5, 0.9], [0.6, 0.7]], [[0.4, 0.8], [0.6, 0.8]]]
    >>> names = (pd.Index(["ada", "bob"]), pd.Index(["law", "art"]))
    >>> draws = Draws(values, names, "bootstrap")
    >>> rank_models(draws).values
    array([[1., 2.],
           [2., 1.]])
    >>> rank_models(draws, criterion="average rank").interval().value
    array([1.625, 1.375])
    """
    models, tasks = _model_task_labels(draws)
    w = task_weights(tasks, weights)
    if criterion == "mean":
        found = aggregate(draws, weights)
        return Draws(ranking.ranks(found.values), models, found.kind)
    options = {"weights": w}
    if criterion == "noisy average rank":
        options["rng"] = as_generator(random_state)

    def ranked(values):
        if criterion == "geometric mean" and (values < 0).any():
            raise ValueError(
                f"A geometric mean needs scores of at least 0, but some draw is "
                f"{np.nanmin(values):g}. Take criterion='mean', or bounds below all scores."
            )
        return RANKINGS[criterion](values, **options)

    values, kind = _each_draw(draws, ranked)
    return Draws(values, models, kind)


@checked
def rank_probabilities(ranks: Draws) -> pd.DataFrame:
    """How often each model has each rank.

    Parameters
    ----------
    ranks : Draws of shape (n_draws, n_models)
        Draws of ranks, as ``rank_models(draws)`` gives.

    Returns
    -------
    DataFrame of shape (n_models, n_models)
        Probability of each rank 1, 2, ... (columns) of each model (rows); rows and
        columns sum to 1.

    Raises
    ------
    ValueError
        If the draws are no ranks: not between 1 and the number of models, or averages over tasks.

    Notes
    -----
    Bootstrap or posterior frequencies [1]_; a tie counts in parts for the ranks on
    either side of its average.

    When not to use it: as probabilities that a model truly has a rank, for bootstrap
    draws. Of two equal models the luckier one looks like the likely winner.

    References
    ----------
    .. [1] Longjohn, Gopalan and Casleton (2024). Statistical uncertainty
       quantification for aggregate performance metrics in machine learning
       benchmarks.

    Examples
    --------
    >>> ranks = Draws([[1, 2], [1, 2], [2, 1], [1, 2]], pd.Index(["ada", "bob"]), "bootstrap")
    >>> rank_probabilities(ranks)
    rank     1     2
    ada   0.75  0.25
    bob   0.25  0.75
    """
    check_one_axis(ranks, "rank_models(draws)")
    values, (models,) = ranks.values, ranks.labels
    if not (np.all(values >= 1) and np.all(values <= len(models))):
        raise ValueError(
            f"Ranks run from 1 to {len(models)}, but some draw is {values.min():g} or "
            f"{values.max():g}. Pass the draws of rank_models."
        )
    if np.any(2 * values != np.round(2 * values)):
        raise ValueError(
            "These draws are averages of ranks over tasks, not ranks. Take "
            "rank_models(criterion='mean') or criterion='geometric mean'."
        )
    columns = pd.RangeIndex(1, len(models) + 1, name="rank")
    return pd.DataFrame(ranking.rank_probabilities(values), index=models, columns=columns)


def check_one_axis(draws, remedy):
    """Refuse what are not draws of one number per model."""
    if not isinstance(draws, Draws) or len(draws.labels) != 1:
        raise TypeError(f"Pass Draws of one number per model, such as {remedy}.")


def _each_draw(draws, function):
    """What a function makes of every draw, and their kind; a bootstrap's come in batches."""
    if isinstance(draws, Draws):
        return function(draws.values), draws.kind
    made = [(function(batch.values), batch.kind) for batch in draws.iter_draws()]
    values, kinds = zip(*made, strict=True)
    return np.concatenate(values), kinds[0]


def _means(draws, shares):
    """Draws of the means by every row of shares, on a last axis, and their kind."""
    # A source may have a way that goes without the draws of the cells.
    values = draws._means(shares.T) if hasattr(draws, "_means") else None
    if values is not None:
        return values, draws._draw_kind

    def means(values):
        return np.stack([_masked_product(values, w) for w in shares], axis=-1)

    return _each_draw(draws, means)


def _masked_product(values, w):
    """``values @ w``, in which a weight of 0 silences a nan."""
    used = slice(None) if w.all() else np.flatnonzero(w)
    return values[..., used] @ w[used]


def _model_task_labels(draws):
    """Labels of the models and of the tasks, after checking that there are both."""
    labels = draws.labels
    if len(labels) != 2:
        raise TypeError(
            f"These draws have {len(labels)} axes of labels, not the two of models and tasks. Pass "
            "the draws_ of a TaskBootstrap or HierarchicalBetaBinomial."
        )
    return labels
