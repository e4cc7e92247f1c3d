"""Ratings of models from votes between two of them."""

from __future__ import annotations

import warnings
from typing import Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import t as student_t
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from skbench._checks import (
    check_column,
    check_confidence_level,
    check_named,
    check_option,
    check_same_index,
    of_one_type,
    require_columns,
)
from skbench._types import Names, Rows
from skbench.comparison._votes import SCALES, in_words, vote_leaderboard, votes_needed
from skbench.comparison.leaderboards import Leaderboard
from skbench.containers import Estimate
from skbench.items.rows import collected, opened, refuse_unhashable
from skbench.items.votes import vote_outcomes
from skbench.stats.ranking.bradley_terry import (
    Votes,
    count_votes,
    fit_ratings,
    outcome_chances,
    standing,
)


class BradleyTerry(ClassifierMixin, BaseEstimator):
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

    Attributes
    ----------
    models_ : Index of length n_models
        Names of the models, sorted.
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
    n_votes_ : Series of length n_models
        Number of votes on each model.
    wins_ : DataFrame of int of shape (n_models, n_models)
        Number of votes that the row's model won against the column's; of clusters in which it won
        more of them than it lost.
    log_ties_ : float
        Logarithm of Davidson's parameter; -inf if ties are halves, or there are none.
    inverse_information_ : DataFrame of shape (n_models, n_models)
        Covariance if votes are independent and the model is right, up to a constant.
    unit_ : {"votes", "clusters"}
        What counts as independent.
    classes_ : ndarray
        Outcomes of `model_a`: 0 (it lost), 1 (it won), and with Davidson's ties 0.5.

    See Also
    --------
    leaderboard : Models ranked by their scores on items.

    Notes
    -----
    A logistic regression of the outcome on the two models [1]_, fitted by Newton's method.
    Standard errors are those of the sandwich, by cluster if there are clusters: they hold where
    votes of one prompt or one judge depend on each other, and where models beat each other in a
    circle. Few clusters widen intervals by t quantiles
    (`skbench.stats.bradley_terry.fit_ratings`).

    A model that never lost to the others, or never beat them, has an infinite rating. It is nan,
    and a warning names the model. So it is for models that no votes connect. Exact sign tests of
    their direct votes, ``wins_``, stand in for the t tests of their pairs.

    When not to use it: where answers have scores of their own, of which `leaderboard` makes more;
    for a table of counts, before each row is repeated as often as it counts.

    References
    ----------
    .. [1] Bradley and Terry (1952). Rank analysis of incomplete block designs: the method of
       paired comparisons. Biometrika 39, 324-345.
    .. [2] Davidson (1970). On extending the Bradley-Terry model to accommodate ties in paired
       comparison experiments. Journal of the American Statistical Association 65, 317-328.

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

    __metadata_request__fit = {"cluster": True, "sample_weight": True}

    def __init__(
        self,
        model_a: str = "model_a",
        model_b: str = "model_b",
        *,
        covariates: Names | None = None,
        position: bool = False,
        ties: Literal["half", "davidson"] = "half",
    ) -> None:
        self.model_a = model_a
        self.model_b = model_b
        self.covariates = covariates
        self.position = position
        self.ties = ties

    def fit(
        self,
        X: Rows,
        y: ArrayLike,
        cluster: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Estimate the ratings.

        Parameters
        ----------
        X : dataframe of shape (n_votes, n_columns)
            One row per vote, with the two models and the covariates.
        y : array-like of shape (n_votes,)
            1 where `model_a` won, 0.5 for a tie, 0 where it lost; or the name of the winner or
            "tie"; or "model_a", "model_b" or "tie".
        cluster : array-like of shape (n_votes,), default=None
            Votes that depend on each other: of one prompt, or of one judge.
        sample_weight : array-like of shape (n_votes,), default=None
            Weights of the votes, not counts: equal weights change nothing.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If columns or names are missing, an outcome cannot be understood, a model meets
            itself, no two models compare, covariates cannot be told apart from the models, or
            lengths or indexes differ.

        Warns
        -----
        UserWarning
            If ratings are not finite.
        """
        check_option("ties", self.ties, ("half", "davidson"))
        check_option("position", self.position, (False, True))
        check_same_index(X=X, y=y, cluster=cluster, sample_weight=sample_weight)
        rows = self._rows(X)
        check_consistent_length(rows, y, cluster, sample_weight)
        first, second, names = self._models(rows)
        outcome = vote_outcomes(column_or_1d(y), rows[self.model_a], rows[self.model_b])
        _refuse_first(np.isnan(outcome), "votes have no outcome")
        weight = np.ones(len(rows))
        if sample_weight is not None:
            weight = check_column("sample_weight", sample_weight, rows.index, minimum=0)
        codes, used = _codes(cluster), weight > 0
        place = standing(first[used], second[used], outcome[used], len(names))
        used &= (place[first] == 0) & (place[second] == 0)
        position = np.cumsum(place == 0) - 1
        votes = Votes(
            position[first[used]], position[second[used]], outcome[used], np.ones(used.sum()),
            weight[used], self._features(rows)[used], None if codes is None else codes[used],
        )  # fmt: skip
        self._fit_votes(votes, names, place)
        self.wins_ = _wins(first, second, outcome, codes, names)
        self.n_votes_ = pd.Series(np.bincount(np.r_[first, second], minlength=len(names)), names)
        for words in in_words(self.standing_):
            warnings.warn(words, stacklevel=2)
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
        rows = self._rows(X)
        a, b = (self.ratings_.reindex(rows[x]).to_numpy() for x in (self.model_a, self.model_b))
        _refuse_first(np.isnan(a - b), "votes are on models without a finite rating")
        d = a - b + self._features(rows) @ self.coef_["value"].to_numpy()
        chances = outcome_chances(d, self.log_ties_).T
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
        likeliest = self.predict_proba(X).argmax(axis=1)
        return self.classes_[likeliest]

    def estimate(
        self, scale: Literal["logit", "elo"] = "logit", confidence_level: float = 0.95
    ) -> Estimate:
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

        Notes
        -----
        A rating is relative to the mean of all: whether two models differ is the question of
        `leaderboard`.
        """
        check_is_fitted(self)
        check_option("scale", scale, SCALES)
        check_confidence_level(confidence_level)
        zero, unit = SCALES[scale]
        value = zero + unit * self.ratings_.to_numpy()
        error = unit * np.sqrt(np.diag(self.covariance_))
        reach = student_t.isf((1 - confidence_level) / 2, self.df_.to_numpy()) * error
        ties = "ties as halves" if self.ties == "half" else "Davidson's ties"
        return Estimate(
            value=value,
            low=value - reach,
            high=value + reach,
            standard_error=error,
            confidence_level=confidence_level,
            labels=self.models_,
            method=f"Bradley-Terry, {ties}, sandwich by {self.unit_}",
            guarantee="model",
        )

    def leaderboard(
        self, scale: Literal["logit", "elo"] = "logit", confidence_level: float = 0.95
    ) -> Leaderboard:
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
        return vote_leaderboard(self, self.estimate(scale, confidence_level), SCALES[scale][1])

    def votes_needed(self, confidence_level: float = 0.95) -> pd.DataFrame:
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
        A vote adds the variance of its outcome to the information on the difference, divided by
        the ratio of the sandwich variance of the difference to the model-based one: the design
        effect of clusters. As with all power, of estimated differences it is itself an estimate.
        """
        check_is_fitted(self)
        check_confidence_level(confidence_level)
        return votes_needed(self, confidence_level)

    def _rows(self, X):
        """The votes as a pandas frame, with the columns that are needed."""
        frame = opened(X)
        names = [self.model_a, self.model_b, *self._covariates()]
        require_columns(frame.collect_schema().names(), names, "X")
        refuse_unhashable(frame, names[:2])
        rows = collected(frame.select(dict.fromkeys(names)))
        if len(rows) == 0:
            raise ValueError("X has no rows: pass one row per vote.")
        return rows

    def _covariates(self):
        return [] if self.covariates is None else np.atleast_1d(self.covariates).tolist()

    def _features(self, rows):
        """Covariates of the votes, those of the first place in front."""
        columns = [np.ones(len(rows))] if self.position else []
        for name in self._covariates():
            columns.append(check_column(name, rows[name], rows.index, unit="vote"))
        return np.array(columns).reshape(-1, len(rows)).T

    def _models(self, rows):
        """Positions of both models of each vote, and the names of all models."""
        for name in (self.model_a, self.model_b):
            check_named(name, rows[name])
        both = of_one_type(pd.concat([rows[self.model_a], rows[self.model_b]]))
        codes, names = pd.factorize(both, sort=True)
        first, second = codes.reshape(2, -1)
        _refuse_first(first == second, "votes are between a model and itself")
        return first, second, pd.Index(names, name="model")

    def _fit_votes(self, votes, names, place):
        """Fit the votes of models with finite ratings, and keep what was found by name."""
        _refuse_undecided(votes)
        finite, clustered = names[place == 0], votes.cluster is not None
        n, davidson = len(finite), self.ties == "davidson" and bool(np.any(votes.outcome == 0.5))
        if not (clustered or votes.features.size or np.any(votes.weight != 1)):
            votes = count_votes(votes.first, votes.second, votes.outcome, n)
        found = fit_ratings(votes, n, davidson)
        self.models_ = names
        self.standing_ = pd.Series(place, names)
        self.ratings_ = pd.Series(found.coefficients[:n], finite).reindex(names)
        self.df_ = pd.Series(np.maximum(found.n_effective[:n] - 1, 1), finite).reindex(names)
        self.covariance_, self.inverse_information_ = (
            pd.DataFrame(matrix[:n, :n], finite, finite).reindex(index=names, columns=names)
            for matrix in (found.covariance, found.inverse)
        )
        covariates = [*["position"] * self.position, *self._covariates()]
        at = slice(n, n + len(covariates))
        error = np.sqrt(np.diag(found.covariance)[at])
        columns = {"value": found.coefficients[at], "standard_error": error}
        self.coef_ = pd.DataFrame(columns, pd.Index(covariates, name="covariate"))
        self.log_ties_ = float(found.coefficients[-1]) if davidson else -np.inf
        self.classes_ = np.array([0, 0.5, 1] if davidson else [0, 1])
        self.unit_ = "clusters" if clustered else "votes"


def _wins(first, second, outcome, cluster, names):
    """Votes, or clusters by the more of their votes, that the row's model won of the column's."""
    low, high = np.sort([first, second], axis=0)
    net = np.where(first < second, 1, -1) * (outcome - 0.5)
    if cluster is not None:
        of_clusters = pd.Series(net).groupby([low, high, cluster]).sum()
        low, high, _ = zip(*of_clusters.index, strict=True)
        net = of_clusters.to_numpy()
    wins = np.zeros((len(names),) * 2, dtype=int)
    np.add.at(wins, (low, high), net > 0)
    np.add.at(wins, (high, low), net < 0)
    return pd.DataFrame(wins, names, names)


def _codes(cluster):
    """Codes of the clusters of votes; None where there are none."""
    if cluster is None:
        return None
    check_named("cluster", cluster)
    return pd.factorize(column_or_1d(cluster))[0]


def _refuse_first(odd, what):
    """Refuse rows, naming the first."""
    if odd.any():
        raise ValueError(
            f"{odd.sum()} of {len(odd)} {what}, the first in row {np.argmax(odd)}. Leave them out."
        )


def _refuse_undecided(votes):
    """Refuse votes that leave no rating finite, or no spread known."""
    if np.all(votes.outcome == 0.5):
        raise ValueError(
            "No two models both won and lost against each other, directly or through others, so "
            "that no rating is known. Add votes."
        )
    if votes.cluster is not None and np.ptp(votes.cluster) == 0:
        raise ValueError(
            "All votes are in one cluster, so that no spread is known. Leave cluster out, or add "
            "votes of another."
        )
