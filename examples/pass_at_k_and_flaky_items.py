"""
Repeated tries: pass@k, pass^k and flaky items
==============================================

Two agents try 40 tasks eight times each. One solves more with three tries, the other more
reliably; which tasks are flaky; and what the runs are worth, when tasks are the sample.
"""

import numpy as np
import pandas as pd

from skbench import pass_at_k

rng = np.random.default_rng(0)
ease = rng.beta(0.6, 0.5, 40)
chances = {"bold": 0.1 + 0.7 * ease, "steady": np.where(ease > 0.4, 0.97, 0.03)}
counts = pd.concat(
    [
        pd.DataFrame(
            {"model": name, "item": range(40), "n_correct": rng.binomial(8, p), "n_runs": 8}
        )
        for name, p in chances.items()
    ]
)

# %%
# One try, one of three, all of three.
for k, all_of_them in [(1, False), (3, False), (3, True)]:
    found = pass_at_k(counts, k, all_of_them)
    print(f"{found.method}")
    print(found.to_frame()[["value", "low", "high"]].round(2))

# %%
# The difference, paired by task, and the tasks that fail now and then.
print(pass_at_k(counts, 3).compare("bold", "steady"))
reliability = pass_at_k(counts, 1).reliability()
print(reliability.groupby("model")["verdict"].value_counts().unstack(fill_value=0))
print(reliability.query("verdict == 'flaky'").head(3).round(2))
