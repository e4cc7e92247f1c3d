"""Check the examples when the gallery runs them."""

import tempfile
from pathlib import Path

from sphinx.errors import ExtensionError

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
# The folder for the pictures of the examples, and the files next to them before the run.
FOLDER = tempfile.TemporaryDirectory(prefix="skbench-pictures-")
PICTURES = Path(FOLDER.name)
BEFORE = set(EXAMPLES.iterdir())
STARTED = set()


def arguments(gallery_conf, script_vars):
    """Return the command line of an example: the file for its picture."""
    example = Path(script_vars["src_file"])
    STARTED.add(example.stem)
    return [str(PICTURES / f"{example.stem}.png")]


def problems():
    for name in sorted(STARTED):
        page = ROOT / "doc" / "gallery" / f"{name}.rst"
        if "sphx-glr-script-out" not in page.read_text():
            yield f"{name}.py printed nothing."
        picture = PICTURES / f"{name}.png"
        if "sys.argv" in (EXAMPLES / f"{name}.py").read_text() and not picture.exists():
            yield f"{name}.py did not save its picture to the file in its argument."
    for path in sorted(set(EXAMPLES.iterdir()) - BEFORE):
        if path.name != "__pycache__":
            yield f"{path.name} is a leftover file of an example."


def check(app, exception):
    """Stop an otherwise successful build if an example has a problem."""
    found = [] if exception else list(problems())
    if found:
        raise ExtensionError("Examples: " + " ".join(found))
