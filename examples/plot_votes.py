"""
Ranking models by votes
=======================

People see two answers and say which is better. Eight simulated models meet in 3,000 votes of
60 judges. Judges have tastes of their own, and favor the longer answer and the one shown first.
Which ranks may each model truly have? Set SKBENCH_DATA to a folder with
``arena_votes_dev.csv.gz`` (columns model_a, model_b and winner) to see real votes too.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from skbench import BradleyTerry, Draws, RankDisplay, rank_models, rank_probabilities

N_VOTES, N_JUDGES = 3000, 60
NAMES = np.array([f"model {name}" for name in "ABCDEFGH"])
SKILL = np.array([0.6, 0.55, 0.3, 0.0, 0.0, -0.3, -0.5, -0.65])
WORDY = np.array([0.0, 0.0, 1.5, 0.0, 0.0, 0.0, 0.0, 0.0])  # model C writes longer answers

# %%
# The votes. Taste is what a judge likes better or worse in a model than others do.

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
# Votes of one judge are no independent votes: clusters widen the intervals. Length and position
# enter the same regression, and ratings are then those of answers of equal length.

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
# How many more votes between the first two would decide?

a, b = board.estimate.labels[:2]
print(f"\n{a} against {b}: {model.votes_needed().loc[a, b]:,.0f} more votes between them")

# %%
# Shades are the ranks in draws of the ratings, frames the ranks that a model may truly have.

draws = rng.multivariate_normal(board.estimate.value, board.covariance, 4000)
ratings = Draws(draws[:, :, None], (board.estimate.labels, pd.Index(["all"])), "bootstrap")
display = RankDisplay.from_probabilities(
    rank_probabilities(rank_models(ratings)), sets=board.rank_sets
)
display.plot()
if len(sys.argv) > 1:
    display.figure_.savefig(sys.argv[1], dpi=150)

# %%
# Real votes, without judges or prompts.

file = Path(os.environ.get("SKBENCH_DATA", ".")) / "arena_votes_dev.csv.gz"
if file.exists():
    real = pd.read_csv(file)
    board = BradleyTerry().fit(real, real["winner"]).leaderboard(scale="elo")
    print(board.to_frame().head(8)[["rank_low", "rank_high", "estimate", "n"]].round(0).to_string())
else:
    print(f"{file} is not there (set SKBENCH_DATA).")
