"""Models ranked by votes: sets of ranks, letters, and how many votes decide the rest."""

import numpy as np
import pandas as pd
from scipy.stats import binom, norm

from skbench._checks import listed
from skbench.comparison._comparison import POWER
from skbench.comparison._pairs import FEW_CLUSTERS
from skbench.stats.ranking.bradley_terry import outcome_chances, outcome_variance
from skbench.stats.ranking.multiplicity import bonferroni_level
from skbench.stats.ranking.rank_sets import single_step

SCALES = {"logit": (0.0, 1.0), "elo": (1000.0, 400 / np.log(10))}  # of a rating of 0, and a unit
_STANDINGS = {
    np.inf: "never beaten by the others, directly or through others. The rating is infinite",
    -np.inf: "never better than the others, directly or through others. The rating is minus "
    "infinite",
    np.nan: "no votes connect it with the others, directly or through others. The rating is "
    "unknown",
}


def in_words(standing):
    """Which ratings are not finite, and why."""
    for where, words in _STANDINGS.items():
        names = standing.index[standing.isna() if np.isnan(where) else standing == where]
        if len(names):
            yield f"{listed(names, most=6)}: {words}, and direct votes alone tell the rank."


def remarks(model):
    """What else there is to know, sentence by sentence."""
    yield from in_words(model.standing_)
    few, name = model.df_.min() + 1, model.df_.idxmin()
    if few < FEW_CLUSTERS:
        yield f"The rating of {name} rests on {few:.0f} {model.unit_}: its interval is rough."


def better(model, level):
    """Whether each model is better than each other, by simultaneous tests of all pairs."""
    rating, df, wins = (x.to_numpy() for x in (model.ratings_, model.df_, model.wins_))
    error = _errors_of_pairs(model)
    above = single_step(rating, error, np.minimum(df[:, None], df), level).above
    if model.unit_ == "clusters" or len(model.coef_):
        return above
    # Where a rating is not finite, exact sign tests.
    by_sign = 2 * binom.sf(wins - 1, wins + wins.T, 0.5) < _alpha_of_pairs(model, level)
    return np.where(np.isnan(error), by_sign, above)


def votes_needed(model, level):
    """Further votes of each pair that decide it, were the difference the true one."""
    rating, error = model.ratings_.to_numpy(), _errors_of_pairs(model)
    difference = rating[:, None] - rating
    z = norm.isf(_alpha_of_pairs(model, level) / 2) + norm.ppf(POWER)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_vote = outcome_variance(outcome_chances(difference, model.log_ties_))
        needed = np.maximum(((z / difference) ** 2 - 1 / error**2) / of_vote, 0)
    decided = better(model, level)
    needed[decided | decided.T] = 0
    np.fill_diagonal(needed, np.nan)
    return pd.DataFrame(np.ceil(needed), model.models_, model.models_)


def _errors_of_pairs(model):
    """Standard errors of all differences of ratings."""
    covariance = model.covariance_.to_numpy()
    own = np.diag(covariance)
    return np.sqrt(np.maximum(own[:, None] + own - 2 * covariance, 0))


def _alpha_of_pairs(model, level):
    """Bonferroni's level of each test of a pair."""
    n_models = len(model.models_)
    return 1 - bonferroni_level(level, max(1, n_models * (n_models - 1) // 2))
