"""`items_needed`: the number of items that a new model must answer."""

from __future__ import annotations

import warnings
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from skbench._checks import check_bank
from skbench._printed import Printed, PrintedTable
from skbench._progress import steps
from skbench._random import as_generator
from skbench._types import Bank, Count, Level, Positive, RandomState, checked
from skbench.bank.choose import choose_items
from skbench.bank.unit_level import UnitLevelModel

_SHARES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7)  # sample sizes to try, as shares of the bank
_FEWEST = 20  # smallest sample size to try


class ItemsNeeded(NamedTuple):
    """Numbers of items needed, and the half widths from which they follow.

    Attributes
    ----------
    n_items : int
        Number of items that a new model must answer.
    n_per_topic : float
        Number of items per topic.
    half_widths : DataFrame
        Median half widths by number of items, with the columns ``model`` (whole benchmark) and
        ``topic``.
    """

    n_items: int
    n_per_topic: float
    half_widths: pd.DataFrame

    def _printed(self):
        number = f"{self.n_items} items, {self.n_per_topic:.3g} per topic"
        return [f"Items needed: {number}; median half widths:", PrintedTable(self.half_widths)]

    __repr__, _repr_html_ = Printed.__repr__, Printed._repr_html_


@checked
def items_needed(
    bank: Bank,
    half_width: Positive = 0.02,
    by: Literal["model", "topic"] = "model",
    *,
    n_models: Count = 3,
    confidence_level: Level = 0.95,
    random_state: RandomState = None,
) -> ItemsNeeded:
    """Number of items needed to estimate a new model's score with a given half width.

    When not to use it: for a model that differs from all earlier ones, because it needs more items.

    Parameters
    ----------
    bank : ItemBank
        Fitted item bank with at least two models.
    half_width : float, default=0.02
        Required half width of the interval, in score units.
    by : {"model", "topic"}, default="model"
        Whether `half_width` is required for the score of the whole benchmark, or for the median
        topic.
    n_models : int, default=3
        Number of earlier models that are treated as new, one after the other. They are chosen to
        cover the range of abilities.
    confidence_level : float, default=0.95
        Confidence level of the intervals.
    random_state : int, RandomState, Generator or None, default=None
        Source of the samples of items.

    Returns
    -------
    ItemsNeeded

    Raises
    ------
    ValueError
        If the half width is not positive, or the bank has only one model or too few items.

    Notes
    -----
    Each chosen model is removed from the bank and treated as new. For this model, `choose_items`
    draws samples of 2% to 70% of the items. Between sample sizes `n`, the log of the half width is
    interpolated linearly in ``log(1 / n - 1 / N)``, where `N` is the number of items of the bank.
    The result never exceeds `N`.

    Examples
    --------
    >>> from skbench import ItemBank, make_items
    >>> past = make_items(n_models=6, n_topics=4, n_items=50, random_state=0).items
    >>> found = items_needed(ItemBank().fit(past), 0.05, n_models=1, random_state=0)
    >>> 20 <= found.n_items <= 200
    True
    """
    check_bank(bank)
    if len(bank.models_) < 2:
        raise ValueError(
            "The bank has only one model, but items_needed treats one as new and needs another. "
            "Fit a bank with at least two models."
        )
    rng = as_generator(random_state)
    order = np.argsort(bank.ability_, kind="stable")
    places = np.linspace(0, 1, n_models + 2)[1:-1] * (len(order) - 1)
    rows = []
    tried = np.unique(order[np.round(places).astype(int)])
    for model in steps(tried, "earlier models"):
        rows += _tried(bank, bank.models_[model], by, half_width, confidence_level, rng)
    if not rows:
        raise ValueError(
            f"The bank has {len(bank.items_)} items, which is too few to try samples of "
            f"{_FEWEST} items."
        )
    table = pd.DataFrame(rows).groupby("n_items").median().sort_index()
    n_items = _crossing(table[by], half_width, len(bank.items_))
    return ItemsNeeded(n_items, n_items / len(bank.topics_), table)


def _tried(bank, name, by, half_width, confidence_level, rng):
    """Half widths for one model at increasing sample sizes, until the target is reached."""
    scores = bank.scores_[:, bank.models_.get_loc(name)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        others = bank.without(name)
    scores = pd.Series(scores, pd.MultiIndex.from_frame(bank.items_))
    n_left = len(others.items_)
    sizes = {max(_FEWEST, round(share * n_left)) for share in _SHARES}
    for n_items in sorted(n for n in sizes if n < n_left):
        chosen = choose_items(others, n_items, random_state=rng)
        y = scores.loc[pd.MultiIndex.from_frame(chosen[["topic", "item"]])].to_numpy()
        known = np.isfinite(y)
        if not known.any():
            continue
        X = chosen[known].assign(model=name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = UnitLevelModel(others, sampled="random").fit(X, y[known])
        row = {"n_items": n_items}
        for level in ("model", "topic"):
            e = fitted.estimate(by=level, confidence_level=confidence_level)
            row[level] = float(np.median(e.high - e.low) / 2)
        yield row
        if row[by] < half_width:
            return


def _crossing(half_widths, wanted, n_bank):
    """Number of items at which the target half width is reached."""
    n = half_widths.index.to_numpy(dtype=float)
    width = np.minimum.accumulate(half_widths.to_numpy())
    if wanted >= width[0]:
        return int(n[0])
    # Half widths are about proportional to the root of 1 / n - 1 / N, which is 0 for n = N.
    left = np.log(1 / n - 1 / n_bank)
    if wanted >= width[-1]:
        at = np.interp(-np.log(wanted), -np.log(width), left)
    else:
        at = left[-1] + 2 * np.log(wanted / width[-1])
    return min(n_bank, int(np.ceil(1 / (np.exp(at) + 1 / n_bank))))
