"""Warnings at the line of the user."""

import sys
import warnings


def warn(message, category=UserWarning):
    """Warn at the first line outside of the package that led here."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("skbench."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
