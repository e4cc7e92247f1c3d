"""Read item rows from files and folders in any known format."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path as FilePath
from typing import Literal, TypeAlias, Unpack

import pandas as pd

from skbench._checks import listed
from skbench._notes import LOST, Note
from skbench._types import Names, Path, ReadOptions, Results, checked
from skbench._warnings import warn
from skbench.items.roles import similar_labels
from skbench.readers._find import find
from skbench.readers._formats import FORMATS, TITLES
from skbench.readers._found import BadLines, ItemRows
from skbench.readers._lm_eval import in_memory
from skbench.readers._logs import logs_items
from skbench.readers._options import Options
from skbench.readers._tables import tables_items
from skbench.readers.group_results import expanded
from skbench.readers.loading import load_table, plain

Format: TypeAlias = Literal[
    "lm-eval", "inspect", "helm", "euroeval", "every-eval-ever", "promptfoo", "tau2", "tau-bench",
    "swe-bench", "deepeval", "mlflow", "openai-evals", "mt-bench", "opencompass", "mteb", "junit",
    "pytest-json", "table",
]  # fmt: skip
_ONE = (str, os.PathLike, Mapping, type(None))


@checked
def read_items(
    path: Results | Sequence[Results],
    *,
    format: Format | None = None,
    model: str | Mapping[str, str] | None = None,
    topic: Names | None = None,
    item: str | None = None,
    score: str | None = None,
    cluster: str | None = None,
    models: Sequence[str] | None = None,
    filter: str | None = None,
    skip_bad_lines: bool = False,
) -> pd.DataFrame:
    """Read per-item scores from files or folders of evaluation results.

    The format is detected from the contents: logs of lm-evaluation-harness, Inspect, HELM,
    EuroEval, Every Eval Ever, promptfoo, tau2-bench, SWE-bench, DeepEval, MLflow, OpenAI evals,
    MT-Bench, OpenCompass and MTEB, test reports, and tables (CSV, TSV, Parquet, JSON). Folders
    are searched for files in all of these formats.

    A table is long (one row per model and item, one score column) or wide (one row per item,
    one score column per model). Columns are recognized by common names, such as `model`, `task`,
    `question_id` or `accuracy`, or named by the arguments. If there are several files, only
    columns that occur in all files are considered. A table that can be read in several ways
    raises an error. `skbench.readers.read_with_notes` also returns notes on how the files were
    read.

    Parameters
    ----------
    path : str, path-like, mapping, or list of them
        Files and folders. Text files may be compressed (.gz, .bz2, .xz). A mapping must be the
        return value of ``lm_eval.simple_evaluate``.
    format : str, default=None
        One of "lm-eval", "inspect", "helm", "euroeval", "every-eval-ever", "promptfoo",
        "tau2", "tau-bench", "swe-bench", "deepeval", "mlflow", "openai-evals", "mt-bench",
        "opencompass", "mteb", "junit", "pytest-json" and "table". Only files of this format are
        read. By default all logs are read, or all tables if there are no logs.
    model : str or dict, default=None
        Tables: the model column. Without a model column, each file is read as one model. Logs: a
        dict from names in the logs to new names, or the new name if there is only one model.
    topic : str or list of str, default=None
        Tables: the topic column. If you pass several columns, the result has these columns instead
        of `topic`. Logs: a field of the records that replaces the task, such as ``"doc.subject"``.
    item : str, default=None
        Tables: the column of item ids. Without item ids, models cannot be compared on the same
        items.
    score : str, default=None
        Tables: the score column. Logs: the metric or scorer. Higher scores are better.
    cluster : str, default=None
        Tables: the cluster column. Logs: a field such as ``"metadata.passage"``.
    models : list of str, default=None
        The score columns of a wide table, one per model. Patterns such as ``"m*"`` stand for
        all columns that match. If there is no score column, the default is all columns named
        after known model families (gpt, claude, llama, qwen and so on).
    filter : str, default=None
        Logs of lm-evaluation-harness: the filter whose answers are read. The default is the
        first filter that all files of the task have.
    skip_bad_lines : bool, default=False
        Whether to skip lines that cannot be read, and report their number in the notes. By
        default such lines raise an error.

    Returns
    -------
    pandas.DataFrame
        One row per model and item, with the columns `model`, `topic`, `item` and `score`. If
        the files contain them, it also has the columns

        - `cluster`: the cluster from the file, or an id made of topic and item if items were
          answered several times;
        - `repeat`: the index of the answer, if items were answered several times;
        - `confidence`: the normalized probability of the most likely choice;
        - `tokens`, `seconds` and `cost` (money) of the answer, NaN if unknown.

        Other columns of tables keep their names. A column whose name clashes with one of these
        gets the suffix `_in_file`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        - If a file is empty, truncated or of unknown format.
        - If a line cannot be read, or a JSON object in it repeats a key.
        - If the score columns are ambiguous or not numeric, or a model, topic or item is missing.
        - If a model has several answers to an item, unless `cluster` is the item column.

    Notes
    -----
    Rows with a missing score are dropped, and the notes report their number. Item ids need to be
    unique only within a topic. If several columns hold the topic, pass them to other functions as
    ``topic=[...]``. Words such as "correct" and "False" become 1 and 0.

    Two runs with the same model name count as different models if both cover the same topic, or if
    their settings or versions differ. The notes list the new names. Use `model` to rename these
    models. Items with the same id but different texts in two runs are different items.

    A table of counts (`n` and `k`, `total` and `correct`, `n` and `accuracy`) is expanded to one
    row per answer, without item ids. A table of means raises an error. If it has standard errors,
    ``read_with_notes(path).groups`` returns the means.

    Details of formats:

    - "lm-eval": ``samples_*.jsonl``, written with ``--log_samples``, and the ``results_*.json``
      file with the same timestamp. `score` defaults to the first numeric metric for which higher is
      better.
    - "inspect": ``.eval`` archives (they need zstandard) or ``.json`` logs. C (correct), P
      (partial), I (incorrect) and N (no answer) score 1, 0.5, 0 and 0. `score` is a scorer, or
      ``scorer/key`` if a scorer gives several numbers. Epochs are repeats.
    - "helm": ``per_instance_stats.json`` and ``run_spec.json``. `score` defaults to exact_match or
      a variant, otherwise to the first of math correctness, ifeval_strict_accuracy, f1_score,
      rouge_l and bleu_4. Perturbed questions and training instances are skipped. Train trials (runs
      with different few-shot examples) are repeats. `topic` and `cluster` are not supported.
    - "euroeval": one row per bootstrap sample of a test set, because EuroEval stores no items. Use
      `RepeatedRuns` and `MeanRankScore`, because the rows are not independent items. The columns
      `dataset`, `task` and `language` are added. `topic` and `cluster` are not supported.
    - "every-eval-ever": instance-level JSON Lines. `score` is an `evaluation_result_id`.
    - "tau2", "tau-bench": trials are repeats.
    - "swe-bench": an empty patch scores 0. An error of the harness is a missing answer.
    - "mt-bench": the turns of a question form a cluster.
    - "mteb": each subset of a task is read as an item, because MTEB stores no scores of items.
    - "junit", "pytest-json": each file is read as a model and each test as an item.
    - "promptfoo": JSON (since version 0.94) or JSON Lines. Each provider is read as a model, or
      each provider-prompt pair if there are several prompts. A test that ran several times has
      repeats. `score` is ``"success"`` (the default), ``"score"`` or a named score.

    When not to use it: for files without per-item scores, such as ``results_*.json``.

    Examples
    --------
    >>> import os, tempfile
    >>> text = "task,id,ada,bob\\nlaw,1,1,0\\nlaw,2,1,\\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "results.csv")
    ...     _ = open(path, "w").write(text)
    ...     items = read_items(path, models=["ada", "bob"])
    >>> items[["model", "topic", "item", "score"]]
      model topic  item  score
    0   ada   law     1    1.0
    1   ada   law     2    1.0
    2   bob   law     1    0.0
    """
    rows = expanded(read_with_notes(**locals()))
    topics = [name for name in rows.key if name != "item"]
    if topics not in ([], ["topic"]) and _ids_restart(rows):
        warn(
            f"Item ids start again in every topic. Pass topic={topics} to other functions, or "
            "items of different topics with the same id count as one."
        )
    return rows.items


def read_with_notes(
    path: Results | Sequence[Results],
    *,
    format: Format | None = None,
    **options: Unpack[ReadOptions],
) -> ItemRows:
    """Read per-item scores, with notes on how the files were read.

    Parameters
    ----------
    path : str, path-like, mapping, or list of them
        As in `skbench.read_items`.
    format : str, default=None
        As in `skbench.read_items`.
    **options
        Other arguments of `skbench.read_items`, and `version`. This is the column of a table that
        identifies the versions of a model if there is no model column.

    Returns
    -------
    ItemRows
        The rows, the roles of the columns, the notes and the formats.

    Raises
    ------
    ValueError, FileNotFoundError
        As in `skbench.read_items`.

    Notes
    -----
    When not to use it: if you need only the rows (use `skbench.read_items`).

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "results.csv")
    ...     _ = open(path, "w").write("task,id,ada,bob\\nlaw,1,1,0\\nlaw,2,1,\\n")
    ...     rows = read_with_notes(path, models=["ada", "bob"])
    >>> rows.columns["topic"], rows.formats
    ('task', ['table'])
    >>> rows.notes[-1]
    'dropped 1 of 4 rows with missing scores (not counted as wrong)'
    """
    wanted, paths = Options(**options), []
    each = [path] if isinstance(path, _ONE) else {id(one): one for one in path}.values()
    for number, one in enumerate(each, start=1):
        if one is None:
            raise TypeError(
                "path is or contains None. simple_evaluate returns results only in the first "
                "process, so read them there."
            )
        if one == "":
            raise FileNotFoundError("There is no file ''.")
        paths += in_memory(one, number) if isinstance(one, Mapping) else [FilePath(one)]
    found, notes = find(paths, format)
    found = _wanted(found, format, paths, notes)
    if wanted.filter is not None and "lm-eval" not in found:
        raise ValueError("filter= needs logs of lm-evaluation-harness, but there are none here.")
    bad = BadLines(wanted.skip_bad_lines)
    if "table" in found:
        rows = tables_items(found["table"], wanted, bad, notes)
    else:
        rows = logs_items(found, wanted, bad, notes)
    score, similar = rows.items["score"], list(similar_labels(rows.items))
    notes = [*rows.notes, *(Note(text, LOST) for text in similar), *bad.notes()]
    if score.min() < 0 or score.max() > 1:
        notes.append(
            f"scores range from {score.min():g} to {score.max():g} and are treated as continuous"
        )
    doubts = [*rows.doubts, *similar]
    rows = plain(rows)
    return rows._replace(notes=list(dict.fromkeys(notes)), formats=list(found), doubts=doubts)


def read_features(path: Path, columns: Mapping[str, str]) -> pd.DataFrame:
    """Read a table of group features, with its key columns renamed to `model` and `topic`.

    Parameters
    ----------
    path : str or path-like
        A .csv or .tsv file, possibly compressed, or a .parquet file.
    columns : dict of str to str
        Role -> column of the file of items, from `skbench.readers.read_with_notes`. Columns
        with these names are renamed to `model` and `topic`.

    Returns
    -------
    pandas.DataFrame
        A table for ``summarize_items(..., features=...)``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is empty or cannot be read.
    TypeError
        If `columns` is not a dict.

    Examples
    --------
    >>> import os, tempfile
    >>> from skbench.readers import read_with_notes
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results, table = (os.path.join(folder, f"{name}.csv") for name in ("r", "f"))
    ...     _ = open(results, "w").write("system,task,id,correct\\nada,law,1,1\\n")
    ...     _ = open(table, "w").write("task,length\\nlaw,12.5\\n")
    ...     read_features(table, read_with_notes(results).columns)
      topic  length
    0   law    12.5
    """
    if not isinstance(columns, dict):
        raise TypeError(
            f"columns must be a dict such as read_with_notes(path).columns, got "
            f"{type(columns).__name__}."
        )
    roles = ("model", "topic")
    keys = {columns[role]: role for role in roles if isinstance(columns.get(role), str)}
    table, _ = load_table(path, lambda columns: [*keys, *keys.values()])
    return table.rename(columns=keys)


def _ids_restart(rows):
    """Return whether item ids start again in every topic."""
    keys = rows.items[rows.key].drop_duplicates()
    return "item" in keys and keys.duplicated("item").any()


def _wanted(found, only, paths, notes):
    """Return the formats to read: the wanted one, else all logs, else tables."""
    where = listed(paths, most=3)
    if not found or (only is not None and only not in found):
        wanted = "results" if only is None else f"logs of {TITLES[only]}"
        others = f" There are {listed([TITLES[k] for k in found])}." if found else ""
        raise ValueError(f"There are no {wanted} in {where}.{others}")
    if only is not None:
        chosen = {only: found[only]}
        reason = f"not {TITLES[only]}"
    elif set(found) == {"table"}:
        return found
    else:
        chosen = {kind: files for kind, files in found.items() if kind in FORMATS}
        reason = "tables beside logs: read them separately"
        if len(chosen) > 1 and "euroeval" in chosen:
            _ignore(chosen.pop("euroeval"), "scores per run beside scores per item", notes)
    for kind, files in found.items():
        if kind not in chosen and not (kind == "euroeval" and only is None):
            _ignore(files, reason, notes)
    return chosen


def _ignore(files, reason, notes):
    names = listed([file.name for file in files], most=4)
    text = f"ignored {len(files)} file{'s' * (len(files) > 1)} ({reason}): {names}"
    notes.append(Note(text, LOST))
