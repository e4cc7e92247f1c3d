"""Ratings of models from pairwise votes."""

from __future__ import annotations

from functools import partial
from typing import Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import binom
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from skbench import _checks
from skbench._documented import Documented
from skbench._types import Level, Names, Rows, checked
from skbench._warnings import warn
from skbench.comparison import _votes
from skbench.comparison._comparison import POWER
from skbench.comparison.leaderboards import NO_BOUNDS, Leaderboard
from skbench.comparison.ranks import sets_of_verdicts, tied
from skbench.containers import Estimate
from skbench.stats.intervals.means import t_interval
from skbench.stats.ranking import bradley_terry
from skbench.stats.ranking.multiplicity import bonferroni_level
from skbench.stats.ranking.rank_sets import single_step

Scale = Literal["logit", "elo"]
_SCALES = {
    "logit": (0.0, 1.0),
    "elo": (1000.0, 400 / np.log(10)),
}  # value of a rating of 0, and size of a logit
_STANDINGS = {np.inf: "never lost", -np.inf: "never won"}


@checked
class BradleyTerry(Documented, ClassifierMixin, BaseEstimator):
    """Bradley-Terry ratings of models from pairwise votes, with intervals.

    Parameters
    ----------
    model_a, model_b : str, default="model_a", "model_b"
        Columns of `X` with the names of the two models of a vote.
    covariates : str or list of str, default=None
        Numeric columns that may influence a vote, coded as differences (a minus b). An example is
        the difference in answer length. Ratings refer to votes with all covariates 0.
    position : bool, default=False
        Whether to estimate the advantage of being shown first. `model_a` must always have been
        shown first. Ratings then refer to votes without this advantage.
    ties : {"half", "davidson"}, default="half"
        Whether a tie is half a win for each model, or an outcome with its own probability [2]_.
    judge : str, default=None
        Column of `X` with the verdict of an LLM judge on every pair, coded in the same way as `y`.
        `y` may then be missing for some pairs. The ratings still refer to human votes. The more the
        judge agrees with humans, the smaller the variance of the ratings [3]_. Requires
        ``ties="half"``.

    Attributes
    ----------
    models_ : Index of length n_models
        Names of the models, the best first.
    ratings_ : Series of length n_models
        Ratings in logits, with mean 0; nan if not finite. The log odds that one model beats
        another equal the difference of their ratings.
    covariance_ : DataFrame of shape (n_models, n_models)
        Sandwich covariance of the ratings.
    df_ : Series of length n_models
        Degrees of freedom of the ratings.
    coef_ : DataFrame of shape (n_covariates, 2)
        Coefficient and standard error of each covariate, and of "position".
    standing_ : Series of length n_models
        0 for a finite rating, inf for a model that never lost to the others, and -inf for a model
        that never won. nan for a model without direct or indirect comparisons with the others.
    wins_ : DataFrame of shape (n_models, n_models)
        Number of human votes that the model in the row won against the model in the column. A tie
        counts as half a win.
    log_ties_ : float
        Logarithm of Davidson's parameter; -inf with ``ties="half"`` or without ties.
    unit_ : {"votes", "clusters"}
        Whether the standard errors treat votes or clusters as independent.
    lambda_ : float
        Weight of the judge's verdicts, from 0 (ignored) to 1 (weighted like human votes, after
        correction for bias).
    effective_sample_size_ : float
        Number of human votes that would give the same precision without a judge.
    classes_ : ndarray
        Outcomes for `model_a`: 0 (lost), 1 (won), and with Davidson's ties 0.5.

    See Also
    --------
    leaderboard : Rank models by their scores on items.

    Notes
    -----
    The ratings are the coefficients of a logistic regression of the outcome on the two models [1]_
    (`skbench.stats.bradley_terry.fit_ratings`). Standard errors use the sandwich estimator, by
    cluster if given. Standard errors remain valid if votes in a cluster depend on each other, and
    if preferences are intransitive. With few clusters, intervals are wider.

    A model that never lost, or never won, against the others has an infinite rating. A model
    without direct or indirect comparisons with the others has no rating. These ratings are nan, and
    `fit` warns. Without clusters and covariates, pairs with such a model are compared by exact sign
    tests of ``wins_`` instead of t tests.

    With a judge, the human votes must be a random sample of all pairs. The judge does not affect
    the degrees of freedom, nor which ratings are finite.

    When not to use it:

    - If answers have individual scores. Use `leaderboard`.
    - For a table of vote counts. First convert the table to one row per vote.
    - With a judge in `GridSearchCV`, because `GridSearchCV` needs the outcomes of all votes.

    References
    ----------
    .. [1] Bradley and Terry (1952). Rank analysis of incomplete block designs: the method of
       paired comparisons. Biometrika 39, 324-345.
    .. [2] Davidson (1970). On extending the Bradley-Terry model to accommodate ties in paired
       comparison experiments. Journal of the American Statistical Association 65, 317-328.
    .. [3] Angelopoulos, Duchi and Zrnic (2023). PPI++: Efficient Prediction-Powered Inference.

    Examples
    --------
    >>> import pandas as pd
    >>> votes = pd.DataFrame({"model_a": ["ada"] * 30 + ["bob"] * 30, "model_b": "cyd"})
    >>> winner = ["ada"] * 24 + ["cyd"] * 6 + ["bob"] * 14 + ["tie"] * 4 + ["cyd"] * 12
    >>> model = BradleyTerry().fit(votes, winner)
    >>> model.ratings_.round(2).to_dict()
    {'ada': 0.88, 'bob': -0.37, 'cyd': -0.51}
    >>> model.leaderboard(scale="elo").to_frame()[["rank_low", "rank_high", "ties"]]
           rank_low  rank_high ties
    model
    ada           1          2    a
    bob           1          3   ab
    cyd           2          3    b
    """

    __metadata_request__fit = {"cluster": True}

    def __init__(
        self,
        model_a: str = "model_a",
        model_b: str = "model_b",
        *,
        covariates: Names | None = None,
        position: bool = False,
        ties: Literal["half", "davidson"] = "half",
        judge: str | None = None,
    ) -> None:
        self.model_a = model_a
        self.model_b = model_b
        self.covariates = covariates
        self.position = position
        self.ties = ties
        self.judge = judge

    def fit(self, X: Rows, y: ArrayLike, cluster: ArrayLike | None = None) -> Self:
        """Estimate the ratings.

        Parameters
        ----------
        X : dataframe of shape (n_votes, n_columns)
            One row per vote, with columns for the two models, the covariates and the verdicts.
        y : array-like of shape (n_votes,)
            Winner as a number for `model_a` (1 won, 0.5 tied, 0 lost), as a model name, or as
            "model_a" or "model_b" (or the column names); "tie" for ties. With a judge, nan, None
            or "" for pairs without a human vote.
        cluster : array-like of shape (n_votes,), default=None
            Clusters of dependent votes, such as the prompt or the voter.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If columns, names or verdicts are missing, an outcome is unknown or ambiguous (such as
            1 for models named 0 and 1), a model is compared with itself, no two models are
            comparable, covariates are collinear with the models, or a judge is combined with
            ties="davidson".

        Warns
        -----
        UserWarning
            If ratings are not finite.
        """
        _checks.check_same_index(X=X, y=y, cluster=cluster)
        if self.judge is not None and self.ties == "davidson":
            raise ValueError("ties='davidson' does not support judge=. Pass ties='half'.")
        columns = {"covariates": self._covariates(), "position": self.position}
        votes, names = _votes.votes_of(X, self._models(), y, cluster, judge=self.judge, **columns)
        found = bradley_terry.fit_ratings(votes, len(names), self.ties == "davidson")
        self.unit_ = "votes" if cluster is None else "clusters"
        self._store(found, votes, names)
        for message in self._not_finite():
            warn(message)
        return self

    def predict_proba(self, X: Rows) -> np.ndarray:
        """Estimate the probabilities of the outcomes of votes.

        Parameters
        ----------
        X : dataframe of shape (n_votes, n_columns)
            The columns of `fit`.

        Returns
        -------
        ndarray of shape (n_votes, n_classes)
            Probabilities in the order of ``classes_``. With ``ties="half"``, half of the
            probability of a tie is added to that of a win.

        Raises
        ------
        ValueError
            If a model was not in `fit`, or its rating is not finite.
        """
        check_is_fitted(self)
        rows = _votes.vote_rows(X, self._models(), self._covariates())
        a, b = (self.ratings_.reindex(rows[name]).to_numpy() for name in self._models())
        _votes.refuse_first(
            np.isnan(a - b), "votes have a model without a finite rating", rows.index
        )
        d = (
            a
            - b
            + _votes.features_of(rows, self._covariates(), self.position) @ self.coef_["value"]
        )
        found = bradley_terry.outcome_chances(d, self.log_ties_).T
        return found if len(self.classes_) == 3 else found[:, [0, 2]]

    def predict(self, X: Rows) -> np.ndarray:
        """Predict the most likely outcome of votes, as in ``classes_``.

        Parameters
        ----------
        X : dataframe of shape (n_votes, n_columns)
            The columns of `fit`.

        Returns
        -------
        ndarray of shape (n_votes,)
        """
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def score(self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the fraction of votes with the predicted outcome (accuracy).

        Parameters
        ----------
        X : dataframe of shape (n_votes, n_columns)
            The columns of `fit`.
        y : array-like of shape (n_votes,)
            Outcomes, as in `fit`.
        sample_weight : array-like of shape (n_votes,), default=None
            Weights of the votes.

        Returns
        -------
        float
        """
        _checks.check_same_index(X=X, y=y, sample_weight=sample_weight)
        rows = _votes.vote_rows(X, self._models(), [])
        outcome = _votes.outcomes_of(rows, self._models(), y)
        _votes.refuse_first(np.isnan(outcome), "votes have no outcome", rows.index)
        right = self.predict(X) == outcome
        weights = _checks.check_weights(sample_weight, pd.RangeIndex(len(right)))
        return float(np.average(right, weights=weights))

    def estimate(self, scale: Scale = "logit", confidence_level: Level = 0.95) -> Estimate:
        """Return the ratings of all models with intervals.

        Parameters
        ----------
        scale : {"logit", "elo"}, default="logit"
            Log odds with mean 0, or Elo points with mean 1000 (400 points are odds of 10 to 1).
        confidence_level : float, default=0.95
            Confidence level of each interval.

        Returns
        -------
        Estimate
            Ratings relative to the mean of all models, in the order of ``models_``; nan if not
            finite. To test whether two models differ, use `leaderboard`.
        """
        check_is_fitted(self)
        zero, unit = _SCALES[scale]
        value = zero + unit * self.ratings_.to_numpy()
        error = unit * np.sqrt(np.diag(self.covariance_))
        low, high = t_interval(value, error, self.df_.to_numpy(), confidence_level)
        judge = "" if self.judge is None else f", prediction-powered by {self.judge!r}"
        method = f"Bradley-Terry, ties: {self.ties}, sandwich by {self.unit_}{judge}"
        return Estimate(value, low, high, error, confidence_level, self.models_, method, "model")

    def leaderboard(self, scale: Scale = "logit", confidence_level: Level = 0.95) -> Leaderboard:
        """Rank the models, with confidence sets for their ranks.

        Parameters
        ----------
        scale : {"logit", "elo"}, default="logit"
            As in `estimate`.
        confidence_level : float, default=0.95
            Confidence level of each interval, and simultaneous level of all pairs and ranks.

        Returns
        -------
        Leaderboard
            ``n_items`` is the number of votes. Models that share a letter in ``ties`` do not differ
            significantly.

        Notes
        -----
        Ranks and letters come from Bonferroni-adjusted t tests of all pairs.
        """
        estimate = self.estimate(scale, confidence_level)
        place = self.standing_.where(self.standing_ != 0, self.ratings_).to_numpy()
        wins, better = self.wins_.to_numpy(), self._better(confidence_level)
        sets = sets_of_verdicts(estimate, better, place)
        return Leaderboard(
            estimate=estimate,
            covariance=self.covariance_.to_numpy() * _SCALES[scale][1] ** 2,
            comparison=None,
            rank_sets=sets,
            ties=partial(tied, sets),
            n_items=(wins + wins.T).sum(axis=1).astype(int),
            n_clusters=(self.df_ + 1).fillna(0).round().to_numpy(dtype=int),
            bounds=NO_BOUNDS,
            remarks=(*self._not_finite(),),
        )

    def votes_needed(self, confidence_level: Level = 0.95) -> pd.DataFrame:
        """Return the number of additional votes that would decide each pair of models.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Simultaneous confidence level of all pairs, as in `leaderboard`.

        Returns
        -------
        DataFrame of shape (n_models, n_models)
            Additional votes for power 0.8 if the estimated difference is true. 0 if it is
            significant now, nan if a rating is not finite.

        Notes
        -----
        The additional votes are assumed to be independent. With ties as halves, the number tends
        to be too large.
        """
        better = self.leaderboard(confidence_level=confidence_level).rank_sets.better
        rating, alpha = self.ratings_.to_numpy(), self._alpha_of_pairs(confidence_level)
        error = bradley_terry.difference_errors(self.covariance_.to_numpy())
        needed = bradley_terry.votes_needed(rating, error, self.log_ties_, alpha, POWER)
        needed[better | better.T] = 0
        return pd.DataFrame(needed, self.models_, self.models_)

    def _better(self, level):
        """Whether the row's model is significantly better, by simultaneous tests of all pairs."""
        rating, df, wins = (x.to_numpy() for x in (self.ratings_, self.df_, self.wins_))
        error = bradley_terry.difference_errors(self.covariance_.to_numpy())
        above = single_step(rating, error, np.minimum(df[:, None], df), level).above
        # Exact sign tests of independent votes if a rating is not finite.
        by_sign = 2 * binom.sf(wins - 1, wins + wins.T, 0.5) < self._alpha_of_pairs(level)
        is_exact = np.isnan(error) & (self.unit_ == "votes" and self.coef_.empty)
        return np.where(is_exact, by_sign, above)

    def _alpha_of_pairs(self, level):
        """Bonferroni level of the test of each pair."""
        n_models = len(self.models_)
        return 1 - bonferroni_level(level, max(1, n_models * (n_models - 1) // 2))

    def _not_finite(self):
        """A sentence on the models without a finite rating, and the reasons."""
        without = self.standing_[self.standing_ != 0]
        names = [f"{name} ({_STANDINGS.get(x, 'not connected')})" for name, x in without.items()]
        if names:
            names = _checks.listed(names, most=6)
            yield f"These models have no finite rating: {names}."

    def _covariates(self):
        return _checks.names_of(self.covariates)

    def _models(self):
        return self.model_a, self.model_b

    def _store(self, found, votes, names):
        """Store the results by name, the best model first."""
        n, covariates = len(names), [*["position"] * self.position, *self._covariates()]
        ratings, standing = found.coefficients[:n], found.standing
        order = np.argsort(-np.where(standing == 0, ratings, standing), kind="stable")  # nan last
        models = self.models_ = names[order]
        self.standing_ = pd.Series(standing[order], models)
        self.ratings_ = pd.Series(ratings[order], models)
        self.df_ = pd.Series(np.maximum(found.n_effective[order] - 1, 1), models)
        both = np.ix_(order, order)
        self.covariance_ = pd.DataFrame(found.covariance[both], models, models)
        wins = bradley_terry.count_wins(votes.at(~np.isnan(votes.outcome)), n)
        self.wins_ = pd.DataFrame(wins[both], models, models)
        at = slice(n, n + len(covariates))
        error = np.sqrt(np.diag(found.covariance)[at])
        table = {"value": found.coefficients[at], "standard_error": error}
        self.coef_ = pd.DataFrame(table, pd.Index(covariates, name="covariate"))
        has_ties = len(found.coefficients) > at.stop
        self.log_ties_ = float(found.coefficients[-1]) if has_ties else -np.inf
        self.lambda_, self.effective_sample_size_ = found.power, float(found.gain * wins.sum())
        self.classes_ = np.array([0, 0.5, 1] if has_ties else [0, 1])
