"""Inspect AI: compared with the answers that its mock model gives."""

import io
import json
import math
import re
import struct
import zipfile

import pandas as pd
import pytest
import reading
import zstandard
from make_fixtures import ANSWERS, QUESTIONS
from reading import message, notes_of
from writing import write

from skbench.readers import read_items, read_with_notes

FOLDER = reading.FOLDER / "inspect"


def right(model, task, n=None):
    return [float(letter == "r") for letter in ANSWERS[model, task][:n]]


@pytest.mark.parametrize("model", ["alpha", "beta"])
@pytest.mark.parametrize("task", ["capitals", "sums"])
def test_scores_are_the_answers(model, task):
    items = read_items(FOLDER / "two_models")
    found = items[(items["model"] == f"mockllm/{model}") & (items["topic"] == task)]
    assert found["score"].tolist() == right(model, task, len(QUESTIONS[task]))
    assert found["item"].tolist() == [f"{task}/{task}-{i + 1}" for i in range(len(found))]
    assert "cluster" not in items and "repeat" not in items


def members(path):
    """What is in an archive, whose members zipfile cannot unpack before Python 3.14."""
    found = {}
    with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            file.seek(member.header_offset + 26)
            file.seek(sum(struct.unpack("<HH", file.read(4))), 1)
            packed = io.BytesIO(file.read(member.compress_size))
            reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
            found[member.filename] = reader.read()
    return found


def test_accuracy_is_that_of_the_header():
    for path in (FOLDER / "two_models").iterdir():
        header = json.loads(members(path)["header.json"])
        accuracy = header["results"]["scores"][0]["metrics"]["accuracy"]["value"]
        assert read_items(path)["score"].mean() == pytest.approx(accuracy, abs=1e-15)


@pytest.mark.parametrize("folder", ["epochs", "epochs_json"])
def test_epochs_are_repeats_of_an_item_and_it_their_cluster(folder):
    read = read_with_notes(FOLDER / folder, format="inspect")
    items = read.items.sort_values(["repeat", "item"])
    assert items["score"].tolist() == right("beta", "capitals")
    assert items["repeat"].tolist() == [epoch for epoch in (1, 2, 3) for _ in range(6)]
    assert (items["cluster"] == items["item"]).all()
    assert read.columns["cluster"] == read.columns["item"] == "id"


def test_grades_and_scorers():
    read = read_with_notes(FOLDER / "scorers", format="inspect")
    assert read.items["score"].tolist() == [1, 0, 0.5, 0, 1, 0.5]
    assert re.search(r"'graded' .*'capitals' \(not style/length, style/fluent", notes_of(read))
    lengths = [len(word) for word in ("yes", "no", "half", "who knows", "yes", "half")]
    assert read_items(FOLDER / "scorers", score="style/length")["score"].tolist() == lengths


def test_unscored_and_failed_samples_are_not_wrong_answers():
    read = read_with_notes(FOLDER / "holes", format="inspect")
    assert read.items["item"].str[-1].tolist() == ["1", "4", "5", "6"]
    assert "dropped 2 of 6 rows" in notes_of(read)


def test_run_that_was_cut_off_is_read_from_its_journal():
    read = read_with_notes(FOLDER / "interrupted", format="inspect")
    assert read.items["score"].tolist() == right("alpha", "capitals", 3)
    assert "'started', 3 of 6" in notes_of(read)


def test_cluster_and_topic_from_metadata():
    paths = [path for path in (FOLDER / "two_models").iterdir() if "capitals" in path.name]
    items = read_items(paths, cluster="metadata.page", topic="target")
    assert items["cluster"].tolist() == 2 * ["p0", "p1", "p1", "p2", "p2", "p3"]
    assert items["topic"].tolist() == 2 * list(QUESTIONS["capitals"].values())


def write_log(path, samples, **about):
    log = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"} | about}
    return write(path, log | {"samples": samples})


def sample(i, value, **more):
    return {"id": i, "epoch": 1, "scores": {"s": {"value": value}}} | more


def test_values(tmp_path):
    values = ["C", "I", "P", "N", True, 0.25, "yes", "0.75", None, math.nan]
    path = write_log(tmp_path / "log.json", [sample(i, v) for i, v in enumerate(values)])
    assert read_items(path)["score"].tolist() == [1, 0, 0.5, 0, 1, 0.25, 1, 0.75]


