import numpy as np
import pytest
from pandas.testing import assert_frame_equal, assert_series_equal
from scipy.special import expit, logit
from scipy.stats import binom, ks_1samp, norm

from skbench.datasets import make_judged_items

# 1e-6 in either tail: a test with 60 comparisons errs in 1 of 8000 runs.
TAILS = np.array([[1e-6], [1 - 1e-6]])


def accepted(items, right):
    """Number of accepted answers and of all, where people say right or wrong."""
    judged = items[items["human"] == right]
    return (judged["autorater"] > 0.5).sum(), len(judged)


def assert_binomial(k, n, p):
    low, high = binom.ppf(TAILS, n, p)
    assert np.all((low <= k) & (k <= high))


def test_human_labels_are_binomial_around_the_truth():
    data = make_judged_items(30, 4_000, 4_000, group_std=1.5, random_state=0)
    counts = data.items.groupby("group")["human"].sum()
    assert_binomial(counts, 4_000, data.truth)


def test_autorater_errs_as_often_as_asked():
    data = make_judged_items(
        20, 5_000, 5_000, sensitivity=0.95, specificity=0.7, group_std=2, random_state=1
    )
    assert_binomial(*accepted(data.items, 1), 0.95)
    assert_binomial(*accepted(data.items, 0), 0.3)
    assert set(data.items["autorater"]) == {0, 1}


def test_noise_autorater_is_uninformative():
    data = make_judged_items(20, 5_000, 5_000, sensitivity=0.3, specificity=0.7, random_state=2)
    assert_binomial(*accepted(data.items, 1), 0.3)
    assert_binomial(*accepted(data.items, 0), 0.3)


def test_lenient_groups_accept_more_right_and_more_wrong_answers():
    data = make_judged_items(
        50, 4_000, 4_000, drift=1.0, sensitivity=0.8, specificity=0.8, random_state=3
    )
    rate = data.items.groupby(["human", "group"])["autorater"].mean().unstack("human")
    # Each is the true log odds with a standard error below .07; leniency has std 1.
    lenient_when_right = logit(rate[1.0]) - logit(0.8)
    lenient_when_wrong = logit(rate[0.0]) - logit(0.2)
    np.testing.assert_allclose(lenient_when_right, lenient_when_wrong, atol=0.6)
    assert np.corrcoef(lenient_when_right, lenient_when_wrong)[0, 1] > 0.95
    assert 0.7 < lenient_when_right.std() < 1.3  # 50 draws of a normal with std 1: 3 x .1


def test_abstention_is_blind_to_the_answer():
    data = make_judged_items(20, 5_000, 5_000, abstention=0.2, random_state=4)
    assert set(data.items["autorater"]) == {"y", "n", "u"}
    for right in (0, 1):
        judged = data.items.loc[data.items["human"] == right, "autorater"]
        assert_binomial((judged == "u").sum(), len(judged), 0.2)


def test_score_is_a_logistic_variable_that_accepts_above_one_half():
    settings = {"sensitivity": 0.85, "specificity": 0.75, "random_state": 5}
    scores = make_judged_items(20, 2_000, 2_000, score="continuous", **settings).items
    binary = make_judged_items(20, 2_000, 2_000, **settings).items
    np.testing.assert_array_equal(scores["autorater"] > 0.5, binary["autorater"] == 1)
    for right, mean in {1: logit(0.85), 0: -logit(0.75)}.items():
        latent = logit(scores.loc[scores["human"] == right, "autorater"].to_numpy())
        assert ks_1samp(latent - mean, expit).pvalue > 1e-4


def test_every_group_has_its_items_and_labels():
    n_items, n_labeled = [5, 1, 30], [5, 0, 7]
    data = make_judged_items(3, n_items, n_labeled, random_state=0)
    by_group = data.items.groupby("group")
    assert by_group.size().tolist() == n_items
    assert by_group["human"].count().tolist() == n_labeled
    assert data.items["item"].is_unique
    assert data.truth.index.equals(data.features.index)
    assert "12 of 36" in repr(data)


def test_labels_are_a_random_sample():
    """Each of 10 places is labeled in 3 of 10 groups."""
    data = make_judged_items(3_000, 10, 3, random_state=0)
    labeled = data.items["human"].notna().to_numpy().reshape(3_000, 10)
    assert_binomial(labeled.sum(axis=0), 3_000, 0.3)


def test_truth_varies_as_requested_and_correlates_with_the_feature():
    data = make_judged_items(
        4_000, 1, 0, intercept=0.7, group_std=1.2, feature_noise=0.5, random_state=6
    )
    effect = logit(data.truth) - 0.7
    noise = data.features["feature"] - effect
    for values, std in ((effect, 1.2), (noise, 0.5)):
        assert ks_1samp(values, norm(0, std).cdf).pvalue > 1e-4
    assert abs(np.corrcoef(effect, noise)[0, 1]) < 0.08  # 5 standard errors


def test_truth_does_not_depend_on_autorater_or_labels():
    one = make_judged_items(5, 10, 2, random_state=7)
    other = make_judged_items(
        5, 30, 0, sensitivity=0.6, drift=1, score="continuous", random_state=7
    )
    assert_series_equal(one.truth, other.truth)
    assert_frame_equal(one.features, other.features)
    again = make_judged_items(5, 10, 2, random_state=7)
    assert_frame_equal(one.items, again.items)


@pytest.mark.parametrize(
    "changed",
    [
        {"n_items": 2.5},
        {"n_items": [3, 0, 3]},
        {"n_labeled": [1, 2]},
        {"n_labeled": -1},
        {"n_labeled": [9, 9, 11]},
        {"abstention": 0.1, "score": "continuous"},
    ],
)
def test_errors_name_the_argument(changed):
    with pytest.raises(ValueError, match=next(iter(changed)).removeprefix("n_")):
        make_judged_items(**({"n_groups": 3, "n_items": 10, "n_labeled": 2} | changed))
