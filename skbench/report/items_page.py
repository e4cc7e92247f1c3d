"""Scores of single items on the page, as JSON of limited size."""

import json
import math

import numpy as np
import pandas as pd

from skbench._numbers import visible
from skbench.report import tables

_EXACT = 2**53  # floats represent whole numbers up to here exactly


def score_table(findings):
    """Return scores by topic and item (rows) and model (columns, best first), or None."""
    answers = findings.items
    if answers is None:
        return None
    labels = [name for name in answers if name not in ("model", "score")]
    means = answers.groupby(["model", *labels], observed=True)["score"].mean()
    scores = means.unstack("model")
    scores.columns = scores.columns.astype(str)
    names = scores.index.to_frame(index=False)
    topics = names.drop(columns="item")
    topic = tables.joined(topics) if topics.shape[1] else [""] * len(names)
    scores.index = pd.MultiIndex.from_arrays([topic, names["item"].astype(str)])
    return scores.rename_axis(["topic", "item"]).reindex(columns=findings.models["model"])


def as_json(value):
    """Return JSON that cannot end the script element around it."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def plain(values):
    """Return numbers for JSON: integers without a decimal point, None if not finite."""
    return [None if x is None or not math.isfinite(x) else _whole(float(x)) for x in values]


def _whole(x):
    return int(x) if x.is_integer() and abs(x) < _EXACT else x


def embedded(scores, room, file):
    """Return the table as JSON of at most `room` bytes, and the number of items in it.

    Items that all models answered correctly come last, because they are the least interesting.
    They are therefore the first to be skipped. `file` names the file with all items.
    """
    values = scores.to_numpy(dtype=float)
    codes, topics = pd.factorize(scores.index.get_level_values("topic"))
    known = values[np.isfinite(values)]
    about = {
        "models": [visible(name) for name in scores.columns],
        "topics": [visible(topic) for topic in topics if topic],
        "binary": bool(np.isin(known, (0, 1)).all()),
        "n_items": len(scores),
    }
    head, tail = f'{as_json(about)[:-1]},"items":[', f'],"file":{as_json(file)}}}'
    room -= len(head) + len(tail)
    names = scores.index.get_level_values("item")
    rows = []
    for i in np.argsort(np.nanmin(values, axis=1) >= known.max(), kind="stable"):
        row = as_json([int(codes[i]), visible(names[i]), *plain(values[i])])
        room -= len(row) + 1
        if room < 0:
            break
        rows.append(row)
    end = tail if len(rows) < len(scores) else "]}"
    return head + ",".join(rows) + end, len(rows)
