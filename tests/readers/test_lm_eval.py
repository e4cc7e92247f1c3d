"""lm-evaluation-harness: what its own summaries say of the same samples."""

import gzip
import json
import math
import re
import shutil

import numpy as np
import pandas as pd
import pytest
import reading
from make_fixtures import QUESTIONS
from reading import message, notes_of
from writing import write, write_lines

from skbench.readers import read_items, read_with_notes

FOLDER = reading.FOLDER / "lm_eval"
SUMMARIES = sorted((FOLDER / "two_models").glob("*/results_*.json"))


def samples(folder, pattern="samples_*"):
    return sorted(folder.rglob(pattern))


NO_TEXT = {"target": "", "resps": [], "filtered_resps": []}


def of_choices(folder, texts):
    """A log of one question with choices of these likelihoods."""
    choices = {"filtered_resps": [[text, "False"] for text in texts]}
    line = NO_TEXT | choices | {"doc_id": 0, "acc": 1.0}
    return read_items(write_lines(folder / "samples_law.jsonl", line))


@pytest.mark.parametrize(
    "texts", [["-4.123456789012345", "-0.1", "-1e-300"], ["0", "-1.5"], ["1_0.0", " 2.5 ", "+3.0"]]
)
def test_numbers_in_text_are_those_of_float(tmp_path, texts):
    likelihoods = np.exp(np.array([float(text) for text in texts]))
    expected = likelihoods.max() / likelihoods.sum()
    assert of_choices(tmp_path, texts)["confidence"].item() == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("texts", [["1.0, 2.0", "1"], ["true", "1"], ["[1.0]", "1"], ["1.0", ""]])
def test_text_that_is_no_number_is_no_likelihood(tmp_path, texts):
    assert "confidence" not in of_choices(tmp_path, texts)


@pytest.mark.parametrize("summary", SUMMARIES, ids=lambda path: path.parent.name)
@pytest.mark.parametrize("metric", ["acc", "acc_norm"])
def test_means_are_those_of_the_summary(summary, metric):
    about = json.loads(summary.read_text())
    files = [path for path in samples(summary.parent) if "free" not in path.name]
    items = read_items(files, score=metric)
    assert set(items["model"]) == {about["model_name"]}
    means = items.groupby("topic")["score"].agg(["mean", "size"])
    assert set(means.index) == {"capitals", "sums"}
    for topic, (mean, size) in means.iterrows():
        assert mean == pytest.approx(about["results"][topic][f"{metric},none"], abs=1e-15)
        assert size == about["n-samples"][topic]["effective"] == len(QUESTIONS[topic])


@pytest.mark.parametrize("name", ["strict-match", "flexible-extract"])
def test_filter_is_that_asked_for(name):
    file = samples(FOLDER / "two_models", "samples_free*")[0]
    items = read_items(file, filter=name)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    expected = [line["exact_match"] for line in lines if line["filter"] == name]
    assert items["score"].tolist() == expected
    assert len(lines) == 2 * len(expected)


ACC = r"'acc' .* 2 topics \(not acc_norm"


def test_first_filter_and_first_metric_are_taken_and_reported():
    read = read_with_notes(FOLDER / "two_models")
    assert re.search(r"'strict-match' .*'free_sums' \(not flexible-extract", notes_of(read))
    assert re.search(ACC, notes_of(read))
    assert read.columns["score"] == ["acc", "exact_match"]
    assert len(read.items) == 2 * (6 + 4 + 4)
    assert not read.items.duplicated(["model", "item"]).any()


def test_unknown_filter_and_metric():
    for files, options in (("samples_free*", {"filter": "x"}), ("samples_sums*", {"score": "f1"})):
        message(samples(FOLDER / "two_models", files), **options)


