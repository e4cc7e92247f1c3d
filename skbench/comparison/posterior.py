"""Scores, pairs and ranks of models from joint posterior draws of their scores on all items."""

import numbers
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm

from skbench._checks import check_bank, names_of, plain, require_columns
from skbench._warnings import warn
from skbench.comparison._comparison import POWER, ModelComparison
from skbench.containers import Estimate
from skbench.items.roles import check_model
from skbench.items.rows import CHANCE, collected, opened
from skbench.stats.intervals.moments import ROUNDING, divided
from skbench.stats.intervals.posterior import posterior_interval, posterior_p_value

METHOD = "unit level"


class Posterior(NamedTuple):
    """Draws of the scores of models in groups, and the number of items that each answered."""

    draws: np.ndarray  # (n_draws, n_models, n_groups)
    models: pd.Index
    groups: pd.Index | None  # labels; None for a single group
    n_asked: np.ndarray  # (n_models, n_groups), items that a model answered
    n_both: np.ndarray  # (n_models, n_models, n_groups), items that both answered
    n_all: np.ndarray  # (n_groups,), items in the population
    certain: np.ndarray  # (n_models,), -1 or 1 if all answers were incorrect or correct

    def of_models(self, positions):
        """The `Posterior` of the models at these positions."""
        positions = list(positions)
        return self._replace(
            draws=self.draws[:, positions],
            models=self.models[positions],
            n_asked=self.n_asked[positions],
            n_both=self.n_both[np.ix_(positions, positions)],
            certain=self.certain[positions],
        )

    def averaged(self):
        """The `Posterior` of the means over groups, with equal weights."""
        return self._replace(
            draws=self.draws.mean(axis=2, keepdims=True),
            groups=None,
            n_asked=self.n_asked.sum(axis=1, keepdims=True),
            n_both=self.n_both.sum(axis=2, keepdims=True),
            n_all=self.n_all.sum(keepdims=True),
        )


def posterior_of(draws, rows, names, sizes):
    """The `Posterior` of `Draws` by model, or by model and topic.

    `rows` are the answers of new models, `names` their columns of model, topic, item and score,
    `sizes` the number of items of each topic.
    """
    models, *groups = draws.labels
    groups = groups[0] if groups else None
    model, topic, _, score = (rows[name].to_numpy() if name in rows else None for name in names)
    keys = [name for name in names[1:3] if name in rows]
    items = rows.groupby(keys, sort=True).ngroup().to_numpy()
    group = np.zeros(len(rows), dtype=int) if groups is None else groups.get_indexer(topic)
    n_all = np.array([sizes.sum()]) if groups is None else sizes.reindex(groups).to_numpy()
    position = models.get_indexer(model)
    inside = group >= 0
    asked = np.zeros((len(models), items.max() + 1, len(n_all)))
    asked[position[inside], items[inside], group[inside]] = 1
    n_both = np.einsum("aig,big->abg", asked, asked).astype(int)
    n_asked = np.diagonal(n_both).T.copy()
    n_asked[~models.isin(model)] = n_all  # known by the bank
    values = draws.values.reshape(len(draws.values), len(models), len(n_all))
    certain = _certain(score, position, len(models))
    return Posterior(values, models, groups, n_asked, n_both, n_all, certain)


def _certain(score, model, n_models):
    """1 if all answers of a model were correct, -1 if all were incorrect, else 0."""
    n, right = np.bincount(model, minlength=n_models), np.bincount(model, score, n_models)
    several = (n > 0) & np.isin(score, (0, 1)).all()
    return np.select([several & (right == n), several & (right == 0)], [1, -1], 0)


def posterior_with_bank(
    bank, items, names, *, topics=(), models=None, bounds=None, population=None
):
    """The `Posterior` of the models in a table of item scores, given a bank of earlier models.

    `names` are the columns of model, topic, item and score; `models` selects models.
    """
    rows = collected(opened(items))
    if models is not None:
        require_columns(rows.columns, names[:1])
        for name in models:
            check_model(name, rows[names[0]].unique())
        rows = rows[rows[names[0]].isin(models)]
    columns = topics or names_of(names[1])
    if len(columns) > 1:
        raise ValueError(f"bank=... needs one column of topics, that of the bank, got {columns}.")
    names = (names[0], *(columns or [None]), *names[2:])
    of_bank = bank.model, bank.topic, bank.item, bank.score
    given = rows[[name for name in (*names, CHANCE) if name in rows]]
    given = given.rename(columns=dict(zip(names, of_bank, strict=True)))
    by = list(of_bank[: 2 if topics else 1])
    population = _of_topics(bank, population)
    draws = bank.sample(given, by, population=population, bounds=bounds)
    whole = bank.models_[np.isfinite(bank.scores_).all(axis=0)]
    new = given[~given[bank.model].isin(whole)]
    return posterior_of(draws, new, of_bank, _sizes(bank, population))


