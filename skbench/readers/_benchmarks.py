"""Read results of benchmarks: MT-Bench judgments, OpenCompass, MTEB."""

from skbench.readers._answers import Format, answer_of, records_by_line
from skbench.readers._json import document
from skbench.readers.loading import without_suffixes

# Ten questions each, from number 81 on (fastchat/llm_judge/data/mt_bench/question.jsonl).
_MT_BENCH = "writing roleplay reasoning math coding extraction stem humanities".split()
_SCORES = ("correct", "is_correct", "score", "acc")  # of OpenCompass


def _mt_bench(record, head, path):
    """Convert a judgment (fastchat/llm_judge/common.py). -1 stands for no score."""
    question, score = int(record["question_id"]), record["score"]
    place = (question - 81) // 10
    judge, *_ = record["judge"]  # the rest is the prompt, which differs between turns
    return answer_of(
        str(record["model"]),
        _MT_BENCH[place] if 0 <= place < len(_MT_BENCH) else "questions",
        f"{question} turn {record.get('turn', 1)}",
        {} if score == -1 else {"score": score},
        cluster=str(question),
        name=f"{path.as_posix()}/{judge}",
        graders=(("score", f"model {judge!s}"),),
    )


def _details(path, bad, notes):
    """Yield the answers of a file. Scores of several runs are lists."""
    details = document(path)["details"]
    details = dict(enumerate(details)) if isinstance(details, list) else details
    details = details if isinstance(details, dict) else {}
    found = {key: value for key, value in details.items() if isinstance(value, dict)}
    if not found:
        raise ValueError(
            f"{str(path)!r} has no details of answers. Run OpenCompass with "
            "dump_eval_details=True, or pass format='table' if another program wrote the file."
        )
    for number, record in found.items():
        scores = {name: record[name] for name in _SCORES if name in record}
        lists = {name: v if isinstance(v, list) else [v] for name, v in scores.items()}
        for run in range(max(map(len, lists.values()), default=1)):
            own = {name: values[run] for name, values in lists.items() if run < len(values)}
            yield f"detail {number}", {"number": number, "scores": own, "run": run + 1}, {}


def _opencompass(record, head, path):
    """Convert an answer of results/MODEL/DATASET.json (opencompass/tasks/openicl_eval.py)."""
    model, topic = path.parent.name, without_suffixes(path)
    return answer_of(model, topic, str(record["number"]), record["scores"], record["run"])


def _subsets(path, bad, notes):
    """Yield the scores of all subsets of all splits. The head is the model."""
    result, about = document(path), path.parent / "model_meta.json"
    model = document(about).get("name") if about.exists() else None
    for split, subsets in result["scores"].items():
        for record in subsets:
            about_task = {"split": split, "task": result["task_name"]}
            yield f"split {split!r}", record | about_task, model or path.parent.parent.name


def _mteb(record, model, path):
    """Convert a subset (mteb/results/task_result.py), in a folder named for the revision."""
    item = f"{record['split']} {record['hf_subset']}"
    scores = {"main_score": record["main_score"]} | record
    return answer_of(model, str(record["task"]), item, scores, version=path.parent.name)


_MT_BENCH_SIGNS = ({"question_id", "judge", "score", "turn"},)
MT_BENCH = Format(
    "mt-bench", "MT-Bench", _MT_BENCH_SIGNS, records_by_line, _mt_bench, "question_id"
)
OPENCOMPASS = Format("opencompass", "OpenCompass", ({"details"},), _details, _opencompass, "number")
MTEB = Format(
    "mteb",
    "MTEB",
    ({"task_name", "mteb_version"},),
    _subsets,
    _mteb,
    "subset",
    note="MTEB keeps one score per task and subset, so each subset is an item here",
)
