"""Aggregates, normalized scores and ranks, computed from draws of task scores."""

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
    """Weighted mean score of each model over the tasks, for every draw.

    When not to use it: for tasks on different scales, before `normalize_scores`.

    Parameters
    ----------
    draws : Draws of shape (n_draws, n_models, n_tasks), or fitted TaskBootstrap
        Draws of the task scores. A bootstrap is processed in batches, so its draws are not stored.
    weights : None, "category", dict or Series, default=None
        None weights all tasks equally. "category" weights all categories equally, and also the
        tasks within a category. A dict or Series contains the weight of every task, or of every
        category. The weight of a category is divided equally among its tasks. Weights are
        nonnegative and sum to 1.
    by : {None, "category"}, default=None
        "category" returns the unweighted mean of each category. It cannot be combined with
        `weights`.

    Returns
    -------
    Draws of shape (n_draws, n_models) or (n_draws, n_models, n_categories)
        ``sum_j w_j draws_j``. Its ``interval()`` method returns estimates. You can pass means of
        categories to functions of task scores, as if each category were a task.

    Raises
    ------
    ValueError
        If a weight is negative, missing or of an unknown task, if the weights do not sum to 1, if
        the tasks have no categories, or if both `weights` and `by` are passed.

    Notes
    -----
    Longjohn, Gopalan and Casleton (2024), section 2.3.

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
        raise ValueError('by="category" returns unweighted means. Do not pass weights.')
    codes, categories = task_categories(tasks)
    values, kind = _means(draws, category_weights(codes, np.eye(len(categories))))
    return Draws(values, (models, categories), kind)


@checked
def normalize_scores(
    draws: Draws | DrawSource, bounds: Literal["bootstrap"] | tuple[PerTask, PerTask]
) -> Draws:
    """Rescale the scores of each task to a range from 0 to 1.

    When not to use it: with ``bounds="bootstrap"``, if you compare the results with another table.

    Parameters
    ----------
    draws : Draws of shape (n_draws, n_models, n_tasks), or fitted TaskBootstrap
        Draws of the task scores. The draws of a bootstrap must fit into memory.
    bounds : tuple (low, high) or "bootstrap"
        Scores that are mapped to 0 and to 1, such as the accuracy of guessing and a perfect score.
        Each is a number, or a dict or Series with one number per task. "bootstrap" uses the
        smallest and the largest draw of all models on the task.

    Returns
    -------
    Draws of shape (n_draws, n_models, n_tasks)
        ``(score - low) / (high - low)``.

    Raises
    ------
    ValueError
        If a bound is missing, not finite or of an unknown task, or if a low bound is not below the
        high one.

    Warns
    -----
    UserWarning
        With "bootstrap", because the bounds depend on the number of draws.

    Notes
    -----
    Longjohn, Gopalan and Casleton (2024), section 2.4, use "bootstrap" bounds, with 100 draws
    according to their printed limits. These bounds widen with the number of draws: 20,000 draws
    change normalized means by 1 to 1.5 points. They also change if a model is added to the table.
    In at least one draw, a model has a score of 0 on the task, so its geometric mean is 0.

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
            'bounds="bootstrap" depends on the number of draws '
            f"({len(draws.values)}) and of models ({len(draws.labels[0])}). For a fixed scale pass "
            "bounds=(score of guessing, best score)."
        )
    else:
        low, high = (per_task(bound, tasks, "bounds") for bound in bounds)
    empty = ~(low < high)
    if empty.any():
        first = int(np.argmax(empty))
        raise ValueError(
            "bounds must be finite, with low below high, but task "
            f"{task_name(tasks, first)!r} has {low[first]:g} and {high[first]:g}."
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
    """Rank the models in every draw, by one of five methods of rank aggregation.

    When not to use it: to report which ranks a model may have. With 20 equal models, 95% quantiles
    of such draws contain all tied ranks in less than 1% of simulations. Use `rank_confidence_sets`,
    because it has the nominal coverage.

    Parameters
    ----------
    draws : Draws of shape (n_draws, n_models, n_tasks), or fitted TaskBootstrap
        Draws of the task scores. The noisy and the binned average rank require scores as fractions
        of 1. A bootstrap is processed in batches, so its draws are not stored.
    criterion : str, default="mean"
        "mean" and "geometric mean" rank the models' means over tasks. "average rank" averages the
        ranks on each task. "noisy average rank" first adds noise of one percentage point to the
        scores; "binned average rank" first rounds them down to whole points.
    weights : as in `aggregate`, default=None
        Weights of the tasks.
    random_state : None, int, RandomState or Generator, default=None
        Source of the noise, for "noisy average rank".

    Returns
    -------
    Draws of shape (n_draws, n_models)
        Ranks; 1 is the best. Average ranks are not necessarily whole numbers.

    Raises
    ------
    ValueError
        If `criterion` is unknown, if the weights are invalid as in `aggregate`, or if a score is
        negative with a geometric mean.

    See Also
    --------
    rank_probabilities : How often each model has each rank.
    rank_confidence_sets : Confidence sets for the ranks of the models.

    Notes
    -----
    Section 3.2 of [1]_, with the formulas in `skbench.stats.ranking`.

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
                "criterion='geometric mean' needs scores of at least 0, but a draw is "
                f"{np.nanmin(values):g}. Use criterion='mean', or bounds below all scores."
            )
        return RANKINGS[criterion](values, **options)

    values, kind = _each_draw(draws, ranked)
    return Draws(values, models, kind)


@checked
def rank_probabilities(ranks: Draws) -> pd.DataFrame:
    """Compute how often each model has each rank.

    When not to use it: as the probability that a model truly has a rank, if the draws are bootstrap
    draws. If two models are equal, the one with the higher observed score seems to be the likely
    winner.

    Parameters
    ----------
    ranks : Draws of shape (n_draws, n_models)
        Draws of ranks, as returned by ``rank_models(draws)``.

    Returns
    -------
    DataFrame of shape (n_models, n_models)
        Frequency of each rank 1, 2, ... (columns) for each model (rows). Rows and columns sum to 1.

    Raises
    ------
    ValueError
        If the draws are not ranks: outside 1 to the number of models, or averages over tasks.

    Notes
    -----
    The values are bootstrap or posterior frequencies [1]_. A tie is divided between the ranks on
    both sides of its average.

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
            f"Ranks must lie between 1 and {len(models)}, but the draws range from "
            f"{values.min():g} to {values.max():g}. Pass the draws of rank_models."
        )
    if np.any(2 * values != np.round(2 * values)):
        raise ValueError(
            "The draws are averages of ranks, but must be ranks. Use rank_models with "
            "criterion='mean' or criterion='geometric mean'."
        )
    columns = pd.RangeIndex(1, len(models) + 1, name="rank")
    return pd.DataFrame(ranking.rank_probabilities(values), index=models, columns=columns)