def _of_topics(bank, population):
    """The population in the form that `ItemBank.sample` needs."""
    if not isinstance(population, numbers.Real):
        return population
    if list(bank.topics_) == ["all"]:
        return {"all": population}
    if population == len(bank.items_):
        return None
    raise ValueError(
        f"population={population} is not a number for each topic, and the bank has "
        f"{len(bank.items_)} items in {len(bank.topics_)} topics. Pass a number for each topic."
    )


def _sizes(bank, population):
    """Number of items of each topic."""
    if population is None:
        return bank.items_["topic"].value_counts()
    if not isinstance(population, pd.DataFrame):
        return pd.Series(population)
    if bank.topic not in population:
        return pd.Series({"all": population[bank.item].nunique()})
    return population[[bank.topic, bank.item]].drop_duplicates()[bank.topic].value_counts()


def check_bank_settings(bank, topics, cluster, item, missing):
    """Raise an error or warn if a setting does not apply to a bank."""
    check_bank(bank)
    if topics and list(bank.topics_) == ["all"]:
        raise ValueError(f"The bank has no topics. Omit {topics}, or fit it with topics.")
    if missing != "drop":
        raise ValueError(
            f"missing={missing!r} does not apply to bank=..., because missing answers "
            "are estimated. Omit it."
        )
    if cluster not in (None, item):
        warn(
            f"The clusters of {plain(cluster)!r} are ignored: an item bank treats items as "
            "independent given their difficulty."
        )


def scores_of(posterior, confidence_level):
    """`Estimate` of the scores of the models from a `Posterior` of one group."""
    draws, certain = posterior.draws[:, :, 0], posterior.certain
    low, high = posterior_interval(draws, confidence_level)
    return Estimate(
        value=draws.mean(axis=0),
        low=np.where(certain < 0, 0.0, low),
        high=np.where(certain > 0, 1.0, high),
        standard_error=_deviation(draws),
        confidence_level=confidence_level,
        labels=posterior.models,
        method=METHOD,
        guarantee="posterior",
    )


def compared_by_posterior(posterior, positions, confidence_level, adjust="bonferroni"):
    """A `ModelComparison` of the pairs of models at these positions."""
    a, b = np.array(positions).T
    labels = pair_labels(posterior, positions)
    several = adjust != "none" and len(labels) > 1
    draws = (posterior.draws[:, a] - posterior.draws[:, b]).reshape(len(posterior.draws), -1)
    n_comparisons = len(labels) if several else 1
    low, high = posterior_interval(draws, confidence_level, n_comparisons)
    value, error = draws.mean(axis=0), _deviation(draws)
    own = _deviation(posterior.draws) ** 2
    variance_a, variance_b = own[a].ravel(), own[b].ravel()
    n_asked = np.minimum(posterior.n_asked[a], posterior.n_asked[b]).ravel()
    n_all = np.tile(posterior.n_all, len(positions))
    level = 1 - (1 - confidence_level) / n_comparisons
    estimate = Estimate(
        value=value,
        low=low,
        high=high,
        standard_error=error,
        confidence_level=level,
        labels=labels,
        method=f"difference, {METHOD}",
        guarantee="posterior",
    )
    return ModelComparison(
        estimate=estimate,
        p_value=np.minimum(posterior_p_value(draws) * n_comparisons, 1),
        test="posterior draws",
        df=np.full(len(labels), np.inf),
        correlation=divided(
            variance_a + variance_b - error**2, 2 * np.sqrt(variance_a * variance_b)
        ),
        unpaired_standard_error=np.sqrt(variance_a + variance_b),
        n_items=posterior.n_both[a, b].ravel(),
        n_behind=n_asked.copy(),
        items_needed=partial(items_needed, value, error, n_asked, n_all, level),
        omega2=n_asked * error**2,
        noise=np.full(len(labels), np.nan),
        remarks=(f"p-values and intervals hold simultaneously for all {len(labels)} comparisons.",)
        if several
        else (),
    )


def _deviation(draws):
    """Standard deviation of draws; 0 if they vary only by rounding."""
    return np.where(np.ptp(draws, axis=0) > ROUNDING, draws.std(axis=0), 0.0)


def pair_labels(posterior, positions):
    """Index of both models and the group, one entry per pair and group."""
    n_groups = len(posterior.n_all)
    a, b = np.repeat(np.array(positions), n_groups, axis=0).T
    levels, names = [posterior.models[a], posterior.models[b]], ["model_a", "model_b"]
    if posterior.groups is not None:
        levels.append(posterior.groups[np.tile(np.arange(n_groups), len(positions))])
        names.append(posterior.groups.name)
    return pd.MultiIndex.from_arrays(levels, names=names)


def items_needed(difference, error, n, n_all, level, power=POWER):
    """Items that both models must answer to detect a true difference of this size.

    The variance of a difference on all items is proportional to ``1 / n - 1 / N``, so the number
    is at most N.
    """
    reach = norm.isf((1 - level) / 2) + norm.ppf(power)
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = (np.abs(difference) / reach / error) ** 2
        needed = 1 / (1 / n_all + (1 / n - 1 / n_all) * wanted)
    return np.where(error > 0, np.minimum(needed, n_all), n)
