"""Paths -> item rows, whatever the format: tables and the logs of evaluation programs."""

import os
from pathlib import Path

from skbench.items.roles import labels_alike, listed
from skbench.readers._bad_lines import BadLines
from skbench.readers._euroeval import euroeval_logs
from skbench.readers._every_eval_ever import every_eval_ever_logs
from skbench.readers._find import find
from skbench.readers._helm import helm_logs
from skbench.readers._inspect import inspect_logs
from skbench.readers._lm_eval import lm_eval_logs
from skbench.readers._logs import Options, assemble
from skbench.readers._promptfoo import promptfoo_logs
from skbench.readers._several_tables import tables_items

_READERS = {
    "lm_eval": lm_eval_logs,
    "inspect": inspect_logs,
    "helm": helm_logs,
    "every_eval_ever": every_eval_ever_logs,
    "promptfoo": promptfoo_logs,
    "euroeval": euroeval_logs,
}
FORMATS = tuple(_READERS)
TITLES = {
    "lm_eval": "lm-evaluation-harness",
    "inspect": "Inspect",
    "helm": "HELM",
    "every_eval_ever": "Every Eval Ever",
    "promptfoo": "promptfoo",
    "euroeval": "EuroEval",
    "table": "tables",
}


def read_paths(
    paths,
    only=None,
    *,
    model=None,
    topic=None,
    item=None,
    score=None,
    cluster=None,
    models=None,
    filter=None,
    skip_bad_lines=False,
    n_jobs=None,
):
    """`ItemRows` of files and folders; parameters as in `read_items`, `only` a format or None."""
    paths = [Path(path) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]
    found, notes = find(paths)
    found = _wanted(found, only, paths, notes)
    bad = BadLines(skip_bad_lines)
    if "table" in found:
        named = {"model": model, "topic": topic, "item": item, "score": score, "cluster": cluster}
        if isinstance(model, dict):
            raise ValueError("model= renames models of logs; for a table, name its model column.")
        if filter is not None:
            raise ValueError("filter= (--filter) is for lm-evaluation-harness, not for tables.")
        rows = tables_items(found["table"], named, models, bad)
        notes += rows.notes
    else:
        options = Options(score, filter, _one_field(topic), cluster, topic is None, n_jobs)
        if filter is not None and "lm_eval" not in found:
            raise ValueError(
                "filter= (--filter) is for lm-evaluation-harness, of which there are no logs here."
            )
        _refuse_for_logs({"item= (--item)": item, "models= (--models)": models})
        logs = []
        for kind, files in found.items():
            logs += _READERS[kind](files, options, bad, notes)
            n_files = f"{len(files)} file{'s' * (len(files) > 1)}"
            notes.insert(0, f"{TITLES[kind]}: {n_files}")
        if not logs:
            raise ValueError(f"No item is left to read in {listed(paths, most=3)}.")
        rows = assemble(logs, model, notes)
    alike = list(labels_alike(rows.items))
    notes += [*_unit_of(rows.items["score"]), *alike, *bad.notes()]
    return rows._replace(notes=notes, formats=list(found), doubts=[*rows.doubts, *alike])


def _unit_of(score):
    low, high = score.min(), score.max()
    if low < 0 or high > 1:
        yield f"scores run from {low:g} to {high:g}: kept in that unit, as continuous"


def _wanted(found, only, paths, notes):
    """The formats to read: one asked for, else all logs, else tables."""
    where = listed([str(path) for path in paths], most=3)
    if not found or (only is not None and only not in found):
        looked = "results" if only is None else f"logs of {TITLES[only]}"
        others = f" There are {listed([TITLES[k] for k in found])}." if found else ""
        raise ValueError(f"There are no {looked} in {where}.{others}")
    if only is not None:
        chosen = {only: found[only]}
        reason = f"not {TITLES[only]}"
    elif set(found) == {"table"}:
        return found
    else:
        chosen = {kind: files for kind, files in found.items() if kind in _READERS}
        reason = "a table beside logs: read it by itself"
        if len(chosen) > 1 and "euroeval" in chosen:
            _ignore(chosen.pop("euroeval"), "scores of runs beside scores of items", notes)
    for kind, files in found.items():
        if kind not in chosen and not (kind == "euroeval" and only is None):
            _ignore(files, reason, notes)
    return chosen


def _ignore(files, reason, notes):
    names = listed([file.name for file in files], most=4)
    notes.append(f"ignored {len(files)} file{'s' * (len(files) > 1)} ({reason}): {names}")


def _one_field(topic):
    topic = topic[0] if isinstance(topic, (list, tuple)) and len(topic) == 1 else topic
    if topic is not None and not isinstance(topic, str):
        raise ValueError("Logs take one field as topic= (--by), such as 'doc.subject'.")
    return None if topic in ("topic", "task") else topic


def _refuse_for_logs(given):
    for option, value in given.items():
        if value is not None:
            raise ValueError(f"{option} is for tables; logs say themselves what an item is.")
