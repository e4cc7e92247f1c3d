"""Scores of single items on the page: a table in JSON, as much of it as there is room for."""

import json
import math

import numpy as np
import pandas as pd

from skbench._numbers import visible
from skbench.report import tables

_EXACT = 2**53  # beyond which whole numbers are not


def score_table(findings):
    """Scores by topic and item (rows) and model (columns, best first); None without item ids."""
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
    """The value in JSON for a script element, which no text in it can end."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def plain(values):
    """Numbers as JSON has them: whole ones without a point, null for what is not finite."""
    return [None if x is None or not math.isfinite(x) else _whole(float(x)) for x in values]


def _whole(x):
    return int(x) if x.is_integer() and abs(x) < _EXACT else x


def embedded(scores, room, file):
    """The table in JSON of at most `room` bytes, and how many items it has.

    Items that every model got right come last, as nobody looks for them: they go first where
    there is no room for all. `file` names the file that has all.
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
