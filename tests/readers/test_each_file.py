"""Files that are read in several processes: the same rows, notes and errors."""

import json
import os
from pathlib import Path

import joblib
import pandas as pd
import pytest

from skbench import read_items
from skbench.readers import read_with_notes

N_FILES = 6


@pytest.fixture
def folder(tmp_path, monkeypatch):
    found = Path.stat

    def large(path, **options):  # below 1 GiB in all, no other process is started
        stat = found(path, **options)
        return os.stat_result([*stat[:6], 2**30, *stat[7:]]) if path.suffix == ".jsonl" else stat

    for number in range(N_FILES):
        lines = [
            {"doc_id": i, "filtered_resps": ["a"], "metrics": ["acc"], "acc": (i + number) % 2}
            for i in range(5)
        ]
        place = tmp_path / f"model{number}"
        place.mkdir()
        text = "\n".join(map(json.dumps, lines))
        (place / "samples_law_2024-01-01T00-00-00.0.jsonl").write_text(text)
    return tmp_path


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_order_and_notes_do_not_depend_on_the_workers(folder, backend):
    one = read_with_notes(folder)
    with joblib.parallel_config(backend):
        two = read_with_notes(folder, n_jobs=2)
    pd.testing.assert_frame_equal(one.items, two.items)
    assert one.notes == two.notes
    assert list(two.items["model"].unique()) == [f"model{number}" for number in range(N_FILES)]


def test_the_first_file_that_cannot_be_read_is_named(folder):
    for number in (4, 2):
        path = folder / f"model{number}" / "samples_law_2024-01-01T00-00-00.0.jsonl"
        path.write_text(path.read_text() + "\n{half")
    with joblib.parallel_config("threading"):
        with pytest.raises(ValueError, match=r"model2.*line 6"):
            read_items(folder, n_jobs=2)
        skipped = read_with_notes(folder, n_jobs=2, skip_bad_lines=True).notes
    assert [f"model{number}" in note for number in (2, 4) for note in skipped[-2:]] == [1, 0, 0, 1]
