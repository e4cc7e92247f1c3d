"""The reader for all formats, and what it decided on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Unpack

import pandas as pd

from skbench._checks import check_option
from skbench._types import Names, Paths, ReadOptions
from skbench.readers._read import FORMATS, read_paths
from skbench.readers._rows import ItemRows
from skbench.readers.group_results import unfolded


def read_items(
    path: Paths,
    *,
    format: Literal["lm_eval", "inspect", "helm", "euroeval", "every_eval_ever", "promptfoo"]
    | None = None,
    model: str | Mapping[str, str] | None = None,
    topic: Names | None = None,
    item: str | None = None,
    score: str | None = None,
    cluster: str | None = None,
    models: Sequence[str] | None = None,
    filter: str | None = None,
    skip_bad_lines: bool = False,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Item rows from files or folders of evaluation results, in any known format.

    A file is recognized by its contents: logs of lm-evaluation-harness, Inspect, HELM,
    EuroEval, Every Eval Ever and promptfoo, and tables (CSV, TSV, Parquet, JSON Lines).
    Of a folder, everything in it that is known is read and the rest named.

    A table is long (one row per model and item, one score column) or wide (one
    row per item, one score column per model). Columns that are not named are
    guessed by their usual names, such as `model` or `system`, `task` or
    `category`, `question_id`, `correct` or `accuracy`. `skbench.readers.read_with_notes` reads
    the same and says every guess and every choice.

    Parameters
    ----------
    path : str, path-like, or list of them
        Files and folders. Text files may be compressed (.gz, .bz2, .xz).
    format : {"lm_eval", "inspect", "helm", "euroeval", "every_eval_ever", "promptfoo"}, \
default=None
        Read logs of this program and nothing else, as its own reader does
        (`read_lm_eval` and so on, which tell what is special about each).
    model : str or dict, default=None
        Tables: the column of models. None guesses; without one each
        file is taken to hold one model. Logs: names for models, by
        what they are called without this argument; a string names the only one.
    topic : str or list of str, default=None
        Tables: the topic column; several columns keep their own names. Logs: a field
        of the records in place of the task, such as ``"doc.subject"``.
    item : str, default=None
        Tables: the column that names the item. Without one nothing is known of
        items that models share.
    score : str, default=None
        Tables: the score column. Logs: the metric or scorer. High is good.
    cluster : str, default=None
        Tables: the column of clusters. Logs: a field such as ``"metadata.passage"``.
    models : list of str, default=None
        The score columns of a wide table, one per model. None guesses: where
        neither a score nor a model column is found, the columns that hold only
        0 and 1 (or 0 and 100), or failing that only numbers between 0 and 1. Of a column
        of text a tenth of the cells may be something else, which is then refused by name.
    filter : str, default=None
        lm-evaluation-harness: whose answers to take where a task has several filters.
        None takes the first that all files of the task have.
    skip_bad_lines : bool, default=False
        Count lines that cannot be read in the notes, instead of refusing them.
    n_jobs : int, default=None
        Processes that read samples of lm-evaluation-harness of over 1 GiB in all, joblib's
        numbers; the rows and their order are the same. None reads in this one.

    Returns
    -------
    pandas.DataFrame
        One row per (model, item), with the columns `model`, `topic`, `item`, `score` and,
        where they are known, `cluster`, `repeat` (answers to one item, which is then a
        cluster) and `confidence` (the share of the likeliest choice). Of tables, other
        columns are as in the file, except that one which bears a
        role's name without playing it gets the suffix `_in_file`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a file is empty, of an unknown kind, or cut off; if a line cannot be read, naming
        file, line and reason; if the scores cannot be found or are not numbers, if a label
        is blank, or if a (model, item) pair occurs twice although the item is
        not named as the cluster.

    Notes
    -----
    Rows without a score, or with NaN for one, are dropped and their number noted: an item
    that was not run says nothing of whether it would have been answered. Item ids that
    start again in every topic are made unique by putting the topic in front.
    Words such as "correct" and "False" become 1 and 0.

    Two runs that call their model by one name stay two models where they answer the same
    topics or differ in their settings; what they are called then is noted, and `model`
    renames them. Memory: the text of one line at a time and the columns above.

    A table with counts (`n` and `k`, `total` and `correct`, `n` and `accuracy`) holds results of
    groups: it gives as many rows as there were answers, without ids of items. One with means
    and standard errors is refused here; ``read_with_notes(path).groups`` holds both kinds.

    When not to use it: tables of means alone, of which nothing tells how noisy they are.

    Examples
    --------
    >>> import os, tempfile
    >>> text = "task,id,ada,bob\\nlaw,1,1,0\\nlaw,2,1,\\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "results.csv")
    ...     _ = open(path, "w").write(text)
    ...     items = read_items(path)
    >>> items[["model", "topic", "item", "score"]]
      model topic  item  score
    0   ada   law     1    1.0
    1   ada   law     2    1.0
    2   bob   law     1    0.0
    """
    if format is not None:
        check_option("format", format, FORMATS)
    rows = read_paths(
        path,
        format,
        model=model,
        topic=topic,
        item=item,
        score=score,
        cluster=cluster,
        models=models,
        filter=filter,
        skip_bad_lines=skip_bad_lines,
        n_jobs=n_jobs,
    )
    return unfolded(rows).items


def read_with_notes(
    path: Paths,
    *,
    format: Literal[
        "lm_eval", "inspect", "helm", "euroeval", "every_eval_ever", "promptfoo", "table"
    ]
    | None = None,
    **options: Unpack[ReadOptions],
) -> ItemRows:
    """Item rows, and everything that was decided in reading them.

    Parameters
    ----------
    path : str, path-like, or list of them
        As of `skbench.read_items`.
    format : {"lm_eval", "inspect", "helm", "euroeval", "every_eval_ever", "promptfoo", \
"table"} or None, default=None
        The one format to read; None reads all that `skbench.read_items` would.
    **options
        Its other arguments: model, topic, item, score, cluster, models, filter,
        skip_bad_lines, n_jobs.

    Returns
    -------
    ItemRows
        items, columns, notes, formats.

    Raises
    ------
    ValueError, FileNotFoundError
        As of `skbench.read_items`, or for an unknown format.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "results.csv")
    ...     _ = open(path, "w").write("task,id,ada,bob\\nlaw,1,1,0\\nlaw,2,1,\\n")
    ...     rows = read_with_notes(path)
    >>> rows.columns["topic"], rows.formats
    ('task', ['table'])
    >>> rows.notes[-1]
    '1 of 4 scores are blank: dropped, not counted as wrong'
    """
    if format is not None:
        check_option("format", format, FORMATS)
    return read_paths(path, format, **options)
