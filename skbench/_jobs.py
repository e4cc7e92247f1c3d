"""Calls side by side, where that saves time."""

import time
from math import inf

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

_START = 3.0  # seconds until workers are there and have imported what they need
_LOAD = 10  # where other work slows calls down by less, it slows the start down likewise


def results(function, calls, total, n_jobs):
    """Yield the result of every call in order, from workers once these save more than their start.

    The first calls run here and tell how long the others take: the faster of the last two, as the
    first may import things, and calls may find their results kept. Threads have no start to save.
    """
    calls, workers, before = iter(calls), effective_n_jobs(n_jobs), inf
    backend, _ = get_active_backend()
    waits = workers > 1 and not getattr(backend, "supports_sharedmem", False)
    for number, call in enumerate(calls if waits else (), start=1):
        start, worked = time.perf_counter(), time.process_time()
        result = function(*call)
        waited = (time.perf_counter() - start) / _LOAD
        last = max(time.process_time() - worked, waited)
        yield result
        saved = min(before, last) * (total - number) * (1 - 1 / workers)
        if saved > _START and (number > 1 or last > _START):
            break
        before = last
    else:
        if waits:
            return
    how = "generator" if backend.supports_return_generator else "list"
    yield from Parallel(n_jobs, return_as=how)(delayed(function)(*call) for call in calls)
