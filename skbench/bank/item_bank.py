"""`ItemBank`: the answers of earlier models to the items of a benchmark."""

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
from skbench.bank._earlier import read_earlier
from skbench.bank._file import read_bank, write_bank
from skbench.bank._joint import joint_draws
from skbench.bank._rows import positions_in
from skbench.containers import Draws
from skbench.stats.item_response import easiness as formulas

_ROUNDING = 1e-9  # relative
_LEAST_VARIANCE = 0.05  # added to p (1 - p), to bound the residuals of items that nearly all solve


@checked
class ItemBank(Documented, BaseEstimator):
    """Store earlier models' answers, so that new models need to answer only a few items.

    `fit` estimates the easiness of every item and the correlations between items. `UnitLevelModel`
    uses the fitted bank to estimate a new model's score on the whole benchmark from a few items.

    When not to use it: if the new models answered items that are not in the bank.

    Parameters
    ----------
    model, topic, item, score : str
        Names of the columns. The topic column is optional. Item ids must be unique within a topic.
    exclude : sequence of str, default=()
        Models to exclude, such as the model to be evaluated and near-copies of it.
    n_components : int, default=32
        Maximum number of principal components in `components_`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the randomized singular value decomposition, which is used only with more than
        1500 models.

    Attributes
    ----------
    items_ : DataFrame of shape (n_items, 2)
        Topic and item, sorted. The topic is ``"all"`` if the data have no topics.
    models_ : Index of shape (n_models,)
        Names of the earlier models.
    topics_ : Index of shape (n_topics,)
        Names of the topics.
    topic_codes_ : ndarray of int of shape (n_items,)
        Position of each item's topic in `topics_`.
    scores_ : ndarray of shape (n_items, n_models)
        Mean scores over repeated runs; nan if a score is missing.
    easiness_ : ndarray of shape (n_items,)
        Log odds that an average model answers the item correctly (the negative of the difficulty
        in item response theory). For scores other than 0 and 1, the expected score.
    ability_ : ndarray of shape (n_models,)
        Log odds that the model answers an average item correctly. For scores other than 0 and 1,
        the mean score.
    components_ : ndarray of shape (n_items, n_components)
        Principal components of the residuals, after easiness and ability are removed.
    n_answers_ : ndarray of shape (n_items,)
        Number of models that answered each item.
    binary_ : bool
        Whether all scores are 0 or 1.

    Raises
    ------
    ValueError
        If columns, scores or names are missing, or if all models are excluded.

    Warns
    -----
    UserWarning
        If several models gave identical answers, or if `exclude` names an unknown model.

    Notes
    -----
    With complete 0/1 answers, the easiness of an item that `k` of `M` models solve is ``logit((k +
    1) / (M + 2))``. With missing answers it is the posterior mode of a Rasch model.

    The components are the left singular vectors of the standardized residuals, multiplied by their
    singular values (`skbench.stats.easiness.residual_components`).

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
        """Fit the bank to the answers of earlier models.

        Parameters
        ----------
        past_items : dataframe, str or path-like
            One row per model and item, in any dataframe that narwhals supports, or the path of
            Parquet files. Answers may be missing. Several rows of a model for one item are
            averaged.
        y : None
            Ignored.

        Returns
        -------
        ItemBank
        """
        exclude = names_of(self.exclude)
        columns = (self.model, self.topic, self.item, self.score)
        return self._learned(*read_earlier(past_items, *columns, exclude))

    def _learned(self, scores, items, models, binary):
        """Compute easiness, ability and components from a matrix of scores."""
        self._keep(scores, items, models, binary)
        if not binary:
            found = formulas.mean_easiness(scores)
        elif np.all(self.n_answers_ == len(models)):
            found = formulas.smoothed_easiness(scores)
        else:
            found = formulas.rasch_easiness(scores)
        self.easiness_, self.ability_ = found
        self.components_ = formulas.residual_components(
            scores, self._expected, self._deviation(), self.n_components, self._decompose
        )
        self._warn_of_copies()
        return self

    def _keep(self, scores, items, models, binary):
        """Store the answers and their counts."""
        self.scores_, self.items_, self.models_, self.binary_ = scores, items, models, binary
        self.topic_codes_, topics = pd.factorize(items["topic"])
        self.topics_ = pd.Index(topics, name="topic")
        self.n_answers_ = np.isfinite(scores).sum(axis=1)

    def _expected(self, rows):
        """Expected scores of some items, given easiness and ability."""
        center = self.easiness_.mean()
        both = self.easiness_[rows, None] + self.ability_ - center
        return expit(both) if self.binary_ else both

    def _deviation(self):
        """Function that maps an expected score to the standard deviation of the score."""
        if self.binary_:
            return lambda expected: np.sqrt(expected * (1 - expected) + _LEAST_VARIANCE)
        # Any constant would do. This one is independent of the units of the scores, and variation
        # within rounding error counts as none.
        deviation = np.nanstd(self.scores_)
        unit = deviation if deviation > _ROUNDING * np.nanmax(np.abs(self.scores_)) else 1.0
        return lambda _: unit

    def _decompose(self, residuals, rank):
        """Left singular vectors times singular values."""
        seed = int(as_generator(self.random_state).integers(2**31))
        vectors, values, _ = randomized_svd(residuals, rank, random_state=seed)
        return vectors * values

    def without(self, models: Label | Sequence[Label]) -> ItemBank:
        """Return a bank without some of the models.

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
                else "The bank would have no model left. Exclude fewer models."
            )
        scores = self.scores_[:, left]
        answered = np.isfinite(scores).any(axis=1)
        bank = clone(self).set_params(exclude=())
        items = self.items_[answered].reset_index(drop=True)
        return bank._learned(scores[answered], items, self.models_[left], self.binary_)

    def transform(self, items: pd.DataFrame) -> pd.DataFrame:
        """Return features of items: easiness and components.

        Parameters
        ----------
        items : DataFrame
            A table with the item column and, if item ids repeat between topics, the topic column.

        Returns
        -------
        DataFrame of shape (n_rows, 1 + n_components)
            Items that are not in the bank get the mean easiness of their topic and components of 0.
            If their topic is not in the bank either, they get the mean easiness of all items.
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
        """Draw mean scores over all items jointly for several models.

        Parameters
        ----------
        items : dataframe
            One row per answer, with the columns of this bank. If the bank has all answers of a
            model, its scores are known and have no sampling error. Any other model in `items` is
            removed from the bank before the fit.
        by : str or list of str, default="model"
            The model column, the topic column, or both.
        n_draws : int, default=2000
            Number of draws.
        population : Series, dict or DataFrame, default=None
            As in `UnitLevelModel.estimate`.
        bounds : tuple of two floats, default=None
            As in `UnitLevelModel`.
        random_state : int, RandomState, Generator or None, default=0
            Seed of the draws.

        Returns
        -------
        Draws
            Draws with axes in the order of `by`. The draws of new models are those of
            `UnitLevelModel.sample`.

        Raises
        ------
        ValueError
            As in `UnitLevelModel`. Also if `population` has items that are not in the bank while a
            model in `items` is known from the bank only.

        Warns
        -----
        UserWarning
            As in `UnitLevelModel`.
        """
        check_is_fitted(self)
        return joint_draws(self, items, by, n_draws, population, bounds, random_state)

    def save(self, path: Path) -> None:
        """Write the bank to a Parquet file.

        Parameters
        ----------
        path : str or path-like
            Name of the file. Saving requires pyarrow.
        """
        check_is_fitted(self)
        write_bank(self, path)

    @classmethod
    def load(cls, path: Path) -> ItemBank:
        """Read a bank that was written by `save`.

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
        """Warn if several models gave identical answers."""
        seen = {}
        for name, column in zip(self.models_, self.scores_.T, strict=True):
            seen.setdefault(hash(column.tobytes()), []).append(name)
        copies = max(seen.values(), key=len)
        if len(copies) > 1:
            warn(
                f"{len(copies)} earlier models gave identical answers, such as "
                f"{plain(copies[0])!r} and {plain(copies[1])!r}. Each of them counts as a separate "
                "model. Exclude all but one."
            )

    def __repr__(self):
        if not hasattr(self, "scores_"):
            return super().__repr__()
        missing = 1 - self.n_answers_.sum() / self.scores_.size
        kind = "0/1 scores" if self.binary_ else "scores"
        topics = f"{len(self.topics_)} topics" if len(self.topics_) > 1 else "no topics"
        lines = [
            f"ItemBank of {len(self.items_)} items in {topics}, answered by "
            f"{len(self.models_)} earlier models ({kind}; {100 * missing:.1f}% missing)"
        ]
        low, high = np.nanmin(means := np.nanmean(self.scores_, axis=0)), np.nanmax(means)
        lines.append(
            f"mean scores of the models: {low:.3g} to {high:.3g}; "
            f"{self.components_.shape[1]} components beyond easiness"
        )
        if len(self.models_) < 4:
            lines.append("fewer than 4 models: easiness is imprecise, above all for other kinds")
        return "\n".join(lines)
