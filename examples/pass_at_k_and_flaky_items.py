"""
Repeated runs: pass@k, pass^k and flaky items
=============================================

Two randomized classifiers read 100 handwritten digits in eight runs with different seeds. How
often is one of three answers correct, or all three? Which items are flaky? Items are the sample,
so the intervals are over items.
"""

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import ExtraTreeClassifier

from skbench import pass_at_k

images, digits = load_digits(return_X_y=True)
train, asked = slice(0, 400), slice(1000, 1100)
learners = {"single tree": ExtraTreeClassifier(), "five trees": RandomForestClassifier(5)}
rows = []
for name, learner in learners.items():
    for run in range(8):
        learner.set_params(random_state=run).fit(images[train], digits[train])
        right = learner.predict(images[asked]) == digits[asked]
        rows.append(pd.DataFrame({"model": name, "item": np.arange(100), "score": right * 1.0}))
answers = pd.concat(rows)

# %%
# One answer correct, one of three, and all three.
for k, all_of_them in [(1, False), (3, False), (3, True)]:
    found = pass_at_k(answers, k, all_of_them)
    print(f"{found.method}")
    print(found.to_frame()[["value", "low", "high"]].round(2))

# %%
# The paired difference, and items that fail in some runs.
print(pass_at_k(answers, 3).compare("five trees", "single tree"))
reliability = pass_at_k(answers, 1).reliability()
print(reliability.groupby("model")["verdict"].value_counts().unstack(fill_value=0))
print(reliability.query("verdict == 'flaky'").head(3).round(2))
