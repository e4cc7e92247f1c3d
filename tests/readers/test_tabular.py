"""read_items: one row per (model, item), whatever the file looks like."""

import re

import numpy as np
import pandas as pd
import pytest
from reading import message

from skbench import compare_models
from skbench.readers import read_features, read_items, read_with_notes

LONG = (
    "System,Task,question id,is_correct,length\n"
    "gpt-4,law,1,1,10\ngpt-4,law,2,0,20\nclaude,law,1,1,10\nclaude,law,2,1,20\n"
)
WIDE = "task,id,length,gpt-4,claude\nlaw,1,10,1,1\nlaw,2,20,0,1\n"


def rows(items):
    """Model, topic, item and score of every row, as plain tuples."""
    return list(items[["model", "topic", "item", "score"]].itertuples(index=False, name=None))


def test_long_and_wide_give_the_same_rows(written):
    expected = [
        ("gpt-4", "law", 1, 1),
        ("gpt-4", "law", 2, 0),
        ("claude", "law", 1, 1),
        ("claude", "law", 2, 1),
    ]
    long, wide = read_items(written(LONG)), read_items(written(WIDE, "wide.csv"))
    assert rows(long) == rows(wide) == expected
    assert long["length"].tolist() == wide["length"].tolist() == [10, 20, 10, 20]


@pytest.mark.parametrize("index", [None, "model"])
def test_parquet_gives_the_same_rows(tmp_path, index):
    table = pd.DataFrame({"model": ["a", "b"], "task": ["x", "x"], "id": [1, 1], "score": [1, 0]})
    (table.set_index(index) if index else table).to_parquet(tmp_path / "r.parquet")
    assert rows(read_items(tmp_path / "r.parquet")) == [("a", "x", 1, 1.0), ("b", "x", 1, 0.0)]


def test_guesses_are_written_down(written):
    read = read_with_notes(written(LONG))
    assert read.columns == {
        "model": "System",
        "item": "question id",
        "topic": "Task",
        "score": "is_correct",
    }
    for note, (role, column) in zip(read.notes, read.columns.items(), strict=True):
        assert f"'{column}'" in note and note.endswith(role)


TWO_TOPICS = "model,dataset,category,item,em,f1\na,d,c,1,1,0.5\n"
BLANK = "task,id,o1,o3\nlaw,1,1,0\nlaw,2,,1\nlaw,3,,0\n"
RESTART = "item ids"
# What a file holds, with what options it is read, some columns of the items (None: there is none)
# and some notes.
CASES = {
    "rival scores": ("model,item,acc,acc_norm\na,1,1,0\n", {}, {},
        ["column 'acc' .*score.* acc_norm"]),
    "rival topics": (TWO_TOPICS, {}, {"topic": ["c"], "score": [1.0]},
        ["column 'category' .*topic.* dataset",
         "column 'em' .*score.* f1"]),
    "topics of two columns": ("model,fault,severity,item,score\na,fog,1,1,1\na,fog,2,1,0\n",
        {"topic": ["fault", "severity"]},
        {"topic": None, "severity": [1, 2], "item": [1, 1]}, []),
    "one of two called topic": ("model,topic,level,item,score\na,x,1,1,1\na,x,2,1,0\n",
        {"topic": ["topic", "level"]}, {"topic": ["x", "x"], "item": [1, 1]}, []),
    "answered several times": ("model,qid,score\na,1,1\na,1,0\n",
        {"item": "qid", "cluster": "qid"}, {"item": [1, 1], "cluster": [1, 1]}, []),
    "a role's name not played": ("model,item,score,f1\na,1,1,0.5\n", {"score": "f1"},
        {"score": [0.5], "score_in_file": [1]}, []),
    "question of samples": ("model,sample_id,question_id,pass1\na,s1,q1,0\na,s2,q1,1\n", {},
        {"item": ["s1", "s2"], "cluster": ["q1", "q1"]}, ["column 'question_id' .*cluster"]),
    "question alone": ("model,question_id,score\na,q1,0\na,q2,1\n", {},
        {"item": ["q1", "q2"], "cluster": None}, []),
    "no model and no item": ("topic,score\nx,1\nx,0\n", {}, {"model": None, "item": None},
        ["no model",
         "no item"]),
    "wide with blanks": (BLANK, {}, {"model": ["o1", *3 * ["o3"]], "score": [1, 0, 1, 0]},
        ["dropped 2 of 6 rows"]),
    "wide without items": ("task,o1,o3\nlaw,1,0\nlaw,0,1\n", {}, {"item": [1, 2, 1, 2]},
        ["no item"]),
    "wide": (WIDE, {}, {}, [".* 2 models: gpt-4, claude"]),
    "models by name": ("id,ada,bob,long\n1,1,1,0\n2,0,1,1\n", {"models": ["ada", "bob"]},
        {"model": ["ada", "ada", "bob", "bob"], "long": [0, 1, 0, 1]}, []),
    "other units": ("model,item,score\na,1,70\na,2,100\n", {}, {"score": [70, 100]},
        ["scores .* 70 to 100"]),
    "labels called NA": ("model,topic,item,score\nNone,NA,1,1\nNone,NA,2,NA\n", {},
        {"model": ["None"], "topic": ["NA"], "score": [1]}, []),
    "item ids that restart": ("model,topic,item,score\na,x,1,1\na,y,1,0\n", {},
        {"item": [1, 1]}, [RESTART]),
    "item ids that restart in several": ("model,a,b,item,score\nm,x,1,1,1\nm,x,2,1,0\n",
        {"topic": ["a", "b"]}, {"item": [1, 1]}, [RESTART]),
    "item ids that restart in another": ("model,topic,area,item,score\nm,x,1,1,1\nm,y,1,1,0\n",
        {"topic": "area"}, {"item": [1, 1], "topic_in_file": ["x", "y"]}, [RESTART]),
    "words of a wide file": ("id,o1,o3\n1,correct,wrong\n2,wrong,correct\n", {},
        {"score": [1, 0, 0, 1]}, [".*'correct' = 1, 'wrong' = 0"]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "options", "columns", "notes"), CASES.values(), ids=CASES)
