"""What is in a file or folder: the format of each file, told by its contents."""

import os
import re
from pathlib import Path

from skbench._checks import listed
from skbench.readers._formats import FORMATS, TITLES
from skbench.readers._json import Complete, beginning, has_an_object_per_line
from skbench.readers._json_table import object_of_lists
from skbench.readers._lm_eval import SamplesInMemory
from skbench.readers.loading import READABLE, TABLES, kind_of

_OTHER = "no results that are known"
_NO_FILE = "pipes, devices, or links to files that are not there"
NOTHING = ("empty", _OTHER, _NO_FILE)
_HEADS = (2**16, 2**24)  # bytes; few records are longer than the first of these
# A string without an end is one token, too: a search from each quote in it would not end.
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
    """Format -> files with results, and what was passed over, in words; `only` decides."""
    found, ignored = {}, {}
    for path in paths:
        if isinstance(path, SamplesInMemory):
            found.setdefault("lm-eval", []).append(path)
            continue
        if not path.exists():
            link = " It is a link to a file that is not there." * path.is_symlink()
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
    """All files in a folder and those below it, but for hidden ones."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place, name) for name in sorted(names) if not name.startswith("."))


def _has_no_rows(file):
    """Whether a table as text is a line of names alone, as a run that failed leaves it."""
    lines = beginning(file, _HEADS[0]).splitlines()
    return kind_of(file) in (".csv", ".tsv") and len(lines) == 1 and len(lines[0]) < _HEADS[0] / 2


def _refusal(path, kind):
    if kind == "empty":
        return f"{str(path)!r} is empty."
    if kind == _NO_FILE:
        return f"{str(path)!r} is a pipe or a device. Save what it gives in a file."
    if kind == _OTHER and beginning(path, 2) in (b"\xff\xfe", b"\xfe\xff"):
        return f"{str(path)!r} is text in UTF-16. Save it as UTF-8."
    if kind == _OTHER:
        logs = ", ".join(form.title for form in FORMATS.values())
        return f"Cannot tell what {str(path)!r} is. {READABLE}, or a log of {logs}."
    return f"{str(path)!r} is a {kind}, without results of single items. Give its folder."


def _in_words(ignored):
    """Sentences on ignored files; summaries that the readers use are no news."""
    return [
        f"ignored {len(files)} file{'s' * (len(files) > 1)} ({kind}): "
        f"{listed([file.name for file in files], most=4)}"
        for kind, files in ignored.items()
        if kind in NOTHING
    ]


def recognize(path):
    """The format of a file, by its first bytes, failing that by its name."""
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
        by_lines = True  # refused for its reason
    return "table" if by_lines else _OTHER


def _head_and_keys(path):
    """The beginning of a file, and the keys of the first object in it where that is JSON."""
    for size in _HEADS:
        head = beginning(path, size)
        keys, whole = _keys_of_the_first_object(head)
        if whole or any(signs <= keys for signs, *_ in _SIGNS):
            break
    return head, keys


def _keys_of_the_first_object(text):
    """Keys of the first object of a JSON text, and whether the text reaches its end."""
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
