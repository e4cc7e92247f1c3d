"""Read benchmarks of agents: tau-bench, tau2-bench, SWE-bench reports."""

from skbench.readers._answers import Format, answer_of, records_by_line
from skbench.readers._json import document, value_at

# Simulations that ended in these ways do not count in the rates of tau2-bench.
_NO_ANSWER = ("infrastructure_error", "context_window_exceeded")


def _simulations(path, bad, notes):
    """Yield the simulations of a run, or their index if each has its own file."""
    results = document(path)
    found = results.get("simulations") or results["simulation_index"]
    for number, simulation in enumerate(found, start=1):
        yield f"simulations {number}", simulation, results


def _tau2(run, results, path):
    """Convert a simulation of tau2-bench (src/tau2/data_model/simulation.py)."""
    reward = value_at(run, "reward_info.reward")
    reward = run.get("reward") if reward is None else reward
    failed = run.get("termination_reason") in _NO_ANSWER or reward is None
    agent = value_at(results, "info.agent_info") or {}
    return answer_of(
        agent.get("llm") or agent.get("implementation") or path.stem,
        value_at(results, "info.environment_info.domain_name") or path.stem,
        str(run["task_id"]),
        {} if failed else {"reward": reward},
        attempt=int(run.get("trial") or 0) + 1,
        settings=repr([agent.get("implementation"), agent.get("llm_args")]),
        costs={"seconds": run.get("duration"), "cost": run.get("agent_cost")},
    )


def _tau(run, head, path):
    """Convert a run of tau-bench (tau_bench/types.py, EnvRunResult), which names no model."""
    failed = "error" in (run.get("info") or {})
    scores = {} if failed else {"reward": run["reward"]}
    attempt = int(run.get("trial") or 0) + 1
    return answer_of(path.stem, "tau-bench", str(run["task_id"]), scores, attempt=attempt)


def _instances(path, bad, notes):
    """Yield the submitted instances with their outcomes."""
    report = document(path)
    wrong = {name for part in ("unresolved", "empty_patch") for name in report[f"{part}_ids"]}
    resolved = set(report["resolved_ids"])
    for name in report["submitted_ids"]:
        known = {"resolved": name in resolved} if name in resolved | wrong else {}
        yield name, {"instance_id": name, "scores": known}, report


def _swe(record, report, path):
    """Convert an instance (swebench/harness/reporting.py). The file is named for the model."""
    name = record["instance_id"]
    model = path.name.split(".json")[0].rsplit(".", 1)[0].replace("__", "/")
    return answer_of(model, name.rsplit("-", 1)[0].replace("__", "/"), name, record["scores"])


TAU2 = Format(
    "tau2", "tau2-bench", ({"timestamp", "info", "tasks"},), _simulations, _tau2, "task_id"
)
TAU = Format(
    "tau-bench", "tau-bench", ({"task_id", "reward", "traj"},), records_by_line, _tau, "task_id"
)
_SWE_SIGNS = ({"total_instances", "resolved_instances"},)
SWE_BENCH = Format("swe-bench", "SWE-bench", _SWE_SIGNS, _instances, _swe, "instance_id")
