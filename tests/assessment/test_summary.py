"""Summaries of studies against loops, identities and distributions."""

import numpy as np
import pandas as pd
import pytest
from reference.study_slow import jackknife_error, ratio_table

from skbench import (
    DirectEstimator,
    FayHerriot,
    JamesStein,
    RepeatedSamplingStudy,
    make_items,
)
from skbench.assessment import summarize_studies

ESTIMATORS = {"direct": DirectEstimator(), "JS": JamesStein(), "FH": FayHerriot()}


def run(n_repeats=20, n_items=0.2, sizes=(30, 60, 60, 90, 150, 300), seed=0):
    data = make_items(4, len(sizes), list(sizes), random_state=seed)
    study = RepeatedSamplingStudy(ESTIMATORS, n_items, n_repeats, random_state=seed)
    return study.run(data.items, features=data.features)


@pytest.fixture(scope="module")
def study():
    return run()


def test_ratios_are_those_of_loops(study):
    slow = ratio_table(study.results_, "direct")
    fast = study.summary().loc[slow.index, slow.columns].astype(float)
    pd.testing.assert_frame_equal(fast, slow, rtol=1e-12, check_names=False)


def test_baseline_is_one_with_standard_error_zero(study):
    row = study.summary().loc["direct"]
    assert row["mse_ratio"] == row["small"] == row["large"] == row["width_ratio"] == 1
    assert row["standard_error"] < 1e-12
    other = study.summary(baseline="FH")
    np.testing.assert_allclose(
        other.loc["direct", "mse_ratio"] * study.summary().loc["FH", "mse_ratio"], 1, rtol=1e-12
    )


def test_bias_and_variance_add_up_to_the_error(study):
    table = study.summary()
    np.testing.assert_allclose(
        (table["squared_bias"] + table["variance"]).astype(float),
        table["mse"].astype(float),
        rtol=1e-10,
    )


def test_the_direct_estimator_is_unbiased_with_the_variance_of_sampling(study):
    row = study.summary().loc["direct"]
    truth = study.truth_
    size = truth.index.get_level_values("topic").map(
        dict(zip(truth.index.unique("topic"), [30, 60, 60, 90, 150, 300], strict=True))
    )
    n = np.round(0.2 * size)
    # Hypergeometric: the variance of a mean without replacement.
    variance = np.mean(truth * (1 - truth) / n * (size - n) / (size - 1))
    # 24 groups x 20 repetitions: relative standard error of a variance near sqrt(2 / 480).
    np.testing.assert_allclose(row["variance"], variance, rtol=5 * np.sqrt(2 / 480))
    assert abs(row["squared_bias"]) < 5 * variance / 20


def test_standard_error_is_the_jackknifes(study):
    rows = study.results_.assign(square=(study.results_["estimate"] - study.results_["truth"]) ** 2)
    means = rows.groupby(["estimator", "repetition"], observed=True)["square"].mean()
    expected = jackknife_error(means["FH"].to_numpy(), means["direct"].to_numpy())
    # First order against the jackknife: they differ by terms of order 1 / 20.
    np.testing.assert_allclose(study.summary().loc["FH", "standard_error"], expected, rtol=0.1)


def test_small_and_large_groups_are_split_at_fifteen_items(study):
    small = study.results_["n"] <= 15
    for part, chosen in {"small": small, "large": ~small}.items():
        slow = ratio_table(study.results_[chosen], "direct")
        table = study.summary()
        np.testing.assert_allclose(
            table.loc[slow.index, part].astype(float), slow["mse_ratio"], rtol=1e-12
        )
        np.testing.assert_allclose(
            table.loc[slow.index, f"coverage_{part}"].astype(float), slow["coverage"], rtol=1e-12
        )


@pytest.mark.parametrize("by", ["n", "truth", "model", "topic"])
def test_parts_together_are_the_whole(study, by):
    parts = study.summary(by=by)
    assert parts.index.names == [by, "estimator"]
    rows = study.results_
    keys = {
        "n": pd.cut(
            rows["n"],
            [0, 15, 50, 200, 999],
            labels=["up to 15 items", "16 to 50", "51 to 200", "-"],
        ),
        "truth": pd.cut(
            rows["truth"],
            [-1, 0.1, 0.25, 0.5, 0.75, 0.9, 2],
            labels=[
                "up to 0.1",
                "0.1 to 0.25",
                "0.25 to 0.5",
                "0.5 to 0.75",
                "0.75 to 0.9",
                "above 0.9",
            ],
        ),
    }.get(by, rows.get(by))
    shares = keys.value_counts(normalize=True)
    weighted = sum(
        shares[part] * parts.loc[part]["mse"].astype(float) for part in parts.index.unique(by)
    )
    np.testing.assert_allclose(weighted, study.summary()["mse"].astype(float), rtol=1e-10)


def test_truths_outside_the_unit_interval_are_split_into_fifths():
    data = make_items(3, 10, 60, score="continuous", random_state=0)
    items = data.items.assign(score=lambda rows: 100 * rows["score"])
    study = RepeatedSamplingStudy({"direct": DirectEstimator()}, 10, 3, random_state=0).run(items)
    assert len(study.summary(by="truth").index.unique("truth")) == 5


@pytest.mark.parametrize(
    ("true_values", "parts"),
    [
        ([50, 50, 50, 50], ["third fifth"]),
        ([1000, 1000, 1000, 1000.5], ["third fifth", "highest fifth"]),
    ],
)
def test_truths_may_be_equal_or_close(true_values, parts):
    items = make_items(1, 4, 40, random_state=0).items
    topic = items["topic"].str[-1].astype(int).to_numpy()
    items["score"] = np.array(true_values)[topic] + np.tile([-0.25, 0.25], 80)
    study = RepeatedSamplingStudy({"direct": DirectEstimator()}, 10, 3, random_state=0).run(items)
    assert study.summary(by="truth").index.unique("truth").tolist() == parts


def test_unknown_names_are_refused(study):
    with pytest.raises(ValueError):
        study.summary(baseline="EB")
    with pytest.raises(ValueError):
        study.summary(by="subject")


def test_summarize_studies_gives_mean_and_median():
    studies = {f"set {seed}": run(2, seed=seed) for seed in range(3)}
    table = summarize_studies(studies)
    ratios = [study.summary().loc["FH", "mse_ratio"] for study in studies.values()]
    assert table.loc[("mean", "FH"), "mse_ratio"] == pytest.approx(np.mean(ratios), rel=1e-12)
    assert table.loc[("median", "FH"), "mse_ratio"] == pytest.approx(np.median(ratios), rel=1e-12)
    pd.testing.assert_frame_equal(table.loc["set 1"], studies["set 1"].summary(), check_dtype=False)
    assert table.index.unique("study").tolist() == [*studies, "mean", "median"]
    with pytest.raises(ValueError):
        summarize_studies({})
