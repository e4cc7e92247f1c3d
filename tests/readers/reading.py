"""What the reader tests share: the logs beside them, files to write, messages and notes."""

import json
from pathlib import Path

import pytest

from skbench.readers import read_items

FOLDER = Path(__file__).parent / "fixtures"


def write(path, content):
    """Write bytes, text, or a value as JSON, and return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not isinstance(content, str | bytes):
        content = json.dumps(content, indent=2)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def write_lines(path, *records):
    """Write a JSON value on every line, and return the path."""
    return write(path, "".join(json.dumps(record) + "\n" for record in records))


def message(*args, **options):
    """The message of the ValueError that reading raises."""
    with pytest.raises(ValueError) as error:
        read_items(*args, **options)
    return str(error.value)


def said(read):
    """All notes as one text."""
    return " | ".join(read.notes)
