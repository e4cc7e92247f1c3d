"""Whether a change of code left estimates where they were, on the cells of `precision.py`.

Run it with the package as it was, and then as it is; it prints, per cell, the largest change of
an estimate, an interval end or a standard error, in the units of the score.

    git worktree add /tmp/before main && cd /tmp/before
    PYTHONPATH=$PWD python benchmarks/same_numbers.py /tmp/before.pkl
    PYTHONPATH=... python benchmarks/same_numbers.py /tmp/after.pkl --against /tmp/before.pkl

The data is read from $SKBENCH_DATA or ../shared/data.
"""

import argparse
import time

import numpy as np
import pandas as pd
from precision import DESIGNS, SETS, study

import skbench
from skbench import AveragedEstimator, GaussianMixedModel

ESTIMATORS = {"averaged": AveragedEstimator(), "Gaussian mixed": GaussianMixedModel()}
NUMBERS = ["estimate", "low", "high"]


def values(halves, designs):
    found, spent = {}, time.process_time()
    for half in halves:
        for name, make in SETS[half].items():
            data = make()
            for chosen in designs:
                done = study(name, data, chosen, ESTIMATORS, 1, None)
                if done is not None:
                    found[f"{name}, {chosen}"] = done.results_[["estimator", *NUMBERS]]
    print(f"{skbench.__path__[0]}: {time.process_time() - spent:.0f} s of processor time")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="where the values go")
    parser.add_argument("--against", help="a file of earlier values")
    parser.add_argument("--half", choices=[*SETS, "both"], default="both")
    parser.add_argument("--only", type=int, help="one design")
    arguments = parser.parse_args()
    halves = list(SETS) if arguments.half == "both" else [arguments.half]
    designs = DESIGNS if arguments.only is None else [arguments.only]
    now = values(halves, designs)
    pd.to_pickle(now, arguments.file)
    if arguments.against is None:
        return
    before = pd.read_pickle(arguments.against)
    largest = {}
    for cell, table in now.items():
        old = before[cell]
        changes = np.abs(table[NUMBERS].to_numpy() - old[NUMBERS].to_numpy()).max(axis=1)
        largest[cell] = pd.Series(changes).groupby(table["estimator"].to_numpy()).max()
    changes = pd.DataFrame(largest).T
    print(changes.to_string(float_format="%.1e"))
    print(f"largest of {len(changes)} cells: {changes.to_numpy().max():.1e}")


if __name__ == "__main__":
    main()
