"""Costs of judge-based estimates of many groups, next to a loop over the groups.

The bare work is ppi-python's interval of each group in turn. If ppi-python is not installed, it is
the same formula in numpy, which takes a quarter of the time. Both are normal intervals. The page
doc/user_guide/chain_rule.rst describes the advantages of the chain rule.
"""

from itertools import pairwise

import numpy as np

from costs import Cost, real_rows
from skbench.ppi import ChainRulePPI, GroupedPPI, PPIMean, RoganGladen, StratifiedPPI

_BAR = 3  # limit relative to the loop over ppi-python

try:
    from ppi_py import ppi_mean_ci
except ImportError:
    _BAR *= 4

    def ppi_mean_ci(Y, Yhat, Yhat_unlabeled, alpha):
        """Return the power-tuned estimate and normal interval (Angelopoulos, Duchi, Zrnic 2023)."""
        n, N = len(Y), len(Yhat_unlabeled)
        spread = np.concatenate([Yhat, Yhat_unlabeled]).var(ddof=1)
        power = np.mean((Y - Y.mean()) * (Yhat - Yhat.mean())) / ((1 + n / N) * spread)
        power = np.clip(power, 0, 1)
        rectified = Y - power * Yhat
        value = power * Yhat_unlabeled.mean() + rectified.mean()
        error = np.sqrt((power * Yhat_unlabeled).var() / N + rectified.var() / n)
        quantile = 1.959963984540054 if alpha == 0.05 else np.nan
        return value - quantile * error, value + quantile * error


N_ROWS, N_LABELS = 200, 20  # per group
_INNER = {
    "default": None,
    "PPIMean": PPIMean(power_tuning=True),
    "RoganGladen": RoganGladen(),
    "StratifiedPPI": StratifiedPPI(),
}


def judged_groups(n_groups, kind):
    """Use real answers of one model as labels, and those of others as judge verdicts."""
    rows = real_rows(4, N_ROWS * n_groups, n_groups)
    table = rows.pivot(index="item", columns="model", values="score")
    topic = rows.drop_duplicates("item").set_index("item")["topic"].reindex(table.index)
    answers = table.to_numpy(float)[np.argsort(topic.to_numpy(), kind="stable")]
    first, second, third = answers[:, 1:].T
    judge = {"two": first, "three": first + second, "five": (first + second) * 2 + third}
    rng = np.random.default_rng(0)
    scores = judge["three"] + rng.random(len(first)) if kind == "scores" else judge[kind]
    place = rng.permuted(np.tile(np.arange(N_ROWS), (n_groups, 1)), axis=1).ravel()
    labels = np.where(place < N_LABELS, answers[:, 0], np.nan)
    return scores, labels, np.repeat(np.arange(n_groups), N_ROWS)


def loop(scores, labels, groups):
    """Compute the interval of each group in turn."""
    ends = np.flatnonzero(np.diff(groups, prepend=-1, append=groups[-1] + 1))
    found = []
    for start, stop in pairwise(ends):
        y, f = labels[start:stop], scores[start:stop]
        known = ~np.isnan(y)
        found.append(ppi_mean_ci(y[known], f[known], f[~known], alpha=0.05))
    return found


def chain_rule_of_groups(shapes):
    """`GroupedPPI(ChainRulePPI())`: fit with intervals, then with the summary, by verdicts."""
    for n_groups in shapes:
        for kind in ("two", "three", "five", "scores"):
            rows = judged_groups(n_groups, kind)

            def fitted(rows=rows):
                return GroupedPPI(ChainRulePPI()).fit(*rows)

            def bare(rows=rows):
                return loop(*rows)

            name = f"{kind}, {n_groups}"
            yield Cost(f"estimate: {name}", n_groups, lambda f=fitted: f().estimate(), bare, _BAR)
            yield Cost(f"summary_: {name}", n_groups, lambda f=fitted: f().summary_, bare, _BAR)


def grouped_ppi(shapes):
    """`summary_` of groups of rows by the other estimators."""
    for n_groups in shapes:
        for name, estimator in _INNER.items():
            rows = judged_groups(n_groups, "scores" if name == "StratifiedPPI" else "two")

            def run(estimator=estimator, rows=rows):
                return GroupedPPI(estimator).fit(*rows).summary_

            yield Cost(f"{name}, {n_groups}", n_groups, run, lambda r=rows: loop(*r), _BAR)


PATHS = {chain_rule_of_groups: [10, 100, 1000], grouped_ppi: [10, 100, 1000]}
SMALL = {chain_rule_of_groups: [100], grouped_ppi: [100]}
