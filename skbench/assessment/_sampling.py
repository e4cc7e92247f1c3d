"""One repetition: sample items and summarize them like `summarize_items`."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from skbench.containers import GroupSummary, Sampling
from skbench.stats.clusters import item_correlation as correlations
from skbench.stats.intervals.moderated import variance_noise
from skbench.summaries.direct_estimates import estimates_from_sums


class Sample(NamedTuple):
    """Sums over the sampled items of the groups with at least one."""

    present: np.ndarray  # positions of these groups in the population
    n: np.ndarray  # number of scores
    total: np.ndarray  # sums of scores
    centered: np.ndarray  # sums of deviations from the overall mean
    squared: np.ndarray  # sums of squared deviations from the overall mean
    binary: bool  # whether every sampled score is 0 or 1
    item_features: np.ndarray | None  # means of item columns, (n_present, n_item_features)
    correlation: pd.DataFrame | None  # item correlation of models that share items
    powers: tuple | None  # sums of 2nd and 4th powers around group means, unless binary


def draw(design, replace, rng):
    """Sums over a random sample of the items of every unit."""
    p = design.population
    if p.topics is None and p.item_features is None and p.is_binary:
        return _counts(design, replace, rng)
    return sums_of_rows(p, drawn_rows(design, replace, rng), design.n_items)


def drawn_rows(design, replace, rng):
    """Sampled rows of `scores`, unit after unit."""
    starts, sizes = design.population.starts[:-1], design.population.unit_sizes
    if replace:
        return rng.integers(
            np.repeat(starts, design.n_items), np.repeat(starts + sizes, design.n_items)
        )
    return np.concatenate(
        [
            start + rng.choice(size, n, replace=False, shuffle=False)
            for start, size, n in zip(starts, sizes, design.n_items, strict=True)
        ]
    )


def _counts(design, replace, rng):
    """Counts for binary scores of independent groups, which need no rows."""
    p, n = design.population, design.n_items
    right = np.rint(p.truth * p.sizes).astype(int)
    k = (
        rng.binomial(n, right / p.sizes)
        if replace
        else rng.hypergeometric(right, p.sizes - right, n)
    )
    everyone = np.arange(len(n))
    return Sample(everyone, n, k.astype(float), k, k, True, None, None, None)


def sums_of_rows(population, rows, n_items):
    """Sums over rows of `scores`, by group."""
    scores = population.scores[rows]
    there = ~np.isnan(scores)
    firsts = np.concatenate([[0], np.cumsum(n_items)[:-1]])
    at = population.unit, population.column

    def total(values):
        return np.add.reduceat(values, firsts, axis=0)[at]

    def around_means():
        sizes = np.add.reduceat(there.astype(int), firsts, axis=0)
        means = np.add.reduceat(filled, firsts, axis=0) / np.maximum(sizes, 1)
        away = np.where(there, filled - np.repeat(means, n_items, axis=0), 0.0)
        return total(away**2)[present], total(away**4)[present]

    n = total(there.astype(int))
    present = np.flatnonzero(n)
    filled = np.where(there, scores, 0.0)
    binary = bool(np.all((filled == 0) | (filled == 1)))
    centered = np.where(there, scores - filled.sum() / there.sum(), 0.0)
    item_features = None
    if population.item_features is not None:
        seen = np.where(there[:, :, None], population.item_features[rows], 0.0)
        item_features = (total(seen) / np.maximum(n, 1)[:, None])[present]
    return Sample(
        present,
        n[present],
        total(filled)[present],
        total(centered)[present],
        total(centered**2)[present],
        binary,
        item_features,
        _correlation(population, scores, np.repeat(np.arange(len(n_items)), n_items)),
        None if binary else around_means(),
    )


def _correlation(population, scores, unit):
    """Item correlation of the models that answered sampled items."""
    if population.models is None:
        return None
    seen = ~np.isnan(scores).all(axis=0)
    models = population.models[seen]
    matrix = correlations.item_correlation(scores[:, seen], unit)
    return pd.DataFrame(matrix, index=models, columns=models)


def summary_of(population, sample, variance):
    """The GroupSummary that `summarize_items` returns for the sampled rows."""
    labels = population.labels[sample.present]
    z, sigma2, outcome = estimates_from_sums(
        n=sample.n,
        total=sample.total,
        centered=sample.centered,
        squared=sample.squared,
        binary=sample.binary,
        labels=labels,
        variance=variance,
    )
    X = population.X.iloc[sample.present]
    if sample.item_features is not None:
        X = X.copy()
        X[population.item_feature_names] = sample.item_features
    return GroupSummary(
        z=z,
        sigma2=sigma2,
        n=sample.n,
        labels=labels,
        X=X,
        groups=None if population.topics is None else population.topics[sample.present],
        sampling=Sampling(
            outcome,
            items_shared=population.topics is not None,
            item_correlation=sample.correlation,
            variance_noise=(
                None
                if sample.powers is None
                else variance_noise(sample.n, *sample.powers, sigma2, variance=variance)
            ),
        ),
    )
