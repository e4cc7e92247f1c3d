"""Differences between models, with intervals corrected for multiple comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd

from skbench._checks import refuse_repeats
from skbench._types import Level, checked
from skbench._warnings import warn
from skbench.containers import Draws, Estimate
from skbench.stats.intervals.moments import ROUNDING
from skbench.stats.ranking import multiplicity
from skbench.tasks.aggregate import check_one_axis

_FEWEST_IN_TAIL = 10


@checked
def differences(
    draws: Draws,
    pairs: Sequence[tuple[Any, Any]] | None = None,
    *,
    confidence_level: Level = 0.95,
    correction: Literal["bonferroni", "none"] = "bonferroni",
) -> Estimate:
    """Differences between models, with intervals corrected for multiple comparisons.

    When not to use it: for the ranks of many models; use `rank_confidence_sets`.

    Parameters
    ----------
    draws : Draws of shape (n_draws, n_models)
        Draws of one score per model, as returned by `aggregate`.
    pairs : list of tuple of labels, default=None
        Pairs (a, b) of models; by default all pairs. Choose the pairs before you look at the
        results: if you pick the best three of 16 models, you compare all 16.
    confidence_level : float, default=0.95
        With "bonferroni", the probability that all intervals cover their true values. With "none",
        the probability for each interval.
    correction : {"bonferroni", "none"}, default="bonferroni"
        Correction for multiple comparisons.

    Returns
    -------
    Estimate
        One entry per pair, labeled (a, b), with the mean, quantiles and standard deviation of the
        draws of ``a - b``. Its `confidence_level` is that of a single interval (0.9833 for three
        comparisons at 0.95).

    Raises
    ------
    ValueError
        If a model is unknown, a pair contains the same model twice or occurs twice, or there is no
        pair.
    TypeError
        If `draws` are not Draws of one score per model.

    Warns
    -----
    UserWarning
        If fewer than 10 draws are expected beyond each end of an interval.

    Notes
    -----
    Bonferroni [1]_: each interval has the level ``1 - (1 - confidence_level) / m``. If models that
    answered the same items were drawn together (``TaskBootstrap.fit_items``), the draws keep their
    correlation. If they were drawn separately, intervals are usually too wide.
    `skbench.stats.resampling.two_sided_p_value` and `skbench.stats.multiplicity.holm` compute
    p-values from the same draws.

    References
    ----------
    .. [1] Longjohn, Gopalan and Casleton (2024). Statistical uncertainty
       quantification for aggregate performance metrics in machine learning
       benchmarks.

    Examples
    --------
    >>> values = np.random.default_rng(0).normal([0.8, 0.7, 0.7], 0.02, (2000, 3))
    >>> draws = Draws(values, pd.Index(["ada", "bob", "cyd"]), "bootstrap")
    >>> d = differences(draws)
    >>> print(round(d.confidence_level, 4))
    0.9833
    >>> d.to_frame()[["value", "low", "high"]].round(1)
             value  low  high
    a   b
    ada bob    0.1  0.0   0.2
        cyd    0.1  0.0   0.2
    bob cyd    0.0 -0.1   0.1
    """
    contrast = _difference_draws(draws, pairs)
    n_pairs = len(contrast.labels[0])
    level, meaning = confidence_level, "single intervals"
    if correction == "bonferroni" and n_pairs > 1:
        level = multiplicity.bonferroni_level(confidence_level, n_pairs)
        meaning = f"Bonferroni: {100 * confidence_level:g}% for all {n_pairs} together"
    _warn_of_thin_tails(len(contrast.values), level)
    return replace(contrast.interval(level), method=f"{draws.kind} differences, {meaning}")


def _difference_draws(draws, pairs):
    """Draws of shape (n_draws, n_pairs), labeled by the pairs."""
    check_one_axis(draws, "aggregate(draws)")
    (models,) = draws.labels
    pairs = list(combinations(models, 2)) if pairs is None else [tuple(pair) for pair in pairs]
    if not pairs:
        raise ValueError(f"pairs is empty for {len(models)} models. Pass at least one pair.")
    refuse_repeats("pairs", pd.Index(pairs))
    at = np.array([models.get_indexer(pair) for pair in pairs])
    if at.shape[1:] != (2,) or (at < 0).any() or (at[:, 0] == at[:, 1]).any():
        raise ValueError(
            f"pairs must contain tuples of two different models, such as {tuple(models[:2])!r}."
        )
    labels = pd.MultiIndex.from_tuples(pairs, names=["a", "b"])
    a, b = draws.values[:, at[:, 0]], draws.values[:, at[:, 1]]
    # Means of equal scores may differ by rounding errors.
    difference = np.where(np.isclose(a, b, rtol=ROUNDING, atol=0), 0.0, a - b)
    return Draws(difference, labels, draws.kind)


def _warn_of_thin_tails(n_draws, level):
    # Rounded, as 1 - .95 is not .05.
    expected = round(n_draws * (1 - level) / 2, 6)
    if expected < _FEWEST_IN_TAIL:
        needed = int(np.ceil(round(2 * _FEWEST_IN_TAIL / (1 - level), 3)))
        warn(
            f"Only {expected:.2g} of {n_draws} draws are expected beyond each end of a "
            f"{100 * level:.5g}% interval. Use at least {needed} draws, or compare fewer pairs."
        )
