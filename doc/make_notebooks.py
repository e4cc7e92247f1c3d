"""Convert the introductory examples to notebooks: ``python doc/make_notebooks.py``.

The notebooks in examples/notebooks have no outputs. Comments become Markdown. Notebooks display
results instead of printing them, and show pictures instead of saving files.
"""

import ast
import json
from pathlib import Path

from sphinx_gallery.notebook import jupyter_notebook
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

EXAMPLES = Path(__file__).parents[1] / "examples"
NAMES = ("csv_to_estimates", "plot_compare_models", "plot_judge_one_benchmark")
_CONVERSION = {
    "first_notebook_cell": None,
    "last_notebook_cell": None,
    "notebook_images": False,
    "pypandoc": False,
    "promote_jupyter_magic": False,
}
_LANGUAGE = {"name": "python"}
_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
_INSTALL = '\nRuns in seconds, after `pip install "skbench[all]"`.\n'


def notebook(name):
    """Return the text of a notebook."""
    _, blocks = split_code_and_text_blocks(str(EXAMPLES / f"{name}.py"))
    made = jupyter_notebook([tuple(block) for block in blocks], _CONVERSION, str(EXAMPLES))
    made["metadata"] = {"kernelspec": _KERNEL, "language_info": _LANGUAGE}
    for cell in made["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "code":
            text = _displayed(text)
        cell["source"], cell["metadata"] = text.strip("\n").splitlines(keepends=True), {}
    made["cells"][0]["source"] += ["\n", *_INSTALL.splitlines(keepends=True)]
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def _displayed(code):
    """Return code that displays printed results and does not use command line arguments."""
    lines = code.replace("sys.argv[1] if len(sys.argv) > 1 else ", "").splitlines()
    kept = "\n".join(line for line in lines if line != "import sys")
    changed = {}
    for node in ast.parse(kept).body:
        text = ast.get_source_segment(kept, node)
        if "sys.argv" in text:
            changed[text] = ""
        elif (shown := _printed(node)) is not None:
            changed[text] = f"display({ast.get_source_segment(kept, shown)})"
    for old, new in changed.items():
        kept = kept.replace(old, new)
    return kept


def _printed(node):
    """Return the single result that a statement prints, or None."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return None
    call = node.value
    if getattr(call.func, "id", None) != "print" or len(call.args) != 1 or call.keywords:
        return None
    (shown,) = call.args
    if isinstance(shown, ast.JoinedStr) and isinstance(shown.values[-1], ast.FormattedValue):
        words = [part.value for part in shown.values[:-1]]
        return shown.values[-1].value if all(word == "\n" for word in words) else None
    of = getattr(getattr(shown, "func", None), "attr", None)
    if of == "to_string":
        return shown.func.value
    is_result = isinstance(shown, (ast.Name, ast.Subscript)) or of in ("round", "to_frame")
    return shown if is_result else None


if __name__ == "__main__":
    for name in NAMES:
        path = EXAMPLES / "notebooks" / f"{name}.ipynb"
        path.parent.mkdir(exist_ok=True)
        path.write_text(notebook(name), encoding="utf-8")
