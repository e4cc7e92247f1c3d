"""Workers start if they save time, and results keep the order of the calls."""

import threading
from types import SimpleNamespace

import joblib
import pytest
from joblib._parallel_backends import ThreadingBackend

from skbench import _jobs


@pytest.fixture
def here(monkeypatch):
    """Run calls on a simulated clock, and count those in this thread."""
    now, start, main = [0.0], 3.0, threading.get_ident()
    clock = SimpleNamespace(perf_counter=lambda: now[0], process_time=lambda: now[0])
    monkeypatch.setattr(_jobs, "time", clock)
    monkeypatch.setattr(_jobs, "_START", start)

    def call(number, seconds):
        now[0] += seconds
        return number, threading.get_ident() == main

    class Processes(ThreadingBackend):  # a name that differs from this thread
        supports_sharedmem = False

    def run(taken, n_jobs=2, backend=None):
        now[0] = 0.0
        with joblib.parallel_config(backend or Processes()):
            found = list(_jobs.results(call, enumerate(taken), len(taken), n_jobs))
        numbers, where = zip(*found, strict=True)
        assert numbers == tuple(range(len(taken)))
        return sum(where)

    return run


@pytest.mark.parametrize(
    ("taken", "first"),
    [
        ([0.1] * 50, 50),  # 2.4 s saved of 3 that the start costs
        ([0.1] * 70, 2),
        ([1.0] + [0.1] * 49, 50),  # the first call imports
        ([9.0] * 4, 1),
        ([0.0] * 5 + [1.0] * 20, 7),  # results kept by an earlier run come first
    ],
)
def test_workers_start_where_they_save_time(here, taken, first):
    assert here(taken) == first
    assert here(taken, n_jobs=1, backend="sequential") == len(taken)


def test_threads_start_at_once(here):
    assert here([1.0] * 4, backend="threading") == 0


def test_backends_without_generators_give_lists(here, monkeypatch):
    monkeypatch.setattr(ThreadingBackend, "supports_return_generator", False)
    assert here([9.0] * 4) == 1
    assert here([0.1] * 4) == 4  # nothing is left for workers
