"""`ItemBank`: reading, gaps, engines, files."""

import json
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


@pytest.mark.parametrize("engine", ["pyarrow", "duckdb", "lazy"])
def test_every_engine_gives_the_same_bank(past, engine, tmp_path):
    shuffled = past.sample(frac=1, random_state=0)
    if engine == "pyarrow":
        pa = pytest.importorskip("pyarrow")
        frame = pa.Table.from_pandas(shuffled, preserve_index=False)
    elif engine == "lazy":
        frame = pytest.importorskip("polars").from_pandas(shuffled).lazy()
    else:
        pytest.importorskip("duckdb")
        shuffled.to_parquet(tmp_path / "past.parquet")
        frame = str(tmp_path)
    same(ItemBank().fit(past), ItemBank().fit(frame))


def test_a_saved_bank_is_restored(past, new, tmp_path):
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


def test_a_bank_of_an_earlier_version():
    pytest.importorskip("pyarrow.parquet")
    path = Path(__file__).parent / "bank_format_1.parquet"
    bank = ItemBank.load(path)
    assert list(bank.models_) == ["ada", "bob", "cyd", "dan"] and list(bank.topics_) == [
        "art",
        "law",
    ]
    np.testing.assert_allclose(bank.easiness_[:2], [0.51466894, 0.78676549])
    assert (bank.model, bank.topic, bank.item, bank.score) == ("model", "topic", "item", "score")


def filled(name, value):
    """A change of the columns that start with `name`: one value in all rows."""

    def change(description, table):
        for j, old in enumerate(table.column_names):
            if old.startswith(name):
                table = table.set_column(j, old, [[value] * len(table)])
        return description, table

    return change


DAMAGED = {
    "later": lambda description, table: (description | {"format": 9}, table),
    "no JSON": lambda description, table: ("{", table),
    "a list": lambda description, table: ([], table),
    "no UTF-8": lambda description, table: (b"\xff", table),
    "no models": lambda description, table: (description | {"models": [], "ability": []}, table),
    "a model thrice": lambda description, table: (description | {"models": ["ada"] * 4}, table),
    "an unnamed model": lambda description, table: (description | {"models": [None, *"abc"]}, table),
    "a model less": lambda description, table: (
        description | {"models": list("abc"), "ability": [1, 2, 3]}, table),
    "a list of a model": lambda description, table: (description | {"models": [["ada"], *"bcd"]}, table),
    "an ability less": lambda description, table: (description | {"ability": [1, 2, 3]}, table),
    "an ability of words": lambda description, table: (description | {"ability": list("1234")}, table),
    "ability nan": lambda description, table: (description | {"ability": [1, 2, 3, np.nan]}, table),
    "a huge ability": lambda description, table: (description | {"ability": [1, 2, 3, 10**400]}, table),
    "a kind": lambda description, table: (description | {"binary": "yes"}, table),
    "settings": lambda description, table: (description | {"n_components": "32"}, table),
    "roles": lambda description, table: (description | {"columns": {"cluster": "x"}}, table),
    "a role": lambda description, table: (description | {"columns": {"topic": ["x"]}}, table),
    "no ability": lambda description, table: (
        {k: v for k, v in description.items() if k != "ability"}, table),
    "no column": lambda description, table: (description, table.drop_columns(["easiness"])),
    "no component": lambda description, table: (description, table.drop_columns(["component 0"])),
    "a column twice": lambda description, table: (description, table.append_column("topic", table["topic"])),
    "no items": lambda description, table: (description, table.slice(0, 0)),
    "an item twice": filled("item", "a"),
    "items without names": filled("item", None),
    "lists of items": filled("item", [1]),
    "score 7": filled("score 0", 7),
    "infinite scores": filled("score 0", np.inf),
    "words for scores": filled("score 0", "1"),
    "no answers": filled("score 0", np.nan),
    "words for easiness": filled("easiness", "1"),
    "easiness nan": filled("easiness", np.nan),
    "components nan": filled("component", np.nan),
}  # fmt: skip


