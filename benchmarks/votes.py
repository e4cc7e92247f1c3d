"""Ratings of votes compared with choix and arena-rank, and coverage of intervals and ranks.

The script prints:
1. seconds and largest differences of ratings on 35,000 votes of 39 models and 1,000,000 votes of
   200 models: `BradleyTerry` with its leaderboard (winners as sides, as names, and with judge
   verdicts on all votes and human votes on a tenth), choix (I-LSR, and Newton-CG if it takes less
   than a minute) and arena-rank; packages that are not installed are reported
2. with a folder that contains arena_votes_dev.csv.gz: coverage of the ratings of all votes by
   intervals from 300 to 2,000 of them, alone and with verdicts on all votes, by the LLM judge in
   the file and by a simulated judge with an error rate of one tenth

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
N_SAMPLES = 50


def make_votes(n_models, n_votes, rng):
    """Draw votes of random pairs; return true ratings, and positions of winners and losers."""
    rating = rng.normal(0, 1, n_models)
    first = rng.integers(n_models, size=n_votes)
    second = (first + rng.integers(1, n_models, size=n_votes)) % n_models
    won = rng.random(n_votes) < 1 / (1 + np.exp(rating[second] - rating[first]))
    names = np.array([f"model-{i:03d}" for i in range(n_models)])
    votes = pd.DataFrame({"model_a": names[first], "model_b": names[second]})
    votes["winner"] = np.where(won, "model_a", "model_b")
    rating = pd.Series(rating, names)
    return votes, rating, np.where(won, first, second), np.where(won, second, first)


def timed(function):
    """Return the result of a function and its seconds."""
    start = time.perf_counter()
    return function(), time.perf_counter() - start


def ours(votes, winner, judge=None):
    """Return ratings by name, in logits."""
    model = BradleyTerry(judge=judge).fit(votes, winner)
    model.leaderboard()
    return model.ratings_.sort_index().to_numpy()


def ways(votes, rng):
    """Return arguments of `ours` for the same votes: sides, names, and a tenth with labels."""
    sides = votes["winner"]
    names = votes["model_a"].where(sides == "model_a", votes["model_b"])
    known = rng.random(len(votes)) < 0.1
    return {
        "skbench": (votes, sides),
        "skbench, names": (votes, names),
        "skbench, a judge": (votes.assign(judge=names), sides.where(known), "judge"),
    }


def by_choix(method, n_models, winner, loser):
    """Return ratings by choix, without its prior."""
    import choix

    pairs = list(zip(winner.tolist(), loser.tolist(), strict=True))
    if method == "choix, I-LSR":
        return timed(lambda: choix.ilsr_pairwise(n_models, pairs))
    return timed(lambda: choix.opt_pairwise(n_models, pairs, method="Newton-CG"))


def by_arena_rank(votes):
    """Return ratings by arena-rank, with its intervals."""
    from arena_rank.models.bradley_terry import BradleyTerry as ArenaRank
    from arena_rank.utils.data_utils import PairDataset

    def fit():
        data = PairDataset.from_pandas(votes)
        model = ArenaRank(n_competitors=len(data.competitors))
        found = model.compute_ratings_and_cis(data, significance_level=0.05)
        return pd.Series(np.asarray(found["ratings"]), found["competitors"]).sort_index() / ELO

    return timed(fit)


def beside_others(n_models, n_votes, rng):
    """Print seconds and differences on one table of votes."""
    votes, _, winner, loser = make_votes(n_models, n_votes, rng)
    print(f"\n{n_votes:,} votes, {n_models} models")
    for name, arguments in reversed(ways(votes, rng).items()):
        ratings, seconds = timed(lambda arguments=arguments: ours(*arguments))
        print(f"  {name:18s} {seconds:6.2f} s")
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
        print(f"  {name:18s} {seconds:6.2f} s, ratings differ by at most {gap:.5f} Elo points")


def coverage(file):
    """Print coverage of the ratings of all votes by intervals from some, and widths."""
    table = pd.read_csv(file)
    wrong = np.random.default_rng(0).random(len(table)) < 0.1
    table["simulated"] = table["winner"].where(~wrong, 1 - table["winner"])
    whole = BradleyTerry().fit(table, table["winner"]).ratings_
    print("  votes   coverage: humans, file judge, simulated   relative widths   effective votes")
    for n_votes in (300, 500, 1000, 2000):
        found = [of_one_sample(table, whole, n_votes, seed) for seed in range(N_SAMPLES)]
        covered, widths, worth = (
            np.nanmean(np.concatenate(x, axis=1), axis=1) for x in zip(*found, strict=True)
        )
        print(f"  {n_votes:5d}   {covered.round(3)}   {widths[1:].round(3)}   {worth[1:].round(2)}")


def of_one_sample(table, whole, n_votes, seed):
    """Return coverage, widths and effective votes for humans alone and with both judges."""
    part = table.sample(n_votes, random_state=seed)
    winner = table["winner"].where(table.index.isin(part.index))
    fits = [BradleyTerry().fit(part, part["winner"])]
    fits += [BradleyTerry(judge=x).fit(table, winner) for x in ("prediction", "simulated")]
    names = fits[0].ratings_.dropna().index
    truth = (whole[names] - whole[names].mean()).to_numpy()
    ends = [x.estimate().to_frame().loc[names, ["low", "high"]].to_numpy().T for x in fits]
    covered = [(low <= truth) & (truth <= high) for low, high in ends]
    widths = np.array([high - low for low, high in ends])
    worth = [[x.effective_sample_size_ / n_votes] for x in fits]
    return np.array(covered), widths / widths[0], np.array(worth)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    generator = np.random.default_rng(0)
    beside_others(39, 35_000, generator)
    beside_others(200, 1_000_000, generator)
    if len(sys.argv) > 1:
        print("\nreal votes, nominal 0.95")
        coverage(Path(sys.argv[1]) / "arena_votes_dev.csv.gz")
