"""Which code computes: versions of libraries, a digest of this package, classes of the user's."""

import functools
import hashlib
import inspect
import platform
import sys
from importlib import metadata
from pathlib import Path

_ALWAYS = ("numpy", "scipy", "pandas", "sklearn", "skbench")


def libraries_of(estimators):
    """Versions of what estimators are computed with.

    Parameters
    ----------
    estimators : sequence of estimator
        Their classes, and those of all their parameters, tell which packages count.

    Returns
    -------
    dict of str to str
        Package -> version; of this package a digest of its source, of Python its version.
    """
    names = dict.fromkeys(_ALWAYS)
    for estimator in estimators:
        values = [estimator]
        if hasattr(estimator, "get_params") and not isinstance(estimator, type):
            values += estimator.get_params(deep=True).values()
        names |= dict.fromkeys(_package(type(value)) for value in values)
    versions = {name: version_of(name) for name in names}
    known = {name: version for name, version in versions.items() if version is not None}
    return {"python": platform.python_version()} | known


def is_of_a_library(thing):
    """Whether a class or function is of a package with a version, or of Python itself."""
    name = _package(thing)
    return name in sys.stdlib_module_names or version_of(name) is not None


def code_of_class(cls):
    """Functions of a class and of those it inherits from that no library has, by name."""
    own = {}
    for base in cls.__mro__:
        if is_of_a_library(base):
            continue
        for name, value in vars(base).items():
            value = inspect.unwrap(getattr(value, "__func__", getattr(value, "fget", value)))
            if inspect.isfunction(value):
                own.setdefault(name, value)
    return own


def called_by(function):
    """Functions and classes of no library that a function names, by name."""
    known = function.__globals__
    found = {name: known[name] for name in _names(function.__code__) if name in known}
    return {
        name: value
        for name, value in sorted(found.items())
        if (inspect.isfunction(value) or inspect.isclass(value)) and not is_of_a_library(value)
    }


def _names(code):
    names = set(code.co_names)
    for constant in code.co_consts:
        if inspect.iscode(constant):
            names |= _names(constant)
    return names


def _package(thing):
    return (getattr(thing, "__module__", None) or "builtins").partition(".")[0]


@functools.cache
def version_of(package):
    """Version of a package that is loaded, a digest for this one, None where there is none."""
    if package in sys.stdlib_module_names:
        return None
    if package == "skbench":
        return _digest_of_source()
    version = getattr(sys.modules.get(package), "__version__", None)
    if version is None:
        try:
            version = metadata.version(package)
        except (metadata.PackageNotFoundError, ValueError):
            return None
    return str(version)


def _digest_of_source():
    folder = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    return f"{sys.modules['skbench'].__version__}, source {digest.hexdigest()[:12]}"
