"""What is loaded when first used: public names, listed in the stub of the package, and modules."""

import ast
import sys
from importlib import import_module
from importlib.util import LazyLoader, find_spec, module_from_spec
from pathlib import Path


def attach(package, file):
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package, by its ``__init__.pyi``."""
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    homes = {alias.name: node.module for node in imports for alias in node.names}
    names = sorted(homes)

    def load(name):
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == package:  # a module of the package
            return import_module(f"{package}.{name}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: names, names


def later(name):
    """A module that runs when something of it is first used."""
    if name not in sys.modules:
        spec = find_spec(name)
        spec.loader = LazyLoader(spec.loader)
        sys.modules[name] = module = module_from_spec(spec)
        spec.loader.exec_module(module)
        package, _, last = name.rpartition(".")
        setattr(sys.modules[package], last, module)
    return sys.modules[name]
