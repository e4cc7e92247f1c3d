"""The documentation: its code runs, and no public name is missing from it."""

import ast
import builtins
import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import skbench
from skbench import stats

DOC = Path(__file__).parents[1] / "doc"
PAGES = [
    page
    for page in sorted(DOC.rglob("*.rst"))
    if not {"generated", "gallery", "_templates", "_build"} & set(page.parts)
]
# Each takes seconds; what they use runs in the other pages and in doctests.
SLOW_PAGES = (
    *("composition", "confusion_matrices", "datasets", "grouped_ppi", "pass_at_k", "selection"),
    *("structured_regression", "studies"),
)
SLOW = {DOC / "user_guide" / f"{name}.rst" for name in SLOW_PAGES}
# They use other programs, and run in tests/integrations.
OTHERS = {DOC / "user_guide" / f"{name}.rst" for name in ("trackers",)}
GUIDE = [
    pytest.param(page, marks=pytest.mark.slow if page in SLOW else ())
    for page in PAGES
    if ">>>" in page.read_text() and page not in OTHERS
]
API = sorted((DOC / "api").glob("*.rst"))
ROOMS = [name for name in skbench.__all__ if inspect.ismodule(getattr(skbench, name))]


def listed_names():
    """Full names in the autosummaries of the API pages."""
    names = set()
    for page in API:
        module, in_summary = None, False
        for line in page.read_text().splitlines():
            if line.startswith(".. currentmodule:: "):
                module = line.split()[-1]
            if line and not line.startswith(" "):
                in_summary = line == ".. autosummary::"
            elif in_summary and line.strip() and not line.strip().startswith(":"):
                names.add(f"{module}.{line.strip()}")
    return names


def public_names():
    """Full names that the API pages must list."""
    rooms = set(ROOMS) - {"stats"}
    names = {f"skbench.{n}" for n in skbench.__all__ if n not in ROOMS and n != "__version__"}
    for room in rooms:
        inside = importlib.import_module(f"skbench.{room}")
        own = getattr(inside, "__all__", [])
        names |= {f"skbench.{room}.{n}" for n in own if n not in skbench.__all__}
    for module in stats.__all__:
        inside = importlib.import_module(f"skbench.stats.{module}")
        exported = getattr(inside, "__all__", [])
        for name, value in vars(inside).items():
            callable_here = getattr(value, "__module__", None) == inside.__name__
            if callable(value) and (name in exported or callable_here) and name[0] != "_":
                names.add(f"skbench.stats.{module}.{name}")
    return names


@pytest.mark.parametrize("page", GUIDE, ids=lambda page: page.relative_to(DOC).as_posix())
def test_code_of_the_page_runs(page):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=flags)
    assert tried > 0
    assert failed == 0


def test_every_public_name_is_listed():
    assert sorted(public_names() - listed_names()) == []


def test_every_listed_name_exists():
    for name in listed_names():
        parent, _, last = name.rpartition(".")
        assert hasattr(importlib.import_module(parent), last), name


def test_every_room_has_its_page():
    modules = {m for page in API for m in re.findall(r"automodule:: (\S+)", page.read_text())}
    assert {f"skbench.{room}" for room in ROOMS} <= modules
    with_formulas = {name.rpartition(".")[0] for name in public_names()}
    assert {name for name in with_formulas if name.startswith("skbench.stats.")} <= modules


def test_every_page_is_in_a_table_of_contents():
    toctrees = [index for index in PAGES if ".. toctree::" in index.read_text()]
    reached = {
        (index.parent / entry).resolve()
        for index in toctrees
        for entry in re.findall(r"^   ([a-z_/]+)$", index.read_text(), flags=re.MULTILINE)
    }
    missing = [p.name for p in PAGES if p != DOC / "index.rst" and p.with_suffix("") not in reached]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOC).as_posix())
def test_files_that_pages_name_exist(page):
    text = page.read_text()
    downloads = re.findall(r":download:`[^`<]*<([^`>]+)>`", text)
    scripts = re.findall(r"/gallery/images/sphx_glr_(\w+)_001\.png", text)
    for path in [page.parent / name for name in downloads]:
        assert path.exists(), path
    for name in scripts:
        assert (DOC.parent / "examples" / f"{name}.py").exists(), name


def test_the_page_shows_the_table_of_names_that_readers_use():
    """Written anew by ``python doc/make_roles.py``."""
    import runpy

    written = runpy.run_path(DOC / "make_roles.py")["text"]()
    assert (DOC / "roles.inc").read_text() == written


def test_headings_and_tables_of_docstrings_have_lines_of_their_own():
    broken = r"[A-Za-z] -----|=== +[A-Za-z0-9]|[A-Za-z0-9] +===="
    for path in sorted((DOC.parent / "skbench").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node) or ""
                assert not re.search(broken, text), f"{path.name}: {getattr(node, 'name', '')}"


@pytest.mark.parametrize(
    "path", sorted((DOC / "inventories").glob("*.inv")), ids=lambda path: path.stem
)
def test_names_of_other_packages_that_pages_link_to_exist(path):
    if path.stem != "python":
        pytest.importorskip(path.stem)
    lines = path.read_text().splitlines()
    assert lines[0] == "# Sphinx inventory version 1"
    for name in [line.split()[0] for line in lines[3:]]:
        if not hasattr(builtins, name):
            pkgutil.resolve_name(name)


@pytest.mark.slow  # where the packages of the documentation are
def test_links_to_the_source_and_the_versions(monkeypatch, tmp_path):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(DOC)
    import site_links

    link = site_links.source("py", {"module": "skbench", "fullname": "MixedModel.fit"})
    path, first, last = re.fullmatch(r".+/blob/main/(.+)#L(\d+)-L(\d+)", link).groups()
    lines = (DOC.parent / path).read_text().splitlines()[int(first) - 1 : int(last)]
    assert any(line.startswith("    def fit(") for line in lines[:3])
    assert lines[-1].strip() == "return self"
    inherited = {"module": "skbench", "fullname": "MixedModel.get_params"}
    assert site_links.source("py", inherited) is None

    (tmp_path / "CHANGELOG.md").write_text(
        "## 0.3.0 (unreleased)\n\n## 0.2.0 (2026-12-01)\n\n## 0.1.0 (2026-11-30)\n"
    )
    monkeypatch.setattr(site_links, "ROOT", tmp_path)
    offered = site_links.versions("0.3.0")
    assert [v["version"] for v in offered] == ["0.3.0", "0.2.0", "0.1.0"]
    assert [v.get("preferred", False) for v in offered] == [False, True, False]
    assert offered[0]["url"].endswith("/latest/") and offered[2]["url"].endswith("/v0.1.0/")
    assert [v["version"] for v in site_links.versions("0.2.0")] == ["0.2.0", "0.1.0"]
