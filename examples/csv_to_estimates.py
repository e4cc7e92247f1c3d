"""
From a file of results to a table and a figure
==============================================

This example does in Python what ``skbench estimate`` does: read a file with other column names,
summarize it, estimate, compare the intervals, and save the table. Then it runs the command.
"""

import io
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    ForestDisplay,
    make_items,
    summarize_items,
)
from skbench.readers import read_with_notes
from skbench.report.cli import main

folder = Path(tempfile.mkdtemp())

# %%
# The file has one row per system and question, as evaluation programs write it.

simulated = make_items(n_models=3, n_topics=30, n_items=10, feature_noise=0.2, random_state=2)
results = simulated.items.drop(columns="cluster").rename(
    columns={"model": "system", "topic": "task", "item": "question_id", "score": "correct"}
)
results["length"] = results["task"].map(simulated.features["feature"]).round(2)
results.to_csv(folder / "results.csv", index=False)
print(results.head(3).to_string(index=False))

# %%
# The reader recognizes usual column names and reports their roles.

read = read_with_notes(folder / "results.csv")
items = read.items
print("\n" + "\n".join(read.notes))

# %%
# ``features=["length"]`` uses the group mean of an item column as a feature.

summary = summarize_items(items, ["model", "topic"], features=["length"])
direct = DirectEstimator().fit(**summary.fit_args).estimate()
eb = EmpiricalBayes(random_state=0).fit(**summary.fit_args).estimate()
print(f"\n{eb}")
narrower = (eb.high - eb.low).mean() / (direct.high - direct.low).mean()
print(f"\nintervals are on average {narrower:.2f} times as wide as the direct ones")
eb.to_frame().to_csv(folder / "estimates.csv")

# %%

one_model = [label for label in summary.labels if label[0] == "model-0"]
forest = ForestDisplay.from_estimates({"direct": direct, "EB": eb}, labels=one_model, sort_by="EB")
picture = sys.argv[1] if len(sys.argv) > 1 else folder / "forest.png"
forest.plot(xlabel="accuracy").figure_.savefig(picture, dpi=150)
print(f"written: {sorted(path.name for path in folder.iterdir())}")

# %%
# The command is ``skbench estimate results.csv --features length``.

output = io.StringIO()
try:
    with redirect_stdout(output):
        main(["estimate", str(folder / "results.csv"), "--features", "length"])
except SystemExit as end:
    print(f"\nexit code {end.code}; the first lines of the output:\n")
print("\n".join(output.getvalue().splitlines()[:9]))
