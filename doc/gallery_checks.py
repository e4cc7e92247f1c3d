"""What each example must do, checked where the gallery runs it."""

import tempfile
from pathlib import Path

from sphinx.errors import ExtensionError

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
# Where the examples save their pictures, and what lies beside them before they run.
FOLDER = tempfile.TemporaryDirectory(prefix="skbench-pictures-")
PICTURES = Path(FOLDER.name)
BEFORE = set(EXAMPLES.iterdir())
STARTED = set()


def arguments(gallery_conf, script_vars):
    """The command line of an example: the file its picture goes to."""
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
            yield f"{name}.py did not save its picture to the file it was told."
    for path in sorted(set(EXAMPLES.iterdir()) - BEFORE):
        if path.name != "__pycache__":
            yield f"{path.name} was left behind by an example."


def check(app, exception):
    """Stop a build that went well otherwise."""
    found = [] if exception else list(problems())
    if found:
        raise ExtensionError("Examples: " + " ".join(found))