def check_one_axis(draws, remedy):
    """Raise an error unless these are draws of one number per model."""
    if not isinstance(draws, Draws) or len(draws.labels) != 1:
        raise TypeError(f"Pass Draws of one number per model, such as {remedy}.")


def _each_draw(draws, function):
    """Apply a function to all draws (of a bootstrap in batches); also return their kind."""
    if isinstance(draws, Draws):
        return function(draws.values), draws.kind
    made = [(function(batch.values), batch.kind) for batch in draws.iter_draws()]
    values, kinds = zip(*made, strict=True)
    return np.concatenate(values), kinds[0]


def _means(draws, shares):
    """Draws of the means for every row of shares (on the last axis), and their kind."""
    # A source may compute them without draws of the cells.
    values = draws._means(shares.T) if hasattr(draws, "_means") else None
    if values is not None:
        return values, draws._draw_kind

    def means(values):
        return np.stack([_masked_product(values, w) for w in shares], axis=-1)

    return _each_draw(draws, means)


def _masked_product(values, w):
    """``values @ w``, ignoring nan where the weight is 0."""
    used = slice(None) if w.all() else np.flatnonzero(w)
    return values[..., used] @ w[used]


def _model_task_labels(draws):
    """Labels of models and tasks, after checking that there are both."""
    labels = draws.labels
    if len(labels) != 2:
        raise TypeError(
            f"The draws have {len(labels)} label axes, but need two (models and tasks). Pass the "
            "draws_ of a TaskBootstrap or HierarchicalBetaBinomial."
        )
    return labels