def test_a_cluster_that_one_log_declares_is_that_of_the_same_samples_in_others(tmp_path):
    samples = [sample(i, "C", metadata={"page": f"p{i // 2}"}) for i in range(4)]
    write_log(tmp_path / "old.json", samples[1:], model="old")
    about = {"scorers": [{"name": "s", "metrics": [{"options": {"cluster": "page"}}]}]}
    write_log(tmp_path / "new.json", samples[:3], model="new", **about)
    items = read_items(tmp_path).set_index(["model", "item"])["cluster"]
    assert items["new"].tolist() == ["p0", "p0", "p1"]
    assert items["old"].to_dict() == {"t/1": "p0", "t/2": "p1", "t/3": "t/3"}


def text_of(text):
    return [{"role": "user", "content": [{"type": "text", "text": text}, {"type": "image"}]}]


def test_other_questions_under_the_same_ids_are_other_items(tmp_path):
    for name in ("easy", "hard"):
        questions = [sample(i, "C", input=f"{name} question {i}") for i in range(3)]
        questions.append(sample(9, "I", input="asked of both"))
        about = {"model": name, "task_args": {"subset": name, "seed": 1}}
        write_log(tmp_path / f"{name}.json", questions, **about)
    items = read_items(tmp_path).groupby("model")["item"].apply(set)
    assert items["easy"] & items["hard"] == {"t/9"}
    notes = notes_of(read_with_notes(tmp_path))
    assert " 3 items " in notes
    assert "subset ('easy', 'hard')" in notes
    assert "seed" not in notes


@pytest.mark.parametrize(
    ("whole", "summary"),
    [
        ("q" * 6000, "q" * 5120 + "...\n(content truncated)"),
        (text_of("q"), [{"content": [{"type": "text", "text": t} for t in ("q", "(Image)")]}]),
    ],
)
def test_a_question_that_was_shortened_is_the_same_question(tmp_path, whole, summary):
    for model, question in (("a", whole), ("b", summary)):
        write_log(tmp_path / f"{model}.json", [sample(1, "C", input=question)], model=model)
    assert read_items(tmp_path)["item"].tolist() == ["t/1", "t/1"]


@pytest.mark.parametrize("temperatures", [(0.0, 1.0), (1.0, 1.0)])
def test_runs_at_other_temperatures_are_no_one_model(tmp_path, temperatures):
    """The number of connections does not define a model."""
    for task, temperature, connections in zip("xy", temperatures, (1, 9), strict=True):
        config = {"temperature": temperature, "max_connections": connections}
        about = {"task": task, "model_generate_config": config}
        write_log(tmp_path / f"{task}.json", [sample(1, "C")], **about)
    read = read_with_notes(tmp_path)
    apart = "m (x.json), m (y.json)" in notes_of(read)
    assert apart == (read.items["model"].nunique() == 2) == (temperatures == (0.0, 1.0))


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (sample(1, "C"), "sample 2: repeats id 1"),
        (sample(2, "good"), "sample 2: .*'good'"),
        (sample(2, math.inf), "sample 2: .*'inf'"),
        ({"epoch": 1}, "sample 2: .*'id'"),
        (7, "sample 2: "),
    ],
)
def test_bad_samples_are_refused_or_counted(tmp_path, bad, reason):
    path = write_log(tmp_path / "log.json", [sample(1, "C"), bad, sample(3, "I")])
    assert str(path) in message(path) and re.search(reason, message(path))
    read = read_with_notes(path, skip_bad_lines=True, format="inspect")
    assert read.items["score"].tolist() == [1, 0]
    assert "skipped 1 " in notes_of(read) and "(sample 2:" in notes_of(read)


def test_archives_of_versions_before_zstandard(tmp_path):
    """They were deflated; the same members packed so."""
    path = next((FOLDER / "two_models").iterdir())
    with zipfile.ZipFile(tmp_path / path.name, "w", zipfile.ZIP_DEFLATED) as old:
        for name, content in members(path).items():
            old.writestr(name, content)
    pd.testing.assert_frame_equal(read_items(tmp_path), read_items(path))
