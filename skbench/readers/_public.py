"""The reader for all formats."""

from skbench.readers._read import read_paths


def read_items(
    path,
    *,
    model=None,
    topic=None,
    item=None,
    score=None,
    cluster=None,
    models=None,
    filter=None,
    skip_bad_lines=False,
):
    """Item rows from files or folders of evaluation results, in any known format.

    A file is recognized by its contents: logs of lm-evaluation-harness, Inspect, HELM,
    EuroEval, Every Eval Ever and promptfoo, and tables (CSV, TSV, Parquet, JSON Lines).
    Of a folder, everything in it that is known is read and the rest named.

    A table is long (one row per model and item, one score column) or wide (one
    row per item, one score column per model). Columns that are not named are
    guessed by their usual names, such as `model` or `system`, `task` or
    `category`, `question_id`, `correct` or `accuracy`. Every guess and every choice is
    written down in ``attrs["notes"]``.

    Parameters
    ----------
    path : str, path-like, or list of them
        Files and folders. Text files may be compressed (.gz, .bz2, .xz).
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
        0 and 1, or failing that only numbers between 0 and 1.
    filter : str, default=None
        lm-evaluation-harness: whose answers to take where a task has several filters.
        None takes the first that all files of the task have.
    skip_bad_lines : bool, default=False
        Count lines that cannot be read in the notes, instead of refusing them.

    Returns
    -------
    pandas.DataFrame
        One row per (model, item), with the columns `model`, `topic`, `item`, `score` and,
        where they are known, `cluster`, `repeat` (answers to one item, which is then a
        cluster) and `confidence` (the share of the likeliest choice). Of tables, other
        columns are as in the file, except that one which bears a
        role's name without playing it gets the suffix `_in_file`.
        ``attrs["columns"]`` says which column of the file plays which role,
        ``attrs["formats"]`` which formats they came in, ``attrs["notes"]`` is a list
        of everything that was guessed, chosen,
        converted, ignored or dropped.

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

    When not to use it: tables of scores that are already averaged over items.

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
    >>> items.attrs["notes"][-1]
    '1 of 4 scores are blank: dropped, not counted as wrong'
    """
    return read_paths(
        path, None, model, topic, item, score, cluster, models, filter, skip_bad_lines
    )
