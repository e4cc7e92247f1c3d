"""Hostile files through all readers: refused in words, soon and in little memory, or read right."""

import copy
import gzip
import io
import json
import lzma
import math
import os
import random
import re
import shutil
import subprocess
import sys
import traceback
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from reading import FOLDER
from walks import one_in
from writing import write

import skbench
from skbench.readers import read_with_notes
from skbench.readers._archive import Archive
from skbench.report.doctor import doctor

# Words of Python and of other libraries.
RAW = re.compile(
    r"NoneType|subscriptable|not supported between|could not convert|unhashable|out of range|"
    r"has no attribute|broadcast|codec can't|Error\(|invalid literal|tokenizing|truth value"
)


def verdict(path, *more):
    """What came of reading a path: "clear", "right" or "raw", and the words or the rows."""
    try:
        read = read_with_notes([path, *more] if more else path)
    except (ValueError, FileNotFoundError) as error:
        place = traceback.extract_tb(error.__traceback__)[-1].filename
        ours = place.startswith(str(Path(skbench.__file__).parent))
        is_clear = ours and len(str(error)) > 18 and not RAW.search(str(error))
        return ("clear" if is_clear else "raw"), str(error)
    except Exception as error:
        return "raw", repr(error)
    labels = read.items[[name for name in ("model", "topic", "item") if name in read.items]]
    known = labels.map(lambda x: isinstance(x, (str, int, float, np.number)) and x == x)
    is_right = np.isfinite(read.items["score"]).all() and known.all(axis=None)
    return ("right" if is_right else "accepted"), read.items


# --- tables and logs as bytes ---------------------------------------------------------------

ROWS = [(m, t, f"{t}{i}", (i * len(m)) % 2) for m in ("a", "bb", "c") for t in "tu" for i in (1, 2)]
GOOD = "model,task,id,correct\n" + "".join("{},{},{},{}\n".format(*row) for row in ROWS)
LINES = "".join(json.dumps(dict(zip("mtis", row, strict=True))) + "\n" for row in ROWS)
LINES = LINES.replace('"m"', '"model"').replace('"t":', '"task":').replace('"i"', '"id"')
LINES = LINES.replace('"s"', '"correct"')
COUNTS = "model,task,n,k\na,t,10,{}\nb,t,10,2\n"
OPENED = GOOD.replace("a,t,t2", 'a,t,"t2')