def test_a_metric_that_some_tasks_lack():
    folder = FOLDER / "two_models"
    assert re.search(ACC, notes_of(read_with_notes(folder)))
    two = [path for path in samples(folder) if "free" not in path.name]
    assert re.search(ACC, notes_of(read_with_notes(two)))
    text = message(folder, score="acc_norm")
    assert text.startswith("1 of 3 topics") and "'free_sums'" in text and "exact_match" in text
    assert "3 of 3 topics" in message(folder, score="f1")


def write_samples(folder, *values, metric="acc"):
    common = NO_TEXT | {metric: None, "f1": 0.5}
    lines = [common | {"doc_id": i, metric: value} for i, value in enumerate(values)]
    write_lines(folder / "samples_x.jsonl", *lines)
    return folder


def test_one_value_that_is_no_number_takes_no_metric_away(tmp_path):
    write_samples(tmp_path, 1.0, "N/A", 0.0)
    assert re.search("1 cells .*'acc' .*'n/a'", notes_of(read_with_notes(tmp_path)))
    write_samples(tmp_path, 1.0, "good", 0.0)
    assert "finite" in message(tmp_path)
    read = read_with_notes(tmp_path, skip_bad_lines=True)
    assert read.items["score"].tolist() == [1.0, 0.0]
    assert "skipped 1 " in notes_of(read) and re.search(r"\(line 2: 'acc' .*'good'", notes_of(read))
    assert read_items(tmp_path, score="f1")["score"].tolist() == [0.5] * 3


def test_task_without_a_metric_that_is_a_number(tmp_path):
    message(write_samples(tmp_path, "good", "bad", metric="f1"))


@pytest.mark.parametrize("name", ["samples_sums_2026-01-01T00-00-00.0.jsonl.gz", "sums.jsonl.gz"])
def test_compressed_samples_keep_the_name_of_their_task(tmp_path, name):
    file = samples(FOLDER / "two_models", "samples_sums*")[0]
    (tmp_path / name).write_bytes(gzip.compress(file.read_bytes()))
    assert set(read_items(tmp_path)["topic"]) == {"sums"}


def test_confidence_is_the_softmax_of_the_choices():
    file = samples(FOLDER / "two_models", "samples_capitals*")[0]
    items = read_items(file)
    for line, found in zip(file.read_text().splitlines(), items["confidence"], strict=True):
        likelihoods = [math.exp(float(x)) for x, _ in json.loads(line)["filtered_resps"]]
        assert found == pytest.approx(max(likelihoods) / sum(likelihoods), rel=1e-12)
    both = read_items(FOLDER / "two_models")
    assert both.loc[both["topic"] == "free_sums", "confidence"].isna().all()


def test_names_that_the_program_made_up_are_reported():
    read = read_with_notes(FOLDER / "dummy")
    made_up = sorted({path.parent.name for path in samples(FOLDER / "dummy")})
    assert sorted(set(read.items["model"])) == made_up
    assert all(f"model={{{name!r}: ...}}" in notes_of(read) for name in made_up)
    named = read_items(FOLDER / "dummy", model=dict(zip(made_up, "ab", strict=True)))
    assert set(named["model"]) == {"a", "b"}


def test_pieces_of_one_model_are_one_model_with_a_note():
    read = read_with_notes(FOLDER / "in_pieces")
    assert set(read.items["model"]) == {"ours/alpha"}
    assert set(read.items["topic"]) == {"capitals", "sums"}
    assert "ours/alpha (2)" in notes_of(read)


def test_two_runs_of_one_name_are_never_merged():
    paths = [FOLDER / "one_file", FOLDER / "two_models" / "ours__alpha"]
    read = read_with_notes(paths)
    names = sorted(set(read.items["model"]))
    assert len(names) == 2 and all(name.startswith("ours/alpha (") for name in names)
    assert " ours/alpha (" in notes_of(read)
    renamed = read_items(paths, model={names[0]: "first", names[1]: "second"})
    assert set(renamed["model"]) == {"first", "second"}
    assert "twice" in message(paths, model=dict.fromkeys(names, "same"))