@pytest.mark.parametrize("damage", [*DAMAGED, "cut", "huge scores"])
def test_a_damaged_bank_is_refused(damage, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    path, copy = Path(__file__).parent / "bank_format_1.parquet", tmp_path / "bank.parquet"
    if damage == "cut":
        copy.write_bytes(path.read_bytes()[:-100])
    else:
        table = pq.read_table(path)
        description = json.loads(table.schema.metadata[b"skbench_item_bank"])
        if damage == "huge scores":
            description["binary"] = False
            _, table = filled("score 0", 1e200)(description, table)
        else:
            description, table = DAMAGED[damage](description, table)
        description = (
            description if isinstance(description, str | bytes) else json.dumps(description)
        )
        pq.write_table(table.replace_schema_metadata({"skbench_item_bank": description}), copy)
    with pytest.raises(ValueError, match=r"bank.parquet'"):
        ItemBank.load(copy)


@pytest.mark.parametrize("role", ["model", "item"])
@pytest.mark.parametrize(
    "label", [lambda i: (i, i), lambda i: 10**25 + i, pd.Period("2020-01").__add__, pd.Timestamp]
)
def test_labels_are_restored_or_refused(label, role, tmp_path):
    pytest.importorskip("pyarrow")
    rows = pd.MultiIndex.from_product([range(6), range(12)], names=["model", "item"]).to_frame()
    rows = rows.reset_index(drop=True).assign(score=np.arange(72) * 7 % 11 < 5)
    bank = ItemBank().fit(rows.assign(**{role: [label(i) for i in rows[role]]}))
    try:
        bank.save(tmp_path / "bank")
    except ValueError as error:
        assert f"{role} " in str(error) and f"{role}s" in str(error)
    else:
        again = ItemBank.load(tmp_path / "bank")
        assert list(again.models_) == list(bank.models_)
        assert list(again.items_["item"]) == list(bank.items_["item"])


@pytest.mark.parametrize(("scale", "shift"), [(1e-9, 0), (1e30, 0), (1e74, 0), (1, 1e6)])
def test_units_change_nothing(scale, shift, tmp_path):
    """Scores are kept as they are, in memory and in the file."""
    rng = np.random.default_rng(0)
    rows = pd.MultiIndex.from_product([list("abcdef"), range(40)], names=["model", "item"])
    rows = rows.to_frame(index=False)
    rows["score"] = rng.normal(size=240) + np.tile(rng.normal(size=40), 6)

    def estimate(scale, shift):
        table = rows.assign(score=scale * (rows["score"] + shift))
        bank = ItemBank().fit(table[table["model"] != "f"])
        bank.save(tmp_path / "bank")
        again = ItemBank.load(tmp_path / "bank")
        assert again.scores_.dtype == bank.scores_.dtype == float
        np.testing.assert_array_equal(again.scores_, bank.scores_)
        new = table[table["model"] == "f"].head(15)
        found = UnitLevelModel(again).fit(new, new["score"]).estimate()
        return np.array([found.value, found.low, found.high]) / scale - shift

    np.testing.assert_allclose(estimate(scale, shift), estimate(1, 0), atol=1e-6)


@pytest.mark.parametrize(("runs", "kind"), [(1, "int8"), (2, "float"), (3, "double")])
def test_scores_are_as_narrow_as_they_can_be(past, runs, kind, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    some = past[past["model"] < "m04"]
    bank = ItemBank().fit(
        pd.concat([some.assign(score=(some["score"] + i) % 2) for i in range(runs)])
    )
    bank.save(tmp_path / "bank")
    assert str(pq.read_schema(tmp_path / "bank").field("score 0").type) == kind
    again = ItemBank.load(tmp_path / "bank").scores_
    np.testing.assert_array_equal(again, bank.scores_)
    assert again.dtype == bank.scores_.dtype == (np.float32 if kind == "int8" else float)


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


def test_the_printed_bank_has_its_sizes(past):
    text = repr(ItemBank().fit(past[past["model"] < "m02"]))
    assert "300 items in 6 topics" in text and "2 earlier models" in text
    assert "0.0%" in text and len(text.splitlines()) == 3  # a warning of few models
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert repr(ItemBank()) == "ItemBank()"
