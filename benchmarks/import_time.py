"""What ``import skbench`` adds to importing pandas and scikit-learn.

Each figure is the best of several fresh processes. Public names load when they are
first used, so the last lines show what the rooms themselves take.

    python benchmarks/import_time.py
"""

import subprocess
import sys

BASE = "import pandas, sklearn"
STEPS = {
    "import skbench": "import skbench",
    "from skbench import summarize_items": "from skbench import summarize_items",
    "from skbench import EmpiricalBayes": "from skbench import EmpiricalBayes",
}
N_RUNS = 7
TIMER = """
import time
{base}
start = time.perf_counter()
{step}
print(time.perf_counter() - start)
"""


def seconds(step, base):
    runs = [
        subprocess.run(
            [sys.executable, "-c", TIMER.format(base=base, step=step)],
            capture_output=True,
            text=True,
            check=True,
        )
        for _ in range(N_RUNS)
    ]
    return min(float(run.stdout) for run in runs)


def main():
    print(f"{'alone, ' + BASE:45s} {seconds(BASE, 'pass'):.3f} s")
    for name, step in STEPS.items():
        print(f"{'then ' + name:45s} {seconds(step, BASE):.3f} s")


if __name__ == "__main__":
    main()
