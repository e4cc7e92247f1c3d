"""`UnitLevelModel`: estimate new models from a few items of a bank."""

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


def _positions(codes, n):
    """Positions of each of `n` codes."""
    ends = np.cumsum(np.bincount(codes, minlength=n))
    return np.split(np.argsort(codes, kind="stable"), ends[:-1])


@checked
class UnitLevelModel(Documented, BaseEstimator):
    """Estimate the score of new models on all items of a benchmark from a few answers.

    A statistical model predicts the scores on the unanswered items from the answers of earlier
    models (an `ItemBank`). In small-area estimation, it is called a unit-level model.

    When not to use it: if a new model answered all items, or if its items are not in the bank.

    Parameters
    ----------
    bank : ItemBank
        Answers of earlier models.
    model, topic, item : str
        Names of the columns.
    sampled : {"auto", "random", "not random"}, default="auto"
        Whether the answered items are a random sample of their topics. Samples from `choose_items`
        count as random. With "not random", the estimate depends on the statistical model alone.
        "auto" assumes a random sample unless the items are clearly easier or harder than the rest
        of their topics.
    bounds : tuple of two floats, default=None
        Smallest and largest possible score. By default, 0 and 1 if all scores are from 0 to 1.
        If all scores are whole numbers up to 10, they are assumed to be ratings, and the bounds are
        the ends of the rating scale, such as 1 and 5 (see `summarize_items`). Other scores have no
        bounds.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the draws.

    Attributes
    ----------
    models_ : Index of shape (n_models,)
        The new models.
    random_sample_ : dict
        For each model, whether its items are treated as a random sample.
    summary_ : GroupSummary
        Model-assisted estimates by model and topic; see the notes.
    bank_weight_ : dict
        For each model, the posterior mean of the slope of easiness within topics. It is 1 if the
        differences in easiness between items are the same as for earlier models, and 0 if the
        easiness of the items in the bank predicts nothing.

    Raises
    ------
    ValueError
        If columns or scores are missing, if the bank contains a new model under the same name, or
        if the bank contains none of a model's items.

    Warns
    -----
    UserWarning
        If a new model answers like an earlier one, if the bank lacks some items, or if the answered
        items are clearly not a random sample.

    Notes
    -----
    For binary scores, the model is a mixed logistic regression of individual answers, ``logit p = a
    + b_w (d - d_t) + b_b d_t + u' gamma + v_t``. Here `d` is the easiness of the item and `d_t` the
    mean easiness of its topic, with separate slopes within and between topics. `u` are the
    principal components of earlier models' residuals, with coefficients ``gamma ~ N(0, s^2 I)``.
    The topic effects `v_t` have a t distribution. The model is fitted by expectation propagation.
    `s` is estimated, and the scale of `v_t` is integrated out. Other scores have normal errors. See
    `skbench.stats.unit_level`.

    `estimate` returns the mean over all items of the bank: the observed answers plus posterior
    draws of the unobserved answers. If more than 200 items of a topic are unobserved, the sum of
    their scores is drawn instead of each score. If all items were answered, the interval has width
    0.

    The overall score of a model combines the model-based estimate with a model-assisted one
    (difference estimator): the mean prediction plus the mean residual of the answered items. The
    more the two estimates disagree, the more weight the model-assisted estimate receives
    (`skbench.stats.assisted.combined`). The draws are shifted and rescaled to the combined mean and
    variance.

    If scores have known bounds and are not binary, the interval is widened to allow for rare scores
    that the sample missed (see `skbench.stats.worst_case`).

    `summary_` contains a model-assisted estimate for each topic, without borrowing strength from
    other topics. It is the mean prediction without the topic effect, plus the mean residual.

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
        """Fit each new model to its answers.

        Parameters
        ----------
        X : dataframe with n_rows rows
            Columns model, topic (if the bank has topics) and item. If `choose_items` drew the items
            with unequal probabilities, also its column ``inclusion_probability``.
        y : array-like of shape (n_rows,)
            Scores. Several scores of a model for one item are averaged.

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
        self._refuse_unknown_items(rows)
        self._warn_of_units(codes, y)
        answers = self.bank.binary_ and y.min() >= 0 and y.max() <= 1
        self._bounds = self._score_bounds(y, answers)
        self._design = design(self.bank, len(rows.new_topics), None if answers else y)
        self._fits = {
            name: fit_model(self.bank, self._design, rows, y, own, answers)
            for name, own in zip(names, _positions(codes, len(names)), strict=True)
        }
        self._seed = int(as_generator(self.random_state).integers(2**31))
        meaning = (
            "These answers inform the estimate of their topic. The items count toward the score "
            "only if population=... includes them"
        )
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
        """Predict the score of each row, for 0/1 scores the probability of a correct answer.

        Parameters
        ----------
        X : dataframe with n_rows rows
            Columns model, topic and item. The models must have been fitted.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self, "summary_")
        rows = read_rows(self.bank, X, self.model, self.topic, self.item)
        codes = self.models_.get_indexer(rows.model)
        unknown = sorted(set(rows.model[codes < 0]), key=str)
        if unknown:
            raise ValueError(
                f"Model {unknown[0]!r} has not been fitted. Pass some of its answers to fit first."
            )
        new = [name for name in rows.new_topics if name not in self._new_topics]
        if new:
            raise ValueError(f"Topic {new[0]!r} is neither in the bank nor in the fitted rows.")
        names = [*self.bank.topics_, *rows.new_topics]
        topic = pd.Index([*self.bank.topics_, *self._new_topics]).get_indexer(names)[rows.topic]
        out = np.empty(len(rows.model))
        every = zip(self._fits.values(), _positions(codes, len(self._fits)), strict=True)
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
        """Estimate mean scores over all items of the benchmark.

        Parameters
        ----------
        by : str or list of str, default=("model", "topic")
            The model column, the topic column, or both. The result has one row for each of their
            combinations.
        confidence_level : float, default=0.95
            Posterior probability of the intervals.
        population : Series, dict or DataFrame, default=None
            If the benchmark has more items than the bank: the number of its items by topic, or a
            table of its items with the columns topic and item.

        Returns
        -------
        Estimate
            Estimate with the guarantee "posterior".

        Notes
        -----
        If all answers of a model are correct, the upper limit is the largest possible score. If all
        are incorrect, the lower limit is the smallest possible score. Brown, Cai and DasGupta
        (2001) modify Jeffreys' interval in this way.
        """
        totals, by = self._drawn(population, N_DRAWS), self._levels(by)
        draws, least, largest = totals.of([*by.values()])
        low, high = posterior_interval(draws.reshape(len(draws), -1), confidence_level)
        low, high = self._widened_to_extremes(list(by.values()), low, high, least, largest)
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
        """Draw mean scores over all items of the benchmark from their joint posterior.

        Parameters
        ----------
        by : str or list of str, default=("model", "topic")
            As in `estimate`, which computes its intervals from these draws.
        n_draws : int, default=2000
            Number of draws.
        population : Series, dict or DataFrame, default=None
            As in `estimate`.

        Returns
        -------
        Draws
            Draws with axes in the order of `by`. For 0/1 scores each draw is a number of correct
            answers divided by the number of items.
        """
        totals, by = self._drawn(population, n_draws), self._levels(by)
        draws = totals.of([*by.values()])[0]
        return Draws(draws, tuple(self._axes(totals, by)), "posterior")

    def __getstate__(self):
        """Omit the draws, which the seed reproduces."""
        return {key: value for key, value in super().__getstate__().items() if key != "_totals"}

    def _drawn(self, population, n_draws):
        """Draws of the totals; the default ones are kept from `fit`."""
        check_is_fitted(self, "summary_")
        if population is None and n_draws == N_DRAWS:
            if not hasattr(self, "_totals"):
                self._totals = totals_of(self, population_of(self, None), N_DRAWS)
            return self._totals
        return totals_of(self, population_of(self, population), n_draws)

    def _levels(self, by):
        """Map each column of `by` to "model" or "topic"."""
        by = check_by(by)
        levels = {self.model: "model", self.topic: "topic"}
        if not set(by) <= set(levels):
            raise ValueError(f"by must name {self.model!r}, {self.topic!r} or both, got {by!r}.")
        return {name: levels[name] for name in by}

    def _axes(self, totals, by):
        names = {"model": self.models_, "topic": totals.topics}
        return [pd.Index(names[level], name=name) for name, level in by.items()]

    def _widened_to_extremes(self, levels, low, high, least, largest):
        """Interval ends; the extreme totals where all answers were incorrect or all correct."""
        shape = least.shape
        ends = []
        for end, bound, possible in ((low, 0, least), (high, 1, largest)):
            extreme = [bool(np.all(f.y == bound)) and f.is_answers for f in self._fits.values()]
            extreme = np.array(extreme) if "model" in levels else np.array(all(extreme))
            if levels == ["model", "topic"]:
                extreme = extreme[:, None]
            ends.append(np.where(np.broadcast_to(extreme, shape), possible, end.reshape(shape)))
        return tuple(end.ravel() for end in ends)

    def _score_bounds(self, y, answers):
        """Smallest and largest possible score of an item."""
        if self.bounds is not None:
            check_within("scores lie", y, self.bounds)
            return self.bounds
        if answers:
            return 0.0, 1.0
        if self.bank.binary_:  # the new scores have another unit than the earlier ones
            return bounds_of(y) or (-np.inf, np.inf)
        return bounds_of(y, self.bank.scores_) or (-np.inf, np.inf)

    def _warn_of_units(self, codes, y):
        """Warn if new and earlier scores seem to have different units."""
        tops = {"the earlier models": float(np.nanmax(np.abs(self.bank.scores_)))}
        tops |= pd.Series(np.abs(y)).groupby(self.models_[codes]).max().to_dict()
        message = different_units(tops)
        if message is not None:
            warn(message)

    def _refuse_known(self):
        """Raise an error if a new model is in the bank."""
        known = [name for name in self.models_ if name in self.bank.models_]
        if known:
            raise ValueError(
                f"The bank contains the answers of the new model {plain(known[0])!r} itself. Use "
                f"bank.without({known!r})."
            )

    def _refuse_unknown_items(self, rows):
        """Raise an error if the bank contains none of a model's items."""
        with_known = set(rows.model[rows.position >= 0])
        for name in self.models_:
            if name not in with_known:
                own = rows.item[rows.model == name]
                refuse_unknown_items(self.bank, own, f"model {name!r}", ", or exclude the model")
