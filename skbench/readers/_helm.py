"""Read HELM runs: per_instance_stats.json and run_spec.json in the folder of a run."""

import math

from skbench._notes import LOST, Note
from skbench.readers._answers import Answer, Format, Run
from skbench.readers._json import document

# A run has dozens of metrics, and its files do not name the main one.
_USUAL = (
    "exact_match quasi_exact_match prefix_exact_match quasi_prefix_exact_match "
    "chain_of_thought_correctness math_equiv_chain_of_thought ifeval_strict_accuracy f1_score "
    "rouge_l bleu_4"
).split()


def _records(path, bad, notes):
    """Yield entries of unperturbed test instances. The head is the run."""
    entries = document(path)
    run, n_perturbed = _run(path, notes), 0
    for number, entry in enumerate(entries, start=1):
        if entry.get("perturbation"):
            n_perturbed += 1
        elif "train" not in {stat["name"].get("split") for stat in entry.get("stats", ())}:
            yield f"entry {number}", entry, run
    if n_perturbed:
        text = f"skipped {n_perturbed} answers to perturbed questions in {str(path.parent)!r}"
        notes.append(Note(text, LOST))


def _answer(entry, run, path):
    """Convert an entry. An instance has one entry per class of metrics."""
    found = {stat["name"]["name"]: _mean(stat) for stat in entry["stats"]}
    tokens = [found.get(f"num_{part}_tokens") for part in ("prompt", "output")]
    return Answer(
        run,
        str(entry["instance_id"]),
        found,
        attempt=int(entry["train_trial_index"]) + 1,
        costs={
            "tokens": None if None in tokens else sum(tokens),
            "seconds": found.get("inference_runtime"),
        },
    )


def _mean(stat):
    return stat["sum"] / stat["count"] if stat.get("count") else math.nan


def _run(path, notes):
    """Return the run by its specification, or else by the name of its folder."""
    beside = path.parent / "run_spec.json"
    spec = document(beside) if beside.exists() else None
    if not isinstance(spec, dict):
        notes.append(
            f"no run_spec.json beside {str(path)!r}, so the folder's name gives model and topic"
        )
        spec = {}
    folder = path.resolve().parent.name
    # Such as mmlu:subject=anatomy,model=org_name.
    scenario, *arguments = (spec.get("name") or folder).replace(":", ",", 1).split(",")
    kept = [a for a in arguments if not a.startswith(("model=", "model_deployment="))]
    named = [a.partition("=")[2] for a in arguments if a.startswith("model=")]
    adapter = spec.get("adapter_spec") or {}
    return Run(
        model=str(adapter.get("model") or (named or [folder])[0]),
        topic=scenario + ":" * bool(kept) + ",".join(kept),
        name=path.parent.parent.as_posix(),  # the folder of the suite, whose runs belong together
        settings=str(adapter.get("model_deployment")),
    )


HELM = Format(
    "helm",
    "HELM",
    ({"instance_id", "stats"},),
    _records,
    _answer,
    item_name="instance_id",
    in_parts=True,
    usual=tuple(_USUAL),
)
