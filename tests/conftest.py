"""Fixtures that every room's tests share."""

import os
from collections import Counter
from pathlib import Path

# One thread for each process of `pytest -n`; libraries look when they are imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, settings
from writing import write

# The same examples in every run, and no files of earlier ones; explanations are slow.
settings.register_profile(
    "fixed",
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("fixed")

ROOT = Path(__file__).parents[1]
# Doctests: fixtures hold none, and the script for type checkers is wrong on purpose.
collect_ignore, collect_ignore_glob = ["typing"], ["*conftest.py"]


@pytest.fixture(autouse=True, scope="session")
def workers_at_once():
    """Workers start after the first call, however little there is to do: tests shall see them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skbench._jobs._START", -1.0)
        yield


@pytest.fixture(scope="session")
def data_folder():
    """Folder with real evaluation results; tests that need it skip without it."""
    folder = Path(os.environ.get("SKBENCH_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no folder with real results (set SKBENCH_DATA)")
    return folder


@pytest.fixture(scope="session")
def gold_folder():
    """Numbers from papers and other software, kept with the tests."""
    return Path(__file__).parent / "gold"


@pytest.fixture
def written(tmp_path):
    """Write text, a table or a JSON value to a file of the given name and return its path."""
    return lambda content, name="results.csv": write(tmp_path / name, content)


@pytest.fixture
def edge_groups():
    """Groups at the edges: one item, all wrong, all right, equal variances."""
    n = np.array([1, 1, 5, 10, 10, 200])
    k = np.array([0, 1, 5, 0, 5, 199])
    p = (k + 1) / (n + 2)
    X = pd.DataFrame(
        {"difficulty": [0.1, 0.9, 0.8, 0.2, 0.5, 0.95], "length": [3.0, 1.0, 2.0, 5.0, 4.0, 1.5]},
        index=pd.Index(list("abcdef"), name="topic"),
    )
    return {"X": X, "y": k / n, "sigma2": p * (1 - p) / n, "n": n}


OUTCOMES = ("clear", "right", "raw", "accepted")


@pytest.fixture
def walked(record_property):
    """Count a hostile case: refused in clear words, right, refused in raw words, or accepted.

    The summary of the run prints the sums of every walk.
    """

    def count(walk, **counts):
        assert set(counts) <= set(OUTCOMES), counts
        record_property("walk", (walk, counts))

    return count


def pytest_terminal_summary(terminalreporter):
    """Print the counts of the walks over hostile inputs."""
    walks = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            called = getattr(report, "when", None) == "call"
            for name, value in report.user_properties if called else ():
                if name == "walk":
                    walks.setdefault(value[0], Counter()).update(value[1])
    for walk, counts in sorted(walks.items()):
        shown = ", ".join(f"{counts[outcome]:,} {outcome}" for outcome in OUTCOMES)
        terminalreporter.write_line(f"{walk}: {counts.total():,} cases, {shown}")