def test_tables(written, text, options, columns, notes):
    read = read_with_notes(written(text), **options)
    for name, values in columns.items():
        assert (read.items[name].tolist() if name in read.items else None) == values
    for note in notes:
        assert sum(bool(re.match(note, found)) for found in read.notes) == 1


def test_named_columns_are_not_guessed(written):
    read = read_with_notes(written(TWO_TOPICS), topic="dataset", score="f1")
    assert rows(read.items) == [("a", "d", 1, 0.5)]
    assert read.items["category"].tolist() == ["c"]
    assert not any(" is the " in note for note in read.notes if "topic" in note or "score" in note)
    assert read_with_notes(written(WIDE)).columns["score"] == ["gpt-4", "claude"]


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("True", "False"),
        ("correct", "Incorrect"),
        ("yes", "no"),
        ("Y", "N"),
        ("C", "I"),
        ("1", "0"),
    ],
)
def test_words_become_numbers(written, right, wrong):
    read = read_with_notes(written(f"model,item,score\na,1,{right}\na,2,{wrong}\na,3,\n"))
    assert read.items["score"].tolist() == [1.0, 0.0]
    pairs = f"{right.lower()!r} = 1, {wrong.lower()!r} = 0"
    noted = any(note.endswith(pairs) for note in read.notes)
    assert noted == (right != "1")


@pytest.mark.parametrize(
    ("role", "one", "other"),
    [("item", "7", "007"), ("item", "7.0", "7"), ("model", "a", "a "), ("topic", "Law", "law")],
)
def test_similar_labels_have_a_note(written, role, one, other):
    row = {"model": "m", "topic": "t", "item": "i", "score": "1"}
    lines = [",".join((row | {role: label, "item": item}).values()) for label, item in
             ((one, one), (other, other), ("z", "z"))]  # fmt: skip
    notes = read_with_notes(written("\n".join(["model,topic,item,score", *lines]))).notes
    start = f"{role} labels {one!r} and {other!r} "
    assert any(note.startswith(start) for note in notes)
    assert not any("'z'" in note for note in notes)


