"""Parallel calls, if these save time."""

import time
from math import inf

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

_START = 3.0  # seconds to start workers and import packages
_LOAD = 10  # slowdown by other processes up to which CPU time is used instead of elapsed time


def results(function, calls, total, n_jobs):
    """Yield the results of calls in order, using workers if these save more than their start-up.

    The first calls run in this process to estimate the time of the others. The estimate is the
    faster of the last two calls, because a call may import modules or find a cached result.
    Threads start at once and need no estimate.
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
