"""Results of benchmarks: MT-Bench judgments, OpenCompass, MTEB."""

from skbench.readers._json import document
from skbench.readers._records import Answer, RecordFormat, finite, records_by_line
from skbench.readers.loading import without_suffixes

# Ten questions each, from number 81 on (fastchat/llm_judge/data/mt_bench/question.jsonl).
_MT_BENCH = "writing roleplay reasoning math coding extraction stem humanities".split()


def _mt_bench(record, head, path):
    """A judgment of one answer (fastchat/llm_judge/common.py); -1 where no score was found."""
    question = int(record["question_id"])
    place = (question - 81) // 10
    score = record["score"]
    return Answer(
        model=str(record["model"]),
        topic=_MT_BENCH[place] if 0 <= place < len(_MT_BENCH) else "questions",
        item=f"{question} turn {record.get('turn', 1)}",
        scores={} if score == -1 else finite({"score": score}),
        run=f"{path.as_posix()}/{record.get('judge')}",
        cluster=str(question),
    )


def _details(path, bad):
    """Answers by number, as a dict or a list."""
    details = document(path)["details"]
    if isinstance(details, dict):
        details = {key: value for key, value in details.items() if isinstance(value, dict)}
    else:
        details = dict(enumerate(details)) if isinstance(details, list) else {}
    if not details or not all(isinstance(record, dict) for record in details.values()):
        raise ValueError(
            f"{str(path)!r} has no details of single answers, which OpenCompass writes with "
            "dump_eval_details=True. A file of another program is read by format='table' "
            "(--format table)."
        )
    for number, record in details.items():
        yield f"detail {number}", record | {"number": number}, {}


def _opencompass(record, head, path):
    """An answer of results/MODEL/DATASET.json (opencompass/tasks/openicl_eval.py)."""
    scores = {
        name: record[name] for name in ("correct", "is_correct", "score", "acc") if name in record
    }
    return Answer(
        model=path.parent.name,
        topic=without_suffixes(path),
        item=str(record["number"]),
        scores=finite(scores),
    )


def _subsets(path, bad):
    """Scores of all subsets of all splits: MTEB keeps none of items."""
    result = document(path)
    for split, subsets in result["scores"].items():
        for record in subsets:
            yield f"split {split!r}", record | {"split": split}, result


def _mteb(record, result, path):
    """A subset (mteb/results/task_result.py), in a folder of the model and its revision."""
    return Answer(
        model=path.parent.parent.name,
        version=path.parent.name,
        topic=str(result["task_name"]),
        item=f"{record['split']} {record['hf_subset']}",
        scores=finite({"main_score": record["main_score"]} | record),
    )


MT_BENCH = RecordFormat(records_by_line, _mt_bench, "question_id")
OPENCOMPASS = RecordFormat(_details, _opencompass, "number")
MTEB = RecordFormat(
    _subsets,
    _mteb,
    "subset",
    note="MTEB keeps one score per task and subset, not per item: an item here is a subset",
)
