"""Formulas on arrays, with numpy and scipy only.

The modules are in folders by family. Each module also has a short name, such as
``skbench.stats.binomial`` for ``skbench.stats.intervals.binomial``.
"""

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path

_HERE = Path(__file__).parent
_FAMILIES = sorted(p.parent.name for p in _HERE.glob("*/__init__.py"))
_FAMILY_OF = {p.stem: p.parent.name for p in sorted(_HERE.glob("*/[a-z]*.py"))}

__all__ = sorted([*_FAMILIES, *_FAMILY_OF])


def __getattr__(name):
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'skbench.stats' has no attribute {name!r}")


class _ShortNames(MetaPathFinder, Loader):
    """Lets ``import skbench.stats.binomial`` find the very module in its folder."""

    def find_spec(self, fullname, path=None, target=None):
        package, _, name = fullname.rpartition(".")
        known = package == __name__ and name in _FAMILY_OF
        return ModuleSpec(fullname, self) if known else None

    def exec_module(self, module):
        name = module.__name__.rpartition(".")[2]
        # The import system takes what stands in sys.modules after this.
        sys.modules[module.__name__] = import_module(f"{__name__}.{_FAMILY_OF[name]}.{name}")


sys.meta_path.append(_ShortNames())
