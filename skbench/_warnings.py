"""Warnings at the line of the user."""

import math
import re
import sys
import warnings
from pathlib import Path

# What the machine, and its container, leave to a process, in units of so many bytes.
_FREE = {
    Path("/proc/meminfo"): (r"MemAvailable:\s*(\d+)", 1024),
    Path("/sys/fs/cgroup/memory.max"): (r"(\d+)", 1),
}


def warn(message, category=UserWarning):
    """Warn at the first line outside of the package that led here."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("skbench."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def warn_of_memory(n_bytes, remedy):
    """Warn before a step that takes more memory than is free: the system would end it unasked."""
    free = min(_free_memory(), default=math.inf)
    if n_bytes > free:
        warn(
            f"This takes some {n_bytes / 1e9:.2g} GB of memory, and {free / 1e9:.2g} GB are free: "
            f"the system may end it. {remedy}"
        )


def _free_memory():
    for path, (pattern, unit) in _FREE.items():
        if path.exists():
            yield from (int(found) * unit for found in re.findall(pattern, path.read_text()))
