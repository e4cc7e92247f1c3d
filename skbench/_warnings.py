"""Warnings that point to the user's code."""

import math
import re
import sys
import warnings
from pathlib import Path

# Sources of the free memory of the machine and of its container, with their units in bytes.
_FREE = {
    Path("/proc/meminfo"): (r"MemAvailable:\s*(\d+)", 1024),
    Path("/sys/fs/cgroup/memory.max"): (r"(\d+)", 1),
}


def warn(message, category=UserWarning):
    """Warn at the innermost line outside the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("skbench."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def warn_of_memory(n_bytes, remedy):
    """Warn before a step that needs more memory than is free, because the system may kill it."""
    free = min(_free_memory(), default=math.inf)
    if n_bytes > free:
        warn(
            f"This step needs about {n_bytes / 1e9:.2g} GB of memory, and {free / 1e9:.2g} GB are "
            f"free. The system may kill the process. {remedy}"
        )


def _free_memory():
    for path, (pattern, unit) in _FREE.items():
        if path.exists():
            yield from (int(found) * unit for found in re.findall(pattern, path.read_text()))
