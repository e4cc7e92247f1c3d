"""Files as people have them: understood by the table of names, or refused with what to pass."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from skbench import read_items
from skbench._undecided import Undecided
from skbench.readers import read_with_notes


@pytest.fixture
def saved(tmp_path):
    """Save a table, or JSON, and return its path."""

    def save(value, name="results.csv"):
        path = tmp_path / name
        if isinstance(value, pd.DataFrame):
            value.to_csv(path, index=False)
        else:
            path.write_text(value if isinstance(value, str) else json.dumps(value, indent=1))
        return path

    return save


def refusal(path, **named):
    with pytest.raises(ValueError) as error:
        read_items(path, **named)
    return error.value


def test_columns_of_known_families_are_models(saved):
    names = ["gpt-4o", "claude-3-opus", "meta-llama/Llama-3-8B", "o3-mini", "Qwen2.5", "Yi-6B"]
    table = pd.DataFrame(np.eye(6, dtype=int), columns=names).assign(gpt_4o_tokens=9, is_hard=1)
    read = read_with_notes(saved(table))
    assert list(dict.fromkeys(read.items["model"])) == names
    assert read.items["gpt_4o_tokens"].eq(9).all()


@pytest.mark.parametrize("name", ["yi", "phi", "opt", "bert_score", "palm_width", "command"])
def test_words_that_families_bear_as_well_are_no_models(saved, name):
    table = pd.DataFrame({"id": [1, 2], name: [1, 0], "SD": [0.1, 0.2]})
    read = refusal(saved(table)) if name != "bert_score" else read_with_notes(saved(table))
    assert getattr(read, "columns", {"score": name})["score"] == name


def test_columns_of_unknown_names_need_the_users_word(saved):
    table = pd.DataFrame({"id": [1, 2], "m1": [1, 0], "m2": [0, 0], "m3": [1, 1], "length": [7, 9]})
    path = saved(table)
    error = refusal(path)
    assert isinstance(error, Undecided)
    assert error.choices[0] == {"models": ["m*"]}
    assert "models=['m*']" in str(error)
    items = read_items(path, **error.choices[0])
    assert list(dict.fromkeys(items["model"])) == ["m1", "m2", "m3"]
    assert items.equals(read_items(path, models=["m1", "m2", "m3"]))
    assert "'x*'" in str(refusal(path, models=["x*"]))


def test_models_beside_unknown_columns_are_reported(saved):
    table = pd.DataFrame({"id": [1, 2], "gpt": [1, 0], "claude": [0, 1], "in_house": [1, 0]})
    read = read_with_notes(saved(table))
    assert set(read.items["model"]) == {"gpt", "claude"}
    assert any("ignored in_house" in note for note in read.notes)
    named = read_with_notes(saved(table), models=["gpt", "claude", "in_house"])
    assert not any("not taken" in note for note in named.notes)


@pytest.mark.parametrize(
    "table",
    [
        {"model_a": ["x", "y"], "model_b": ["y", "x"], "winner_model_a": [1, 0], "tie": [0, 0]},
        {"model_1": ["x"], "model_2": ["y"], "g1_winner": ["model_1"]},
        {"model_a": ["x", "y"], "model_b": ["y", "x"], "winner": [1, 0], "prediction": [0.4, 0.1]},
    ],
)
def test_votes_are_no_scores(saved, table):
    error = refusal(saved(pd.DataFrame(table)))
    assert error.choices == [{"name": "arena"}]


def test_metrics_of_one_system_are_no_models(saved):
    table = pd.DataFrame(
        {"question": ["a", "b"], "faithfulness": [0.5, 1], "answer_relevancy": 0.2}
    )
    path = saved(table)
    error = refusal(path)
    assert error.choices == [{"score": "faithfulness"}, {"score": "answer_relevancy"}]
    for choice in error.choices:
        assert read_with_notes(path, **choice).columns["score"] == choice["score"]
    alone = read_with_notes(saved(table.drop(columns="answer_relevancy")))
    assert alone.columns["score"] == "faithfulness"


def test_labels_beside_predictions_are_no_models(saved):
    table = pd.DataFrame({"id": [1, 2], "y_true": [1, 0], "y_pred": [1, 1], "sex": ["f", "m"]})
    error = refusal(saved(table))
    assert error.choices == [
        {"name": "metrics", "truth": "y_true", "prediction": "y_pred", "topic": name}
        for name in ("id", "sex")
    ]
    table["correct"] = (table["y_true"] == table["y_pred"]) * 1
    assert read_items(saved(table))["score"].tolist() == [1, 0]


def test_predictions_of_models_beside_the_truth_are_no_scores(saved):
    table = pd.DataFrame({"id": [1, 2, 3], "label": [1, 0, 1], "gpt-4": [1, 0, 0], "o1": [0, 0, 1]})
    error = refusal(saved(table))
    assert "'label'" in str(error) and "gpt-4, o1" in str(error)
    letters = read_items(saved(table.assign(label=["A", "B", "C"])))
    assert set(letters["model"]) == {"gpt-4", "o1"}


def test_one_known_model_beside_unknown_columns_is_asked_about(saved):
    table = pd.DataFrame({"id": [1, 2], "gpt-4": [1, 0], "ours": [0, 1], "length": [7, 9]})
    error = refusal(saved(table))
    assert error.choices == [{"models": ["gpt-4"]}, {"models": ["gpt-4", "ours"]}]
    beside = table.rename(columns={"gpt-4": "gpt4_confidence"})
    assert refusal(saved(beside)).choices == [{"score": "ours"}]


def test_people_and_a_judge_are_sent_to_judge(saved):
    table = pd.DataFrame({"id": [1, 2], "human": [1, 0], "gpt4_eval": [1, 1]})
    error = refusal(saved(table))
    assert error.choices[0] == {"name": "judge", "judge": "gpt4_eval", "human": "human"}
    assert str(error).endswith("In Python, pass score='human'; or score='gpt4_eval'.")


@pytest.mark.parametrize("lines", [False, True])
def test_json_of_any_depth(saved, lines):
    records = [
        {
            "run": {"model": model},
            "sample": {"id": i, "metadata": {"subject": "law"}, "tags": ["x"]},
            "scores": {"f1": 0.5, "exact_match": i % 2},
        }
        for model in ("a", "b")
        for i in range(3)
    ]
    text = "\n".join(map(json.dumps, records)) if lines else records
    read = read_with_notes(saved(text, "r.jsonl" if lines else "r.json"))
    assert read.columns["topic"] == "sample.metadata.subject"
    assert read.columns["score"] == "scores.exact_match"
    assert any("scores.f1" in note for note in read.notes)
    assert set(read.items["model"]) == {"a", "b"}
    assert any(n.endswith(": sample.tags") for n in read.notes)


def test_document_with_one_list_of_records(saved):
    answers = [{"id": i, "metrics": {"accuracy": i % 2}} for i in range(4)]
    path = saved({"config": {"model": {"name": "x"}, "topic": "law"}, "results": answers}, "r.json")
    items = read_items(path)
    assert items["score"].tolist() == [0, 1, 0, 1]
    assert items["topic"].unique() == ["law"]
    two = saved({"results": answers, "others": answers}, "r.json")
    assert ": results, others" in str(refusal(two))


def test_two_columns_that_fit_equally_are_asked_about(saved):
    records = [{"id": i, "first": {"score": 1}, "second": {"score": 0}} for i in range(3)]
    error = refusal(saved(records, "r.json"))
    assert error.choices == [{"score": "first.score"}, {"score": "second.score"}]
    for choice in error.choices:
        assert read_items(saved(records, "r.json"), **choice)["score"].nunique() == 1


def test_attempts_are_never_items(saved):
    table = pd.DataFrame(
        {"task_id": np.repeat(["t/0", "t/1", "t/2"], 5), "attempt": list(range(5)) * 3}
    ).assign(passed=[True, False, True] * 5)
    read = read_with_notes(saved(table))
    assert read.columns["item"] == "task_id"
    assert read.items["item"].nunique() == 3
    assert list(read.items["cluster"]) == list(read.items["item"])


def test_versions_of_a_model_are_models(saved):
    table = pd.DataFrame(
        {"model": "m", "version": np.repeat(["v1", "v2", "v3"], 2), "item": [1, 2] * 3, "score": 1}
    )
    read = read_with_notes(saved(table))
    assert list(dict.fromkeys(read.items["model"])) == ["m | v1", "m | v2", "m | v3"]
    assert any("'version'" in note for note in read.notes)
    one = read_items(saved(table[table["version"] == "v1"]))
    assert set(one["model"]) == {"m"}


def test_a_table_and_its_parts_in_files_are_the_same_items(tmp_path):
    cells = pd.MultiIndex.from_product([["a", "b"], ["v1", "v2"], ["x", "y"], [1, 2, 3]])
    whole = cells.set_names(["model", "version", "topic", "id"]).to_frame(index=False)
    whole["id"] += 3 * (whole["topic"] == "y")
    whole["score"] = np.arange(len(whole)) % 5 / 4
    whole.to_csv(tmp_path / "whole.csv", index=False)
    for version, rows in whole.groupby("version"):
        (tmp_path / "versions").mkdir(exist_ok=True)
        rows.to_csv(tmp_path / "versions" / f"{version}.csv", index=False)
    for (model, version, topic), rows in whole.groupby(["model", "version", "topic"]):
        folder = tmp_path / "grid" / f"{model} | {version}"
        folder.mkdir(parents=True, exist_ok=True)
        rows[["id", "score"]].to_csv(folder / f"{topic}.csv", index=False)
    keys = ["model", "topic", "item", "score"]
    found = [
        sorted(read_items(tmp_path / name)[keys].itertuples(index=False, name=None))
        for name in ("whole.csv", "versions", "grid")
    ]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("copy", ["r.csv.gz", "r (1).csv", "r - Copy.csv", "link.csv"])
def test_copies_and_links_are_no_models(tmp_path, copy):
    table = pd.DataFrame({"item": range(9), "score": np.arange(9) % 2})
    table.to_csv(tmp_path / "r.csv", index=False)
    table.to_csv(tmp_path / "equal.csv", index=False)
    assert read_items(tmp_path)["model"].nunique() == 2
    if copy == "link.csv":
        (tmp_path / copy).symlink_to(tmp_path / "r.csv")
    else:
        table.to_csv(tmp_path / copy, index=False)
    assert "same rows" in str(refusal(tmp_path))
    (tmp_path / "r.csv").rename(tmp_path / "r (3).csv")  # as are the runs of one evaluation
    if copy not in ("link.csv", "r.csv.gz"):
        assert read_items(tmp_path)["model"].nunique() == 3


def test_rows_of_two_files_are_not_paired_by_number(saved):
    wide = pd.DataFrame({"gpt-4o": [1, 0, 1], "claude-3": [1, 1, 0]})
    paths = [saved(wide, "a.csv"), saved(wide[::-1], "b.csv")]
    assert "item=" in str(refusal(paths))
    assert read_items(paths[0])["item"].tolist() == [1, 2, 3] * 2


def test_versions_of_a_model_in_files_of_their_own_are_models(tmp_path):
    for name, scores in (("v1", "10"), ("v2", "11")):
        rows = "".join(f"gpt,{i},{score}\n" for i, score in enumerate(scores))
        (tmp_path / f"{name}.csv").write_text(f"model,item,score\n{rows}ours-{name},9,1\n")
    read = read_with_notes(tmp_path)
    means = read.items.groupby("model")["score"].mean().to_dict()
    assert means == {"gpt (v1)": 0.5, "gpt (v2)": 1.0, "ours-v1": 1.0, "ours-v2": 1.0}
    assert any("gpt (v1), gpt (v2)" in n for n in read.notes)


def test_rows_of_runs_that_broke_are_no_answers(saved):
    status = ["success", "error", "Cancelled", "failed", "running", "success"]
    table = pd.DataFrame({"model": "m", "item": range(6), "score": [1, 0, 0, 0, 0, 1]})
    read = read_with_notes(saved(table.assign(status=status)))
    assert read.items["item"].tolist() == [0, 3, 5]  # what failed was answered, and wrong
    assert any(re.search("skipped 3 rows .*'error', 'cancelled', 'running'", n) for n in read.notes)
    by_name = read_with_notes(saved(table.assign(state=status)), score="state", skip_bad_lines=True)
    assert by_name.items["score"].tolist() == [0]  # the word "failed" of a named score


def test_cells_without_an_answer_are_counted_and_dropped(saved):
    cells = ["1", "0", "error", "timeout", "N/A", "Request timed out", "1"]
    table = pd.DataFrame({"model": "m", "item": range(7), "score": cells})
    read = read_with_notes(saved(table))
    assert read.items["score"].tolist() == [1, 0, 1]
    assert len(read.blank) == 4
    assert any(re.search("3 cells .*'score' .*'error', 'timeout'", note) for note in read.notes)
    assert any("dropped 4 of 7 rows" in note for note in read.notes)


def test_the_users_format_decides_before_the_contents(saved):
    """A table with a field that OpenCompass has, too."""
    path = saved({"details": "in the log", "results": [{"id": 1, "score": 1}]}, "r.json")
    assert "format='table'" in str(refusal(path))
    assert read_items(path, format="table")["score"].tolist() == [1]


@pytest.mark.parametrize(
    "columns",
    [
        {"attempt_1": [1, 0], "attempt_2": [0, 0]},  # answers to an item
        {"q1": [1, 0], "q2": [0, 0], "7": [1, 1]},  # items, where rows are models
        {"A": [0.1, 0.9], "B": [0.9, 0.1], "gold": ["A", "B"]},  # options
        {"wer": [0.1, 0.2], "totalCost": [1.0, 0.5], "answer_index": [1, 0]},
        {"out.ok": [1, 0], "stats.n": [1, 1]},  # fields of two records
    ],
)
def test_no_column_is_offered_as_a_model_that_is_none(saved, columns):
    error = refusal(saved(pd.DataFrame({"id": ["a", "b"]} | columns)))
    assert [choice for choice in error.choices if choice != {"score": "out.ok"}] == []


def test_scores_of_one_model_and_its_answers_are_no_models(saved):
    table = pd.DataFrame({"id": [1, 2], "gpt-4o": ["Paris", "Rome"], "gpt-4o F1": [0.5, 1.0]})
    table = table.assign(**{"gpt-4o EM": [0, 1], "claude-3 F1": [1.0, 1.0], "claude-3 EM": [1, 1]})
    error = refusal(saved(table))
    assert {"models": ["gpt-4o EM", "claude-3 EM"]} in error.choices
    for choice in error.choices:
        assert read_items(saved(table), **choice)["model"].nunique() == 2


def test_answers_beside_the_right_ones_go_to_metrics(saved):
    """As MMLU-Pro's own program writes them."""
    table = pd.DataFrame({"question_id": [1, 2], "answer": ["A", "C"], "answer_index": [0, 2]})
    error = refusal(saved(table.assign(category=["law", "math"], pred=["A", "A"])))
    assert {(c["name"], c["truth"], c["prediction"]) for c in error.choices} == {
        ("metrics", "answer", "pred")
    }
    words = pd.DataFrame({"answer": ["Paris", "7"], "predicted": ["It is Paris", "seven"]})
    assert refusal(saved(words.assign(grade=["CORRECT", "WRONG"]))).choices == [{"score": "grade"}]


