"""Plain JSON Lines, one flat object per row -> a DataFrame."""

import pandas as pd

from skbench.items.roles import listed
from skbench.readers._json import open_bytes, records

_ROWS_PER_CHUNK = 20_000
_LONGEST_LABEL = 300  # letters; what is longer is a prompt or an answer


def holds_json_lines(path):
    """Whether a file begins with an object or a list of them."""
    try:
        with open_bytes(path) as file:
            return file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")
    except (OSError, EOFError):
        return False


def read_json_lines(path, bad):
    """A column for every field that holds numbers, words or truth values.

    Fields of an object in a field are called ``field.subfield``. Lists, and texts too
    long for a label, are left out, which keeps memory to what the rows need.

    Parameters
    ----------
    path : path-like
    bad : BadLines

    Returns
    -------
    table : pandas.DataFrame
    notes : list of str
        Names the fields that were left out.
    """
    chunks, rows, left_out = [], [], set()
    for _, record in records(path, bad):
        rows.append(_scalars(record, left_out))
        if len(rows) == _ROWS_PER_CHUNK:
            chunks.append(pd.DataFrame(rows))
            rows = []
    chunks.append(pd.DataFrame(rows))
    table = pd.concat([chunk for chunk in chunks if len(chunk)] or chunks, ignore_index=True)
    table = table.drop(columns=[name for name in left_out if name in table])
    if not left_out:
        return table, []
    return table, [f"left out lists and long texts: {listed(sorted(left_out), most=8)}"]


def _scalars(record, left_out):
    row = {}
    for name, value in record.items():
        if isinstance(value, dict):
            inside = {f"{name}.{key}": v for key, v in value.items()}
        else:
            inside = {name: value}
        for key, part in inside.items():
            if isinstance(part, (dict, list)) or _is_long(part):
                left_out.add(key)
            elif key not in left_out:
                row[key] = part
    return row


def _is_long(value):
    return isinstance(value, str) and len(value) > _LONGEST_LABEL
