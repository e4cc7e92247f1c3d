"""A user's script with three mistakes. Type checkers must name these lines and no others."""

import pandas as pd
from sklearn.linear_model import Ridge

import skbench
from skbench import DirectEstimator, EmpiricalBayes, ForestDisplay, read_items

items = read_items("results.csv")
g = skbench.summarize_items(items, by=["model", "topic"], variance="smoothed")
direct = DirectEstimator(interval="wilson").fit(**g.fit_args).estimate()
eb = EmpiricalBayes(Ridge(), cv=5, random_state=0)
estimate = eb.fit(g.X, g.z, g.sigma2, g.n, g.groups, g.sampling).estimate(confidence_level=0.9)
width = estimate.upper - estimate.low  # mistake: it is called high
narrow = pd.Series(width, estimate.labels).nsmallest(3)
board = skbench.leaderboard(items, confidence=0.9)  # mistake: it is called confidence_level
print(board.to_frame().join(estimate.to_frame()), narrow)
ForestDisplay.from_estimates({"direct": direct, "EB": g}).plot()  # mistake: g is no estimate
