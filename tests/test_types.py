"""What type checkers see: the public names, their signatures, and users' mistakes."""

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import pytest

import skbench
from skbench import stats

ROOT = Path(__file__).parents[1]
MISTAKES = Path(__file__).parent / "typing" / "mistakes.py"
ROOMS = [name for name in skbench.__all__ if inspect.ismodule(getattr(skbench, name))]
ROOMS.remove("stats")
WITH_STUBS = ("comparison", "groups", "integrations", "ppi", "summaries")


def names_in_stub(module):
    """Public names in the stub of a package, by the module they come from."""
    tree = ast.parse(Path(module.__file__).with_suffix(".pyi").read_text())
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    for alias in (alias for node in imports for alias in node.names):
        assert alias.name == alias.asname  # without "as", a stub keeps names to itself
    return {
        node.module.removeprefix(module.__name__).lstrip("."): [alias.name for alias in node.names]
        for node in imports
    }


def test_stubs_have_the_public_names_and_their_homes():
    for module in (skbench, *(getattr(skbench, name) for name in WITH_STUBS)):
        for home, names in names_in_stub(module).items():
            inside = importlib.import_module(".".join(filter(None, [module.__name__, home])))
            for name in names:
                assert getattr(inside, name) is getattr(module, name)
    assert set(names_in_stub(skbench)[""]) == {*ROOMS, "stats"}
    families = {}
    for name, family in stats._FAMILY_OF.items():
        families[family] = sorted([*families.get(family, []), name])
    assert names_in_stub(stats) == {"": stats._FAMILIES} | families


def functions_of(value):
    """Public functions and methods that are written in this package."""
    if inspect.isfunction(value):
        yield value.__qualname__, inspect.unwrap(value)
    if not inspect.isclass(value):
        return
    for home in value.__mro__:
        for name, member in vars(home).items() if home.__module__.startswith("skbench.") else ():
            if isinstance(member, property):
                member = member.fget
            elif isinstance(member, cached_property):
                member = member.func
            member = inspect.unwrap(getattr(member, "__func__", member))
            made = inspect.isfunction(member) and member.__code__.co_filename.startswith("<")
            if inspect.isfunction(member) and not made and (name[0] != "_" or name == "__init__"):
                yield f"{home.__qualname__}.{name}", member


@pytest.mark.parametrize("room", ROOMS)
def test_public_signatures_are_annotated(room):
    module = importlib.import_module(f"skbench.{room}")
    names = getattr(module, "__all__", None) or names_in_stub(skbench)[room]
    for name in names:
        for function, code in functions_of(getattr(module, name)):
            signature = inspect.signature(code)
            bare = [
                p.name
                for p in signature.parameters.values()
                if p.name not in ("self", "cls") and p.annotation is p.empty
            ]
            if signature.return_annotation is signature.empty:
                bare.append("return")
            assert bare == [], f"{function} lacks annotations of {', '.join(bare)}"


def lines_found(*command):
    """Lines of the script with mistakes that a checker names; it must pass the examples."""
    paths = ["examples", MISTAKES.relative_to(ROOT).as_posix()]
    process = subprocess.run(
        [sys.executable, "-m", *command, *paths], cwd=ROOT, capture_output=True, text=True
    )
    return process.stdout, process.stderr


EXPECTED = [
    number
    for number, line in enumerate(MISTAKES.read_text().splitlines(), start=1)
    if "# mistake: " in line
]


@pytest.mark.slow
def test_mypy_finds_the_mistakes_and_no_others():
    pytest.importorskip("mypy")
    said, errors = lines_found("mypy")
    found = re.findall(r"^(\S+?):(\d+): error", said, flags=re.MULTILINE)
    name = MISTAKES.relative_to(ROOT).as_posix()
    assert len(EXPECTED) == 3
    assert found == [(name, str(line)) for line in EXPECTED], said + errors


@pytest.mark.slow
def test_pyright_finds_the_mistakes_and_no_others():
    pytest.importorskip("basedpyright")
    said, errors = lines_found("basedpyright", "--outputjson", "--pythonpath", sys.executable)
    found = [
        (Path(d["file"]).name, d["range"]["start"]["line"] + 1)
        for d in json.loads(said)["generalDiagnostics"]
        if d["severity"] == "error"
    ]
    assert found == [(MISTAKES.name, line) for line in EXPECTED], said + errors
