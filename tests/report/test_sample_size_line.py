"""The sample size ratio in the output of `skbench estimate`."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from writing import write

from skbench import Estimate, JamesStein, make_items, summarize_items
from skbench.assessment import sample_size_ratio
from skbench.report.estimate import estimate
from skbench.report.tables import sample_size_in_words
from skbench.stats.shrinkage.sample_size import SampleSizeRatio


@pytest.fixture(scope="module")
def data():
    return make_items(4, 25, 10, random_state=0)


@pytest.fixture(scope="module")
def file(data, tmp_path_factory):
    return str(
        write(tmp_path_factory.mktemp("ratio") / "scores.csv", data.items.drop(columns="cluster"))
    )


def run(*arguments):
    result = CliRunner().invoke(estimate, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_line_and_json_agree_with_the_function(data, file):
    g = summarize_items(data.items, ["model", "topic"])
    ratio = sample_size_ratio(JamesStein().fit(**g.fit_args), g, 0.9)
    options = ("--method", "james-stein", "--confidence-level", "0.9")
    text = " ".join(run(file, *options).split())
    assert f"{ratio.value:.2g} times " in text
    assert f"(90% interval {ratio.low:.2g} to {ratio.high:.2g}," in text
    found = json.loads(run(file, *options, "--json"))["sample_size_ratio"]
    assert found == pytest.approx(ratio._asdict())


def test_unknown_without_a_formula(file):
    found = json.loads(run(file, "--method", "structured", "--json"))
    assert found["sample_size_ratio"] is None


def test_an_unknown_ratio_is_a_sentence():
    labels = pd.Index(["a"])
    ratio = SampleSizeRatio(np.nan, np.nan, np.nan)
    e = Estimate([1], [1], [1], [1], 0.95, labels, "averaged", "model", sample_size_ratio=ratio)
    sentence = sample_size_in_words(e)
    assert "unknown" in sentence and "nan" not in sentence