@pytest.mark.parametrize(
    ("role", "one", "other"),
    [
        *((role, "3.1", "3.10") for role in ("model", "topic", "item", "cluster", "repeat")),
        ("item", "08", "8"),
        ("topic", "1e400", "2e400"),
        ("model", "9007199254740993.0", "9007199254740992.0"),
    ],
)
def test_labels_that_are_one_number_are_not_one_label(written, role, one, other):
    labels = {"model": "a", "topic": "x", "item": "i", "repeat": "7"}
    if role != "repeat":
        labels["cluster"] = "p"
    rows = [labels | {role: label} for label in (one, other)]
    if role in ("topic", "cluster"):
        rows[1]["item"] = "j"
    lines = [",".join([*row.values(), "1"]) for row in rows]
    items = read_items(written("\n".join([",".join([*labels, "score"]), *lines])))
    assert items[role].tolist() == [one, other]


@pytest.mark.parametrize("written_as", ["{}", "-{}"])
def test_labels_that_are_integers_are_in_their_order(written, written_as):
    labels = [int(written_as.format(i)) for i in (9, 10, 2**63 - 1)]
    items = read_items(written("model,item,score\n" + "".join(f"a,{i},1\n" for i in labels)))
    assert items["item"].tolist() == labels
    larger = read_items(written(f"model,item,score\na,{2**63},1\na,9,1\n"))
    assert larger["item"].tolist() == [str(2**63), "9"]


def test_integers_stay_integers_beside_a_blank_label(written):
    items = read_items(written("model,item,score\na,7,1\na,,0\n"), skip_bad_lines=True)
    assert items["item"].tolist() == [7] and items["item"].dtype == "int64"


def test_groups_of_no_items_are_skipped_with_a_note(written):
    read = read_with_notes(written("model,topic,k,n\na,x,3,9\na,y,0,0\nb,x,2,9\n"))
    assert read.groups["n"].tolist() == [9, 9]
    assert re.search("skipped 1 of 3 .*row 2.*'n'", read.notes[0])
    points = read_items(written("model,item,n,correct\na,1,4,2.5\na,2,4,3\n"), score="correct")
    assert points["score"].tolist() == [2.5, 3]


def test_features_go_with_labels_that_are_one_number(written):
    read = read_with_notes(written("model,topic,item,score\na,3.1,1,1\na,3.10,2,0\n"))
    table = written("topic,length\n3.10,20\n3.1,10\n", "features.csv")
    with pytest.raises(TypeError):
        read_features(table, read.items)
    assert read_features(table, read.columns)["topic"].tolist() == ["3.10", "3.1"]


def test_labels_of_a_folder_are_of_one_kind(tmp_path):
    for name, last in (("ada", "3"), ("bob", "x3")):
        (tmp_path / f"{name}.csv").write_text(f"item,score\n1,1\n2,0\n{last},1\n")
    items = read_items(tmp_path).groupby("model")["item"].apply(set)
    assert items["ada"] & items["bob"] == {"1", "2"}


def test_file_is_not_read_as_wide_where_there_is_a_model_column(written):
    """Two binary columns beside a model column are two scores, not two models."""
    text = message(written("model,item,right,refused\na,1,1,0\na,2,0,1\n"))
    assert "model, item, right, refused." in text


