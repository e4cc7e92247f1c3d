import numpy as np
import pandas as pd
import pytest
from reference.shrink_estimators import Failing, FixedShrinkage
from sklearn.base import clone
from sklearn.linear_model import Ridge

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    GroupSummary,
    JamesStein,
    SyntheticRegression,
    compare_estimators,
    estimated_risk,
    make_items,
    summarize_items,
)
from skbench.assessment import EstimatorComparison, RiskComparison


def counts(mu, n, rng):
    """Independent groups with these accuracies."""
    k = rng.binomial(n, mu)
    p = (k + 1) / (n + 2)
    labels = pd.RangeIndex(len(mu))
    return GroupSummary(k / n, p * (1 - p) / n, np.full(len(mu), n), labels)


class ToTheMiddle(FixedShrinkage):
    """Fixed shrinkage with the methods that the chosen estimator must have."""

    def fit(self, X, y, sigma2=None, n=None, groups=None):
        self.direct_ = DirectEstimator().fit(X, y, sigma2, n)
        return self

    def estimate(self, confidence_level=0.95):
        return self.direct_.estimate(confidence_level)


CANDIDATES = {"direct": DirectEstimator(), "middle": ToTheMiddle(w=0.2)}


def test_takes_what_helps_and_leaves_what_harms():
    rng = np.random.default_rng(0)
    alike, apart = rng.uniform(0.45, 0.55, 100), rng.choice([0.05, 0.95], 100)
    helped = compare_estimators(CANDIDATES, counts(alike, 10, rng), random_state=0)
    harmed = compare_estimators(CANDIDATES, counts(apart, 10, rng), random_state=0)
    assert (helped.best, helped.choice, helped.safest) == ("middle", "middle", "direct")
    assert (harmed.best, harmed.choice) == ("direct", "direct")
    assert "Use 'middle'." in repr(helped)
    assert "Use 'direct'.\n" in repr(harmed)


def comparison(**differences):
    """Losses of 100 groups with this mean difference to the safest and this error."""
    shape = np.random.default_rng(1).normal(size=100)
    shape = (shape - shape.mean()) / shape.std(ddof=1) * np.sqrt(100)
    columns = {"safe": np.full(100, 1.0)} | {
        name: 1.0 + mean + error * shape for name, (mean, error) in differences.items()
    }
    return RiskComparison(
        pd.DataFrame(columns), np.ones(100), np.arange(100), items_share=1.0, reference="safe"
    )


@pytest.mark.parametrize(
    ("differences", "n_errors", "choice"),
    [
        ({"bold": (-0.05, 0.1)}, 1, "safe"),
        ({"bold": (-0.11, 0.1)}, 1, "bold"),
        ({"bold": (-0.05, 0.1)}, 0, "bold"),
        ({"bold": (0.30, 0.1)}, 1, "safe"),
        ({"sure": (-0.50, 0.1), "bold": (-0.55, 0.2)}, 1, "sure"),
        ({"sure": (-0.50, 0.1), "bold": (-0.65, 0.2)}, 1, "bold"),
        ({"sure": (-0.50, 0.1), "bold": (-0.55, 0.2)}, 0, "bold"),
        ({"failed": (np.nan, 0.1), "sure": (-0.5, 0.1)}, 1, "sure"),
    ],
)
def test_rule_of_standard_errors(differences, n_errors, choice):
    assert comparison(**differences).choice(n_errors) == choice


def test_verdicts():
    found = {
        choice: repr(EstimatorComparison(comparison(**differences), best, choice, None, None))
        for choice, best, differences in (
            ("sure", "bold", {"sure": (-0.50, 0.1), "bold": (-0.55, 0.2)}),
            ("safe", "bold", {"bold": (-0.05, 0.1)}),
            ("bold", "bold", {"bold": (-1.12, 0.1)}),
        )
    }
    assert (
        "Use 'sure'." in found["sure"] and "'bold'" in found["sure"] and "smaller" in found["sure"]
    )
    assert (
        "Use 'safe'." in found["safe"] and "'bold'" in found["safe"] and "smaller" in found["safe"]
    )
    assert "Use 'bold'." in found["bold"] and "smaller" not in found["bold"]


