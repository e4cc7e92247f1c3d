"""One reader per evaluation program."""

from skbench.readers._read import read_paths


def read_lm_eval(
    path, *, model=None, topic=None, score=None, cluster=None, filter=None, skip_bad_lines=False
):
    """Item rows of lm-evaluation-harness, written with ``--log_samples``.

    Parameters
    ----------
    path : str, path-like, or list of them
        Files, or folders of which samples of lm-evaluation-harness are read and nothing else.
    model : str or dict, default=None
        Names for models, by what they are called without this argument; a string names
        the only one.
    topic : str, default=None
        A field of the samples in place of the task, such as ``"doc.subject"``.
    score : str, default=None
        The metric.
    cluster : str, default=None
        A field of the samples that says which items belong together.
    filter : str, default=None
        Whose answers to take. None takes the first filter that all files of the task have.
    skip_bad_lines : bool, default=False
        Count what cannot be read in the notes, instead of refusing it.

    Returns
    -------
    pandas.DataFrame
        As from `read_items`.

    Raises
    ------
    FileNotFoundError
        If there is no such path.
    ValueError
        If there is nothing of the kind, or it cannot be read: with file, place and reason.

    Notes
    -----
    Read are ``samples_*.jsonl`` and, for the model's name and settings, the summary with
    the same time in its name. Of several metrics the first is taken that the task lists,
    that is a number, and of which its summary does not say that less is better. `confidence`
    of a multiple-choice item is the likelihood of the likeliest choice over that of all.

    Where ``model_args`` name no model the program makes up a name, a new one in every run;
    this is said. Where one number stands for different texts in two runs (`doc_hash`), the
    items are told apart, and this is said too. Lists of JSON, as versions before 0.4.3 wrote
    them, are read as well, but not in constant memory.

    When not to use it: summaries alone (``results_*.json``), which hold no items.

    Examples
    --------
    >>> import json, os, tempfile
    >>> samples = [
    ...     {"doc_id": i, "target": "", "resps": [], "filtered_resps": [], "acc": i % 2}
    ...     for i in range(3)
    ... ]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "samples_law_2026-01-01T00-00-00.jsonl")
    ...     _ = open(path, "w").write("\\n".join(map(json.dumps, samples)))
    ...     items = read_lm_eval(path, model="ada")
    >>> items
      model topic   item  score
    0   ada   law  law/0    0.0
    1   ada   law  law/1    1.0
    2   ada   law  law/2    0.0
    """
    return read_paths(
        path, "lm_eval", model, topic, None, score, cluster, None, filter, skip_bad_lines
    )


def read_inspect(path, *, model=None, topic=None, score=None, cluster=None, skip_bad_lines=False):
    """Item rows of Inspect AI, from ``.eval`` or ``.json`` logs.

    Parameters
    ----------
    path : str, path-like, or list of them
        Files, or folders of which logs of Inspect are read and nothing else.
    model : str or dict, default=None
        Names for models, by what they are called without this argument; a string names
        the only one.
    topic : str, default=None
        A field of the summaries in place of the task, such as ``"metadata.subject"``.
    score : str, default=None
        The scorer, or ``scorer/key``.
    cluster : str, default=None
        A field of the summaries that says which items belong together.
    skip_bad_lines : bool, default=False
        Count what cannot be read in the notes, instead of refusing it.

    Returns
    -------
    pandas.DataFrame
        As from `read_items`.

    Raises
    ------
    FileNotFoundError
        If there is no such path.
    ValueError
        If there is nothing of the kind, or it cannot be read: with file, place and reason.

    Notes
    -----
    Of an ``.eval`` archive only header and summaries are read, never the transcripts, and
    nothing is unpacked to disk; of a run that was cut off, its journal. Archives that hold a
    zip bomb or a name that leads out of them are refused. C, P, I and N count 1, 0.5, 0
    and 0. With epochs, `repeat` is the epoch and an item the cluster of its epochs.
    Of several scorers the first is taken; one that gives several numbers is as many
    scores, called ``scorer/key``. Needs zstandard (``pip install 'skbench[readers]'``).

    When not to use it: scores that are lists.

    Examples
    --------
    >>> import json, os, tempfile
    >>> log = {"version": 2, "status": "success", "eval": {"task": "law", "model": "ada"}}
    >>> log["samples"] = [
    ...     {"id": i, "epoch": 1, "scores": {"match": {"value": "CI"[i % 2]}}} for i in range(2)
    ... ]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "log.json")
    ...     _ = open(path, "w").write(json.dumps(log))
    ...     read_inspect(path)
      model topic   item  score
    0   ada   law  law/0    1.0
    1   ada   law  law/1    0.0
    """
    return read_paths(
        path, "inspect", model, topic, None, score, cluster, None, None, skip_bad_lines
    )


