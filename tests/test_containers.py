import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from skbench import Draws, Estimate, GroupSummary

LABELS = pd.Index(["law", "art"], name="topic")


def make_estimate(value, standard_error, **changed):
    fields = {
        "low": np.subtract(value, 0.1),
        "high": np.add(value, 0.1),
        "confidence_level": 0.95,
        "labels": LABELS,
        "method": "direct",
        "guarantee": "each group",
    }
    return Estimate(value=value, standard_error=standard_error, **(fields | changed))


def test_summary_keeps_a_copy():
    z = np.array([0.5, 0.7])
    g = GroupSummary(z=z, sigma2=[0.1, 0.2], n=[3, 4], labels=LABELS)
    z[0] = 99
    assert g.z[0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        g.z[0] = 1
    with pytest.raises(AttributeError):
        g.z = z


def test_fit_args_go_straight_into_fit():
    X = pd.DataFrame({"a": [1.0, 2.0]}, index=LABELS)
    g = GroupSummary([0.5, 0.7], [0.1, 0.2], [9, 9], LABELS, X=X, n_independent=[3, 4])
    assert set(g.fit_args) == {"X", "y", "sigma2", "n", "groups"}
    np.testing.assert_array_equal(g.fit_args["n"], [3, 4])
    changed = g.fit_args["X"]
    changed["a"] = 0
    assert g.X["a"].tolist() == [1.0, 2.0]


def test_summary_without_features_has_a_constant():
    g = GroupSummary([0.5, 0.7], [0.1, 0.2], [9, 9], LABELS)
    assert g.fit_args["X"].nunique().tolist() == [1]
    assert g.fit_args["X"].index.equals(LABELS)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"z": [0.5]}, r"z has shape \(1,\), but there are 2 labels"),
        ({"outcome": "poisson"}, "outcome must be one of"),
        ({"X": pd.DataFrame({"a": [1]})}, "X has 1 rows but there are 2 labels"),
    ],
)
def test_summary_refuses(changed, message):
    fields = {"z": [0.5, 0.7], "sigma2": [0.1, 0.2], "n": [3, 4], "labels": LABELS}
    with pytest.raises(ValueError, match=message):
        GroupSummary(**(fields | changed))


def test_summary_repr_says_what_matters():
    g = GroupSummary([0.5] * 9, [0.1] * 9, [3] * 9, range(9), groups=list("aaabbbccc"))
    assert "9 groups, 27 items" in repr(g)
    assert "share items within 3 topics" in repr(g)
    assert "... and 3 more" in repr(g)


def test_difference_of_estimates():
    difference = make_estimate([0.8, 0.4], [0.03, 0.3]) - make_estimate([0.6, 0.5], [0.04, np.nan])
    np.testing.assert_allclose(difference.value, [0.2, -0.1])
    np.testing.assert_allclose(difference.standard_error, [0.05, np.nan])
    np.testing.assert_allclose(difference.high[0], 0.2 + norm.ppf(0.975) * 0.05)
    assert difference.guarantee == "model"


def test_difference_refuses_other_labels_and_levels():
    e = make_estimate([0.8, 0.4], [0.1, 0.1])
    with pytest.raises(ValueError, match="different labels"):
        e - make_estimate([0.8, 0.4], [0.1, 0.1], labels=LABELS[::-1])
    with pytest.raises(ValueError, match="confidence levels 0.95 and 0.9"):
        e - make_estimate([0.8, 0.4], [0.1, 0.1], confidence_level=0.9)
    with pytest.raises(TypeError):
        e - 1


def test_estimate_frame_names_the_guarantee():
    frame = make_estimate([0.8, 0.4], [0.1, 0.1]).to_frame()
    assert list(frame.columns) == [
        "value",
        "low",
        "high",
        "standard_error",
        "method",
        "guarantee",
    ]
    assert frame.loc["art", "guarantee"] == "each group"
    assert "guarantee: each group" in repr(make_estimate([0.8, 0.4], [0.1, 0.1]))
    with pytest.raises(ValueError, match="guarantee must be one of"):
        make_estimate([0.8, 0.4], [0.1, 0.1], guarantee="certain")


def test_draws_interval_on_two_axes():
    values = np.linspace(0, 1, 101)[:, None, None] * np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    draws = Draws(values, (pd.Index(["A", "B"]), pd.Index(["x", "y", "z"])), "posterior")
    estimate = draws.interval(0.9)
    assert estimate.labels.tolist()[4] == ("B", "y")
    assert estimate.guarantee == "posterior"
    np.testing.assert_allclose(estimate.low[4], 5 * 0.05)
    np.testing.assert_allclose(estimate.standard_error[4], np.std(values[:, 1, 1], ddof=1))
    np.testing.assert_allclose(estimate.high[4], 5 * 0.95)


def test_one_draw_has_no_standard_error():
    draws = Draws([[1.0, 2.0]], pd.Index(["A", "B"]), "bootstrap")
    assert np.isnan(draws.interval().standard_error).all()


def test_draws_refuse_a_level_in_percent():
    draws = Draws([[1.0, 2.0]], pd.Index(["A", "B"]), "bootstrap")
    with pytest.raises(ValueError, match=r"strictly between 0 and 1, got 95\. Write 0\.95"):
        draws.interval(95)


def test_draws_refuse_labels_that_do_not_fit():
    with pytest.raises(ValueError, match=r"shape \(4, 3\).*\(n_draws, 2\)"):
        Draws(np.zeros((4, 3)), pd.Index(["a", "b"]), "bootstrap")
    with pytest.raises(ValueError, match="kind must be"):
        Draws(np.zeros((4, 2)), pd.Index(["a", "b"]), "jackknife")
