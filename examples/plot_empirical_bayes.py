"""
Empirical Bayes: shrinkage and average coverage
===============================================

Five simulated models answer the same ten items of each of 40 topics. Empirical Bayes shrinks every
direct estimate toward a regression fitted to other topics. The true values are known here, so we
can measure errors and coverage, on average and in extreme groups.
"""

import sys

import numpy as np
from sklearn.linear_model import Ridge

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    ShrinkageDisplay,
    make_items,
    summarize_items,
)

data = make_items(n_models=5, n_topics=40, n_items=10, topic_std=1.5, random_state=0)
summary = summarize_items(data.items, ["model", "topic"], features=data.features)
truth = data.truth.loc[list(summary.labels)].to_numpy()
print(summary)

# %%
# ``fit_args`` contains the features, the direct estimates, their variances, and the topics as
# ``groups``. The models share items, so folds must not split a topic.

direct = DirectEstimator().fit(**summary.fit_args).estimate()
estimates = {"direct, Wilson": direct}
for interval in ("robust", "length-optimal", "parametric"):
    eb = EmpiricalBayes(Ridge(), interval=interval, random_state=0)
    estimates[f"EB, {interval}"] = eb.fit(**summary.fit_args).estimate()
print(f"\nprior variance {eb.prior_variance_:.4f}, kurtosis {eb.kurtosis_:.1f}")

# %%
# Average coverage near 95% does not mean 95% in every group. Groups far from the regression, with
# very high or very low accuracy, are covered less often.


def covered(e, where):
    return np.mean(((e.low <= truth) & (truth <= e.high))[where])


extreme = (truth < 0.1) | (truth > 0.9)
print(f"\n{'':22s}  MSE/direct  width  covered  if true < .1 or > .9    guarantee")
for name, e in estimates.items():
    ratio = np.mean((e.value - truth) ** 2) / np.mean((direct.value - truth) ** 2)
    print(
        f"{name:22s} {ratio:10.2f} {np.mean(e.high - e.low):8.3f} {covered(e, slice(None)):7.2f} "
        f"{covered(e, extreme):14.2f} {'':11s} {e.guarantee}"
    )
print(f"({extreme.sum()} of {extreme.size} groups have true values below .1 or above .9)")

# %%

display = ShrinkageDisplay.from_estimates(
    direct, estimates["EB, robust"], truth=truth, n=summary.n, max_rows=25
)
display.plot(xlabel="accuracy")
if len(sys.argv) > 1:
    display.figure_.savefig(sys.argv[1], dpi=150)
