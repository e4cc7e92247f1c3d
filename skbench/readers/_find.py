"""Find the files with results, and recognize the format of each by its contents."""

import os
import re
from pathlib import Path

from skbench._checks import listed
from skbench._notes import LOST, Note
from skbench.readers._formats import FORMATS, TITLES
from skbench.readers._json import Complete, beginning, has_an_object_per_line
from skbench.readers._json_table import object_of_lists
from skbench.readers._lm_eval import SamplesInMemory
from skbench.readers.loading import READABLE, TABLES, kind_of

_OTHER = "unknown format"
_NO_FILE = "pipes, devices or broken links"
NOTHING = ("empty", _OTHER, _NO_FILE)
_HEADS = (2**16, 2**24)  # bytes; few records are longer than the first number
# An unterminated string is one token: searching again from each of its quotes would take forever.
_TOKEN = re.compile(rb'(?s)"([^"\\]*+(?:\\.[^"\\]*+)*+)(?:"(\s*:)?|\\?\Z)|[{}\[\]]')
# Files that belong to a log, without answers of their own.
_PARTS = [
    ({"results", "configs"}, b"", "summary of lm-evaluation-harness"),
    ({"results", "versions"}, b"", "summary of lm-evaluation-harness"),
    ({"scenario_spec", "adapter_spec"}, b"", "part of a HELM run"),
]
_SIGNS = [(s, form.word, name) for name, form in FORMATS.items() for s in form.signs] + _PARTS
_HELM_PARTS = ("scenario.json", "scenario_state.json", "stats.json", "instances.json")
_PARTS_BY_NAME = {
    "meta.yaml": "part of an MLflow run",
    "model_meta.json": "part of an MTEB run",
    "run_settings.jsonl": "part of an MTEB run",
}


def find(paths, only=None):
    """Return format -> files with results, and notes on ignored files.

    Files that the caller names have the format `only`, if it is given.
    """
    found, ignored = {}, {}
    for path in paths:
        if isinstance(path, SamplesInMemory):
            found.setdefault("lm-eval", []).append(path)
            continue
        if not path.exists():
            link = " It is a broken link." * path.is_symlink()
            raise FileNotFoundError(f"There is no file {str(path)!r}.{link}")
        if not path.is_dir():
            kind = recognize(path)
            kind = only if only is not None and kind != "empty" else kind
            if kind not in TITLES:
                raise ValueError(_refusal(path, kind))
            found.setdefault(kind, []).append(path)
            continue
        for file in files_of(path):
            kind = recognize(file)
            kind = "empty" if kind == "table" and _has_no_rows(file) else kind
            (found if kind in TITLES else ignored).setdefault(kind, []).append(file)
    return {kind: list(dict.fromkeys(files)) for kind, files in found.items()}, _in_words(ignored)


def files_of(folder):
    """Yield all files in a folder and its subfolders, except hidden ones."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place, name) for name in sorted(names) if not name.startswith("."))


def _has_no_rows(file):
    """Return whether a text table has a header but no rows, as a failed run leaves it."""
    lines = beginning(file, _HEADS[0]).splitlines()
    return kind_of(file) in (".csv", ".tsv") and len(lines) == 1 and len(lines[0]) < _HEADS[0] / 2


def _refusal(path, kind):
    if kind == "empty":
        return f"{str(path)!r} is empty."
    if kind == _NO_FILE:
        return f"{str(path)!r} is a pipe or a device. Save its contents to a file."
    if kind == _OTHER and beginning(path, 2) in (b"\xff\xfe", b"\xfe\xff"):
        return f"{str(path)!r} is text in UTF-16. Save it as UTF-8."
    if kind == _OTHER:
        logs = ", ".join(form.title for form in FORMATS.values())
        return f"The format of {str(path)!r} is unknown. {READABLE}, or a log of {logs}."
    return f"{str(path)!r} is a {kind} and has no results per item. Pass its folder."


def _in_words(ignored):
    """Return notes on ignored files. Summaries are left out, because the readers use them."""
    return [
        Note(
            f"ignored {len(files)} file{'s' * (len(files) > 1)} ({kind}): "
            f"{listed([file.name for file in files], most=4)}",
            LOST,
        )
        for kind, files in ignored.items()
        if kind in NOTHING
    ]


def recognize(path):
    """Return the format of a file, by its first bytes or else by its name."""
    kind = kind_of(path)
    if not path.is_file():
        return _NO_FILE
    if path.stat().st_size == 0:
        return "empty"
    if path.name in _PARTS_BY_NAME:
        return _PARTS_BY_NAME[path.name]
    head, keys = _head_and_keys(path)
    if head[:2] == b"PK":
        return "inspect" if kind in (".eval", ".json") or b"_journal/" in head else _OTHER
    if head[:1] == b"<":
        return "junit" if b"<testsuite" in head else _OTHER
    sign = next((name for signs, word, name in _SIGNS if signs <= keys and word in head), None)
    if sign is not None:
        return sign
    if {"evaluation_id", "evaluation_results"} <= keys:
        return "euroeval" if b'"raw_results"' in head else "summary of an evaluation"
    if path.name in _HELM_PARTS and (path.parent / "per_instance_stats.json").exists():
        return "part of a HELM run"
    if kind == ".eval":
        return "inspect"
    if kind in TABLES or head[:4] == b"PAR1":
        return "table"
    # Lists of objects, lines of them, or one object that holds such a list.
    is_list = head[:1] == b"[" and keys
    try:
        by_lines = keys and (is_list or has_an_object_per_line(path) or object_of_lists(path))
    except Complete:
        by_lines = True  # so that reading raises the reason
    return "table" if by_lines else _OTHER


def _head_and_keys(path):
    """Return the beginning of a file, and the keys of its first JSON object."""
    for size in _HEADS:
        head = beginning(path, size)
        keys, whole = _keys_of_the_first_object(head)
        if whole or any(signs <= keys for signs, *_ in _SIGNS):
            break
    return head, keys


def _keys_of_the_first_object(text):
    """Return the keys of the first object of a JSON text, and whether its end was reached."""
    keys, depth = set(), 0
    for token in _TOKEN.finditer(text) if text[:1] in (b"{", b"[") else ():
        if token[0] == b"{" or (token[0] == b"[" and depth):
            depth += 1
        elif token[0] in (b"}", b"]"):
            depth -= 1
            if depth <= 0:
                break
        elif token[2] and depth == 1:
            keys.add(token[1].decode("utf-8", "replace"))
    return keys, depth <= 0
