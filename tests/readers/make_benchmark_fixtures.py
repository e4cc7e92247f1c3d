"""Write the result files of benchmarks, by running the programs' own writers.

Each program is run from an environment of its own, on outcomes of our own, without a network::

    python make_benchmark_fixtures.py swe_bench   # pip install swebench
    python make_benchmark_fixtures.py tau2        # not on PyPI: by its schema

What each folder holds, and which versions wrote it, stands in fixtures/README.md.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

from make_fixtures import ANSWERS, folder_for

# Outcomes of each instance of SWE-bench: resolved, unresolved, empty patch, error, not submitted.
INSTANCES = {
    "django__django-11001": {"ours/alpha-1.5": "r", "ours/beta": "r"},
    "django__django-11019": {"ours/alpha-1.5": "u", "ours/beta": "r"},
    "django__django-11039": {"ours/alpha-1.5": "r", "ours/beta": "e"},
    "sympy__sympy-12236": {"ours/alpha-1.5": "e", "ours/beta": "u"},
    "sympy__sympy-12419": {"ours/alpha-1.5": "x", "ours/beta": "r"},
    "sympy__sympy-12454": {"ours/alpha-1.5": "-", "ours/beta": "-"},
}


def make_swe_bench():
    """Reports of two runs, from the logs that the harness leaves of each instance."""
    from swebench.harness.reporting import make_run_report

    folder = folder_for("swe_bench")
    for model in ("ours/alpha-1.5", "ours/beta"):
        predictions = {}
        with tempfile.TemporaryDirectory() as work:
            os.chdir(work)
            logs = Path("logs/run_evaluation/our-run", model.replace("/", "__"))
            for name, outcomes in INSTANCES.items():
                outcome = outcomes[model]
                if outcome == "-":
                    continue
                patch = "" if outcome == "e" else "diff --git a/x b/x"
                predictions[name] = {
                    "instance_id": name,
                    "model_name_or_path": model,
                    "model_patch": patch,
                }
                if outcome in "ru":
                    (logs / name).mkdir(parents=True)
                    report = {name: {"patch_exists": True, "resolved": outcome == "r"}}
                    (logs / name / "report.json").write_text(json.dumps(report))
            dataset = [{"instance_id": name} for name in INSTANCES]
            make_run_report(predictions, dataset, "our-run", report_dir=folder)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        globals()[f"make_{name}"]()