def read_helm(path, *, model=None, score=None, skip_bad_lines=False):
    """Item rows of HELM, from the folders of its runs.

    Parameters
    ----------
    path : str, path-like, or list of them
        Files, or folders of which runs of HELM are read and nothing else.
    model : str or dict, default=None
        Names for models, by what they are called without this argument; a string names
        the only one.
    score : str, default=None
        The metric.
    skip_bad_lines : bool, default=False
        Count what cannot be read in the notes, instead of refusing it.

    Returns
    -------
    pandas.DataFrame
        As from `read_items`.

    Raises
    ------
    FileNotFoundError
        If there is no such path.
    ValueError
        If there is nothing of the kind, or it cannot be read: with file, place and reason.

    Notes
    -----
    Read are ``per_instance_stats.json`` and, for model and topic, ``run_spec.json``. The
    topic is the name of the run without the model. A run folder does not say which metric is
    the main one: the first is taken of exact_match, its variants, and a few others; failing
    those, `score` must be passed. Answers to perturbed questions and training instances are
    left out. Several train trials are repeats, and an instance their cluster.

    When not to use it: for the robustness and fairness scores of perturbed questions.

    Examples
    --------
    >>> import json, os, tempfile
    >>> stat = {"name": {"name": "exact_match", "split": "test"}, "count": 1, "sum": 1}
    >>> entry = {"instance_id": "id7", "train_trial_index": 0, "stats": [stat]}
    >>> spec = {"name": "law:year=1,model=ada", "adapter_spec": {"model": "ada"}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "per_instance_stats.json")
    ...     _ = open(path, "w").write(json.dumps([entry]))
    ...     _ = open(os.path.join(folder, "run_spec.json"), "w").write(json.dumps(spec))
    ...     read_helm(folder)
      model       topic            item  score
    0   ada  law:year=1  law:year=1/id7    1.0
    """
    return read_paths(path, "helm", model, None, None, score, None, None, None, skip_bad_lines)


def read_euroeval(path, *, model=None, score=None, skip_bad_lines=False):
    """Rows of EuroEval, one per model, data set and bootstrap sample.

    Parameters
    ----------
    path : str, path-like, or list of them
        Files, or folders of which results of EuroEval are read and nothing else.
    model : str or dict, default=None
        Names for models, by what they are called without this argument; a string names
        the only one.
    score : str, default=None
        The metric. None takes the first listed, EuroEval's own first choice.
    skip_bad_lines : bool, default=False
        Count what cannot be read in the notes, instead of refusing it.

    Returns
    -------
    pandas.DataFrame
        As from `read_items`.

    Raises
    ------
    FileNotFoundError
        If there is no such path.
    ValueError
        If there is nothing of the kind, or it cannot be read: with file, place and reason.

    Notes
    -----
    EuroEval keeps no items: the "items" here are the scores of its bootstrap samples of the
    test set, and this is said. Models that were evaluated zero-shot, or on the validation
    split, are kept apart from the same models evaluated otherwise. All three versions of the
    file are read: scores in a JSON string, in a list, and in a list by split.

    When not to use it: for intervals that take rows for items, which would be
    too short; `RepeatedRuns` and `MeanRankScore` are for such scores.

    Examples
    --------
    >>> import json, os, tempfile
    >>> line = {"model": "ada", "dataset": "law", "results": {"raw": [{"test_mcc": 0.5}]}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "euroeval_benchmark_results.jsonl")
    ...     _ = open(path, "w").write(json.dumps(line))
    ...     read_euroeval(path)
      model topic   item  score
    0   ada   law  law/1    0.5
    """
    return read_paths(path, "euroeval", model, None, None, score, None, None, None, skip_bad_lines)


