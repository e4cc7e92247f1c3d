"""The contents of a file: models, topics, items, repeats, clusters, missing answers."""

import numpy as np
import pandas as pd

from skbench._notes import ROUTINE, SUMMARY, Note
from skbench.items.codes import CodedRows
from skbench.items.ranges import different_units
from skbench.items.roles import judge_columns
from skbench.items.rows import as_frame

BINARY = "scores 0 or 1"
_MOST_MODELS = 6  # lines of the map
_MOST_CELLS = 40  # columns of the map
_MARKS = ((1 - 1e-9, "#"), (0.5, "+"), (1e-9, "-"), (0.0, "."))


def understood(rows):
    """The contents of `ItemRows`, as a dict for JSON.

    Counts are 0 without a column. `blank` is the share of missing answers. `gaps` has the share of
    answers by part of the items, for each model with missing answers.
    """
    items = rows.items
    coded = CodedRows(as_frame(items), refuses_missing=False)
    roles = ("model", "cluster")
    sizes = {f"n_{name}s": items[name].nunique() if name in items else 0 for name in roles}
    sizes["n_items"] = 0
    if rows.columns.get("cluster") == rows.columns.get("item"):
        sizes["n_clusters"] = 0
    repeats, (blank, gaps) = 1, (0.0, [])
    if "item" in items:
        sizes["n_items"] = coded.number(rows.key)
        repeats = coded.most_answers(rows.key, "model" if "model" in items else None)[1]
        blank, gaps = _gaps(rows, coded, sizes["n_models"], sizes["n_items"], repeats)
    humans, judges = judge_columns([name for name in items if name != "score"])
    scores, known_range = _scores(rows)
    return sizes | {
        "what": "items" if rows.groups is None else "groups",
        "n_topics": coded.number(rows.topics) if rows.topics else 0,
        "n_answers": len(items) if rows.groups is None else int(np.sum(items.get("n", 0))),
        "n_repeats": int(repeats),
        "blank": blank,
        "gaps": gaps,
        "scores": scores,
        "known_range": known_range,
        "human_columns": humans,
        "judge_columns": judges,
        "units": units_in_doubt(items),
    }


def in_lines(found):
    """The contents in lines of text, with a small map of the missing answers."""
    n = {noun: found[f"n_{noun}s"] for noun in ("model", "topic", "item")}
    size = [counted(number, noun) for noun, number in n.items() if number]
    answers = f"{counted(found['n_answers'], 'answer')}; " if found["n_answers"] else ""
    held = f"{', '.join(size) or 'no models or topics'}; {answers}{found['scores']}"
    yield Note(f"contents: {held}", SUMMARY)
    if found["what"] == "groups":
        yield "rows are group results, without per-item scores"
    if found["n_repeats"] > 1:
        yield Note(f"repeats: up to {found['n_repeats']} answers per model and item", SUMMARY)
    if found["n_clusters"]:
        yield Note(f"clusters: {found['n_clusters']:,}", SUMMARY)
    gaps = found["gaps"]
    if gaps:
        few = ". Answered items by model (# all, + half or more, - less than half, . none):"
        yield f"missing: {100 * found['blank']:.3g}% of the answers{few}"
        for gap in gaps[:_MOST_MODELS]:
            marks = (next(mark for least, mark in _MARKS if x >= least) for x in gap["answered"])
            yield f"{''.join(marks)} {gap['model']}"
        if len(gaps) > _MOST_MODELS:
            yield f"and {counted(len(gaps) - _MOST_MODELS, 'more model')} with missing answers"
    elif n["item"] and n["model"] > 1:
        yield Note("complete: every model answered every item", SUMMARY)
    humans, judges = found["human_columns"], found["judge_columns"]
    if humans and judges:
        command = f"skbench judge FILE --judge {judges[0]} --human {humans[0]}"
        known = f"judge columns: {', '.join(judges)}. Human labels: {humans[0]}. Run"
        yield Note(f"{known}: {command}", ROUTINE)


def counted(n, noun):
    """A number with its noun, such as "1 model" or "20,000 models"."""
    return f"{n:{',' if n >= 10_000 else ''}} {noun}{'s' * (n != 1)}"


def answer_key(rows):
    """Columns that identify an answer: the model, if there is one, and the item."""
    return ["model"] * ("model" in rows.items) + rows.key


def units_in_doubt(items):
    """A warning if some models or topics seem to be scored in percent and others not."""
    named = [name for name in ("model", "topic") if name in items]
    tops = (items["score"].abs().groupby(items[name]).max().to_dict() for name in named)
    return next(filter(None, map(different_units, tops)), None)


def _scores(rows):
    """The kind of scores in words, and their range if known."""
    from skbench.report.reading import score_range

    score, known = rows.items["score"], score_range(rows)
    if rows.groups is not None and "k" in rows.items:
        return f"{counted(len(score), 'group')} with counts of correct answers", known
    if score.isin((0, 1)).all():
        return BINARY, known
    kind = "scores" if rows.groups is None else "means"
    span = "range unknown" if known is None else f"possible range {known[0]:g} to {known[1]:g}"
    return f"{kind} from {score.min():.6g} to {score.max():.6g}, {span}", known


def _gaps(rows, coded, n_models, n_items, repeats):
    """The share of missing answers, and the shares of answers of each model."""
    n_answers = len(rows.items)
    if n_models < 2:
        n_blank = 0 if rows.blank is None else len(rows.blank)
        return n_blank / max(1, n_answers + n_blank), []
    if repeats == 1 and n_answers == n_models * n_items:
        return 0.0, []
    # In the order of the file.
    item, topic = (pd.factorize(coded.together(names))[0] for names in (rows.key, rows.topics))
    model, models = pd.factorize(rows.items["model"])
    answered = np.zeros((len(models), n_items), dtype=bool)
    answered[model, item] = True
    # A part of the map is a topic, or a run of items in the file.
    part = np.arange(n_items) * min(n_items, _MOST_CELLS) // n_items
    if 0 < topic.max() < _MOST_CELLS:
        part[item] = topic
        part = np.unique(part, return_inverse=True)[1]
    sizes = np.bincount(part)
    return float(1 - answered.mean()), [
        {"model": str(models[m]), "answered": (np.bincount(part, answered[m]) / sizes).tolist()}
        for m in np.argsort(answered.sum(axis=1), kind="stable")
        if not answered[m].all()
    ]