def test_lists_in_a_file_are_no_scores(tmp_path):
    table = pd.DataFrame({"id": [1, 2], "answer": [["a"], ["b"]], "pred": [["a"], ["c"]]})
    table.assign(m=[{"acc": 1}, {"acc": 0}], ok=[1, 0]).to_parquet(tmp_path / "t.parquet")
    assert {"score": "ok"} in refusal(tmp_path / "t.parquet").choices


@pytest.mark.parametrize("name", ["mean", "Average", "TOTAL", "Grand Total", "Avg.", "Mittelwert"])
def test_a_row_that_sums_up_the_others_is_no_item(saved, name):
    scores = pd.DataFrame({"item": [1, 2, 3], "gpt-4o": [1, 0, 1], "claude-3": [1, 1, 0]})
    total = pd.DataFrame({"item": [name], "gpt-4o": 0.67, "claude-3": 0.66})
    path = saved(pd.concat([scores, total]))
    assert f"row 4: item {name!r}" in str(refusal(path))
    assert read_items(path, skip_bad_lines=True)["score"].tolist() == [1, 0, 1, 1, 1, 0]
    # One model's mean is a score there is, the other's is 1.
    graded = {"item": [1, 2, 3, name], "gpt-4o": [0.2, 0.4, 0.6, 0.4], "claude-3": [1, 1, 1, 1]}
    kept = read_items(saved(pd.DataFrame(graded)), skip_bad_lines=True)
    assert kept["item"].tolist() == ["1", "2", "3"] * 2
    functions = pd.DataFrame({"model": "m", "item": ["sum", "mean", "f"], "score": [1, 0, 1]})
    assert len(read_items(saved(functions))) == 3
    # A rating of its own, which is one model's mean by chance.
    rated = {"item": ["fluency", "faith", "overall"], "gpt-4o": [4, 2, 3], "claude-3": [3, 5, 5]}
    assert len(read_items(saved(pd.DataFrame(rated)))) == 6