def test_runs_that_differ_in_settings_are_no_one_model(tmp_path):
    shutil.copytree(FOLDER / "in_pieces", tmp_path, dirs_exist_ok=True)
    summary = max(tmp_path.rglob("results_*"))
    about = json.loads(summary.read_text())
    about["config"]["model_args"]["dtype"] = "bfloat16"
    summary.write_text(json.dumps(about))
    read = read_with_notes(tmp_path)
    assert read.items["model"].nunique() == 2
    assert "settings" in notes_of(read)


def test_model_argument():
    for wrong in ("mine", {"gamma": "c"}):
        message(FOLDER / "two_models", model=wrong)
    items = read_items(FOLDER / "two_models" / "ours__beta", model="mine")
    assert set(items["model"]) == {"mine"}


def test_fields_of_the_document_as_topic_and_cluster():
    file = samples(FOLDER / "two_models", "samples_capitals*")[0]
    items = read_items(file, topic="doc.answer", cluster="doc.page")
    assert items["topic"].tolist() == list(QUESTIONS["capitals"].values())
    assert items["cluster"].tolist() == [0, 0, 1, 1, 2, 2]
    assert "label" in message(file, cluster="doc.nothing")


@pytest.mark.parametrize("field", ["topic", "cluster"])
def test_a_field_of_the_document_leaves_the_names_of_the_models_alone(field):
    files = samples(FOLDER / "two_models", "samples_capitals*")
    assert set(read_items(files, **{field: "doc.answer"})["model"]) == {"ours/alpha", "ours/beta"}


def test_other_text_under_the_same_number_is_another_item(tmp_path):
    shutil.copytree(FOLDER / "two_models", tmp_path, dirs_exist_ok=True)
    file = samples(tmp_path / "ours__beta", "samples_sums*")[0]
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[1]["doc_hash"] = "0" * 64
    write_lines(file, *lines)
    read = read_with_notes(tmp_path)
    assert " 1 items " in notes_of(read)
    sums = read.items[read.items["topic"] == "sums"].groupby("model")["item"].apply(set)
    assert len(sums.iloc[0] & sums.iloc[1]) == 3


def old(line):
    """A sample as before version 0.4.3: no filter, list of metrics or hashes."""
    return {k: v for k, v in line.items() if k not in ("filter", "metrics") and "hash" not in k}


@pytest.mark.parametrize("as_list", [False, True])
def test_early_versions(tmp_path, as_list):
    file = samples(FOLDER / "two_models", "samples_capitals*")[0]
    lines = [old(json.loads(line)) for line in file.read_text().splitlines()]
    about = json.loads(SUMMARIES[0].read_text())
    del about["model_name"], about["n-samples"]
    about["config"]["model_args"] = "dtype=float32,pretrained=ours/alpha"
    (tmp_path / "results.json").write_text(json.dumps(about, indent=2))
    name = "pretrained__ours__alpha_capitals.jsonl"
    text = json.dumps(lines, indent=2) if as_list else "\n".join(map(json.dumps, lines))
    (tmp_path / name).write_text(text)
    items, new = read_items(tmp_path), read_items(file)
    for column in ("model", "topic", "item", "score", "confidence"):
        assert items[column].tolist() == new[column].tolist()


def test_samples_without_a_summary_are_named_for_their_folder(tmp_path):
    file = samples(FOLDER / "two_models", "samples_sums*")[0]
    (tmp_path / "gamma").mkdir()
    shutil.copy(file, tmp_path / "gamma" / "samples_sums.jsonl")
    read = read_with_notes(tmp_path)
    assert set(read.items["model"]) == {"gamma"} and set(read.items["topic"]) == {"sums"}
    assert "'gamma'" in notes_of(read)


