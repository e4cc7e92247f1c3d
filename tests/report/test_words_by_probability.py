"""The headline names outliers, marks probable ones as such, and omits improbable ones."""

import numpy as np
import pandas as pd
import pytest

from skbench.report.headline import outlying_in_headline


def groups(*probabilities):
    names = [f"m{k}" for k in range(len(probabilities))]
    rows = pd.DataFrame({"model": names, "topic": "law", "outlier_probability": probabilities})
    return pd.concat([rows, rows.assign(topic="art", outlier_probability=0.0)], ignore_index=True)


@pytest.mark.parametrize(
    ("probability", "named", "probable"),
    [(0.95, True, False), (0.9, True, False), (0.7, True, True), (0.1, False, False)],
)
def test_words_follow_the_probability(probability, named, probable):
    (sentence,) = outlying_in_headline(groups(probability, 0.0))
    assert ("m0 on law" in sentence) == named
    assert ("probably" in sentence) == probable


def test_improbable_outliers_are_not_mentioned():
    assert not list(outlying_in_headline(groups(0.4, 0.0)))


def test_the_sure_ones_come_first():
    sure, probable = outlying_in_headline(groups(0.6, 0.97, 0.55))
    assert sure.startswith("m1 on law") and "probably" not in sure
    assert probable.startswith("m0 on law and m2 on law") and "probably" in probable


def test_unknown_probabilities_are_not_mentioned():
    assert not list(outlying_in_headline(groups(0.0, 0.0).assign(outlier_probability=np.nan)))
