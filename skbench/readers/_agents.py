"""Benchmarks of agents: tau-bench, tau2-bench, reports of SWE-bench."""

from skbench.readers._answers import Answer, Format, Run, records_by_line, records_in
from skbench.readers._json import document, value_at

# Ways in which a simulation ends that say nothing of the agent.
_INFRASTRUCTURE = ("infrastructure_error", "user_error")


def _tau2(run, head, path):
    """A simulation, as tau2-bench writes it (src/tau2/data_model/simulation.py)."""
    reward = value_at(run, "reward_info.reward")
    failed = run.get("termination_reason") in _INFRASTRUCTURE or reward is None
    agent = value_at(head, "info.agent_info") or {}
    return Answer(
        Run(
            model=agent.get("llm") or agent.get("implementation") or path.stem,
            topic=value_at(head, "info.environment_info.domain_name") or path.stem,
            settings=repr([agent.get("implementation"), agent.get("llm_args")]),
        ),
        str(run["task_id"]),
        {} if failed else {"reward": reward},
        attempt=int(run.get("trial") or 0) + 1,
    )


def _tau(run, head, path):
    """A run, as tau-bench writes it (tau_bench/types.py, EnvRunResult); no model is told."""
    return Answer(
        Run(model=path.stem, topic="tau-bench"),
        str(run["task_id"]),
        {} if "error" in (run.get("info") or {}) else {"reward": run["reward"]},
        attempt=int(run.get("trial") or 0) + 1,
    )


def _swe_instances(path, bad, notes):
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
        Run(
            model=path.name.split(".json")[0].rsplit(".", 1)[0].replace("__", "/"),
            topic=name.rsplit("-", 1)[0].replace("__", "/"),
        ),
        name,
        record["scores"],
    )


TAU2 = Format(
    "tau2-bench", ({"timestamp", "info", "tasks"},), records_in("simulations"), _tau2, "task_id"
)
TAU = Format("tau-bench", ({"task_id", "reward", "traj"},), records_by_line, _tau, "task_id")
SWE_BENCH = Format(
    "SWE-bench",
    ({"total_instances", "resolved_instances"},),
    _swe_instances,
    _swe,
    "instance_id",
)
