"""What a notebook shows, in a real kernel: bars of progress, and the notebooks of the examples."""

import subprocess
import sys
from pathlib import Path

import pytest

from skbench.integrations import show_progress

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
LOOPS = """
from skbench import DirectEstimator, RepeatedSamplingStudy, make_items
from skbench._progress import steps
from skbench.integrations import show_progress
items = make_items(3, 4, 60, random_state=0).items
def studied(n_jobs=1):
    study = RepeatedSamplingStudy({"direct": DirectEstimator()}, 10, 6, random_state=0, n_jobs=n_jobs)
    return study.run(items).results_
def broken():
    with show_progress():
        for i in steps(range(5), "broken"):
            for _ in steps("ab", "within"):
                if i == 3:
                    raise KeyboardInterrupt
"""


@pytest.fixture
def executed(tmp_path):
    """A function that runs a notebook, or code of cells, in a kernel of its own."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")

    def execute(cells):
        if isinstance(cells, Path):
            notebook = nbformat.read(cells, as_version=4)
        else:
            code = [nbformat.v4.new_code_cell(cell) for cell in cells]
            notebook = nbformat.v4.new_notebook(cells=code)
        nbclient.NotebookClient(notebook, resources={"metadata": {"path": tmp_path}}).execute()
        return notebook

    return execute


def of_kind(cell, kind):
    """What the outputs of a cell show as this kind, such as text/html."""
    return [out["data"][kind] for out in cell.outputs if kind in out.get("data", {})]


def texts_of_widgets(notebook, cell):
    """The words in the widgets that a cell shows, as they were last."""
    states = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    states = {name: state["state"] for name, state in states.items()}
    for view in of_kind(cell, "application/vnd.jupyter.widget-view+json"):
        parts = [part.removeprefix("IPY_MODEL_") for part in states[view["model_id"]]["children"]]
        yield " ".join(str(states[part]["value"]) for part in parts)


def test_progress_without_tqdm_reports_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match=r'tqdm: pip install "skbench\[notebook\]"'):
        with show_progress():
            pass


@pytest.mark.peers
def test_progress_is_drawn_in_the_cell_and_numbers_stay(executed):
    pytest.importorskip("tqdm"), pytest.importorskip("ipywidgets")
    notebook = executed(
        [
            f"{LOOPS}\nalone = studied()",
            "with show_progress():\n    same = [alone.equals(studied(n)) for n in (1, 2)]\nsame",
            "try:\n    broken()\nexcept KeyboardInterrupt:\n    print('stopped')",
            "_ = studied()",
        ]
    )
    _, bars, broken, after = notebook.cells
    shown = list(texts_of_widgets(notebook, bars))
    assert [text.split(":")[0] for text in shown] == ["repetitions"] * 2  # one bar a study
    assert all("6/6" in text for text in shown)
    assert of_kind(bars, "text/plain")[-1] == "[True, True]"
    (stopped,) = texts_of_widgets(notebook, broken)
    assert stopped.startswith("broken") and "3/5" in stopped
    assert [out.text for out in broken.outputs if "text" in out] == ["stopped\n"]
    assert after.outputs == []


@pytest.mark.peers
def test_progress_of_a_script_is_on_stderr():
    pytest.importorskip("tqdm")
    code = f"{LOOPS}\nwith show_progress():\n    studied()\ntry:\n    broken()\n"
    code += "except KeyboardInterrupt:\n    print('stopped')\nstudied()"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == [b"stopped"]
    last = [line.split("\r")[-1] for line in run.stderr.decode().strip().split("\n")]
    assert len(last) == 2, run.stderr
    assert last[0].startswith("repetitions: 100%|") and " 6/6 " in last[0]
    assert last[1].startswith("broken:  60%|") and " 3/5 " in last[1]


@pytest.mark.peers
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_of_the_examples_run(path, executed, tmp_path):
    cells = [cell for cell in executed(path).cells if cell.cell_type == "code"]
    assert any("<table" in html for cell in cells for html in of_kind(cell, "text/html"))
    assert len([True for cell in cells for _ in of_kind(cell, "image/png")]) == 1
    assert list(tmp_path.iterdir()) == []
