"""Files that are cut off, mixed, mislabeled, malicious or huge."""

import gzip
import io
import json
import math
import shutil
import struct
import subprocess
import sys

import pandas as pd
import pytest
from reading import FOLDER, message, notes_of
from writing import write, write_lines

from skbench.readers import read_items, read_with_notes
from skbench.report.cli import main

LM_EVAL = FOLDER / "lm_eval" / "two_models" / "ours__alpha"


@pytest.fixture
def lines():
    return next(LM_EVAL.glob("samples_capitals*")).read_bytes().splitlines(keepends=True)


@pytest.fixture
def samples(tmp_path):
    """Write lines of a log to a file and return its path."""
    return lambda *lines, name="samples_capitals.jsonl": write(tmp_path / name, b"".join(lines))


def changed(line, **fields):
    return json.dumps(json.loads(line) | fields).encode() + b"\n"


BAD = {
    "truncated": (lambda line: line[: len(line) // 2], "ends"),
    "not_utf8": (lambda line: line.replace(b"What", b"Wh\xe4t"), "(0xe4) is not UTF-8"),
    "duplicate": (lambda line: changed(line, doc_id=0), "repeats doc_id 0"),
    "infinite": (lambda line: changed(line, acc=math.inf),
        "'inf'"),
    "no_id": (lambda line: line.replace(b"doc_id", b"id"), "'doc_id'"),
    "no_object": (lambda line: b"17\n", "'17'"),
    "no_json": (lambda line: b"<html>\n", "Expecting value"),
    "deep": (lambda line: b'{"doc_id": ' + b"[" * 100_000 + b"\n", ""),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("fast", [True, False])
def test_bad_line_is_refused_with_its_place_or_counted(kind, fast, lines, samples, monkeypatch):
    """With orjson and without."""
    if not fast:
        monkeypatch.setitem(sys.modules, "orjson", None)
    spoil, reason = BAD[kind]
    path = samples(*lines[:5], spoil(lines[5]))
    text = message(path)
    assert text.startswith(f"{str(path)!r}, line 6: ")
    assert reason in text and "skip_bad_lines=True" in text
    read = read_with_notes(path, skip_bad_lines=True)
    assert read.items["item"].tolist() == [f"capitals/{i}" for i in range(5)]
    assert any("skipped 1 " in note and f"{str(path)!r} (line 6: " in note for note in read.notes)


def test_nan_and_missing_scores_are_dropped_and_counted(lines, samples):
    path = samples(changed(lines[0], acc=math.nan), changed(lines[1], acc=None), *lines[2:])
    read = read_with_notes(path)
    assert len(read.items) == 4
    assert "dropped 2 of 6 rows" in notes_of(read) and "'capitals/0'" in notes_of(read)


def test_mixed_versions_in_one_file(lines, samples):
    """A later version adds fields: what a line does not have is no score."""
    old = {
        k: v for k, v in json.loads(lines[0]).items() if k not in ("filter", "metrics", "acc_norm")
    }
    read = read_with_notes(samples(json.dumps(old).encode() + b"\n", *lines[1:]), score="acc_norm")
    assert len(read.items) == 5
    assert "dropped 1 of 6 rows" in notes_of(read)


@pytest.mark.parametrize("name", ["samples.csv", "samples.txt", "samples.json", "samples.eval"])
def test_wrong_extension_of_samples(lines, samples, name):
    assert len(read_items(samples(*lines, name=name))) == 6


ARCHIVE = next((FOLDER / "inspect" / "two_models").iterdir())


@pytest.mark.parametrize("name", ["log.json", "log.csv", "log.zip.eval"])
def test_wrong_extension_of_an_archive(tmp_path, name):
    shutil.copy(ARCHIVE, tmp_path / name)
    assert len(read_items(tmp_path / name)) in (4, 6)


def test_parquet_under_another_name(tmp_path):
    pd.DataFrame({"model": ["a"], "item": [1], "score": [1.0]}).to_parquet(tmp_path / "t.csv")
    assert len(read_items(tmp_path / "t.csv")) == 1


ABOUT = {"task": "t", "model": "m"}
HEADER = json.dumps({"version": 2, "status": "success", "eval": ABOUT}).encode()


def zstandard_archive(path, members):
    """A zip file with Zstandard members, as zipfile cannot write it before Python 3.14."""
    import zlib

    import zstandard

    file, directory = io.BytesIO(), b""
    for name, chunks in members.items():
        compressor, packed, size, check = zstandard.ZstdCompressor().compressobj(), b"", 0, 0
        for chunk in chunks:
            packed += compressor.compress(chunk)
            size, check = size + len(chunk), zlib.crc32(chunk, check)
        packed += compressor.flush()
        size = min(size, 2**32 - 2)
        common = struct.pack(
            "<HHHHHIIIHH", 63, 0, 93, 0, 33, check, len(packed), size, len(name), 0
        )
        at = file.tell()
        file.write(b"PK\x03\x04" + common + name.encode() + packed)
        directory += b"PK\x01\x02" + struct.pack("<H", 63) + common
        directory += struct.pack("<HHHII", 0, 0, 0, 0, at) + name.encode()
    end = (0, 0, len(members), len(members), len(directory), file.tell(), 0)
    path.write_bytes(file.getvalue() + directory + b"PK\x05\x06" + struct.pack("<HHHHIIH", *end))
    return path


def test_zstandard_archive_is_read_and_a_bomb_is_refused(tmp_path):
    summaries = [{"id": 1, "epoch": 1, "scores": {"s": {"value": "C"}}}]
    members = {"header.json": [HEADER], "summaries.json": [json.dumps(summaries).encode()]}
    members["samples/1_epoch_1.json"] = [b"transcripts are not read"]
    assert read_items(zstandard_archive(tmp_path / "log.eval", members))["score"].tolist() == [1]
    members["summaries.json"] = [b" " * 2**20] * 80
    assert "bomb" in message(zstandard_archive(tmp_path / "bomb.eval", members))


def test_overlong_line_is_refused_without_being_held(lines, samples):
    path = samples(*lines[:2], b"x" * (64 * 2**20 + 2), b"\n", *lines[3:])
    assert "line 3: " in message(path) and "longer" in message(path)
    items = read_items(path, skip_bad_lines=True)
    assert items["item"].tolist() == [f"capitals/{i}" for i in (0, 1, 3, 4, 5)]


def test_mixed_folder_reports_what_was_ignored_and_why(tmp_path):
    shutil.copytree(LM_EVAL, tmp_path / "logs")
    (tmp_path / "table.csv").write_text("model,item,score\na,1,1\n")
    (tmp_path / "plot.png").write_bytes(b"\x89PNG")
    (tmp_path / "samples_empty.jsonl").write_bytes(b"")
    read = read_with_notes(tmp_path)
    assert len(read.items) == 14
    assert any("ignored 1 " in n and n.endswith(": table.csv") for n in read.notes)
    assert any("ignored 1 " in n and n.endswith(": plot.png") for n in read.notes)
    assert "ignored 1 file (empty): samples_empty.jsonl" in notes_of(read)


def test_two_programs_in_one_folder():
    folders = [FOLDER / "lm_eval" / "two_models", FOLDER / "inspect" / "two_models"]
    read = read_with_notes(folders)
    assert len(read.items) == sum(len(read_items(folder)) for folder in folders)
    assert "lm-evaluation-harness: 6 files" in notes_of(read) and "Inspect: 4 files" in notes_of(
        read
    )
    assert len(read_items(folders, format="lm-eval")) == 28
    assert "ignored 4 files (not lm-evaluation-harness)" in notes_of(
        read_with_notes(folders, format="lm-eval")
    )


def test_folder_of_tables(tmp_path):
    for name in ("ada", "bob"):
        (tmp_path / f"{name}.csv").write_text("task,item,score\nx,1,1\nx,2,0\n")
    items = read_items(tmp_path)
    assert items["model"].tolist() == ["ada", "ada", "bob", "bob"]
    pd.testing.assert_frame_equal(read_items(tmp_path, format="table"), items)
    with pytest.raises(ValueError):
        read_items(tmp_path, format="helm")


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["llama-3.1-8b.csv", "llama-3.3-70b.csv.gz"], ["llama-3.1-8b", "llama-3.3-70b"]),
        (["claude/results.csv", "gpt/results.csv"], ["claude", "gpt"]),
        (["claude/x/r.csv", "gpt/x/r.tsv"], ["claude", "gpt"]),
        (["claude/r.csv", "gpt/a.csv", "gpt/r.csv"], ["claude/r", "gpt/a", "gpt/r"]),
        (["gpt/r.csv", "r.csv"], ["gpt/r", "r"]),
        (["r.csv", "r.tsv"], ["r.csv", "r.tsv"]),
    ],
)
def test_files_of_a_folder_are_named_by_what_distinguishes_them(tmp_path, files, names):
    for i, file in enumerate(files):
        text = f"item;score\n1;1\n2;{i}\n".encode()
        write(tmp_path / file, gzip.compress(text) if file.endswith("gz") else text)
    read = read_with_notes(tmp_path)
    assert sorted(set(read.items["model"])) == names and len(read.items) == 2 * len(files)
    assert "no model" in notes_of(read)
    assert all(name in notes_of(read) for name in names)


