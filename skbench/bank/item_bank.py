"""`ItemBank`: what earlier models' answers say about the items of a benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.base import BaseEstimator, clone
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_is_fitted

from skbench._checks import names_of, plain
from skbench._documented import Documented
from skbench._random import as_generator
from skbench._types import Bounds, Count, Label, Names, Path, RandomState, Rows, Whole, checked
from skbench._warnings import warn
from skbench.bank._file import read_bank, write_bank
from skbench.bank._joint import joint_draws
from skbench.bank._past import read_past
from skbench.bank._rows import positions_in
from skbench.containers import Draws
from skbench.stats.item_response import easiness as formulas

_ROUNDING = 1e-9  # relative
_LEAST_SPREAD = 0.05  # of p (1 - p): residuals of items that nearly all solve stay bounded


@checked
class ItemBank(Documented, BaseEstimator):
    """What earlier models' answers say about the items of a benchmark.

    Parameters
    ----------
    model, topic, item, score : str
        Names of the columns. The topic may be absent; item ids are unique within a topic.
    exclude : sequence of str, default=()
        Models to leave out: the one to be evaluated, and its near-copies.
    n_components : int, default=32
        Largest number of components to keep.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the decomposition, which is random with more than 1500 models only.

    Attributes
    ----------
    items_ : DataFrame of shape (n_items, 2)
        Topic and item, sorted; the topic is ``"all"`` if there are none.
    models_ : Index of shape (n_models,)
    topics_ : Index of shape (n_topics,)
    topic_codes_ : ndarray of int of shape (n_items,)
    scores_ : ndarray of shape (n_items, n_models)
        Mean scores over runs; nan where missing.
    easiness_ : ndarray of shape (n_items,)
        Log odds of a right answer by an average model; expected score if not `binary_`.
    ability_ : ndarray of shape (n_models,)
        Log odds of a right answer to an average item; mean score if not `binary_`.
    components_ : ndarray of shape (n_items, n_components)
        Components of the answers beyond easiness.
    n_answers_ : ndarray of shape (n_items,)
        Number of models that answered each item.
    binary_ : bool
        Whether all scores are 0 or 1.

    Raises
    ------
    ValueError
        If columns, scores or names are missing, or no model is left.

    Warns
    -----
    UserWarning
        If several models gave the same answers throughout, or `exclude` names no model.

    Notes
    -----
    With complete 0/1 answers easiness is ``logit((k + 1) / (M + 2))``, with gaps the posterior
    mode of a Rasch model. Components are singular vectors times values of the standardized
    residuals (`skbench.stats.easiness.residual_components`): a kernel, linear in the earlier
    answers, that finds the earlier models most like a new one.

    When not to use it: if new models are asked other items.

    Examples
    --------
    >>> import pandas as pd
    >>> past = pd.DataFrame({"model": ["ada"] * 3 + ["bob"] * 3, "topic": "law",
    ...                      "item": [1, 2, 3] * 2, "score": [1, 1, 0, 1, 0, 0]})
    >>> bank = ItemBank().fit(past)
    >>> bank.easiness_.round(2)
    array([ 1.1,  0. , -1.1])
    """

    def __init__(
        self,
        *,
        model: str = "model",
        topic: str = "topic",
        item: str = "item",
        score: str = "score",
        exclude: Names = (),
        n_components: Whole = 32,
        random_state: RandomState = None,
    ) -> None:
        self.model = model
        self.topic = topic
        self.item = item
        self.score = score
        self.exclude = exclude
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, past_items: Rows | Path, y: None = None) -> Self:
        """Learn from item rows of earlier models.

        Parameters
        ----------
        past_items : dataframe, str or path-like
            One row per (model, item), in any dataframe that narwhals reads, or the path of
            Parquet files. Gaps are allowed; several rows of a model on an item are averaged.
        y : None
            Ignored.

        Returns
        -------
        ItemBank
        """
        exclude = names_of(self.exclude)
        columns = (self.model, self.topic, self.item, self.score)
        return self._learned(*read_past(past_items, *columns, exclude))

    def _learned(self, scores, items, models, binary):
        """The bank of a matrix of scores."""
        self._keep(scores, items, models, binary)
        if not binary:
            found = formulas.mean_easiness(scores)
        elif np.all(self.n_answers_ == len(models)):
            found = formulas.smoothed_easiness(scores)
        else:
            found = formulas.rasch_easiness(scores)
        self.easiness_, self.ability_ = found
        self.components_ = formulas.residual_components(
            scores, self._expected, self._spread(), self.n_components, self._decompose
        )
        self._warn_of_copies()
        return self

    def _keep(self, scores, items, models, binary):
        """Store the answers and what is counted in them."""
        self.scores_, self.items_, self.models_, self.binary_ = scores, items, models, binary
        self.topic_codes_, topics = pd.factorize(items["topic"])
        self.topics_ = pd.Index(topics, name="topic")
        self.n_answers_ = np.isfinite(scores).sum(axis=1)

    def _expected(self, rows):
        """Expected scores of some items, from easiness and ability."""
        center = self.easiness_.mean()
        both = self.easiness_[rows, None] + self.ability_ - center
        return expit(both) if self.binary_ else both

    def _spread(self):
        """Standard deviation of a score around the expected one, as a function of that."""
        if self.binary_:
            return lambda expected: np.sqrt(expected * (1 - expected) + _LEAST_SPREAD)
        # One for all, as good as 1 but that no unit is too large: rounding is none.
        spread = np.nanstd(self.scores_)
        unit = spread if spread > _ROUNDING * np.nanmax(np.abs(self.scores_)) else 1.0
        return lambda _: unit

    def _decompose(self, residuals, rank):
        """Singular vectors times values."""
        seed = int(as_generator(self.random_state).integers(2**31))
        vectors, values, _ = randomized_svd(residuals, rank, random_state=seed)
        return vectors * values

    def without(self, models: Label | Sequence[Label]) -> ItemBank:
        """The bank of the other models.

        Parameters
        ----------
        models : sequence of str
            Models to exclude.

        Returns
        -------
        ItemBank
        """
        check_is_fitted(self)
        models = names_of(models)
        left = ~self.models_.isin(models)
        unknown = [name for name in models if name not in self.models_]
        if unknown or not left.any():
            raise ValueError(
                f"The bank has no model {unknown[0]!r}."
                if unknown
                else "No model would be left in the bank."
            )
        scores = self.scores_[:, left]
        answered = np.isfinite(scores).any(axis=1)
        bank = clone(self).set_params(exclude=())
        items = self.items_[answered].reset_index(drop=True)
        return bank._learned(scores[answered], items, self.models_[left], self.binary_)

    def transform(self, items: pd.DataFrame) -> pd.DataFrame:
        """Features of items: easiness and components.

        Parameters
        ----------
        items : DataFrame
            With the column of the item and, if items are not unique without it, the topic.

        Returns
        -------
        DataFrame of shape (n_rows, 1 + n_components)
            Items that the bank lacks have the mean easiness of their topic (of all items, if
            the topic is new) and components 0.
        """
        check_is_fitted(self)
        position, code = positions_in(self, items, self.topic, self.item)
        sums = np.bincount(self.topic_codes_, self.easiness_, len(self.topics_))
        mean = np.append(sums / np.bincount(self.topic_codes_), self.easiness_.mean())
        known = position >= 0
        columns = {"easiness": np.where(known, self.easiness_[position], mean[code])}
        for j, column in enumerate(self.components_.T):
            columns[f"component {j}"] = np.where(known, column[position], 0.0)
        return pd.DataFrame(columns, index=getattr(items, "index", None))

    def sample(
        self,
        items: Rows,
        by: Names = "model",
        n_draws: Count = 2000,
        *,
        population: pd.Series | None = None,
        bounds: Bounds | None = None,
        random_state: RandomState = 0,
    ) -> Draws:
        """Joint draws of models' mean scores over all items, from their answers to some.

        Parameters
        ----------
        items : dataframe
            One row per answer, with the columns of this bank. The scores of a model of which the
            bank holds all answers are known; other models that it holds are left out of it.
        by : str or list of str, default="model"
            The model's column, the topic's, or both.
        n_draws : int, default=2000
            Number of draws.
        population : Series, dict or DataFrame, default=None
            As in `UnitLevelModel.estimate`.
        bounds : tuple of two floats, default=None
            As of `UnitLevelModel`.
        random_state : int, RandomState, Generator or None, default=0
            Seed of the draws.

        Returns
        -------
        Draws
            Axes in the order of `by`. Those of new models are `UnitLevelModel.sample`'s.

        Raises
        ------
        ValueError
            As `UnitLevelModel`, or if `population` has items that the bank lacks and a model is
            known by the bank alone.

        Warns
        -----
        UserWarning
            As `UnitLevelModel`.
        """
        check_is_fitted(self)
        return joint_draws(self, items, by, n_draws, population, bounds, random_state)

    def save(self, path: Path) -> None:
        """Write the bank to one Parquet file.

        Parameters
        ----------
        path : str or path-like
            Name of the file. Needs pyarrow.
        """
        check_is_fitted(self)
        write_bank(self, path)

    @classmethod
    def load(cls, path: Path) -> ItemBank:
        """Read a bank that `save` wrote.

        Parameters
        ----------
        path : str or path-like
            Name of the file.

        Returns
        -------
        ItemBank
        """
        return read_bank(cls, path)

    def _warn_of_copies(self):
        """Warn of models with the same answers throughout."""
        seen = {}
        for name, column in zip(self.models_, self.scores_.T, strict=True):
            seen.setdefault(hash(column.tobytes()), []).append(name)
        copies = max(seen.values(), key=len)
        if len(copies) > 1:
            warn(
                f"{len(copies)} earlier models gave the same answers throughout, such as "
                f"{plain(copies[0])!r} and {plain(copies[1])!r}: they count as several. Exclude "
                "all but one."
            )

    def __repr__(self):
        if not hasattr(self, "scores_"):
            return super().__repr__()
        missing = 1 - self.n_answers_.sum() / self.scores_.size
        kind = "right or wrong" if self.binary_ else "scores"
        topics = f"{len(self.topics_)} topics" if len(self.topics_) > 1 else "no topics"
        lines = [
            f"ItemBank of {len(self.items_)} items in {topics}, answered by "
            f"{len(self.models_)} earlier models ({kind}; {100 * missing:.1f}% missing)"
        ]
        low, high = np.nanmin(means := np.nanmean(self.scores_, axis=0)), np.nanmax(means)
        lines.append(
            f"their mean scores range from {low:.3g} to {high:.3g}; "
            f"{self.components_.shape[1]} components beyond easiness"
        )
        if len(self.models_) < 4:
            lines.append("few models: easiness is rough, and says little of a model unlike them")
        return "\n".join(lines)
