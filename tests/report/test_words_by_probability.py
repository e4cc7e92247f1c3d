"""The headline states what is nearly certain, calls probable what is, and leaves out the rest."""

import numpy as np
import pandas as pd
import pytest

from skbench.report.headline import outlying_in_headline


def groups(*probabilities):
    names = [f"m{k}" for k in range(len(probabilities))]
    rows = pd.DataFrame({"model": names, "topic": "law", "outlier_probability": probabilities})
    return pd.concat([rows, rows.assign(topic="art", outlier_probability=0.0)], ignore_index=True)


@pytest.mark.parametrize(
    ("probability", "words"),
    [
        (0.95, ["m0 on law is unlike its peers: look at the items."]),
        (0.9, ["m0 on law is unlike its peers: look at the items."]),
        (0.7, ["m0 on law is probably unlike its peers: look at the items."]),
        (0.4, []),
        (0.1, ["No group is unlike its peers."]),
    ],
)
def test_words_follow_the_probability(probability, words):
    assert list(outlying_in_headline(groups(probability, 0.0))) == words


def test_the_sure_ones_come_first():
    said = list(outlying_in_headline(groups(0.6, 0.97, 0.55)))
    assert said == [
        "m1 on law is unlike its peers: look at the items.",
        "m0 on law and m2 on law are probably unlike their peers: look at the items.",
    ]


def test_what_is_not_estimated_is_not_said():
    assert not list(outlying_in_headline(groups(0.0, 0.0).assign(outlier_probability=np.nan)))
