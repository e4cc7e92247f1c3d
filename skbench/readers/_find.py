"""What is in a file or folder: the format of each file, told by its contents."""

import json
import os
import re
from pathlib import Path

from skbench._checks import listed
from skbench.readers._formats import FORMATS, TITLES
from skbench.readers._json import LONGEST_LINE, is_one_object, open_bytes

_COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
_TABLES = (".csv", ".tsv", ".parquet", ".pq")
_JSON = (".json", ".jsonl", ".ndjson")
_HEAD = 2**16
_KEY = re.compile(rb'"((?:[^"\\]|\\.){1,60})"\s*:')
# Files that belong to a log, without answers of their own.
_PARTS = (
    ({"results", "configs"}, "summary of lm-evaluation-harness"),
    ({"results", "versions"}, "summary of lm-evaluation-harness"),
    ({"scenario_spec", "adapter_spec"}, "part of a HELM run"),
)
_SIGNS = [(keys, name) for name, form in FORMATS.items() for keys in form.signs] + list(_PARTS)
_HELM_PARTS = ("scenario.json", "scenario_state.json", "stats.json", "instances.json")


def find(paths, only=None):
    """Format -> files with results, and what was passed over, in words; `only` decides."""
    found, ignored = {}, {}
    for path in paths:
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
        for file in _files(path):
            kind = recognize(file) if file.exists() else "dangling"
            if kind in TITLES:
                found.setdefault(kind, []).append(file)
            else:
                ignored.setdefault(kind, []).append(file)
    return {kind: list(dict.fromkeys(files)) for kind, files in found.items()}, _in_words(ignored)


def _files(folder):
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place, name) for name in sorted(names) if not name.startswith("."))


def _refusal(path, kind):
    if kind == "empty":
        return f"{str(path)!r} is empty."
    if kind == "other":
        return (
            f"Cannot tell what {str(path)!r} is. Give a .csv or .tsv file "
            f"({', '.join(_COMPRESSIONS)} allowed), a .parquet or .jsonl file, or a log of "
            f"{', '.join(form.title for form in FORMATS.values())}."
        )
    return f"{str(path)!r} is a {kind}, without results of single items. Give its folder."


def _in_words(ignored):
    """Sentences on ignored files; summaries that the readers use are no news."""
    reasons = {
        "empty": "empty",
        "other": "no results that are known",
        "dangling": "links to files that are not there",
    }
    return [
        f"ignored {len(files)} file{'s' * (len(files) > 1)} ({reasons[kind]}): "
        f"{listed([file.name for file in files], most=4)}"
        for kind, files in ignored.items()
        if kind in reasons
    ]


def recognize(path):
    """The format of a file, by its first bytes, failing that by its name."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = next((s for s in reversed(suffixes) if s not in _COMPRESSIONS), "")
    if path.stat().st_size == 0:
        return "empty"
    head = _head(path)
    if head[:2] == b"PK":
        return "inspect" if kind in (".eval", ".json") or b"_journal/" in head else "other"
    if head[:4] == b"PAR1":
        return "table"
    if head[:1] in (b"{", b"["):
        sign = _by_keys(path, head, kind)
        if sign is not None:
            return sign
    if head[:1] == b"<":
        return "junit" if b"<testsuite" in head else "other"
    if kind == ".eval":
        return "inspect"
    return "table" if kind in _TABLES or kind in (".jsonl", ".ndjson") else "other"


def _head(path):
    try:
        with open_bytes(path) as file:
            return file.read(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
    except (OSError, EOFError):
        return b""


def _by_keys(path, head, kind):
    keys = _top_keys(path, head)
    for signs, name in _SIGNS:
        if signs <= keys:
            return name
    if {"evaluation_id", "evaluation_results"} <= keys:
        return "euroeval" if b'"raw_results"' in _first_line(path) else "summary of an evaluation"
    if path.name in _HELM_PARTS and (path.parent / "per_instance_stats.json").exists():
        return "part of a HELM run"
    if not keys:
        return None
    # Lists of objects, lines of them, or one object that holds such a list.
    if kind in _JSON:
        return "table" if head[:1] == b"[" or is_one_object(path) else None
    return "table" if _is_object(_first_line(path)) else None


def _top_keys(path, head):
    """Keys of the outermost object, or of the first one of a list."""
    for begin in (lambda: head.split(b"\n", 1)[0], lambda: _first_line(path)):
        try:
            value = json.loads(begin())
        except (ValueError, RecursionError):
            continue
        while isinstance(value, list) and value:
            value = value[0]
        return set(value) if isinstance(value, dict) else set()
    return _keys_by_indent(head)


def _keys_by_indent(head):
    """Keys that stand as far to the right as the first one, or all where there is one line."""
    indents = re.findall(rb'(?m)^([ \t]+)"(?:[^"\\]|\\.)+"\s*:', head)
    if indents:
        pattern = rb"(?m)^" + indents[0] + rb'"((?:[^"\\]|\\.)+)"\s*:'
        return {key.decode("utf-8", "replace") for key in re.findall(pattern, head)}
    return {key.decode("utf-8", "replace") for key in _KEY.findall(head)}


def _first_line(path):
    try:
        with open_bytes(path) as file:
            return file.readline(LONGEST_LINE)
    except (OSError, EOFError):
        return b""


def _is_object(line):
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
