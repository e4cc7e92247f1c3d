import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from skbench import betting_estimate
from skbench.stats.intervals import means


def skewed_items(n_groups, n, seed):
    """Scores of mean 1 / 11, most of them near 0."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"group": np.repeat(np.arange(n_groups), n), "score": rng.beta(0.05, 0.5, n_groups * n)}
    )


@pytest.mark.parametrize("n", [1, 2, 5, 10, 30])
def test_holds_its_level_where_t_fails(n):
    estimate = betting_estimate(skewed_items(2000, n, seed=n), "group", random_state=0)
    hits = (estimate.low <= 1 / 11) & (1 / 11 <= estimate.high)
    assert hits.mean() >= binom.ppf(0.0005, 2000, 0.95) / 2000
    if n > 1:
        half = means.t_interval(estimate.value, estimate.standard_error, n - 1)
        t_hits = (half[0] <= 1 / 11) & (1 / 11 <= half[1])
        assert t_hits.mean() < 0.93


def test_refuses_scores_outside():
    with pytest.raises(ValueError):
        betting_estimate(pd.DataFrame({"group": ["a", "a"], "score": [0.5, 2]}), "group")


@pytest.mark.parametrize("by", ["topic", ["model", "topic"]])
def test_levels_keep_their_names(by):
    items = pd.DataFrame({"model": ["ada", "bob"] * 10, "topic": "law", "score": 0.5})
    e = betting_estimate(items, by, random_state=0)
    assert list(e.labels.names) == ([by] if isinstance(by, str) else by)


def test_refuses_items_that_count_twice():
    items = pd.DataFrame(
        {"topic": ["law"] * 4, "item": [1, 2, 2, 3], "score": [0.1, 0.2, 0.2, 0.3]}
    )
    with pytest.raises(ValueError):
        betting_estimate(items, "topic")
    by_two = items.assign(model=["ada", "ada", "bob", "ada"])
    with pytest.warns(UserWarning):
        betting_estimate(by_two, "topic", random_state=0)
