"""Formulas on arrays: numpy and scipy only, no classes, no labels.

Modules: `binomial`, `means`, `clustered`, `shrinkage`, `fay_herriot`, `robust_eb`,
`scales`.
"""

from importlib import import_module

_MODULES = ["binomial", "clustered", "fay_herriot", "means", "robust_eb", "scales", "shrinkage"]

__all__ = list(_MODULES)


def __getattr__(name):
    if name in _MODULES:
        return import_module(f"skbench.stats.{name}")
    raise AttributeError(f"module 'skbench.stats' has no attribute {name!r}")