def test_a_file_is_not_given_the_name_of_a_model_in_another(tmp_path):
    (tmp_path / "ada.csv").write_text("item,score\n1,1\n")
    (tmp_path / "others.csv").write_text("model,item,score\nada,1,0\nbob,1,1\n")
    assert sorted(set(read_items(tmp_path)["model"])) == ["ada", "ada.csv", "bob"]


@pytest.mark.parametrize(
    "text",
    ["model,item,cluster,score\na,1,p,1\na,2,p,0\n", "model,item,score\na,1,1\na,2,0\n",
     "model,item,epoch,score\na,1,1,1\na,1,2,0\n"],
)  # fmt: skip
def test_a_table_that_is_there_twice_is_refused(tmp_path, text):
    for name in ("first.csv", "second.csv"):
        (tmp_path / name).write_text(text)
    error = message(tmp_path)
    assert "second.csv', row 1: " in error and "'1'" in error and "first.csv'" in error


def test_epochs_of_an_item_may_be_in_several_tables(tmp_path):
    text = "model,item,epoch,score\na,1,{},1\na,1,{},0\n"
    (tmp_path / "first.csv").write_text(text.format(1, 2))
    (tmp_path / "second.csv").write_text(text.format(3, 4))
    assert read_items(tmp_path)["repeat"].tolist() == [1, 2, 3, 4]


