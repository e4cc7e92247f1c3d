"""Models ranked by votes: ratings, sets of ranks, and how many votes decide the rest."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.stats import norm

from skbench._checks import listed
from skbench.comparison._comparison import POWER
from skbench.comparison._pairs import FEW_CLUSTERS
from skbench.comparison.ranks import RankConfidenceSets, letters_of, sets_of_verdicts
from skbench.containers import Estimate
from skbench.stats.ranking import multiplicity, ranks
from skbench.stats.ranking.bradley_terry import outcome_chances, outcome_variance
from skbench.stats.ranking.rank_sets import single_step

SCALES = {"logit": (0.0, 1.0), "elo": (1000.0, 400 / np.log(10))}  # of a rating of 0, and a unit
_STANDINGS = {
    np.inf: "{names}: beat or tied with some of the others, directly or through others, and never "
    "lost to them. The rating is infinite, and any rank is possible.",
    -np.inf: "{names}: lost to or tied with some of the others, directly or through others, and "
    "never beat them. The rating is minus infinite, and any rank is possible.",
}
_APART = "{names}: no votes lead to the others, so that there is no rating beside theirs."


@dataclass(frozen=True, eq=False, repr=False)
class VoteLeaderboard:
    """Models from best to worst by votes, with the uncertainty of that order.

    Attributes
    ----------
    estimate : Estimate
        Ratings with intervals, best model first; nan where a rating is not finite.
    covariance : ndarray of shape (n_models, n_models)
        Covariance of the ratings.
    rank_sets : RankConfidenceSets
        Ranks that each model may have, for all models at once.
    ties : list of str
        Letters of each model: models that share a letter cannot be told apart.
    n_votes : ndarray of int of shape (n_models,)
        Number of votes on each model.
    votes_needed : DataFrame of shape (n_models, n_models)
        Further votes between two models after which their comparison is decided with power 0.8
        if the true difference is the estimated one. 0 for pairs that are decided.
    standing : Series of length n_models
        0 where the rating is finite, inf and -inf where it is not, nan for a model that no votes
        connect with the others.
    remarks : tuple of str
        Further remarks, in sentences.
    """

    estimate: Estimate
    covariance: np.ndarray
    rank_sets: RankConfidenceSets
    ties: list
    n_votes: np.ndarray
    votes_needed: pd.DataFrame
    standing: pd.Series
    remarks: tuple

    def to_frame(self) -> pd.DataFrame:
        """One row per model: rank, its confidence set, ties, rating, interval and votes."""
        e, sets = self.estimate, self.rank_sets
        rank = ranks(np.where(np.isfinite(e.value), e.value, self.standing), "best")
        whole = rank.astype(int) if np.isfinite(rank).all() else rank
        columns = {"rank": whole, "rank_low": sets.low, "rank_high": sets.high, "ties": self.ties}
        columns |= {"estimate": e.value, "low": e.low, "high": e.high}
        columns |= {"standard_error": e.standard_error, "n": self.n_votes}
        return pd.DataFrame(columns, index=e.labels)

    def __len__(self):
        return len(self.estimate)

    def __repr__(self):
        level = f"{100 * self.estimate.confidence_level:g}%"
        best = listed(self.rank_sets.best(), most=3, show=repr)
        head = f"{len(self)} models by {self.estimate.method}, {level} intervals"
        text = self.to_frame().to_string(float_format=lambda x: f"{x:.4g}", max_rows=20)
        return "\n".join([f"{head}; may be the best: {best}", text, *self.remarks])


def vote_leaderboard(model, estimate, scale):
    """The `VoteLeaderboard` of a fitted `BradleyTerry` and its `Estimate` on this scale."""
    standing = model.standing_.to_numpy()
    place = np.where(np.isfinite(estimate.value), estimate.value, standing)
    order = np.argsort(-place, kind="stable")  # nan last
    names = ("value", "low", "high", "standard_error", "labels")
    estimate = replace(estimate, **{name: getattr(estimate, name)[order] for name in names})
    inside, df = np.ix_(order, order), model.df_.to_numpy()[order]
    rating, covariance = model.ratings_.to_numpy()[order], model.covariance_.to_numpy()[inside]
    level, error = estimate.confidence_level, _errors_of_pairs(covariance)
    better = single_step(rating, error, np.minimum(df[:, None], df), level).above
    sets = sets_of_verdicts(estimate, better)
    needed = _votes_needed(rating, error, model, inside, level)
    needed[better | better.T] = 0
    return VoteLeaderboard(
        estimate=estimate,
        covariance=covariance * SCALES[scale][1] ** 2,
        rank_sets=sets,
        ties=letters_of(sets),
        n_votes=model.n_votes_.to_numpy()[order],
        votes_needed=pd.DataFrame(needed, estimate.labels, estimate.labels),
        standing=model.standing_.iloc[order],
        remarks=tuple(_remarks(model, estimate, df)),
    )


def in_words(standing):
    """Which ratings are not finite, and why."""
    for where, words in _STANDINGS.items():
        names = standing.index[standing == where]
        if len(names):
            yield words.format(names=listed(names, most=6))
    names = standing.index[standing.isna()]
    if len(names):
        yield _APART.format(names=listed(names, most=6))


def _remarks(model, estimate, df):
    """What else there is to know, sentence by sentence."""
    yield from in_words(model.standing_)
    few = np.nanmin(df)
    if few < FEW_CLUSTERS - 1:
        name = estimate.labels[np.nanargmin(df)]
        yield (
            f"The rating of {name} rests on {few + 1:.0f} {model.cluster_kind_}: its interval is "
            "wide, and rough."
        )


def _errors_of_pairs(covariance):
    """Standard errors of all differences."""
    own = np.diag(covariance)
    return np.sqrt(np.maximum(own[:, None] + own - 2 * covariance, 0))


def _votes_needed(rating, error, model, inside, level):
    """Further votes of each pair that decide it, were the difference the true one."""
    n_pairs = max(1, len(rating) * (len(rating) - 1) // 2)
    alpha = 1 - multiplicity.bonferroni_level(level, n_pairs)
    difference = rating[:, None] - rating
    by_model = _errors_of_pairs(model.inverse_information_[inside])
    chances = outcome_chances(difference.ravel(), model.log_ties_)
    of_vote = outcome_variance(chances).reshape(difference.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = ((norm.isf(alpha / 2) + norm.ppf(POWER)) / difference) ** 2
        # Clusters, and ties that are halves, make a vote tell more or less than the model has it.
        needed = (wanted - 1 / error**2) * (error / by_model) ** 2 / of_vote
    np.fill_diagonal(needed, np.nan)
    return np.maximum(np.ceil(needed), 0)
