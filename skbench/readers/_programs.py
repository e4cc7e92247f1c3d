"""One reader per evaluation program: `read_items` for one format, and what to know of it."""

from __future__ import annotations

from typing import Unpack

import pandas as pd

from skbench._types import Paths, ReadOptions
from skbench.readers._public import read_items


def read_lm_eval(path: Paths, **options: Unpack[ReadOptions]) -> pd.DataFrame:
    """Item rows of lm-evaluation-harness, written with ``--log_samples``.

    Parameters
    ----------
    path, **options
        As in `read_items`, which see for errors too: model, topic, score, cluster, filter
        and skip_bad_lines. Of folders, samples of this program are read and nothing else.
        `topic` and `cluster` name fields of the samples, such as ``"doc.subject"``.

    Returns
    -------
    pandas.DataFrame
        As from `read_items`.

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
    return read_items(path, format="lm_eval", **options)


def read_inspect(path: Paths, **options: Unpack[ReadOptions]) -> pd.DataFrame:
    """Item rows of Inspect AI, from ``.eval`` or ``.json`` logs.

    Parameters
    ----------
    path, **options
        As in `read_items`, which see for errors too: model, topic, score, cluster and
        skip_bad_lines. Of folders, logs of Inspect are read and nothing else. `topic` and
        `cluster` name fields of the summaries, such as ``"metadata.subject"``; `score` is
        the scorer, or ``scorer/key``.

    Returns
    -------
    pandas.DataFrame
        As from `read_items`.

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
    return read_items(path, format="inspect", **options)


def read_helm(path: Paths, **options: Unpack[ReadOptions]) -> pd.DataFrame:
    """Item rows of HELM, from the folders of its runs.

    Parameters
    ----------
    path, **options
        As in `read_items`, which see for errors too: model, score (the metric) and
        skip_bad_lines. Of folders, runs of HELM are read and nothing else.

    Returns
    -------
    pandas.DataFrame
        As from `read_items`.

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
    return read_items(path, format="helm", **options)


def read_euroeval(path: Paths, **options: Unpack[ReadOptions]) -> pd.DataFrame:
    """Rows of EuroEval, one per model, data set and bootstrap sample.

    Parameters
    ----------
    path, **options
        As in `read_items`, which see for errors too: model, score (the metric, by default
        the first listed, EuroEval's own first choice) and skip_bad_lines. Of folders,
        results of EuroEval are read and nothing else.

    Returns
    -------
    pandas.DataFrame
        As from `read_items`, with the columns dataset, task and language (the last two from
        version 16 on): ``MeanRankScore().fit(read_euroeval(path))``.

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
      model topic   item  score dataset
    0   ada   law  law/1    0.5     law
    """
    return read_items(path, format="euroeval", **options)


def read_every_eval_ever(path: Paths, **options: Unpack[ReadOptions]) -> pd.DataFrame:
    """Item rows of Every Eval Ever, from its instance-level JSON Lines.

    Parameters
    ----------
    path, **options
        As in `read_items`, which see for errors too: model, topic, score, cluster and
        skip_bad_lines. Of folders, instance-level files are read and nothing else. `topic`
        and `cluster` name fields of the lines, such as ``"metadata.subject"``; `score` is
        the `evaluation_result_id`.

    Returns
    -------
    pandas.DataFrame
        As from `read_items`.

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
    return read_items(path, format="every_eval_ever", **options)


def read_promptfoo(path: Paths, **options: Unpack[ReadOptions]) -> pd.DataFrame:
    """Item rows of promptfoo, from its JSON or JSON Lines output.

    Parameters
    ----------
    path, **options
        As in `read_items`, which see for errors too: model, topic, score, cluster and
        skip_bad_lines. Of folders, outputs of promptfoo are read and nothing else. `topic`
        and `cluster` name fields of the results, such as ``"testCase.metadata.subject"``;
        `score` is ``"success"`` (the default), ``"score"`` or a named score.

    Returns
    -------
    pandas.DataFrame
        As from `read_items`.

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
    return read_items(path, format="promptfoo", **options)