def test_json_lines_table(tmp_path):
    common = {"task": "x", "prompt": "p" * 999}
    rows = [
        common | {"model": m, "id": i, "correct": i % 2, "more": {"length": i}}
        for m in "ab"
        for i in range(4)
    ]
    read = read_with_notes(write_lines(tmp_path / "t.jsonl", *rows))
    assert read.items["score"].tolist() == 2 * [0, 1, 0, 1]
    assert read.items["more.length"].tolist() == 2 * [0, 1, 2, 3]
    assert any("ignored 1 " in n and n.endswith(": prompt") for n in read.notes)
    assert "prompt" not in read.items


def test_labels_of_several_types_become_text(tmp_path):
    rows = [{"model": m, "item": i, "score": i % 2} for m in ("gpt", 4) for i in range(4)]
    path = write_lines(tmp_path / "t.jsonl", *rows)
    items = read_items(path)
    assert items["model"].tolist() == 4 * ["gpt"] + 4 * ["4"]
    assert items["item"].tolist() == 2 * [0, 1, 2, 3]


def test_repeats_in_a_table(written):
    path = written("model,item,epoch,score\na,1,1,1\na,1,2,0\na,2,1,1\na,2,2,1\n", "t.csv")
    read = read_with_notes(path)
    assert read.items["repeat"].tolist() == [1, 2, 1, 2]
    assert (read.items["cluster"] == read.items["item"]).all()
    assert "'epoch'" in notes_of(read)


def test_repeats_of_items_whose_ids_start_again_in_every_topic(written):
    path = written(
        "model,task,item,run,page,score\na,x,1,1,p,1\na,x,1,2,p,0\na,y,1,1,q,1\na,y,1,2,q,1\n",
        "t.csv",
    )
    # The column of clusters is the one of items where no other names them.
    for options in ({}, {"cluster": "item"}):
        items = read_with_notes(path, **options).items
        assert items["item"].tolist() == [1, 1, 1, 1]
        assert items["cluster"].tolist() == ["x / 1", "x / 1", "y / 1", "y / 1"]
    # Clusters may hold several repeated items, and a run may be the model: then it is asked.
    assert read_with_notes(path, cluster="page").items["cluster"].tolist() == list("ppqq")
    path.write_text("task,item,run,score\nx,1,gpt,1\nx,1,llama,0\n")
    assert "pass model='run'" in message(path)


COMMAS = "model,item,text,score\n"


def test_separator_at_the_end_of_every_row(written):
    path = written(COMMAS + 'a,1,"pick\n0",1,\n\na,2,pick 1,0,\n', "t.csv")
    assert read_items(path)["score"].tolist() == [1, 0]
    path.write_text(COMMAS + "a,1,pick 0,1,\na,2,pick 1,0\n")
    assert "line 2 has 5 fields" in message(path)


def test_command_line(samples, lines, capsys):
    path = samples(*lines, b"{")
    for options, code, words in (
        ([], 1, "line 7: "),
        (["--skip-bad-lines"], 0, "skipped 1 bad line"),
    ):
        with pytest.raises(SystemExit) as stop:
            main(["leaderboard", str(path), *options])
        assert stop.value.code == code
        assert words in capsys.readouterr().err


MEASURE = """
import resource, sys
from skbench.readers import read_items
import pandas
read_items(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
n = len(read_items(sys.argv[2]))
print(n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def lines_of(kind, n, size):
    for i in range(n):
        text = f"{i % 10}" * size
        if kind == "samples":
            record = {"doc_id": i, "doc": {"q": text}, "resps": [[text]], "filtered_resps": [text],
                      "target": "", "filter": "none", "metrics": ["acc"], "acc": i % 2}  # fmt: skip
        else:
            record = {"model": "a", "task": "x", "id": i, "prompt": text * 3, "correct": i % 2}
        yield json.dumps(record) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "size"), [("samples", 1_200), ("table", 1_150)])
def test_memory_for_a_gigabyte(tmp_path, kind, size):
    """1 GB in 300,000 lines: the rows alone take about 30 MB, and their making a few times that."""
    paths, n = [tmp_path / f"samples_{name}.jsonl" for name in ("small", "big")], 300_000
    for path, count in zip(paths, (100, n), strict=True):
        with open(path, "w") as file:
            file.writelines(lines_of(kind, count, size))
    command = [sys.executable, "-c", MEASURE, *map(str, paths)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows, kib = map(int, printed.split())
    assert rows == n
    assert paths[1].stat().st_size > 1.0e9
    assert kib * 1024 < 250e6, f"{kib / 1024:.0f} MiB"
