"""Ratings of models from votes between two of them."""

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
from skbench.comparison.leaderboards import NO_BLANKS, Leaderboard
from skbench.comparison.ranks import sets_of_verdicts, tied
from skbench.containers import Estimate
from skbench.stats.intervals.means import t_interval
from skbench.stats.ranking import bradley_terry
from skbench.stats.ranking.multiplicity import bonferroni_level
from skbench.stats.ranking.rank_sets import single_step

Scale = Literal["logit", "elo"]
_SCALES = {"logit": (0.0, 1.0), "elo": (1000.0, 400 / np.log(10))}  # of a rating of 0, and a unit
_STANDINGS = {np.inf: "never beaten", -np.inf: "never better"}


@checked
class BradleyTerry(Documented, ClassifierMixin, BaseEstimator):
    """Bradley-Terry ratings of models from votes between two of them.

    Parameters
    ----------
    model_a, model_b : str, default="model_a", "model_b"
        Columns of `X` that name the two models of a vote.
    covariates : str or list of str, default=None
        Columns of numbers that may sway a vote toward `model_a`, such as the difference of the
        lengths of both answers (a minus b). Ratings are those of votes where all are 0.
    position : bool, default=False
        Whether `model_a` was always shown first: the advantage of the first place is then
        estimated too, and ratings are those of votes without it.
    ties : {"half", "davidson"}, default="half"
        A tie is half a win of both models, or an outcome with a chance of its own [2]_.
    judge : str, default=None
        Column of `X` with a judge's verdict on every vote, written as `y` may be. Ratings are then
        those of people, who decided some of the votes (`y` is blank elsewhere), more precise as far
        as the judge agrees with them [3]_. With ties as halves only.

    Attributes
    ----------
    models_ : Index of length n_models
        Names of the models, the best first.
    ratings_ : Series of length n_models
        Ratings in logits: the log odds with which a model beats another are the difference of
        theirs. They sum to 0; nan where a rating is not finite.
    covariance_ : DataFrame of shape (n_models, n_models)
        Sandwich covariance of the ratings.
    df_ : Series of length n_models
        Degrees of freedom of the ratings.
    coef_ : DataFrame of shape (n_covariates, 2)
        Coefficient of each covariate (and "position"), and its standard error.
    standing_ : Series of length n_models
        0 where the rating is finite, inf or -inf where it is not, nan for a model that no votes
        connect with the others.
    wins_ : DataFrame of shape (n_models, n_models)
        Number of people's votes that the row's model won against the column's, ties as halves.
    log_ties_ : float
        Logarithm of Davidson's parameter; -inf if ties are halves, or there are none.
    unit_ : {"votes", "clusters"}
        What counts as independent.
    lambda_ : float
        Power of the judge: 0 says nothing, 1 is taken as people are, apart from its bias.
    effective_sample_size_ : float
        Number of people's votes that would be as precise without a judge.
    classes_ : ndarray
        Outcomes of `model_a`: 0 (it lost), 1 (it won), and with Davidson's ties 0.5.

    See Also
    --------
    leaderboard : Models ranked by their scores on items.

    Notes
    -----
    A logistic regression of the outcome on the two models [1]_
    (`skbench.stats.bradley_terry.fit_ratings`). Standard errors are those of the sandwich, by
    cluster if there are clusters: they hold where votes of one prompt or one judge depend on each
    other, and where models beat each other in a circle. Few clusters widen intervals.

    A model that never lost to the others, or never beat them, has an infinite rating. It is nan,
    and a warning names the model. So it is for models that no votes connect. Without clusters and
    covariates, exact sign tests of ``wins_`` stand in for the t tests of their pairs.

    With a judge, people's votes are taken for a random sample of all. Whose rating is finite, and
    the degrees of freedom, follow from people's votes alone.

    When not to use it: where answers have scores of their own, of which `leaderboard` makes more;
    for a table of counts, before each row is repeated as often as it counts; with a judge, in
    `GridSearchCV`: neither its folds nor `score` take blank outcomes.

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
            One row per vote, with the two models, the covariates and the judge's verdict.
        y : array-like of shape (n_votes,)
            1 where `model_a` won, 0.5 for a tie, 0 where it lost; or the name of the winner or
            "tie"; or "model_a", "model_b" (or the columns' own names) or "tie". With a judge,
            blank (nan, None, "") where people did not vote.
        cluster : array-like of shape (n_votes,), default=None
            Votes that depend on each other: of one prompt, or of one judge.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If columns, names or verdicts are missing, an outcome cannot be understood or may be
            the name of a model as well (1, of models called 0 and 1), a model meets itself, no two
            models compare, covariates cannot be told apart from the models, or there is a judge
            and ties="davidson".

        Warns
        -----
        UserWarning
            If ratings are not finite.
        """
        _checks.check_same_index(X=X, y=y, cluster=cluster)
        if self.judge is not None and self.ties == "davidson":
            raise ValueError("ties='davidson' takes no judge. Leave one of the two out.")
        columns = {"covariates": self._covariates(), "position": self.position}
        votes, names = _votes.votes_of(X, self._models(), y, cluster, judge=self.judge, **columns)
        found = bradley_terry.fit_ratings(votes, len(names), self.ties == "davidson")
        self.unit_ = "votes" if cluster is None else "clusters"
        self._store(found, votes, names)
        for words in self._not_finite():
            warn(words)
        return self

    def predict_proba(self, X: Rows) -> np.ndarray:
        """Chances of the outcomes of votes.

        Parameters
        ----------
        X : dataframe of shape (n_votes, n_columns)
            The columns of `fit`.

        Returns
        -------
        ndarray of shape (n_votes, n_classes)
            In the order of ``classes_``. With ties as halves, the chance of a win and half that
            of a tie.

        Raises
        ------
        ValueError
            If a model was not in `fit`, or its rating is not finite.
        """
        check_is_fitted(self)
        rows = _votes.vote_rows(X, self._models(), self._covariates())
        a, b = (self.ratings_.reindex(rows[name]).to_numpy() for name in self._models())
        _votes.refuse_first(
            np.isnan(a - b), "votes are on models without a finite rating", rows.index
        )
        d = (
            a
            - b
            + _votes.features_of(rows, self._covariates(), self.position) @ self.coef_["value"]
        )
        chances = bradley_terry.outcome_chances(d, self.log_ties_).T
        return chances if len(self.classes_) == 3 else chances[:, [0, 2]]

    def predict(self, X: Rows) -> np.ndarray:
        """The likeliest outcome of votes, as in ``classes_``.

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
        """Share of votes whose outcome is the likeliest one.

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
        """Ratings of all models with intervals.

        Parameters
        ----------
        scale : {"logit", "elo"}, default="logit"
            Log odds with a mean of 0, or Elo's points: 400 for odds of 10, with a mean of 1000.
        confidence_level : float, default=0.95
            Level of each interval.

        Returns
        -------
        Estimate
            In the order of ``models_``; nan where a rating is not finite.
            Relative to the mean of all: whether two models differ is the question of `leaderboard`.
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
        """Models from best to worst, with sets of the ranks that each may have.

        Parameters
        ----------
        scale : {"logit", "elo"}, default="logit"
            As in `estimate`.
        confidence_level : float, default=0.95
            Level of each rating's interval, and of all pairs and rank sets together.

        Returns
        -------
        Leaderboard
            With ``to_frame()``, ``rank_sets`` and ``ties`` (letters); ``n_items`` counts votes.

        Notes
        -----
        One joint inference, as in `skbench.leaderboard`: t tests of all pairs at Bonferroni's
        level decide which model is better; ranks, letters and who may be the best follow.
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
            bounds=NO_BLANKS,
            remarks=(*self._not_finite(),),
        )

    def votes_needed(self, confidence_level: Level = 0.95) -> pd.DataFrame:
        """Further votes between two models that decide which is better.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Level of all pairs together, as in `leaderboard`.

        Returns
        -------
        DataFrame of shape (n_models, n_models)
            Number of votes after which a pair is decided with power 0.8 if the true difference
            is the estimated one: 0 where it is decided, nan where a rating is not finite.

        Notes
        -----
        Further votes are taken as independent of each other. As with all power, of estimated
        differences it is itself an estimate; with ties as halves it is rather too many.
        """
        better = self.leaderboard(confidence_level=confidence_level).rank_sets.better
        rating, alpha = self.ratings_.to_numpy(), self._alpha_of_pairs(confidence_level)
        error = bradley_terry.difference_errors(self.covariance_.to_numpy())
        needed = bradley_terry.votes_needed(rating, error, self.log_ties_, alpha, POWER)
        needed[better | better.T] = 0
        return pd.DataFrame(needed, self.models_, self.models_)

    def _better(self, level):
        """Whether each model is better than each other, by simultaneous tests of all pairs."""
        rating, df, wins = (x.to_numpy() for x in (self.ratings_, self.df_, self.wins_))
        error = bradley_terry.difference_errors(self.covariance_.to_numpy())
        above = single_step(rating, error, np.minimum(df[:, None], df), level).above
        # Exact sign tests of independent votes where a rating is not finite.
        by_sign = 2 * binom.sf(wins - 1, wins + wins.T, 0.5) < self._alpha_of_pairs(level)
        is_exact = np.isnan(error) & (self.unit_ == "votes" and self.coef_.empty)
        return np.where(is_exact, by_sign, above)

    def _alpha_of_pairs(self, level):
        """Bonferroni's level of the test of each pair."""
        n_models = len(self.models_)
        return 1 - bonferroni_level(level, max(1, n_models * (n_models - 1) // 2))

    def _not_finite(self):
        """Whose ratings are not finite, and why, in a sentence."""
        odd = self.standing_[self.standing_ != 0]
        names = [f"{name} ({_STANDINGS.get(place, 'not compared')})" for name, place in odd.items()]
        if names:
            names = _checks.listed(names, most=6)
            yield f"No finite rating, directly and through others: {names}."

    def _covariates(self):
        return _checks.names_of(self.covariates)

    def _models(self):
        return self.model_a, self.model_b

    def _store(self, found, votes, names):
        """Keep what was found by name, the best model first."""
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
