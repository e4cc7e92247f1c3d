"""Lazy loading of public names, listed in the stub of the package, and of modules."""

import ast
import sys
from importlib import import_module
from importlib.util import LazyLoader, find_spec, module_from_spec
from pathlib import Path


def attach(package, file):
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package from its stub."""
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    modules = {alias.name: node.module for node in imports for alias in node.names}
    names = sorted(modules)

    def load(name):
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if modules[name] == package:  # the name is a module of the package
            return import_module(f"{package}.{name}")
        value = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: names, names


def later(name):
    """Return a module whose code runs when an attribute is first used."""
    if name not in sys.modules:
        spec = find_spec(name)
        spec.loader = LazyLoader(spec.loader)
        sys.modules[name] = module = module_from_spec(spec)
        spec.loader.exec_module(module)
        package, _, last = name.rpartition(".")
        setattr(sys.modules[package], last, module)
    return sys.modules[name]
