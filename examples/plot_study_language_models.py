"""
Small and large subjects of two language model benchmarks
=========================================================

We sample items of MMLU-Pro (ten models, 46 subjects) and BIG-Bench-Hard (one model prompted in two
ways, 27 tasks) in proportion to the size of the subjects, the same items for all models. The
accuracies on all items are the true values. A regression by itself helps subjects with few items
and can hurt those with many; empirical Bayes combines both. Set SKBENCH_DATA to a folder with
``mmlu_pro_dev.csv.gz`` (one row per question, columns question_id, src, features and one per model)
and ``bbh_codex.csv.gz`` (mode, task, item, correct). Without these files, the script simulates
items of the same shape.
"""

import os
import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge

from skbench import (
    DirectEstimator,
    EmpiricalBayes,
    RepeatedSamplingStudy,
    RiskDisplay,
    SyntheticRegression,
    make_items,
)
from skbench.assessment import summarize_studies

folder = Path(os.environ.get("SKBENCH_DATA", "."))

# %%
# The arguments of `run` for each data set: one row per answer, groups, features.


def mmlu_pro(path):
    wide = pd.read_csv(path)
    models = wide.columns[wide.columns.get_loc("lsa15") + 1 :].tolist()
    features = [name for name in wide.columns if name.startswith("lsa")]
    keys = ["question_id", "src", *features]
    items = wide.melt(keys, models, var_name="model", value_name="score")
    return {"items": items, "by": ["model", "src"], "item": "question_id", "features": features}


def big_bench_hard(path):
    items = pd.read_csv(path).rename(columns={"mode": "model"})
    return {"items": items, "by": ["model", "task"], "score": "correct"}


def simulated(n_models, sizes):
    data = make_items(n_models, len(sizes), sizes, topic_std=1.0, random_state=0)
    return {"items": data.items, "features": data.features}


data_sets = {}
for name, file, read, shape in (
    ("MMLU-Pro", "mmlu_pro_dev.csv.gz", mmlu_pro, (10, np.geomspace(20, 1000, 46).astype(int))),
    ("BIG-Bench-Hard", "bbh_codex.csv.gz", big_bench_hard, (2, np.full(27, 240))),
):
    if (folder / file).exists():
        data_sets[name] = read(folder / file)
    else:
        print(f"{folder / file} does not exist (set SKBENCH_DATA), so items are simulated.")
        data_sets[f"{name}, simulated"] = simulated(*shape)

# %%
# Ridge keeps this fast; the user guide reports the same study with XGBoost.

estimators = {
    "direct": DirectEstimator(),
    "synthetic regression": SyntheticRegression(Ridge()),
    "empirical Bayes": EmpiricalBayes(Ridge()),
}
studies = {}
for name, arguments in data_sets.items():
    study = RepeatedSamplingStudy(estimators, "proportional", n_repeats=10, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some subjects are too small for the design
        studies[name] = study.run(**arguments)
    sizes = study.results_["n"]
    print(f"{name}: {len(study.truth_)} groups of {sizes.min()} to {sizes.max()} items")
columns = ["mse_ratio", "standard_error", "small", "large", "coverage", "width_ratio"]
table = summarize_studies(studies)
print(table[["guarantee", *columns]].to_string(float_format="%.3f"))

# %%

by_size = {name: study.summary(by="n") for name, study in studies.items()}
rows = pd.concat(
    [
        part.rename(lambda size, name=name: f"{name}, {size}", level="n")
        for name, part in by_size.items()
    ]
)
display = RiskDisplay.from_summary(rows).plot()
if len(sys.argv) > 1:
    display.figure_.savefig(sys.argv[1], dpi=150)
else:
    plt.show()
