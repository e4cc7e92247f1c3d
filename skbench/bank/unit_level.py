"""`UnitLevelModel`: new models on a few items of a bank."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skbench._checks import (
    check_bank,
    check_by,
    check_column,
    check_same_index,
    check_within,
    plain,
)
from skbench._documented import Documented
from skbench._random import as_generator
from skbench._types import Bank, Bounds, Count, Level, Names, RandomState, Rows, checked
from skbench._warnings import warn
from skbench.bank._draws import N_DRAWS, totals_of
from skbench.bank._fitted import design, fit_model
from skbench.bank._new_models import features_of, summary_of, warn_of_copies, warn_of_sample
from skbench.bank._population import population_of
from skbench.bank._rows import read_rows, refuse_unknown_items, warn_of_unknown
from skbench.containers import Draws, Estimate
from skbench.items.ranges import bounds_of, different_units
from skbench.stats.intervals.posterior import posterior_interval
from skbench.stats.item_response.unit_prediction import item_scores


def _places(codes, n):
    """Places of each of `n` codes."""
    ends = np.cumsum(np.bincount(codes, minlength=n))
    return np.split(np.argsort(codes, kind="stable"), ends[:-1])


@checked
class UnitLevelModel(Documented, BaseEstimator):
    """New models' scores on all items of a benchmark, from a few items and earlier answers.

    Parameters
    ----------
    bank : ItemBank
        Answers of earlier models.
    model, topic, item : str
        Names of the columns.
    sampled : {"auto", "random", "not random"}, default="auto"
        Whether the items asked are a random sample of their topics (or from `choose_items`). If
        not, estimates rest on the model alone. "auto" assumes so unless they are clearly easier
        or harder than the rest.
    bounds : tuple of two floats, default=None
        Range of the scores by their definition. None: 0 to 1 if all scores lie there, the scale
        that whole numbers show (labels from 1 to 5), else unknown.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the draws.

    Attributes
    ----------
    models_ : Index of shape (n_models,)
        The new models.
    random_sample_ : dict
        By model, whether its items passed as a random sample.
    summary_ : GroupSummary
        Assisted estimates by model and topic, see the notes.
    bank_weight_ : dict
        By model, the posterior mean slope of easiness within topics: 1 where items are as easy
        for the new model as for earlier ones, 0 where the bank predicts nothing.

    Raises
    ------
    ValueError
        If columns or scores are missing, if a new model is in the bank by name, or if none of
        its items are.

    Warns
    -----
    UserWarning
        If a new model answers like an earlier one, if the bank lacks some items, or if the items
        asked are no random sample.

    Notes
    -----
    For right and wrong answers, a mixed logistic model of single answers,
    ``logit p = a + b_w (d - d_t) + b_b d_t + u' gamma + v_t``: easiness within and between
    topics, components of earlier answers with ``gamma ~ N(0, s^2 I)``, and heavy-tailed effects
    of topics (a t distribution). It is fitted by expectation propagation; `s` is estimated, the
    scale of `v` averaged over. Other scores have normal errors. See `skbench.stats.unit_level`.

    `estimate` is about all items of the bank: answers seen, plus draws of the others, which `fit`
    makes (of sums where more than 200 of a topic are left). Ends of intervals are totals that can
    be; where all items were asked they are the score. By model, an
    assisted estimate (mean prediction plus mean residual) takes over as far as it contradicts the
    model (`skbench.stats.assisted.combined`): the draws are moved and scaled to the mean and
    variance of both. Draws of scores that are not 0/1 allow for failures that were not seen, one
    worst case more of each model (`skbench.stats.worst_case`). `summary_` holds difference
    estimates that borrow nothing from other topics: the mean prediction without the topic's own
    effect (the feature ``bank``) plus the mean residual.

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
    >>> bool(e.low[0] < new["score"].mean() < e.high[0]), bool(e.high[0] - e.low[0] < 0.25)
    (True, True)
    """

    def __init__(
        self,
        bank: Bank | None = None,
        *,
        model: str = "model",
        topic: str = "topic",
        item: str = "item",
        sampled: Literal["auto", "random", "not random"] = "auto",
        bounds: Bounds | None = None,
        random_state: RandomState = 0,
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
            Columns model, topic (if the bank has topics) and item, and
            ``inclusion_probability`` if `choose_items` gave unequal ones.
        y : array-like of shape (n_rows,)
            Scores; several of a model on one item are averaged.

        Returns
        -------
        UnitLevelModel
        """
        check_bank(self.bank)
        check_same_index(X=X, y=y)
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
        self._fits = {
            name: fit_model(self.bank, self._design, rows, y, own, answers)
            for name, own in zip(names, _places(codes, len(names)), strict=True)
        }
        self._seed = int(as_generator(self.random_state).integers(2**31))
        only = "they tell of their topic only, and are not part of the estimates"
        meaning = f"{only} unless population=... says so"
        warn_of_unknown(self.bank, rows.item, rows.position, "rows", meaning)
        self.random_sample_, self.bank_weight_ = {}, {}
        features = features_of(self.bank)
        for name, fitted in self._fits.items():
            warn_of_copies(self.bank, name, fitted)
            self.random_sample_[name] = warn_of_sample(features, name, fitted, self.sampled)
            self.bank_weight_[name] = float(fitted.fit.coefficients[1])
        self.summary_ = summary_of(self)
        self._totals = totals_of(self, population_of(self, None), N_DRAWS)
        return self

    def predict(self, X: Rows) -> np.ndarray:
        """Expected score of each row: the probability of a right answer.

        Parameters
        ----------
        X : dataframe with n_rows rows
            Columns model, topic and item; the models must have been fitted.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self, "summary_")
        rows = read_rows(self.bank, X, self.model, self.topic, self.item)
        codes = self.models_.get_indexer(rows.model)
        unknown = sorted(set(rows.model[codes < 0]), key=str)
        if unknown:
            raise ValueError(f"Model {unknown[0]!r} was not fitted: fit it on some items first.")
        new = [name for name in rows.new_topics if name not in self._new_topics]
        if new:
            raise ValueError(f"Topic {new[0]!r} is neither in the bank nor among the items asked.")
        names = [*self.bank.topics_, *rows.new_topics]
        topic = pd.Index([*self.bank.topics_, *self._new_topics]).get_indexer(names)[rows.topic]
        out = np.empty(len(rows.model))
        every = zip(self._fits.values(), _places(codes, len(self._fits)), strict=True)
        for fitted, own in every:
            features, h = self._design.features(rows.position[own], topic[own])
            out[own] = item_scores(fitted.fit, features, topic[own], h)
        return np.clip(self._design.center + self._design.scale * out, *self._bounds)

    def estimate(
        self,
        by: Names = ("model", "topic"),
        confidence_level: Level = 0.95,
        population: pd.Series | None = None,
    ) -> Estimate:
        """Mean scores over all items of the benchmark.

        Parameters
        ----------
        by : str or list of str, default=("model", "topic")
            The model's column, the topic's, or both: one row of the result each.
        confidence_level : float, default=0.95
            Level of the intervals.
        population : Series, dict or DataFrame, default=None
            Number of items of the benchmark by topic, where it is larger than the bank; or a
            table of its items (columns topic and item).

        Returns
        -------
        Estimate
            Guarantee "posterior".

        Notes
        -----
        Intervals of a model whose answers were all right (wrong) end at the largest (least)
        score possible, as Brown, Cai and DasGupta (2001) modify Jeffreys' interval.
        """
        totals, by = self._drawn(population, N_DRAWS), self._levels(by)
        draws, least, largest = totals.of([*by.values()])
        low, high = posterior_interval(draws.reshape(len(draws), -1), confidence_level)
        low, high = self._all_alike(list(by.values()), low, high, least, largest)
        axes = self._axes(totals, by)
        return Estimate(
            value=draws.mean(axis=0).ravel(),
            low=low,
            high=high,
            standard_error=draws.std(axis=0).ravel(),
            confidence_level=confidence_level,
            labels=axes[0] if len(axes) == 1 else pd.MultiIndex.from_product(axes),
            method="unit level",
            guarantee="posterior",
        )

    def sample(
        self,
        by: Names = ("model", "topic"),
        n_draws: Count = N_DRAWS,
        population: pd.Series | None = None,
    ) -> Draws:
        """Joint posterior draws of mean scores over all items of the benchmark.

        Parameters
        ----------
        by : str or list of str, default=("model", "topic")
            As in `estimate`, whose intervals are quantiles of these draws.
        n_draws : int, default=2000
            Number of draws.
        population : Series, dict or DataFrame, default=None
            As in `estimate`.

        Returns
        -------
        Draws
            Axes in the order of `by`: for right and wrong answers, totals over the number of items.
        """
        totals, by = self._drawn(population, n_draws), self._levels(by)
        draws = totals.of([*by.values()])[0]
        return Draws(draws, tuple(self._axes(totals, by)), "posterior")

    def __getstate__(self):
        """Without the draws: the seed gives the same again."""
        return {key: value for key, value in super().__getstate__().items() if key != "_totals"}

    def _drawn(self, population, n_draws):
        """Draws of all totals: those of `fit`, of which all estimates are made."""
        check_is_fitted(self, "summary_")
        if population is None and n_draws == N_DRAWS:
            if not hasattr(self, "_totals"):
                self._totals = totals_of(self, population_of(self, None), N_DRAWS)
            return self._totals
        return totals_of(self, population_of(self, population), n_draws)

    def _levels(self, by):
        """Names of columns asked for, and whether they are those of models or topics."""
        by = check_by(by)
        levels = {self.model: "model", self.topic: "topic"}
        if not set(by) <= set(levels):
            raise ValueError(f"by must name {self.model!r}, {self.topic!r} or both, got {by!r}.")
        return {name: levels[name] for name in by}

    def _axes(self, totals, by):
        names = {"model": self.models_, "topic": totals.topics}
        return [pd.Index(names[level], name=name) for name, level in by.items()]

    def _all_alike(self, levels, low, high, least, largest):
        """Ends where answers were all wrong or all right: nothing, or everything, may be so."""
        shape = least.shape
        ends = []
        for end, bound, possible in ((low, 0, least), (high, 1, largest)):
            alike = [bool(np.all(f.y == bound)) and f.is_answers for f in self._fits.values()]
            alike = np.array(alike) if "model" in levels else np.array(all(alike))
            if levels == ["model", "topic"]:
                alike = alike[:, None]
            ends.append(np.where(np.broadcast_to(alike, shape), possible, end.reshape(shape)))
        return tuple(end.ravel() for end in ends)

    def _score_bounds(self, y, answers):
        """Least and largest score that an item can have."""
        if self.bounds is not None:
            check_within("scores lie", y, self.bounds)
            return self.bounds
        if answers:
            return 0.0, 1.0
        if self.bank.binary_:  # scores of another unit than those of the past
            return bounds_of(y) or (-np.inf, np.inf)
        return bounds_of(y, self.bank.scores_) or (-np.inf, np.inf)

    def _warn_of_units(self, codes, y):
        """Warn if scores look to be in different units."""
        tops = {"the earlier models": float(np.nanmax(np.abs(self.bank.scores_)))}
        tops |= pd.Series(np.abs(y)).groupby(self.models_[codes]).max().to_dict()
        told = different_units(tops)
        if told is not None:
            warn(told)

    def _refuse_known(self):
        """Refuse models of the bank."""
        known = [name for name in self.models_ if name in self.bank.models_]
        if known:
            raise ValueError(
                f"The bank holds the answers of {plain(known[0])!r} itself: they would be taken "
                f"for those of an earlier model. Use bank.without({known!r})."
            )

    def _refuse_strangers(self, rows):
        """Refuse models without a single item of the bank."""
        with_known = set(rows.model[rows.position >= 0])
        for name in self.models_:
            if name not in with_known:
                own = rows.item[rows.model == name]
                refuse_unknown_items(self.bank, own, f"model {name!r}", ", or leave the model out")
