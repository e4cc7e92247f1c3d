"""Ratings of votes beside choix and arena-rank, and how often intervals and ranks hold.

Prints, in one run:
1. seconds of `BradleyTerry`, its leaderboard included, choix (I-LSR; where Newton-CG takes less
   than a minute, that too) and arena-rank on 35,000 votes of 39 models and 1,000,000 of 200, and
   the largest differences of ratings; packages that are not installed are named;
2. with a folder that holds arena_votes_dev.csv.gz: coverage of the ratings of all votes by
   intervals from 300 to 2,000 of them.

    python benchmarks/votes.py [FOLDER]
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))

from skbench import BradleyTerry

ELO = 400 / np.log(10)
N_SAMPLES = 100


def make_votes(n_models, n_votes, rng):
    """Votes of random pairs, with the positions of winner and loser."""
    rating = rng.normal(0, 1, n_models)
    first = rng.integers(n_models, size=n_votes)
    second = (first + rng.integers(1, n_models, size=n_votes)) % n_models
    won = rng.random(n_votes) < 1 / (1 + np.exp(rating[second] - rating[first]))
    names = np.array([f"model-{i:03d}" for i in range(n_models)])
    votes = pd.DataFrame({"model_a": names[first], "model_b": names[second]})
    votes["winner"] = np.where(won, "model_a", "model_b")
    return votes, np.where(won, first, second), np.where(won, second, first)


def timed(function):
    """What a function returns, and its seconds."""
    start = time.perf_counter()
    return function(), time.perf_counter() - start


def ours(votes):
    """Ratings by name, in logits."""
    model = BradleyTerry().fit(votes, votes["winner"])
    model.leaderboard()
    return model.ratings_.sort_index().to_numpy()


def by_choix(method, n_models, winner, loser):
    """The same by choix, without its prior."""
    import choix

    pairs = list(zip(winner.tolist(), loser.tolist(), strict=True))
    if method == "choix, I-LSR":
        return timed(lambda: choix.ilsr_pairwise(n_models, pairs))
    return timed(lambda: choix.opt_pairwise(n_models, pairs, method="Newton-CG"))


def by_arena_rank(votes):
    """The same by arena-rank, with its intervals."""
    from arena_rank.models.bradley_terry import BradleyTerry as ArenaRank
    from arena_rank.utils.data_utils import PairDataset

    def fit():
        data = PairDataset.from_pandas(votes)
        model = ArenaRank(n_competitors=len(data.competitors))
        found = model.compute_ratings_and_cis(data, significance_level=0.05)
        return pd.Series(np.asarray(found["ratings"]), found["competitors"]).sort_index() / ELO

    return timed(fit)


def beside_others(n_models, n_votes, rng):
    """Seconds and differences on one table of votes."""
    votes, winner, loser = make_votes(n_models, n_votes, rng)
    print(f"\n{n_votes:,} votes, {n_models} models")
    ratings, seconds = timed(lambda: ours(votes))
    print(f"  {'skbench':18s} {seconds:6.2f} s")
    for name in ("choix, I-LSR", "choix, Newton-CG", "arena-rank"):
        if name == "choix, Newton-CG" and n_votes > 100_000:
            continue
        try:
            if name == "arena-rank":
                found, seconds = by_arena_rank(votes)
            else:
                found, seconds = by_choix(name, n_models, winner, loser)
        except ImportError:
            print(f"  {name} is not installed")
            continue
        found = np.asarray(found) - np.mean(found)
        gap = ELO * np.abs(found - ratings).max()
        print(f"  {name:18s} {seconds:6.2f} s, ratings at most {gap:.5f} points of Elo apart")


def coverage(file):
    """Share of the ratings of all votes that intervals from some of them cover."""
    table = pd.read_csv(file)
    whole = BradleyTerry().fit(table, table["winner"]).ratings_
    for n_votes in (300, 500, 1000, 2000):
        covered = []
        for seed in range(N_SAMPLES):
            part = table.sample(n_votes, random_state=seed)
            e = BradleyTerry().fit(part, part["winner"]).estimate()
            known = np.isfinite(e.value)
            truth = whole[e.labels[known]].to_numpy()
            truth = truth - truth.mean()
            covered += [*((e.low[known] <= truth) & (truth <= e.high[known]))]
        print(f"  {n_votes:5d} votes: {np.mean(covered):.3f} of {len(covered)} ratings covered")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    generator = np.random.default_rng(0)
    beside_others(39, 35_000, generator)
    beside_others(200, 1_000_000, generator)
    if len(sys.argv) > 1:
        print("\nreal votes, nominal 0.95")
        coverage(Path(sys.argv[1]) / "arena_votes_dev.csv.gz")
