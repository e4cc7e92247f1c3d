"""Models ranked by votes: sets of ranks, letters, and how many votes decide the rest."""

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.stats import binom, norm

from skbench._checks import listed
from skbench.comparison._comparison import POWER
from skbench.comparison._pairs import FEW_CLUSTERS
from skbench.comparison.leaderboards import NO_BLANKS, Leaderboard
from skbench.comparison.ranks import letters_of, sets_of_verdicts
from skbench.stats.ranking import multiplicity
from skbench.stats.ranking.bradley_terry import outcome_chances, outcome_variance
from skbench.stats.ranking.rank_sets import single_step

SCALES = {"logit": (0.0, 1.0), "elo": (1000.0, 400 / np.log(10))}  # of a rating of 0, and a unit
_STANDINGS = {
    np.inf: "never beaten by the others, directly or through others. The rating is infinite",
    -np.inf: "never better than the others, directly or through others. The rating is minus "
    "infinite",
    np.nan: "no votes connect it with the others, directly or through others. The rating is "
    "unknown",
}


def vote_leaderboard(model, estimate, unit):
    """The `Leaderboard` of a fitted `BradleyTerry` and its `Estimate` in units of a logit."""
    place = model.standing_.where(model.standing_ != 0, model.ratings_)
    names = place.sort_values(ascending=False, kind="stable").index  # nan last
    order = estimate.labels.get_indexer(names)
    fields = ("value", "low", "high", "standard_error", "labels")
    estimate = replace(estimate, **{name: getattr(estimate, name)[order] for name in fields})
    better = _better(model, estimate.confidence_level)[np.ix_(order, order)]
    sets = sets_of_verdicts(estimate, better, place[names].to_numpy())
    return Leaderboard(
        estimate=estimate,
        covariance=model.covariance_.loc[names, names].to_numpy() * unit**2,
        comparison=None,
        rank_sets=sets,
        ties=letters_of(sets),
        n_items=model.n_votes_[names].to_numpy(),
        n_clusters=(model.df_[names] + 1).fillna(0).round().to_numpy(dtype=int),
        bounds=NO_BLANKS,
        remarks=tuple(_remarks(model)),
    )


def in_words(standing):
    """Which ratings are not finite, and why."""
    for where, words in _STANDINGS.items():
        names = standing.index[standing.isna() if np.isnan(where) else standing == where]
        if len(names):
            yield f"{listed(names, most=6)}: {words}, and direct votes alone tell the rank."


def _remarks(model):
    """What else there is to know, sentence by sentence."""
    yield from in_words(model.standing_)
    few, name = model.df_.min() + 1, model.df_.idxmin()
    if few < FEW_CLUSTERS:
        yield f"The rating of {name} rests on {few:.0f} {model.unit_}: its interval is rough."


def _errors_of_pairs(covariance):
    """Standard errors of all differences."""
    matrix = covariance.to_numpy()
    own = np.diag(matrix)
    return np.sqrt(np.maximum(own[:, None] + own - 2 * matrix, 0))


def _better(model, level):
    """Whether each model is better than each other, by simultaneous tests of all pairs."""
    rating, df, wins = (x.to_numpy() for x in (model.ratings_, model.df_, model.wins_))
    error = _errors_of_pairs(model.covariance_)
    above = single_step(rating, error, np.minimum(df[:, None], df), level).above
    # Where a rating is not finite, exact sign tests; covariates have no place in them.
    by_sign = 2 * binom.sf(wins - 1, wins + wins.T, 0.5) < 1 - _pair_level(model, level)
    return np.where(np.isnan(error) & model.coef_.empty, by_sign, above)


def _pair_level(model, level):
    """Bonferroni's level of each pair."""
    n_models = len(model.models_)
    return multiplicity.bonferroni_level(level, max(1, n_models * (n_models - 1) // 2))


def votes_needed(model, level):
    """Further votes of each pair that decide it, were the difference the true one."""
    rating, alpha = model.ratings_.to_numpy(), 1 - _pair_level(model, level)
    difference, error = rating[:, None] - rating, _errors_of_pairs(model.covariance_)
    by_model = _errors_of_pairs(model.inverse_information_)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_vote = outcome_variance(outcome_chances(difference, model.log_ties_))
        wanted = ((norm.isf(alpha / 2) + norm.ppf(POWER)) / difference) ** 2
        # Clusters, and ties as halves, make a vote tell more or less than the model has it.
        needed = np.maximum((wanted - 1 / error**2) * (error / by_model) ** 2 / of_vote, 0)
    better = _better(model, level)
    needed[better | better.T] = 0
    np.fill_diagonal(needed, np.nan)
    return pd.DataFrame(np.ceil(needed), model.models_, model.models_)