def test_marks_and_grades_are_words_for_scores(saved):
    grades = ["✓", "✗", "CORRECT", "INCORRECT", "NOT_ATTEMPTED", "SKIP"]
    path = saved(pd.DataFrame({"model": "m", "question_id": range(6), "grade": grades}))
    assert refusal(path).choices == [{"score": "grade"}]
    assert read_items(path, score="grade")["score"].tolist() == [1, 0, 1, 0, 0]


def test_names_in_camel_case_are_known(saved):
    path = saved([{"modelName": "m", "questionId": 7, "isCorrect": True}], "a.json")
    assert read_items(path).values.tolist() == [["m", 7, 1.0]]


def test_a_run_that_left_a_line_of_names_alone_is_left_out(tmp_path):
    for name, rows in (("gpt", "1,1\n"), ("claude", "1,0\n"), ("failed", "")):
        (tmp_path / f"{name}.csv").write_text("item,score\n" + rows)
    read = read_with_notes(tmp_path)
    assert set(read.items["model"]) == {"gpt", "claude"}
    assert "ignored 1 file (empty): failed.csv" in read.notes


def test_documents_that_only_look_like_the_log_of_a_program(saved):
    """Tables that pandas and W&B write have MLflow's keys, and many documents EuroEval's."""
    split = saved({"columns": ["id", "score"], "data": [[1, 1], [2, 0]]}, "s.json")
    assert read_items(split)["score"].tolist() == [1, 0]
    records = [{"id": 1, "score": 1}]
    own = saved({"model": "m", "dataset": "d", "results": records}, "r.json")
    assert read_items(own)[["model", "topic", "score"]].values.tolist() == [["m", "d", 1]]
    assert "Give a .csv" in str(refusal(saved({"columns": 3, "data": [1]}, "t.json")))


def test_a_document_on_one_line_is_no_line_of_records(tmp_path):
    answers = [{"q": {"id": i}, "ok": {"correct": i > 1}} for i in range(3)]
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"meta": {"model": "x"}, "data": {"answers": answers}}))
    items = read_items(path)
    assert items["score"].tolist() == [0, 0, 1]
    assert items["item"].tolist() == [0, 1, 2]
