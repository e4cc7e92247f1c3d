"""A study that is killed at random moments, and what a resume makes of it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from skbench import DirectEstimator, EmpiricalBayes, RepeatedSamplingStudy, make_items

pytest.importorskip("pyarrow")
ROOT = Path(__file__).parents[2]

N_REPEATS = 120


def make_study(path=None, n_jobs=1):
    estimators = {"direct": DirectEstimator(), "EB": EmpiricalBayes(Ridge(), cv=2)}
    return RepeatedSamplingStudy(
        estimators, 10, N_REPEATS, random_state=0, path=path, n_jobs=n_jobs
    )


def run(study):
    data = make_items(3, 12, 50, random_state=0)
    return study.run(data.items, features=data.features)


if __name__ == "__main__":
    print("ready", flush=True)
    run(make_study(sys.argv[1], int(sys.argv[2])))


def start(path, n_jobs):
    searched = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    process = subprocess.Popen(
        [sys.executable, __file__, str(path), str(n_jobs)],
        env=os.environ | {"PYTHONPATH": searched},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    process.stdout.readline()
    return process


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ten_kills_and_a_resume_are_as_if_nothing_had_happened(tmp_path, n_jobs):
    whole = run(make_study()).results_
    rng = np.random.default_rng(n_jobs)
    found, kills = 0, 0
    while kills < 10:
        process = start(tmp_path, n_jobs)
        # Wait for progress, so that a slow machine is not killed before it begins.
        while process.poll() is None and len(list(tmp_path.glob("*.parquet"))) == found:
            time.sleep(0.01)
        time.sleep(rng.exponential(0.1))
        assert process.poll() is None, "it finished before it was killed ten times"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
        names = [path.name.split("-")[1] for path in tmp_path.glob("*.parquet")]
        assert len(names) == len(set(names)) and len(names) > found
        found = len(names)
    assert 10 <= found < N_REPEATS
    resumed = run(make_study(tmp_path, n_jobs)).results_
    pd.testing.assert_frame_equal(resumed, whole, check_exact=True)
    assert not list(tmp_path.glob("*.unfinished"))
