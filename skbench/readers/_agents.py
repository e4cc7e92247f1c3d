"""Benchmarks of agents: tau-bench, tau2-bench, reports of SWE-bench."""

from skbench.readers._json import document, value_at
from skbench.readers._records import Answer, RecordFormat, finite, records_by_line, records_in

# Ways in which a simulation ends that say nothing of the agent.
_INFRASTRUCTURE = ("infrastructure_error", "user_error")


def _tau2(run, head, path):
    """A simulation, as tau2-bench writes it (src/tau2/data_model/simulation.py)."""
    reward = value_at(run, "reward_info.reward")
    failed = run.get("termination_reason") in _INFRASTRUCTURE or reward is None
    agent = value_at(head, "info.agent_info") or {}
    return Answer(
        model=agent.get("llm") or agent.get("implementation") or path.stem,
        topic=value_at(head, "info.environment_info.domain_name") or path.stem,
        item=str(run["task_id"]),
        scores={} if failed else finite({"reward": reward}),
        attempt=int(run.get("trial") or 0) + 1,
        settings=[agent.get("implementation"), agent.get("llm_args")],
    )


def _tau(run, head, path):
    """A run, as tau-bench writes it (tau_bench/types.py, EnvRunResult); no model is told."""
    return Answer(
        model=path.stem,
        topic="tau-bench",
        item=str(run["task_id"]),
        scores={} if "error" in (run.get("info") or {}) else finite({"reward": run["reward"]}),
        attempt=int(run.get("trial") or 0) + 1,
    )


def _swe_instances(path, bad):
    """Instances that were submitted, each with what became of it."""
    report = document(path)
    wrong = {name for part in ("unresolved", "empty_patch") for name in report[f"{part}_ids"]}
    resolved = set(report["resolved_ids"])
    for name in report["submitted_ids"]:
        known = {"resolved": name in resolved} if name in resolved | wrong else {}
        yield name, {"instance_id": name, "scores": known}, report


def _swe(record, report, path):
    """An instance of a report (swebench/harness/reporting.py); the name of the file says whose."""
    name = record["instance_id"]
    return Answer(
        model=path.name.split(".json")[0].rsplit(".", 1)[0].replace("__", "/"),
        topic=name.rsplit("-", 1)[0].replace("__", "/"),
        item=name,
        scores=finite(record["scores"]),
        run=path.as_posix(),
    )


TAU2 = RecordFormat(records_in("simulations"), _tau2, "task_id", repeats=True)
TAU = RecordFormat(records_by_line, _tau, "task_id", repeats=True)
SWE_BENCH = RecordFormat(_swe_instances, _swe, "instance_id")
