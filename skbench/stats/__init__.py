"""Formulas on arrays: numpy and scipy only, no classes, no labels."""

from importlib import import_module
from pathlib import Path

_MODULES = sorted(p.stem for p in Path(__file__).parent.glob("[a-z]*.py"))

__all__ = list(_MODULES)


def __getattr__(name):
    if name in _MODULES:
        return import_module(f"skbench.stats.{name}")
    raise AttributeError(f"module 'skbench.stats' has no attribute {name!r}")