def test_fewer_samples_than_in_the_summary(tmp_path):
    shutil.copytree(FOLDER / "two_models" / "ours__beta", tmp_path, dirs_exist_ok=True)
    file = samples(tmp_path, "samples_sums*")[0]
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:3]))
    assert re.search("3 samples.* 4", notes_of(read_with_notes(tmp_path)))


def test_metrics_that_are_no_numbers_or_better_when_low_are_passed_over(tmp_path):
    scores = {"metrics": ["bleu", "ppl", "f1"], "bleu": ["a", "b"], "ppl": 3.0}
    lines = [NO_TEXT | scores | {"doc_id": i, "f1": i / 10} for i in range(4)]
    write_lines(tmp_path / "samples_x_2026-01-01T00-00-00.0.jsonl", *lines)
    about = {"results": {}, "configs": {}, "model_name": "m"}
    about["higher_is_better"] = {"x": {"ppl": False}}
    write(tmp_path / "results_2026-01-01T00-00-00.0.json", about)
    read = read_with_notes(tmp_path)
    np.testing.assert_array_equal(read.items["score"], [0, 0.1, 0.2, 0.3])
    assert read.columns["score"] == "f1"


def in_memory(folder):
    """The results of a run as `lm_eval.simple_evaluate` returns them, out of its files."""
    (summary,) = folder.glob("results_*.json")
    results = json.loads(summary.read_text())
    results["samples"] = {
        path.name.removeprefix("samples_").rpartition("_")[0]: [
            json.loads(line) for line in path.read_text().splitlines()
        ]
        for path in samples(folder)
    }
    return results


def test_results_in_memory_are_rows_of_their_files():
    folders = sorted(FOLDER.glob("two_models/*"))
    results = [in_memory(folder) for folder in folders]
    likelihood = np.float64(results[0]["samples"]["sums"][0]["filtered_resps"][0][0])
    results[0]["samples"]["sums"][0]["filtered_resps"][0] = (likelihood, np.False_)
    results[0]["samples"]["sums"][0]["acc"] = np.float32(results[0]["samples"]["sums"][0]["acc"])
    memory, files = read_with_notes(results), read_with_notes(folders)
    pd.testing.assert_frame_equal(memory.items, files.items, check_exact=True)
    assert memory.formats == files.formats
    assert memory.notes == [note.replace("6 files", "6 tasks") for note in files.notes]
    one = read_items([results[0], folders[1]])
    pd.testing.assert_frame_equal(one, files.items, check_exact=True)


def test_runs_in_memory_of_one_name_stay_apart():
    runs = [in_memory(FOLDER / "two_models" / "ours__alpha") for _ in range(2)]
    models = ["ours/alpha (results 1)", "ours/alpha (results 2)"]
    assert sorted(set(read_items(runs)["model"])) == models


def test_mappings_that_are_refused():
    results = in_memory(FOLDER / "two_models" / "ours__alpha")
    assert "log_samples=True" in message({})
    assert " sums, free_sums" in message({"sums": [], "free_sums": []})
    for nothing in (None, {}, []):
        assert "log_samples=True" in message(results | {"samples": nothing})
    assert "capitals" in message(results, format="table")
    results["samples"]["sums"][2]["doc_id"] = 0
    assert "sample 3: repeats doc_id 0" in message(results)
    for path in (None, [None, results]):
        with pytest.raises(TypeError, match="path .*None"):
            read_items(path)


def test_results_listed_twice_are_read_once():
    results = in_memory(FOLDER / "two_models" / "ours__alpha")
    once, twice = read_with_notes(results), read_with_notes([results, results])
    pd.testing.assert_frame_equal(twice.items, once.items)
    assert twice.notes == once.notes


def test_results_without_a_configuration_have_no_name():
    results = in_memory(FOLDER / "two_models" / "ours__alpha")
    for name in ("config", "model_name"):
        del results[name]
    read = read_with_notes(results)
    assert set(read.items["model"]) == {"unnamed"}
    assert "'unnamed'" in notes_of(read)
