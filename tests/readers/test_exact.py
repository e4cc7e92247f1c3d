"""Ids as the file has them, and one column for one role in all files."""

import json

import numpy as np
import pandas as pd
import pytest
from reading import message

from skbench.readers import read_features, read_items, read_with_notes

pa, pq = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.parquet"))
LARGE = [2**53 + i for i in range(4)]
FAR = 10**29


def lines(*ids, n=1):
    """JSON Lines; more than one block of them where n is large."""
    rows = [{"model": "a", "score": i % 2, "text": "x" * 200} for i in range(n * len(ids))]
    for row, (label, k) in zip(rows, ((i, k) for i in ids for k in range(n)), strict=True):
        row |= {} if label is None else {"id": label + k if n > 1 else label}
    return "".join(json.dumps(row) + "\n" for row in rows)


def parquet(path, *columns):
    """Parquet files of these ids, without what pandas writes beside them."""
    for k, ids in enumerate(columns):
        table = pa.table({"model": [f"m{k}"] * len(ids), "id": ids, "score": [1] * len(ids)})
        pq.write_table(table, path / f"{k}.parquet")
    return path


MIXTURES = {
    "beyond 64 bits": (lines(*(FAR + i for i in range(4))), [str(FAR + i) for i in range(4)]),
    "below -64 bits": (lines(-(2**63) - 1, -(2**63) - 2), [str(-(2**63) - i) for i in (1, 2)]),
    "no id in a record": (lines(*LARGE, None), LARGE),
    "half an id": (lines(*LARGE, 1.5), [*map(str, LARGE), "1.5"]),
    "no id in a block": (lines(2**53, n=2000) + lines(None), [2**53 + i for i in range(2000)]),
    "unsigned in a block": (
        lines(2**53, n=2000) + lines(2**63), [str(2**53 + i) for i in range(2000)] + [str(2**63)]
    ),
    "after a return": (
        f"[{lines(FAR, FAR + 1)[:-1]}]".replace("\n", ",").replace('"id": ', '"id":\r'),
        [str(FAR), str(FAR + 1)],
    ),
    "small": (lines(1.0, 2, None), [1, 2]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), MIXTURES.values(), ids=MIXTURES)
def test_ids_of_json_lines_stay_exact(written, text, expected):
    items = read_items(written(text, "r.jsonl"), item="id", skip_bad_lines=True)
    assert items["item"].tolist() == expected


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([pa.array([*LARGE, None], pa.int64())], LARGE),
        ([pa.array(LARGE, pa.uint64()), pa.array(LARGE, pa.int64())], [*LARGE, *LARGE]),
        ([pa.array(LARGE), pa.array([1.5, 2])], [*map(str, LARGE), "1.5", "2"]),
        ([pa.array([2**63, 7], pa.uint64())], [str(2**63), "7"]),
        ([pa.array([3.0, None, 4.0])], [3, 4]),
        ([pa.array([np.inf, 4.0])], ["inf", "4"]),
    ],
)
def test_ids_of_parquet_stay_exact(tmp_path, columns, expected):
    items = read_items(parquet(tmp_path, *columns), skip_bad_lines=True)
    assert items["item"].tolist() == expected


def test_features_meet_labels_in_their_type(tmp_path):
    pd.DataFrame({"id": [1, 2], "topic": [0.5, 1], "score": [1, 0]}).to_parquet(tmp_path / "r.pq")
    pd.DataFrame({"topic": [1, 0.5], "size": [3, 4]}).to_parquet(tmp_path / "f.pq")
    read = read_with_notes(tmp_path / "r.pq")
    merged = read.items.merge(read_features(tmp_path / "f.pq", read.columns), on="topic")
    assert merged[["topic", "size"]].to_numpy().tolist() == [["0.5", 4], ["1", 3]]


def test_lists_are_no_ids(tmp_path):
    read = read_with_notes(parquet(tmp_path, [[1], [2]]))
    assert any("ignored 1" in note and note.endswith(": id") for note in read.notes)


@pytest.mark.parametrize("name", ["r.csv", "r.jsonl", "r.parquet"])
@pytest.mark.parametrize("role", ["model", "id"])
def test_empty_labels_are_blank(tmp_path, name, role):
    table = pd.DataFrame({"model": ["a", "a"], "id": ["x", "y"], "score": [1, 0]})
    table.loc[1, role] = ""
    how = {"r.csv": table.to_csv, "r.parquet": table.to_parquet, "r.jsonl": table.to_json}[name]
    how(tmp_path / name, **{"orient": "records", "lines": True} if "json" in name else {})
    text = message(tmp_path / name)
    assert "row 2: " in text and repr(role) in text
    assert len(read_items(tmp_path / name, skip_bad_lines=True)) == 1


# Two files, the role in question, and its labels or scores in both as they must be read.
FILES = {
    "score": ("id,correct\n1,1\n2,0\n", "id,Correct,score\n1,0,0.3\n2,x,0.9\n2,1,.5\n", [1, 0, 0, 1]),
    "item": ("id,correct\n7,1\n8,0\n", "item,id,correct\n1,7,1\n2,8,0\n", [7, 8, 7, 8]),
    "topic": ("subject,id,f1\nu,1,1\nv,2,0\n", "category,subject,id,f1\nx,u,1,1\nx,v,2,0\n", [*"uvuv"]),
}  # fmt: skip


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("role", FILES)
def test_a_role_is_the_column_that_all_files_have(tmp_path, role, back):
    *texts, expected = FILES[role]
    for name, text in zip("ba" if back else "ab", texts, strict=True):
        (tmp_path / f"{name}.csv").write_text(text)
    read = read_with_notes(tmp_path, skip_bad_lines=True)
    assert sorted(read.items[role]) == sorted(expected)
    assert any(f"{role}=" in note for note in read.notes)
    assert sum("skipped" in note for note in read.notes) == (role == "score")


def test_scores_of_no_column_that_all_files_have_are_refused(tmp_path):
    for name, score in (("a", "correct"), ("b", "f1")):
        (tmp_path / f"{name}.csv").write_text(f"id,{score}\n1,1\n2,0\n")
    text = message(tmp_path)
    assert "'correct'" in text and "'f1'" in text and "score=" in text