def test_one_topic_is_no_evidence():
    losses = pd.DataFrame({"safe": [1.0, 1.0], "bold": [0.1, 0.1]})
    risk = RiskComparison(
        losses, np.ones(2), np.array(["distribution", "distribution"]), 1.0, "safe"
    )
    assert risk.choice() == "safe"


@pytest.mark.slow
def test_seldom_worse_than_the_safest():
    """With no gain to be had (equal risk), the bold one is taken in a sixth of the draws."""
    taken = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        # From 8 items, equal risk is where (mu - .5)^2 / 4 = 3/4 mu (1 - mu) / 8.
        mu = np.full(60, 0.5) + rng.choice([-1, 1], 60) * 0.2611
        candidates = {"direct": FixedShrinkage(w=1.0), "half": FixedShrinkage(w=0.5)}
        risk = estimated_risk(candidates, counts(mu, 10, rng), n_splits=5, random_state=seed)
        taken.append(risk.choice() == "half")
    # Normal tail beyond one standard error: .16; binomial distribution, once in a thousand.
    assert 0.07 <= np.mean(taken) <= 0.26


def test_choice_is_fitted_on_everything():
    data = make_items(4, 30, 10, random_state=0)
    candidates = {"direct": DirectEstimator(), "EB": EmpiricalBayes(Ridge(), cv=2, random_state=3)}
    found = compare_estimators(
        candidates,
        data.items,
        ["model", "topic"],
        features=data.features,
        n_splits=3,
        confidence_level=0.9,
        random_state=0,
    )
    g = summarize_items(data.items, ["model", "topic"], features=data.features)
    expected = clone(candidates["EB"]).fit(**g.fit_args).estimate(0.9)
    assert found.choice == "EB" and not hasattr(candidates["EB"], "labels_")
    assert np.array_equal(found.estimate.value, expected.value)
    ratio = found.estimate.sample_size_ratio
    assert ratio == found.risk.sample_size_ratio("EB", 0.9)
    assert 1 < ratio.low < ratio.value < ratio.high
    assert f" {ratio.value:.2g} times" in repr(found.estimate)
    table = found.to_frame()
    assert table["chosen"].tolist() == [False, True]
    assert table.loc["EB", "risk"] == found.risk.risk["EB"]


def test_open_random_states_are_filled_from_the_seed():
    data = make_items(3, 20, 6, random_state=0)
    candidates = {"SR": SyntheticRegression(Ridge()), "EB": EmpiricalBayes(Ridge(), cv=2)}
    runs = [
        compare_estimators(
            candidates, data.items, ["model", "topic"], n_splits=2, random_state=seed
        )
        for seed in (7, 7, 8)
    ]
    assert runs[0].risk.losses.equals(runs[1].risk.losses)
    assert np.array_equal(runs[0].estimate.value, runs[1].estimate.value)
    assert not runs[0].risk.losses.equals(runs[2].risk.losses)
    assert candidates["EB"].random_state is None


def test_candidates_that_fail():
    rng = np.random.default_rng(0)
    g = counts(rng.uniform(0.45, 0.55, 40), 10, rng)
    with pytest.warns(UserWarning, match="'bad' failed"):
        found = compare_estimators(CANDIDATES | {"bad": Failing()}, g, random_state=0)
    assert found.choice == "middle" and np.isnan(found.to_frame().loc["bad", "risk"])
    with (
        pytest.warns(UserWarning),
        pytest.raises(ValueError),
    ):
        compare_estimators(CANDIDATES | {"bad": Failing()}, g, safest="bad")


def test_safest_may_be_named():
    rng = np.random.default_rng(0)
    g = counts(rng.uniform(0.45, 0.55, 40), 10, rng)
    found = compare_estimators(
        {"js": JamesStein(), "direct": DirectEstimator()}, g, safest="direct", random_state=0
    )
    assert found.safest == "direct" and found.choice == "js"
    with pytest.raises(ValueError):
        compare_estimators(CANDIDATES, g, safest="eb")
