"""HELM: per_instance_stats.json beside run_spec.json in the folder of a run."""

import math
from pathlib import Path

from skbench.readers._json import document
from skbench.readers._logs import Log, choose

# A run folder does not say which of its dozens of metrics is the main one.
_MAIN = (
    "exact_match quasi_exact_match prefix_exact_match quasi_prefix_exact_match "
    "chain_of_thought_correctness math_equiv_chain_of_thought ifeval_strict_accuracy f1_score "
    "rouge_l bleu_4"
).split()


def helm_logs(paths, options, bad, notes):
    """Logs of all runs."""
    options.refuse_fields("HELM")
    runs = []
    for path in paths:
        entries, perturbed = _entries(path, bad)
        if perturbed:
            notes.append(
                f"{str(path.parent)!r}: {perturbed} answers to perturbed questions left out"
            )
        runs.append((path, _spec(path, notes), entries))
    runs = [run for run in runs if run[2]]
    offers = [(_topic(path, spec), _metrics(entries)) for path, spec, entries in runs]
    for (path, _, entries), (_, names) in zip(runs, offers, strict=True):
        if not names and options.score is None:
            every = sorted({name for stats in entries.values() for name in stats})
            raise ValueError(
                f"{str(path)!r} has none of the usual scores. Pass score= (--score), one of: "
                f"{', '.join(every)}."
            )
    if options.score is not None:
        offers = [
            (topic, list({name: None for stats in entries.values() for name in stats}))
            for (topic, _), (_, _, entries) in zip(offers, runs, strict=True)
        ]
    chosen = choose(offers, options.score, "score", "score= (--score)", notes)
    return [_log(*run, chosen) for run in runs]


def _entries(path, bad):
    """Means of all metrics by (instance, train trial); unperturbed test items only."""
    found, metrics_of, perturbed = {}, {}, set()
    listed = document(path)
    if not isinstance(listed, list):
        raise ValueError(f"{str(path)!r} holds no list, so it is no per_instance_stats.json.")
    for number, entry in enumerate(listed, start=1):
        try:
            key = (str(entry["instance_id"]), int(entry["train_trial_index"]))
            stats = {s["name"]["name"]: _mean(s) for s in entry["stats"]}
            split = {s["name"].get("split") for s in entry["stats"]}
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            bad.refuse(path, f"entry {number}", error)
            continue
        if entry.get("perturbation"):
            perturbed.add((*key, str(entry["perturbation"])))
            continue
        if "train" in split:
            continue
        # One entry per metric class: the same instance comes several times, in parts.
        known = metrics_of.setdefault(key, set())
        repeated = known & stats.keys() & set(_MAIN)
        if repeated and any(found[key][m] != stats[m] for m in repeated):
            bad.refuse(path, f"entry {number}", f"repeats instance {key[0]!r}, trial {key[1]}")
            continue
        known.update(stats)
        found.setdefault(key, {}).update(stats)
    return found, len(perturbed)


def _mean(stat):
    if not stat.get("count"):
        return math.nan
    mean = stat["sum"] / stat["count"]
    if math.isinf(mean):
        raise ValueError(f"{stat['name']['name']} is infinite")
    return mean


def _metrics(entries):
    present = {name for stats in entries.values() for name in stats}
    return [name for name in _MAIN if name in present]


def _spec(path, notes):
    beside = path.parent / "run_spec.json"
    if beside.exists():
        spec = document(beside)
        if isinstance(spec, dict):
            return spec
    notes.append(f"no run_spec.json beside {str(path)!r}: model and topic from the folder's name")
    return {}


def _name_parts(path, spec):
    """Scenario and arguments of a run such as ``mmlu:subject=anatomy,model=org_name``."""
    name = spec.get("name") or path.resolve().parent.name
    return name.replace(":", ",", 1).split(",")


def _topic(path, spec):
    """The name of the run without what is the same for all topics, the model."""
    scenario, *arguments = _name_parts(path, spec)
    kept = [a for a in arguments if not a.startswith(("model=", "model_deployment="))]
    return scenario + ":" * bool(kept) + ",".join(kept)


def _log(path, spec, entries, chosen):
    adapter = spec.get("adapter_spec") or {}
    named = [a.partition("=")[2] for a in _name_parts(path, spec) if a.startswith("model=")]
    topic = _topic(path, spec)
    score = chosen[topic]
    instances, trials = zip(*entries, strict=True)
    columns = {
        "item": instances,
        "score": [stats.get(score, math.nan) for stats in entries.values()],
    }
    if len(set(instances)) < len(instances):
        columns["repeat"] = [trial + 1 for trial in trials]
    # The folder that holds the runs of one suite: its runs belong together.
    suite = Path(path).parent.parent.as_posix()
    return Log(
        path=str(path),
        run=suite,
        model=str(adapter.get("model") or (named or [path.resolve().parent.name])[0]),
        topic=topic,
        score_name=score,
        item_name="instance_id",
        columns=columns,
        settings=adapter.get("model_deployment"),
    )
