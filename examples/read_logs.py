"""
Read the logs of two evaluation programs into one table
=======================================================

This example writes small logs in the formats of lm-evaluation-harness and Inspect, reads the
folder, and prints the notes. For your own logs, one call is enough, or ``skbench report FOLDER``.
"""

import json
import tempfile
from pathlib import Path

import numpy as np

from skbench import DirectEstimator, read_items, summarize_items
from skbench.readers import read_with_notes

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)

# %%
# lm-evaluation-harness writes a folder per model and a file per task. Here each has two filters.

for name, ability in {"ada": 0.8, "bob": 0.6}.items():
    (folder / name).mkdir()
    for task in ("algebra", "law"):
        samples = [
            {
                "doc_id": i,
                "target": "",
                "resps": [],
                "filtered_resps": [],
                "filter": filter_name,
                "metrics": ["exact_match"],
                "exact_match": float(rng.random() < ability - loss),
            }
            for filter_name, loss in {"strict-match": 0.1, "flexible-extract": 0.0}.items()
            for i in range(30)
        ]
        path = folder / name / f"samples_{task}_2026-01-01T12-00-00.000000.jsonl"
        path.write_text("\n".join(map(json.dumps, samples)))

# %%
# Inspect writes a log per task. Here one model has three epochs.

for task in ("algebra", "law"):
    log = {"version": 2, "status": "success", "eval": {"task": task, "model": "org/eve"}}
    log["samples"] = [
        {"id": i, "epoch": epoch, "scores": {"match": {"value": "CI"[int(rng.random() < 0.3)]}}}
        for epoch in (1, 2, 3)
        for i in range(30)
    ]
    (folder / f"2026-01-01_{task}.json").write_text(json.dumps(log))

# %%
# One call reads all logs, and the notes report every choice.

read = read_with_notes(folder, filter="flexible-extract")
items = read.items
print(items.head(3).to_string())
for note in read.notes:
    print("-", note.replace(str(folder), "logs"))

# %%
# Three answers to one question are dependent, so the item is their cluster.

summary = summarize_items(items, by=["model", "topic"], cluster="item")
estimate = DirectEstimator(interval="t").fit(**summary.fit_args).estimate()
print(estimate.to_frame()[["value", "low", "high", "standard_error"]].round(3))

# %%
# A truncated line raises an error with its place. ``skip_bad_lines=True`` skips and counts it.

with open(folder / "ada" / "samples_law_2026-01-01T12-00-00.000000.jsonl", "a") as file:
    file.write('\n{"doc_id": 30, "tar')
try:
    read_items(folder)
except ValueError as error:
    print("ValueError:", str(error).replace(str(folder), "logs"))
print(read_with_notes(folder, skip_bad_lines=True).notes[-1].replace(str(folder), "logs"))
