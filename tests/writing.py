"""Files that tests write."""

import json

import pandas as pd


def write(path, content):
    """Write bytes, text, a table as CSV, or a value as JSON, and return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, pd.DataFrame):
        content = content.to_csv(index=False)
    elif not isinstance(content, str | bytes):
        content = json.dumps(content, indent=2)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def write_lines(path, *records):
    """Write a JSON value on every line, and return the path."""
    return write(path, "".join(json.dumps(record) + "\n" for record in records))