ERRORS = [
    ("id,score,o1,o3\n1,0.5,1,0\n2,0.2,0,1\n", {}, "'score'"),
    ("a,b\n3,4\n", {}, "a, b"),
    ("model,item,score\na,1,1\n", {"score": "acc"},
     "score= .*'acc'"),
    ("id,ada,bob\n1,1,0\n", {"models": ["ada", "eve"]},
     "models= .*'eve'"),
    ("id,ada,bob\n1,1,0\n", {"models": ["ada"], "score": "bob"}, "models="),
    ("id,ada,bob\n1,1,0\n2,0,maybe\n", {"models": ["ada", "bob"]}, "row 2: 'bob' .*'maybe'"),
    ("item,o1,o3\n1,10%,0%\n2,8%,x\n", {}, "row 2: 'o3' .*'x'"),
    ("model,item,score\na,1,\n", {}, "All scores"),
    ("model,task,item,score\na,x,1,1\na,,2,1\n", {}, "row 2: column 'task'"),
    ("model,item,score\na,1,1\na,1,0\n", {}, "row 2: .*'1' .*row 1"),
    ("mode,item,score\ncot,1,1\ndirect,1,0\n", {},
     "model='mode'.* cluster='item'"),
    ("model,mode,item,score\nm,cot,1,1\nm,no,1,0\n", {}, r"topic=\['mode'\]"),
    ("model,k,n\na,3,9\nb,9,8\n", {}, "row 2 .* 9 .* 8"),
    ("model,correct,total\na,3,9\nb,2.5,8\n", {}, "row 2 .* 2.5 .* 8"),
    ("model,topic,shots,item,score\nm,x,0,1,1\n", {"model": "shots", "topic": ["topic", "model"]},
     "Column 'model'"),
    ("id,ada,bob\n1,1,0\n", {"models": []}, "models= is empty"),
    ("model;item;score;cost\na;1;1.000;0,5\na;2;900;0,4\n", {},
     "'1.000' in 'score'"),
]  # fmt: skip


@pytest.mark.parametrize("text, names, words", ERRORS)
def test_errors_propose_what_to_do(written, text, names, words):
    error = message(written(text), **names)
    assert re.search(words, error)
    assert "\n" not in error


def test_unknown_kind_of_file(written, tmp_path):
    assert ".csv" in message(written("x", "notes.txt"))
    assert "ignored" not in message(tmp_path) and str(tmp_path) in message(tmp_path)


def test_mmlu_pro(data_folder):
    """Wide, two candidates for the topic, sixteen features that are no models."""
    items = read_items(data_folder / "mmlu_pro_dev.csv.gz", topic="src")
    table = pd.read_csv(data_folder / "mmlu_pro_dev.csv.gz")
    models = list(table.columns[-10:])
    assert items["model"].unique().tolist() == models
    assert items["topic"].nunique() == 46
    means = items.groupby("model")["score"].mean()[models]
    # Means of the same 0/1 numbers in another order: rounding only.
    np.testing.assert_allclose(means, table[models].mean(), rtol=1e-12)


def test_livecodebench(data_folder):
    read = read_with_notes(data_folder / "livecodebench_execution.csv.gz")
    assert read.items["cluster"].nunique() == 92
    assert read.items["item"].nunique() == 479
    assert any("from 0 to 100" in note for note in read.notes)


def test_bbh_needs_the_model_named(data_folder):
    path = data_folder / "bbh_codex.csv.gz"
    assert re.search("model='mode'.* cluster='item'", message(path))
    items = read_items(path, model="mode")
    assert not items.duplicated(["model", "topic", "item"]).any()
    assert items["topic"].nunique() == 27


def test_score_columns_beside_a_model_column_are_no_models(written):
    path = written("model,item,0-shot,5-shot\na,1,1,1\na,2,0,1\nb,1,0,0\nb,2,1,0\n")
    error = message(path, models=["0-shot", "5-shot"])
    assert "column 'model'" in error and "score=" in error
    assert read_items(path, score="0-shot")["score"].tolist() == [1, 0, 0, 1]
    wide = written("system,item,a,b\nx,1,1,0\ny,2,0,1\n")
    assert read_items(wide, models=["a", "b"])["model"].nunique() == 2


def test_warns_of_ids_that_need_several_columns_of_topics(written):
    path = written("model,a,b,item,score\nm,x,1,1,1\nm,x,2,1,0\n")
    with pytest.warns(UserWarning, match=r"topic=\['a', 'b'\]"):
        items = read_items(path, topic=["a", "b"])
    assert (
        compare_models(
            pd.concat([items, items.assign(model="n", score=0)]), topic=["a", "b"]
        ).n_items
        == 2
    )


def test_small_numbers_may_have_decimal_commas(written):
    text = "model;item;score\na;1;8,5e-09\na;2;0,25\na;3;1E-5\n"
    assert read_items(written(text))["score"].tolist() == [8.5e-9, 0.25, 1e-5]
    mixed = "model;item;score;cost\na;1;1.000;0,5\na;2;0.125;0,4\n"
    assert read_items(written(mixed))["score"].tolist() == [1, 0.125]
