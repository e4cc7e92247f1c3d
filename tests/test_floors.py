"""Imports go strictly down the floors, or stay inside a room."""

import ast
from pathlib import Path

import pytest

import skbench

PACKAGE = Path(skbench.__file__).parent
FLOOR = {
    "_checks": 0,
    "_random": 0,
    "stats": 0,
    "containers": 1,
    "summaries": 2,
    "datasets": 2,
    "readers": 2,
    "groups": 3,
    "ppi": 3,
    "benchmark": 3,
    "selection": 4,
    "studies": 4,
    "plot": 4,
    "report": 5,
    "__main__": 6,
}
HEAVY = {"matplotlib", "xgboost", "lightgbm", "polars", "pyarrow", "click", "rich"}
FILES = sorted(p for p in PACKAGE.rglob("*.py") if p != PACKAGE / "__init__.py")


def room_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_modules(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where they go"
            for alias in node.names:
                inside = node.module in ("skbench", "sklearn")
                yield (f"{node.module}.{alias.name}" if inside else node.module), node


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_down(path):
    room = room_of(path)
    for module, _ in imported_modules(ast.parse(path.read_text())):
        if module.split(".")[0] != "skbench" or room == "report":
            continue
        target = module.split(".")[1]
        inside = target == room
        assert inside or FLOOR[target] < FLOOR[room], f"{room} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_heavy_packages_load_inside_functions(path):
    tree = ast.parse(path.read_text())
    top_level = {name.split(".")[0] for name, node in imported_modules(tree) if node in tree.body}
    # The command line is nothing without click and rich, and nothing imports it.
    own = {"click", "rich"} if room_of(path) == "report" else set()
    assert not top_level & (HEAVY - own)


@pytest.mark.parametrize("path", [p for p in FILES if room_of(p) == "stats"], ids=lambda p: p.name)
def test_stats_know_numpy_and_scipy_only(path):
    standard_library = {"collections", "functools", "importlib", "math", "pathlib", "typing"}
    allowed = {"numpy", "scipy", "skbench"} | standard_library
    used = {name.split(".")[0] for name, _ in imported_modules(ast.parse(path.read_text()))}
    assert used <= allowed


def test_nothing_private_from_scikit_learn():
    for path in FILES:
        for module, _ in imported_modules(ast.parse(path.read_text())):
            parts = module.split(".")
            private = parts[0] == "sklearn" and any(part.startswith("_") for part in parts)
            assert not private, f"{path.name} imports {module}"


def test_a_climbing_import_is_found():
    module, _ = next(imported_modules(ast.parse("from skbench.groups.direct import INTERVALS")))
    assert FLOOR[module.split(".")[1]] > FLOOR["summaries"]
    module, _ = next(imported_modules(ast.parse("from skbench import groups")))
    assert module == "skbench.groups"


def test_public_names_load():
    for name in skbench.__all__:
        assert getattr(skbench, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'EmpiricalBaies'"):
        skbench.EmpiricalBaies  # noqa: B018
