"""Item rows of files and folders, whatever their format, and what was decided on the way."""

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
from skbench.items.roles import labels_alike
from skbench.readers._find import find
from skbench.readers._formats import FORMATS, TITLES
from skbench.readers._found import BadLines, ItemRows
from skbench.readers._lm_eval import in_memory
from skbench.readers._logs import logs_items
from skbench.readers._options import Options
from skbench.readers._tables import tables_items
from skbench.readers.group_results import unfolded
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
    """Item rows from files or folders of evaluation results, in any known format.

    The contents of a file tell its format: logs of lm-evaluation-harness, Inspect, HELM,
    EuroEval, Every Eval Ever, promptfoo, tau2-bench, SWE-bench, DeepEval, MLflow, OpenAI evals,
    MT-Bench, OpenCompass, MTEB and runs of tests, and tables (CSV, TSV, Parquet, JSON). A folder
    is searched for everything that is known.

    A table is long (one row per model and item, one score column) or wide (one row per item,
    one score column per model). Columns are known by their usual names, such as `model`,
    `task`, `question_id` or `accuracy`, or named here; a file that could be read in several
    ways is refused, and in several files a role is a column that all have.
    `skbench.readers.read_with_notes` reads the same and reports every choice.

    Parameters
    ----------
    path : str, path-like, mapping, or list of them
        Files and folders. Text files may be compressed (.gz, .bz2, .xz). A mapping is what
        ``lm_eval.simple_evaluate`` returned, and gives the rows of the files of that run.
    format : str, default=None
        One of "lm-eval", "inspect", "helm", "euroeval", "every-eval-ever", "promptfoo",
        "tau2", "tau-bench", "swe-bench", "deepeval", "mlflow", "openai-evals", "mt-bench",
        "opencompass", "mteb", "junit", "pytest-json" and "table": read files of this format and
        nothing else. None reads all logs or, where there are none, all tables.
    model : str or dict, default=None
        Tables: the column of models, by default one of a usual name; without one each
        file is taken to hold one model. Logs: new names of models, by
        their names in the logs; a string names the only one.
    topic : str or list of str, default=None
        Tables: the topic column; several columns keep their own names. Logs: a field
        of the records in place of the task, such as ``"doc.subject"``.
    item : str, default=None
        Tables: the column that names the item. Without one, nothing is known of
        items that models share.
    score : str, default=None
        Tables: the score column. Logs: the metric or scorer. High is good.
    cluster : str, default=None
        Tables: the column of clusters. Logs: a field such as ``"metadata.passage"``.
    models : list of str, default=None
        The score columns of a wide table, one per model; patterns such as ``"m*"`` stand for
        all columns that fit. None takes the columns that bear names of known families of
        models (gpt, claude, llama, qwen and so on), where no column is the score.
    filter : str, default=None
        Logs of lm-evaluation-harness: whose answers to take where a task has several filters.
        None takes the first that all files of the task have.
    skip_bad_lines : bool, default=False
        Count lines that cannot be read in the notes, instead of refusing them.

    Returns
    -------
    pandas.DataFrame
        One row per (model, item), with the columns `model`, `topic`, `item`, `score` and,
        where they are known, `cluster`, `repeat` (answers to one item, which is then a
        cluster), `confidence` (the share of the likeliest choice), and what an answer of a log
        took: `tokens`, `seconds`, `cost` (money), NaN where the log does not say. Other columns of
        tables keep their names; one that bears a role's name without playing the role gets
        the suffix `_in_file`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a file is empty, of an unknown kind, or cut off; if a line cannot be read, or has a
        key twice; if it is open which columns are the scores, or these are not numbers; if a
        label is blank; or if a (model, item) pair occurs twice although the item is not named
        as the cluster.

    Notes
    -----
    Rows without a score, or with NaN for one, are dropped and counted in the notes. Topic and item
    together identify an item, so ids that start again in every topic stay as they are. Where
    several columns hold the topic, pass them to functions as ``topic=[...]``. Clusters that are
    items have the topic in front. Words such as "correct" and "False" become 1 and 0.

    Two runs that give their model one name stay two models where they answer the same
    topics or differ in their settings; the notes say how they are named, and `model`
    renames them. Items with one number but different texts in two runs are kept apart.

    A table of counts (`n` and `k`, `total` and `correct`, `n` and `accuracy`) holds results of
    groups: it becomes as many rows as there were answers, without item ids. A table of means
    and standard errors is refused here; ``read_with_notes(path).groups`` holds both kinds.

    What is special to a format:

    - "lm-eval": ``samples_*.jsonl``, written with ``--log_samples``, and the summary with the
      same time in its name. `score` defaults to the first metric that is a number and of
      which more is better.
    - "inspect": header and summaries of ``.eval`` archives, or ``.json`` logs. C, P, I and N
      count 1, 0.5, 0 and 0. `score` is a scorer, or ``scorer/key`` where one gives several
      numbers. An item is the cluster of its epochs. Archives need zstandard.
    - "helm": ``per_instance_stats.json`` and ``run_spec.json``. `score` defaults to
      exact_match, its variants or a few others. Perturbed questions and training instances
      are left out. An instance is the cluster of its train trials. `topic` and `cluster`
      are refused.
    - "euroeval": one row per bootstrap sample of a test set, as EuroEval keeps no items; for
      `RepeatedRuns` and `MeanRankScore`, not for intervals that take rows for items. Columns
      `dataset`, `task` and `language` are added. `topic` and `cluster` are refused.
    - "every-eval-ever": instance-level JSON Lines. `score` is an `evaluation_result_id`.
    - "tau2", "tau-bench": trials are repeats of a task.
    - "swe-bench": empty patches count 0; errors of the harness are no answer.
    - "mt-bench": a question is the cluster of its turns.
    - "mteb": scores of whole tasks, not of items; an item is a subset.
    - "junit", "pytest-json": a file is a model, and a test an item.
    - "promptfoo": JSON (since version 0.94) or JSON Lines. A model is a provider, or a provider
      with a prompt where there are several. An item is the cluster of its repeats. `score`
      is ``"success"`` (the default), ``"score"`` or a named score.

    When not to use it: for tables of means alone, which do not say how noisy they are, or for
    summaries such as ``results_*.json``, which hold no items.

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
    rows = unfolded(read_with_notes(**locals()))
    topics = [name for name in rows.key if name != "item"]
    if topics not in ([], ["topic"]) and _start_again(rows):
        warn(
            f"Item ids start again in every topic. Pass topic={topics} to functions, which else "
            "take items of different topics for one."
        )
    return rows.items


def read_with_notes(
    path: Results | Sequence[Results],
    *,
    format: Format | None = None,
    **options: Unpack[ReadOptions],
) -> ItemRows:
    """Item rows, and everything that was decided in reading them.

    Parameters
    ----------
    path : str, path-like, mapping, or list of them
        As in `skbench.read_items`.
    format : str, default=None
        As in `skbench.read_items`.
    **options
        Other arguments of `skbench.read_items`; and `version`, the column of a table that tells
        versions of a model apart where no column of models does: text stays as it is written.

    Returns
    -------
    ItemRows
        The rows, the roles of columns, the notes and the formats.

    Raises
    ------
    ValueError, FileNotFoundError
        As in `skbench.read_items`.

    Notes
    -----
    When not to use it: for the rows alone, which `skbench.read_items` returns.

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
    '1 of 4 scores are blank: dropped, not counted as wrong'
    """
    wanted, paths = Options(**options), []
    each = [path] if isinstance(path, _ONE) else {id(one): one for one in path}.values()
    for number, one in enumerate(each, start=1):
        if one is None:
            raise TypeError(
                "path is or holds None, which simple_evaluate returns in all processes but the "
                "first. Read there."
            )
        if one == "":
            raise FileNotFoundError("There is no file ''.")
        paths += in_memory(one, number) if isinstance(one, Mapping) else [FilePath(one)]
    found, notes = find(paths, format)
    found = _wanted(found, format, paths, notes)
    if wanted.filter is not None and "lm-eval" not in found:
        raise ValueError("filter= is for logs of lm-evaluation-harness, and there are none here.")
    bad = BadLines(wanted.skip_bad_lines)
    if "table" in found:
        rows = tables_items(found["table"], wanted, bad, notes)
    else:
        rows = logs_items(found, wanted, bad, notes)
    score, alike = rows.items["score"], list(labels_alike(rows.items))
    notes = [*rows.notes, *(Note(text, LOST) for text in alike), *bad.notes()]
    if score.min() < 0 or score.max() > 1:
        notes.append(
            f"scores run from {score.min():g} to {score.max():g}: kept in that unit, as continuous"
        )
    doubts = [*rows.doubts, *alike]
    rows = plain(rows)
    return rows._replace(notes=list(dict.fromkeys(notes)), formats=list(found), doubts=doubts)


def read_features(path: Path, columns: Mapping[str, str]) -> pd.DataFrame:
    """A table of group features, its key columns named as in the items.

    Parameters
    ----------
    path : str or path-like
        A .csv or .tsv file, possibly compressed, or a .parquet file.
    columns : dict of str to str
        Which column of the file of items plays which role, from
        `skbench.readers.read_with_notes`. The columns of this name are renamed to `model`
        and `topic`.

    Returns
    -------
    pandas.DataFrame
        Ready for ``summarize_items(..., features=...)``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is empty or cannot be read.
    TypeError
        If `columns` is no dict.

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
            f"columns must be the dict of columns that read_with_notes(path).columns is, got "
            f"{type(columns).__name__}."
        )
    roles = ("model", "topic")
    keys = {columns[role]: role for role in roles if isinstance(columns.get(role), str)}
    table, _ = load_table(path, lambda columns: [*keys, *keys.values()])
    return table.rename(columns=keys)


def _start_again(rows):
    """Whether ids of items start again in every topic."""
    keys = rows.items[rows.key].drop_duplicates()
    return "item" in keys and keys.duplicated("item").any()


def _wanted(found, only, paths, notes):
    """The formats to read: one asked for, else all logs, else tables."""
    where = listed(paths, most=3)
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
        chosen = {kind: files for kind, files in found.items() if kind in FORMATS}
        reason = "a table beside logs: read it by itself"
        if len(chosen) > 1 and "euroeval" in chosen:
            _ignore(chosen.pop("euroeval"), "scores of runs beside scores of items", notes)
    for kind, files in found.items():
        if kind not in chosen and not (kind == "euroeval" and only is None):
            _ignore(files, reason, notes)
    return chosen


def _ignore(files, reason, notes):
    names = listed([file.name for file in files], most=4)
    text = f"ignored {len(files)} file{'s' * (len(files) > 1)} ({reason}): {names}"
    notes.append(Note(text, LOST))
