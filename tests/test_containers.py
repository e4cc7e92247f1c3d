import copy
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from skbench import Draws, Estimate, GroupSummary, Sampling
from skbench.stats.intervals.moderated import VarianceNoise

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
    assert set(g.fit_args) == {"X", "y", "sigma2", "n", "groups", "sampling"}
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
        ({"sampling": Sampling(items_shared=True)}, "items_shared=True.* groups"),
        ({"groups": ["a", "b"], "sampling": Sampling()}, "items_shared=False, but .* are given"),
    ],
)
def test_summary_refuses(changed, message):
    fields = {"z": [0.5, 0.7], "sigma2": [0.1, 0.2], "n": [3, 4], "labels": LABELS}
    with pytest.raises(ValueError, match=message):
        GroupSummary(**(fields | changed))


MODELS = pd.Index(["ada", "bob"], name="model")


def correlation(value=0.5):
    return pd.DataFrame([[1.0, value], [value, 1.0]], MODELS, MODELS)


@pytest.mark.parametrize(
    "matrix",
    [
        2 * np.eye(2),
        [[1.0, 0.5], [0.4, 1.0]],
        [[1.0, 1.2], [1.2, 1.0]],
        np.eye(3) - 0.9 * (np.eye(3) == 0),
    ],
)
def test_sampling_rejects_other_matrices(matrix):
    names = list("abc")[: len(matrix)]
    given = pd.DataFrame(matrix, names, names)
    with pytest.raises(ValueError):
        Sampling("continuous", items_shared=True, item_correlation=given)


def test_sampling_is_immutable():
    given = correlation()
    sampling = Sampling("continuous", items_shared=True, item_correlation=given)
    given.iloc[0, 1] = 0.9
    sampling.item_correlation.iloc[1, 0] = 0.9
    pd.testing.assert_frame_equal(sampling.item_correlation, correlation())
    with pytest.raises(AttributeError):
        sampling.outcome = "binomial"
    with pytest.raises(AttributeError):
        sampling.item_correlation = None
    assert not hasattr(sampling, "__len__") and not hasattr(sampling, "shape")


def test_sampling_equality_pickling_and_repr():
    fields = {
        "outcome": "clustered",
        "items_shared": True,
        "item_correlation": correlation(),
        "variance_noise": VarianceNoise(3.0, 0.9),
        "most_independent": 7,
    }
    sampling = Sampling(**fields)
    same = pickle.loads(pickle.dumps(sampling))
    assert same == sampling == replace(sampling) == copy.deepcopy(sampling)
    assert hash(same) == hash(sampling)
    others = [
        {"outcome": "binomial"},
        {"item_correlation": correlation(0.4)},
        {"variance_noise": None},
    ]
    others += [{"item_correlation": None}, {"most_independent": None}]
    for other in others:
        assert Sampling(**fields | other) != sampling
    for word in ("clustered", "items shared", "2 models", "3 degrees"):
        assert word in repr(sampling)
    assert "binomial" in repr(Sampling()) and "clustered" not in repr(Sampling())


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"item_correlation": correlation()}, "items_shared"),
        (
            {"items_shared": True, "item_correlation": correlation().rename(columns=str.upper)},
            r"'ada', 'bob'.*'ADA', 'BOB'",
        ),
    ],
)
def test_sampling_refuses(fields, message):
    with pytest.raises(ValueError, match=message):
        Sampling(**fields)


def test_summary_round_trip_through_a_table():
    X = pd.DataFrame({"topic": ["law", "art"], "z": [1.0, 2.0]}, index=LABELS)
    sampling = Sampling("clustered", items_shared=True, most_independent=4)
    g = GroupSummary([0.5, 0.7], [0.1, 0.2], [9, 9], LABELS, X, ["a", "b"], sampling, [3, 4])
    back = GroupSummary.from_frame(g.to_frame(features=True), g.sampling)
    pd.testing.assert_frame_equal(back.X, g.X)
    for name in ("z", "sigma2", "n", "n_independent", "groups", "labels"):
        np.testing.assert_array_equal(getattr(back, name), getattr(g, name))
    assert back.sampling == g.sampling
    with pytest.raises(ValueError):
        GroupSummary.from_frame(g.to_frame().drop(columns="sigma2"), None)
    with pytest.raises(ValueError):
        GroupSummary.from_frame(g.to_frame().assign(length=1), g.sampling)


