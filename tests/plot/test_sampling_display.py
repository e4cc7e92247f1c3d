"""SamplingDisplay: the numbers without matplotlib, then what is on the paper."""

import numpy as np
import pandas as pd
import pytest
from facts import noted, numbers

from skbench import SamplingDisplay

TRUTH = {"art": 0.2, "bio": 0.9, "law": 0.5, "med": 0.7}


def make_results(n_repeats=8):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        [
            {
                "repetition": repetition,
                "estimator": name,
                "model": model,
                "topic": topic,
                "n": 10,
                "estimate": truth + spread * rng.normal(),
                "low": 0.0,
                "high": 1.0,
                "truth": truth,
                "guarantee": "each group",
            }
            for repetition in range(n_repeats)
            for name, spread in (("direct", 0.1), ("EB", 0.03))
            for model in ("ada",)
            for topic, truth in TRUTH.items()
        ]
    ).astype({"estimator": "category", "topic": "category"})


def test_rows_are_groups_by_truth_and_columns_are_samples():
    results = make_results()
    display = SamplingDisplay.from_results(results)
    assert list(display.estimates) == ["direct", "EB"]
    table = display.estimates["EB"]
    assert [label[1] for label in table.index] == ["bio", "med", "law", "art"]
    assert display.truth.tolist() == [0.9, 0.7, 0.5, 0.2]
    own = results.query("estimator == 'EB' and topic == 'law'")
    np.testing.assert_array_equal(table.loc[("ada", "law")], own["estimate"])
    assert [numbers(note) for note in display.notes] == [[8]]


def test_groups_and_estimators_can_be_picked():
    display = SamplingDisplay.from_results(
        make_results(), estimators=["EB"], labels=[("ada", "art"), ("ada", "bio")]
    )
    assert list(display.estimates) == ["EB"]
    assert [label[1] for label in display.estimates["EB"].index] == ["bio", "art"]
    assert numbers(display.notes[0]) == [2, 4]


def test_many_groups_are_thinned_evenly():
    display = SamplingDisplay.from_results(make_results(), max_rows=2)
    assert display.truth.tolist() == [0.9, 0.2]
    assert numbers(display.notes[0]) == [2, 4]


def test_missing_estimates_are_nan():
    results = make_results()
    gone = (results["repetition"] == 3) & (results["estimator"] == "EB")
    display = SamplingDisplay.from_results(results[~gone])
    assert display.estimates["EB"].shape == (4, 7)
    one = gone & (results["topic"] == "law")
    table = SamplingDisplay.from_results(results[~one]).estimates["EB"]
    assert table.isna().sum().sum() == 1 and np.isnan(table.loc[("ada", "law"), 3])


def test_estimators_with_fewer_samples_are_noted():
    results = make_results()
    some = results[(results["estimator"] == "direct") | (results["repetition"] < 2)]
    notes = SamplingDisplay.from_results(some).notes
    assert noted(notes) == [("", [8]), ("EB", [2])]
    none = SamplingDisplay.from_results(results[results["estimator"] == "direct"])
    assert noted(none.notes) == [("", [8]), ("EB", [])]
    asked = SamplingDisplay.from_results(some, estimators=["direct"])
    assert noted(asked.notes) == [("", [8])]


RESULTS = make_results()


@pytest.mark.parametrize(
    ("results", "options", "error"),
    [
        (RESULTS, {"estimators": ["SR"]}, ValueError),
        (RESULTS, {"estimators": []}, ValueError),
        (RESULTS, {"labels": [("ada", "xyz")]}, ValueError),
        (RESULTS.drop(columns="truth"), {}, ValueError),
        (RESULTS.iloc[:0], {}, ValueError),
        (pd.concat([RESULTS, RESULTS]), {}, ValueError),
        ([1, 2], {}, TypeError),
    ],
)
def test_tables_without_a_picture_are_refused(results, options, error):
    with pytest.raises(error):
        SamplingDisplay.from_results(results, **options)


def test_one_sample_is_not_several():
    (note,) = SamplingDisplay.from_results(make_results(1)).notes
    assert numbers(note) == [1] and "samples" not in note


def test_twelve_estimators_look_different(pyplot):
    results = make_results(2).query("estimator == 'EB'")
    many = pd.concat([results.assign(estimator=f"method {i}") for i in range(12)])
    display = SamplingDisplay.from_results(many.astype({"estimator": "category"})).plot()
    handles = display.ax_.get_legend().legend_handles[:-1]
    assert len({(handle.get_color(), handle.get_marker()) for handle in handles}) == 12


def test_dots_ticks_and_truth_are_drawn(pyplot):
    display = SamplingDisplay.from_results(make_results()).plot(xlabel="accuracy")
    dots = [line for line in display.ax_.lines if len(line.get_xdata()) == 32]
    expected = [table.to_numpy().ravel() for table in display.estimates.values()]
    for line, values in zip(dots, expected, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), values)
        np.testing.assert_array_equal(np.round(line.get_ydata()), np.repeat(np.arange(4), 8))
    texts = [text.get_text() for text in display.ax_.get_legend().texts]
    assert texts[:2] == ["direct", "EB"] and len(texts) == 3
    assert display.ax_.get_xlabel() == "accuracy"
