"""Results of benchmarks: MT-Bench judgments, OpenCompass, MTEB."""

from skbench.readers._answers import Answer, Format, Run, records_by_line
from skbench.readers._json import document
from skbench.readers.loading import without_suffixes

# Ten questions each, from number 81 on (fastchat/llm_judge/data/mt_bench/question.jsonl).
_MT_BENCH = "writing roleplay reasoning math coding extraction stem humanities".split()


def _mt_bench(record, head, path):
    """A judgment of one answer (fastchat/llm_judge/common.py); -1 where no score was found."""
    question = int(record["question_id"])
    place = (question - 81) // 10
    score = record["score"]
    return Answer(
        Run(
            model=str(record["model"]),
            topic=_MT_BENCH[place] if 0 <= place < len(_MT_BENCH) else "questions",
            name=f"{path.as_posix()}/{record.get('judge')}",
        ),
        f"{question} turn {record.get('turn', 1)}",
        {} if score == -1 else {"score": score},
        cluster=str(question),
    )


def _details(path, bad, notes):
    """Answers by number, as a dict or a list."""
    details = document(path)["details"]
    if isinstance(details, dict):
        details = {key: value for key, value in details.items() if isinstance(value, dict)}
    else:
        details = dict(enumerate(details)) if isinstance(details, list) else {}
    if not details or not all(isinstance(record, dict) for record in details.values()):
        raise ValueError(
            f"{str(path)!r} has no details of single answers, which OpenCompass writes with "
            "dump_eval_details=True. A file of another program is read by format='table'."
        )
    for number, record in details.items():
        yield f"detail {number}", record | {"number": number}, {}


def _opencompass(record, head, path):
    """An answer of results/MODEL/DATASET.json (opencompass/tasks/openicl_eval.py)."""
    scores = ("correct", "is_correct", "score", "acc")
    return Answer(
        Run(model=path.parent.name, topic=without_suffixes(path)),
        str(record["number"]),
        {name: record[name] for name in scores if name in record},
    )


def _subsets(path, bad, notes):
    """Scores of all subsets of all splits: MTEB keeps none of items."""
    result = document(path)
    for split, subsets in result["scores"].items():
        for record in subsets:
            yield f"split {split!r}", record | {"split": split}, result


def _mteb(record, result, path):
    """A subset (mteb/results/task_result.py), in a folder of the model and its revision."""
    return Answer(
        Run(
            model=path.parent.parent.name,
            topic=str(result["task_name"]),
            version=path.parent.name,
        ),
        f"{record['split']} {record['hf_subset']}",
        {"main_score": record["main_score"]} | record,
    )


MT_BENCH = Format(
    "MT-Bench",
    ({"question_id", "judge", "score", "turn"},),
    records_by_line,
    _mt_bench,
    "question_id",
)
OPENCOMPASS = Format("OpenCompass", ({"details"},), _details, _opencompass, "number")
MTEB = Format(
    "MTEB",
    ({"task_name", "mteb_version"},),
    _subsets,
    _mteb,
    "subset",
    note="MTEB keeps one score per task and subset, not per item: an item here is a subset",
)