def test_summary_repr():
    g = GroupSummary([0.5] * 9, [0.1] * 9, [3] * 9, range(9), groups=list("aaabbbccc"))
    assert "9 groups, 27 items" in repr(g)
    assert "share items" in repr(g) and "3 topics" in repr(g)
    assert "... and 3 more" in repr(g)


def test_difference_of_estimates():
    difference = make_estimate([0.8, 0.4], [0.03, 0.3]) - make_estimate([0.6, 0.5], [0.04, np.nan])
    np.testing.assert_allclose(difference.value, [0.2, -0.1])
    np.testing.assert_allclose(difference.standard_error, [0.05, np.nan])
    np.testing.assert_allclose(difference.high[0], 0.2 + norm.ppf(0.975) * 0.05)
    assert difference.guarantee == "model"


def test_difference_refuses_other_labels_and_levels():
    e = make_estimate([0.8, 0.4], [0.1, 0.1])
    with pytest.raises(ValueError):
        e - make_estimate([0.8, 0.4], [0.1, 0.1], labels=LABELS[::-1])
    with pytest.raises(ValueError):
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
    with pytest.raises(ValueError):
        make_estimate([0.8, 0.4], [0.1, 0.1], guarantee="certain")


@pytest.mark.parametrize("topic", ["art", "high_school_european_history"])
@pytest.mark.parametrize("method", ["direct", "empirical Bayes (robust), averaged over 8 splits"])
def test_printed_frame_shows_the_numbers_at_80_columns(topic, method):
    labels = pd.MultiIndex.from_product(
        [["gpt-4-turbo-2024", "llama"], [topic, "law"]], names=["model", "topic"]
    )
    frame = make_estimate([2 / 3] * 4, [1 / 7] * 4, labels=labels, method=method).to_frame()
    with pd.option_context("display.width", 80, "display.max_columns", 0):
        text = str(frame)
        part = str(frame.head(2))
        changed = str(frame.assign(guarantee=1.0))
    assert max(map(len, text.splitlines())) <= 80
    assert all(text.count(number) == 4 for number in ("0.6667", "0.5667", "0.7667", "0.1429"))
    assert all(part.count(number) == 2 for number in ("0.6667", "0.5667", "0.7667", "0.1429"))
    for printed in (text, part):
        assert printed.endswith(f"method: {method}; guarantee: each group")
    assert "guarantee: " not in changed
    with pd.option_context("display.width", 200, "display.max_columns", 0):
        assert str(frame) == str(pd.DataFrame(frame))


def test_html_is_escaped_and_small():
    labels = pd.Index(["<script>alert(1)</script>", *"abcdefg"])
    e = make_estimate([0.5] * 8, [0.1] * 8, labels=labels, method="a < b & c")
    g = GroupSummary([0.5] * 8, [0.1] * 8, [3] * 8, labels)
    for shown in (e._repr_html_(), g._repr_html_()):
        assert "<script>" not in shown and "&lt;script&gt;" in shown
        assert "... and 2 more" in shown
        assert "color" not in shown and len(shown) < 2500
    assert "a &lt; b &amp; c; 95% intervals, guarantee: each group" in e._repr_html_()


def test_estimate_within_the_range_of_the_score():
    e = make_estimate([0.05, 0.95], [0.1, 0.1])
    cut = e.within(0, 1)
    assert cut.low[0] == 0 and cut.high[1] == 1
    np.testing.assert_array_equal(cut.high[0], e.high[0])
    np.testing.assert_array_equal(cut.standard_error, e.standard_error)
    assert np.isnan(replace(e, low=[np.nan, np.nan]).within(0, 1).low).all()
    with pytest.raises(ValueError):
        e.within(1, 0)


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


def test_draws_refuse_labels_that_do_not_fit():
    with pytest.raises(ValueError):
        Draws(np.zeros((4, 3)), pd.Index(["a", "b"]), "bootstrap")
