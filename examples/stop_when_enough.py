"""
Stop when enough
================

Two models run on batches of ten items until one is significantly better, with a look after every
batch. A t test repeated after every batch is wrong a third of the time. A confidence sequence is
valid at every look, and its state is saved in a file.
"""

import tempfile
from pathlib import Path

import numpy as np
from scipy.stats import ttest_1samp

from skbench import SequentialComparison, load_digits_c

# %%
# Equal models and 60 looks: how often is there a false positive?
rng = np.random.default_rng(0)
n_runs, wrong = 100, {"t test": 0, "confidence sequence": 0}
for _ in range(n_runs):
    a, b = rng.random((2, 600)) < 0.7
    d = a * 1.0 - b
    looks = range(20, 601, 10)
    wrong["t test"] += any(ttest_1samp(d[:n], 0).pvalue < 0.05 for n in looks)
    race = SequentialComparison()
    for start in range(0, 600, 10):
        race.update(a[start : start + 10], b[start : start + 10])
    wrong["confidence sequence"] += race.result.verdict != "undecided"
for name, count in wrong.items():
    print(f"{name:20s} wrong in {count} of {n_runs} runs")

# %%
# Two real classifiers on corrupted digits, in random order, with a saved state after every batch. A
# small part of the items of 50 topics is enough.
scores = load_digits_c().items.pivot(index=["topic", "item"], columns="model", values="score")
best, *_, worst = scores.mean().sort_values(ascending=False).index
order = scores.sample(frac=1, random_state=0)
path = Path(tempfile.mkdtemp()) / "race.json"
race = SequentialComparison(names=(best, worst), max_items=len(order))
while not race.result.stop:
    batch = order[race.n_items :][:10]  # its index contains the ids
    race.update(batch[best], batch[worst])
    race.save(path)
print(SequentialComparison.load(path).result)
print(f"on all {len(order):,} items: {np.subtract(*scores[[best, worst]].mean()):.4f}")

# %%
# Equal models: after some time, continuing is futile.
race = SequentialComparison(names=("ada", "bob"), max_items=400)
while not race.result.stop and race.n_items < 400:
    result = race.update(rng.random(10) < 0.7, rng.random(10) < 0.7)
print(race.result)
