"""`UnitLevelModel`: new models on a few items of a bank."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skbench._checks import (
    check_by,
    check_column,
    check_confidence_level,
    check_option,
    check_within,
    plain,
)
from skbench._types import Bounds, Names, RandomState, Rows
from skbench.bank._design import design
from skbench.bank._fitted import fit_model
from skbench.bank._population import population_of
from skbench.bank._rows import read_rows
from skbench.bank._summary import summary_of
from skbench.bank._targets import warn_of_copies, warn_of_sample
from skbench.containers import Estimate
from skbench.items.ranges import unlike_units
from skbench.stats.item_response.assisted import bounded_interval
from skbench.stats.item_response.unit_prediction import item_scores

if TYPE_CHECKING:
    from skbench.bank.item_bank import ItemBank


SAMPLED = ("auto", "random", "not random")
_LEVELS = ("model", "topic")


class UnitLevelModel(BaseEstimator):
    """New models' scores on all items of a benchmark, from a few and from earlier models' answers.

    Parameters
    ----------
    bank : ItemBank
        What earlier models answered.
    model, topic, item : str
        Names of the columns.
    sampled : {"auto", "random", "not random"}, default="auto"
        Whether the items that were asked are a random sample of those of their topic (or were
        chosen by `choose_items`). If not, only the model speaks, and nothing corrects it.
        "auto" takes them as random, unless they are clearly easier or harder than the rest.
    bounds : tuple of two floats, default=None
        Least and greatest score by its definition: estimates and intervals keep to it. None:
        0 and 1 where all scores lie there, else unknown.
    random_state : int, RandomState, Generator or None, default=None
        Not used: nothing here is random. Accepted as by every estimator on rows.

    Attributes
    ----------
    models_ : Index of shape (n_models,)
        The new models.
    random_sample_ : dict
        Whether the items of each model passed as a random sample.
    summary_ : GroupSummary
        Assisted estimates by model and topic, see the notes.
    bank_weight_ : dict
        Posterior mean of the slope of easiness within topics, by model: 1 where items are as easy
        to the new model as to earlier ones, 0 where the bank says nothing.

    Raises
    ------
    ValueError
        If columns or scores are missing, a new model is in the bank by name, or none of its
        items are.

    Warns
    -----
    UserWarning
        If a new model answers like an earlier one, the bank lacks some items, or the items asked
        are no random sample.

    Notes
    -----
    For right and wrong answers a mixed logistic model with a row per item,
    ``logit p = a + b_w (d - d_t) + b_b d_t + u' gamma + v_t``: easiness within topics and between
    them, components of earlier answers with ``gamma ~ N(0, s^2 I)``, effects of topics with heavy
    tails. It is fitted by expectation propagation; `s` and the scale of `v` are integrated over a
    grid. Other scores have the same predictor and normal errors. See
    `skbench.stats.unit_level`.

    `estimate` is about ALL items of the bank: answers seen, plus expectations of those not asked,
    with the noise of single answers. By model, an assisted estimate (mean prediction plus mean
    residual) takes over as far as it contradicts the model (`skbench.stats.assisted.combined`).

    `summary_` holds difference estimates that do not borrow from other topics: the mean
    prediction without the topic's own effect plus the mean residual of its items asked. That
    prediction is the feature ``bank``, so that every estimator of groups can go on from there.

    When not to use it: where all items were asked, or the bank has other items.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skbench import ItemBank
    >>> rng = np.random.default_rng(0)
    >>> rows = pd.MultiIndex.from_product([range(12), range(300)], names=["model", "item"])
    >>> rows = rows.to_frame(index=False)
    >>> chance = 1 / (1 + np.exp(-rng.normal(0, 2, 300)[rows["item"]] - rows["model"] / 8))
    >>> rows["score"] = rng.binomial(1, chance)
    >>> bank = ItemBank().fit(rows[rows["model"] < 11])
    >>> new = rows[rows["model"] == 11]
    >>> asked = new.sample(40, random_state=0)
    >>> e = UnitLevelModel(bank).fit(asked[["model", "item"]], asked["score"]).estimate(by="model")
    >>> bool(e.low[0] < new["score"].mean() < e.high[0]), bool(e.high[0] - e.low[0] < 0.2)
    (True, True)
    """

    def __init__(
        self,
        bank: ItemBank | None = None,
        *,
        model: str = "model",
        topic: str = "topic",
        item: str = "item",
        sampled: Literal["auto", "random", "not random"] = "auto",
        bounds: Bounds | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.bank = bank
        self.model = model
        self.topic = topic
        self.item = item
        self.sampled = sampled
        self.bounds = bounds
        self.random_state = random_state

    def fit(self, X: Rows, y: ArrayLike) -> Self:
        """Fit the new models to the items that they were asked.

        Parameters
        ----------
        X : dataframe with n_rows rows
            Columns model, topic (where the bank has topics) and item, and
            ``inclusion_probability`` where `choose_items` gave unequal ones.
        y : array-like of shape (n_rows,)
            Scores; several of a model on one item are averaged.

        Returns
        -------
        UnitLevelModel
        """
        check_option("sampled", self.sampled, SAMPLED)
        if self.bank is None:
            raise ValueError("bank is missing: pass ItemBank().fit(past) as bank=...")
        check_is_fitted(self.bank)
        rows = read_rows(self.bank, X, self.model, self.topic, self.item)
        y = check_column("y", y, pd.RangeIndex(len(rows.model)), unit="row")
        self._new_topics = rows.new_topics
        codes, names = pd.factorize(rows.model, sort=True)
        self.models_ = pd.Index(names, name=self.model)
        self._refuse_known()
        self._refuse_strangers(rows)
        self._warn_of_units(codes, y)
        answers = self.bank.binary_ and y.min() >= 0 and y.max() <= 1
        self._bounds = self._score_bounds(y, answers)
        self._design = design(self.bank, len(rows.new_topics), None if answers else y)
        self._fits = {}
        for code, name in enumerate(names):
            own = codes == code
            self._fits[name] = fit_model(self.bank, self._design, rows, y, own, answers)
        self._warn_of_unknown(rows)
        for name in names:
            warn_of_copies(self.bank, name, self._fits[name])
        self.random_sample_ = {
            name: warn_of_sample(self.bank, name, self._fits[name], self.sampled) for name in names
        }
        self.bank_weight_ = {
            name: float(f.fit.weights @ f.fit.coefficients[:, 1]) for name, f in self._fits.items()
        }
        self.summary_ = summary_of(self)
        return self

    def predict(self, X: Rows) -> np.ndarray:
        """Expected score of each row: the probability of a right answer.

        Parameters
        ----------
        X : dataframe with n_rows rows
            Columns model, topic and item; the model is one that was fitted.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self, "summary_")
        rows = read_rows(self.bank, X, self.model, self.topic, self.item)
        unknown = sorted(set(rows.model) - set(self.models_), key=str)
        if unknown:
            raise ValueError(f"Model {unknown[0]!r} was not fitted: fit it on some items first.")
        last = len(self.bank.topics_) + len(self._new_topics)
        new = [rows.new_topics.index(t) for t in rows.new_topics if t not in self._new_topics]
        if new:
            name = rows.new_topics[new[0]]
            raise ValueError(f"Topic {name!r} is neither in the bank nor among the items asked.")
        order = [self._new_topics.index(t) for t in rows.new_topics]
        known = np.arange(len(self.bank.topics_))
        topic = np.concatenate([known, len(known) + np.array(order, dtype=int)])[rows.topic]
        out = np.empty(len(rows.model))
        for name in self.models_:
            own = rows.model == name
            if own.any():
                features, h = self._features(rows.position[own], np.minimum(topic[own], last))
                out[own] = item_scores(
                    self._fits[name].fit, features, topic[own], h, self._fits[name].noise is None
                )
        return np.clip(self._design.center + self._design.scale * out, *self._bounds)

    def estimate(
        self,
        by: Names = ("model", "topic"),
        confidence_level: float = 0.95,
        population: pd.Series | None = None,
    ) -> Estimate:
        """Mean scores over all items of the benchmark.

        Parameters
        ----------
        by : str or list of str, default=("model", "topic")
            The model's column, the topic's, or both.
        confidence_level : float, default=0.95
        population : Series, dict or DataFrame, default=None
            All items of the benchmark, where they are not those of the bank: number of items by
            topic, or a table with the columns topic and item.

        Returns
        -------
        Estimate
            Guarantee "posterior".

        Notes
        -----
        A model whose answers were all right may be right throughout, which no quantile of a
        posterior reaches: its intervals end at the largest score possible, as Brown, Cai and
        DasGupta (2001) modify Jeffreys' interval; likewise where all were wrong.
        """
        check_is_fitted(self, "summary_")
        check_confidence_level(confidence_level)
        by = check_by(by if isinstance(by, str) else list(by))
        levels = {self.model: "model", self.topic: "topic"}
        if not set(by) <= set(levels):
            raise ValueError(f"by must name {self.model!r}, {self.topic!r} or both, got {by!r}.")
        found = population_of(self, population).moments([levels[name] for name in by])
        labels = pd.Index(found.labels[0], name=by[0])
        if len(by) == 2:
            labels = pd.MultiIndex.from_arrays(found.labels, names=by)
        low, high = bounded_interval(
            found.mean, found.variance, found.least, found.largest, confidence_level
        )
        low = np.where(found.all_least, found.least, low)
        high = np.where(found.all_largest, found.largest, high)
        return Estimate(
            value=found.mean,
            low=low,
            high=high,
            standard_error=np.sqrt(found.variance),
            confidence_level=confidence_level,
            labels=labels,
            method="unit level",
            guarantee="posterior",
        )

    def _features(self, position, topic):
        """Features of items, and how much their latent values are drawn to the middle."""
        known = position >= 0
        features = np.where(known[:, None], self._design.bank[position], self._design.topics[topic])
        return features, np.where(known, 1.0, self._design.attenuation)

    def _score_bounds(self, y, answers):
        """Least and largest score that an item can have."""
        if self.bounds is not None:
            check_within("scores lie", y, self.bounds)
            return self.bounds
        if answers:
            return 0.0, 1.0
        seen = self.bank.scores_
        least, largest = min(np.nanmin(seen), y.min()), max(np.nanmax(seen), y.max())
        if 0 <= least and largest <= 1 and not self.bank.binary_:
            return 0.0, 1.0
        return -np.inf, np.inf

    def _warn_of_units(self, codes, y):
        tops = {"the earlier models": np.nanmax(np.abs(self.bank.scores_))}
        tops |= pd.Series(np.abs(y)).groupby(self.models_[codes]).max().to_dict()
        told = unlike_units(tops)
        if told is not None:
            warnings.warn(told, stacklevel=3)

    def _refuse_known(self):
        known = [name for name in self.models_ if name in self.bank.models_]
        if known:
            raise ValueError(
                f"The bank holds the answers of {plain(known[0])!r} itself: they would be taken "
                f"for those of an earlier model. Use bank.without({known!r})."
            )

    def _refuse_strangers(self, rows):
        """Models without a single item of the bank: ids of another kind, most likely."""
        with_known = set(rows.model[rows.position >= 0])
        for name in self.models_:
            if name not in with_known:
                theirs = plain(rows.item[int(np.argmax(rows.model == name))])
                ours = plain(self.bank.items_["item"].iloc[0])
                raise ValueError(
                    f"The bank has none of the items of model {name!r}, such as {theirs!r}; its "
                    f"own are like {ours!r}. Name items, and topics, as the bank does, or leave "
                    "the model out."
                )

    def _warn_of_unknown(self, rows):
        unknown = rows.position < 0
        if unknown.any():
            first = plain(rows.item[int(np.argmax(unknown))])
            warnings.warn(
                f"The bank lacks the items of {int(unknown.sum())} of {len(unknown)} rows, such as "
                f"{first!r}: they tell of their topic only, and are not part of the estimates "
                f"unless population=... says so.{self._nearly_known(rows.item[unknown])}",
                stacklevel=3,
            )

    def _nearly_known(self, items):
        """What unknown ids look like, if the bank has them under another topic or spelling."""
        known = set(map(str, self.bank.items_["item"]))
        if any(str(item) in known for item in items):
            return " It has some of these ids under other topics: are topics named as there?"
        short = {item.lstrip("0") for item in known}
        if any(str(item).lstrip("0") in short for item in items):
            return " Some of these ids differ from its own in leading zeros alone."
        return ""
