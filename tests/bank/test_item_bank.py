"""`ItemBank`: reading, gaps, engines, files."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit

from skbench import ItemBank, UnitLevelModel


def same(first, second):
    np.testing.assert_allclose(first.easiness_, second.easiness_)
    np.testing.assert_allclose(first.components_, second.components_, atol=1e-6)
    pd.testing.assert_frame_equal(first.items_, second.items_, check_dtype=False)


def test_easiness_is_the_smoothed_log_odds(past):
    bank = ItemBank().fit(past)
    k = past.groupby(["topic", "item"])["score"].sum()
    k = k.loc[pd.MultiIndex.from_frame(bank.items_)].to_numpy()
    np.testing.assert_allclose(bank.easiness_, logit((k + 1) / 13))
    assert bank.components_.shape == (300, 10) and bank.binary_


@pytest.mark.parametrize("engine", ["polars", "lazy", "pyarrow", "duckdb"])
def test_every_engine_gives_the_same_bank(past, engine, tmp_path):
    shuffled = past.sample(frac=1, random_state=0)
    if engine == "pyarrow":
        pa = pytest.importorskip("pyarrow")
        frame = pa.Table.from_pandas(shuffled, preserve_index=False)
    elif engine == "duckdb":
        pytest.importorskip("duckdb")
        shuffled.to_parquet(tmp_path / "past.parquet")
        frame = str(tmp_path)
    else:
        pl = pytest.importorskip("polars")
        frame = pl.from_pandas(shuffled)
        frame = frame.lazy() if engine == "lazy" else frame
    same(ItemBank().fit(past), ItemBank().fit(frame))


def test_a_saved_bank_comes_back(past, new, tmp_path):
    pytest.importorskip("pyarrow")
    gaps = past.sample(frac=0.9, random_state=0)
    bank = ItemBank(score="right").fit(gaps.rename(columns={"score": "right"}))
    bank.save(tmp_path / "bank.parquet")
    again = ItemBank.load(tmp_path / "bank.parquet")
    same(bank, again)
    assert again.score == "right"
    np.testing.assert_array_equal(bank.scores_, again.scores_)
    asked = new.groupby("topic").head(5)
    values = [UnitLevelModel(b).fit(asked, asked["score"]).estimate().value for b in (bank, again)]
    np.testing.assert_allclose(*values)
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "other.parquet")
    with pytest.raises(ValueError):
        ItemBank.load(tmp_path / "other.parquet")
    past.to_csv(tmp_path / "past.csv")
    with pytest.raises(ValueError):
        ItemBank.load(tmp_path / "past.csv")


def test_a_bank_of_an_earlier_version(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    path = Path(__file__).parent / "bank_format_1.parquet"
    bank = ItemBank.load(path)
    assert list(bank.models_) == ["ada", "bob", "cyd", "dan"] and list(bank.topics_) == [
        "art",
        "law",
    ]
    np.testing.assert_allclose(bank.easiness_[:2], [0.51466894, 0.78676549])
    assert (bank.model, bank.topic, bank.item, bank.score) == ("model", "topic", "item", "score")
    table = pq.read_table(path)
    told = {k: v.replace(b'"format": 1', b'"format": 9') for k, v in table.schema.metadata.items()}
    pq.write_table(table.replace_schema_metadata(told), tmp_path / "later.parquet")
    with pytest.raises(ValueError, match="format 9"):
        ItemBank.load(tmp_path / "later.parquet")


def test_runs_are_averaged_and_names_of_columns_are_free(past):
    twice = pd.concat([past, past.assign(score=1 - past["score"])])
    twice = twice.rename(columns={"model": "who", "item": "id", "score": "right", "topic": "of"})
    with pytest.warns(UserWarning):
        bank = ItemBank(model="who", item="id", score="right", topic="of").fit(twice)
    assert np.all(bank.scores_ == 0.5) and bank.binary_
    assert bank.transform(twice)["easiness"].nunique() == 1
    assert bank.without("m00").item == "id"


def test_without_topics_and_without_models(past):
    bank = ItemBank(exclude=["m03"]).fit(past.drop(columns="topic"))
    assert list(bank.topics_) == ["all"] and "m03" not in bank.models_
    same(bank, ItemBank().fit(past.drop(columns="topic")).without("m03"))
    with pytest.raises(ValueError):
        bank.without("nobody")
    with pytest.raises(ValueError):
        ItemBank(exclude=set(past["model"])).fit(past)
    with pytest.warns(UserWarning, match="'m3'"):
        ItemBank(exclude=["m3"]).fit(past)


def test_features_of_items(past):
    bank = ItemBank().fit(past)
    asked = pd.DataFrame({"topic": ["t1", "t1", "new"], "item": [60, -5, 1]}, index=list("abc"))
    table = bank.transform(asked)
    of_topic = bank.easiness_[bank.topic_codes_ == 1]
    at = bank.items_.index[bank.items_["item"] == 60][0]
    expected = [bank.easiness_[at], of_topic.mean(), bank.easiness_.mean()]
    np.testing.assert_allclose(table["easiness"], expected)
    assert np.all(table.iloc[1:, 1:] == 0) and list(table.index) == list("abc")


def test_it_says_what_it_knows(past):
    text = repr(ItemBank().fit(past[past["model"] < "m02"]))
    assert "300 items in 6 topics" in text and "2 earlier models" in text
    assert "few models" in text and "0.0% missing" in text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert repr(ItemBank()) == "ItemBank()"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": np.nan}, "missing or infinite"),
        ({"score": "good"}, "must be numeric"),
        ({"item": None}, "have no 'item'"),
    ],
)
def test_bad_rows_are_refused(past, change, message):
    bad = past.head(60).copy()
    for name, value in change.items():
        bad[name] = bad[name].astype(object)
        bad.iloc[3, bad.columns.get_loc(name)] = value
    if change.get("score") is np.nan:
        bad["score"] = bad["score"].astype(float)
    with pytest.raises(ValueError, match=message):
        ItemBank().fit(bad)
