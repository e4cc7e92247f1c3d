"""
Ranking models by votes
=======================

Sixty people cast 3,000 votes on pairs of answers of eight simulated models. They have individual
preferences, and favor longer answers and the answer shown first. Which ranks may each model
have? And how much precision do verdicts of an LLM judge add if people cast only a fifth of the
votes? Set SKBENCH_DATA to a folder with ``arena_votes_dev.csv.gz`` (columns model_a, model_b,
winner and prediction) to analyze real votes, too.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from skbench import (
    BradleyTerry,
    Draws,
    Estimate,
    ForestDisplay,
    RankDisplay,
    rank_models,
    rank_probabilities,
)

N_VOTES, N_JUDGES = 3000, 60
NAMES = np.array([f"model {name}" for name in "ABCDEFGH"])
SKILL = np.array([0.6, 0.55, 0.3, 0.0, 0.0, -0.3, -0.5, -0.65])
WORDY = np.array([0.0, 0.0, 1.5, 0.0, 0.0, 0.0, 0.0, 0.0])  # model C writes longer answers

# %%
# The votes. Each person likes each model more or less than other people do.

rng = np.random.default_rng(0)
first = rng.integers(8, size=N_VOTES)
second = (first + rng.integers(1, 8, size=N_VOTES)) % 8
judge = rng.integers(N_JUDGES, size=N_VOTES)
taste = rng.normal(0, 0.5, (N_JUDGES, 8))
length = WORDY[first] - WORDY[second] + rng.normal(0, 1, N_VOTES)
log_odds = SKILL[first] - SKILL[second] + taste[judge, first] - taste[judge, second]
log_odds += 0.2 + 0.4 * length
won = rng.random(N_VOTES) < 1 / (1 + np.exp(-log_odds))
votes = pd.DataFrame(
    {"model_a": NAMES[first], "model_b": NAMES[second], "length": length, "judge": judge}
)
votes["winner"] = np.where(won, votes["model_a"], votes["model_b"])

# %%
# Votes of one person are dependent, so persons are clusters. Length and position are covariates,
# so ratings refer to answers of equal length.

plain = BradleyTerry().fit(votes, votes["winner"])
model = BradleyTerry(covariates="length", position=True)
model.fit(votes, votes["winner"], cluster=votes["judge"])
board = model.leaderboard(scale="elo")
table = board.to_frame()[["rank_low", "rank_high", "ties", "estimate", "low", "high"]]
table["length ignored"] = plain.estimate("elo").to_frame()["value"]
print(table.round(0).to_string())
print(f"\nmay be the best: {', '.join(board.rank_sets.best())}")
print(model.coef_.round(2).to_string())

# %%
# How many additional votes would distinguish the two best models?

a, b = board.estimate.labels[:2]
print(f"\n{a} against {b}: {model.votes_needed().loc[a, b]:,.0f} more votes needed")

# %%
# Shades show how often a rank occurs in draws of the ratings. Frames show confidence sets.

draws = rng.multivariate_normal(board.estimate.value, board.covariance, 4000)
ratings = Draws(draws[:, :, None], (board.estimate.labels, pd.Index(["all"])), "bootstrap")
display = RankDisplay.from_probabilities(
    rank_probabilities(rank_models(ratings)), sets=board.rank_sets
)
display.plot()
if len(sys.argv) > 1:
    display.figure_.savefig(sys.argv[1], dpi=150)

# %%
# People cast a fifth of the votes, and an LLM judge decides all pairs. The judge often agrees with
# people but favors model D. Its verdicts alone overrate D. Combined with human votes, they shorten
# the intervals.

verdict = np.where(rng.random(N_VOTES) < 0.9, won, rng.random(N_VOTES) < 0.5) * 1.0
favored = rng.random(N_VOTES) < 0.4
verdict[favored & (votes["model_a"] == "model D")] = 1
verdict[favored & (votes["model_b"] == "model D")] = 0
some = votes.assign(verdict=verdict, winner=votes["winner"].where(rng.random(N_VOTES) < 0.2))
people = some.dropna()
fits = {
    "people": BradleyTerry().fit(people, people["winner"], cluster=people["judge"]),
    "judge alone": BradleyTerry().fit(some, verdict, cluster=some["judge"]),
    "people and judge": BradleyTerry(judge="verdict").fit(
        some, some["winner"], cluster=some["judge"]
    ),
}
n_effective = fits["people and judge"].effective_sample_size_
print(f"\n{len(people)} votes and {N_VOTES} verdicts are as precise as {n_effective:,.0f} votes")
estimates = {}
for name, fit in fits.items():
    e = fit.estimate("elo").to_frame().loc[NAMES]
    numbers = e["value"], e["low"], e["high"], e["standard_error"]
    estimates[name] = Estimate(*numbers, 0.95, NAMES, name, "model")
truth = plain.estimate("elo").to_frame()["value"]  # from all human votes
forest = ForestDisplay.from_estimates(estimates, truth=truth).plot()
forest.ax_.set_xlabel("rating (Elo)")
if len(sys.argv) > 2:
    forest.figure_.savefig(sys.argv[2], dpi=150)

# %%
# Real votes: 1,000 human votes, and verdicts of an LLM judge on all pairs.

file = Path(os.environ.get("SKBENCH_DATA", ".")) / "arena_votes_dev.csv.gz"
if file.exists():
    real = pd.read_csv(file)
    board = BradleyTerry().fit(real, real["winner"]).leaderboard(scale="elo")
    print(board.to_frame().head(8)[["rank_low", "rank_high", "estimate", "n"]].round(0).to_string())
    known = rng.permutation(len(real)) < 1000
    both = BradleyTerry(judge="prediction").fit(real, real["winner"].where(known))
    print(
        f"1,000 votes and the verdicts are as precise as {both.effective_sample_size_:,.0f} votes"
    )
else:
    print(f"{file} does not exist (set SKBENCH_DATA).")