def read_every_eval_ever(
    path, *, model=None, topic=None, score=None, cluster=None, skip_bad_lines=False
):
    """Item rows of Every Eval Ever, from its instance-level JSON Lines.

    Parameters
    ----------
    path : str, path-like, or list of them
        Files, or folders of which instance-level files are read and nothing else.
    model : str or dict, default=None
        Names for models, by what they are called without this argument; a string names
        the only one.
    topic : str, default=None
        A field of the lines in place of the task, such as ``"metadata.subject"``.
    score : str, default=None
        The `evaluation_result_id`.
    cluster : str, default=None
        A field of the lines that says which items belong together.
    skip_bad_lines : bool, default=False
        Count what cannot be read in the notes, instead of refusing it.

    Returns
    -------
    pandas.DataFrame
        As from `read_items`.

    Raises
    ------
    FileNotFoundError
        If there is no such path.
    ValueError
        If there is nothing of the kind, or it cannot be read: with file, place and reason.

    Notes
    -----
    A sample has a line per score; of several (`evaluation_result_id`) the first is taken. A
    filter that stands in the name of the evaluation counts as another score, not as
    another topic. Samples with an error have no score. Where one `sample_id` stands for
    different texts in two runs (`sample_hash`), the items are told apart.

    When not to use it: aggregate files, which hold no items.

    Examples
    --------
    >>> import json, os, tempfile
    >>> line = {"evaluation_id": "law/ada/1", "model_id": "ada", "evaluation_name": "law"}
    >>> line |= {"sample_id": "7", "evaluation": {"score": 1.0, "is_correct": True}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "samples.jsonl")
    ...     _ = open(path, "w").write(json.dumps(line))
    ...     read_every_eval_ever(path)
      model topic   item  score
    0   ada   law  law/7    1.0
    """
    return read_paths(
        path, "every_eval_ever", model, topic, None, score, cluster, None, None, skip_bad_lines
    )


def read_promptfoo(path, *, model=None, topic=None, score=None, cluster=None, skip_bad_lines=False):
    """Item rows of promptfoo, from its JSON or JSON Lines output.

    Parameters
    ----------
    path : str, path-like, or list of them
        Files, or folders of which outputs of promptfoo are read and nothing else.
    model : str or dict, default=None
        Names for models, by what they are called without this argument; a string names
        the only one.
    topic : str, default=None
        A field of the results in place of the task, such as ``"testCase.metadata.subject"``.
    score : str, default=None
        `"success"` (the default), `"score"`, or a named score.
    cluster : str, default=None
        A field of the results that says which items belong together.
    skip_bad_lines : bool, default=False
        Count what cannot be read in the notes, instead of refusing it.

    Returns
    -------
    pandas.DataFrame
        As from `read_items`.

    Raises
    ------
    FileNotFoundError
        If there is no such path.
    ValueError
        If there is nothing of the kind, or it cannot be read: with file, place and reason.

    Notes
    -----
    A model is a provider, or a provider with a prompt where there are several prompts. An
    item is what has the same variables, description and assertions; with ``--repeat`` an
    item is the cluster of its repeats. The score is whether the test passed; ``"score"`` and
    named scores can be asked for. A provider that failed gives no score. The topic
    is the name of the file, unless `topic` names a field.

    When not to use it: the CSV output, and JSON from before version 0.94.

    Examples
    --------
    >>> import json, os, tempfile
    >>> line = {"promptIdx": 0, "testIdx": 0, "provider": {"id": "ada"}, "vars": {"q": "2 + 2?"}}
    >>> line |= {"success": True, "score": 1}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "sums.jsonl")
    ...     _ = open(path, "w").write(json.dumps(line))
    ...     read_promptfoo(path)[["model", "topic", "score"]]
      model topic  score
    0   ada  sums    1.0
    """
    return read_paths(
        path, "promptfoo", model, topic, None, score, cluster, None, None, skip_bad_lines
    )
