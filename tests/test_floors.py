"""Imports go strictly down the floors, or stay inside a room."""

import ast
import sys
from pathlib import Path

import pytest

import skbench

PACKAGE = Path(skbench.__file__).parent
FLOOR = {
    "_checks": 0,
    "_columns": 1,
    "_documented": 0,
    "_files": 0,
    "_jobs": 0,
    "_lazy": 0,
    "_notes": 0,
    "_numbers": 0,
    "_order": 2,
    "_parameters": -1,
    "_population": 1,
    "_printed": 0,
    "_progress": 0,
    "_random": 0,
    "_types": 0,
    "_warnings": -1,
    "_undecided": 0,
    "stats": 0,
    "containers": 1,
    "items": 2,
    "datasets": 3,
    "readers": 3,
    "summaries": 3,
    "groups": 3,
    "plot": 3,
    "bank": 4,
    "ppi": 4,
    "tasks": 4,
    "comparison": 4,
    "assessment": 4,
    "integrations": 5,
    "report": 5,
    "__main__": 6,
}
# These receive estimators as arguments; they import none.
NO_ESTIMATORS = {"assessment", "plot"}
HEAVY = {"matplotlib", "xgboost", "lightgbm", "polars", "pyarrow", "click", "rich"}
TREES = {
    path.relative_to(PACKAGE): ast.parse(path.read_text())
    for path in sorted(PACKAGE.rglob("*.py"))
    if path != PACKAGE / "__init__.py"
}


def room_of(path):
    return path.parts[0].removesuffix(".py")


def imported_modules(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where they go"
            for alias in node.names:
                inside = node.module in ("skbench", "sklearn")
                yield (f"{node.module}.{alias.name}" if inside else node.module), node
        elif isinstance(node, ast.Call) and getattr(node.func, "id", None) == "later":
            yield node.args[0].value, node


def module_of(path):
    return ".".join(("skbench", *path.with_suffix("").parts)).removesuffix(".__init__")


def own_imports(tree):
    """Files of the package that are imported when this one is: not within functions."""
    files = {module_of(path) for path in TREES}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("skbench"):
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from [name for name in inside if name in files] or [node.module]


def climbs(room, module):
    """Whether this import of a file in `room` goes neither down nor stays inside."""
    parts = module.split(".")
    if parts[0] != "skbench" or room == "report":
        return False
    target = parts[1]
    return target != room and FLOOR[target] >= FLOOR[room]


def test_imports_go_down():
    wrong = [
        f"{path} imports {module}"
        for path, tree in TREES.items()
        for module, _ in imported_modules(tree)
        if climbs(room_of(path), module)
    ]
    assert wrong == []


def test_nothing_private_from_another_room():
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    wrong = [
        f"{path} imports {name} of {node.module}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module.startswith("skbench.")
        for name in [alias.name for alias in node.names]
        if (parts := node.module.split("."))[1] in rooms - {room_of(path)}
        and any(part.startswith("_") for part in [*parts[2:], name])
    ]
    assert wrong == []


def test_all_files_are_written_by_one_writer():
    """Nothing else opens a file to write, or hands its name to a library that does."""
    of_paths = {"write_text", "write_bytes", "to_parquet", "dump", "mkstemp", "NamedTemporaryFile"}
    for path, tree in TREES.items():
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        for call in calls if str(path) != "_files.py" else ():
            name = getattr(call.func, "attr", getattr(call.func, "id", None))
            modes = [part.value for part in call.args[1:2] if isinstance(part, ast.Constant)]
            writes = name == "open" and set("wax+") & set("".join(modes))
            writes = writes and ast.unparse(call.args[0]) != "os.devnull"
            writes = writes or name in of_paths or (name == "to_csv" and call.args)
            assert not writes, f"{path}: {ast.unparse(call)}"


def test_no_circle_between_files():
    imports = {module_of(path): set(own_imports(tree)) for path, tree in TREES.items()}
    for start in imports:
        reached, ahead = set(), list(imports[start])
        while ahead:
            module = ahead.pop()
            if module not in reached:
                reached.add(module)
                ahead += imports.get(module, ())
        assert start not in reached, f"{start} imports itself by way of others"


def test_some_rooms_import_no_estimator():
    wrong = [
        f"{path} imports {module}"
        for path, tree in TREES.items()
        if room_of(path) in NO_ESTIMATORS
        for module, _ in imported_modules(tree)
        if module.split(".")[:2] == ["skbench", "groups"]
    ]
    assert wrong == []


def test_heavy_packages_load_inside_functions():
    for path, tree in TREES.items():
        top = {name.split(".")[0] for name, node in imported_modules(tree) if node in tree.body}
        # The command line is nothing without click and rich, and nothing imports it.
        own = {"click", "rich"} if room_of(path) == "report" else set()
        assert not top & (HEAVY - own), path


def test_stats_import_numpy_and_scipy_only():
    allowed = {"numpy", "scipy", "skbench"} | sys.stdlib_module_names
    for path, tree in TREES.items():
        if room_of(path) == "stats":
            used = {name.split(".")[0] for name, _ in imported_modules(tree)}
            assert used <= allowed, path


def test_nothing_private_from_scikit_learn():
    for path, tree in TREES.items():
        for module, _ in imported_modules(tree):
            parts = module.split(".")
            private = parts[0] == "sklearn" and any(part.startswith("_") for part in parts)
            assert not private, f"{path} imports {module}"


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("summaries", "from skbench.groups.direct import INTERVALS"),
        ("tasks", "from skbench import comparison"),
        ("stats", "import skbench.containers"),
        ("items", 'tables = later("skbench.report.tables")'),
    ],
)
def test_a_climbing_import_is_found(room, line):
    module, _ = next(imported_modules(ast.parse(line)))
    assert climbs(room, module)


def test_short_names_of_formulas_are_the_modules_in_their_folders():
    import skbench.stats.binomial

    from skbench.stats.intervals import binomial

    assert skbench.stats.binomial is binomial
    assert sys.modules["skbench.stats.binomial"] is binomial
    with pytest.raises(ModuleNotFoundError):
        import skbench.stats.binomiall


def test_public_names_load():
    for name in skbench.__all__:
        assert getattr(skbench, name) is not None
    with pytest.raises(AttributeError, match="'EmpiricalBaies'"):
        skbench.EmpiricalBaies  # noqa: B018
