"""Text files that are not what was meant: encodings, lines of other lengths, decimal commas."""

import re

import pandas as pd
import pytest
from reading import message

from skbench.readers import read_items, read_with_notes


def test_decimal_commas_are_read_where_they_separate_nothing(written):
    long = written("model;item;score\na;1;0,5\na;2;1\na;3;\na;4;0,125\n")
    read = read_with_notes(long)
    assert read.items["score"].tolist() == [0.5, 1.0, 0.125]
    assert "decimal" in read.notes[0] and read.notes[0].endswith("score")
    wide = written("item;o1;o3\nq1;0,5;1\nq2;0,25;0,75\n")
    assert read_items(wide)["score"].tolist() == [0.5, 0.25, 1.0, 0.75]
    groups = written("model;acc;acc_stderr;n\na;0,5;0,05;100\nb;0,7;0,04;100\n")
    assert read_with_notes(groups).groups["score"].tolist() == [0.5, 0.7]


def test_labels_and_texts_keep_their_commas(written):
    text = "model;version;item;score;note\na;3,1;1,0;1;see 1,2\na;3,10;2,0;0;1,2\n"
    read = read_items(written(text))
    assert read["item"].tolist() == ["1,0", "2,0"]
    assert read["note"].tolist() == ["see 1,2", "1,2"]


@pytest.mark.parametrize("separator", [",", ";"])
def test_commas_that_may_be_of_thousands_are_refused(written, separator):
    table = pd.DataFrame({"model": "a", "item": [1, 2], "score": ["1,234", "2,345"]})
    text = message(written(table.to_csv(index=False, sep=separator)))
    assert re.search("row 1: 'score' .*'1,234'", text)
