"""The examples: each has a title, is listed, runs and says something."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
DRAWING = [path for path in EXAMPLES if "sys.argv" in path.read_text()]


def test_there_are_examples():
    assert len(EXAMPLES) >= 11
    assert {path for path in EXAMPLES if path.name.startswith("plot_")} <= set(DRAWING)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_has_a_title(path):
    title, underline, blank, *text = ast.get_docstring(ast.parse(path.read_text())).splitlines()
    assert title[0].isupper() and title[-1] not in ".:"
    assert underline == "=" * len(title)
    assert blank == "" and text


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_is_listed(path):
    page = (ROOT / "doc" / "examples.rst").read_text()
    assert f"<gallery/{path.stem}>" in page
    assert f"   ../examples/{path.name}\n" in page  # its thumbnail


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(path, tmp_path):
    folder, temporary = tmp_path / "here", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    picture = [str(folder / "picture.png")] if path in DRAWING else []
    searched = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    process = subprocess.run(
        [sys.executable, str(path), *picture],
        cwd=folder,
        env=os.environ | {"MPLBACKEND": "Agg", "PYTHONPATH": searched, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.strip()
    assert [str(p) for p in folder.iterdir()] == picture
    assert all(Path(name).stat().st_size > 0 for name in picture)


def test_notebooks_are_made_from_the_examples(monkeypatch):
    pytest.importorskip("sphinx_gallery")
    monkeypatch.syspath_prepend(ROOT / "doc")
    import make_notebooks

    folder = ROOT / "examples" / "notebooks"
    assert {path.stem for path in folder.iterdir()} == set(make_notebooks.NAMES)
    page = (ROOT / "doc" / "examples.rst").read_text()
    for name in make_notebooks.NAMES:
        text = (folder / f"{name}.ipynb").read_text(encoding="utf-8")
        assert text == make_notebooks.notebook(name), "python doc/make_notebooks.py"
        assert "sys." not in text and '"outputs": []' in text
        assert f"<../examples/notebooks/{name}.ipynb>" in page
