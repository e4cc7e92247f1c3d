"""Codes of columns: the same from every engine, and those of pandas' own group-by."""

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

from skbench import item_correlation, summarize_items
from skbench.items.codes import CodedRows

ROWS = pd.DataFrame(
    {
        "text": ["b", "a", "b", "c", "a", "b"],
        "number": [3, 1, 3, 2, 1, 1],
        "zero": [0.0, -0.0, 2.5, 0.0, 2.5, -1.0],
        "day": pd.to_datetime(["2024-02-01", "2024-01-01"] * 3),
        "kind": pd.Categorical(["y", "x"] * 3, categories=["z", "y", "x"]),
    }
)


def coded(rows, engine):
    if engine != "pandas":
        polars = pytest.importorskip("polars")
        pytest.importorskip("pyarrow")
        rows = polars.from_pandas(rows)
        rows = rows.to_arrow() if engine == "pyarrow" else rows
    return CodedRows(nw.from_native(rows, eager_only=True))


@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow"])
def test_codes_are_places_among_the_sorted_values(engine):
    rows = coded(ROWS, engine)
    for name in ROWS:
        values = ROWS[name].astype(str) if name == "kind" else ROWS[name]
        places, distinct = pd.factorize(values, sort=True)
        np.testing.assert_array_equal(rows.codes(name), places)
        assert rows.values(name).tolist() == distinct.tolist()
    names = ["text", "number", "kind"]
    together = rows.together(names)
    plain = ROWS.astype({"kind": str}).groupby(names)
    np.testing.assert_array_equal(together, plain.ngroup())
    assert rows.index(names, together).equals(plain.size().index)


@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow"])
def test_answers_are_counted_as_by_hand(engine):
    answers = pd.DataFrame({"item": [1, 1, 2, 2, 2, 3], "model": ["a", "b", "a", "a", "a", "b"]})
    rows = coded(answers, engine)
    assert rows.most_answers(["item"], "model") == (2, 3)  # item 1 of two models; 2 thrice of a


@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow"])
def test_missing_values_have_no_code(engine):
    rows = coded(ROWS.assign(text=ROWS["text"].where(ROWS.index != 2)), engine)
    assert rows.lacks("text") and not rows.lacks("number")
    with pytest.raises(ValueError, match="1 of 6 rows .*row 2"):
        rows.together(["number", "text"])


@pytest.mark.parametrize("kind", ["Datetime", "Duration", "Time"])
def test_nanoseconds_count(kind):
    pl = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    plain = pl.DataFrame({"model": ["a", "b"] * 6, "item": np.arange(12) // 2})
    plain = plain.with_columns(topic=pl.lit("t"), score=pl.Series(np.arange(12) * 7 % 5 < 2))
    types = {"Datetime": pl.Datetime("ns", "Europe/Paris"), "Duration": pl.Duration("ns")}
    item = (pl.col("item") + 1_700_000_000_001).cast(types.get(kind, pl.Time))
    fine, expected = plain.with_columns(item=item), item_correlation(plain)
    pd.testing.assert_frame_equal(item_correlation(fine), expected)
    own = summarize_items(fine, ["model", "item"])
    assert len(own) == 12 and own.labels.is_unique


@pytest.mark.parametrize("column", ["model", "topic", "item"])
def test_names_that_lack_a_part_are_refused(column):
    rows = pd.DataFrame({"model": ["a", "b"] * 2, "topic": "t", "item": [1, 1, 2, 2], "score": 1})
    rows[column] = [("x", np.nan), ("x", 1), ("y", 1), ("y", 2)]
    for call in (item_correlation, lambda rows: summarize_items(rows, ["model", "topic"])):
        with pytest.raises(ValueError, match=f"{column!r}.* 1 of 4 rows"):
            call(rows)


@pytest.mark.parametrize("engine", ["polars", "pyarrow"])
def test_labels_that_are_lists_are_refused(engine):
    rows = pd.DataFrame({"model": ["a", "b"], "item": [[1], [2]], "score": [0, 1]})
    rows = nw.to_native(coded(rows, engine).frame)
    with pytest.raises(TypeError, match=r"'item' .*List"):
        item_correlation(rows)


def test_labels_without_an_order_are_refused():
    rows = pd.DataFrame({"model": [object(), object()], "item": [1, 1], "score": [0, 1]})
    with pytest.raises(TypeError, match="'model'"):
        item_correlation(rows)