def archive(**members):
    """A zip file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name.replace("__", "."), content)
    return file.getvalue()


# What is refused, and words that must be in the reason.
REFUSED = {
    "empty.csv": ("", "is empty"), "empty.parquet": ("", "is empty"),
    "empty.jsonl": ("", "is empty"), "empty.eval": ("", "is empty"),
    "blank.csv": ("\n\n\n", "No columns"), "header.csv": (GOOD[:22], "no rows"),
    "nul.csv": (GOOD.replace("bb", "b\0", 1), "NUL bytes"), "nuls.csv": ("\0" * 999, "NUL bytes"),
    "nuls.json": ("[" + "\0" * 999, "Give a .csv"), "any.csv": (bytes(range(256)), "NUL bytes"),
    "nul.jsonl": (LINES.replace("bb", "b\0", 1), "line 5"),
    "utf16.csv": (GOOD.encode("utf-16"), "line 1, byte 1 .0xff.* UTF-8"),
    "utf16.jsonl": (LINES.encode("utf-16"), "not UTF-8|line 1"),
    "latin.csv": (GOOD.replace("bb", "\xe9").encode("latin-1"), "line 6, byte 1 .0xe9"),
    "infinite.csv": (GOOD.replace(",1\n", ",inf\n", 1), "row 1: 'correct' "),
    "huge.csv": (GOOD.replace(",1\n", ",1e400\n", 1), "row 1: 'correct' "),
    "words.csv": (GOOD.replace(",1\n", ",maybe\n", 1), "'maybe'"),
    "dates.csv": (GOOD.replace(",1\n", ",2026-01-01\n"), "finite"),
    "no_model.csv": (GOOD.replace("\na,", "\n,", 1), "row 1: column 'model'"),
    "long.csv": (GOOD + "a,t,x,1,7\n", "line 14 has 5"),
    "first.csv": (GOOD.replace(",1\n", ",1,0\n", 1), "line 2 has 5"),
    "above.csv": ("# made by me\n" + GOOD, "line 2 has 4"),
    "twice.csv": (GOOD + "a,t,t1,1\n", "item 't/t1|item 't1'"),
    "columns.csv": (GOOD.replace("task", "model", 1), "'model'"),
    "opened.csv": (OPENED, "line 3"),
    "rows.csv": (OPENED.replace("bb,t,t2", 'bb,t,t2"'), "line 3: .*'t2,0'"),
    "row.csv": (OPENED.replace("a,u,u1", 'a,u,"u1'), "line 3: .*'t2,0'"),
    "above_n.csv": (COUNTS.format(12), "12"), "negative.csv": (COUNTS.format(-2), "-2"),
    "half.csv": (COUNTS.format(2.5), "2.5"),
    "se.csv": ("model,task,acc,acc_stderr\na,t,.5,-.1\nb,t,.5,.1\n", "-0.1"),
    "utf16.json": (f"[{LINES}]".encode("utf-16"), "UTF-16"),
    "number.json": ("17", "Give a .csv"), "null.json": ("null", "Give a .csv"),
    "list.json": ('[{"model": "a", "id": 1}]', "model, id"),
    "twice.jsonl": (LINES.replace('"bb"', '7, "model": "bb"', 1), "line 5: .*'model'"),
    "twice.json": ('[\n{"model": {"x": 1, "x": 2}, "id": 1}]', "'x' twice"),
    "escaped.jsonl": (LINES + '{"model": "a", "id": 1, "id": 2, "t": "\\u003a"}\n', "line 13: .*'id'"),
    "names.json": ('{"columns": ["model", "id", "acc", "acc"], "data": [["a", 1, 1, 0]]}', "'acc' twice"),
    "dots.jsonl": ('{"model": "a", "m.acc": 1, "m": {"acc": 0}}\n' * 2, "field 'm.acc' twice"),
    "whole.jsonl": (LINES + '{"model": ' + 50_000 * "[" + 50_000 * "]" + "}", "line 13: the values|row 13: the"),
    "points.csv": (GOOD.replace("correct", "score").replace(",1\n", ",1.2.3%\n").replace(",0\n", ",5%\n"), "'1.2.3%'"),
    "nulls.json": ("[null]", "Give a .csv"), "deep.json": ("[" * 100_000, "Give a .csv|nested"),
    "deep.jsonl": ('{"model": ' + "[" * 100_000, "line 1"), "cut.jsonl": (LINES[:-9], "line 12: the"),
    "cut.json": ('[{"model": "a", "id": 1}, {"mod', "not JSON"),
    "half.jsonl": (LINES.replace("bb", "\\ud800", 1), "line 5: "),
    "list.jsonl": ('{"model": "a", "id": 1, "correct": [1]}\n', "score"),
    "text.jsonl": (GOOD, "line 1"), "what.xyz": (GOOD, "Give a .csv"),
    "quotes.json": ('{"' + '\\"' * 10**5, "Give a .csv"), "plot.png": (b"\x89PNG\r\n", "Give a .csv"),
    "no.csv.gz": (GOOD, "Not a gzipped"), "cut.csv.gz": (gzip.compress(GOOD.encode())[:-20], "end"),
    "in.csv.gz": (gzip.compress(gzip.compress(GOOD.encode())), "NUL bytes|UTF-8"),
    "cut.parquet": ("PAR1cut", "Cannot read"), "no.eval": ("PK" + "x" * 99, "zip file"),
    "cut.eval": (archive(header__json="{}" * 99)[:-9], "zip file"),
    "in.eval": (archive(header__json=archive(header__json="{}")), "'header.json'"),
    "none.eval": (archive(x="{}"), "no header.json"),
    "bomb.eval": (archive(header__json=b" " * (65 << 20)), "bomb"),
    "out.eval": (archive(**{"../x": ""}), "member"),
    "drive.eval": (archive(**{"C:\\x": ""}), "member"),
    "dtd.xml": ("<!DOCTYPE x [<!ENTITY a 'a'>]><testsuite/>", "document type|Give a .csv"),
    "cut.xml": ("<testsuite><testcase name='a'", "XML"),
    "line.csv": (GOOD + "a,t," + "x" * (65 << 20), "64 MiB"),
    "wide.csv": (",".join(map(str, range(10**4 + 1))) + "\n", "10001 columns"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(tmp_path, name, walked):
    content, words = REFUSED[name]
    kind, text = verdict(write(tmp_path / name, content))
    walked("files", **{kind: 1})
    assert kind == "clear", text
    assert re.search(words, text) and name in text, text
    result = CliRunner().invoke(doctor, [str(tmp_path / name)])
    reasons = [line for line in result.stderr.splitlines() if line.startswith("skbench: ")]
    assert result.exit_code == 1 and len(reasons) == 1, result.output


@pytest.mark.parametrize(
    "name",
    "infinite words no_model long first latin rows twice nul.jsonl cut.jsonl half.jsonl".split(),
)
def test_bad_lines_are_skipped_and_counted(tmp_path, name):
    name = name if "." in name else f"{name}.csv"
    read = read_with_notes(write(tmp_path / name, REFUSED[name][0]), skip_bad_lines=True)
    assert 0 < len(read.items) <= len(ROWS)
    assert any(re.search(rf"skipped \d .*{name}'", note) for note in read.notes)


SAME = {
    "bom.csv": "\ufeff" + GOOD, "crlf.csv": GOOD.replace("\n", "\r\n"),
    "cr.csv": GOOD.replace("\n", "\r"), "blank_lines.csv": GOOD.replace("\n", "\n\n"),
    "no_end.csv": GOOD[:-1], "quoted.csv": re.sub(r"\w+", r'"\g<0>"', GOOD),
    "tabs.tsv": GOOD.replace(",", "\t"), "semicolons.csv": GOOD.replace(",", ";"),
    "last.csv": GOOD.replace("\n", ",\n"),
    "g.csv.gz": gzip.compress(GOOD.encode()), "g.csv": gzip.compress(GOOD.encode()),
    "g.jsonl": gzip.compress(LINES.encode()), "x.csv.xz": lzma.compress(GOOD.encode()),
    "bom.jsonl": "\ufeff" + LINES, "crlf.jsonl": LINES.replace("\n", "\r\n"),
    "blank.jsonl": LINES.replace("\n", "\n\n") + " \n", "list.json": f"[{LINES[:-1]}]".replace("\n", ","),
    "lists.json": '{"run": 7, "results": [' + LINES[:-1].replace("\n", ",").replace("}", ', "tags": ["x"]}') + "]}",
    "nulls.jsonl": LINES.replace("}", ', "a.b": null, "a": {"b": 2}}'),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_read_as_the_good_file(tmp_path, name, walked):
    good = read_with_notes(write(tmp_path / "good.csv", GOOD)).items
    kind, items = verdict(write(tmp_path / name, SAME[name]))
    walked("files", **{kind: 1})
    assert kind == "right", items
    pd.testing.assert_frame_equal(items[list(good)], good)


def test_other_json_beside_results_is_ignored(tmp_path):
    write(tmp_path / "r.csv", GOOD)
    write(tmp_path / "config.json", '{"lr": 1, "lr": 2}')
    write(tmp_path / "half.json", '{"name": "\\ud800"}')
    write(tmp_path / "deep.json", '{"a":' * 100_000 + "1" + "}" * 100_000)
    read = read_with_notes(tmp_path)
    assert len(read.items) == len(ROWS) and any("ignored 3 files" in note for note in read.notes)


def test_names_of_100_000_letters(tmp_path):
    name = "x" * 10**5
    kind, items = verdict(write(tmp_path / "t.csv", GOOD.replace("bb", name)))
    assert kind == "right" and name in set(items["model"])


def test_names_of_files_that_are_no_text(tmp_path):
    for name in (b"a.csv", b"b\xff.csv"):
        with open(os.path.join(os.fsencode(tmp_path), name), "w") as file:
            file.write("item,score\n" + "".join(f"{i},{len(name) * i % 7}\n" for i in range(9)))
    assert set(read_with_notes(tmp_path).items["model"]) == {"a", "b\\xff"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no pipes in folders.")
def test_places_that_are_no_files(tmp_path, walked):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    (tmp_path / "gone.csv").symlink_to(tmp_path / "nothing.csv")
    (tmp_path / "folder").symlink_to(tmp_path)
    places = ["pipe.csv", "loop.csv", "gone.csv", "nothing.csv", "/dev/zero", "/dev/null"]
    for place in [*(tmp_path / place for place in places), ""]:
        kind, text = verdict(place)
        walked("files", **{kind: 1})
        assert kind == "clear" and ("no file" in text or "pipe" in text)
    write(tmp_path / "good.csv", GOOD)
    read = read_with_notes(tmp_path)
    assert len(read.items) == len(ROWS)
    assert "ignored 3 files (" in read.notes[0]


# --- logs of which one field is odd ---------------------------------------------------------

ODD = {
    "null": None, "list": [1, 2], "empty list": [], "object": {"a": 1}, "empty object": {},
    "text": "x", "negative": -1, "infinite": "@1e400@", "nan": math.nan,
    "huge": 10**30, "truth": True, "digits": "@" + "1" * 5000 + "@", "no text": "",
    "deep": "@" + "[" * 2000 + "]" * 2000 + "@", "control": "a\0\x1b[31m\nb", "absent": KeyError,
    "surrogate": "@\"\\ud800\"@",
}  # fmt: skip
LOGS = (
    "deepeval/unnamed deepeval_2/two_models euroeval/version_16 every_eval_ever/sums helm "
    "inspect/two_models inspect/epochs_json junit/gtest junit/pytest lm_eval/one_file mlflow "
    "mt_bench mteb openai_evals/two_models opencompass promptfoo_runs promptfoo/once pytest_json "
    "swe_bench tau2/folders tau2/one_file"
).split()


def places_in(value, place=()):
    """Where values stand in a JSON document, of lists the first element."""
    parts = value.items() if isinstance(value, dict) else enumerate(value[:1])
    for key, part in parts:
        yield (*place, key)
        if isinstance(part, (dict, list)):
            yield from places_in(part, (*place, key))


def with_odd(document, place, odd):
    """The document as JSON with something odd in this place."""
    document = copy.deepcopy(document)
    *way, last = place
    part = document
    for key in way:
        part = part[key]
    if odd is KeyError:
        del part[last]
    else:
        part[last] = odd
    return re.sub(r'"@(.*?)@"', lambda found: json.loads(f'"{found[1]}"'), json.dumps(document))


def parts_of(path):
    """The JSON documents in a file, and a function that puts them together."""
    content = path.read_bytes()
    if path.suffix == ".eval":
        names, log = ["header.json", "summaries.json"], Archive(path)
        members = {name.replace(".", "__"): log.read(name).decode() for name in names}
        return [*members.values()], lambda texts: archive(**dict(zip(members, texts, strict=True)))
    try:
        json.loads(content)
        return [content.decode()], lambda texts: texts[0].encode()
    except ValueError:
        lines = [line for line in content.decode().split("\n") if line.strip()]
        return lines, lambda texts: "\n".join(texts).encode()


def damages(path, rng, most):
    """A file that was cut or changed somewhere, and with something odd in each place."""
    content, is_json = path.read_bytes(), path.suffix not in (".xml", ".yaml")
    yield "whole", content
    texts, together = parts_of(path) if is_json else ([], None)
    for _ in range(2):
        at = rng.randrange(len(content))
        yield f"cut at {at}", content[:at]
        yield f"bit at {at}", content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :]
        for wrong in (b"\0", b"\xe4"):
            yield f"{wrong} at {at}", content[:at] + wrong + content[at:]
    whole = [json.loads(text) for text in texts[:2]]
    odd = [(i, place, name) for i in range(len(whole)) for place in places_in(whole[i])
           for name in ODD]  # fmt: skip
    for i, place, name in rng.sample(odd, min(most, len(odd))):
        spoiled = [*texts[:i], with_odd(whole[i], place, ODD[name]), *texts[i + 1 :]]
        yield f"{i} {place}: {name}", together(spoiled)


def walk_logs(folder, tmp_path, walked, most):
    """Damage one file of each kind in a folder of logs, and read the folder."""
    work = shutil.copytree(FOLDER / folder, tmp_path / "logs")
    files = sorted((p for p in work.rglob("*") if p.is_file()), key=lambda p: p.stat().st_size)
    kinds = {(path.suffix, re.split(r"\W|_", path.stem)[0]): path for path in files[::-1]}
    counts, wrong, rng = Counter(), [], random.Random(0)
    for path in [*kinds.values()][:4]:
        content = path.read_bytes()
        for what, spoiled in damages(path, rng, most):
            path.write_bytes(spoiled)
            kind, text = verdict(work)
            counts[kind] += 1
            if kind in ("raw", "accepted"):
                wrong.append(f"{path.name}, {what}: {str(text)[:300]}")
        path.write_bytes(content)
    walked("logs", **counts)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("folder", one_in(3, LOGS))
def test_damaged_logs(folder, tmp_path, walked):
    walk_logs(folder, tmp_path, walked, most=4)


@pytest.mark.slow
@pytest.mark.parametrize("folder", LOGS)
def test_many_damages_of_logs(folder, tmp_path, walked):
    walk_logs(folder, tmp_path, walked, most=300)


# --- large files ------------------------------------------------------------------------------

READ = """
import resource, sys, time
from skbench.readers import read_items
for path in sys.argv[1:]:
    start = time.process_time()  # others may use the machine
    try:
        print("accepted", path, len(read_items(path)))
    except ValueError as error:
        print("refused", path, error)
    assert time.process_time() - start < 10, path
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2**20, path  # KiB
"""


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tables_larger_than_memory_raise_a_warning_first(tmp_path, monkeypatch, suffix):
    rows = pd.DataFrame({"model": "ada", "item": range(1000), "score": 1})
    path, free = tmp_path / f"rows.{suffix}", tmp_path / "free"
    getattr(rows, f"to_{suffix}")(path, index=False)
    monkeypatch.setattr("skbench._warnings._FREE", {free: (r"MemAvailable: (\d+)", 1024)})
    free.write_text("MemAvailable: 250 kB\n")  # the rows take 200
    read_with_notes(path)
    free.write_text("MemAvailable: 150 kB\n")
    with pytest.warns(UserWarning, match="0.0002 GB.* 0.00015 GB"):
        read_with_notes(path)


@pytest.mark.slow
def test_large_files_are_refused_soon_and_in_little_memory(tmp_path):
    """2 GB of nothing behind a good beginning or none, bombs, lines without an end."""
    starts = {"zero": b"", "csv": GOOD.encode(), "json": b'{"a": 1,', "list": b"[", "pk": b"PK\3\4",
              "par": b"PAR1", "xml": b"<testsuite>", "line": b'{"model": "'}  # fmt: skip
    paths = []
    for suffix in (".csv", ".tsv", ".json", ".jsonl", ".eval", ".xml", ".parquet"):
        for name, start in starts.items():
            paths.append(write(tmp_path / f"{name}{suffix}", start))
            os.truncate(paths[-1], 2**31)
    for name, start in starts.items():
        text = start + b"\n" * 2**27
        paths.append(write(tmp_path / f"bomb_{name}.csv.gz", gzip.compress(text, 6)))
        paths.append(write(tmp_path / f"bomb_{name}.jsonl.xz", lzma.compress(text, preset=0)))
    paths.append(write(tmp_path / "line.jsonl", b'{"a": "' + b"x" * (65 << 20)))
    # A process starts with the peak of its parent: of a small shell here, not of these tests.
    shell = ["sh", "-c", '"$@"; exit $?', "sh"]
    command = [*shell, sys.executable, "-c", READ, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-300:] + done.stderr[-900:]
    refused = [line for line in done.stdout.splitlines() if line.startswith("refused")]
    assert len(refused) == len(paths) and not any(map(RAW.search, refused)), done.stdout
